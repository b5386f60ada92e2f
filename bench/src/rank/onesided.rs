//! One-sided operations between ranks 0 and 1, each beside what it must not be much slower than.
//!
//! Where the window's memory is mapped by both, a put that the other side sees is held against a
//! bare store that it sees, a fetch against a bare atomic addition on a word that both use. Where
//! it is not, both are held against a round trip of messages. Both halves are measured in one job,
//! in turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxmpi_core::any_request::AnyRequest;
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::Collective;
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::window::{Assertion, LockKind, Target, Window};
use oxmpi_core::{SendMode, Source, Tag};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};
use serde::{Deserialize, Serialize};

use super::wire::{Acquaintance, spread_over_cpus};
use crate::answer::Answer;
use crate::floor::median;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OneSided {
    /// 8 bytes put and flushed, ns; beside a bare store, or a round trip.
    Put,
    /// 8 bytes got and flushed, ns; beside a bare load, or a round trip.
    Get,
    /// 8 bytes added and fetched, ns; beside a bare atomic addition, or a round trip.
    Fetch,
    /// Lock, put of 8 bytes, unlock, ns; beside a microsecond.
    Locked,
    /// 1 MiB put and flushed, GB/s; beside memcpy, or a stream of messages.
    Long,
    /// 64 puts of 8 bytes and a flush, million puts per second; beside 64 messages.
    Rate,
    /// A fence on all ranks, µs; beside a barrier.
    Fence,
    /// 8 bytes put and flushed while the target computes, ns; beside the target waiting inside.
    Passive,
}

/// Operations between two looks at the clock.
const BATCH: u64 = 64;
/// Looks thrown away while caches and connections settle.
const WARM: usize = 3;
const LONG: usize = 1 << 20;
/// Tag of what the ranks tell each other about their CPUs, and room for it.
const WORD: i32 = 2;
const WORD_BYTES_MAX: usize = 64;
const WINDOW_BYTES: i64 = 4 << 20;
const NONE: Assertion = Assertion {
    no_check: false,
    no_store: false,
    no_put: false,
    no_precede: false,
    no_succeed: false,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The figure and what stands beside it; only rank 0 has an answer.
pub fn measure(what: OneSided, time: Duration) -> Outcome<Option<Answer>> {
    // SAFETY: a rank of a benchmark has one thread.
    let process = unsafe { Process::join(Threads::One) }?;
    let comm = Arc::new(process.world());
    let window = Window::allocate(&comm, WINDOW_BYTES, 1, None)?;
    let mut side = Side {
        other: 1 - comm.rank().min(1),
        is_direct: !window
            .shared_query(Some(1 - comm.rank().min(1)))?
            .base
            .is_null(),
        long: Datatype::named(Basic::Int64),
        byte: Datatype::named(Basic::Byte),
        comm,
        window,
        time,
    };
    if !side.is_direct && side.comm.size() == 2 {
        spread_over_cpus(&mut side)?;
    }
    side.window.lock_all(NONE)?;
    let values = side.both(what)?;
    side.window.free()?;
    let answer = (side.comm.rank() == 0).then(|| Answer {
        values: values.into(),
        transport: process.transport().to_string(),
        learned: Vec::new(),
    });
    drop(side);
    process.finalize();
    Ok(answer)
}

struct Side {
    comm: Arc<Comm>,
    window: Window,
    other: u32,
    is_direct: bool,
    long: Datatype,
    byte: Datatype,
    time: Duration,
}

fn wait_all(requests: impl IntoIterator<Item = AnyRequest>) -> Outcome<()> {
    for mut request in requests {
        request.wait()?;
    }
    Ok(())
}

impl Acquaintance for Side {
    fn rank(&self) -> u32 {
        self.comm.rank()
    }

    fn host(&self) -> String {
        format!("the host of rank {}", self.comm.rank())
    }

    fn tell(&mut self, bytes: &[u8]) -> Outcome<()> {
        let mut bytes = bytes.to_vec();
        let mode = SendMode::Standard;
        let to = Some(self.other);
        Ok(self.comm.send_buffer(&raw(&mut bytes), to, WORD, mode)?)
    }

    fn hear(&mut self) -> Outcome<Vec<u8>> {
        let mut bytes = vec![0; WORD_BYTES_MAX];
        let source = Some(Source::Rank(self.other));
        let status = self
            .comm
            .recv_buffer(&raw(&mut bytes), source, Tag::Is(WORD))?;
        bytes.truncate(status.bytes as usize);
        Ok(bytes)
    }
}

fn raw(bytes: &mut [u8]) -> Buffer {
    // SAFETY: the bytes outlive the operation that uses them.
    unsafe { Buffer::raw(bytes.as_mut_ptr(), bytes.len() as u64) }
}

impl Side {
    fn both(&mut self, what: OneSided) -> Outcome<[f64; 2]> {
        let both = match (what, self.is_direct) {
            (OneSided::Put, true) => [self.hop(Side::put_word)?, self.hop(Side::store_word)?],
            (OneSided::Get, true) => [self.look(Side::get_word)?, self.look(Side::load_word)?],
            (OneSided::Fetch, true) => [self.crowd(Side::fetch)?, self.crowd(Side::add)?],
            (OneSided::Put, false) => [self.alone(|side| side.put_word(1))?, self.round_trip()?],
            (OneSided::Get, false) => [
                self.alone(|side| side.get_word().map(drop))?,
                self.round_trip()?,
            ],
            (OneSided::Fetch, false) => [self.alone(Side::fetch)?, self.round_trip()?],
            (OneSided::Locked, _) => {
                self.window.unlock_all()?;
                let found = self.alone(Side::locked_put)?;
                self.window.lock_all(NONE)?;
                [found, 1000.0]
            }
            (OneSided::Long, _) => self.long_puts()?,
            (OneSided::Rate, _) => {
                let puts = self.alone(Side::puts)?;
                let messages = self.messages()?;
                [64e3 / puts, 64e3 / messages]
            }
            (OneSided::Fence, _) => {
                self.window.unlock_all()?;
                let fence = self.together(|side| Ok(side.window.fence(NONE)?))?;
                let barrier = self.together(Side::barrier)?;
                return Ok([fence / 1e3, barrier / 1e3]);
            }
            (OneSided::Passive, _) => self.passive()?,
        };
        self.window.unlock_all()?;
        Ok(both)
    }

    fn barrier(&self) -> Outcome<()> {
        Ok(self.comm.collective(Collective::Barrier)?)
    }

    fn is_first(&self) -> bool {
        self.comm.rank() == 0
    }

    fn target<'t>(&self, displacement: i64, count: u64, datatype: &'t Datatype) -> Target<'t> {
        Target {
            rank: Some(self.other),
            displacement,
            count,
            datatype,
        }
    }

    /// A word of a rank's memory, as both map it.
    fn word(&self, rank: u32, at: usize) -> Outcome<&AtomicU64> {
        let base = self.window.shared_query(Some(rank))?.base;
        // SAFETY: inside the window, aligned, and mapped for as long as the window is borrowed.
        Ok(unsafe { AtomicU64::from_ptr(base.wrapping_add(at).cast()) })
    }

    fn put_word(&self, value: u64) -> Outcome<()> {
        self.put_word_at(0, value)
    }

    fn put_word_at(&self, at: usize, value: u64) -> Outcome<()> {
        let mut value = value.to_ne_bytes();
        let target = self.target(at as i64, 1, &self.long);
        self.window.put(&raw(&mut value), &target)?;
        Ok(self.window.flush(Some(self.other))?)
    }

    fn store_word(&self, value: u64) -> Outcome<()> {
        self.word(self.other, 0)?.store(value, Ordering::SeqCst);
        Ok(())
    }

    fn get_word(&self) -> Outcome<u64> {
        let mut value = [0; 8];
        let target = self.target(0, 1, &self.long);
        self.window.get(&raw(&mut value), &target)?;
        self.window.flush(Some(self.other))?;
        Ok(u64::from_ne_bytes(value))
    }

    fn load_word(&self) -> Outcome<u64> {
        Ok(self.word(self.other, 0)?.load(Ordering::SeqCst))
    }

    fn fetch(&self) -> Outcome<()> {
        let (one, mut old) = (1_u64, 0_u64);
        let mut target = self.target(64, 1, &self.long);
        target.rank = Some(1);
        let (one, into) = ((&raw const one).cast(), (&raw mut old).cast());
        // SAFETY: the operation is completed before they go.
        unsafe {
            let sum = Op::Predefined(Predefined::Sum);
            self.window.fetch_and_op(one, into, &target, &sum)?;
        }
        Ok(self.window.flush(Some(1))?)
    }

    fn add(&self) -> Outcome<()> {
        self.word(1, 64)?.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn locked_put(&self) -> Outcome<()> {
        let mut value = [1; 8];
        let target = self.target(0, 1, &self.long);
        self.window
            .lock(LockKind::Exclusive, Some(self.other), NONE)?;
        self.window.put(&raw(&mut value), &target)?;
        Ok(self.window.unlock(Some(self.other))?)
    }

    fn puts(&self) -> Outcome<()> {
        let mut value = [1; 8];
        for at in 0..64 {
            let target = self.target(8 * at, 1, &self.long);
            self.window.put(&raw(&mut value), &target)?;
        }
        Ok(self.window.flush(Some(self.other))?)
    }

    /// The median over the looks at the clock of one operation's time, ns.
    fn timed(&self, batch: u64, mut operation: impl FnMut(u64) -> Outcome<()>) -> Outcome<f64> {
        let mut found = Vec::new();
        let begin = Instant::now();
        let mut count = 0;
        while begin.elapsed() < self.time || found.len() < 2 * WARM {
            let start = Instant::now();
            for _ in 0..batch {
                count += 1;
                operation(count)?;
            }
            found.push(start.elapsed().as_nanos() as f64 / batch as f64);
        }
        Ok(median(&mut found[WARM..]))
    }

    /// Rank 0 works, the others wait inside the library.
    fn alone(&self, operation: impl Fn(&Side) -> Outcome<()>) -> Outcome<f64> {
        self.barrier()?;
        let found = match self.is_first() {
            true => self.timed(BATCH / 4, |_| operation(self))?,
            false => 0.0,
        };
        self.barrier()?;
        Ok(found)
    }

    /// All ranks make the same calls; rank 0 says when it is over.
    fn together(&self, operation: impl Fn(&Side) -> Outcome<()>) -> Outcome<f64> {
        const ROUNDS: u32 = 400;
        self.barrier()?;
        for _ in 0..ROUNDS / 4 {
            operation(self)?;
        }
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            operation(self)?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS))
    }

    /// Both ranks write to each other in turn; one way, ns.
    fn hop(&self, write: impl Fn(&Side, u64) -> Outcome<()>) -> Outcome<f64> {
        let own = self.word(self.comm.rank(), 0)?;
        own.store(0, Ordering::SeqCst);
        self.barrier()?;
        if self.is_first() {
            let found = self.timed(BATCH, |count| {
                write(self, count)?;
                while own.load(Ordering::Acquire) != count {
                    std::hint::spin_loop();
                }
                Ok(())
            })?;
            write(self, u64::MAX)?;
            self.barrier()?;
            return Ok(found / 2.0);
        }
        let mut last = 0;
        while last != u64::MAX {
            let seen = own.load(Ordering::Acquire);
            if seen != last {
                last = seen;
                write(self, seen)?;
            }
            std::hint::spin_loop();
        }
        self.barrier()?;
        Ok(0.0)
    }

    /// Both ranks write their own word in turn and read the other's until it changes; one way, ns.
    fn look(&self, read: impl Fn(&Side) -> Outcome<u64>) -> Outcome<f64> {
        let own = self.word(self.comm.rank(), 0)?;
        own.store(0, Ordering::SeqCst);
        self.barrier()?;
        if self.is_first() {
            let found = self.timed(BATCH, |count| {
                own.store(count, Ordering::Release);
                while read(self)? != count {}
                Ok(())
            })?;
            own.store(u64::MAX, Ordering::Release);
            self.barrier()?;
            return Ok(found / 2.0);
        }
        let mut last = 0;
        while last != u64::MAX {
            let seen = read(self)?;
            if seen != last {
                last = seen;
                own.store(seen, Ordering::Release);
            }
        }
        self.barrier()?;
        Ok(0.0)
    }

    /// Both ranks change one word as often as they can; one change of rank 0, ns.
    fn crowd(&self, change: impl Fn(&Side) -> Outcome<()>) -> Outcome<f64> {
        let over = self.word(0, 128)?;
        over.store(0, Ordering::SeqCst);
        self.barrier()?;
        let mut found = 0.0;
        if self.is_first() {
            found = self.timed(BATCH, |_| change(self))?;
            over.store(1, Ordering::SeqCst);
        } else {
            while over.load(Ordering::Relaxed) == 0 {
                change(self)?;
            }
        }
        self.barrier()?;
        Ok(found)
    }

    /// A message of 8 bytes and one back, ns.
    fn round_trip(&self) -> Outcome<f64> {
        self.exchange(8, 1)
    }

    /// 64 messages of 8 bytes and one back, ns.
    fn messages(&self) -> Outcome<f64> {
        self.exchange(8, 64)
    }

    /// So many messages to rank 1, which has receives for all of them, and one back, ns.
    fn exchange(&self, bytes: usize, count: usize) -> Outcome<f64> {
        const GO: i32 = 1;
        let mut data = vec![0; bytes * count];
        let mut word = [0; 8];
        let send = |data: &mut [u8], to: u32| {
            let mode = SendMode::Standard;
            self.comm.isend_buffer(&raw(data), Some(to), GO, mode)
        };
        let receive = |data: &mut [u8], from: u32| {
            let source = Some(Source::Rank(from));
            self.comm.irecv_buffer(&raw(data), source, Tag::Is(GO))
        };
        self.barrier()?;
        let mut found = 0.0;
        if self.is_first() {
            let mut window = |word: &mut [u8; 8]| -> Outcome<()> {
                let answer = receive(word, 1)?;
                let sent = data.chunks_mut(bytes).map(|part| send(part, 1));
                wait_all(sent.collect::<Result<Vec<_>, _>>()?)?;
                wait_all([answer])
            };
            found = self.timed(8, |_| window(&mut word))?;
            data.fill(1);
            let sent = data.chunks_mut(bytes).map(|part| send(part, 1));
            wait_all(sent.collect::<Result<Vec<_>, _>>()?)?;
            wait_all([receive(&mut word, 1)?])?;
        } else if self.comm.rank() == 1 {
            while data[0] == 0 {
                let parts = data.chunks_mut(bytes).map(|part| receive(part, 0));
                wait_all(parts.collect::<Result<Vec<_>, _>>()?)?;
                wait_all([send(&mut word, 0)?])?;
            }
        }
        self.barrier()?;
        Ok(found)
    }

    /// 1 MiB again and again, GB/s.
    fn long_puts(&self) -> Outcome<[f64; 2]> {
        const DEPTH: usize = 4;
        let data = vec![1; LONG];
        let put = self.alone(|side| {
            let (address, bytes) = (data.as_ptr().cast_mut(), LONG as u64);
            for at in 0..DEPTH {
                // SAFETY: the data outlives the flush, and is only read.
                let origin = unsafe { Buffer::raw(address, bytes) };
                let target = side.target((at * LONG) as i64, bytes, &side.byte);
                side.window.put(&origin, &target)?;
            }
            Ok(side.window.flush(Some(side.other))?)
        })?;
        let floor = if self.is_direct {
            let place = self.window.shared_query(Some(self.other))?.base;
            self.alone(|_| {
                for at in 0..DEPTH {
                    let place = place.wrapping_add(at * LONG);
                    // SAFETY: the window is as long, and used by nobody else now.
                    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place, LONG) };
                    std::hint::black_box(place);
                }
                Ok(())
            })?
        } else {
            self.exchange(LONG, DEPTH)?
        };
        let rate = |time: f64| LONG as f64 * DEPTH as f64 / time;
        Ok([rate(put), rate(floor)])
    }

    /// Puts to a rank that computes, and to one that waits inside the library. What the computing
    /// rank looks at lies apart from what is put: sharing a cache line would be measured too.
    fn passive(&self) -> Outcome<[f64; 2]> {
        const END: usize = 4096;
        let waiting = self.alone(|side| side.put_word(1))?;
        // SAFETY: this rank's memory, which the other one writes.
        let end = unsafe { AtomicU64::from_ptr(self.window.base().wrapping_add(END).cast()) };
        end.store(0, Ordering::SeqCst);
        self.barrier()?;
        let mut computing = 0.0;
        if self.is_first() {
            // The driver of the target takes over within a few milliseconds.
            std::thread::sleep(Duration::from_millis(20));
            computing = self.timed(BATCH / 4, |_| self.put_word(1))?;
            self.put_word_at(END, 1)?;
        } else {
            while end.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
            }
        }
        self.barrier()?;
        Ok([computing, waiting])
    }
}
