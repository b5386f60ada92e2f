//! Versions, the ABI, clocks, addresses and profiling control (MPI 5.0 §9.1, §9.6, §15.2, chapter
//! 20).

use std::ffi::c_void;
use std::sync::Mutex;

use crate::argument::{FlagOut, Out, TextOut, constant};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::fortran_sizes;
use crate::handle::{Handle, Object};
use crate::object::{Info, Type, handle_for};

/// What Fortran calls true and false, as a Fortran library has told.
#[derive(Clone, Copy)]
struct Booleans {
    bytes: usize,
    truth: [u8; LOGICAL_BYTES_MAX],
    falsehood: [u8; LOGICAL_BYTES_MAX],
}

/// The longest LOGICAL there is: LOGICAL*16.
const LOGICAL_BYTES_MAX: usize = 16;

static BOOLEANS: Mutex<Option<Booleans>> = Mutex::new(None);
static FORTRAN: Mutex<Option<Info>> = Mutex::new(None);

/// MPI_Get_version.
pub fn get_version(_call: &Call, version: Out<i32>, subversion: Out<i32>) -> Result<(), Failure> {
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

/// MPI_Get_library_version.
pub fn get_library_version(
    _call: &Call,
    version: TextOut,
    resultlen: Out<i32>,
) -> Result<(), Failure> {
    let text = format!(
        "OxMPI {}, MPI {MPI_VERSION}.{MPI_SUBVERSION}, ABI {MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}",
        env!("CARGO_PKG_VERSION")
    );
    resultlen.set(version.set(text));
    Ok(())
}

/// MPI_Abi_get_version.
pub fn abi_get_version(
    _call: &Call,
    abi_major: Out<i32>,
    abi_minor: Out<i32>,
) -> Result<(), Failure> {
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

/// MPI_Abi_get_info: the sizes that the ABI leaves to the platform.
pub fn abi_get_info(_call: &Call, info: Out<Handle>) -> Result<(), Failure> {
    let facts = Info::new();
    for key in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
        facts.set(key, "8")?;
    }
    info.set(handle_for(facts)?);
    Ok(())
}

/// MPI_Abi_get_fortran_info: what a Fortran library has told of its types; MPI_INFO_NULL if none
/// has.
pub fn abi_get_fortran_info(_call: &Call, info: Out<Handle>) -> Result<(), Failure> {
    let told = FORTRAN
        .lock()
        .expect("nothing panics while it holds this lock")
        .as_ref()
        .map(Info::duplicate);
    info.set(match told {
        Some(told) => handle_for(told)?,
        None => MPI_INFO_NULL,
    });
    Ok(())
}

/// MPI_Abi_set_fortran_info: may be told once; sizes before the types are used.
pub fn abi_set_fortran_info(_call: &Call, info: &Info) -> Result<(), Failure> {
    let mut told = FORTRAN
        .lock()
        .expect("nothing panics while it holds this lock");
    if told.is_some() {
        return Err(Failure::new(
            MPI_ERR_ABI,
            "the facts about Fortran have been set before; they cannot change",
        ));
    }
    fortran_sizes::tell(info, |constant| Type::table().is_made(constant))?;
    *told = Some(info.duplicate());
    Ok(())
}

/// MPI_Abi_get_fortran_booleans.
pub fn abi_get_fortran_booleans(
    _call: &Call,
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: FlagOut,
) -> Result<(), Failure> {
    let bytes = logical_bytes(logical_size)?;
    let told = *BOOLEANS
        .lock()
        .expect("nothing panics while it holds this lock");
    if let Some(told) = told {
        if told.bytes != bytes {
            let text = format!(
                "logical_size is {bytes}, but the values have been set with {} bytes",
                told.bytes
            );
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
        for (to, from) in [(logical_true, told.truth), (logical_false, told.falsehood)] {
            not_null(to)?;
            // SAFETY: the program gives room for a LOGICAL of this size.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), bytes) }
        }
    }
    is_set.set(told.is_some());
    Ok(())
}

/// MPI_Abi_set_fortran_booleans: may be told once.
pub fn abi_set_fortran_booleans(
    _call: &Call,
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<(), Failure> {
    let mut values = Booleans {
        bytes: logical_bytes(logical_size)?,
        truth: [0; LOGICAL_BYTES_MAX],
        falsehood: [0; LOGICAL_BYTES_MAX],
    };
    for (from, to) in [
        (logical_true, &mut values.truth),
        (logical_false, &mut values.falsehood),
    ] {
        not_null(from)?;
        // SAFETY: the program gives the address of a LOGICAL of this size.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), to.as_mut_ptr(), values.bytes) }
    }
    let mut told = BOOLEANS
        .lock()
        .expect("nothing panics while it holds this lock");
    if told.is_some() {
        return Err(Failure::new(
            MPI_ERR_ABI,
            "the values of LOGICAL have been set before; they cannot change",
        ));
    }
    *told = Some(values);
    Ok(())
}

fn logical_bytes(size: i32) -> Result<usize, Failure> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => Err(Failure::new(
            MPI_ERR_ARG,
            format!("logical_size is {size}; a LOGICAL has 1, 2, 4, 8 or 16 bytes"),
        )),
    }
}

fn not_null(address: *mut c_void) -> Result<(), Failure> {
    match address.is_null() || constant(address.addr()).is_some() {
        true => Err(Failure::new(
            MPI_ERR_ARG,
            "logical_true or logical_false is a null pointer, or a constant that is no address",
        )),
        false => Ok(()),
    }
}

/// MPI_Get_address.
pub fn get_address(
    _call: &Call,
    location: *const c_void,
    address: Out<i64>,
) -> Result<(), Failure> {
    address.set(location as i64);
    Ok(())
}

/// MPI_Pcontrol: a word to profiling tools, which take the call before the library sees it.
pub fn pcontrol(_call: &Call, _level: i32) -> Result<(), Failure> {
    Ok(())
}

/// MPI_Aint_add.
pub fn aint_add(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// MPI_Aint_diff.
pub fn aint_diff(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

/// MPI_Wtime.
pub fn wtime() -> f64 {
    oxmpi_core::wtime()
}

/// MPI_Wtick: the clock counts nanoseconds.
pub fn wtick() -> f64 {
    1e-9
}
