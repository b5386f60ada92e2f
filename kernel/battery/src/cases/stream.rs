//! The stream: cut anywhere, begun before the driver reads it, and nonsense.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use oxmpi_wire::o2g::OTHER_VERSION;
use oxmpi_wire::stream::{GOODBYE, PAUSE, PAYLOAD_MAX};
use oxmpi_wire::{Kind, VERSION};

use super::case;
use crate::ground::{Event, Ground, Receive, connection};
use crate::packet::{data, eager, head, pattern, request, whole};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, out_queue};

pub const CASES: &[Case] = &[
    case("head-cut-at-every-byte", cut_everywhere),
    case("byte-by-byte", byte_by_byte),
    case("every-kind", every_kind),
    case("read-before-registered", early),
    case("queued-before-registered", queued),
    case("farewell", farewell),
    case("garbage", garbage),
    case("garbage-of-any-kind", any_garbage),
];

/// Sends the two parts of something so that the driver sees the first one alone.
fn send_cut(ground: &mut Ground, bytes: &[u8], cut: usize) -> Outcome {
    let (first, rest) = bytes.split_at(cut);
    ground.send(0, first)?;
    // Acknowledged means delivered to the driver; acknowledgements may be delayed, hence the limit.
    let start = Instant::now();
    while out_queue(&ground.peers[0]) > 0 && start.elapsed() < Duration::from_millis(3) {
        std::thread::yield_now();
    }
    ground.send(0, rest)
}

fn cut_everywhere(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(32);
    let payload = pattern(1, 0, 32);
    let mut generation = 0;
    let mut next = || {
        generation += 1;
        Receive {
            generation,
            ..Receive::new(1, Some(0), Some(2), buffer)
        }
    };
    let message = eager(0, 2, &payload);
    for cut in 1..message.len() {
        let receive = next();
        ground.post(&receive)?;
        send_cut(&mut ground, &message, cut)?;
        ground.wait_done(&receive)?;
        equal("bytes", buffer.copy() == payload, true)?;
        equal("placed", ground.next_packet()?.placed, 32)?;
    }
    let asks = request(0, 2, 32, 1);
    for cut in 1..asks.len() {
        let receive = next();
        ground.post(&receive)?;
        send_cut(&mut ground, &asks, cut)?;
        equal("request", ground.next_packet()?.entry.is_some(), true)?;
        let brings = data(receive.cookie(), 0, 32, &payload);
        send_cut(&mut ground, &brings, cut)?;
        ground.wait_done(&receive)?;
        equal("placed", ground.next_packet()?.placed, 32)?;
    }
    for cut in 1..message.len() {
        send_cut(&mut ground, &message, cut)?;
        equal("dumped", ground.next_packet()?.payload == payload, true)?;
    }
    let goodbye = GOODBYE.to_le_bytes();
    send_cut(&mut ground, &goodbye, 3)?;
    let (rank, pause) = (0, false);
    equal("goodbye", ground.next()?, Event::Farewell { rank, pause })
}

/// Several messages, every byte a segment.
fn byte_by_byte(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(40);
    let receive = Receive::new(1, Some(0), Some(2), buffer);
    ground.post(&receive)?;
    let payload = pattern(1, 0, 40);
    let mut stream = eager(0, 1, &payload);
    stream.extend(eager(0, 2, &payload));
    stream.extend(head(Kind::Credit, 0, 0, 0, 0));
    for byte in &stream {
        ground.send(0, &[*byte])?;
    }
    equal(
        "first, dumped",
        ground.next_packet()?.payload == payload,
        true,
    )?;
    equal("second, placed", ground.next_packet()?.placed, 40)?;
    equal("third", ground.next_packet()?.repr.kind, Kind::Credit)?;
    equal("bytes", buffer.copy() == payload, true)
}

/// Kinds that the driver has no use for come as they are, with and without payload.
fn every_kind(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let kinds = [
        Kind::More { offset: 9 },
        Kind::ClearToSend {
            send: 1,
            receive: 2,
        },
        Kind::Data {
            receive: 3,
            offset: 4,
        },
        Kind::Done { send: 5 },
        Kind::Credit,
        Kind::Cancel { send: 6 },
        Kind::CancelReply {
            send: 7,
            cancelled: true,
        },
    ];
    for kind in kinds {
        for bytes in [0, 100, 10_000] {
            let payload = pattern(2, 0, bytes);
            ground.send(0, &whole(kind, 5, 6, 100_000, &payload))?;
            let packet = ground.next_packet()?;
            equal("kind", packet.repr.kind, kind)?;
            equal("entry", packet.entry, None)?;
            equal("payload", packet.payload == payload, true)?;
        }
    }
    Ok(())
}

/// What the process has read before it registers, cut anywhere, is the beginning of the stream.
fn early(_: &mut Random) -> Outcome {
    let mut stream = Vec::new();
    for number in 0..3 {
        stream.extend(eager(0, number, &pattern(number as u64, 0, 30)));
    }
    let mut ground = Ground::with(0, 8, 64 << 10)?;
    for cut in (0..=stream.len()).step_by(7) {
        let (mut peer, mut ours) = connection()?;
        peer.write_all(&stream)?;
        let mut read = vec![0; cut];
        ours.read_exact(&mut read)?;
        let rank = ground.join(peer, ours, &read)?;
        for number in 0..3 {
            let packet = ground.next_packet()?;
            equal(
                "rank and tag",
                (packet.rank, packet.repr.envelope.tag),
                (rank, number),
            )?;
            let expected = pattern(number as u64, 0, 30);
            equal("payload", packet.payload == expected, true)?;
        }
        ground.device.forget_socket(rank)?;
    }
    Ok(())
}

/// What lies in the socket when it is registered is read at once, for entries too.
fn queued(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(0)?;
    let buffer = Buffer::new(100_000);
    let receive = Receive::new(1, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    let (mut peer, ours) = connection()?;
    let payload = pattern(4, 0, 100_000);
    peer.write_all(&eager(0, 1, &payload))?;
    peer.write_all(&eager(0, 2, b"and one more"))?;
    peer.shutdown(std::net::Shutdown::Write)?;
    let rank = ground.join(peer, ours, &[])?;
    ground.wait_done(&receive)?;
    equal("bytes", buffer.copy() == payload, true)?;
    equal("first", ground.next_packet()?.placed, 100_000)?;
    equal(
        "second",
        ground.next_packet()?.payload,
        b"and one more".to_vec(),
    )?;
    equal("end", ground.next()?, Event::Closed { rank, errno: 0 })
}

fn farewell(_: &mut Random) -> Outcome {
    for (word, pause) in [(GOODBYE, false), (PAUSE, true)] {
        let mut ground = Ground::new(1)?;
        ground.send(0, &eager(0, 1, b"last"))?;
        ground.send(0, &word.to_le_bytes())?;
        equal("message", ground.next_packet()?.payload, b"last".to_vec())?;
        equal(
            "farewell",
            ground.next()?,
            Event::Farewell { rank: 0, pause },
        )?;
        ground.peers.clear();
        let closed = Event::Closed { rank: 0, errno: 0 };
        equal("end", ground.next()?, closed)?;
    }
    Ok(())
}

/// Nonsense is named, after what was right before it; nothing is read behind it, and other sockets
/// go on.
fn garbage(_: &mut Random) -> Outcome {
    let too_long = PAYLOAD_MAX as u32 + 1;
    let mut wrong_version = eager(0, 1, b"");
    wrong_version[4] ^= 0xff;
    let mut wrong_flags = eager(0, 1, b"");
    wrong_flags[4 + 31] = 0xff;
    let trials: [(&[u8], u64, Option<u32>); 5] = [
        (&[0, 0, 0, 0, VERSION, 0x40], 0, Some(0x40)),
        (&[5, 0, 0, 0, VERSION, 0], 5, Some(0)),
        (&too_long.to_le_bytes(), too_long.into(), Some(u32::MAX)),
        (&wrong_version, 0, Some(OTHER_VERSION | u32::from(!VERSION))),
        (&wrong_flags, 0, None),
    ];
    for (nonsense, expected_length, expected_kind) in trials {
        let mut ground = Ground::new(2)?;
        ground.send(0, &eager(0, 1, b"right"))?;
        ground.send(0, nonsense)?;
        equal("before", ground.next_packet()?.payload, b"right".to_vec())?;
        match ground.next()? {
            Event::Garbage { rank, length, kind } => {
                equal("rank and length", (rank, length), (0, expected_length))?;
                if let Some(expected) = expected_kind {
                    equal("kind", kind, expected)?;
                }
            }
            other => return fail(format!("{nonsense:?} came as {other:?}")),
        }
        ground.send(0, &eager(0, 1, b"not read"))?;
        ground.silence()?;
        ground.send(1, &eager(1, 1, b"another socket"))?;
        equal("rank", ground.next_packet()?.rank, 1)?;
        ground.device.forget_socket(0)?;
    }
    Ok(())
}

/// Any bytes, some of which look right for a while: the driver survives, and the next socket works.
fn any_garbage(random: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(5000);
    for round in 0..150 {
        let (mut peer, ours) = connection()?;
        let rank = 1 + round;
        ground
            .device
            .register_socket(std::os::fd::AsFd::as_fd(&ours), rank, &[])?;
        let receive = Receive {
            generation: round + 1,
            ..Receive::new(2, None, None, buffer)
        };
        let put = ground.put(&receive);
        let mut bytes = Vec::new();
        for _ in 0..random.below(6) {
            let mut packet = eager(0, 1, &pattern(1, 0, random.below(200) as usize));
            if random.one_in(3) {
                let at = random.below(packet.len() as u64) as usize;
                packet[at] = random.next() as u8;
            }
            bytes.extend(packet);
        }
        bytes.extend((0..random.below(100)).map(|_| random.next() as u8));
        // The driver may have had enough: then the socket's other end is as it is.
        let _ = peer.write_all(&bytes);
        drop(peer);
        std::thread::yield_now();
        ground.device.forget_socket(rank)?;
        while ground.forget_partial(rank) || ground.try_next()?.is_some() {}
        if put.is_ok() {
            ground.device.cancel_entry(receive.cookie())?;
        }
    }
    ground.send(0, &eager(0, 1, b"still there"))?;
    let packet = ground.next_packet()?;
    equal(
        "rank and bytes",
        (packet.rank, packet.payload),
        (0, b"still there".to_vec()),
    )
}
