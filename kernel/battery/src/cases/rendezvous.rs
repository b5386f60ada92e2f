//! Messages in several packets: requests and their data, eager messages with more fragments, long
//! ones.

use std::io::Write;
use std::net::Shutdown;
use std::thread;

use o2g::Done;
use oxmpi_wire::Kind;
use oxmpi_wire::o2g::{MATCHED, WAITING};
use oxmpi_wire::stream::PAYLOAD_MAX;

use super::case;
use crate::ground::{Ground, Receive};
use crate::packet::{data, eager, head, pattern, request, whole};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::Buffer;

pub const CASES: &[Case] = &[
    case("request-then-data", request_then_data),
    case("request-unexpected", request_unexpected),
    case("request-keeps-order", request_keeps_order),
    case("request-truncated", request_truncated),
    case("data-of-nobody", data_of_nobody),
    case("data-beyond-the-message", data_beyond),
    case("more-fragments", more_fragments),
    case("more-fragments-unexpected", more_unexpected),
    Case {
        name: "long-by-data",
        time_s: 180,
        run: long_by_data,
    },
    Case {
        name: "long-by-fragments",
        time_s: 180,
        run: long_by_fragments,
    },
];

/// The long message: 64 packets of the longest payload.
const LONG_BYTES: usize = 64 << 20;

/// The request meets the entry at once; data is placed by the cookie, in any order.
fn request_then_data(random: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(100_000);
    let receive = Receive::new(3, Some(0), Some(4), buffer);
    ground.post(&receive)?;
    ground.send(0, &request(0, 4, 100_000, 77))?;
    let packet = ground.next_packet()?;
    equal("entry", packet.entry, Some((3, receive.cookie())))?;
    let is_request = matches!(packet.repr.kind, Kind::RequestToSend { send: 77, .. });
    equal("the request itself", is_request, true)?;
    equal("state", ground.device.state(3), MATCHED)?;
    for part in random.order(10) {
        let offset = part * 10_000;
        let payload = pattern(1, offset, 10_000);
        ground.send(0, &data(receive.cookie(), offset, 100_000, &payload))?;
        let packet = ground.next_packet()?;
        equal("entry of data", packet.entry, Some((3, receive.cookie())))?;
        equal("placed", packet.placed, 10_000)?;
    }
    let done = ground.wait_done(&receive)?;
    equal("length and error", (done.bytes, done.error), (100_000, 0))?;
    equal("bytes", buffer.copy() == pattern(1, 0, 100_000), true)?;
    ground.silence()
}

/// A request that nobody awaits is a record, and a put that it suits is answered EAGAIN.
fn request_unexpected(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    ground.send(0, &request(0, 4, 5000, 1))?;
    ground.device.wait(Some(crate::ground::PATIENCE))?;
    let receive = Receive::new(3, Some(0), Some(4), Buffer::new(5000));
    equal("put", ground.put(&receive)?, o2g::Put::Again)?;
    let packet = ground.next_packet()?;
    equal("entry", packet.entry, None)?;
    equal("length", packet.repr.envelope.bytes(), 5000)?;
    ground.post(&receive)
}

/// Requests and eager messages of one sender meet entries in the order in which they were sent.
fn request_keeps_order(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let mut receives = Vec::new();
    for slot in 0..10 {
        let receive = Receive::new(slot, Some(0), Some(1), Buffer::new(64));
        ground.post(&receive)?;
        receives.push(receive);
    }
    let mut stream = Vec::new();
    for number in 0..10u8 {
        stream.extend(match number % 2 {
            0 => request(0, 1, 64, number.into()),
            _ => eager(0, 1, &[number; 64]),
        });
    }
    ground.send(0, &stream)?;
    for number in 0..10u8 {
        let packet = ground.next_packet()?;
        let slot = packet.entry.map(|(slot, _)| slot);
        equal("slot", slot, Some(number.into()))?;
        let is_eager = matches!(packet.repr.kind, Kind::Eager);
        equal("kind", is_eager, number % 2 == 1)?;
    }
    for (number, receive) in receives.iter().enumerate().step_by(2) {
        ground.send(0, &data(receive.cookie(), 0, 64, &[number as u8; 64]))?;
        ground.wait_done(receive)?;
        let buffer = receive.buffer.expect("made with one");
        equal("bytes", buffer.copy(), vec![number as u8; 64])?;
    }
    Ok(())
}

/// A buffer that is shorter than the message: what fits is placed, the rest dropped, and it is done
/// when all has come.
fn request_truncated(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(8192);
    let receive = Receive::new(3, Some(0), Some(4), memory.part(0, 5000));
    ground.post(&receive)?;
    ground.send(0, &request(0, 4, 12_000, 1))?;
    ground.next_packet()?;
    for (offset, placed) in [(0, 4000), (4000, 1000), (8000, 0)] {
        let payload = pattern(1, offset, 4000);
        ground.send(0, &data(receive.cookie(), offset, 12_000, &payload))?;
        equal("placed", ground.next_packet()?.placed, placed)?;
    }
    equal("length", ground.wait_done(&receive)?.bytes, 12_000)?;
    equal(
        "bytes",
        memory.part(0, 5000).copy() == pattern(1, 0, 5000),
        true,
    )?;
    equal("beyond it", memory.part(5000, 3192).is_untouched(), true)
}

/// Data is placed only for an entry that has met a request of the same socket; anything else is
/// dumped.
fn data_of_nobody(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    let buffer = Buffer::new(1000);
    let receive = Receive::new(3, Some(0), Some(4), buffer);
    let dumped = |ground: &mut Ground, rank: u32, cookie: u64| {
        ground.send(rank, &data(cookie, 0, 1000, &[9; 1000]))?;
        let packet = ground.next_packet()?;
        equal("entry", packet.entry, None)?;
        equal("dumped", packet.payload, vec![9; 1000])?;
        equal("buffer untouched", buffer.is_untouched(), true)
    };
    dumped(&mut ground, 0, receive.cookie())?;
    ground.post(&receive)?;
    // Posted, but no request came.
    dumped(&mut ground, 0, receive.cookie())?;
    equal("state", ground.device.state(3), WAITING)?;
    ground.send(0, &request(0, 4, 1000, 1))?;
    ground.next_packet()?;
    // The right cookie from the wrong process, and wrong cookies.
    dumped(&mut ground, 1, receive.cookie())?;
    dumped(&mut ground, 0, receive.cookie() + (1 << 32))?;
    dumped(&mut ground, 0, 4)?;
    dumped(&mut ground, 0, u64::MAX)?;
    ground.send(0, &data(receive.cookie(), 0, 1000, &[8; 1000]))?;
    ground.wait_done(&receive)?;
    equal("bytes", buffer.copy(), vec![8; 1000])?;
    equal(
        "entry",
        ground.next_packet()?.entry,
        Some((3, receive.cookie())),
    )?;
    // It is over.
    ground.send(0, &data(receive.cookie(), 0, 1000, &[7; 1000]))?;
    equal("entry", ground.next_packet()?.entry, None)?;
    equal("bytes", buffer.copy(), vec![8; 1000])
}

/// Data that says it belongs beyond the message's end is never placed.
fn data_beyond(_: &mut Random) -> Outcome {
    for offset in [1, 1000, 1 << 20, usize::MAX - 500, usize::MAX] {
        let mut ground = Ground::new(1)?;
        let memory = Buffer::new(64 << 10);
        let receive = Receive::new(3, Some(0), Some(4), memory.part(0, 1000));
        ground.post(&receive)?;
        ground.send(0, &request(0, 4, 1000, 1))?;
        ground.next_packet()?;
        ground.send(0, &data(receive.cookie(), offset, 1000, &[9; 1000]))?;
        // Dumped or called garbage, as the driver likes.
        ground.next()?;
        equal("memory untouched", memory.is_untouched(), true)?;
    }
    Ok(())
}

/// An eager message in fragments, with packets between that belong to nobody.
fn more_fragments(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    for (slot, room) in [9000, 2500].into_iter().enumerate() {
        let buffer = Buffer::new(room);
        let receive = Receive::new(slot as u32, Some(0), Some(4), buffer);
        ground.post(&receive)?;
        let message = pattern(5, 0, 9000);
        ground.send(0, &whole(Kind::Eager, 0, 4, 9000, &message[..1000]))?;
        for from in (1000..9000).step_by(2000) {
            equal("state", ground.device.state(receive.slot), MATCHED)?;
            ground.send(0, &head(Kind::Credit, 0, 0, 0, 0))?;
            let kind = Kind::More {
                offset: from as u64,
            };
            ground.send(0, &whole(kind, 0, 4, 9000, &message[from..from + 2000]))?;
            // The record before is that of the last fragment, then the credit's.
            equal("fragment", ground.next_packet()?.entry.is_some(), true)?;
            equal("credit", ground.next_packet()?.entry, None)?;
        }
        let done = ground.wait_done(&receive)?;
        equal("length", done.bytes, 9000)?;
        equal("bytes", buffer.copy() == message[..room], true)?;
        equal("last fragment", ground.next_packet()?.entry.is_some(), true)?;
    }
    ground.silence()
}

fn more_unexpected(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let message = pattern(5, 0, 9000);
    ground.send(0, &whole(Kind::Eager, 0, 4, 9000, &message[..1000]))?;
    equal(
        "first",
        ground.next_packet()?.payload == message[..1000],
        true,
    )?;
    // An entry that is put between the fragments is not for them.
    let receive = Receive::new(0, Some(0), Some(4), Buffer::new(9000));
    ground.post(&receive)?;
    for from in (1000..9000).step_by(4000) {
        let kind = Kind::More {
            offset: from as u64,
        };
        ground.send(0, &whole(kind, 0, 4, 9000, &message[from..from + 4000]))?;
        let packet = ground.next_packet()?;
        equal("entry", packet.entry, None)?;
        equal("bytes", packet.payload == message[from..from + 4000], true)?;
    }
    equal("state", ground.device.state(0), WAITING)
}

fn long_by_data(random: &mut Random) -> Outcome {
    let order = random.order(LONG_BYTES / PAYLOAD_MAX);
    long(move |receive, peer| {
        peer.write_all(&request(0, 2, LONG_BYTES, 1))?;
        for part in order {
            let offset = part * PAYLOAD_MAX;
            let payload = pattern(6, offset, PAYLOAD_MAX);
            peer.write_all(&data(receive.cookie(), offset, LONG_BYTES, &payload))?;
        }
        Ok(())
    })
}

fn long_by_fragments(_: &mut Random) -> Outcome {
    long(|_, peer| {
        for offset in (0..LONG_BYTES).step_by(PAYLOAD_MAX) {
            let payload = pattern(6, offset, PAYLOAD_MAX);
            let kind = match offset as u64 {
                0 => Kind::Eager,
                offset => Kind::More { offset },
            };
            peer.write_all(&whole(kind, 0, 2, LONG_BYTES, &payload))?;
        }
        Ok(())
    })
}

/// Receives a message of 64 MiB, which `send` writes.
fn long(
    send: impl FnOnce(Receive, &mut std::net::TcpStream) -> std::io::Result<()> + Send,
) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(LONG_BYTES);
    let receive = Receive::new(0, Some(0), Some(2), buffer);
    ground.post(&receive)?;
    let mut peer = ground.peers[0].try_clone()?;
    let done = thread::scope(|scope| {
        let sender = scope.spawn(move || send(receive, &mut peer));
        let done = take_all(&mut ground, &receive);
        if done.is_err() {
            // So that the sender ends too.
            ground.peers[0].shutdown(Shutdown::Both)?;
        }
        let sent = sender.join().expect("the sender does not panic");
        done.and_then(|done| sent.map(|()| done).map_err(Trouble::from))
    })?;
    equal("length", done.bytes, LONG_BYTES as u64)?;
    for offset in (0..LONG_BYTES).step_by(PAYLOAD_MAX) {
        if buffer.part(offset, PAYLOAD_MAX).copy() != pattern(6, offset, PAYLOAD_MAX) {
            return fail(format!("other bytes in the MiB from {offset} on"));
        }
    }
    Ok(())
}

/// Takes records until all of the long message is placed.
fn take_all(ground: &mut Ground, receive: &Receive) -> Outcome<Done> {
    let mut placed = 0;
    while placed < LONG_BYTES as u64 {
        let packet = ground.next_packet()?;
        equal("entry", packet.entry, Some((0, receive.cookie())))?;
        placed += packet.placed;
    }
    ground.wait_done(receive)
}
