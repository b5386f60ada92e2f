//! The system calls that hosts are made of; the only unsafe code here.

use std::ffi::{CString, c_int, c_ulong};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

pub use libc::{CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS};
pub use libc::{MS_BIND, MS_MOVE, MS_PRIVATE, MS_REC};

/// Whether we may make namespaces and interfaces.
pub fn is_root() -> bool {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() == 0 }
}

/// Gives this process (for processes: its children) namespaces of its own.
pub fn unshare(namespaces: c_int) -> io::Result<()> {
    // SAFETY: a system call without memory.
    answer(unsafe { libc::unshare(namespaces) })
}

/// Moves this process, which has one thread, into a namespace.
pub fn enter(namespace: impl AsFd) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call.
    answer(unsafe { libc::setns(namespace.as_fd().as_raw_fd(), 0) })
}

/// Names this host.
pub fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one string.
    answer(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })
}

/// Has the kernel kill this process when its parent ends, whatever ends it.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: this option takes one number.
    answer(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong) })
}

/// Mounts; what of source and kind means something depends on the flags.
pub fn mount(source: &str, place: &str, kind: &str, flags: c_ulong) -> io::Result<()> {
    let [source, place, kind] = [source, place, kind].map(CString::new);
    let (source, place, kind) = (source?, place?, kind?);
    // SAFETY: three strings that end with a zero and outlive the call, and no data.
    answer(unsafe {
        libc::mount(
            source.as_ptr(),
            place.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    })
}

/// Takes a mount from its place; what is bound elsewhere stays.
pub fn unmount(place: &str) -> io::Result<()> {
    let place = CString::new(place)?;
    // SAFETY: a string that ends with a zero and outlives the call.
    answer(unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH) })
}

/// Waits for any child, adopted ones included; gives its number and its status as the shell counts:
/// 128 and the signal.
pub fn reap(block: bool) -> io::Result<Option<(u32, i32)>> {
    let mut status = 0;
    let flags = if block { 0 } else { libc::WNOHANG };
    // SAFETY: the status is ours.
    let process = unsafe { libc::waitpid(-1, &mut status, flags) };
    if process < 0 {
        return Err(io::Error::last_os_error());
    }
    let code = if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    };
    Ok((process > 0).then_some((process as u32, code)))
}

/// An instruction of the kernel's BPF machine: `struct bpf_insn` of linux/bpf.h.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Instruction {
    pub code: u8,
    pub registers: u8,
    pub offset: i16,
    pub constant: i32,
}

/// Has the kernel run a program of the kind XDP on each packet that an interface of this network
/// receives, until the answer is dropped.
pub fn run_on_packets(interface: &str, program: &[Instruction]) -> io::Result<OwnedFd> {
    /// The beginnings of linux/bpf.h's union for the two commands.
    #[repr(C)]
    struct Load {
        program_type: u32,
        instructions: u32,
        instructions_at: u64,
        licence_at: u64,
    }
    #[repr(C)]
    struct Link {
        program: c_int,
        interface: u32,
        attachment: u32,
        flags: u32,
    }
    const BPF_PROG_LOAD: c_int = 5;
    const BPF_LINK_CREATE: c_int = 28;
    const BPF_PROG_TYPE_XDP: u32 = 6;
    const BPF_XDP: u32 = 37;
    /// By the kernel itself, whatever the driver: linux/if_link.h.
    const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;

    let name = CString::new(interface)?;
    // SAFETY: a string that ends with a zero and outlives the call.
    let interface = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if interface == 0 {
        return Err(io::Error::last_os_error());
    }
    let load = Load {
        program_type: BPF_PROG_TYPE_XDP,
        instructions: program.len() as u32,
        instructions_at: program.as_ptr().addr() as u64,
        licence_at: c"MIT".as_ptr().addr() as u64,
    };
    // SAFETY: the structure is the command's; it points to so many instructions and to a string
    // with an end, which live until the call returns.
    let program = unsafe { bpf(BPF_PROG_LOAD, &load) }?;
    let link = Link {
        program: program.as_raw_fd(),
        interface,
        attachment: BPF_XDP,
        flags: XDP_FLAGS_SKB_MODE,
    };
    // SAFETY: the structure is the command's, and points nowhere.
    unsafe { bpf(BPF_LINK_CREATE, &link) }
}

/// # Safety
/// The structure must be the one of the command, whose answer is a new descriptor, and what it
/// points to must be there.
unsafe fn bpf<T>(command: c_int, attributes: &T) -> io::Result<OwnedFd> {
    let at: *const T = attributes;
    // SAFETY: pointer and length describe the structure; the rest is promised by the caller.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, at, size_of::<T>()) };
    answer(fd as c_int)?;
    // SAFETY: a descriptor that the kernel has just given to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

fn answer(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
