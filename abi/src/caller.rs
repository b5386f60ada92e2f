//! The language that a failing call came from, so that its error speaks that language.
//!
//! Fortran programs call `libmpifort_abi`, which calls the functions here, of the same name but for
//! the large-count forms. Nothing is noted on the way, so that good calls cost nothing: the stack is
//! looked at once a call has failed.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;

/// Frames that are looked at; the deepest error path here has about twenty.
const FRAMES_MAX: usize = 48;

/// Frames outside this library that are looked at: tools may stand between it and Fortran.
const OUTSIDE_MAX: usize = 4;

/// The large forms that have a name of their own in Fortran, too (MPI 5.0 §19.2.2).
const NAMED_LARGE: [&str; 2] = ["mpi_op_create_c", "mpi_register_datarep_c"];

/// What is appended to the names of Fortran's procedures: descriptors, mpi_f08, TYPE(C_PTR).
const SUFFIXES: [&str; 4] = ["_f08ts", "_f08", "_fts", "_cptr"];

type Walk = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(each: Walk, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// What a walk has seen.
struct Seen {
    frames: usize,
    outside: usize,
    own: *mut c_void,
    found: Option<String>,
}

/// The procedure that a Fortran program has called, in Fortran's capitals; none if the call came
/// from C, or from Rust.
#[cold]
pub fn fortran_procedure() -> Option<String> {
    let own = symbol(fortran_procedure as *const () as usize)?.dli_fbase;
    let mut seen = Seen {
        frames: 0,
        outside: 0,
        own,
        found: None,
    };
    // SAFETY: the argument is what `look` expects, and outlives the walk.
    unsafe { _Unwind_Backtrace(look, (&raw mut seen).cast()) };
    seen.found
}

/// Whether the call came from Fortran.
pub fn is_fortran() -> bool {
    fortran_procedure().is_some()
}

/// An entry of an array, as the caller counts: from 0 in brackets in C, from 1 in parentheses in
/// Fortran.
#[derive(Debug)]
pub struct Entry<'a>(pub &'a str, pub usize);

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry(array, index) = self;
        match is_fortran() {
            true => write!(f, "{array}({})", index + 1),
            false => write!(f, "{array}[{index}]"),
        }
    }
}

unsafe extern "C" fn look(context: *mut c_void, seen: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const END: c_int = 5;
    // SAFETY: the walk passes on what it was given, which nobody else uses meanwhile.
    let seen = unsafe { &mut *seen.cast::<Seen>() };
    seen.frames += 1;
    // SAFETY: the context is the walk's own.
    let address = unsafe { _Unwind_GetIP(context) };
    let Some(symbol) = symbol(address.saturating_sub(1)) else {
        return if seen.frames < FRAMES_MAX { GO_ON } else { END };
    };
    if symbol.dli_fbase != seen.own {
        seen.outside += 1;
        seen.found = procedure(text(symbol.dli_fname), text(symbol.dli_sname));
    }
    let ended = seen.found.is_some() || seen.outside == OUTSIDE_MAX || seen.frames >= FRAMES_MAX;
    if ended { END } else { GO_ON }
}

fn symbol(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; the result goes into a local variable.
    let found = unsafe { libc::dladdr(address as *const c_void, &mut info) };
    (found != 0).then_some(info)
}

fn text<'a>(address: *const std::ffi::c_char) -> &'a str {
    if address.is_null() {
        return "";
    }
    // SAFETY: the loader's texts end in a zero, and stay as long as the library is loaded.
    unsafe { CStr::from_ptr(address) }.to_str().unwrap_or("")
}

/// The procedure's name from that of its symbol in a library: `mpi_send_c_f08ts_` is MPI_SEND.
fn procedure(library: &str, symbol: &str) -> Option<String> {
    let file = library.rsplit('/').next().unwrap_or(library);
    if !file.starts_with("libmpifort_abi.") {
        return None;
    }
    let name = symbol.strip_suffix('_')?;
    let name = name.strip_prefix('p').unwrap_or(name);
    let name = name.strip_suffix('_').unwrap_or(name);
    let plain = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
    let name = plain.unwrap_or(name);
    let name = match name.strip_suffix("_c") {
        Some(short) if !NAMED_LARGE.contains(&name) => short,
        _ => name,
    };
    name.starts_with("mpi_").then(|| name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_procedures() {
        let name = |symbol| procedure("/opt/lib/libmpifort_abi.so.1", symbol);
        for (symbol, expected) in [
            ("mpi_send_", "MPI_SEND"),
            ("pmpi_send_", "MPI_SEND"),
            ("mpi_send_fts_", "MPI_SEND"),
            ("mpi_send_f08ts_", "MPI_SEND"),
            ("mpi_send_c_f08ts_", "MPI_SEND"),
            ("mpi_comm_rank_f08_", "MPI_COMM_RANK"),
            ("mpi_alloc_mem_cptr_", "MPI_ALLOC_MEM"),
            ("mpi_op_create_c_f08_", "MPI_OP_CREATE_C"),
        ] {
            assert_eq!(name(symbol).as_deref(), Some(expected), "{symbol}");
        }
        assert_eq!(name("rust_eh_personality"), None);
        assert_eq!(procedure("/opt/lib/libtool.so", "mpi_send_"), None);
    }

    #[test]
    fn rust_is_not_fortran() {
        assert_eq!(fortran_procedure(), None);
        assert_eq!(Entry("array_of_types", 3).to_string(), "array_of_types[3]");
    }
}
