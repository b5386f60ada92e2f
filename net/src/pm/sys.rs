//! The two things that the kernel is asked for directly: a connection that is begun without
//! waiting, and a descriptor that stands for two.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Begins to connect. `Ok` as long as it is not decided: `peer_addr` tells when it is, `take_error`
/// that it failed.
pub(super) fn dial(address: &SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: integers only; a new descriptor is ours.
    let stream = unsafe { TcpStream::from(adopt(libc::socket(family, kind, 0))?) };
    // SAFETY: zero is a valid address of no family.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(address) => {
            // SAFETY: the storage is large enough and aligned for every family.
            let into = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in>() };
            into.sin_family = libc::AF_INET as libc::sa_family_t;
            into.sin_port = address.port().to_be();
            into.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            // SAFETY: as above.
            let into = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in6>() };
            into.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            into.sin6_port = address.port().to_be();
            into.sin6_addr.s6_addr = address.ip().octets();
            into.sin6_scope_id = address.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    // SAFETY: the address is a local of the length given.
    let outcome = unsafe {
        libc::connect(
            stream.as_raw_fd(),
            (&raw const storage).cast(),
            length as libc::socklen_t,
        )
    };
    if outcome == 0 {
        return Ok(stream);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINPROGRESS) => Ok(stream),
        _ => Err(error),
    }
}

/// Readable when one of the descriptors is.
pub(crate) fn watch(fds: impl Iterator<Item = RawFd>) -> io::Result<OwnedFd> {
    // SAFETY: integers only; a new descriptor is ours.
    let epoll = unsafe { adopt(libc::epoll_create1(libc::EPOLL_CLOEXEC))? };
    for fd in fds {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        // SAFETY: the event is a local.
        if unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(epoll)
}

/// # Safety
/// `fd` must be a new descriptor of ours, or negative for an error.
unsafe fn adopt(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
