//! Requests to send that the driver answers by itself, while its process computes, sleeps, or is
//! within a packet of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use o2g::Device;
use oxmpi_wire::o2g::{ANSWERS, DONE, MATCHED};
use oxmpi_wire::{Kind, PREFIX_BYTES, Repr};

use super::case;
use crate::ground::{Ground, PATIENCE, Receive, connection, open, put};
use crate::packet::{data, eager, head, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{Buffer, set_option, stop_self};

pub const CASES: &[Case] = &[
    case("answer-while-computing", while_computing),
    case("answer-while-stopped", while_stopped),
    case("answer-only-if-asked", only_if_asked),
    case("answers-in-order", in_order),
    case("answer-between-packets", between_packets),
    case("answer-when-there-is-room", when_there_is_room),
    case("answers-and-endings", endings),
    Case {
        name: "answers-beside-writing",
        time_s: 180,
        run: beside_writing,
    },
];

/// Bytes of an answer: a length, a header and two words.
const ANSWER_BYTES: usize = 52;

/// One peer whose connection has desk 0, and a device.
fn ground() -> Outcome<(Device, TcpStream, TcpStream)> {
    let device = open(4, 512, 1 << 20)?;
    let (peer, ours) = connection()?;
    peer.set_read_timeout(Some(PATIENCE))?;
    device.register_socket_at(ours.as_fd(), 0, 0, &[])?;
    Ok((device, peer, ours))
}

/// Posts a receive whose request the driver is to answer.
fn post(device: &Device, receive: &Receive) -> Outcome {
    let receive = Receive {
        answer: true,
        ..*receive
    };
    match put(device, &receive, device.tail())? {
        o2g::Put::Posted => Ok(()),
        o2g::Put::Again => fail("EAGAIN although nothing came"),
    }
}

/// The next packet that the peer reads, which has no payload.
fn read_answer(peer: &mut TcpStream) -> Outcome<Repr> {
    let mut bytes = [0; ANSWER_BYTES];
    peer.read_exact(&mut bytes)?;
    equal("payload", &bytes[..4], &[0; 4][..])?;
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..ANSWER_BYTES - 4].copy_from_slice(&bytes[4..]);
    Repr::parse_prefix(&prefix).map_err(|error| Trouble::Fail(error.to_string()))
}

fn expect_answer(peer: &mut TcpStream, receive: &Receive, send: u64) -> Outcome {
    let repr = read_answer(peer)?;
    let receive = receive.cookie();
    equal("the answer", repr.kind, Kind::Cleared { receive, send })
}

/// Nothing comes to the peer for a while.
fn expect_silence(peer: &mut TcpStream) -> Outcome {
    peer.set_read_timeout(Some(Duration::from_millis(200)))?;
    let read = peer.read(&mut [0; 1]);
    peer.set_read_timeout(Some(PATIENCE))?;
    match read {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        other => fail(format!("nothing was expected: {other:?}")),
    }
}

fn wait_done(device: &Device, receive: &Receive) -> Outcome {
    let start = Instant::now();
    while device.state(receive.slot) != DONE {
        if start.elapsed() > PATIENCE {
            return fail(format!("not done: {:?}", device.counters()?));
        }
        std::thread::yield_now();
    }
    equal("error", device.done(receive.slot).error, 0)
}

/// A long receive is posted, then the process makes no call: the sender is answered, and its data
/// is in the buffer.
fn while_computing(_: &mut Random) -> Outcome {
    const BYTES: usize = 4 << 20;
    let (device, mut peer, _ours) = ground()?;
    let buffer = Buffer::new(BYTES);
    let receive = Receive::new(3, Some(0), Some(1), buffer);
    post(&device, &receive)?;
    let cookie = receive.cookie();
    let sender = std::thread::spawn(move || -> Outcome {
        peer.write_all(&request(0, 1, BYTES, 77))?;
        let kind = read_answer(&mut peer)?.kind;
        let expected = Kind::Cleared {
            receive: cookie,
            send: 77,
        };
        equal("the answer", kind, expected)?;
        for offset in (0..BYTES).step_by(1 << 20) {
            peer.write_all(&data(cookie, offset, BYTES, &pattern(6, offset, 1 << 20)))?;
        }
        // It stays until the receiver has looked.
        std::thread::sleep(Duration::from_secs(1));
        Ok(())
    });
    // Computing: loads of the flag, and no call of the system.
    let mut sum = 0u64;
    while device.state(3) != DONE {
        sum = sum.wrapping_mul(31).wrapping_add(1);
        std::hint::black_box(sum);
    }
    sender.join().expect("the sender does not panic")?;
    for offset in (0..BYTES).step_by(1 << 20) {
        let intact = buffer.part(offset, 1 << 20).copy() == pattern(6, offset, 1 << 20);
        equal("bytes", intact, true)?;
    }
    let first = device.peek()?.map(|view| (view.entry, view.detail));
    equal("the request", first, Some((Some((3, cookie)), ANSWERS)))?;
    let counters = device.counters()?;
    equal("answers", counters.answers, 1)?;
    println!("count answers_while_computing={}", counters.answers);
    Ok(())
}

/// The same for a process that does not even run.
fn while_stopped(_: &mut Random) -> Outcome {
    const BYTES: usize = 1 << 20;
    let (mut peer, ours) = connection()?;
    peer.set_read_timeout(Some(PATIENCE))?;
    let (mut from_child, mut to_parent) = std::io::pipe()?;
    let child = crate::sys::Child::fork(move || {
        let mut received = || -> Outcome {
            let device = open(4, 64, 1 << 20)?;
            device.register_socket_at(ours.as_fd(), 0, 0, &[])?;
            let buffer = Buffer::new(BYTES);
            let receive = Receive::new(3, Some(0), Some(1), buffer);
            post(&device, &receive)?;
            to_parent.write_all(&[1])?;
            stop_self();
            equal("state", device.state(3), DONE)?;
            equal("bytes", buffer.copy() == pattern(6, 0, BYTES), true)
        };
        i32::from(received().is_err())
    })?;
    from_child.read_exact(&mut [0])?;
    let cookie = Receive::new(3, None, None, Buffer::NOWHERE).cookie();
    peer.write_all(&request(0, 1, BYTES, 5))?;
    let expected = Kind::Cleared {
        receive: cookie,
        send: 5,
    };
    equal("the answer", read_answer(&mut peer)?.kind, expected)?;
    peer.write_all(&data(cookie, 0, BYTES, &pattern(6, 0, BYTES)))?;
    let start = Instant::now();
    while crate::sys::out_queue(&peer) > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    // A thread of the driver may still copy what it has acknowledged.
    std::thread::sleep(Duration::from_millis(500));
    child.kill(libc::SIGCONT);
    let ended = child.wait(PATIENCE)?;
    equal("receiver", ended, Some(crate::sys::Ended::Exit(0)))
}

/// Without the flag, without a buffer, and for what the receiver fetches or what has no bytes, the
/// process answers.
fn only_if_asked(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let mut peer = ground.peers[0].try_clone()?;
    let detail = |ground: &mut Ground, bytes: &[u8]| -> Outcome<u32> {
        ground.send(0, bytes)?;
        ground.device.wait(Some(PATIENCE))?;
        let detail = ground.device.peek()?.map(|view| view.detail);
        ground.next_packet()?;
        Ok(detail.unwrap_or(u32::MAX))
    };
    let plain = Receive::new(0, Some(0), Some(1), Buffer::new(100));
    ground.post(&plain)?;
    equal("plain", detail(&mut ground, &request(0, 1, 100, 1))?, 0)?;
    let bare = Receive {
        buffer: None,
        ..Receive::new(1, Some(0), Some(2), Buffer::NOWHERE)
    };
    post(&ground.device, &bare)?;
    equal("bare", detail(&mut ground, &request(0, 2, 100, 1))?, 0)?;
    for (slot, bytes, fetchable) in [(2, 0, false), (3, 100, true)] {
        let tag = slot as i32 + 1;
        let receive = Receive::new(slot, Some(0), Some(tag), Buffer::new(100));
        post(&ground.device, &receive)?;
        let kind = Kind::RequestToSend {
            send: 1,
            address: 0,
            mapped: false,
            fetchable,
            sync: true,
        };
        let found = detail(&mut ground, &head(kind, 0, tag, bytes, 0))?;
        equal("nothing, fetchable", found, 0)?;
    }
    expect_silence(&mut peer)?;
    equal("answers", ground.device.counters()?.answers, 0)
}

/// Many requests are answered in their order, and data that comes before its answer is nobody's.
fn in_order(_: &mut Random) -> Outcome {
    let (device, mut peer, _ours) = ground()?;
    let receives: Vec<_> = (0..50)
        .map(|slot| Receive::new(slot, Some(0), Some(slot as i32), Buffer::new(5000)))
        .collect();
    device.begin_writing(0);
    let mut stream = Vec::new();
    for receive in &receives {
        post(&device, receive)?;
        stream.extend(request(0, receive.slot as i32, 5000, receive.slot.into()));
    }
    // Too early: it is not answered yet.
    stream.extend(data(receives[0].cookie(), 0, 5000, &[9; 5000]));
    peer.write_all(&stream)?;
    expect_silence(&mut peer)?;
    let untouched = receives[0]
        .buffer
        .is_some_and(|buffer| buffer.is_untouched());
    equal("buffer untouched", untouched, true)?;
    equal("state", device.state(0), MATCHED)?;
    device.end_writing(0)?;
    for receive in &receives {
        expect_answer(&mut peer, receive, receive.slot.into())?;
        let number = u64::from(receive.slot);
        peer.write_all(&data(receive.cookie(), 0, 5000, &pattern(number, 0, 5000)))?;
    }
    for receive in &receives {
        wait_done(&device, receive)?;
        let found = receive.buffer.map(|buffer| buffer.copy());
        let expected = pattern(u64::from(receive.slot), 0, 5000);
        equal("bytes", found == Some(expected), true)?;
    }
    equal("answers", device.counters()?.answers, 50)
}

/// A packet that the process has written in part is ended before the answer comes.
fn between_packets(_: &mut Random) -> Outcome {
    let (device, mut peer, mut ours) = ground()?;
    for round in 0..20u32 {
        let receive = Receive {
            generation: round + 1,
            ..Receive::new(3, Some(0), Some(1), Buffer::new(3000))
        };
        post(&device, &receive)?;
        let packet = eager(0, 7, &pattern(round.into(), 0, 1000));
        let cut = 1 + (round as usize * 53) % (packet.len() - 1);
        device.begin_writing(0);
        ours.write_all(&packet[..cut])?;
        peer.write_all(&request(0, 1, 3000, round.into()))?;
        let mut found = vec![0; packet.len()];
        peer.read_exact(&mut found[..cut])?;
        if round < 3 {
            expect_silence(&mut peer)?;
        }
        ours.write_all(&packet[cut..])?;
        device.end_writing(0)?;
        peer.read_exact(&mut found[cut..])?;
        equal("the process's packet", found == packet, true)?;
        expect_answer(&mut peer, &receive, round.into())?;
        peer.write_all(&data(receive.cookie(), 0, 3000, &pattern(1, 0, 3000)))?;
        wait_done(&device, &receive)?;
    }
    Ok(())
}

/// A stream that the process has filled is answered when the peer has read some of it.
fn when_there_is_room(_: &mut Random) -> Outcome {
    let device = open(4, 64, 1 << 20)?;
    let (mut peer, mut ours) = connection()?;
    peer.set_read_timeout(Some(PATIENCE))?;
    set_option(ours.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, 4096)?;
    set_option(peer.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 4096)?;
    device.register_socket_at(ours.as_fd(), 0, 0, &[])?;
    let receive = Receive::new(3, Some(0), Some(1), Buffer::new(3000));
    post(&device, &receive)?;
    // Packets until none fits any more; the rest of one that was cut when the peer has read some.
    let packet = eager(0, 7, &[1; 100]);
    let (mut written, mut taken, mut cut) = (0, 0, 0);
    ours.set_nonblocking(true)?;
    device.begin_writing(0);
    loop {
        match ours.write(&packet[cut..]) {
            Ok(n) => {
                written += n;
                cut = (cut + n) % packet.len();
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
            Err(_) if cut == 0 => break,
            Err(_) => taken += peer.read(&mut [0; 500])?,
        }
    }
    device.end_writing(0)?;
    peer.write_all(&request(0, 1, 3000, 9))?;
    std::thread::sleep(Duration::from_millis(100));
    let mut rest = vec![0; written - taken];
    peer.read_exact(&mut rest)?;
    expect_answer(&mut peer, &receive, 9)
}

/// Sockets that end, are shut down or forgotten while answers wait.
fn endings(_: &mut Random) -> Outcome {
    for round in 0..40 {
        let (device, mut peer, ours) = ground()?;
        for slot in 0..8 {
            let receive = Receive::new(slot, Some(0), Some(1), Buffer::new(5000));
            post(&device, &receive)?;
        }
        if round % 2 == 0 {
            device.begin_writing(0);
        }
        for send in 0..8 {
            peer.write_all(&request(0, 1, 5000, send))?;
        }
        match round / 2 % 6 {
            0 => drop(peer),
            1 => drop(ours),
            2 => ours.shutdown(std::net::Shutdown::Write)?,
            3 => device.forget_socket(0)?,
            4 => {
                crate::sys::disconnect(ours.as_fd());
            }
            _ => drop((peer, ours)),
        }
        device.end_writing(0)?;
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// The process writes packets in pieces, at random moments, while requests come: the peer reads
/// whole packets only, and every request is answered once.
fn beside_writing(random: &mut Random) -> Outcome {
    const REQUESTS: u32 = 400;
    let (device, mut peer, mut ours) = ground()?;
    let buffer = Buffer::new(REQUESTS as usize * 128);
    for slot in 0..REQUESTS {
        let part = buffer.part(slot as usize * 128, 100);
        post(&device, &Receive::new(slot, None, None, part))?;
    }
    let seed = random.next();
    let mut requester = peer.try_clone()?;
    let writing = std::thread::spawn(move || -> Outcome {
        for number in 0..REQUESTS {
            requester.write_all(&request(0, 1, 100, number.into()))?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    });
    let reading = std::thread::spawn(move || read_mixed(&mut peer, REQUESTS));
    let mut random = Random::new(seed);
    let mut number = 0;
    let start = Instant::now();
    while device.counters()?.answers < REQUESTS.into() {
        if start.elapsed() > 2 * PATIENCE {
            return fail(format!("{:?}", device.counters()?));
        }
        write_in_pieces(&device, &mut ours, &mut random, number)?;
        number += 1;
    }
    ours.write_all(&oxmpi_wire::stream::GOODBYE.to_le_bytes())?;
    writing.join().expect("no panic")?;
    let (packets, answers) = reading.join().expect("no panic")?;
    println!("count packets_beside_answers={packets} answers={answers}");
    equal("packets", packets, number)?;
    equal("answers", u64::from(answers), device.counters()?.answers)
}

/// One packet of the process, in a few writes.
fn write_in_pieces(
    device: &Device,
    ours: &mut TcpStream,
    random: &mut Random,
    number: u64,
) -> Outcome {
    let packet = eager(0, 7, &crate::packet::numbered(number, 200));
    device.begin_writing(0);
    let mut left = &packet[..];
    while !left.is_empty() {
        let n = 1 + random.below(left.len() as u64) as usize;
        ours.write_all(&left[..n])?;
        left = &left[n..];
        if random.below(4) == 0 {
            std::thread::sleep(Duration::from_micros(300));
        }
    }
    Ok(device.end_writing(0)?)
}

/// Reads packets until the goodbye: how many of the process, how many answers.
fn read_mixed(peer: &mut TcpStream, requests: u32) -> Outcome<(u64, u32)> {
    let (mut packets, mut answers) = (0, 0);
    loop {
        let mut length = [0; 4];
        peer.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length == oxmpi_wire::stream::GOODBYE {
            return Ok((packets, answers));
        }
        let mut prefix = [0; PREFIX_BYTES];
        let body = if length == 0 { 16 } else { 0 };
        let header = &mut prefix[..oxmpi_wire::HEADER_BYTES + body];
        peer.read_exact(header)?;
        let repr = Repr::parse_prefix(&prefix).map_err(|error| Trouble::Fail(error.to_string()))?;
        let mut payload = vec![0; length as usize];
        peer.read_exact(&mut payload)?;
        match repr.kind {
            Kind::Eager => {
                let number = crate::packet::number_of(&payload);
                equal("the packet's number", number, Some(packets))?;
                packets += 1;
            }
            Kind::Cleared { send, .. } => {
                equal("the request", send, u64::from(answers))?;
                equal("a request that was made", answers < requests, true)?;
                answers += 1;
            }
            other => return fail(format!("{other}")),
        }
    }
}
