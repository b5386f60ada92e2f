//! What the devices ask of the kernel in the same words: sockets, their options, addresses and
//! control messages.
//!
//! A native socket address and a control message are built and read here as bytes, in the layout
//! that Linux gives them on every architecture, so that neither needs unsafe code or knowledge
//! elsewhere. The calls that move frames stand in the devices' own files.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A socket that does not block and does not survive exec.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    pub fn new(family: i32, kind: i32, protocol: i32) -> io::Result<Socket> {
        let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: integers only.
        let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
        // SAFETY: a descriptor that the kernel has just given to us.
        Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    #[inline(always)]
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        self.set_words(level, name, &[value as u32])
    }

    /// Sets an option whose value is one or several 32-bit words.
    pub fn set_words(&self, level: i32, name: i32, words: &[u32]) -> io::Result<()> {
        let bytes = size_of_val(words) as libc::socklen_t;
        // SAFETY: pointer and length describe the slice, which the kernel reads.
        check(unsafe { libc::setsockopt(self.fd(), level, name, words.as_ptr().cast(), bytes) })?;
        Ok(())
    }

    /// An option whose value is `N` 32-bit words; words that this kernel does not know are 0.
    pub fn get_words<const N: usize>(&self, level: i32, name: i32) -> io::Result<[u32; N]> {
        let mut words = [0; N];
        let mut bytes = size_of_val(&words) as libc::socklen_t;
        // SAFETY: pointer and length describe the local, and every bit pattern is a word.
        check(unsafe {
            libc::getsockopt(
                self.fd(),
                level,
                name,
                words.as_mut_ptr().cast(),
                &mut bytes,
            )
        })?;
        Ok(words)
    }

    pub fn bind(&self, name: &Name) -> io::Result<()> {
        // SAFETY: a name holds as many bytes as its length says.
        check(unsafe { libc::bind(self.fd(), name.as_ptr(), name.bytes) })?;
        Ok(())
    }

    pub fn connect(&self, name: &Name) -> io::Result<()> {
        // SAFETY: a name holds as many bytes as its length says.
        check(unsafe { libc::connect(self.fd(), name.as_ptr(), name.bytes) })?;
        Ok(())
    }

    /// The port this socket is bound to.
    pub fn port(&self) -> io::Result<u16> {
        let mut name = Name::empty();
        // SAFETY: a name has room for as many bytes as an empty one says.
        check(unsafe { libc::getsockname(self.fd(), name.as_mut_ptr(), &mut name.bytes) })?;
        name.address()
            .map(|address| address.port())
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

/// The user as which this process acts.
pub(super) fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user whose process listens at an abstract name, as the kernel says; None if there is none,
/// or if it cannot be asked because it accepts nothing.
pub(super) fn holder_of(name: &[u8]) -> Option<u32> {
    // SAFETY: zero is a valid address of no family.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // An abstract name begins with a zero, which is there already.
    let room = address.sun_path.get_mut(1..=name.len())?;
    for (to, from) in room.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    let bytes = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    let socket = Socket::new(libc::AF_UNIX, libc::SOCK_STREAM, 0).ok()?;
    // SAFETY: the address is a local, of which so many bytes are filled.
    let outcome = unsafe {
        libc::connect(
            socket.fd(),
            (&raw const address).cast(),
            bytes as libc::socklen_t,
        )
    };
    check(outcome).ok()?;
    // `struct ucred`: process, user, group.
    let [_, user, _] = socket.get_words(libc::SOL_SOCKET, libc::SO_PEERCRED).ok()?;
    Some(user)
}

/// A descriptor that is readable when one of several is.
#[derive(Debug)]
pub(super) struct Watch(OwnedFd);

impl Watch {
    pub fn new() -> io::Result<Watch> {
        // SAFETY: an integer only.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: a descriptor that the kernel has just given to us.
        Ok(Watch(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Watches the socket until it is closed.
    pub fn add(&self, socket: &Socket) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        // SAFETY: the event is a local, which the kernel copies.
        check(unsafe { libc::epoll_ctl(self.fd(), libc::EPOLL_CTL_ADD, socket.fd(), &mut event) })?;
        Ok(())
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A socket address of IPv4 or IPv6 as the kernel writes it: family, port, then the family's own.
#[derive(Clone, Copy)]
#[repr(C, align(4))]
pub(super) struct Name {
    content: [u8; NAME_BYTES_MAX],
    /// How much of it there is; for a name that the kernel fills, how much room.
    pub bytes: libc::socklen_t,
}

/// `struct sockaddr_in6`; `sockaddr_in` is shorter.
pub(super) const NAME_BYTES_MAX: usize = size_of::<libc::sockaddr_in6>();
const _: () = assert!(NAME_BYTES_MAX == 28 && size_of::<libc::sockaddr_in>() == 16);

impl Name {
    /// Room for the kernel to write a name into.
    #[inline]
    pub fn empty() -> Name {
        Name {
            content: [0; NAME_BYTES_MAX],
            bytes: NAME_BYTES_MAX as libc::socklen_t,
        }
    }

    /// The name of an address; `mapped`: for a socket of IPv6 that speaks IPv4, too, and calls it
    /// `::ffff:a.b.c.d`.
    #[inline]
    pub fn new(address: &SocketAddr, mapped: bool) -> Name {
        let mut name = Name::empty();
        match address {
            SocketAddr::V4(address) if !mapped => {
                name.begin(libc::AF_INET, address.port());
                name.content[4..8].copy_from_slice(&address.ip().octets());
                name.bytes = 16;
            }
            SocketAddr::V4(address) => {
                name.begin(libc::AF_INET6, address.port());
                name.content[8..24].copy_from_slice(&address.ip().to_ipv6_mapped().octets());
            }
            SocketAddr::V6(address) => {
                name.begin(libc::AF_INET6, address.port());
                name.content[8..24].copy_from_slice(&address.ip().octets());
                name.content[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
            }
        }
        name
    }

    #[inline]
    fn begin(&mut self, family: i32, port: u16) {
        self.content[0..2].copy_from_slice(&(family as libc::sa_family_t).to_ne_bytes());
        self.content[2..4].copy_from_slice(&port.to_be_bytes());
    }

    /// All of it, and zeros behind it.
    pub fn content(&self) -> &[u8; NAME_BYTES_MAX] {
        &self.content
    }

    /// The address, a mapped one as the IPv4 address that it is; None if the kernel wrote none.
    pub fn address(&self) -> Option<SocketAddr> {
        let content = &self.content;
        let family = i32::from(libc::sa_family_t::from_ne_bytes([content[0], content[1]]));
        let port = u16::from_be_bytes([content[2], content[3]]);
        match (family, self.bytes) {
            (libc::AF_INET, 16..) => {
                let octets: [u8; 4] = *content[4..].first_chunk()?;
                Some((Ipv4Addr::from(octets), port).into())
            }
            (libc::AF_INET6, 28..) => {
                let octets: [u8; 16] = *content[8..].first_chunk()?;
                let ip = Ipv6Addr::from(octets);
                let scope = u32::from_ne_bytes(*content[24..].first_chunk()?);
                Some(match ip.to_ipv4_mapped() {
                    Some(ip) => (ip, port).into(),
                    None => SocketAddrV6::new(ip, port, 0, scope).into(),
                })
            }
            _ => None,
        }
    }

    #[inline(always)]
    pub fn as_ptr(&self) -> *const libc::sockaddr {
        self.content.as_ptr().cast()
    }

    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut libc::sockaddr {
        self.content.as_mut_ptr().cast()
    }
}

/// Control messages beside data: each a length, a level, a kind and content, padded to a multiple
/// of the machine word.
#[repr(C, align(8))]
pub(super) struct Control<const N: usize>(pub [u8; N]);

const CONTROL_HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const WORD: usize = size_of::<usize>();

impl<const N: usize> Control<N> {
    /// One control message that holds a 16-bit number; with its length.
    #[inline]
    pub fn with_u16(level: i32, kind: i32, value: u16) -> (Control<N>, usize) {
        let mut control = Control([0; N]);
        let bytes = CONTROL_HEADER_BYTES + 2;
        control.0[..WORD].copy_from_slice(&bytes.to_ne_bytes());
        control.0[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        control.0[WORD + 4..WORD + 8].copy_from_slice(&kind.to_ne_bytes());
        control.0[CONTROL_HEADER_BYTES..bytes].copy_from_slice(&value.to_ne_bytes());
        (control, bytes.next_multiple_of(WORD))
    }

    /// The content of the first message of one of the kinds (level, kind), of the `bytes` that the
    /// kernel wrote.
    pub fn find(&self, bytes: usize, wanted: &[(i32, i32)]) -> Option<&[u8]> {
        let mut rest = self.0.get(..bytes)?;
        while rest.len() >= CONTROL_HEADER_BYTES {
            let length = usize::from_ne_bytes(*rest.first_chunk()?);
            let level = i32::from_ne_bytes(*rest[WORD..].first_chunk()?);
            let kind = i32::from_ne_bytes(*rest[WORD + 4..].first_chunk()?);
            let content = rest.get(CONTROL_HEADER_BYTES..length)?;
            if wanted.contains(&(level, kind)) {
                return Some(content);
            }
            rest = rest.get(length.next_multiple_of(WORD)..)?;
        }
        None
    }
}

/// A frame so short is put together in memory of ours: a copy of so many bytes costs less than
/// telling the kernel of several pieces.
pub(super) const COPIED_BYTES_MAX: usize = 256;

/// Copies the pieces of a frame to the beginning of `into`, which must have room for them; says how
/// many bytes there are.
#[inline]
pub(super) fn gather(pieces: &[libc::iovec], into: &mut [u8]) -> usize {
    let mut filled = 0;
    for piece in pieces {
        if piece.iov_len > 0 {
            // SAFETY: pieces come from a `Batch`, and who pushed them promised that their memory
            // stays until it is sent or cleared.
            let bytes =
                unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) };
            into[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
        }
    }
    filled
}

pub(super) fn check(outcome: libc::c_int) -> io::Result<libc::c_int> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_what_the_c_library_lays_out() {
        let name = Name::new(&"10.1.2.3:5000".parse().unwrap(), false);
        // SAFETY: the name holds a whole sockaddr_in, aligned as one.
        let native = unsafe { name.as_ptr().cast::<libc::sockaddr_in>().read() };
        assert_eq!(native.sin_family, libc::AF_INET as libc::sa_family_t);
        assert_eq!(u16::from_be(native.sin_port), 5000);
        assert_eq!(u32::from_be(native.sin_addr.s_addr), 0x0a01_0203);
        let name = Name::new(&"[fe80::7%9]:5001".parse().unwrap(), true);
        // SAFETY: the name holds a whole sockaddr_in6, aligned as one.
        let native = unsafe { name.as_ptr().cast::<libc::sockaddr_in6>().read() };
        assert_eq!(native.sin6_family, libc::AF_INET6 as libc::sa_family_t);
        assert_eq!(u16::from_be(native.sin6_port), 5001);
        assert_eq!(native.sin6_addr.s6_addr[15], 7);
        assert_eq!(native.sin6_scope_id, 9);
    }

    #[test]
    fn a_mapped_address_is_shown_as_ipv4() {
        let address: SocketAddr = "10.1.2.3:5000".parse().unwrap();
        let name = Name::new(&address, true);
        assert_eq!(name.bytes, 28);
        assert_eq!(name.address(), Some(address));
        assert_eq!(Name::empty().address(), None);
    }

    #[test]
    fn a_control_message_is_found_again() {
        let (control, bytes) = Control::<32>::with_u16(17, 103, 1452);
        assert_eq!(bytes, 24);
        assert_eq!(
            control.find(bytes, &[(17, 103)]),
            Some(&1452u16.to_ne_bytes()[..])
        );
        assert_eq!(control.find(bytes, &[(17, 104)]), None);
        assert_eq!(control.find(0, &[(17, 103)]), None);
    }

    proptest! {
        #[test]
        fn names_keep_addresses(address: SocketAddr, mapped: bool) {
            let mut expected = address;
            if let SocketAddr::V6(v6) = &mut expected {
                v6.set_flowinfo(0);
                if let Some(v4) = v6.ip().to_ipv4_mapped() {
                    expected = (v4, address.port()).into();
                }
            }
            prop_assert_eq!(Name::new(&address, mapped).address(), Some(expected));
        }

        #[test]
        fn any_control_bytes_are_survived(content: [u8; 32], bytes in 0usize..40) {
            let _ = Control(content).find(bytes, &[(1, 1)]);
        }
    }
}
