//! Handles as integers and back (MPI 5.0 chapter 20). Handles fit an `int`, so both ways are casts,
//! whatever the kind.

use crate::handle::Handle;

macro_rules! casts {
    ($($toint:ident $fromint:ident;)*) => {$(
        /// The handle as an integer.
        pub fn $toint(handle: Handle) -> i32 {
            handle.to_int()
        }

        /// The handle that an integer stands for.
        pub fn $fromint(value: i32) -> Handle {
            Handle::from_int(value)
        }
    )*};
}

casts! {
    comm_toint comm_fromint;
    errhandler_toint errhandler_fromint;
    file_toint file_fromint;
    group_toint group_fromint;
    info_toint info_fromint;
    message_toint message_fromint;
    op_toint op_fromint;
    request_toint request_fromint;
    session_toint session_fromint;
    type_toint type_fromint;
    win_toint win_fromint;
}
