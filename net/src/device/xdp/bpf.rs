//! What the XDP device asks of the kernel's `bpf` call: a map of sockets, a program, and the link
//! that attaches it to an interface. When the link is closed the kernel detaches the program.

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use crate::bpf::assembler::Instruction;
use crate::bpf::{self, Sort, Table};

/// `BPF_MAP_TYPE_XSKMAP` of linux/bpf.h, `BPF_PROG_TYPE_XDP`, and the kind of attachment `BPF_XDP`.
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `BPF_F_XDP_HAS_FRAGS`: the program looks at the beginning of packets only. Without it, it could
/// not be attached where packets are longer than a page.
const BEGINNINGS_ONLY: u32 = 1 << 5;

/// How a program is attached: flags of linux/if_link.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Mode {
    /// By the kernel, behind any driver: `XDP_FLAGS_SKB_MODE`.
    Generic = 1 << 1,
    /// In the driver: `XDP_FLAGS_DRV_MODE`.
    Native = 1 << 2,
}

/// A map with a socket for each receive queue up to `queue`, of which this one has one.
pub(super) fn map_with(socket: RawFd, queue: u32) -> io::Result<OwnedFd> {
    let map = Table::new(MAP_OF_SOCKETS, queue + 1)?;
    map.update(queue, socket)?;
    Ok(map.into_fd())
}

/// Has the kernel check a program and make it ready to run.
pub(super) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let sort = |flags| Sort {
        program_type: PROGRAM_XDP,
        attachment: ATTACH_XDP,
        flags,
        name: *b"oxmpi_frames\0\0\0\0",
    };
    match bpf::load(sort(BEGINNINGS_ONLY), program) {
        // Before Linux 5.18 nobody asked.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => bpf::load(sort(0), program),
        decided => decided,
    }
}

/// Attaches a program to an interface of this network namespace, until the link is dropped.
pub(super) fn attach(program: &OwnedFd, interface_index: u32, mode: Mode) -> io::Result<OwnedFd> {
    bpf::attach_to_interface(program, interface_index, ATTACH_XDP, mode as u32)
}
