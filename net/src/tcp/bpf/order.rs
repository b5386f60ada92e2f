//! The order of a stream that comes by the ring and by the socket in turns, where the kernel goes
//! on between two loads of the process: each test does by hand what a process does that is
//! preempted there.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use super::overlap::pass_over;
use super::{BpfSide, Slot, Source};
use crate::tcp::epoll::Epoll;

const LIMIT: Duration = Duration::from_secs(600);
/// More than half of the ring: the second piece of this length has no room.
const PIECE_BYTES: usize = 40_000;

struct Stream {
    side: BpfSide,
    slot: Slot,
    sender: TcpStream,
    receiver: TcpStream,
    sent: usize,
    read: usize,
}

/// The byte at a place of the stream.
fn byte(at: usize) -> u8 {
    (at / 256).wrapping_mul(31).wrapping_add(at) as u8
}

impl Stream {
    /// `None` where the kernel does not permit it.
    fn new() -> Option<Stream> {
        let mut side = match BpfSide::new(1, 0, &Epoll::new().unwrap()) {
            Ok(side) => side,
            Err(error) => {
                pass_over(&error);
                return None;
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        sender.set_nodelay(true).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        receiver.set_read_timeout(Some(LIMIT)).unwrap();
        let mut slot = side.admit(0, receiver.as_raw_fd()).unwrap();
        slot.told = false;
        Some(Stream {
            side,
            slot,
            sender,
            receiver,
            sent: 0,
            read: 0,
        })
    }

    /// Sends the next bytes, and waits until the program has had them.
    fn send(&mut self, bytes: usize) {
        let piece: Vec<u8> = (self.sent..self.sent + bytes).map(byte).collect();
        self.sender.write_all(&piece).unwrap();
        self.sent += bytes;
        let begun = Instant::now();
        let kernels = &self.side.area.state(0).kernels.0;
        while kernels.head.load(Acquire) + kernels.passed.load(Acquire) < self.sent as u64 {
            assert!(begun.elapsed() < LIMIT, "nothing comes");
        }
    }

    /// Reads all that was sent, where the process is told that it is.
    fn read_all(&mut self) {
        let begun = Instant::now();
        while self.read < self.sent {
            let mut piece = vec![0; self.sent - self.read];
            let read = match self.side.source(&self.slot) {
                Source::Ring(here) => {
                    // SAFETY: the vector has room for all that was sent.
                    unsafe {
                        self.side
                            .take(&mut self.slot, piece.as_mut_ptr(), here.min(piece.len()));
                    }
                    here
                }
                Source::Socket(most) => {
                    let most = most.min(piece.len());
                    let read = (&self.receiver).read(&mut piece[..most]).unwrap();
                    self.slot.count_passed(read);
                    read
                }
                Source::Nothing => 0,
                source => panic!("{source:?}"),
            };
            for (place, found) in piece[..read].iter().enumerate() {
                let at = self.read + place;
                assert_eq!(*found, byte(at), "byte {at} of {}", self.sent);
            }
            self.read += read;
            assert!(begun.elapsed() < LIMIT, "byte {} does not come", self.read);
        }
    }

    /// Fills more than half of the ring, has as much pass, and then one more piece come that has
    /// room in the ring.
    fn send_past_the_ring(&mut self) {
        let passed = |stream: &Stream| stream.side.area.state(0).kernels.0.passed.load(Acquire);
        let before = passed(self);
        self.send(PIECE_BYTES);
        while passed(self) == before {
            self.send(PIECE_BYTES);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.side.forget(&self.slot, self.receiver.as_raw_fd());
    }
}

#[test]
fn a_ring_that_fills_between_two_loads_comes_first() {
    let Some(mut stream) = Stream::new() else {
        return;
    };
    for _ in 0..10 {
        stream.send(10);
        stream.read_all();
        // The ring is empty, says the first load; then the process stands still.
        let passed = stream.side.area.state(0).kernels.0.passed.load(Acquire);
        stream.send_past_the_ring();
        stream.side.source_beside_ring(&stream.slot, passed);
        stream.send(100);
        stream.read_all();
    }
}

#[test]
fn a_request_that_was_obeyed_is_not_obeyed_again() {
    let Some(mut stream) = Stream::new() else {
        return;
    };
    for _ in 0..10 {
        stream.side.aim(&mut stream.slot, usize::MAX);
        stream.send(10);
        stream.read_all();
        stream.side.aim(&mut stream.slot, 0);
        assert_eq!(stream.side.source(&stream.slot), Source::Nothing);
        // The process looks again, and stands still before it stores what it found.
        let request = stream.side.resumption(&stream.slot).unwrap();
        stream.send_past_the_ring();
        let ours = &stream.side.area.state(0).ours.0;
        ours.resume.store(request, Relaxed);
        stream.send(100);
        stream.read_all();
    }
}
