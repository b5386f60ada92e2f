//! Operations that are Fortran procedures.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use super::call;
use crate::c::Handle;
use crate::constant::MPI_ERR_INTERN;
use crate::handle;
use crate::logical;
use crate::slot::{Pool, SLOTS_MAX, instances};

/// The length is an INTEGER or an INTEGER(KIND=MPI_COUNT_KIND); here it is only passed on.
type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_int);
type CFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut Handle);

/// One pool for each type of the length.
static POOLS: [Pool; 2] = [Pool::new(), Pool::new()];

unsafe extern "C" fn run<const KIND: usize, const SLOT: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_void,
    datatype: *mut Handle,
) {
    // SAFETY: C passes the address of a datatype; the slot has a procedure of this interface.
    unsafe {
        let mut integer = handle::datatype_out(*datatype);
        let procedure: Function = transmute(POOLS[KIND].procedure(SLOT));
        procedure(input, inout, length, &mut integer);
    }
}

static INSTANCES: [[CFunction; SLOTS_MAX]; 2] = [instances!(run, 0), instances!(run, 1)];

/// MPI_Op_create and MPI_Op_create_c.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn op_create<const LARGE: bool, const P: bool>(
    procedure: *const c_void,
    commute: *mut c_int,
    op: *mut c_int,
) -> c_int {
    let kind = usize::from(LARGE);
    let Some(slot) = POOLS[kind].slot(procedure) else {
        return MPI_ERR_INTERN;
    };
    let mut made: Handle = 0;
    // SAFETY: the caller's promise.
    unsafe {
        let function = INSTANCES[kind][slot] as *const c_void;
        let commute = c_int::from(logical::take(*commute));
        let code = if LARGE {
            call!(
                P,
                MPI_Op_create_c,
                PMPI_Op_create_c,
                (function, commute, &mut made)
            )
        } else {
            call!(
                P,
                MPI_Op_create,
                PMPI_Op_create,
                (function, commute, &mut made)
            )
        };
        if code == 0 {
            *op = handle::op_out(made);
        }
        code
    }
}
