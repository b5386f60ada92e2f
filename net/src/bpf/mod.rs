//! The kernel's `bpf` call: maps, programs and what they are attached to, as `device/xdp` and
//! `tcp/bpf` use it. `assembler` puts programs together, `capabilities` says who may load them.
//!
//! Everything that is made here is a descriptor, and is gone when its process is, also when that
//! was killed.
#![allow(unsafe_code)]

pub(crate) mod assembler;
pub(crate) mod capabilities;

use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use assembler::Instruction;

/// Commands of linux/bpf.h.
const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEMENT: i32 = 2;
const MAP_DELETE_ELEMENT: i32 = 3;
const PROGRAM_LOAD: i32 = 5;
const PROGRAM_ATTACH: i32 = 8;
const LINK_CREATE: i32 = 28;
/// The helpers that we call are open to programs of any licence.
const LICENCE: &CStr = c"MIT";

/// What a map is made of: fields of linux/bpf.h's union for the command.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Map {
    pub kind: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries_max: u32,
    pub flags: u32,
}

#[derive(Default)]
#[repr(C)]
struct MapElement {
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
struct ProgramAttach {
    target: u32,
    program: u32,
    attachment: u32,
    flags: u32,
}

#[derive(Default)]
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface_index: u32,
    attachment: u32,
    flags: u32,
}

/// A kind of program, and what it says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Sort {
    pub program_type: u32,
    pub attachment: u32,
    pub flags: u32,
    pub name: [u8; 16],
}

/// Makes a map.
pub(crate) fn create(map: &Map) -> io::Result<OwnedFd> {
    // SAFETY: the structure is the command's, and points nowhere.
    unsafe { make(MAP_CREATE, map) }
}

/// A map whose keys and values have the sizes of these types, which are integers.
pub(crate) struct Table<K, V> {
    fd: OwnedFd,
    holds: PhantomData<(K, V)>,
}

impl<K: Copy, V: Copy> Table<K, V> {
    /// Makes one.
    pub fn new(kind: u32, entries_max: u32) -> io::Result<Table<K, V>> {
        let fd = create(&Map {
            kind,
            key_bytes: size_of::<K>() as u32,
            value_bytes: size_of::<V>() as u32,
            entries_max,
            flags: 0,
        })?;
        Ok(Table {
            fd,
            holds: PhantomData,
        })
    }

    /// Puts an element there.
    pub fn update(&self, key: K, value: V) -> io::Result<()> {
        let element = MapElement {
            map: self.fd.as_raw_fd() as u32,
            key: (&raw const key).addr() as u64,
            value: (&raw const value).addr() as u64,
            ..MapElement::default()
        };
        // SAFETY: the structure is the command's; key and value are locals of the sizes that the
        // map was made with.
        unsafe { call(MAP_UPDATE_ELEMENT, &element) }.map(drop)
    }

    /// Takes an element away.
    pub fn delete(&self, key: K) -> io::Result<()> {
        let element = MapElement {
            map: self.fd.as_raw_fd() as u32,
            key: (&raw const key).addr() as u64,
            ..MapElement::default()
        };
        // SAFETY: as `update`.
        unsafe { call(MAP_DELETE_ELEMENT, &element) }.map(drop)
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

/// Has the kernel check a program and make it ready to run.
pub(crate) fn load(sort: Sort, program: &[Instruction]) -> io::Result<OwnedFd> {
    let load = ProgramLoad {
        program_type: sort.program_type,
        instructions: program.len() as u32,
        instructions_at: program.as_ptr().addr() as u64,
        licence_at: LICENCE.as_ptr().addr() as u64,
        flags: sort.flags,
        name: sort.name,
        expected_attachment: sort.attachment,
        ..ProgramLoad::default()
    };
    // SAFETY: the structure is the command's; it points to so many instructions and to a string
    // with an end, which live until the call returns.
    unsafe { make(PROGRAM_LOAD, &load) }
}

/// Attaches a program to a map, for good.
pub(crate) fn attach_to_map(program: &OwnedFd, map: &OwnedFd, attachment: u32) -> io::Result<()> {
    let attach = ProgramAttach {
        target: map.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        attachment,
        flags: 0,
    };
    // SAFETY: the structure is the command's, and points nowhere.
    unsafe { call(PROGRAM_ATTACH, &attach) }.map(drop)
}

/// Attaches a program to an interface of this network namespace, until the link is dropped.
pub(crate) fn attach_to_interface(
    program: &OwnedFd,
    interface_index: u32,
    attachment: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let create = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface_index,
        attachment,
        flags,
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
