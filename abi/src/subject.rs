//! [`Subject`]: the object among a call's arguments whose error handler is responsible.

use crate::handle::Handle;

/// The object whose error handler is responsible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// There is none: MPI_COMM_SELF stands in.
    Nothing,
    /// A communicator.
    Comm(Handle),
    /// A window.
    Win(Handle),
    /// A file; MPI_FILE_NULL stands for the default of files.
    File(Handle),
    /// A session.
    Session(Handle),
    /// An error handler that was given for the object to be made.
    Errhandler(Handle),
}

impl Subject {
    /// The object whose handle lies at an address that a program gave; nothing if the address is
    /// null.
    ///
    /// # Safety
    /// The address is null or one of a handle.
    #[inline]
    pub unsafe fn at(variant: fn(Handle) -> Subject, handle: *mut Handle) -> Subject {
        if handle.is_null() {
            return Subject::Nothing;
        }
        // SAFETY: the caller's promise.
        variant(unsafe { *handle })
    }
}
