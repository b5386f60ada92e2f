//! Stream sockets as the transport uses them: never blocking, never a signal, two pieces of memory
//! in one call.
//!
//! System calls of the TCP device are in this file, in `epoll`, `uring/ring.rs` and `bpf/area.rs`. What is read and written by
//! address is the user's memory; the engine's requests promise that it stays valid (see the
//! callers' safety sections).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::address::{self, Reach};

/// Seconds without a word after which the kernel asks an idle peer whether it is there, between two
/// questions, and questions.
const KEEPALIVE_IDLE_S: i32 = 5;
const KEEPALIVE_INTERVAL_S: i32 = 2;
const KEEPALIVE_PROBES: i32 = 3;

/// Connections that may wait to be accepted: every process of a job may dial at once.
const BACKLOG: i32 = 4096;

/// A socket that does not block.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

/// What a call that may not block came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// So many bytes; for a read, 0 is the end.
    Bytes(usize),
    /// Not now.
    Blocked,
}

/// How the kernel sees a connection's other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silence {
    /// Something we sent has not been acknowledged.
    pub unacknowledged: bool,
    /// Milliseconds since anything came from the other host.
    pub since_ms: u32,
}

impl Socket {
    fn new(family: i32) -> io::Result<Socket> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: integers only; a new descriptor is ours.
        let fd = unsafe { libc::socket(family, kind, libc::IPPROTO_TCP) };
        adopt(fd)
    }

    /// A socket that accepts connections on `port` (0: any) at the addresses of `reach`: IPv6 and
    /// IPv4 alike where the kernel has both.
    pub fn listen(port: u16, reach: &Reach) -> io::Result<Socket> {
        let mut refused = io::ErrorKind::AddrNotAvailable.into();
        for name in reach.names(port) {
            match Self::listen_at(&name, reach) {
                Err(error) if error.raw_os_error() != Some(libc::EADDRINUSE) => refused = error,
                other => return other,
            }
        }
        Err(refused)
    }

    fn listen_at(address: &SocketAddr, reach: &Reach) -> io::Result<Socket> {
        let socket = Self::new(family(address))?;
        if address.is_ipv6() {
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
        }
        reach.narrow(socket.fd())?;
        let (storage, length) = storage(address);
        // SAFETY: the address is a local of the length given; the rest are integers.
        unsafe {
            check(libc::bind(socket.fd(), (&raw const storage).cast(), length))?;
            check(libc::listen(socket.fd(), BACKLOG))?;
        }
        Ok(socket)
    }

    /// The port this socket is bound to.
    pub fn port(&self) -> io::Result<u16> {
        // SAFETY: zero is a valid address of no family.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: pointer and length describe the local; both families have the port in the same
        // place.
        unsafe {
            check(libc::getsockname(
                self.fd(),
                (&raw mut storage).cast(),
                &mut length,
            ))?;
            let address = (&raw const storage).cast::<libc::sockaddr_in>();
            Ok(u16::from_be((*address).sin_port))
        }
    }

    /// The next connection that waits, if any.
    pub fn accept(&self) -> io::Result<Option<Socket>> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the address is not asked for.
        let fd =
            unsafe { libc::accept4(self.fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        match adopt(fd) {
            Ok(socket) => {
                address::widen(socket.fd());
                Ok(Some(socket))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins to connect; the socket becomes writable when that is decided, and [`Socket::error`]
    /// tells how.
    pub fn dial(address: &SocketAddr) -> io::Result<Socket> {
        let socket = Self::new(family(address))?;
        let (storage, length) = storage(address);
        // SAFETY: the address is a local of the length given.
        let outcome =
            check(unsafe { libc::connect(socket.fd(), (&raw const storage).cast(), length) });
        match outcome {
            Ok(_) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    /// Why connecting failed, if it did.
    pub fn error(&self) -> io::Result<()> {
        let mut code: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: pointer and length describe the local.
        check(unsafe {
            libc::getsockopt(
                self.fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &mut length,
            )
        })?;
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// For a connection that carries messages: small ones leave at once, and a silent peer is asked
    /// whether it is there.
    pub fn prepare(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        self.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, KEEPALIVE_IDLE_S)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, KEEPALIVE_PROBES)
    }

    /// Whether and for how long the other host has been silent although it owes an acknowledgement.
    /// Not TCP_USER_TIMEOUT: that also gives up on a peer that is merely stopped and whose window
    /// is full.
    pub fn silence(&self) -> io::Result<Silence> {
        let info = self.info()?;
        Ok(Silence {
            unacknowledged: info.tcpi_unacked > 0 || info.tcpi_probes > 0,
            since_ms: info.tcpi_last_ack_recv.min(info.tcpi_last_data_recv),
        })
    }

    /// Segments that the network has lost so far: those that were sent again, without those of
    /// which the receiver has said that it had them. Segments that overtake each other look lost
    /// for a moment. Linux before 4.19 does not tell the difference.
    pub fn lost_segments(&self) -> io::Result<u32> {
        let info = self.info()?;
        Ok(info.tcpi_total_retrans.saturating_sub(info.tcpi_dsack_dups))
    }

    fn info(&self) -> io::Result<libc::tcp_info> {
        // SAFETY: zero is a valid value of this structure of integers.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: pointer and length describe the local.
        check(unsafe {
            libc::getsockopt(
                self.fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut length,
            )
        })?;
        Ok(info)
    }

    /// Reads into memory of ours.
    #[inline]
    pub fn read(&self, into: &mut [u8]) -> io::Result<Moved> {
        self.receive(into, 0)
    }

    /// Whether the other side has closed the connection, and all that it wrote has been read.
    pub fn is_over(&self) -> bool {
        match self.glance() {
            Ok(Moved::Bytes(count)) => count == 0,
            Ok(Moved::Blocked) => false,
            Err(_) => true,
        }
    }

    /// Whether a byte could be read, without reading it; 0 is the end.
    pub fn glance(&self) -> io::Result<Moved> {
        self.receive(&mut [0], libc::MSG_PEEK)
    }

    fn receive(&self, into: &mut [u8], flags: libc::c_int) -> io::Result<Moved> {
        let (to, flags) = (into.as_mut_ptr().cast(), flags | libc::MSG_DONTWAIT);
        // SAFETY: pointer and length describe the slice.
        moved(unsafe { libc::recv(self.fd(), to, into.len(), flags) })
    }

    /// Reads into `bytes` bytes at `first`, and what comes after them into `then`.
    ///
    /// # Safety
    /// `first` must be valid for writing `bytes` bytes.
    #[inline]
    pub unsafe fn read_two(
        &self,
        first: *mut u8,
        bytes: usize,
        then: &mut [u8],
    ) -> io::Result<Moved> {
        let mut pieces = [piece(first, bytes), piece(then.as_mut_ptr(), then.len())];
        // SAFETY: zero is a valid message header of no pieces.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = pieces.as_mut_ptr();
        message.msg_iovlen = 2;
        // SAFETY: the pieces are the caller's memory and the slice.
        moved(unsafe { libc::recvmsg(self.fd(), &mut message, libc::MSG_DONTWAIT) })
    }

    /// Writes `one`, `two`, and `bytes` bytes at `three`, in one call. `more`: something follows,
    /// so the kernel may keep what does not fill a packet until then, or until [`Socket::push`].
    ///
    /// # Safety
    /// `three` must be valid for reading `bytes` bytes.
    #[inline]
    pub unsafe fn write_three(
        &self,
        one: &[u8],
        two: &[u8],
        three: *const u8,
        bytes: usize,
        more: bool,
    ) -> io::Result<Moved> {
        let mut pieces = [
            piece(one.as_ptr(), one.len()),
            piece(two.as_ptr(), two.len()),
            piece(three, bytes),
        ];
        // Empty pieces cost the kernel time.
        let skipped = usize::from(one.is_empty());
        // SAFETY: zero is a valid message header of no pieces.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = pieces[skipped..].as_mut_ptr();
        message.msg_iovlen = (3 - skipped - usize::from(bytes == 0)) as _;
        let more = if more { libc::MSG_MORE } else { 0 };
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | more;
        // SAFETY: the pieces are slices and the caller's memory; the kernel only reads them.
        moved(unsafe { libc::sendmsg(self.fd(), &message, flags) })
    }

    /// Lets go what the kernel keeps because more was to follow: setting this option anew does it.
    pub fn push(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
    }

    /// Writes what fits.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Moved> {
        // SAFETY: pointer and length describe the slice.
        moved(unsafe {
            libc::send(
                self.fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        })
    }

    #[inline(always)]
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        // SAFETY: pointer and length describe the local.
        check(unsafe {
            libc::setsockopt(
                self.fd(),
                level,
                name,
                (&raw const value).cast(),
                size_of::<i32>() as libc::socklen_t,
            )
        })
        .map(|_| ())
    }
}

/// Lets this process have a connection to each of `peers` processes, as far as the hard limit goes:
/// the usual soft limit of 1024 open files is for programs that use select.
pub(super) fn raise_open_files(peers: u32) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let needed = u64::from(peers) + 1024;
    // SAFETY: the structure is a local; a limit that cannot be raised stays as it is, and a
    // connection too many says so.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < needed {
            limit.rlim_cur = needed.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

fn adopt(fd: RawFd) -> io::Result<Socket> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that the kernel has just given to us.
    Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
}

#[inline(always)]
fn piece(address: *const u8, bytes: usize) -> libc::iovec {
    libc::iovec {
        iov_base: address.cast_mut().cast(),
        iov_len: bytes,
    }
}

fn check(outcome: libc::c_int) -> io::Result<libc::c_int> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(outcome)
}

#[inline(always)]
fn moved(outcome: isize) -> io::Result<Moved> {
    if outcome >= 0 {
        return Ok(Moved::Bytes(outcome as usize));
    }
    why_not()
}

#[inline(never)]
fn why_not() -> io::Result<Moved> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Moved::Blocked),
        _ => Err(error),
    }
}

fn family(address: &SocketAddr) -> i32 {
    match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    }
}

fn storage(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: zero is a valid address of no family.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            let native = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is made to hold and align every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(native) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let native = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe {
                (&raw mut storage)
                    .cast::<libc::sockaddr_in6>()
                    .write(native)
            };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}
