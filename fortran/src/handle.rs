//! Handles as Fortran's integers and back.
//!
//! The standard's constants have one value in both languages; every other handle is converted by
//! the C library, which alone knows what its handles are.

use std::ffi::c_int;

use crate::c::{self, Handle};

/// Handles below this are constants of the standard.
const CONSTANTS_END: usize = 4096;

macro_rules! conversions {
    ($($to_c:ident $fromint:ident $to_fortran:ident $toint:ident;)*) => {$(
        /// The handle that an INTEGER stands for.
        #[inline(always)]
        pub fn $to_c(value: c_int) -> Handle {
            if (value as u32 as usize) < CONSTANTS_END {
                return value as usize;
            }
            // SAFETY: the C library takes any integer.
            unsafe { c::$fromint(value) }
        }

        /// The INTEGER that stands for a handle.
        #[inline(always)]
        pub fn $to_fortran(handle: Handle) -> c_int {
            if handle < CONSTANTS_END {
                return handle as c_int;
            }
            // SAFETY: the handle comes from the C library.
            unsafe { c::$toint(handle) }
        }
    )*};
}

conversions! {
    comm MPI_Comm_fromint comm_out MPI_Comm_toint;
    group MPI_Group_fromint group_out MPI_Group_toint;
    datatype MPI_Type_fromint datatype_out MPI_Type_toint;
    op MPI_Op_fromint op_out MPI_Op_toint;
    info MPI_Info_fromint info_out MPI_Info_toint;
    errhandler MPI_Errhandler_fromint errhandler_out MPI_Errhandler_toint;
    request MPI_Request_fromint request_out MPI_Request_toint;
    message MPI_Message_fromint message_out MPI_Message_toint;
    session MPI_Session_fromint session_out MPI_Session_toint;
    win MPI_Win_fromint win_out MPI_Win_toint;
    file MPI_File_fromint file_out MPI_File_toint;
}
