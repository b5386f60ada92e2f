//! A device that does to frames what bad networks do: loss, duplication, reordering, corruption and
//! delay, by seed. For tests, and for people who want to see their program on a bad network.
//!
//! Faults happen on the way out, between the protocol and the device inside; each process decides
//! over its own frames. Frames that nothing happens to are passed on as they came, uncopied and in
//! their batches. Held frames leave when the device is next looked at after their time;
//! [`Device::nap_max`] tells a sleeper when that should be.

mod chance;
mod wanted;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::part::Part;
use super::{Address, Batch, Counters, Device};
use chance::{Chance, Countdown};
pub use wanted::{DELAY_MAX, Faults, FaultsError};

/// Most frames that may overtake a reordered one: enough to look like a loss to go-back-N, few
/// enough to be one of many.
const OVERTAKERS_MAX: usize = 8;

/// How long a reordered frame waits for others to overtake it; after that it was merely late. Below
/// the shortest time-out of `link`, so that it is not taken for lost.
const OVERTAKING_MAX: Duration = Duration::from_micros(500);

/// Frames that wait to be overtaken at a time; more would be delay rather than reordering.
const OVERTAKEN_MAX: usize = 16;

/// Frames held at a time: at 1500 bytes and a delay of 10 ms still 600 MB/s. A sender that comes
/// with more finds the device full.
const HELD_MAX: usize = 4096;

/// A frame that leaves later.
struct Held {
    to: Address,
    bytes: Vec<u8>,
    due: Instant,
    /// It leaves earlier when so many frames have been accepted.
    overtaken_at: u64,
}

/// Faults around a device.
pub struct Fault {
    device: Box<dyn Device>,
    faults: Faults,
    loss: Countdown,
    duplicate: Countdown,
    reorder: Countdown,
    corrupt: Countdown,
    /// Which bit is turned over.
    bits: Chance,
    /// How many frames overtake.
    overtakers: Chance,
    /// Frames that the caller has got rid of.
    accepted: u64,
    /// Frames that wait to be overtaken.
    overtaken: Vec<Held>,
    /// Frames on the way, by the time they are due.
    outbox: VecDeque<Held>,
    /// Memory of frames that have left.
    spare: Vec<Vec<u8>>,
    part: Part,
    struck: u64,
}

impl Fault {
    /// Puts faults around a device. `node` is this process: nodes with the same seed suffer the
    /// same amount, but not at the same frames.
    pub fn new(device: Box<dyn Device>, faults: Faults, node: u32) -> Fault {
        let mut seeds = Chance::new(faults.seed ^ (u64::from(node) << 32 | u64::from(node)));
        let mut chance = || Chance::new(seeds.any());
        Fault {
            device,
            loss: Countdown::new(faults.loss, chance()),
            duplicate: Countdown::new(faults.duplicate, chance()),
            reorder: Countdown::new(faults.reorder, chance()),
            corrupt: Countdown::new(faults.corrupt, chance()),
            bits: chance(),
            overtakers: chance(),
            faults,
            accepted: 0,
            overtaken: Vec::new(),
            outbox: VecDeque::new(),
            spare: Vec::new(),
            part: Part::default(),
            struck: 0,
        }
    }

    /// How many of the next frames nothing happens to, and no held frame wants to leave between.
    fn untouched(&self) -> u64 {
        if !self.faults.delay.is_zero() {
            return 0;
        }
        let overtaken_at = self.overtaken.iter().map(|held| held.overtaken_at).min();
        [&self.loss, &self.duplicate, &self.reorder, &self.corrupt]
            .into_iter()
            .map(Countdown::left)
            .chain(overtaken_at.map(|at| at.saturating_sub(self.accepted)))
            .min()
            .expect("there are four countdowns")
    }

    fn pass(&mut self, frames: u64) {
        for countdown in [
            &mut self.loss,
            &mut self.duplicate,
            &mut self.reorder,
            &mut self.corrupt,
        ] {
            countdown.pass(frames);
        }
        self.accepted += frames;
    }

    /// Lets happen to one frame what must. False if the device inside is full: then nothing has
    /// happened, and the frame will meet the same fate when it comes again.
    fn afflict(&mut self, to: &Address, batch: &Batch, frame: usize) -> io::Result<bool> {
        let lost = self.loss.left() == 0;
        let doubled = self.duplicate.left() == 0;
        let reordered = self.reorder.left() == 0 && self.overtaken.len() < OVERTAKEN_MAX;
        let corrupted = self.corrupt.left() == 0 && batch.frame_bytes(frame) > 0;
        if !lost {
            let bytes = self.copy(batch, frame, corrupted);
            let twin = doubled.then(|| {
                let mut twin = self.spare.pop().unwrap_or_default();
                twin.clone_from(&bytes);
                twin
            });
            if reordered {
                let overtakers = 1 + self.overtakers.below(OVERTAKERS_MAX) as u64;
                self.overtaken.push(Held {
                    to: *to,
                    bytes,
                    due: Instant::now() + OVERTAKING_MAX,
                    // This frame itself is about to be counted.
                    overtaken_at: self.accepted + 1 + overtakers,
                });
            } else if !self.leave(to, bytes)? {
                self.spare.extend(twin);
                return Ok(false);
            }
            if let Some(twin) = twin {
                self.leave(to, twin)?;
            }
        }
        self.accepted += 1;
        self.struck += u64::from(!self.faults.delay.is_zero());
        for countdown in [
            &mut self.loss,
            &mut self.duplicate,
            &mut self.reorder,
            &mut self.corrupt,
        ] {
            self.struck += u64::from(countdown.strike());
        }
        Ok(true)
    }

    fn copy(&mut self, batch: &Batch, frame: usize, corrupted: bool) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        batch.copy_frame(frame, &mut bytes);
        if corrupted {
            let bit = self.bits.below(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes
    }

    /// Gives a frame to the network, which may be a slow one. False if the device inside is full.
    fn leave(&mut self, to: &Address, bytes: Vec<u8>) -> io::Result<bool> {
        if !self.faults.delay.is_zero() {
            self.outbox.push_back(Held {
                to: *to,
                bytes,
                due: Instant::now() + self.faults.delay,
                overtaken_at: u64::MAX,
            });
            return Ok(true);
        }
        let device = &mut self.device;
        let taken = self
            .part
            .whole(std::iter::once(&bytes[..]), |batch| device.send(to, batch));
        self.spare.push(bytes);
        taken.map(|taken| taken > 0)
    }

    fn is_holding(&self) -> bool {
        !self.outbox.is_empty() || !self.overtaken.is_empty()
    }

    /// Lets frames go whose time has come.
    fn release(&mut self, now: Instant) {
        let accepted = self.accepted;
        let late = |held: &mut Held| held.overtaken_at <= accepted || held.due <= now;
        for mut held in self.overtaken.extract_if(.., late) {
            held.due = now + self.faults.delay;
            self.outbox.push_back(held);
        }
        while let Some(run) = self.due_run(now) {
            let (to, device) = (self.outbox[0].to, &mut self.device);
            let frames = self.outbox.iter().take(run).map(|held| &held.bytes[..]);
            // Who sent these frames has long been told that they left: a network that does not take
            // them has lost them.
            let taken = self
                .part
                .whole(frames, |batch| device.send(&to, batch))
                .unwrap_or(run);
            let left = self.outbox.drain(..taken).map(|held| held.bytes);
            self.spare.extend(left);
            if taken < run {
                break;
            }
        }
    }

    /// How many frames at the head of the outbox are due and may leave as one batch.
    fn due_run(&self, now: Instant) -> Option<usize> {
        let first = self.outbox.front().filter(|held| held.due <= now)?;
        let (frames_max, bytes_max) = self.device.batch_max();
        let mut bytes = 0;
        let run = self
            .outbox
            .iter()
            .take(frames_max.max(1))
            .take_while(|held| {
                bytes += held.bytes.len();
                held.due <= now && held.to == first.to && bytes <= bytes_max
            })
            .count();
        Some(run.max(1))
    }
}

impl Drop for Fault {
    /// What was on its way arrives although its sender is gone; here it arrives early.
    fn drop(&mut self) {
        self.outbox.extend(self.overtaken.drain(..));
        let now = Instant::now();
        for held in &mut self.outbox {
            held.due = now;
        }
        self.release(now);
    }
}

impl Device for Fault {
    fn describe(&self) -> String {
        format!("{} with faults {}", self.device.describe(), self.faults)
    }

    fn frame_bytes_max(&self) -> usize {
        self.device.frame_bytes_max()
    }

    fn batch_max(&self) -> (usize, usize) {
        self.device.batch_max()
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        if self.is_holding() {
            self.release(Instant::now());
        }
        let mut begin = 0;
        while begin < batch.len() {
            let rest = batch.len() - begin;
            let run = usize::try_from(self.untouched()).map_or(rest, |run| run.min(rest));
            if run > 0 {
                let (part, device) = (&mut self.part, &mut self.device);
                let taken = part.of(batch, begin, begin + run, |part| device.send(to, part))?;
                self.pass(taken as u64);
                begin += taken;
                if taken < run {
                    break;
                }
            } else {
                // A frame may become two.
                if self.outbox.len() + 2 > HELD_MAX || !self.afflict(to, batch, begin)? {
                    break;
                }
                begin += 1;
            }
            if !self.overtaken.is_empty() {
                self.release(Instant::now());
            }
        }
        Ok(begin)
    }

    fn poll(&mut self) -> bool {
        if self.is_holding() {
            self.release(Instant::now());
        }
        self.device.poll()
    }

    fn frame(&self) -> &[u8] {
        self.device.frame()
    }

    fn sender(&self) -> Address {
        self.device.sender()
    }

    fn backlog(&self, high: usize) -> usize {
        self.device.backlog(high)
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn fd(&self) -> RawFd {
        self.device.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        if self.is_holding() {
            self.release(Instant::now());
        }
        self.device.prepare_sleep()
    }

    fn nap_max(&self) -> Option<Duration> {
        let due = self.outbox.front().map(|held| held.due);
        let earliest = self.overtaken.iter().map(|held| held.due).chain(due).min();
        let ours = earliest.map(|due| due.saturating_duration_since(Instant::now()));
        ours.into_iter().chain(self.device.nap_max()).min()
    }

    fn learn(&mut self, addresses: &[Address]) {
        self.device.learn(addresses);
    }

    fn refused(&mut self) -> Option<Address> {
        self.device.refused()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.device.counters();
        counters.faults += self.struck;
        counters
    }
}

#[cfg(test)]
mod tests;
