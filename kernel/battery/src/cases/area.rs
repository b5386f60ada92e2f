//! The dump area: it fills, the sender waits, nothing is lost; it has room, and the sender never
//! waits.

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_wire::o2g::DUMP_BYTES_MIN;

use super::case;
use crate::ground::{Ground, Receive};
use crate::packet::{eager, number_of, numbered};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, set_option};

pub const CASES: &[Case] = &[
    case("area-full", full),
    case("area-full-of-long-messages", full_of_long),
    case("area-full-and-posted", full_and_posted),
    case("area-full-at-the-end", full_at_the_end),
    case("area-many-unexpected", many_unexpected),
    case("area-wraps", wraps),
    case("window-stays-open", window_open),
];

/// Socket buffers of a few segments, so that the window closes soon. Of less than one segment of
/// loopback (64 KiB) TCP would wait for its timers instead.
fn small_buffers(ground: &Ground) -> Outcome {
    for (socket, name) in [
        (&ground.peers[0], libc::SO_SNDBUF),
        (&ground.ours[0], libc::SO_RCVBUF),
    ] {
        set_option(socket.as_fd(), libc::SOL_SOCKET, name, 256 << 10)?;
    }
    Ok(())
}

/// Sends numbered messages until the socket has taken nothing for a while; how many went out whole,
/// and what is left of the last one.
fn send_until_blocked(peer: &mut TcpStream, bytes: usize) -> Outcome<(u64, Vec<u8>)> {
    peer.set_nonblocking(true)?;
    for number in 0..100_000 {
        let message = eager(0, 1, &numbered(number, bytes));
        let mut gone = 0;
        let mut last = Instant::now();
        while gone < message.len() {
            match peer.write(&message[gone..]) {
                Ok(bytes) => {
                    gone += bytes;
                    last = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if last.elapsed() > Duration::from_millis(400) {
                        peer.set_nonblocking(false)?;
                        return Ok((number, message[gone..].to_vec()));
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    fail("100000 messages went out although nobody took them: the window does not close")
}

/// The process takes nothing: the sender blocks. It takes everything: all comes, in order, and what
/// follows too.
fn full_with(bytes: usize) -> Outcome {
    let mut ground = Ground::with(1, 4096, DUMP_BYTES_MIN)?;
    small_buffers(&ground)?;
    let mut peer = ground.peers[0].try_clone()?;
    let (whole, rest) = send_until_blocked(&mut peer, bytes)?;
    let sent = whole * bytes as u64;
    if sent > 16 << 20 {
        return fail(format!("{sent} bytes went out with a dump area of 64 KiB"));
    }
    equal(
        "stops were counted",
        ground.device.counters()?.stops > 0,
        true,
    )?;
    let total = whole + 50;
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            peer.write_all(&rest)?;
            for number in whole + 1..total {
                peer.write_all(&eager(0, 1, &numbered(number, bytes)))?;
            }
            Ok::<(), std::io::Error>(())
        });
        let taken = take_numbered(&mut ground, 0..total);
        if taken.is_err() {
            ground.peers[0].shutdown(Shutdown::Both)?;
        }
        let sent = sender.join().expect("the sender does not panic");
        taken.and_then(|()| Ok(sent?))
    })?;
    ground.silence()
}

fn take_numbered(ground: &mut Ground, numbers: std::ops::Range<u64>) -> Outcome {
    for number in numbers {
        let packet = ground.next_packet()?;
        equal("number", number_of(&packet.payload), Some(number))?;
    }
    Ok(())
}

fn full(_: &mut Random) -> Outcome {
    full_with(1000)
}

/// Longer than the area: a message comes in pieces.
fn full_of_long(_: &mut Random) -> Outcome {
    full_with(300_000)
}

/// An entry put while everything stands still gets its message once there is room to get to it.
fn full_and_posted(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(2, 4096, DUMP_BYTES_MIN)?;
    small_buffers(&ground)?;
    let mut peer = ground.peers[0].try_clone()?;
    let (whole, rest) = send_until_blocked(&mut peer, 1000)?;
    let receive = Receive::new(7, Some(0), Some(2), Buffer::new(5000));
    ground.post(&receive)?;
    let taken = thread::scope(|scope| {
        let sender = scope.spawn(move || {
            peer.write_all(&rest)?;
            peer.write_all(&eager(0, 2, &[3; 5000]))
        });
        let taken = take_numbered(&mut ground, 0..whole + 1);
        if taken.is_err() {
            ground.peers[0].shutdown(Shutdown::Both)?;
        }
        let sent = sender.join().expect("the sender does not panic");
        taken.and_then(|()| Ok(sent?))
    });
    taken?;
    ground.wait_done(&receive)?;
    equal("placed", ground.next_packet()?.placed, 5000)
}

/// The end of a stream that stands still is told after everything before it.
fn full_at_the_end(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 4096, DUMP_BYTES_MIN)?;
    let mut peer = ground.peers.remove(0);
    for number in 0..80 {
        peer.write_all(&eager(0, 1, &numbered(number, 1000)))?;
    }
    drop(peer);
    thread::sleep(Duration::from_millis(100));
    take_numbered(&mut ground, 0..80)?;
    let closed = crate::ground::Event::Closed { rank: 0, errno: 0 };
    equal("end", ground.next()?, closed)
}

/// More unexpected messages than entries: memory is bounded, nothing is lost.
fn many_unexpected(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 4, DUMP_BYTES_MIN)?;
    let mut stream = Vec::new();
    for number in 0..2000 {
        stream.extend(eager(0, 1, &numbered(number, 16)));
    }
    let mut peer = ground.peers[0].try_clone()?;
    thread::scope(|scope| {
        let sender = scope.spawn(move || peer.write_all(&stream));
        let taken = take_numbered(&mut ground, 0..2000);
        if taken.is_err() {
            ground.peers[0].shutdown(Shutdown::Both)?;
        }
        let sent = sender.join().expect("the sender does not panic");
        taken.and_then(|()| Ok(sent?))
    })
}

/// Many times around the area with lengths that never fit evenly.
fn wraps(random: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 64, DUMP_BYTES_MIN)?;
    for number in 0..1500 {
        let bytes = 8 + random.below(700) as usize;
        ground.send(0, &eager(0, 1, &numbered(number, bytes)))?;
        // At times a few are left lying.
        if random.one_in(3) || number % 50 == 49 {
            while let Some(event) = ground.try_next()? {
                let crate::ground::Event::Packet(packet) = event else {
                    return fail(format!("{event:?} among messages"));
                };
                if number_of(&packet.payload).is_none() {
                    return fail(format!("other bytes arrived: {packet:?}"));
                }
            }
        }
    }
    Ok(())
}

/// With room in the area the sender never waits, although the process does nothing at all.
fn window_open(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 8192, 16 << 20)?;
    small_buffers(&ground)?;
    let mut peer = ground.peers[0].try_clone()?;
    // This thread only waits for the sender; it takes nothing.
    let sender = thread::spawn(move || {
        for number in 0..2000 {
            peer.write_all(&eager(0, 1, &numbered(number, 2000)))?;
        }
        Ok::<(), std::io::Error>(())
    });
    sender.join().expect("the sender does not panic")?;
    equal("stops", ground.device.counters()?.stops, 0)?;
    take_numbered(&mut ground, 0..2000)
}
