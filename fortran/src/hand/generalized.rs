//! Generalized requests and data representations: callbacks whose extra state C passes on.

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;

use super::call;
use crate::c::Handle;
use crate::c::Status;
use crate::handle;
use crate::logical;
use crate::predefined::{mpi_conversion_fn_null_, mpi_conversion_fn_null_c_};
use crate::text::{TextIn, Trim};

type Query = unsafe extern "C" fn(*mut i64, *mut Status, *mut c_int);
type Free = unsafe extern "C" fn(*mut i64, *mut c_int);
type Cancel = unsafe extern "C" fn(*mut i64, *mut c_int, *mut c_int);
type Extent = unsafe extern "C" fn(*mut c_int, *mut i64, *mut i64, *mut c_int);

/// The procedures of a generalized request, until it is freed.
struct Request {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra: Extra,
}

/// The extra state of a request. A procedure that changes it changes the variable that the program
/// started the request with, as with MPICH and Open MPI; one that does not is given the value of
/// that moment, wherever the variable is now, and a constant stays one.
struct Extra {
    value: i64,
    variable: *mut i64,
}

impl Extra {
    /// # Safety
    /// The variable must live as long as procedures that change it are called.
    unsafe fn pass<R>(&mut self, procedure: impl FnOnce(*mut i64) -> R) -> R {
        let before = self.value;
        let result = procedure(&mut self.value);
        if self.value != before {
            // SAFETY: the caller's promise.
            unsafe { self.variable.write_unaligned(self.value) };
        }
        result
    }
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut Status) -> c_int {
    let mut error = 0;
    // SAFETY: the state is what `grequest_start` made; so it is below.
    unsafe {
        let request = &mut *state.cast::<Request>();
        let query = request.query;
        request.extra.pass(|extra| query(extra, status, &mut error));
    }
    error
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    let mut error = 0;
    // SAFETY: as above; C calls this last, and once.
    unsafe {
        let mut request = Box::from_raw(state.cast::<Request>());
        let free = request.free;
        request.extra.pass(|extra| free(extra, &mut error));
    }
    error
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    let (mut error, mut complete) = (0, logical::give(complete != 0));
    // SAFETY: as above.
    unsafe {
        let request = &mut *state.cast::<Request>();
        let cancel = request.cancel;
        request
            .extra
            .pass(|extra| cancel(extra, &mut complete, &mut error));
    }
    error
}

/// MPI_Grequest_start.
///
/// # Safety
/// The arguments are what the interface says; a variable whose value the procedures change lives as
/// long as the request.
pub unsafe fn grequest_start<const P: bool>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra: *mut c_void,
    request: *mut c_int,
) -> c_int {
    let mut made: Handle = 0;
    // SAFETY: the caller's promise: procedures of these interfaces.
    unsafe {
        let state = Box::into_raw(Box::new(Request {
            query: transmute::<*const c_void, Query>(query_fn),
            free: transmute::<*const c_void, Free>(free_fn),
            cancel: transmute::<*const c_void, Cancel>(cancel_fn),
            extra: Extra {
                value: extra.cast::<i64>().read_unaligned(),
                variable: extra.cast(),
            },
        }));
        let functions = (
            query as *const c_void,
            free as *const c_void,
            cancel as *const c_void,
        );
        let (query, free, cancel) = functions;
        let code = call!(
            P,
            MPI_Grequest_start,
            PMPI_Grequest_start,
            (query, free, cancel, state.cast(), &mut made)
        );
        if code == 0 {
            *request = handle::request_out(made);
        } else {
            drop(Box::from_raw(state));
        }
        code
    }
}

/// The procedures of a data representation, which lives as long as the program.
struct Representation {
    read: *const c_void,
    write: *const c_void,
    extent: Extent,
    extra: i64,
}

type Conversion<C> = unsafe extern "C" fn(
    *mut c_void,
    *mut c_int,
    *mut C,
    *mut c_void,
    *mut i64,
    *mut i64,
    *mut c_int,
);

macro_rules! conversion {
    ($($name:ident $member:ident $count:ty;)*) => {$(
        unsafe extern "C" fn $name(
            user: *mut c_void, datatype: Handle, mut count: $count, file: *mut c_void,
            mut position: i64, state: *mut c_void,
        ) -> c_int {
            let (mut datatype, mut error) = (handle::datatype_out(datatype), 0);
            // SAFETY: the state is what `register_datarep` made, with procedures of this interface.
            unsafe {
                let representation = &mut *state.cast::<Representation>();
                let procedure: Conversion<$count> = transmute(representation.$member);
                let extra = &mut representation.extra;
                procedure(user, &mut datatype, &mut count, file, &mut position, extra, &mut error);
            }
            error
        }
    )*};
}

conversion! { read read c_int; write write c_int; read_c read i64; write_c write i64; }

unsafe extern "C" fn extent(datatype: Handle, extent: *mut i64, state: *mut c_void) -> c_int {
    let (mut datatype, mut error) = (handle::datatype_out(datatype), 0);
    // SAFETY: as above.
    unsafe {
        let representation = &mut *state.cast::<Representation>();
        (representation.extent)(&mut datatype, extent, &mut representation.extra, &mut error);
    }
    error
}

/// MPI_Register_datarep and MPI_Register_datarep_c.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn register_datarep<const LARGE: bool, const P: bool>(
    name: *mut c_char,
    read_fn: *const c_void,
    write_fn: *const c_void,
    extent_fn: *const c_void,
    extra: *mut c_void,
    length: usize,
) -> c_int {
    let none = [
        mpi_conversion_fn_null_ as *const c_void,
        mpi_conversion_fn_null_c_ as *const c_void,
    ];
    let or_none = |given: *const c_void, own: *const c_void| {
        if none.contains(&given) {
            std::ptr::null()
        } else {
            own
        }
    };
    // SAFETY: the caller's promise.
    unsafe {
        let name = TextIn::new(name, length, Trim::End);
        let state = Box::into_raw(Box::new(Representation {
            read: read_fn,
            write: write_fn,
            extent: transmute::<*const c_void, Extent>(extent_fn),
            extra: *extra.cast::<i64>(),
        }))
        .cast::<c_void>();
        let (name, extent) = (name.as_ptr(), extent as *const c_void);
        if LARGE {
            let read = or_none(read_fn, read_c as *const c_void);
            let write = or_none(write_fn, write_c as *const c_void);
            call!(
                P,
                MPI_Register_datarep_c,
                PMPI_Register_datarep_c,
                (name, read, write, extent, state)
            )
        } else {
            let read = or_none(read_fn, read as *const c_void);
            let write = or_none(write_fn, write as *const c_void);
            call!(
                P,
                MPI_Register_datarep,
                PMPI_Register_datarep,
                (name, read, write, extent, state)
            )
        }
    }
}
