//! The calls by which [`super::Udp`] moves datagrams, and the socket's options. All unsafe code of
//! the UDP device is here.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

use super::BindError;
use crate::address::Reach;
use crate::device::sys::{Control, NAME_BYTES_MAX, Name, Socket};

/// What the kernel is asked to keep for us until we look, and to take from us. It allows everybody
/// as much as net.core.rmem_max says (212 992 bytes by default) and twice that with its own
/// overhead; who has CAP_NET_ADMIN gets all of it.
const BUFFER_BYTES: i32 = 4 << 20;

/// A datagram socket for all peers of both families.
pub(super) struct Datagrams {
    socket: Socket,
    /// Of IPv6.
    six: bool,
    /// Of IPv6, and speaks IPv4 as well.
    both: bool,
    /// Where it takes datagrams.
    reach: Reach,
}

/// A datagram, or a run of them that the kernel kept together.
pub(super) struct Received {
    /// All bytes of it.
    pub bytes: usize,
    /// Length of each datagram of the run; the last may be shorter.
    pub segment: usize,
}

/// News from the socket's error queue: what the network said about a datagram that left earlier.
pub(super) struct Complaint {
    pub errno: i32,
    /// Whether another host said so by ICMP; else this host's own kernel.
    pub from_network: bool,
    /// For EMSGSIZE: the MTU of the path.
    pub mtu: usize,
    /// Where the datagram was to go.
    pub to: Option<SocketAddr>,
}

impl Datagrams {
    pub fn bind(
        reach: &Reach,
        port: u16,
        families: super::Families,
    ) -> Result<Datagrams, BindError> {
        let mut refused = None;
        let names = reach.names(port);
        let wanted = names
            .iter()
            .filter(|name| families == super::Families::Both || name.is_ipv4() || names.len() == 1);
        for name in wanted {
            match Self::bind_to(name, reach, true) {
                // A kernel without IPv6 says so in several ways; IPv4 then decides what is wrong.
                Err(error @ BindError::System { .. }) => refused = Some(error),
                other => return other,
            }
        }
        Err(refused.expect("a reach has names"))
    }

    /// Another socket on this one's port, which takes over all that comes from `peer`; strangers to
    /// this process still cannot have the port.
    pub fn branch(&self, port: u16, peer: &SocketAddr) -> io::Result<Datagrams> {
        self.socket.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        let name = match (&self.reach, peer) {
            (Reach::One(..), _) => self.reach.names(port)[0],
            (_, SocketAddr::V4(_)) => (Ipv4Addr::UNSPECIFIED, port).into(),
            (_, SocketAddr::V6(_)) => (Ipv6Addr::UNSPECIFIED, port).into(),
        };
        let branch = Self::bind_to(&name, &self.reach, false).map_err(io::Error::other)?;
        // A thread that has moved to another network since cannot make a socket in the first one.
        if branch.network() != self.network() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        branch.socket.connect(&Name::new(peer, false))?;
        // Between binding and connecting it may have been given what is from others.
        while branch.receive(&mut [0; 1], None).is_ok() {}
        Ok(branch)
    }

    /// `alone`: nobody else may have the port, and IPv6 includes IPv4.
    fn bind_to(address: &SocketAddr, reach: &Reach, alone: bool) -> Result<Datagrams, BindError> {
        let six = address.is_ipv6();
        let both = six && alone;
        let port = address.port();
        let failed = |what| move |source| BindError::System { what, port, source };
        let family = if six { libc::AF_INET6 } else { libc::AF_INET };
        let socket = Socket::new(family, libc::SOCK_DGRAM, 0).map_err(failed("make the socket"))?;
        if six {
            socket
                .set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, i32::from(!both))
                .map_err(failed("let one socket speak IPv4 and IPv6"))?;
        }
        if !alone {
            socket
                .set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
                .map_err(failed("share the port with ourselves"))?;
        }
        reach
            .narrow(socket.fd())
            .map_err(failed("narrow the addresses"))?;
        let reach = reach.clone();
        let datagrams = Datagrams {
            socket,
            six,
            both,
            reach,
        };
        datagrams
            .set_path_mtu(libc::IP_PMTUDISC_DO)
            .map_err(failed("forbid fragments"))?;
        datagrams
            .set_both(
                (libc::IPPROTO_IP, libc::IP_RECVERR),
                (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
                1,
            )
            .map_err(failed("hear of unreachable ports"))?;
        // Refused by kernels before 5.0, where datagrams simply come one by one.
        let _ = datagrams.socket.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        datagrams.widen(libc::SO_RCVBUF, libc::SO_RCVBUFFORCE);
        datagrams.widen(libc::SO_SNDBUF, libc::SO_SNDBUFFORCE);
        datagrams
            .socket
            .bind(&Name::new(address, six))
            .map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => BindError::PortTaken { port },
                _ => failed("bind the socket")(source),
            })?;
        Ok(datagrams)
    }

    /// A number that stands for the network namespace, where the kernel tells (since 5.14).
    fn network(&self) -> Option<[u32; 2]> {
        let cookie = self
            .socket
            .get_words(libc::SOL_SOCKET, libc::SO_NETNS_COOKIE);
        cookie.ok()
    }

    /// Asks for a large buffer and takes what there is; how large it became shows in
    /// [`Datagrams::receive_buffer_bytes`].
    fn widen(&self, option: i32, forced: i32) {
        let set = |option| self.socket.set(libc::SOL_SOCKET, option, BUFFER_BYTES);
        let _ = set(forced).or_else(|_| set(option));
    }

    /// Sets an option that each family has for itself.
    fn set_both(&self, four: (i32, i32), six: (i32, i32), value: i32) -> io::Result<()> {
        if self.six {
            self.socket.set(six.0, six.1, value)?;
        }
        if self.both || !self.six {
            self.socket.set(four.0, four.1, value)?;
        }
        Ok(())
    }

    fn set_path_mtu(&self, mode: i32) -> io::Result<()> {
        self.set_both(
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
            mode,
        )
    }

    /// From now on, datagrams too long for their path travel in fragments.
    pub fn allow_fragments(&self) -> io::Result<()> {
        self.set_path_mtu(libc::IP_PMTUDISC_WANT)
    }

    pub fn speaks_both(&self) -> bool {
        self.both
    }

    fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    pub fn port(&self) -> io::Result<u16> {
        self.socket.port()
    }

    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let [bytes] = self.socket.get_words(libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        Ok(bytes as usize)
    }

    /// Bytes of the receive buffer in use, and datagrams dropped because it was full, since the
    /// socket exists.
    pub fn memory(&self) -> io::Result<(usize, u32)> {
        let words: [u32; 9] = self.socket.get_words(libc::SOL_SOCKET, libc::SO_MEMINFO)?;
        let used = words[libc::SK_MEMINFO_RMEM_ALLOC as usize] as usize;
        Ok((used, words[libc::SK_MEMINFO_DROPS as usize]))
    }

    /// The name of an address for [`Datagrams::send`].
    #[inline]
    pub fn name(&self, address: &SocketAddr) -> Name {
        Name::new(address, self.both)
    }

    /// Sends the pieces, to where the socket is connected if no name is given, as one datagram or,
    /// if `segment` is given, as datagrams of that length of which the last may be shorter.
    #[inline]
    pub fn send(
        &self,
        to: Option<&Name>,
        pieces: &[libc::iovec],
        segment: Option<u16>,
    ) -> io::Result<()> {
        // SAFETY: zero is a valid message header: nothing to nobody.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        if let Some(to) = to {
            message.msg_name = to.as_ptr().cast_mut().cast();
            message.msg_namelen = to.bytes;
        }
        message.msg_iov = pieces.as_ptr().cast_mut();
        message.msg_iovlen = pieces.len() as _;
        let control;
        if let Some(segment) = segment {
            let bytes;
            (control, bytes) = Control::<32>::with_u16(libc::SOL_UDP, libc::UDP_SEGMENT, segment);
            message.msg_control = control.0.as_ptr().cast_mut().cast();
            message.msg_controllen = bytes as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: name and control are locals that outlive the call; the pieces are memory that
        // stays until the batch is sent (promised to `Batch::push`). The kernel reads all of them
        // and writes none.
        counted(unsafe { libc::sendmsg(self.fd(), &message, flags) }).map(|_| ())
    }

    /// Sends a datagram to where the socket is connected.
    #[inline]
    pub fn send_short(&self, datagram: &[u8]) -> io::Result<()> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: pointer and length describe the slice, which the kernel reads.
        let outcome =
            unsafe { libc::send(self.fd(), datagram.as_ptr().cast(), datagram.len(), flags) };
        counted(outcome).map(|_| ())
    }

    /// Takes the next datagram or run of datagrams, without being told which it is: a shorter call
    /// than [`Datagrams::receive_run`], by about 90 ns if there is something and 70 if not. Says
    /// how many bytes came.
    #[inline]
    pub fn receive(&self, into: &mut [u8], from: Option<&mut Name>) -> io::Result<usize> {
        let Some(from) = from else {
            // SAFETY: pointer and length describe the slice.
            let outcome = unsafe {
                let into = (into.as_mut_ptr().cast(), into.len());
                libc::recv(self.fd(), into.0, into.1, libc::MSG_DONTWAIT)
            };
            return counted(outcome);
        };
        let mut name_bytes = NAME_BYTES_MAX as libc::socklen_t;
        // SAFETY: slice and name are ours alone for the call, which is told their lengths.
        let outcome = unsafe {
            libc::recvfrom(
                self.fd(),
                into.as_mut_ptr().cast(),
                into.len(),
                libc::MSG_DONTWAIT,
                from.as_mut_ptr(),
                &mut name_bytes,
            )
        };
        let bytes = counted(outcome)?;
        from.bytes = name_bytes;
        Ok(bytes)
    }

    /// Takes the next datagram or run of datagrams; an error of kind `WouldBlock` if there is none,
    /// and then `from` stays what it was.
    #[inline]
    pub fn receive_run(
        &self,
        into: &mut [u8],
        mut from: Option<&mut Name>,
    ) -> io::Result<Received> {
        let mut control = Control([0; 32]);
        let mut piece = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        // SAFETY: zero is a valid message header: nothing from nobody.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        if let Some(from) = &mut from {
            message.msg_name = from.as_mut_ptr().cast();
            message.msg_namelen = NAME_BYTES_MAX as libc::socklen_t;
        }
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: name, control and slice are ours alone for the call, and the header gives their
        // lengths.
        let outcome = unsafe { libc::recvmsg(self.fd(), &mut message, libc::MSG_DONTWAIT) };
        let bytes = counted(outcome)?;
        if let Some(from) = from {
            from.bytes = message.msg_namelen;
        }
        let segment = match message.msg_controllen as usize {
            0 => bytes,
            there => control
                .find(there, &[(libc::SOL_UDP, libc::UDP_GRO)])
                .and_then(|content| Some(i32::from_ne_bytes(*content.first_chunk()?)))
                .and_then(|segment| usize::try_from(segment).ok())
                .map_or(bytes, |segment| segment.clamp(1, bytes.max(1))),
        };
        Ok(Received { bytes, segment })
    }

    /// The next entry of the error queue, if there is one.
    pub fn complaint(&self) -> Option<Complaint> {
        let mut name = Name::empty();
        let mut control = Control([0; 256]);
        // SAFETY: zero is a valid message header; without pieces, the datagram's own bytes are left
        // out.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = name.as_mut_ptr().cast();
        message.msg_namelen = name.bytes;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: name and control are locals, and the header gives their lengths.
        if unsafe { libc::recvmsg(self.fd(), &mut message, flags) } < 0 {
            return None;
        }
        name.bytes = message.msg_namelen;
        // `struct sock_extended_err`: errno, then origin, type, code, padding, then the MTU if that
        // is what it is about.
        let wanted = [
            (libc::SOL_IPV6, libc::IPV6_RECVERR),
            (libc::SOL_IP, libc::IP_RECVERR),
        ];
        let content = control.find(message.msg_controllen as usize, &wanted);
        let word = |place: usize| {
            let bytes = content.and_then(|content| content.get(place..)?.first_chunk());
            bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
        };
        let origin = content.and_then(|content| content.get(4)).copied();
        Some(Complaint {
            errno: word(0) as i32,
            from_network: matches!(
                origin,
                Some(libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6)
            ),
            mtu: word(8) as usize,
            to: name.address(),
        })
    }
}

#[inline(always)]
fn counted(outcome: isize) -> io::Result<usize> {
    usize::try_from(outcome).map_err(|_| io::Error::last_os_error())
}
