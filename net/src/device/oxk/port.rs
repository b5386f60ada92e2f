//! The device's requests (`kernel/include/oxk_pm.h`), the key that the kernel proves to others, and
//! the place where it meets them.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use super::area::Area;
use super::{Kernel, News, Oxk, OxkError, PATH, PEERS_MAX, PROCESSES_MAX};
use crate::device::ethernet::Interface;
use crate::device::sys::{NAME_BYTES_MAX, Name, Socket, check};
use crate::key::JobKey;

/// For so long a process that is about to sleep runs the card's receive itself: two round trips of
/// a local network.
const REAP_US: u32 = 50;
/// Peers of an endpoint at least: processes may be introduced later.
const PEERS_MIN: usize = 64;
/// `KEY_SPEC_PROCESS_KEYRING` and `KEYCTL_UNLINK` of linux/keyctl.h.
const PROCESS_KEYRING: libc::c_long = -2;
const UNLINK: libc::c_long = 9;

/// `struct oxkp_open`.
#[repr(C)]
struct Open {
    key: i32,
    ifindex: i32,
    peers: u32,
    reap_us: u32,
    bytes: u32,
    address: [u8; NAME_BYTES_MAX],
}

/// `struct oxkp_connect`.
#[repr(C)]
struct Connect {
    peer: u64,
    bytes: u32,
    address: [u8; NAME_BYTES_MAX],
}

/// `struct oxkp_news`.
#[repr(C)]
#[derive(Default)]
struct NewsOf {
    peer: u64,
    error: i32,
    reserved: u32,
}

/// Requests, as `_IOW`, `_IOWR`, `_IO` and `_IOR` make them.
const OPEN: u32 = request(1, 1, size_of::<Open>());
const CONNECT: u32 = request(3, 2, size_of::<Connect>());
const TURN: u32 = request(0, 3, 0);
const WAIT: u32 = request(0, 4, 0);
const NEWS: u32 = request(2, 5, size_of::<NewsOf>());

const fn request(direction: u32, number: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | 0xb7 << 8 | number
}

const _: () = assert!(size_of::<Open>() == 48 && size_of::<Connect>() == 40);

/// Whether this process may use PM in the kernel at all; if not, the error says what is missing.
pub fn permitted() -> Result<(), OxkError> {
    open_device().map(drop)
}

fn open_device() -> Result<File, OxkError> {
    let file = OpenOptions::new().read(true).write(true).open(PATH);
    file.map_err(OxkError::of_opening)
}

/// A place where the kernel will meet others, before the job's key is known.
pub struct Reservation {
    file: File,
    interface: Interface,
    address: SocketAddr,
    /// Bound and not listening, so that nobody else takes the port meanwhile.
    held: Socket,
}

impl Reservation {
    /// Opens the device, and takes the first of these ports that is free at the address of an
    /// interface.
    pub fn new(
        interface: &str,
        ip: IpAddr,
        ports: impl Iterator<Item = u16>,
    ) -> Result<Reservation, OxkError> {
        let file = open_device()?;
        let not_ethernet = || OxkError::NotEthernet {
            interface: interface.to_owned(),
        };
        let interface = Interface::named(interface).map_err(|_| not_ethernet())?;
        if !interface.is_suitable() {
            return Err(not_ethernet());
        }
        let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
        for port in ports {
            match hold(with_scope(ip, interface.index), port) {
                Ok((held, address)) => {
                    return Ok(Reservation {
                        file,
                        interface,
                        address,
                        held,
                    });
                }
                Err(error) => refused = error,
            }
        }
        let source = refused;
        Err(OxkError::Port { ip, source })
    }

    /// The card that frames go by.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Where the kernel will meet others.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens the endpoint, for so many other processes, and some that may be introduced later.
    pub fn open(self, key: &JobKey, others: usize) -> Result<Oxk, OxkError> {
        if others > PROCESSES_MAX {
            let most = PROCESSES_MAX;
            return Err(OxkError::TooLarge { others, most });
        }
        let failed = |what| {
            let interface = self.interface.name.clone();
            move |source: io::Error| OxkError::System {
                what,
                interface,
                source,
            }
        };
        let key = Key::add(key).map_err(|source| OxkError::Key { source })?;
        let name = Name::new(&self.address, false);
        let mut how = Open {
            key: key.0,
            ifindex: self.interface.index as i32,
            peers: (2 * others).clamp(PEERS_MIN, PEERS_MAX) as u32,
            reap_us: REAP_US,
            bytes: name.bytes,
            address: *name.content(),
        };
        let opened = ask(self.file.as_raw_fd(), OPEN, &mut how);
        opened.map_err(|source| match source.raw_os_error() {
            Some(libc::EDQUOT) => OxkError::TooMany,
            _ => failed("open")(source),
        })?;
        let area = Area::map(Some(self.file.as_raw_fd())).map_err(failed("map"))?;
        drop(self.held);
        let address = self.address;
        let name = self.interface.name;
        Ok(Oxk::new(Box::new(Port(self.file)), area, &name, address))
    }
}

/// Addresses that are valid on one interface alone say which.
fn with_scope(ip: IpAddr, index: u32) -> SocketAddr {
    match ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => {
            std::net::SocketAddrV6::new(ip, 0, 0, index).into()
        }
        ip => (ip, 0).into(),
    }
}

/// A socket at a port of an address, and which it is.
fn hold(mut address: SocketAddr, port: u16) -> io::Result<(Socket, SocketAddr)> {
    address.set_port(port);
    let family = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let socket = Socket::new(family, libc::SOCK_STREAM, 0)?;
    // As the kernel's listener does: it may then bind to the port, too.
    socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    socket.bind(&Name::new(&address, false))?;
    address.set_port(socket.port()?);
    Ok((socket, address))
}

/// A key in the keyring of this process, until it is dropped: the kernel keeps its own copy.
struct Key(i32);

impl Key {
    fn add(key: &JobKey) -> io::Result<Key> {
        // The handshake is the library's own: a key of another purpose keeps the two apart.
        let proof = key.proof(&[b"oxmpi pm-kernel"]);
        let bytes = &proof[..16];
        // SAFETY: two strings with an end, and memory with its length.
        let serial = unsafe {
            libc::syscall(
                libc::SYS_add_key,
                c"user".as_ptr(),
                c"oxmpi-pm-kernel".as_ptr(),
                bytes.as_ptr(),
                bytes.len(),
                PROCESS_KEYRING,
            )
        };
        match i32::try_from(serial) {
            Ok(serial) if serial > 0 => Ok(Key(serial)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let key = libc::c_long::from(self.0);
        // SAFETY: numbers only.
        unsafe { libc::syscall(libc::SYS_keyctl, UNLINK, key, PROCESS_KEYRING) };
    }
}

/// The open device.
struct Port(File);

/// A request with memory that the kernel reads and writes.
fn ask<T>(fd: RawFd, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the request's number says how long the memory is, and it is so long.
    check(unsafe { libc::ioctl(fd, request.into(), std::ptr::from_mut(argument)) })?;
    Ok(())
}

/// A request with a number.
fn tell(fd: RawFd, request: u32, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: a number.
    check(unsafe { libc::ioctl(fd, request.into(), argument) })?;
    Ok(())
}

impl Kernel for Port {
    fn connect(&mut self, to: &SocketAddr) -> io::Result<u64> {
        let name = Name::new(to, false);
        let mut argument = Connect {
            peer: 0,
            bytes: name.bytes,
            address: *name.content(),
        };
        ask(self.fd(), CONNECT, &mut argument)?;
        Ok(argument.peer)
    }

    fn turn(&mut self) -> io::Result<()> {
        tell(self.fd(), TURN, 0)
    }

    fn reap(&mut self) -> io::Result<()> {
        tell(self.fd(), WAIT, 0)
    }

    fn news(&mut self) -> Option<News> {
        let mut news = NewsOf::default();
        ask(self.fd(), NEWS, &mut news).ok()?;
        Some(News {
            peer: news.peer,
            refused: news.error.abs() == libc::ECONNREFUSED,
        })
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
