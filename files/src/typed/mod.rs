//! Files for Rust programs: elements of one type, slices, and accesses that can be awaited.
//!
//! [`OpenOptions`] opens, [`TypedFile`] reads and writes elements through a view, [`Pattern`] says
//! which elements of the file a process sees, and [`Access`] is an access under way. All of it is
//! a face of [`crate::File`]; what makes it safe is that memory is either borrowed for the whole
//! call, or owned by the access until that is over.

mod access;
mod options;
mod pattern;

use std::marker::PhantomData;

use oxmpi_core::any_request::Report;
use oxmpi_core::thread::{Funneled, Level};
use oxmpi_core::{Communicator, ErrorKind, Plain, Result};
use oxmpi_datatypes::datatype::{Basic, Datatype};

use crate::file::{File, Start};
use crate::pointer::Whence;
use crate::representation::{Memory, Representation};
use crate::view::View;

pub use access::Access;
pub use options::OpenOptions;
pub use pattern::Pattern;

type Kind<T> = std::result::Result<T, ErrorKind>;

/// A file that the processes of a communicator have opened together, seen as elements of `T`.
///
/// Offsets and lengths count elements of the view. Calls with `all` in their name, ordered ones,
/// and those that change the file as a whole are collective: every process of the communicator
/// makes them. A file must be closed by [`TypedFile::close`]; one that is only dropped gives its
/// memory back and is not deleted, whatever the options said.
pub struct TypedFile<'comm, T: Plain = u8, L: Level = Funneled> {
    file: File,
    communicator: &'comm Communicator<'comm, L>,
    element: PhantomData<T>,
}

/// The datatype of an element: its bytes.
fn element<T: Plain>() -> Kind<Datatype> {
    let byte = Datatype::named(Basic::Byte);
    let datatype = Datatype::contiguous(size_of::<T>() as i64, &byte);
    let datatype = datatype.map_err(|error| pattern::wrong(error.to_string()))?;
    datatype.commit();
    Ok(datatype)
}

/// Memory of elements.
///
/// # Safety
/// It stays in place, and unused by others, until the access is over.
unsafe fn memory<T: Plain>(address: *const T, length: usize) -> Kind<Memory> {
    let byte = Datatype::named(Basic::Byte);
    let bytes = (length * size_of::<T>()) as u64;
    // SAFETY: the caller's promise.
    unsafe { Memory::new(address.cast::<u8>().cast_mut(), bytes, &byte) }
}

impl<'comm, T: Plain, L: Level> TypedFile<'comm, T, L> {
    fn new(file: File, communicator: &'comm Communicator<'comm, L>) -> Self {
        TypedFile {
            file,
            communicator,
            element: PhantomData,
        }
    }

    fn told<R>(&self, call: &'static str, outcome: Kind<R>) -> Result<R> {
        outcome.map_err(|kind| self.communicator.fail(call, kind))
    }

    fn elements(report: Report) -> usize {
        report.bytes as usize / size_of::<T>()
    }

    /// Sees the file as elements of `U` that lie where `pattern` says, from byte `from` on; all
    /// pointers go to the beginning. Collective; every process may have another pattern.
    pub fn view<U: Plain>(
        self,
        from: u64,
        pattern: &Pattern<'_>,
    ) -> Result<TypedFile<'comm, U, L>> {
        let make = |disp| {
            let etype = element::<U>().map_err(pattern::as_file_error)?;
            let filetype = pattern.datatype(&etype)?;
            View::new(disp, &etype, &filetype, Representation::Native)
        };
        let disp = i64::try_from(from).unwrap_or(i64::MAX);
        let outcome = self.file.set_view(Some(disp), make, None);
        self.told("view", outcome)?;
        Ok(TypedFile::new(self.file, self.communicator))
    }

    /// Closes it, and deletes it if the options said so. Collective.
    pub fn close(self) -> Result<()> {
        let outcome = self.file.close();
        self.told("close", outcome)
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> Result<u64> {
        self.told("bytes", self.file.size())
    }

    /// Cuts or lengthens it to so many bytes. Collective.
    pub fn set_bytes(&self, bytes: u64) -> Result<()> {
        let outcome = self.file.set_size(i64::try_from(bytes).unwrap_or(-1));
        self.told("set_bytes", outcome)
    }

    /// Reserves room for so many bytes. Collective.
    pub fn preallocate(&self, bytes: u64) -> Result<()> {
        let outcome = self.file.preallocate(i64::try_from(bytes).unwrap_or(-1));
        self.told("preallocate", outcome)
    }

    /// Brings what was written to the device, and makes it visible to all processes. Collective.
    pub fn sync(&self) -> Result<()> {
        self.told("sync", self.file.sync())
    }

    /// Whether every access is one step for all others. Collective.
    pub fn set_atomic(&self, atomic: bool) -> Result<()> {
        self.told("set_atomic", self.file.set_atomicity(atomic))
    }

    /// This process's own pointer, in elements.
    pub fn position(&self) -> Result<u64> {
        self.told("position", self.file.position())
    }

    /// Moves this process's own pointer.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.told("seek", self.file.seek(offset, whence))
    }

    /// The pointer that all processes share, in elements.
    pub fn shared_position(&self) -> Result<u64> {
        self.told("shared_position", self.file.shared_position())
    }

    /// Moves the pointer that all processes share. Collective.
    pub fn seek_shared(&self, offset: i64, whence: Whence) -> Result<()> {
        self.told("seek_shared", self.file.seek_shared(offset, whence))
    }

    /// The file as the layer below has it, for hints and for what has no name here.
    pub fn untyped(&self) -> &File {
        &self.file
    }

    fn read_from(
        &self,
        call: &'static str,
        start: Start,
        all: bool,
        buffer: &mut [T],
    ) -> Result<usize> {
        // SAFETY: the buffer is borrowed until this call returns, and the access is over by then.
        let memory = unsafe { memory(buffer.as_ptr(), buffer.len()) };
        let outcome = memory.and_then(|memory| match all {
            true => self.file.read_all(start, memory),
            false => self.file.read(start, memory),
        });
        self.told(call, outcome.map(Self::elements))
    }

    fn write_from(&self, call: &'static str, start: Start, all: bool, data: &[T]) -> Result<()> {
        // SAFETY: as in `read_from`; a write does not change the memory.
        let memory = unsafe { memory(data.as_ptr(), data.len()) };
        let outcome = memory.and_then(|memory| match all {
            true => self.file.write_all(start, memory),
            false => self.file.write(start, memory),
        });
        self.told(call, outcome.map(|_| ()))
    }
}

/// An offset as the layer below counts; what no file can have is refused there.
fn at(offset: u64) -> Start {
    Start::At(i64::try_from(offset).unwrap_or(i64::MAX))
}

/// Reads, which tell how many elements there were before the file's end, and writes.
macro_rules! accesses {
    ($($(#[$about:meta])* $name:ident $kind:ident $start:expr, $all:literal;)*) => {
        impl<T: Plain, L: Level> TypedFile<'_, T, L> {$(
            accesses!{@ $(#[$about])* $name $kind $start, $all}
        )*}
    };
    (@ $(#[$about:meta])* $name:ident read_at $start:expr, $all:literal) => {
        $(#[$about])*
        pub fn $name(&self, offset: u64, buffer: &mut [T]) -> Result<usize> {
            self.read_from(stringify!($name), at(offset), $all, buffer)
        }
    };
    (@ $(#[$about:meta])* $name:ident write_at $start:expr, $all:literal) => {
        $(#[$about])*
        pub fn $name(&self, offset: u64, data: &[T]) -> Result<()> {
            self.write_from(stringify!($name), at(offset), $all, data)
        }
    };
    (@ $(#[$about:meta])* $name:ident read $start:expr, $all:literal) => {
        $(#[$about])*
        pub fn $name(&self, buffer: &mut [T]) -> Result<usize> {
            self.read_from(stringify!($name), $start, $all, buffer)
        }
    };
    (@ $(#[$about:meta])* $name:ident write $start:expr, $all:literal) => {
        $(#[$about])*
        pub fn $name(&self, data: &[T]) -> Result<()> {
            self.write_from(stringify!($name), $start, $all, data)
        }
    };
}

accesses! {
    /// Reads elements from an offset on; returns how many there were.
    read_at read_at (), false;
    /// Writes elements from an offset on.
    write_at write_at (), false;
    /// As [`TypedFile::read_at`], together with all processes. Collective.
    read_at_all read_at (), true;
    /// As [`TypedFile::write_at`], together with all processes. Collective.
    write_at_all write_at (), true;
    /// Reads at this process's own pointer, and moves it by the whole buffer.
    read read Start::Pointer, false;
    /// Writes at this process's own pointer, and moves it.
    write write Start::Pointer, false;
    /// As [`TypedFile::read`], together with all processes. Collective.
    read_all read Start::Pointer, true;
    /// As [`TypedFile::write`], together with all processes. Collective.
    write_all write Start::Pointer, true;
    /// Reads at the pointer that all processes share, and moves it.
    read_shared read Start::Shared, false;
    /// Writes at the pointer that all processes share, and moves it.
    write_shared write Start::Shared, false;
    /// Reads at the shared pointer, one rank after the other. Collective.
    read_ordered read Start::Ordered, true;
    /// Writes at the shared pointer, one rank after the other. Collective.
    write_ordered write Start::Ordered, true;
}

impl<T: Plain, L: Level> std::fmt::Debug for TypedFile<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypedFile")
            .field("path", &self.file.0.disk.path())
            .finish_non_exhaustive()
    }
}
