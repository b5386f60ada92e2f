//! The start of partitioned messages, whose C functions libraries disagree about.
//!
//! The standard ABI has `MPI_Psend_init` with an `int` count and `MPI_Psend_init_c`; MPICH 5.0 has
//! only the first name, with an MPI_Count. The Fortran procedure has one form, with
//! MPI_COUNT_KIND, so the second is called where it exists and otherwise the first.

#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::c::Handle;

type Init = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    i64,
    Handle,
    c_int,
    c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The first of these functions that the program's libraries have.
fn find(names: [&CStr; 2]) -> Init {
    // SAFETY: a null library means all that are loaded; the names end in zeros.
    let addresses = names.map(|name| unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) });
    let found = addresses.into_iter().find(|address| !address.is_null());
    let found = found.expect("every library of the standard ABI starts partitioned messages");
    // SAFETY: both have this interface: the second takes an MPI_Count where the first is missing.
    unsafe { std::mem::transmute::<*mut c_void, Init>(found) }
}

macro_rules! starts {
    ($($name:ident $large:literal $plain:literal;)*) => {$(
        /// The C function with a count of 64 bits.
        ///
        /// # Safety
        /// The arguments are what the C function wants.
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            buffer: *mut c_void,
            partitions: c_int,
            count: i64,
            datatype: Handle,
            peer: c_int,
            tag: c_int,
            comm: Handle,
            info: Handle,
            request: *mut Handle,
        ) -> c_int {
            static FOUND: OnceLock<Init> = OnceLock::new();
            let init = FOUND.get_or_init(|| find([$large, $plain]));
            // SAFETY: the caller's promise.
            unsafe { init(buffer, partitions, count, datatype, peer, tag, comm, info, request) }
        }
    )*};
}

starts! {
    MPI_Psend_init_c c"MPI_Psend_init_c" c"MPI_Psend_init";
    PMPI_Psend_init_c c"PMPI_Psend_init_c" c"PMPI_Psend_init";
    MPI_Precv_init_c c"MPI_Precv_init_c" c"MPI_Precv_init";
    PMPI_Precv_init_c c"PMPI_Precv_init_c" c"PMPI_Precv_init";
}
