//! LOGICAL values: which bits are .TRUE. is the compiler's choice, and MPI is told of it (MPI 5.0
//! §20.3).
//!
//! The first call decides: that of a program to MPI_Abi_set_fortran_booleans, or this library's,
//! which knows gfortran's and flang's representation (1 and 0).

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::c::{self, Handle};
use crate::constant::MPI_INFO_NULL;

/// Bytes of a default LOGICAL.
const LOGICAL_BYTES: c_int = 4;

static KNOWN: AtomicBool = AtomicBool::new(false);
static TRUTH: AtomicI32 = AtomicI32::new(1);
static FALSEHOOD: AtomicI32 = AtomicI32::new(0);

/// A LOGICAL of the program as a truth value. Compilers may take any other bits for .TRUE..
#[inline]
pub fn take(value: c_int) -> bool {
    learn();
    value != FALSEHOOD.load(Ordering::Relaxed)
}

/// A truth value as a LOGICAL of the program.
#[inline]
pub fn give(truth: bool) -> c_int {
    learn();
    if truth {
        TRUTH.load(Ordering::Relaxed)
    } else {
        FALSEHOOD.load(Ordering::Relaxed)
    }
}

#[inline]
fn learn() {
    if !KNOWN.load(Ordering::Acquire) {
        agree_on_booleans();
    }
}

/// Tells the C library what Fortran's types are, unless it has been told.
pub fn agree() {
    agree_on_booleans();
    tell_sizes();
}

/// Remembers the values that the program itself has set.
pub fn set(truth: c_int, falsehood: c_int) {
    TRUTH.store(truth, Ordering::Relaxed);
    FALSEHOOD.store(falsehood, Ordering::Relaxed);
    KNOWN.store(true, Ordering::Release);
}

/// Whether MPI runs. MPICH ends programs that ask it for LOGICAL values at another time.
fn is_running() -> bool {
    let (mut begun, mut ended) = (0, 0);
    // SAFETY: the addresses are those of local variables; both may be called at any time.
    unsafe {
        c::PMPI_Initialized(&mut begun);
        c::PMPI_Finalized(&mut ended);
    }
    begun != 0 && ended == 0
}

#[cold]
fn agree_on_booleans() {
    if KNOWN.load(Ordering::Acquire) || !is_running() {
        return;
    }
    let (mut truth, mut falsehood, mut is_set) = (1i32, 0i32, 0);
    let (t, f) = (
        (&raw mut truth).cast::<c_void>(),
        (&raw mut falsehood).cast::<c_void>(),
    );
    // SAFETY: both point to four bytes, as the size says.
    unsafe {
        let code = c::PMPI_Abi_get_fortran_booleans(LOGICAL_BYTES, t, f, &mut is_set);
        if code != 0 || is_set == 0 {
            (truth, falsehood) = (1, 0);
            c::PMPI_Abi_set_fortran_booleans(LOGICAL_BYTES, t, f);
        }
    }
    set(truth, falsehood);
}

/// The facts of MPI_Abi_set_fortran_info: types of 4 bytes, double precision of 8, and the optional
/// kinds of gfortran and flang on this processor. The keys are those of MPICH 5.0, too.
const FACTS: [(&CStr, &CStr); 23] = [
    (c"mpi_logical_size", c"4"),
    (c"mpi_integer_size", c"4"),
    (c"mpi_real_size", c"4"),
    (c"mpi_double_precision_size", c"8"),
    (c"mpi_logical1_supported", c"true"),
    (c"mpi_logical2_supported", c"true"),
    (c"mpi_logical4_supported", c"true"),
    (c"mpi_logical8_supported", c"true"),
    (c"mpi_logical16_supported", c"true"),
    (c"mpi_integer1_supported", c"true"),
    (c"mpi_integer2_supported", c"true"),
    (c"mpi_integer4_supported", c"true"),
    (c"mpi_integer8_supported", c"true"),
    (c"mpi_integer16_supported", c"true"),
    (c"mpi_real2_supported", c"false"),
    (c"mpi_real4_supported", c"true"),
    (c"mpi_real8_supported", c"true"),
    (c"mpi_real16_supported", c"true"),
    (c"mpi_complex4_supported", c"false"),
    (c"mpi_complex8_supported", c"true"),
    (c"mpi_complex16_supported", c"true"),
    (c"mpi_complex32_supported", c"true"),
    (c"mpi_double_complex_supported", c"true"),
];

fn tell_sizes() {
    let mut info: Handle = MPI_INFO_NULL;
    // SAFETY: the addresses are those of local variables and constants.
    unsafe {
        if c::PMPI_Abi_get_fortran_info(&mut info) != 0 {
            return;
        }
        if info != MPI_INFO_NULL {
            c::PMPI_Info_free(&mut info);
            return;
        }
        if c::PMPI_Info_create(&mut info) != 0 {
            return;
        }
        for (key, value) in FACTS {
            c::PMPI_Info_set(info, key.as_ptr(), value.as_ptr());
        }
        c::PMPI_Abi_set_fortran_info(info);
        c::PMPI_Info_free(&mut info);
    }
}
