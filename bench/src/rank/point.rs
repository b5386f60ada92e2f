//! Measurements between rank 0 and rank 1: latency, bandwidth, message rate, crowded queues.
//!
//! Rank 0 takes the time. The first byte of a message tells rank 1 whether it is the last one, so
//! that no extra message disturbs what is measured.

use std::time::{Duration, Instant};

use oxmpi::{Communicator, Mpi, Result};

use super::{Buffers, Crowd};
use crate::floor::{hop, median, stream};

const PING: i32 = 1;
const ACKNOWLEDGEMENT: i32 = 2;
const CROWD: i32 = 3;

/// First byte of a message after which there is another.
const GO_ON: u8 = 1;
/// First byte of the last message.
const LAST: u8 = 2;

/// Batches or windows thrown away while caches and rings settle.
const WARM: usize = 3;

/// Messages of a window of the message-rate benchmark.
pub const RATE_WINDOW: usize = 64;

/// One way of a ping-pong, ns.
pub fn latency(world: &Communicator<'_>, bytes: usize, time: Duration) -> Result<Vec<f64>> {
    let found = ping_pong(world, bytes, hop::batch_spinning(bytes), time)?;
    Ok(found.value.into_iter().collect())
}

/// What a measurement between two ranks found.
#[derive(Debug, Default)]
pub struct Sample {
    /// The figure; only rank 0 takes the time.
    pub value: Option<f64>,
    /// Messages this rank received in a ping-pong, or rank 1 in windows.
    pub messages: u64,
}

/// One way of a ping-pong between ranks 0 and 1, ns.
pub fn ping_pong(
    world: &Communicator<'_>,
    bytes: usize,
    batch: u64,
    time: Duration,
) -> Result<Sample> {
    let mut buffer = vec![GO_ON; bytes];
    let peer = 1 - world.rank().min(1);
    let mut sample = Sample::default();
    if world.rank() > 1 {
        return Ok(sample);
    }
    if world.rank() == 1 {
        loop {
            world.recv(&mut buffer, peer, PING)?;
            world.send(&buffer, peer, PING)?;
            sample.messages += 1;
            if buffer[0] == LAST {
                return Ok(sample);
            }
        }
    }
    let mut one_way = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time || one_way.len() < 2 * WARM {
        let start = Instant::now();
        for _ in 0..batch {
            world.send(&buffer, peer, PING)?;
            world.recv(&mut buffer, peer, PING)?;
        }
        one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
    }
    buffer[0] = LAST;
    world.send(&buffer, peer, PING)?;
    world.recv(&mut buffer, peer, PING)?;
    sample.messages = one_way.len() as u64 * batch + 1;
    sample.value = Some(median(&mut one_way[WARM..]));
    Ok(sample)
}

/// Messages of all lengths, to and fro, until each way of copying has been tried: pairs of length
/// and number. 128 of a class are tries (`oxmpi_ports::filling`), and 8 of those that may be
/// fetched.
const ALL_LENGTHS: [(usize, usize); 4] = [
    (2 << 10, 160),
    (8 << 10, 160),
    (64 << 10, 80),
    (1 << 20, 16),
];

/// Sends and receives messages of all lengths; no figures.
pub fn all_lengths(world: &Communicator<'_>) -> Result<Vec<f64>> {
    let peer = 1 - world.rank();
    for (bytes, number) in ALL_LENGTHS {
        let mut buffer = vec![GO_ON; bytes];
        for _ in 0..number {
            if world.rank() == 0 {
                world.send(&buffer, peer, PING)?;
            }
            world.recv(&mut buffer, peer, PING)?;
            if world.rank() == 1 {
                world.send(&buffer, peer, PING)?;
            }
        }
    }
    Ok(Vec::new())
}

/// Windows of messages from rank 0 to rank 1, GB/s.
pub fn bandwidth(
    mpi: &Mpi,
    world: &Communicator<'_>,
    bytes: usize,
    buffers: Buffers,
    time: Duration,
) -> Result<Vec<f64>> {
    let window = stream::window(bytes);
    if world.rank() == 1 {
        let mut buffer = vec![0; bytes];
        loop {
            for _ in 0..window {
                match buffers {
                    Buffers::Private | Buffers::FromPort => {
                        world.recv(&mut buffer, 0, PING)?;
                    }
                    Buffers::InPlace => buffer[0] = world.recv_in_place::<u8>(0, PING)?[0],
                    Buffers::InPlaceRead => {
                        let message = world.recv_in_place::<u8>(0, PING)?;
                        std::hint::black_box(sum(&message));
                        buffer[0] = message[0];
                    }
                }
            }
            world.send(&[0u8], 0, ACKNOWLEDGEMENT)?;
            if buffer[0] == LAST {
                return Ok(Vec::new());
            }
        }
    }
    if buffers == Buffers::Private {
        let mut buffer = vec![GO_ON; bytes];
        windows(bytes, window, time, |last| {
            if last {
                buffer[0] = LAST;
            }
            send_window(world, &buffer, window)
        })
    } else {
        let mut buffer = mpi.port_buffer::<u8>(bytes)?;
        buffer.fill(GO_ON);
        windows(bytes, window, time, |last| {
            if last {
                buffer[0] = LAST;
            }
            send_window(world, &buffer, window)
        })
    }
}

fn send_window(world: &Communicator<'_>, buffer: &[u8], window: usize) -> Result<()> {
    // Nobody asks for a status: the scope waits for them all at its end.
    oxmpi::scope(|scope| {
        for _ in 0..window {
            drop(world.isend(scope, buffer, 1, PING)?);
        }
        Ok(())
    })?;
    world.recv(&mut [0u8], 1, ACKNOWLEDGEMENT)?;
    Ok(())
}

/// A pass over the data as an application would make it, by words.
fn sum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words
        .iter()
        .fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Windows both ways at once, GB/s of both directions together.
pub fn bidirectional(world: &Communicator<'_>, bytes: usize, time: Duration) -> Result<Vec<f64>> {
    let window = stream::window(bytes);
    let (mut out, mut into) = (vec![GO_ON; bytes], vec![0; bytes]);
    let peer = 1 - world.rank();
    let mut exchange = |last: bool| -> Result<bool> {
        if last {
            out[0] = LAST;
        }
        oxmpi::scope(|scope| {
            let sends = (0..window)
                .map(|_| world.isend(scope, &out, peer, PING))
                .collect::<Result<Vec<_>>>()?;
            for _ in 0..window {
                world.recv(&mut into, peer, PING)?;
            }
            oxmpi::wait_all(sends)?;
            Ok(())
        })?;
        Ok(into[0] == LAST)
    };
    if world.rank() == 1 {
        while !exchange(false)? {}
        return Ok(Vec::new());
    }
    windows(2 * bytes, window, time, |last| exchange(last).map(drop))
}

/// Windows of 64 messages from rank 0 to rank 1, million messages per second.
pub fn rate(world: &Communicator<'_>, bytes: usize, time: Duration) -> Result<Vec<f64>> {
    let found = posted_windows(world, bytes, RATE_WINDOW, time)?;
    // Messages per nanosecond.
    Ok(found.value.map(|rate| rate * 1000.0).into_iter().collect())
}

/// Windows from rank 0 to rank 1, which posts all receives of a window, each with a place of its
/// own: messages per nanosecond.
pub fn posted_windows(
    world: &Communicator<'_>,
    bytes: usize,
    window: usize,
    time: Duration,
) -> Result<Sample> {
    let mut sample = Sample::default();
    if world.rank() == 1 {
        let mut buffer = vec![0; bytes * window];
        loop {
            oxmpi::scope(|scope| {
                for slot in buffer.chunks_mut(bytes) {
                    drop(world.irecv(scope, slot, 0, PING)?);
                }
                Ok(())
            })?;
            world.send(&[0u8], 0, ACKNOWLEDGEMENT)?;
            sample.messages += window as u64;
            if buffer[0] == LAST {
                return Ok(sample);
            }
        }
    }
    let mut buffer = vec![GO_ON; bytes];
    // A "byte" here is a message.
    let found = windows(1, window, time, |last| {
        if last {
            buffer[0] = LAST;
        }
        send_window(world, &buffer, window)
    })?;
    sample.value = found.first().copied();
    Ok(sample)
}

/// Repeats a window until the time is over; the last one, told so, is not counted. Bytes per
/// nanosecond are GB/s.
fn windows(
    bytes: usize,
    window: usize,
    time: Duration,
    mut send: impl FnMut(bool) -> Result<()>,
) -> Result<Vec<f64>> {
    let mut rates = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time || rates.len() < 2 * WARM {
        let start = Instant::now();
        send(false)?;
        rates.push((window * bytes) as f64 / start.elapsed().as_nanos() as f64);
    }
    send(true)?;
    Ok(vec![median(&mut rates[WARM..])])
}

/// Latency while a queue of rank 1 is crowded with entries that do not match, ns.
pub fn crowded(
    world: &Communicator<'_>,
    crowd: Crowd,
    entries: usize,
    time: Duration,
) -> Result<Vec<f64>> {
    let found = match (crowd, world.rank()) {
        (Crowd::Posted, 1) => crowd_posted(world, entries, time),
        (Crowd::Unexpected, 0) => crowd_unexpected(world, entries, time),
        (_, _) => {
            world.barrier()?;
            let found = latency(world, 8, time)?;
            if crowd == Crowd::Unexpected {
                for _ in 0..entries {
                    world.recv(&mut [0u8], 0, CROWD)?;
                }
            }
            Ok(found)
        }
    }?;
    // Nobody leaves before the other has taken back what it posted: a receive from a rank that is
    // gone is an error.
    world.barrier()?;
    Ok(found)
}

fn crowd_posted(world: &Communicator<'_>, entries: usize, time: Duration) -> Result<Vec<f64>> {
    let mut buffers = vec![0u8; entries];
    oxmpi::scope(|scope| {
        let posted = buffers
            .chunks_mut(1)
            .map(|slot| world.irecv(scope, slot, 0, CROWD))
            .collect::<Result<Vec<_>>>()?;
        world.barrier()?;
        let found = latency(world, 8, time);
        for request in &posted {
            request.cancel();
        }
        oxmpi::wait_all(posted)?;
        found
    })
}

fn crowd_unexpected(world: &Communicator<'_>, entries: usize, time: Duration) -> Result<Vec<f64>> {
    oxmpi::scope(|scope| {
        let unasked = (0..entries)
            .map(|_| world.isend(scope, &[0u8], 1, CROWD))
            .collect::<Result<Vec<_>>>()?;
        world.barrier()?;
        let found = latency(world, 8, time);
        oxmpi::wait_all(unasked)?;
        found
    })
}
