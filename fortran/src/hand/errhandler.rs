//! Error handlers that are Fortran procedures.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use super::call;
use crate::c::Handle;
use crate::constant::MPI_ERR_INTERN;
use crate::handle;
use crate::slot::{Pool, instances};

type Handler = unsafe extern "C" fn(*mut c_int, *mut c_int);
/// What C calls; its further arguments are not for Fortran.
type CHandler = unsafe extern "C" fn(*mut Handle, *mut c_int);

static POOLS: [Pool; 4] = [Pool::new(), Pool::new(), Pool::new(), Pool::new()];

unsafe extern "C" fn run<const KIND: usize, const SLOT: usize>(
    object: *mut Handle,
    code: *mut c_int,
) {
    // SAFETY: C passes the address of a handle and of a code; the slot has a procedure of this
    // interface.
    unsafe {
        let mut integer = match KIND {
            0 => handle::comm_out(*object),
            1 => handle::file_out(*object),
            2 => handle::win_out(*object),
            _ => handle::session_out(*object),
        };
        let procedure: Handler = transmute(POOLS[KIND].procedure(SLOT));
        procedure(&mut integer, code);
    }
}

macro_rules! errhandlers {
    ($($name:ident $kind:literal $c:ident $p:ident;)*) => {$(
        /// Makes an error handler of a Fortran procedure.
        ///
        /// # Safety
        /// The arguments are what the interface says.
        pub unsafe fn $name<const P: bool>(procedure: *const c_void, errhandler: *mut c_int) -> c_int {
            static INSTANCES: [CHandler; crate::slot::SLOTS_MAX] = instances!(run, $kind);
            let Some(slot) = POOLS[$kind].slot(procedure) else { return MPI_ERR_INTERN };
            let mut made: Handle = 0;
            // SAFETY: the caller's promise.
            unsafe {
                let code = call!(P, $c, $p, (INSTANCES[slot] as *const c_void, &mut made));
                if code == 0 {
                    *errhandler = handle::errhandler_out(made);
                }
                code
            }
        }
    )*};
}

errhandlers! {
    comm_create_errhandler 0 MPI_Comm_create_errhandler PMPI_Comm_create_errhandler;
    file_create_errhandler 1 MPI_File_create_errhandler PMPI_File_create_errhandler;
    win_create_errhandler 2 MPI_Win_create_errhandler PMPI_Win_create_errhandler;
    session_create_errhandler 3 MPI_Session_create_errhandler PMPI_Session_create_errhandler;
}
