//! A ping-pong of scattered data: doubles with a gap of the same length behind each, 16 to an
//! element.
//!
//! Once as a datatype, once packed and unpacked by a loop of the program's own around contiguous
//! messages: what a datatype must not be much slower than.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::{SendMode, Source, Tag};
use oxmpi_datatypes::datatype::{Basic, Datatype};

use crate::answer::Answer;
use crate::floor::median;

/// Doubles of an element.
const DOUBLES: usize = 16;
/// From one double to the next, in doubles.
const STRIDE: usize = 2;
const PING: i32 = 1;
/// Batches thrown away while caches and rings settle.
const WARM: usize = 3;
/// Round trips between two looks at the clock.
const BATCH: u64 = 8;
/// First double of the last message.
const LAST: f64 = -1.0;

/// One way, ns; only rank 0 takes the time, and has an answer.
pub fn measure(
    bytes: usize,
    by_hand: bool,
    time: Duration,
) -> Result<Option<Answer>, Box<dyn std::error::Error>> {
    // SAFETY: a rank of a benchmark has one thread.
    let process = unsafe { Process::join(Threads::One) }?;
    let mut side = Side::new(Arc::new(process.world()), bytes, by_hand)?;
    let found = match side.comm.rank() {
        0 => Some(Answer {
            values: vec![side.ping(time)?],
            transport: process.transport().to_string(),
            learned: Vec::new(),
        }),
        1 => {
            side.pong()?;
            None
        }
        _ => None,
    };
    process.finalize();
    Ok(found)
}

struct Side {
    comm: Arc<Comm>,
    /// The scattered doubles.
    data: Vec<f64>,
    packed: Vec<f64>,
    datatype: Datatype,
    count: u64,
    by_hand: bool,
}

impl Side {
    fn new(
        comm: Arc<Comm>,
        bytes: usize,
        by_hand: bool,
    ) -> Result<Side, Box<dyn std::error::Error>> {
        let doubles = bytes / size_of::<f64>();
        let double = Datatype::named(Basic::Double);
        let rows = Datatype::vector(DOUBLES as i64, 1, STRIDE as i64, &double)?;
        // Elements follow each other at the distance of all their doubles.
        let extent = (DOUBLES * STRIDE * size_of::<f64>()) as i64;
        let datatype = Datatype::resized(&rows, 0, extent)?;
        datatype.commit();
        Ok(Side {
            comm,
            data: vec![1.0; doubles * STRIDE],
            packed: vec![0.0; doubles],
            datatype,
            count: (doubles / DOUBLES) as u64,
            by_hand,
        })
    }

    fn buffer(&mut self) -> Result<Buffer, oxmpi_core::buffer::BufferError> {
        if self.by_hand {
            let (address, bytes) = (self.packed.as_mut_ptr(), size_of_val(&self.packed[..]));
            // SAFETY: the packed doubles are this side's, and every message is waited for.
            return Ok(unsafe { Buffer::raw(address.cast(), bytes as u64) });
        }
        let address = self.data.as_mut_ptr().cast();
        // SAFETY: the doubles are this side's, and every message is waited for.
        unsafe { Buffer::new(address, self.count, &self.datatype) }
    }

    fn send(&mut self, to: u32) -> Result<(), Box<dyn std::error::Error>> {
        if self.by_hand {
            let pairs = self.data.chunks_exact(STRIDE);
            for (packed, pair) in self.packed.iter_mut().zip(pairs) {
                *packed = pair[0];
            }
        }
        let buffer = self.buffer()?;
        Ok(self
            .comm
            .send_buffer(&buffer, Some(to), PING, SendMode::Standard)?)
    }

    fn receive(&mut self, from: u32) -> Result<(), Box<dyn std::error::Error>> {
        let buffer = self.buffer()?;
        self.comm
            .recv_buffer(&buffer, Some(Source::Rank(from)), Tag::Is(PING))?;
        if self.by_hand {
            let pairs = self.data.chunks_exact_mut(STRIDE);
            for (packed, pair) in self.packed.iter().zip(pairs) {
                pair[0] = *packed;
            }
        }
        Ok(())
    }

    fn ping(&mut self, time: Duration) -> Result<f64, Box<dyn std::error::Error>> {
        let mut one_way = Vec::new();
        let began = Instant::now();
        while began.elapsed() < time || one_way.len() < 2 * WARM {
            let start = Instant::now();
            for _ in 0..BATCH {
                self.send(1)?;
                self.receive(1)?;
            }
            one_way.push(start.elapsed().as_nanos() as f64 / (2 * BATCH) as f64);
        }
        self.data[0] = LAST;
        self.send(1)?;
        self.receive(1)?;
        Ok(median(&mut one_way[WARM..]))
    }

    fn pong(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        loop {
            self.receive(0)?;
            self.send(0)?;
            if self.data[0] == LAST {
                return Ok(());
            }
        }
    }
}
