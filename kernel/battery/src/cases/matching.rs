//! Messages in one packet and the entries that they meet, in every order.

use o2g::{Cancel, Put};
use oxmpi_wire::o2g::FREE;

use super::case;
use crate::ground::{Ground, Packet, Receive};
use crate::packet::{eager, pattern};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::Buffer;

pub const CASES: &[Case] = &[
    case("eager-expected", expected),
    case("eager-unexpected", unexpected),
    case("eager-both-orders", both_orders),
    case("put-again", put_again),
    case("wildcard-order", wildcard_order),
    case("wildcard-and-exact", wildcard_and_exact),
    case("cancel", cancel),
    case("no-buffer", no_buffer),
    case("truncation", truncation),
    case("zero-length", zero_length),
    case("slot-again", slot_again),
];

/// Lengths around a page, a segment and what a softirq copies.
const LENGTHS: [usize; 9] = [1, 31, 100, 4095, 4096, 4097, 60_000, 131_073, 1 << 20];

/// Every length, at every kind of address, comes to its buffer and nowhere else.
fn expected(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    for (number, bytes) in LENGTHS.into_iter().enumerate() {
        for shift in [0, 13, 4095] {
            let memory = Buffer::new(shift + bytes + 64);
            let slot = number as u32;
            let tag = 1000 + number as i32;
            let receive = Receive::new(slot, Some(0), Some(tag), memory.part(shift, bytes));
            ground.post(&receive)?;
            let payload = pattern(number as u64, 0, bytes);
            ground.send(0, &eager(0, tag, &payload))?;
            let done = ground.wait_done(&receive)?;
            equal("source and tag", (done.source, done.tag), (0, tag))?;
            equal(
                "length and error",
                (done.bytes, done.error),
                (bytes as u64, 0),
            )?;
            if memory.part(shift, bytes).copy() != payload {
                return fail(format!("{bytes} bytes at {shift}: other bytes arrived"));
            }
            let beside = [memory.part(0, shift), memory.part(shift + bytes, 64)];
            if !beside.iter().all(Buffer::is_untouched) {
                return fail(format!(
                    "{bytes} bytes at {shift}: written beside the buffer"
                ));
            }
            let packet = ground.next_packet()?;
            met(&packet, &receive, bytes as u64)?;
        }
    }
    ground.silence()
}

/// A record of a packet that is in the buffer of an entry.
fn met(packet: &Packet, receive: &Receive, placed: u64) -> Outcome {
    let expected = Some((receive.slot, receive.cookie()));
    equal("entry of the record", packet.entry, expected)?;
    equal("bytes placed", packet.placed, placed)?;
    equal("bytes beside the record", packet.payload.len(), 0)
}

/// Nobody waits: everything is in the dump area, in order.
fn unexpected(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 64, 4 << 20)?;
    for (number, bytes) in LENGTHS.into_iter().enumerate() {
        ground.send(
            0,
            &eager(0, number as i32, &pattern(number as u64, 0, bytes)),
        )?;
    }
    for (number, bytes) in LENGTHS.into_iter().enumerate() {
        let packet = ground.next_packet()?;
        equal("entry", packet.entry, None)?;
        equal("tag", packet.repr.envelope.tag, number as i32)?;
        if packet.payload != pattern(number as u64, 0, bytes) {
            return fail(format!("{bytes} bytes: other bytes arrived"));
        }
    }
    ground.silence()
}

/// Posted first or sent first: the same bytes in the same buffer.
fn both_orders(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    for round in 0..100u32 {
        let bytes = 50 + round as usize * 17;
        let buffer = Buffer::new(bytes);
        let receive = Receive::new(round % 64, Some(1), Some(5), buffer);
        let payload = pattern(round.into(), 0, bytes);
        if round % 2 == 0 {
            ground.post(&receive)?;
            ground.send(1, &eager(1, 5, &payload))?;
            ground.wait_done(&receive)?;
            met(&ground.next_packet()?, &receive, bytes as u64)?;
            equal("same bytes", buffer.copy() == payload, true)?;
        } else {
            ground.send(1, &eager(1, 5, &payload))?;
            let packet = ground.next_packet()?;
            equal("same bytes", packet.payload == payload, true)?;
            // The message is the process's own now, so the entry would wait for another one.
            ground.post(&receive)?;
            take_back(&ground, &receive)?;
        }
    }
    Ok(())
}

/// The entry waits still, and is cancelled.
fn take_back(ground: &Ground, receive: &Receive) -> Outcome {
    let cancelled = ground.device.cancel_entry(receive.cookie())?;
    equal("cancel", cancelled, Cancel::Cancelled)
}

/// Every pattern that accepts a message in the dump area is answered EAGAIN, others are not, and
/// none is once the message is taken.
fn put_again(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    ground.send(1, &eager(1, 7, b"early"))?;
    if !ground.device.wait(Some(crate::ground::PATIENCE))? {
        return fail("no record of an unexpected message");
    }
    let buffer = Buffer::new(64);
    let accepting = [
        (Some(1), Some(7)),
        (None, Some(7)),
        (Some(1), None),
        (None, None),
    ];
    for (source, tag) in accepting {
        let receive = Receive::new(1, source, tag, buffer);
        equal("an accepting put", ground.put(&receive)?, Put::Again)?;
        equal("flag of the slot", ground.device.state(1), FREE)?;
    }
    for (source, tag) in [(Some(0), Some(7)), (Some(1), Some(8)), (Some(0), None)] {
        let receive = Receive::new(2, source, tag, buffer);
        equal("another put", ground.put(&receive)?, Put::Posted)?;
        take_back(&ground, &receive)?;
    }
    equal("counted", ground.device.counters()?.agains, 4)?;
    ground.next_packet()?;
    for (source, tag) in accepting {
        let receive = Receive::new(3, source, tag, buffer);
        equal(
            "a put when all is taken",
            ground.put(&receive)?,
            Put::Posted,
        )?;
        take_back(&ground, &receive)?;
    }
    Ok(())
}

/// Of entries that accept a message the one that was posted first gets it.
fn wildcard_order(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(3)?;
    let patterns = [
        (None, Some(1)),
        (Some(2), None),
        (None, None),
        (Some(1), Some(1)),
        (None, None),
    ];
    let mut receives = Vec::new();
    for (slot, (source, tag)) in patterns.into_iter().enumerate() {
        let receive = Receive::new(slot as u32, source, tag, Buffer::new(16));
        ground.post(&receive)?;
        receives.push(receive);
    }
    // (rank, tag) of a message and the entry that it meets.
    for (rank, tag, slot) in [(2, 1, 0), (2, 1, 1), (1, 1, 2), (1, 1, 3), (0, 9, 4)] {
        ground.send(rank, &eager(rank, tag, &[slot; 16]))?;
        let packet = ground.next_packet()?;
        met(&packet, &receives[slot as usize], 16)?;
        let buffer = receives[slot as usize].buffer.expect("made with one");
        equal("bytes", buffer.copy(), vec![slot; 16])?;
    }
    Ok(())
}

/// Messages of one sender meet entries in order although exact and any entries alternate.
fn wildcard_and_exact(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(64 * 8);
    for slot in 0..64u32 {
        let (source, tag) = match slot % 4 {
            0 => (Some(0), Some(3)),
            1 => (None, Some(3)),
            2 => (Some(0), None),
            _ => (None, None),
        };
        let part = memory.part(slot as usize * 8, 8);
        ground.post(&Receive::new(slot, source, tag, part))?;
    }
    let mut stream = Vec::new();
    for number in 0..64u64 {
        stream.extend(eager(0, 3, &number.to_le_bytes()));
    }
    ground.send(0, &stream)?;
    for number in 0..64u64 {
        let packet = ground.next_packet()?;
        equal(
            "slot",
            packet.entry.map(|(slot, _)| slot),
            Some(number as u32),
        )?;
        let found = memory.part(number as usize * 8, 8).copy();
        equal("bytes", found, number.to_le_bytes().to_vec())?;
    }
    Ok(())
}

fn cancel(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(64);
    let receive = Receive::new(9, Some(0), Some(1), buffer);
    let device = &ground.device;
    equal(
        "never put",
        device.cancel_entry(receive.cookie())?,
        Cancel::Unknown,
    )?;
    ground.post(&receive)?;
    let other = Receive {
        generation: 2,
        ..receive
    };
    let device = &ground.device;
    equal(
        "another generation",
        device.cancel_entry(other.cookie())?,
        Cancel::Unknown,
    )?;
    equal(
        "a slot that is none",
        device.cancel_entry(u64::MAX)?,
        Cancel::Unknown,
    )?;
    equal(
        "posted",
        device.cancel_entry(receive.cookie())?,
        Cancel::Cancelled,
    )?;
    equal(
        "twice",
        device.cancel_entry(receive.cookie())?,
        Cancel::Unknown,
    )?;
    equal("flag", device.state(9), FREE)?;
    ground.send(0, &eager(0, 1, b"nobody waits"))?;
    equal("record", ground.next_packet()?.entry, None)?;
    equal("buffer untouched", buffer.is_untouched(), true)?;
    // Its message is arriving: half of it is here.
    ground.post(&other)?;
    let bytes = eager(0, 1, &[1; 64]);
    let (first, rest) = bytes.split_at(bytes.len() - 32);
    ground.send(0, first)?;
    let start = std::time::Instant::now();
    while ground.device.state(9) == oxmpi_wire::o2g::WAITING {
        if start.elapsed() > crate::ground::PATIENCE {
            return fail("half a message did not match");
        }
        std::thread::yield_now();
    }
    equal(
        "arriving",
        ground.device.cancel_entry(other.cookie())?,
        Cancel::Again,
    )?;
    ground.send(0, rest)?;
    ground.wait_done(&other)?;
    equal("bytes", buffer.copy(), vec![1; 64])
}

/// An entry without buffer is matched, and the payload goes to the dump area.
fn no_buffer(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    for (number, bytes) in [0, 1, 5000, 300_000].into_iter().enumerate() {
        let receive = Receive {
            slot: 20 + number as u32,
            generation: 1,
            source: Some(0),
            tag: None,
            buffer: None,
            answer: false,
        };
        ground.post(&receive)?;
        let payload = pattern(3, 0, bytes);
        ground.send(0, &eager(0, 2, &payload))?;
        let packet = ground.next_packet()?;
        equal(
            "entry",
            packet.entry,
            Some((receive.slot, receive.cookie())),
        )?;
        equal("placed", packet.placed, 0)?;
        equal("bytes", packet.payload == payload, true)?;
        let done = ground.wait_done(&receive)?;
        equal("length", done.bytes, bytes as u64)?;
    }
    Ok(())
}

/// A message that is longer than its buffer fills that, says how long it was, and harms nothing
/// else.
fn truncation(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    for (slot, (room, bytes)) in [(100, 101), (1, 70_000), (0, 500), (5000, 1 << 20)]
        .into_iter()
        .enumerate()
    {
        let memory = Buffer::new(room + 4096);
        let receive = Receive::new(slot as u32, Some(0), Some(1), memory.part(0, room));
        ground.post(&receive)?;
        let payload = pattern(9, 0, bytes);
        ground.send(0, &eager(0, 1, &payload))?;
        let done = ground.wait_done(&receive)?;
        equal(
            "length and error",
            (done.bytes, done.error),
            (bytes as u64, 0),
        )?;
        equal(
            "bytes",
            memory.part(0, room).copy() == payload[..room],
            true,
        )?;
        equal("beyond it", memory.part(room, 4096).is_untouched(), true)?;
        met(&ground.next_packet()?, &receive, room as u64)?;
    }
    ground.silence()
}

fn zero_length(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    // MPI_Recv(NULL, 0, …).
    let receive = Receive::new(0, Some(0), Some(0), Buffer::NOWHERE);
    ground.post(&receive)?;
    ground.send(0, &eager(0, 0, b""))?;
    let done = ground.wait_done(&receive)?;
    equal("length and error", (done.bytes, done.error), (0, 0))?;
    met(&ground.next_packet()?, &receive, 0)?;
    // A buffer that stays empty, and nobody waiting.
    let buffer = Buffer::new(100);
    let receive = Receive::new(1, None, None, buffer);
    ground.post(&receive)?;
    ground.send(0, &eager(0, 0, b""))?;
    equal("length", ground.wait_done(&receive)?.bytes, 0)?;
    equal("untouched", buffer.is_untouched(), true)?;
    met(&ground.next_packet()?, &receive, 0)?;
    ground.send(0, &eager(0, 0, b""))?;
    equal("unexpected", ground.next_packet()?.entry, None)?;
    ground.silence()
}

/// A slot is vacant as soon as its entry is done, and taken before that.
fn slot_again(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(9000);
    for generation in 1..200 {
        let receive = Receive {
            generation,
            ..Receive::new(5, Some(0), Some(1), buffer)
        };
        ground.post(&receive)?;
        if !matches!(
            ground.put(&receive),
            Err(o2g::PutError::Busy { slot: 5, .. })
        ) {
            return fail("a second entry for a slot was not refused with EBUSY");
        }
        let payload = pattern(generation.into(), 0, 9000);
        ground.send(0, &eager(0, 1, &payload))?;
        ground.wait_done(&receive)?;
        equal("bytes", buffer.copy() == payload, true)?;
        met(&ground.next_packet()?, &receive, 9000)?;
    }
    Ok(())
}
