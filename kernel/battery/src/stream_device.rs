//! /dev/oxk-stream as a program uses it: its requests, and streams that are connected.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::runner::{Outcome, Trouble};
use crate::sys::{self, add_key, ioctl, ioctl_with};

/// Of the key that most cases use.
pub const NAME: &str = "oxk-battery";
pub const PATH: &str = "/dev/oxk-stream";
pub const LISTEN: u32 = request(1, 1, size_of::<Address>());
pub const CONNECT: u32 = request(1, 2, size_of::<Address>());
pub const ACCEPT: u32 = request(0, 3, 0);
pub const SHUTDOWN: u32 = request(0, 4, 0);
pub const COUNTS: u32 = request(2, 5, size_of::<Counts>());

const fn request(direction: u32, number: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | 0xb6 << 8 | number
}

/// `struct oxks_address`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Address {
    pub key: i32,
    pub backlog: u32,
    pub bytes: u32,
    pub address: [u8; 28],
}

/// `struct oxks_counts`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub bytes_copied: u64,
    pub pages_pinned: u64,
    pub wakeups: u64,
}

/// Where a case listens; each at another port.
pub fn place() -> SocketAddrV4 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let port = 20_000 + (std::process::id() % 20_000) as u16;
    let port = port + NEXT.fetch_add(1, Ordering::Relaxed);
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

pub fn address(key: i32, backlog: u32, place: SocketAddrV4) -> Address {
    let mut address = [0; 28];
    address[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    address[2..4].copy_from_slice(&place.port().to_be_bytes());
    address[4..8].copy_from_slice(&place.ip().octets());
    Address {
        key,
        backlog,
        bytes: 16,
        address,
    }
}

pub fn open() -> Outcome<File> {
    if std::fs::metadata(PATH).is_err() {
        let why = format!("{PATH} does not exist: oxk_stream.ko is not loaded");
        return Err(Trouble::Skip(why));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_CLOEXEC);
    Ok(options.open(PATH)?)
}

pub fn ask<T>(file: &File, number: u32, argument: &mut T) -> Outcome<i64> {
    let answer = ioctl_with(file.as_raw_fd(), number, argument);
    answer.map_err(|errno| Trouble::Fail(std::io::Error::from_raw_os_error(errno).to_string()))
}

/// What peers of the key of this name prove that they know.
pub fn payload(name: &str) -> [u8; 16] {
    let text = format!("{name:-<16}");
    *text.as_bytes().first_chunk().expect("16 characters")
}

/// A key of this process.
pub fn key(name: &str) -> Outcome<i32> {
    Ok(add_key(name, &payload(name))?)
}

pub fn listen(key: i32) -> Outcome<(File, SocketAddrV4)> {
    let (listener, place) = (open()?, place());
    ask(&listener, LISTEN, &mut address(key, 32, place))?;
    Ok((listener, place))
}

pub fn connect(key: i32, place: SocketAddrV4) -> Outcome<File> {
    let stream = open()?;
    ask(&stream, CONNECT, &mut address(key, 0, place))?;
    Ok(stream)
}

pub fn accept(listener: &File, flags: i32) -> Outcome<File> {
    let fd = ioctl(listener.as_raw_fd(), ACCEPT, flags as u64);
    let fd = fd.map_err(|errno| Trouble::Fail(format!("accept: errno {errno}")))?;
    Ok(sys::adopt(fd as i32))
}

pub fn pair() -> Outcome<(File, File)> {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let ours = connect(key, place)?;
    Ok((ours, accept(&listener, 0)?))
}

pub fn counts(stream: &File) -> Outcome<Counts> {
    let mut counts = Counts::default();
    ask(stream, COUNTS, &mut counts)?;
    Ok(counts)
}
