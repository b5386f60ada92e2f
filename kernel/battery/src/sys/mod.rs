//! Calls of the system that the standard library does not have. All unsafe code of the battery is
//! in this folder: [`process`] forks and waits, [`memory`] is what the driver writes, [`fault`]
//! what keeps its pages back, here is the rest.

mod fault;
mod memory;
mod process;

use std::ffi::CStr;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

pub use fault::Faults;
pub use memory::{Buffer, scribble};
pub use process::{
    Child, Ended, become_limited, become_nobody, enter_network_namespace, lead_group, limit,
    new_network_namespace, stop_self,
};

/// What a call answered: `Err` is the errno.
pub type Answer = Result<i64, i32>;

fn answer(value: i64) -> Answer {
    match value {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        value => Ok(value),
    }
}

/// A request with any number and any argument, as a hostile program would make it.
pub fn ioctl(fd: RawFd, request: u32, argument: u64) -> Answer {
    // SAFETY: what the driver does with the argument is what is tried; callers pass addresses of
    // memory that may be written, or that do not exist.
    answer(unsafe { libc::ioctl(fd, request.into(), argument) }.into())
}

/// The same with a structure.
pub fn ioctl_with<T>(fd: RawFd, request: u32, argument: &mut T) -> Answer {
    ioctl(fd, request, std::ptr::from_mut(argument) as u64)
}

/// Brings `lo` up; the kernel gives it its address by itself.
pub fn bring_up_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: zeroes are a value of this structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the structure is a local, with a terminated name.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) };
    answer(done.into())
        .map(|_| ())
        .map_err(io::Error::from_raw_os_error)
}

/// Bytes that the other end has not acknowledged.
pub fn out_queue(socket: &TcpStream) -> i32 {
    let mut bytes: i32 = 0;
    // SAFETY: writes one integer.
    unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    bytes
}

/// An option of a socket that is an integer or a structure.
pub fn set_option<T>(socket: BorrowedFd<'_>, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value has.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(&value).cast(),
            size_of::<T>() as u32,
        )
    };
    answer(done.into())
        .map(|_| ())
        .map_err(io::Error::from_raw_os_error)
}

/// Closing the socket resets the connection.
pub fn reset_on_close(socket: &TcpStream) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_LINGER, linger)
}

/// Ends a connection from within: the socket is as good as new.
pub fn disconnect(socket: BorrowedFd<'_>) {
    let nowhere = libc::sockaddr {
        sa_family: libc::AF_UNSPEC as u16,
        sa_data: [0; 14],
    };
    // SAFETY: the address is a local of the size given.
    unsafe { libc::connect(socket.as_raw_fd(), &nowhere, size_of_val(&nowhere) as u32) };
}

/// Connects a socket that exists to a port of this machine.
pub fn connect(socket: BorrowedFd<'_>, to: std::net::SocketAddr) -> io::Result<()> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(std::net::Ipv4Addr::LOCALHOST).to_be(),
        },
        sin_zero: [0; 8],
    };
    let at = (&raw const address).cast();
    // SAFETY: the address is a local of the size given.
    let done = unsafe { libc::connect(socket.as_raw_fd(), at, size_of_val(&address) as u32) };
    match answer(done.into()) {
        // It goes on by itself: the socket does not block.
        Ok(_) | Err(libc::EINPROGRESS) => Ok(()),
        Err(errno) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Whether it can be made to wait for connections.
pub fn listen(socket: BorrowedFd<'_>) -> bool {
    // SAFETY: integers only.
    unsafe { libc::listen(socket.as_raw_fd(), 1) == 0 }
}

/// Waits by epoll; how many descriptors have something.
pub fn epoll(fd: BorrowedFd<'_>, time_ms: i32) -> Answer {
    // SAFETY: integers, and structures that are locals; the descriptor made here is closed here.
    unsafe {
        let set = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        answer(set.into())?;
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event);
        let found = libc::epoll_wait(set, &mut event, 1, time_ms);
        libc::close(set);
        answer(found.into())
    }
}

/// A TCP socket that is connected to nobody.
pub fn unconnected() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: integers only.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    answer(fd.into()).map_err(io::Error::from_raw_os_error)?;
    // SAFETY: new, and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Something can be read at once, the end included.
pub fn is_readable(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut what = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, a local.
    match unsafe { libc::poll(&mut what, 1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        count => Ok(count > 0),
    }
}

/// Programs that are executed inherit the descriptor.
pub fn inherit(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integers only.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
    answer(done.into())
        .map(|_| ())
        .map_err(io::Error::from_raw_os_error)
}

/// Whether a descriptor that may be anybody's can be mapped.
pub fn map_by_number(fd: RawFd, bytes: usize) -> bool {
    // SAFETY: a new mapping where the kernel likes it, which nobody uses.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED,
            fd,
            0,
        )
    };
    at != libc::MAP_FAILED
}

/// Room for one descriptor beside a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

/// Sends a descriptor through a local socket.
pub fn pass(through: RawFd, what: BorrowedFd<'_>) -> io::Result<()> {
    with_message(|message| {
        // SAFETY: `with_message` made room for a header and one descriptor.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
            libc::CMSG_DATA(header)
                .cast::<RawFd>()
                .write_unaligned(what.as_raw_fd());
            libc::sendmsg(through, message, 0)
        }
    })
    .map(|_| ())
}

/// Receives one.
pub fn receive_passed(through: RawFd) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let mut found = -1;
    with_message(|message| {
        // SAFETY: as above; what is read is checked to be a descriptor.
        unsafe {
            let received = libc::recvmsg(through, message, 0);
            let header = libc::CMSG_FIRSTHDR(message);
            if received > 0 && !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
                found = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
            }
            received
        }
    })?;
    if found < 0 {
        return Err(io::Error::other("no descriptor came"));
    }
    // SAFETY: new in this process, and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(found) })
}

/// A message of one byte with room for a descriptor beside it.
fn with_message(call: impl FnOnce(&mut libc::msghdr) -> isize) -> io::Result<isize> {
    let (mut byte, mut beside) = ([1u8], Beside([0; 64]));
    let mut part = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    // SAFETY: zeroes are a value of this structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    // SAFETY: arithmetic only.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as usize;
    match call(&mut message) {
        -1 => Err(io::Error::last_os_error()),
        bytes => Ok(bytes),
    }
}

/// Tries to unload a module.
pub fn unload_module(name: &CStr) -> Answer {
    // SAFETY: a terminated name and an integer.
    answer(unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) })
}

/// Loads a module from a file, with parameters.
pub fn load_module(file: &std::fs::File, parameters: &CStr) -> Answer {
    // SAFETY: a descriptor, a terminated text and an integer.
    answer(unsafe {
        libc::syscall(
            libc::SYS_finit_module,
            file.as_raw_fd(),
            parameters.as_ptr(),
            0,
        )
    })
}

/// Mounts the groups of processes, whose memory can be limited; an error if they are there already
/// does not matter.
pub fn mount_groups() {
    // SAFETY: terminated names.
    unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/sys/fs/cgroup".as_ptr(),
            c"cgroup2".as_ptr(),
            0,
            std::ptr::null(),
        )
    };
}

/// Mounts debugfs, where fault injection is switched on, unless it is.
pub fn mount_debugfs() {
    let listed = std::fs::read_dir("/sys/kernel/debug");
    if listed.is_ok_and(|mut found| found.next().is_some()) {
        return;
    }
    // SAFETY: terminated names.
    unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/sys/kernel/debug".as_ptr(),
            c"debugfs".as_ptr(),
            0,
            std::ptr::null(),
        )
    };
}

/// Processor time of this process in microseconds.
pub fn cpu_us() -> u64 {
    // SAFETY: zeroes are a value, which the kernel overwrites.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// A key of this process, by which streams of the kernel prove themselves; its serial number.
pub fn add_key(name: &str, payload: &[u8]) -> io::Result<i32> {
    const PROCESS_KEYRING: i32 = -2;
    let name = std::ffi::CString::new(name)?;
    // SAFETY: terminated names, and a payload of the length given.
    let serial = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            name.as_ptr(),
            payload.as_ptr(),
            payload.len(),
            PROCESS_KEYRING,
        )
    };
    match answer(serial) {
        Ok(serial) => Ok(serial as i32),
        Err(errno) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Calls on the descriptor do not wait.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integers only.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    answer(done.into())
        .map(|_| ())
        .map_err(io::Error::from_raw_os_error)
}

/// Reads into memory that may not be there.
pub fn read_to(fd: BorrowedFd<'_>, memory: Buffer) -> Answer {
    let at = memory.address() as *mut libc::c_void;
    // SAFETY: memory of a case that serves nothing else, or an address of nothing, which the
    // kernel refuses.
    answer(unsafe { libc::read(fd.as_raw_fd(), at, memory.bytes()) } as i64)
}

/// Writes from memory that may not be there.
pub fn write_from(fd: BorrowedFd<'_>, memory: Buffer) -> Answer {
    let at = memory.address() as *const libc::c_void;
    // SAFETY: the kernel reads it, or refuses to.
    answer(unsafe { libc::write(fd.as_raw_fd(), at, memory.bytes()) } as i64)
}

/// How often threads of this process have slept.
pub fn switches() -> u64 {
    // SAFETY: zeroes are a value, which the kernel overwrites.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_nvcsw as u64
}

/// A descriptor that a request has answered with.
pub fn adopt(fd: RawFd) -> std::fs::File {
    use std::os::fd::FromRawFd;
    // SAFETY: new in this process, and ours.
    unsafe { std::fs::File::from_raw_fd(fd) }
}
