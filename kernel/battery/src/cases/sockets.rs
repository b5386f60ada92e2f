//! Many sockets, many contexts.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use super::case;
use crate::ground::{Event, Ground, PATIENCE, Receive, connection, open};
use crate::packet::{eager, number_of, numbered, pattern};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{Buffer, Child, Ended};

pub const CASES: &[Case] = &[
    case("sockets-200", two_hundred),
    case("sockets-of-two-contexts", two_contexts),
    case("sockets-of-two-processes", two_processes),
    case("sockets-both-directions", both_directions),
    case("sockets-again-and-again", again),
    case("sockets-of-ipv6", ipv6),
    case("contexts-50", many_contexts),
];

fn two_hundred(random: &mut Random) -> Outcome {
    const SOCKETS: u32 = 200;
    let mut ground = Ground::with(SOCKETS as usize, 1024, 4 << 20)?;
    equal("sockets", ground.device.counters()?.sockets, SOCKETS.into())?;
    let memory = Buffer::new(SOCKETS as usize * 500);
    for round in 0..3u64 {
        for rank in 0..SOCKETS {
            let part = memory.part(rank as usize * 500, 500);
            ground.post(&Receive {
                generation: round as u32 + 1,
                ..Receive::new(rank, Some(rank), Some(1), part)
            })?;
        }
        for rank in random.order(SOCKETS as usize) {
            let rank = rank as u32;
            let number = round * 1000 + u64::from(rank);
            ground.send(rank, &eager(rank, 1, &numbered(number, 500)))?;
            ground.send(rank, &eager(rank, 2, &numbered(number, 100)))?;
        }
        for _ in 0..2 * SOCKETS {
            let packet = ground.next_packet()?;
            let number = round * 1000 + u64::from(packet.rank);
            let (tag, rank) = (packet.repr.envelope.tag, packet.rank as usize);
            let payload = match packet.entry {
                Some(_) => memory.part(rank * 500, 500).copy(),
                None => packet.payload,
            };
            equal("placed or not", packet.entry.is_some(), tag == 1)?;
            equal("number", number_of(&payload), Some(number))?;
        }
    }
    // Half of them end, half are forgotten.
    for rank in 0..SOCKETS / 2 {
        ground.device.forget_socket(rank)?;
    }
    ground.peers.clear();
    for _ in 0..SOCKETS / 2 {
        match ground.next()? {
            Event::Closed { rank, errno: 0 } if rank >= SOCKETS / 2 => {}
            other => return fail(format!("an end was expected: {other:?}")),
        }
    }
    Ok(())
}

/// Two open files of one process know nothing of each other.
fn two_contexts(_: &mut Random) -> Outcome {
    let mut first = Ground::new(1)?;
    let mut second = Ground::new(1)?;
    let receive = Receive::new(0, Some(0), Some(1), Buffer::new(100));
    first.post(&receive)?;
    second.send(0, &eager(0, 1, b"for the second"))?;
    equal("second", second.next_packet()?.entry, None)?;
    first.silence()?;
    drop(second);
    first.send(0, &eager(0, 1, &[1; 100]))?;
    first.wait_done(&receive)?;
    Ok(())
}

/// Two processes, each with its context, send to each other at once.
fn two_processes(_: &mut Random) -> Outcome {
    let (left, right) = connection()?;
    let spare = (left.try_clone()?, right.try_clone()?);
    let play = |to: TcpStream, own: TcpStream| -> Outcome {
        let mut ground = Ground::over(vec![(to, own)], 64, 256 << 10)?;
        for round in 0..200u32 {
            let receive = Receive {
                generation: round + 1,
                ..Receive::new(round % 64, Some(0), Some(1), Buffer::new(3000))
            };
            let posted = ground.put(&receive)? == o2g::Put::Posted;
            ground.send(0, &eager(0, 1, &pattern(round.into(), 0, 3000)))?;
            let packet = ground.next_packet()?;
            let payload = match posted {
                true => receive.buffer.expect("made with one").copy(),
                false => packet.payload,
            };
            equal("bytes", payload == pattern(round.into(), 0, 3000), true)?;
        }
        Ok(())
    };
    // Each writes to the end that it registers: what it sends arrives at the other one.
    let child = Child::fork(|| match play(right, spare.1) {
        Ok(()) => 0,
        Err(Trouble::Fail(why) | Trouble::Skip(why)) => {
            eprintln!("the other process: {why}");
            1
        }
    })?;
    let outcome = play(left, spare.0);
    equal(
        "the other process",
        child.wait(PATIENCE)?,
        Some(Ended::Exit(0)),
    )?;
    outcome
}

/// A registered socket is written by its process as before.
fn both_directions(_: &mut Random) -> Outcome {
    use std::io::{Read, Write};
    let mut ground = Ground::new(1)?;
    let bytes = pattern(1, 0, 2 << 20);
    let mut peer = ground.peers[0].try_clone()?;
    let mut ours = ground.ours[0].try_clone()?;
    let reader = std::thread::spawn(move || {
        let mut read = vec![0; 2 << 20];
        peer.read_exact(&mut read).map(|()| read)
    });
    ours.write_all(&bytes)?;
    let read = reader.join().expect("the reader does not panic")?;
    equal("bytes", read == bytes, true)?;
    ground.send(0, &eager(0, 1, b"back"))?;
    equal("back", ground.next_packet()?.payload, b"back".to_vec())
}

/// The same rank many times: nothing is used up.
fn again(_: &mut Random) -> Outcome {
    let device = open(2, 4, 64 << 10)?;
    for _ in 0..300 {
        let (_peer, ours) = connection()?;
        device.register_socket(ours.as_fd(), 7, &[])?;
        device.forget_socket(7)?;
    }
    equal("sockets", device.counters()?.sockets, 0)
}

fn ipv6(_: &mut Random) -> Outcome {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return Err(Trouble::Skip("this machine has no IPv6".into()));
    };
    let peer = TcpStream::connect(listener.local_addr()?)?;
    let (ours, _) = listener.accept()?;
    let mut ground = Ground::new(0)?;
    let receive = Receive::new(0, Some(0), Some(1), Buffer::new(9000));
    ground.post(&receive)?;
    ground.join(peer, ours, &[])?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 9000)))?;
    ground.wait_done(&receive)?;
    equal("placed", ground.next_packet()?.placed, 9000)
}

fn many_contexts(_: &mut Random) -> Outcome {
    let mut grounds = Vec::new();
    for _ in 0..50 {
        let mut ground = Ground::with(1, 16, 64 << 10)?;
        ground.post(&Receive::new(0, Some(0), Some(1), Buffer::new(5000)))?;
        grounds.push(ground);
    }
    equal("contexts", grounds[0].device.counters()?.contexts_all, 50)?;
    for ground in &mut grounds {
        ground.send(0, &eager(0, 1, &pattern(1, 0, 5000)))?;
        equal("placed", ground.next_packet()?.placed, 5000)?;
    }
    Ok(())
}
