//! Making and freeing windows: collective calls on a communicator (MPI 5.0 §12.2).

use super::Window;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::info::Info;

impl Window {
    /// A window over memory of the program (MPI_Win_create).
    ///
    /// # Safety
    /// The memory must stay valid until the window is freed.
    pub unsafe fn create(
        comm: &Comm,
        base: *mut u8,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        todo!("{comm:?} {base:?} {bytes} {unit} {}", info.is_some())
    }

    /// A window over memory that is made for it (MPI_Win_allocate): [`Window::base`].
    pub fn allocate(
        comm: &Comm,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        todo!("{comm:?} {bytes} {unit} {}", info.is_some())
    }

    /// A window over memory that all ranks map (MPI_Win_allocate_shared); they must share a host.
    pub fn allocate_shared(
        comm: &Comm,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        todo!("{comm:?} {bytes} {unit} {}", info.is_some())
    }

    /// A window to which memory is attached later (MPI_Win_create_dynamic).
    pub fn create_dynamic(comm: &Comm, info: Option<&Info>) -> Result<Window, ErrorKind> {
        todo!("{comm:?} {}", info.is_some())
    }

    /// Ends the window: all ranks wait until none uses it any more. Its memory is gone when the
    /// last handle is dropped. Attributes are deleted before by [`Window::delete_attributes`].
    /// Collective. After an error about epochs the window is as it was.
    pub fn free(&self) -> Result<(), ErrorKind> {
        todo!()
    }
}
