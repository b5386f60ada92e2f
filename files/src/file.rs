//! [`File`]: the object that a program opens, and the calls on it but for opening and closing
//! (`open`) and for reading and writing (`calls`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxmpi_core::communicator::Comm;
use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_core::{ErrorKind, FileError, FileFault};

use crate::aggregate::aggregator_count;
use crate::amode::Amode;
use crate::failure::{fault, named};
use crate::hints::Switch;
use crate::job::{Inner, lock};
use crate::pointer::{Whence, sought};
use crate::settle;
use crate::view::View;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Words that a rank tells of its view.
const VIEW_WORDS: usize = 4;
/// What a rank tells whose view cannot be; others begin with 1.
const REFUSED_VIEW: [u64; VIEW_WORDS] = [0; VIEW_WORDS];

/// An open file. Clones are the same file.
#[derive(Clone)]
pub struct File(pub(crate) Arc<Inner>);

/// Where an access begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At an offset in etypes.
    At(i64),
    /// At the individual pointer, which moves.
    Pointer,
    /// At the shared pointer, which moves.
    Shared,
    /// At the shared pointer, one rank after the other; all ranks call together.
    Ordered,
}

impl File {
    /// The communicator that the file was opened with, as a copy of its own.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.0.comm
    }

    /// The processes that opened it.
    pub fn group(&self) -> &Group {
        self.0.comm.group()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::Relaxed)
    }

    /// How it was opened.
    pub fn amode(&self) -> Amode {
        self.0.amode
    }

    /// Its length in bytes.
    pub fn size(&self) -> Result<u64> {
        Ok(self.0.disk.size()?)
    }

    /// Cuts or lengthens it. Collective.
    pub fn set_size(&self, size: i64) -> Result<()> {
        self.change_size("cannot set the size of", size, |size| {
            self.0.disk.set_size(size)
        })
    }

    /// Reserves room up to a length. Collective.
    pub fn preallocate(&self, size: i64) -> Result<()> {
        self.change_size("cannot reserve room for", size, |size| {
            let is_alone = settle::is_one_host(&self.0.comm);
            self.0.disk.preallocate(size, is_alone)
        })
    }

    /// One process changes the length for all.
    fn change_size(
        &self,
        action: &'static str,
        size: i64,
        change: impl FnOnce(u64) -> std::result::Result<(), Box<FileError>>,
    ) -> Result<()> {
        let inner = &*self.0;
        self.check_writable(action)?;
        self.check_not_sequential(action)?;
        self.check_no_split(action)?;
        inner.finish_turns();
        let all = inner.tell_all(action, &[size as u64])?;
        if all.iter().any(|other| *other != all[0]) {
            let why = "the ranks gave different sizes; all must give the same";
            return Err(inner.refuse(FileFault::NotSame, action, why));
        }
        let outcome = match u64::try_from(size) {
            Err(_) => {
                let why = format!("size is {size}, and cannot be negative");
                Err(named(
                    fault(FileFault::Argument, action, why),
                    inner.disk.path(),
                ))
            }
            Ok(size) if inner.comm.rank() == 0 => change(size),
            Ok(_) => Ok(()),
        };
        inner.agree(action, outcome)?;
        Ok(inner.look_again()?)
    }

    /// The hints in force.
    pub fn info(&self) -> Info {
        let hints = lock(&self.0.state).hints.clone();
        let info = hints.info();
        let nodes = aggregator_count(&self.0, &hints).to_string();
        info.set("cb_nodes", &nodes).expect("a legal key and value");
        const KINDS: &str = "mpi_memory_alloc_kinds";
        if let Some(kinds) = self.0.comm.info().get_text(KINDS) {
            info.set(KINDS, &kinds).expect("a legal key and value");
        }
        info
    }

    /// Changes hints. Collective. Sieved writes begin with the next view, because all ranks have to
    /// know of them.
    pub fn set_info(&self, info: &Info) {
        let mut state = lock(&self.0.state);
        let mut hints = (*state.hints).clone();
        hints.update(info);
        state.hints = Arc::new(hints);
    }

    /// The view.
    pub fn view(&self) -> Arc<View> {
        lock(&self.0.state).view.clone()
    }

    /// Sets the view and both pointers to its beginning. Collective. A displacement of `None` is
    /// the shared pointer's place (MPI_DISPLACEMENT_CURRENT).
    pub fn set_view(
        &self,
        disp: Option<i64>,
        make: impl FnOnce(u64) -> std::result::Result<View, FileError>,
        info: Option<&Info>,
    ) -> Result<()> {
        const ACTION: &str = "cannot set the view of";
        let inner = &*self.0;
        self.check_no_split(ACTION)?;
        inner.finish_turns();
        let sequential = inner.amode.has(Amode::SEQUENTIAL);
        let refuse = |kind, why: &str| named(fault(kind, ACTION, why), inner.disk.path());
        let disp = match disp {
            Some(disp) if sequential => {
                let why = format!(
                    "disp is {disp}, but a file opened with MPI_MODE_SEQUENTIAL takes only \
                     MPI_DISPLACEMENT_CURRENT"
                );
                Err(refuse(FileFault::Unsupported, &why))
            }
            Some(disp) => u64::try_from(disp).map_err(|_| {
                let why = format!("disp is {disp}, and cannot be negative");
                refuse(FileFault::Argument, &why)
            }),
            None if !sequential => Err(refuse(
                FileFault::Argument,
                "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL",
            )),
            None => {
                let at = inner.add_shared(0)?;
                let view = self.view();
                Ok(view.byte_of(at * view.unit()))
            }
        };
        let view =
            disp.and_then(|disp| make(disp).map_err(|error| named(error, inner.disk.path())));
        let view = view.and_then(|view| match view.overlaps() && inner.amode.writes() {
            false => Ok(view),
            true => Err(refuse(
                FileFault::Placement,
                "parts of the filetype overlap, which is for files opened with MPI_MODE_RDONLY only",
            )),
        });
        let mut hints = (*lock(&inner.state).hints).clone();
        if let Some(info) = info {
            hints.update(info);
        }
        let sieves = u64::from(hints.ds_write == Switch::Enable);
        // Everybody's etype must have the same extent, and the representation the same name.
        let words = match &view {
            Ok(view) => {
                let name = view.representation().name().bytes();
                let hash = name.fold(0_u64, |hash, byte| {
                    hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
                });
                [1, view.etype().extent() as u64, hash, sieves]
            }
            Err(_) => REFUSED_VIEW,
        };
        let all = inner.tell_all(ACTION, &words)?;
        let view = view?;
        let is_another = |told: &[u64]| told[..VIEW_WORDS - 1] != words[..VIEW_WORDS - 1];
        if let Some(rank) = all.chunks(VIEW_WORDS).position(is_another) {
            let why = match all[rank * VIEW_WORDS] {
                0 => format!("rank {rank} gave a view that cannot be; see its own error"),
                _ => format!(
                    "the etype or the data representation of rank {rank} is another one than here"
                ),
            };
            return Err(inner.refuse(FileFault::NotSame, ACTION, why));
        }
        if inner.comm.rank() == 0 {
            inner.store_shared(0)?;
        }
        {
            let mut state = lock(&inner.state);
            state.view = Arc::new(view);
            state.pointer = 0;
            state.hints = Arc::new(hints);
        }
        if all
            .chunks(VIEW_WORDS)
            .any(|words| words[VIEW_WORDS - 1] == 1)
        {
            inner.sieves.store(true, Ordering::Relaxed);
        }
        inner.meet(ACTION)
    }

    /// Takes part in [`File::set_view`] of the others, whose arguments this process refuses: they
    /// fail.
    pub fn refuse_view(&self) {
        self.0.finish_turns();
        // This call fails anyway.
        let _ = settle::tell_all(&self.0.comm, &REFUSED_VIEW);
    }

    /// The extent of a datatype in the file.
    pub fn type_extent(&self, datatype: &oxmpi_datatypes::datatype::Datatype) -> Result<i64> {
        let view = self.view();
        let extent = view.representation().extent_in_file(datatype);
        extent.map_err(|error| self.0.named(error))
    }

    /// The byte of the file at an offset of the view.
    pub fn byte_offset(&self, offset: i64) -> Result<u64> {
        self.check_not_sequential("cannot tell an offset of")?;
        let view = self.view();
        let etype = self.checked(offset, "cannot tell an offset of")?;
        view.byte_of_etype(etype).ok_or_else(|| {
            let why = format!("offset {offset} lies beyond what a file can hold");
            let action = "cannot tell an offset of";
            self.0.refuse(FileFault::Argument, action, why)
        })
    }

    pub(crate) fn checked(&self, offset: i64, action: &'static str) -> Result<u64> {
        u64::try_from(offset).map_err(|_| {
            let why = format!("offset is {offset}, and cannot be negative");
            self.0.refuse(FileFault::Argument, action, why)
        })
    }

    /// The individual pointer, in etypes.
    pub fn position(&self) -> Result<u64> {
        self.check_not_sequential("cannot tell the individual pointer of")?;
        Ok(lock(&self.0.state).pointer)
    }

    /// Moves the individual pointer.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.check_not_sequential("cannot seek in")?;
        let end = self.end(whence)?;
        let mut state = lock(&self.0.state);
        let to = sought(whence, offset, state.pointer, end);
        state.pointer = to.map_err(|error| self.0.named(error))?;
        Ok(())
    }

    /// The shared pointer, in etypes.
    pub fn shared_position(&self) -> Result<u64> {
        self.check_not_sequential("cannot tell the shared pointer of")?;
        self.0.add_shared(0)
    }

    /// Moves the shared pointer. Collective.
    pub fn seek_shared(&self, offset: i64, whence: Whence) -> Result<()> {
        const ACTION: &str = "cannot seek in";
        let inner = &*self.0;
        self.check_not_sequential(ACTION)?;
        inner.finish_turns();
        let words = [offset as u64, whence as u64];
        let all = inner.tell_all(ACTION, &words)?;
        if all.chunks(2).any(|other| other != words) {
            let why = "the ranks gave different offsets; all must give the same";
            return Err(inner.refuse(FileFault::NotSame, ACTION, why));
        }
        let mut outcome = Ok(());
        if inner.comm.rank() == 0 {
            let current = inner.add_shared(0)?;
            let to = self.end(whence).and_then(|end| {
                sought(whence, offset, current, end).map_err(|error| inner.named(error))
            });
            match to {
                Ok(to) => inner.store_shared(to)?,
                Err(ErrorKind::File(error)) => outcome = Err(error),
                Err(other) => return Err(other),
            }
        }
        inner.agree(ACTION, outcome)
    }

    /// Takes part in [`File::seek_shared`] of the others, whose arguments this process refuses:
    /// they fail.
    pub fn refuse_seek_shared(&self) {
        self.0.finish_turns();
        // This call fails anyway.
        let _ = settle::tell_all(&self.0.comm, &[0, u64::MAX]);
    }

    /// The first etype of the view behind the file's end.
    pub(crate) fn end(&self, whence: Whence) -> Result<u64> {
        if whence != Whence::End {
            return Ok(0);
        }
        let view = self.view();
        view.etype_from(self.size()?).ok_or_else(|| {
            let why = "its view never comes to the file's end, because copies of its filetype lie \
                       on each other";
            self.0.refuse(FileFault::Argument, "cannot seek in", why)
        })
    }

    /// Whether accesses are atomic.
    pub fn atomicity(&self) -> bool {
        lock(&self.0.state).atomic
    }

    /// Sets it. Collective.
    pub fn set_atomicity(&self, atomic: bool) -> Result<()> {
        const ACTION: &str = "cannot set the atomicity of";
        let inner = &*self.0;
        inner.finish_turns();
        let all = inner.tell_all(ACTION, &[u64::from(atomic)])?;
        if all.iter().any(|other| *other != u64::from(atomic)) {
            let why = "the ranks gave different values of flag; all must give the same";
            return Err(inner.refuse(FileFault::NotSame, ACTION, why));
        }
        lock(&inner.state).atomic = atomic;
        inner.meet(ACTION)
    }

    /// Brings what was written to the device. Collective.
    pub fn sync(&self) -> Result<()> {
        const ACTION: &str = "cannot bring to the device";
        let inner = &*self.0;
        self.check_no_split(ACTION)?;
        inner.finish_turns();
        inner.meet(ACTION)?;
        // The processes of a host share what its kernel has not written yet: one asks for all.
        let comm = &inner.comm;
        let here = comm.host_of(comm.rank());
        let is_first = (0..comm.rank()).all(|rank| comm.host_of(rank) != here);
        let outcome = match is_first && inner.amode.writes() {
            true => inner.disk.sync(),
            false => Ok(()),
        };
        inner.agree(ACTION, outcome)?;
        Ok(inner.look_again()?)
    }

    pub(crate) fn check_no_split(&self, action: &'static str) -> Result<()> {
        let begun = lock(&self.0.state).split.as_ref().map(|(begun, _)| *begun);
        match begun {
            None => Ok(()),
            Some(begun) => {
                let why = format!("{begun} was begun and not ended; end it first");
                Err(self.0.refuse(FileFault::Unsupported, action, why))
            }
        }
    }

    pub(crate) fn check_not_sequential(&self, action: &'static str) -> Result<()> {
        if self.0.amode.has(Amode::SEQUENTIAL) {
            let why = "it was opened with MPI_MODE_SEQUENTIAL, which has the shared pointer only";
            return Err(self.0.refuse(FileFault::Unsupported, action, why));
        }
        Ok(())
    }

    pub(crate) fn check_writable(&self, action: &'static str) -> Result<()> {
        if self.0.amode.writes() {
            return Ok(());
        }
        let why = "it was opened with MPI_MODE_RDONLY";
        Err(self.0.refuse(FileFault::ReadOnly, action, why))
    }
}
