//! A segment that begins with bytes that were here already, as senders repeat them when they cut
//! their stream anew. Nobody sends one on demand, so the test forges it by a raw socket.

use std::fmt::Display;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, SeqCst};
use std::time::{Duration, Instant};

use super::area::{Area, cookie, next_sequence};
use super::layout::Layout;
use crate::bpf::capabilities::{CAP_NET_RAW, missing};

/// Says that the test passes without showing anything, past libtest, which holds back what passing
/// tests print: `cargo xtask test` counts the line.
pub(super) fn pass_over(why: &dyn Display) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{name}: skipped, this host does not permit it: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn sum(words: impl Iterator<Item = u16>) -> u16 {
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes
        .chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

/// Sends `payload` as the sender's segment that begins with byte `sequence`.
fn forge(from: u16, to: u16, sequence: u32, acknowledged: u32, payload: &[u8]) {
    let mut segment = Vec::new();
    segment.extend(from.to_be_bytes());
    segment.extend(to.to_be_bytes());
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledged.to_be_bytes());
    segment.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(payload);
    let here = [127, 0, 0, 1];
    let mut pseudo = [here, here].concat();
    pseudo.extend([0, 6]);
    pseudo.extend((segment.len() as u16).to_be_bytes());
    let check = sum(words(&pseudo).chain(words(&segment)));
    segment[16..18].copy_from_slice(&check.to_be_bytes());
    // SAFETY: integers; the address and the segment are locals.
    unsafe {
        let raw = libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP);
        assert!(raw >= 0);
        let raw = OwnedFd::from_raw_fd(raw);
        let mut name: libc::sockaddr_in = std::mem::zeroed();
        name.sin_family = libc::AF_INET as u16;
        name.sin_addr.s_addr = u32::from_ne_bytes(here);
        let (at, bytes) = (segment.as_ptr().cast(), segment.len());
        let name_bytes = size_of::<libc::sockaddr_in>() as u32;
        let name = (&raw const name).cast();
        let sent = libc::sendto(raw.as_raw_fd(), at, bytes, 0, name, name_bytes);
        assert_eq!(sent, bytes as isize, "{}", std::io::Error::last_os_error());
    }
}

fn await_bytes(area: &Area, bytes: u64, straight: bool) {
    let begun = Instant::now();
    let kernels = &area.state(0).kernels.0;
    loop {
        let count = if straight {
            &kernels.passed
        } else {
            &kernels.head
        };
        if count.load(Acquire) >= bytes {
            assert_eq!(count.load(Acquire), bytes);
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing comes");
    }
}

/// A segment with so many old bytes and five new ones.
fn overlap(straight: bool, old: usize) {
    let area = match Area::open(Layout::new(1, 0)) {
        Ok(area) => area,
        Err(error) => return pass_over(&error),
    };
    if !missing(&[CAP_NET_RAW]).is_empty() {
        return pass_over(&"raw sockets need CAP_NET_RAW");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    sender.set_nodelay(true).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    let next = next_sequence(receiver.as_raw_fd()).unwrap().unwrap();
    let state = area.state(0);
    state.kernels.0.next.store(next, SeqCst);
    state.ours.0.straight.store(straight.into(), SeqCst);
    let fd = receiver.as_raw_fd();
    area.connect(0, fd, cookie(fd).unwrap()).unwrap();
    let stream: Vec<u8> = (0..old + 12).map(|at| (at % 251) as u8).collect();
    let (first, all) = (old + 7, stream.len());
    sender.write_all(&stream[..first]).unwrap();
    await_bytes(&area, first as u64, straight);
    let acknowledged = next_sequence(sender.as_raw_fd()).unwrap().unwrap();
    let (from, to) = (
        sender.local_addr().unwrap().port(),
        receiver.local_addr().unwrap().port(),
    );
    forge(from, to, next.wrapping_add(7), acknowledged, &stream[7..]);
    await_bytes(&area, all as u64, straight);
    assert_eq!(state.kernels.0.broken.load(Acquire), 0);
    let mut read = vec![0; all];
    if straight {
        (&receiver).read_exact(&mut read).unwrap();
    } else {
        // SAFETY: the buffer has room, and nothing was taken before.
        unsafe { area.copy(0, 0, read.as_mut_ptr(), all) };
    }
    assert!(read == stream, "{old} old bytes: the stream has changed");
}

/// Fewer than the kernel cuts off at once, as many, and more.
const OLD: [usize; 4] = [3, 0xfff, 0x1000, 50_000];

#[test]
fn old_bytes_are_cut_off_before_the_ring() {
    OLD.into_iter().for_each(|old| overlap(false, old));
}

#[test]
fn old_bytes_are_cut_off_before_the_socket() {
    OLD.into_iter().for_each(|old| overlap(true, old));
}
