//! What an access is made of: the open file as the library's own parts see it, what the program can
//! change of it, and the access as it was called for.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_core::any_request::{AnyRequest, Report, Sender};
use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::{ErrorKind, FileError, FileFault, FileLoss};

use crate::amode::Amode;
use crate::failure::{fault, named};
use crate::hints::Hints;
use crate::representation::Memory;
use crate::shared::SharedPointer;
use crate::stage::Known;
use crate::sys::Disk;
use crate::view::View;

type Result<T> = std::result::Result<T, ErrorKind>;

pub(crate) struct Inner {
    pub(crate) comm: Arc<Comm>,
    pub(crate) disk: Disk,
    /// Other hosts keep data of the file that this one does not see (`apart`).
    pub(crate) is_apart: bool,
    pub(crate) amode: Amode,
    pub(crate) shared: SharedPointer,
    /// Ranks that the hint `cb_config_list` has chosen to access the file for others.
    pub(crate) listed: Option<Vec<u32>>,
    /// Memory for collective accesses, where all ranks run on one host.
    pub(crate) stage: Mutex<Known>,
    pub(crate) state: Mutex<State>,
    /// Numbers for collective accesses, and whose turn it is.
    pub(crate) next_turn: AtomicU64,
    pub(crate) turn: AtomicU64,
    /// Some rank writes holes along with its pieces, so every write is locked. Ranks agree on it
    /// when the file is opened and when a view is set; it stays.
    pub(crate) sieves: AtomicBool,
    /// Locks of the system belong to the open file, so threads of this process need one more.
    pub(crate) region: Mutex<()>,
    /// One question about the shared pointer at a time.
    asking: Mutex<()>,
    pub(crate) is_closed: AtomicBool,
    /// What is deleted when the file is closed, from the root on.
    pub(crate) doomed: Option<PathBuf>,
}

/// What the program can change.
pub(crate) struct State {
    pub(crate) view: Arc<View>,
    /// The individual pointer, in etypes.
    pub(crate) pointer: u64,
    pub(crate) atomic: bool,
    pub(crate) hints: Arc<Hints>,
    /// A split collective that has begun: its direction and its request.
    pub(crate) split: Option<(&'static str, AnyRequest)>,
}

impl State {
    pub(crate) fn new(hints: Hints) -> State {
        State {
            view: Arc::new(View::bytes()),
            pointer: 0,
            atomic: false,
            hints: Arc::new(hints),
            split: None,
        }
    }
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// What an error begins with.
    pub(crate) fn action(self) -> &'static str {
        match self {
            Direction::Read => "cannot read",
            Direction::Write => "cannot write",
        }
    }
}

/// An access as it was called for.
pub(crate) struct Job {
    pub(crate) file: Arc<Inner>,
    pub(crate) view: Arc<View>,
    pub(crate) hints: Arc<Hints>,
    pub(crate) atomic: bool,
    pub(crate) direction: Direction,
    /// The first data byte of the view; of an ordered access, known later.
    pub(crate) from: u64,
    pub(crate) memory: Memory,
    /// Bytes in the file.
    pub(crate) bytes: u64,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(crate) fn new(
        comm: Arc<Comm>,
        disk: Disk,
        amode: Amode,
        shared: SharedPointer,
        hints: Hints,
    ) -> Inner {
        let is_apart = disk.is_nfs && !comm.process().is_on_one_host();
        Inner {
            comm,
            disk,
            is_apart,
            amode,
            shared,
            listed: None,
            stage: Mutex::default(),
            state: Mutex::new(State::new(hints)),
            next_turn: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            sieves: AtomicBool::new(false),
            region: Mutex::new(()),
            asking: Mutex::new(()),
            is_closed: AtomicBool::new(false),
            doomed: None,
        }
    }

    #[cold]
    pub(crate) fn refuse(
        &self,
        kind: FileFault,
        action: &'static str,
        why: impl Into<String>,
    ) -> ErrorKind {
        self.refusal(kind, action, why).into()
    }

    #[cold]
    pub(crate) fn refusal(
        &self,
        kind: FileFault,
        action: &'static str,
        why: impl Into<String>,
    ) -> Box<FileError> {
        named(fault(kind, action, why), self.disk.path())
    }

    /// An error of an operation of all processes, with the file that it concerns.
    #[cold]
    pub(crate) fn during(
        &self,
        action: &'static str,
        range: Option<(u64, u64)>,
        error: ErrorKind,
    ) -> ErrorKind {
        let ErrorKind::Engine(_) = error else {
            // Those of files have a name, and those of arguments are about no file.
            return error;
        };
        ErrorKind::FileLoss(Box::new(FileLoss {
            action,
            path: self.disk.path().display().to_string(),
            range,
            cause: error,
        }))
    }

    #[cold]
    pub(crate) fn named(&self, error: FileError) -> ErrorKind {
        named(error, self.disk.path()).into()
    }

    /// Lets the collective accesses that have begun come to their end, so that the exchange of the
    /// next call does not overtake theirs.
    pub(crate) fn finish_turns(&self) {
        while self.turn.load(Ordering::Acquire) != self.next_turn.load(Ordering::Relaxed) {
            self.comm.process().progress();
            std::thread::yield_now();
        }
    }

    pub(crate) fn add_shared(&self, etypes: u64) -> Result<u64> {
        let _asking = lock(&self.asking);
        self.shared.add(&self.comm, etypes)
    }

    pub(crate) fn store_shared(&self, etypes: u64) -> Result<()> {
        let _asking = lock(&self.asking);
        self.shared.store(&self.comm, etypes)
    }
}

impl Job {
    /// Begins the access at an etype, if it can be there.
    pub(crate) fn begin_at(&mut self, etype: u64) -> Result<()> {
        let view = &self.view;
        let refuse = |why| {
            let action = self.direction.action();
            self.file.refuse(FileFault::Argument, action, why)
        };
        let from = etype.checked_mul(view.unit());
        let from = from.filter(|from| view.holds(*from, self.bytes));
        let from =
            from.ok_or_else(|| refuse(format!("offset {etype} lies beyond what a file can hold")))?;
        if self.direction == Direction::Write {
            view.check_range(from, self.bytes).map_err(refuse)?;
        }
        self.from = from;
        Ok(())
    }

    /// Etypes that the access covers.
    pub(crate) fn etypes(&self) -> u64 {
        self.bytes / self.view.unit()
    }

    /// Bytes that were read, without a part of an etype at the file's end that cannot be converted.
    fn whole(&self, bytes: u64) -> u64 {
        match self.view.representation().is_plain() {
            true => bytes,
            false => bytes - bytes % self.view.unit(),
        }
    }

    pub(crate) fn report(&self, bytes: u64) -> Report {
        let form = self.view.representation();
        Report {
            sender: Sender::Unknown,
            tag: None,
            bytes: self
                .memory
                .native_bytes(form, self.whole(bytes), self.bytes),
            cancelled: false,
        }
    }

    /// The data in the file's form, to write from or to read into.
    pub(crate) fn data(&self) -> Result<Data> {
        let representation = self.view.representation();
        if representation.is_plain() {
            let buffer = self.memory.buffer().clone();
            return Ok(Data {
                buffer,
                converted: None,
            });
        }
        let mut converted = match self.direction {
            Direction::Write => self.memory.to_file(representation, self.bytes),
            Direction::Read => Ok(vec![0; self.bytes as usize]),
        }
        .map_err(|error| self.with_name(error))?;
        // SAFETY: the vector lives beside the buffer, and its data does not move with it.
        let buffer = unsafe { Buffer::raw(converted.as_mut_ptr(), self.bytes) };
        Ok(Data {
            buffer,
            converted: Some(converted),
        })
    }

    /// Puts what was read into the program's memory, if it is not there yet.
    pub(crate) fn deliver(&self, data: &Data, bytes: u64) -> Result<()> {
        let Some(converted) = &data.converted else {
            return Ok(());
        };
        let (representation, read) = (
            self.view.representation(),
            &converted[..self.whole(bytes) as usize],
        );
        self.memory
            .take_from_file(representation, read, self.bytes)
            .map_err(|error| self.with_name(error))
    }

    fn with_name(&self, error: ErrorKind) -> ErrorKind {
        match error {
            ErrorKind::File(error) => self.file.named(*error),
            other => other,
        }
    }
}

/// Data in the file's form.
pub(crate) struct Data {
    pub(crate) buffer: Buffer,
    converted: Option<Vec<u8>>,
}

impl Data {
    /// Has a part of the data filled, in the order of the file.
    pub(crate) fn take(&self, range: std::ops::Range<u64>, fill: impl FnOnce(&mut [u8])) {
        let bytes = (range.end - range.start) as usize;
        let part = self.buffer.part(range);
        match part.contiguous() {
            // SAFETY: the buffer's promise covers the bytes, which nobody else uses now.
            Some(address) => fill(unsafe { std::slice::from_raw_parts_mut(address, bytes) }),
            None => {
                let mut packed = vec![0; bytes];
                fill(&mut packed);
                part.unpack(&packed);
            }
        }
    }
}

// SAFETY: a buffer is an address and a promise that its memory may be used from any thread until
// the access is over; nothing in it changes through a reference.
unsafe impl Sync for Data {}
