//! Starting processes: lists of texts, each list ended by a blank one (MPI 5.0 §11.8.2).

use std::ffi::{c_char, c_int, c_void};

use super::call;
use crate::c::Handle;
use crate::handle;
use crate::sentinel;
use crate::text::{TextIn, Trim, trimmed};

/// C's view of a list of texts: an array of addresses that ends in a null.
struct List {
    texts: Vec<TextIn>,
    addresses: Vec<*const c_char>,
}

impl List {
    /// Texts of `length` bytes that begin `step` bytes apart; as many as `count`, or up to a blank
    /// one.
    unsafe fn new(first: *const c_char, length: usize, step: usize, count: Option<usize>) -> List {
        let mut texts = Vec::new();
        for index in 0..count.unwrap_or(usize::MAX) {
            // SAFETY: the caller vouches for the texts, the last of which is blank or counted.
            unsafe {
                let at = first.add(index * step);
                let bytes = std::slice::from_raw_parts(at.cast::<u8>(), length);
                if count.is_none() && trimmed(bytes, Trim::End).is_empty() {
                    break;
                }
                texts.push(TextIn::new(at, length, Trim::End));
            }
        }
        List {
            texts,
            addresses: Vec::new(),
        }
    }

    /// The address for C; the list must stay where it is from then on.
    fn as_mut_ptr(&mut self) -> *mut c_void {
        self.addresses = self.texts.iter().map(TextIn::as_ptr).collect();
        self.addresses.push(std::ptr::null());
        self.addresses.as_mut_ptr().cast()
    }
}

/// MPI_Comm_spawn.
///
/// # Safety
/// The arguments are what the interface says.
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn<const P: bool>(
    command: *mut c_char,
    argv: *mut c_char,
    maxprocs: *const c_int,
    info: *mut c_int,
    root: *const c_int,
    comm: *mut c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    command_length: usize,
    argv_length: usize,
) -> c_int {
    let mut made: Handle = 0;
    // SAFETY: the caller's promise.
    unsafe {
        let command = TextIn::new(command, command_length, Trim::End);
        let mut list;
        let arguments = if sentinel::is_no_list(argv) {
            std::ptr::null_mut()
        } else {
            list = List::new(argv, argv_length, argv_length, None);
            list.as_mut_ptr()
        };
        let (info, comm) = (handle::info(*info), handle::comm(*comm));
        let codes = sentinel::errcodes(errcodes);
        let code = call!(
            P,
            MPI_Comm_spawn,
            PMPI_Comm_spawn,
            (
                command.as_ptr(),
                arguments,
                *maxprocs,
                info,
                *root,
                comm,
                &mut made,
                codes
            )
        );
        if code == 0 {
            *intercomm = handle::comm_out(made);
        }
        code
    }
}

/// MPI_Comm_spawn_multiple.
///
/// # Safety
/// The arguments are what the interface says.
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn_multiple<const P: bool>(
    count: *const c_int,
    commands: *mut c_char,
    argv: *mut c_char,
    maxprocs: *const c_int,
    infos: *mut c_int,
    root: *const c_int,
    comm: *mut c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    commands_length: usize,
    argv_length: usize,
) -> c_int {
    let mut made: Handle = 0;
    // SAFETY: the caller's promise.
    unsafe {
        let number = usize::try_from(*count).unwrap_or(0);
        let mut commands = List::new(commands, commands_length, commands_length, Some(number));
        let (mut lists, mut addresses) = (Vec::new(), Vec::new());
        let arguments = if sentinel::is_no_list(argv) {
            std::ptr::null_mut()
        } else {
            // The array is argv(count, *): the arguments of one command lie `count` texts apart.
            for index in 0..number {
                let first = argv.add(index * argv_length);
                lists.push(List::new(first, argv_length, argv_length * number, None));
            }
            addresses.extend(lists.iter_mut().map(List::as_mut_ptr));
            addresses.as_mut_ptr().cast()
        };
        let mut infos: Vec<Handle> = (0..number).map(|at| handle::info(*infos.add(at))).collect();
        let (comm, codes) = (handle::comm(*comm), sentinel::errcodes(errcodes));
        let code = call!(
            P,
            MPI_Comm_spawn_multiple,
            PMPI_Comm_spawn_multiple,
            (
                *count,
                commands.as_mut_ptr(),
                arguments,
                maxprocs,
                infos.as_mut_ptr().cast(),
                *root,
                comm,
                &mut made,
                codes,
            )
        );
        if code == 0 {
            *intercomm = handle::comm_out(made);
        }
        code
    }
}
