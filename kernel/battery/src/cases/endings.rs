//! Connections that end: orderly, by reset, in the middle of a message, by the process itself.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use oxmpi_wire::Kind;
use oxmpi_wire::o2g::{DONE, MATCHED};

use super::case;
use crate::ground::{Event, Ground, PATIENCE, Receive};
use crate::packet::{eager, head, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, reset_on_close};

pub const CASES: &[Case] = &[
    case("orderly-end", orderly),
    case("reset", reset),
    case("end-within-a-message", within_message),
    case("end-within-a-head", within_head),
    case("forget-then-read", forget_then_read),
    case("forget-within-a-message", forget_within),
    case("close-sends-fin", close_sends_fin),
    case("device-closed-first", device_first),
];

fn orderly(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    ground.send(0, &eager(0, 1, b"last"))?;
    ground.peers.remove(0);
    equal("message", ground.next_packet()?.payload, b"last".to_vec())?;
    equal("end", ground.next()?, Event::Closed { rank: 0, errno: 0 })?;
    ground.silence()?;
    // The other direction is still open: the peer only stopped sending.
    ground.device.forget_socket(0)?;
    equal("sockets", ground.device.counters()?.sockets, 1)
}

fn reset(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"last"))?;
    equal("message", ground.next_packet()?.payload, b"last".to_vec())?;
    reset_on_close(&ground.peers[0])?;
    ground.peers.clear();
    let (rank, errno) = (0, libc::ECONNRESET);
    equal("end", ground.next()?, Event::Closed { rank, errno })?;
    ground.device.forget_socket(0)?;
    ground.silence()
}

/// An entry whose message stops in the middle ends with an error, by orderly end and by reset, with
/// a part of the payload or with a request only.
fn within_message(_: &mut Random) -> Outcome {
    for resets in [false, true] {
        for by_request in [false, true] {
            let mut ground = Ground::new(1)?;
            let receive = Receive::new(4, Some(0), Some(1), Buffer::new(1000));
            ground.post(&receive)?;
            if by_request {
                ground.send(0, &request(0, 1, 1000, 1))?;
                ground.next_packet()?;
                equal("state", ground.device.state(4), MATCHED)?;
            } else {
                ground.send(0, &eager(0, 1, &[1; 1000])[..500])?;
            }
            if resets {
                reset_on_close(&ground.peers[0])?;
            }
            ground.peers.clear();
            match ground.next()? {
                Event::Closed { rank: 0, .. } => {}
                other => return fail(format!("the end was expected: {other:?}")),
            }
            let done = ground.wait_done(&receive)?;
            if done.error == 0 {
                return fail(format!("half a message is done without error: {done:?}"));
            }
            ground.device.forget_socket(0)?;
        }
    }
    Ok(())
}

fn within_head(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let receive = Receive::new(4, Some(0), Some(1), Buffer::new(1000));
    ground.post(&receive)?;
    ground.send(0, &head(Kind::Eager, 0, 1, 9, 9)[..20])?;
    ground.peers.clear();
    match ground.next()? {
        Event::Closed { rank: 0, .. } => {}
        other => return fail(format!("the end was expected: {other:?}")),
    }
    let cancelled = ground.device.cancel_entry(receive.cookie())?;
    equal("the entry waits still", cancelled, o2g::Cancel::Cancelled)
}

/// After forget_socket the process reads the socket itself.
fn forget_then_read(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    for round in 0..6 {
        ground.send(0, &eager(0, 1, b"by the driver"))?;
        equal(
            "driver",
            ground.next_packet()?.payload,
            b"by the driver".to_vec(),
        )?;
        ground.device.forget_socket(0)?;
        ground.send(0, b"by the process")?;
        let mut read = [0; 14];
        ground.ours[0].set_read_timeout(Some(PATIENCE))?;
        ground.ours[0].read_exact(&mut read)?;
        equal("process", &read, b"by the process")?;
        ground.silence()?;
        if ground.device.forget_socket(0).is_ok() {
            return fail(format!("round {round}: a socket was forgotten twice"));
        }
        ground
            .device
            .register_socket(ground.ours[0].as_fd(), 0, &[])?;
    }
    Ok(())
}

fn forget_within(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let receive = Receive::new(4, Some(0), Some(1), Buffer::new(100_000));
    ground.post(&receive)?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 100_000))[..60_000])?;
    let start = std::time::Instant::now();
    while ground.device.state(4) != MATCHED {
        if start.elapsed() > PATIENCE {
            return fail("half a message did not match");
        }
        std::thread::yield_now();
    }
    ground.device.forget_socket(0)?;
    equal("state", ground.device.state(4), DONE)?;
    equal(
        "error",
        ground.device.done(4).error,
        libc::ECONNRESET as u32,
    )
}

/// The driver keeps no connection open that its process has closed.
fn close_sends_fin(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    ground.ours.remove(0);
    let mut rest = Vec::new();
    ground.peers[0].set_read_timeout(Some(PATIENCE))?;
    ground.peers[0].read_to_end(&mut rest)?;
    equal("the peer reads", rest, Vec::new())?;
    // The context and its other socket are as before.
    ground.send(1, &eager(1, 1, b"here"))?;
    loop {
        match ground.next()? {
            Event::Packet(packet) => {
                return equal("rank", packet.rank, 1);
            }
            Event::Closed { rank: 0, .. } => {}
            other => return fail(format!("{other:?} after close")),
        }
    }
}

/// Sockets outlive the context: they are read by the process again, with what was left in them.
fn device_first(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(3)?;
    for rank in 0..3 {
        ground.send(rank, &eager(rank, 1, b"for the driver"))?;
    }
    let receive = Receive::new(4, Some(0), Some(9), Buffer::new(100_000));
    ground.post(&receive)?;
    let Ground {
        device,
        mut peers,
        mut ours,
        ..
    } = ground;
    drop(device);
    for (peer, own) in peers.iter_mut().zip(&mut ours) {
        peer.write_all(b"for the process")?;
        let mut read = [0; 15];
        own.set_read_timeout(Some(PATIENCE))?;
        own.read_exact(&mut read)?;
        equal("bytes", &read, b"for the process")?;
        own.write_all(b"and back")?;
    }
    Ok(())
}
