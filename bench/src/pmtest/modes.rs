//! `oxmpi pmtest --modes`: one link over mapped memory and over system calls.
//!
//! The user-level messaging paper compares three modes: both directions in user space, one of them,
//! none. Here two threads have an endpoint of the PM protocol each, on a CPU of their own, and
//! exchange messages by a [`Passage`]; only what its directions are differs. What is counted as
//! copied is each byte of a frame that a device or the kernel has copied, the copy to the
//! receiver's buffer, and that of short messages which the protocol keeps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::JobKey;
use oxmpi_net::pm::{COPIED_BYTES_MAX, Pm};
use oxmpi_net::transport::{Event, Sent};

use super::passage::{Passage, Spent, Way};
use crate::figure::{Row, Unit, size_name};
use crate::floor::pair::{Cpus, pin};
use crate::rank::channel::protocol::{endpoint, head};
use crate::session::Session;

const NAME: &str = "modes";

/// The paper's range.
const SIZES: [usize; 7] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// Round trips between two looks at the clock.
const BATCH: u64 = 50;
/// Nothing takes so long; a guard against waiting for ever.
const SILENCE: Duration = Duration::from_secs(120);

/// Which directions are mapped: there, and back.
const MODES: [(&str, [bool; 2]); 3] = [
    ("user-user", [true, true]),
    ("user-kernel", [true, false]),
    ("kernel-kernel", [false, false]),
];

/// Half a round trip: ns, bytes copied, system calls.
type Found = [f64; 3];

/// All modes and sizes.
pub fn run(session: &mut Session) -> Vec<Row> {
    let repetitions = session.repetitions;
    session.expect((repetitions * SIZES.len()) as u64);
    session.announce(NAME, repetitions * SIZES.len());
    if session.cpus.shared() {
        let note = "both sides share a CPU and yield it: times are hand-offs".to_owned();
        session.notes.push(note);
    }
    let mut rows = Vec::new();
    for bytes in SIZES {
        let mut found: [Vec<Found>; MODES.len()] = Default::default();
        for round in 0..repetitions {
            for turn in 0..MODES.len() {
                let mode = (round + turn) % MODES.len();
                match measure(session.cpus, MODES[mode].1, bytes, session.repetition()) {
                    Ok(one) => found[mode].push(one),
                    Err(error) => {
                        let what = format!("{NAME}, {}: {error}", MODES[mode].0);
                        session.notes.push(what);
                        session.failures += 1;
                        return rows;
                    }
                }
            }
            session.step();
        }
        let column = |mode: usize, index: usize| -> Vec<f64> {
            found[mode].iter().map(|one| one[index]).collect()
        };
        let slowest = column(MODES.len() - 1, 0);
        for (mode, (name, _)) in MODES.iter().enumerate() {
            let of = |what: &str| format!("{}, {name}{what}", size_name(bytes));
            let times = column(mode, 0);
            rows.push(
                Row::new(NAME, of(""), Unit::Nanoseconds, &times)
                    .on_floor("kernel-kernel", &times, &slowest)
                    .plotted(*name, "bytes", bytes as f64),
            );
            let copied: Vec<f64> = column(mode, 1)
                .iter()
                .map(|all| all / bytes as f64)
                .collect();
            rows.push(Row::new(
                NAME,
                of(": bytes copied per byte"),
                Unit::Times,
                &copied,
            ));
            let calls = column(mode, 2);
            rows.push(Row::new(
                NAME,
                of(": calls that moved a frame"),
                Unit::Calls,
                &calls,
            ));
        }
    }
    rows
}

/// A side of the exchange.
struct Side {
    pm: Pm,
    node: u32,
    message: Vec<u8>,
    buffer: Vec<u8>,
    /// Bytes that this side has copied to its buffer, or kept.
    copied: u64,
    yields: bool,
}

impl Side {
    fn new(
        node: u32,
        passage: Passage,
        key: &JobKey,
        bytes: usize,
        yields: bool,
    ) -> io::Result<Side> {
        Ok(Side {
            pm: endpoint(node, Box::new(passage), key)?,
            node,
            message: vec![node as u8 + 1; bytes],
            buffer: vec![0; bytes],
            copied: 0,
            yields,
        })
    }

    fn send(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let (head, used) = head(self.node, self.message.len());
        let (to, at, bytes) = (1 - self.node, self.message.as_ptr(), self.message.len());
        // SAFETY: the message is not changed, and outlives the endpoint, which is dropped first.
        while unsafe { self.pm.send(to, &head[..used], at, bytes, Some(0)) } == Sent::Later {
            self.look(stop)?;
        }
        if bytes <= COPIED_BYTES_MAX {
            self.copied += bytes as u64;
        }
        Ok(())
    }

    /// A look that is to bring no message.
    fn look(&mut self, stop: &AtomicBool) -> io::Result<()> {
        match self.pm.poll() {
            None => self.pause(stop),
            Some(Event::Released { .. }) => Ok(()),
            Some(other) => Err(io::Error::other(format!(
                "{other:?} in the middle of a send"
            ))),
        }
    }

    fn pause(&self, stop: &AtomicBool) -> io::Result<()> {
        if self.yields {
            thread::yield_now();
        }
        match stop.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }

    fn receive(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut arrived = None;
        let mut begun = None;
        let mut looks = 0u32;
        while arrived != Some(self.buffer.len()) {
            match self.pm.poll() {
                Some(Event::Packet { payload, .. }) => {
                    assert_eq!(payload, self.buffer.len());
                    arrived = Some(self.take(0));
                }
                Some(Event::Payload { .. }) => {
                    let before = arrived.unwrap_or(0);
                    arrived = Some(before + self.take(before));
                }
                Some(Event::Released { .. }) => {}
                Some(other) => return Err(io::Error::other(format!("{other:?}"))),
                None => {
                    self.pause(stop)?;
                    looks = looks.wrapping_add(1);
                    if looks.is_multiple_of(1 << 20)
                        && begun.get_or_insert_with(Instant::now).elapsed() > SILENCE
                    {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
            }
        }
        assert_eq!(self.buffer[self.buffer.len() - 1], 2 - self.node as u8);
        Ok(())
    }

    /// Copies what is at hand to its place; how much that was.
    fn take(&mut self, place: usize) -> usize {
        let at_hand = self.pm.at_hand();
        let bytes = at_hand.len();
        self.buffer[place..place + bytes].copy_from_slice(at_hand);
        self.pm.pass(bytes);
        self.copied += bytes as u64;
        bytes
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // What the endpoint may still read is no longer there afterwards.
        self.pm.close(false);
    }
}

fn measure(cpus: Cpus, mapped: [bool; 2], bytes: usize, time: Duration) -> io::Result<Found> {
    let way = |mapped: bool| match mapped {
        true => Way::mapped().map_err(io::Error::other),
        false => Way::calls(),
    };
    let (there, back) = (way(mapped[0])?, way(mapped[1])?);
    let spent = Arc::new(Spent::default());
    let key = JobKey::random().map_err(io::Error::other)?;
    let this = Passage::new(there.clone(), back.clone(), Arc::clone(&spent));
    let that = Passage::new(back, there, Arc::clone(&spent));
    let (stop, yields) = (AtomicBool::new(false), cpus.shared());
    thread::scope(|scope| {
        let (stop, key) = (&stop, &key);
        let peer = scope.spawn(move || -> io::Result<(Side, u64)> {
            pin(cpus.peer).map_err(io::Error::other)?;
            let mut side = Side::new(1, that, key, bytes, yields)?;
            while side.receive(stop).is_ok() {
                side.send(stop)?;
            }
            let copied = side.copied;
            Ok((side, copied))
        });
        let timed = scope.spawn(move || -> io::Result<(Side, u64, Duration)> {
            pin(cpus.this).map_err(io::Error::other)?;
            let mut side = Side::new(0, this, key, bytes, yields)?;
            let mut rounds = 0;
            let begun = Instant::now();
            while begun.elapsed() < time {
                for _ in 0..BATCH {
                    side.send(stop)?;
                    side.receive(stop)?;
                }
                rounds += BATCH;
            }
            Ok((side, rounds, begun.elapsed()))
        });
        let timed = timed.join();
        stop.store(true, Ordering::Relaxed);
        let silent = |_| io::Error::other("a side of the exchange panicked");
        let (_, copied_there) = peer.join().map_err(silent)??;
        let (side, rounds, elapsed) = timed.map_err(silent)??;
        let messages = 2.0 * rounds as f64;
        let copied = spent.copied.load(Ordering::Relaxed) + side.copied + copied_there;
        Ok([
            elapsed.as_nanos() as f64 / messages,
            copied as f64 / messages,
            spent.calls.load(Ordering::Relaxed) as f64 / messages,
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mode carries messages of one frame and of many; what is mapped copies less, and needs
    /// no call at all if both directions are.
    #[test]
    fn every_mode_carries_every_size() {
        let cpus = Cpus::usable();
        for bytes in [16, 64 << 10] {
            let found =
                MODES.map(|(_, mapped)| measure(cpus, mapped, bytes, Duration::from_millis(5)));
            let [user, mixed, kernel] = found.map(|one| one.unwrap());
            assert_eq!(user[2], 0.0);
            assert!(mixed[2] > 0.0 && kernel[2] > mixed[2]);
            assert!(user[1] < mixed[1] && mixed[1] < kernel[1]);
            assert!(user[1] >= bytes as f64);
        }
    }
}
