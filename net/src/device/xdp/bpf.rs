//! What the XDP device asks of the kernel's `bpf` call: a map of sockets, a program, and the link
//! that attaches it to an interface.
//!
//! All three are descriptors. When the last one of a link is closed, also because its process was
//! killed, the kernel detaches the program.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::program::Instruction;

/// Commands of linux/bpf.h.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEMENT: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
/// `BPF_MAP_TYPE_XSKMAP`, `BPF_PROG_TYPE_XDP`, and the kind of attachment `BPF_XDP`.
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `BPF_F_XDP_HAS_FRAGS`: the program looks at the beginning of packets only. Without it, it could
/// not be attached where packets are longer than a page.
const BEGINNINGS_ONLY: u32 = 1 << 5;
/// The helper that we call is open to programs of any licence.
const LICENCE: &CStr = c"MIT";
const NAME: [u8; 16] = *b"oxmpi_frames\0\0\0\0";

/// How a program is attached: flags of linux/if_link.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Mode {
    /// By the kernel, behind any driver: `XDP_FLAGS_SKB_MODE`.
    Generic = 1 << 1,
    /// In the driver: `XDP_FLAGS_DRV_MODE`.
    Native = 1 << 2,
}

#[derive(Default)]
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries_max: u32,
    flags: u32,
}

#[derive(Default)]
#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[derive(Default)]
#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instructions: u32,
    instructions_at: u64,
    licence_at: u64,
    log_level: u32,
    log_bytes: u32,
    log_at: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface_index: u32,
    expected_attachment: u32,
}

#[derive(Default)]
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface_index: u32,
    attachment: u32,
    flags: u32,
}

/// A map with a socket for each receive queue up to `queue`, of which this one has one.
pub(super) fn map_with(socket: RawFd, queue: u32) -> io::Result<OwnedFd> {
    // SAFETY: the structure is the command's, and points nowhere.
    let map = unsafe {
        make(
            MAP_CREATE,
            &MapCreate {
                map_type: MAP_OF_SOCKETS,
                key_bytes: 4,
                value_bytes: 4,
                entries_max: queue + 1,
                flags: 0,
            },
        )
    }?;
    let update = MapUpdate {
        map: map.as_raw_fd() as u32,
        key: (&raw const queue).addr() as u64,
        value: (&raw const socket).addr() as u64,
        ..MapUpdate::default()
    };
    // SAFETY: the structure is the command's; key and value are locals of the sizes that the map
    // has.
    unsafe { call(MAP_UPDATE_ELEMENT, &update) }?;
    Ok(map)
}

/// Has the kernel check a program and make it ready to run.
pub(super) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    match load_with(program, BEGINNINGS_ONLY) {
        // Before Linux 5.18 nobody asked.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => load_with(program, 0),
        decided => decided,
    }
}

fn load_with(program: &[Instruction], flags: u32) -> io::Result<OwnedFd> {
    let load = ProgramLoad {
        program_type: PROGRAM_XDP,
        instructions: program.len() as u32,
        instructions_at: program.as_ptr().addr() as u64,
        licence_at: LICENCE.as_ptr().addr() as u64,
        flags,
        name: NAME,
        expected_attachment: ATTACH_XDP,
        ..ProgramLoad::default()
    };
    // SAFETY: the structure is the command's; it points to so many instructions and to a string
    // with an end, which live until the call returns.
    unsafe { make(PROGRAM_LOAD, &load) }
}

/// Attaches a program to an interface of this network namespace, until the link is dropped.
pub(super) fn attach(program: &OwnedFd, interface_index: u32, mode: Mode) -> io::Result<OwnedFd> {
    let create = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface_index,
        attachment: ATTACH_XDP,
        flags: mode as u32,
    };
    // SAFETY: the structure is the command's, and points nowhere.
    unsafe { make(LINK_CREATE, &create) }
}

/// # Safety
/// The structure must be the one of the command, whose answer is a new descriptor, and what it
/// points to must be there.
unsafe fn make<T>(command: i32, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: promised by the caller.
    let fd = unsafe { call(command, attributes) }?;
    // SAFETY: a descriptor that the kernel has just given to us; it closes on exec by itself.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// # Safety
/// The structure must be the one of the command, and what it points to must be there.
unsafe fn call<T>(command: i32, attributes: &T) -> io::Result<RawFd> {
    let at: *const T = attributes;
    // SAFETY: pointer and length describe the structure; the rest is promised by the caller.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, at, size_of::<T>()) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer as RawFd)
}
