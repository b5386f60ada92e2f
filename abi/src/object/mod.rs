//! What stands behind handles, one type for each kind, and their tables.
//!
//! An object is what the layer below knows plus what only C programs see: names, error handlers,
//! attributes. Add fields here when a chapter needs them. A new object is given a handle by
//! `X::table().insert(object)`, or [`handle_for`] with the error for a full table.

mod communicator;
mod datatype;
mod errhandler;
mod file;
mod message;
mod op;
mod session;
mod window;

use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, OBJECTS_MAX, Object, Table};
use crate::stage;

pub use communicator::Communicator;
pub use datatype::Type;
pub use errhandler::{Errhandler, ErrhandlerSlot, FILE_ERRHANDLER, Handled, UserHandler};
pub use file::File;
pub use message::Message;
pub use op::{Form, Op};
pub use oxmpi_core::group::Group;
pub use oxmpi_core::info::Info;
pub use session::Session;
pub use window::Window;

/// Gives an object a handle.
pub fn handle_for<T: Object>(object: T) -> Result<Handle, Failure> {
    T::table().insert(object).ok_or_else(|| {
        let text = format!(
            "{OBJECTS_MAX} handles of type {} exist already; free those not needed any more",
            T::TYPE
        );
        Failure::new(MPI_ERR_OTHER, text)
    })
}

/// Declares the table of a kind and says what its handles are.
macro_rules! objects {
    ($($object:ty, $kind:literal, $first:literal, $type:literal, $what:literal, $null:expr, $class:expr, $predefined:expr;)*) => {$(
        impl Object for $object {
            const TYPE: &'static str = $type;
            const WHAT: &'static str = $what;
            const NULL: Handle = $null;
            const CLASS: i32 = $class;

            #[inline]
            fn table() -> &'static Table<Self> {
                static TABLE: Table<$object> = Table::new($kind, $first);
                &TABLE
            }

            fn predefined(handle: Handle) -> Option<Self> {
                let make: fn(Handle) -> Option<Self> = $predefined;
                make(handle)
            }
        }
    )*};
}

// Requests have a table of their own (see `request`), of kind 7. MPI_COMM_WORLD and MPI_COMM_SELF
// are installed by initialisation; the other constants are made at their first use.
objects! {
    Communicator, 1, 256, "MPI_Comm", "a communicator", MPI_COMM_NULL, MPI_ERR_COMM, |_| None;
    Group, 2, 264, "MPI_Group", "a group", MPI_GROUP_NULL, MPI_ERR_GROUP,
        |handle| (handle == MPI_GROUP_EMPTY).then(Group::empty);
    Type, 3, 512, "MPI_Datatype", "a datatype", MPI_DATATYPE_NULL, MPI_ERR_TYPE, Type::named;
    Op, 4, 32, "MPI_Op", "an operation", MPI_OP_NULL, MPI_ERR_OP, Op::named;
    Info, 5, 304, "MPI_Info", "an info object", MPI_INFO_NULL, MPI_ERR_INFO,
        |handle| (handle == MPI_INFO_ENV).then(|| Info::environment(&stage::environment()));
    Errhandler, 6, 320, "MPI_Errhandler", "an error handler", MPI_ERRHANDLER_NULL, MPI_ERR_ERRHANDLER, Errhandler::named;
    Message, 8, 296, "MPI_Message", "a matched message", MPI_MESSAGE_NULL, MPI_ERR_REQUEST, |_| None;
    Session, 9, 288, "MPI_Session", "a session", MPI_SESSION_NULL, MPI_ERR_SESSION, |_| None;
    Window, 10, 272, "MPI_Win", "a window", MPI_WIN_NULL, MPI_ERR_WIN, |_| None;
    File, 11, 280, "MPI_File", "a file", MPI_FILE_NULL, MPI_ERR_FILE, |_| None;
}
