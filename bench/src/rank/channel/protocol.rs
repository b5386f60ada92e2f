//! The protocol alone: two endpoints in one process, joined by memory, so that neither the kernel
//! nor a wire takes part.
//!
//! What one way costs here is what OxMPI adds to the bare mechanism: the memory of messages, `link`
//! on both sides, the packet's head. The joint itself is measured without the endpoints, and
//! subtracted.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oxmpi_net::JobKey;
use oxmpi_net::device::{Address, Batch, Counters, Device};
use oxmpi_net::pm::{Options, Peer, Pm, Rail, RailKind};
use oxmpi_net::transport::Event;
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

use crate::floor::median;

/// Room for a frame: what an ordinary Ethernet takes.
const FRAME_BYTES: usize = 1500;
/// Round trips between two looks at the clock.
const BATCH: u32 = 200;
/// Batches thrown away.
const WARM: usize = 3;
/// Looks at an endpoint for one message before something must be wrong.
const LOOKS_MAX: u32 = 1000;

/// One direction.
type Pipe = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// One end of the joint.
struct Joint {
    out: Pipe,
    into: Pipe,
    frame: Vec<u8>,
    /// Frames to be filled again.
    spare: Vec<Vec<u8>>,
    counters: Counters,
}

impl Joint {
    fn pair() -> (Joint, Joint) {
        let (there, back) = (Pipe::default(), Pipe::default());
        let joint = |out: &Pipe, into: &Pipe| Joint {
            out: Arc::clone(out),
            into: Arc::clone(into),
            frame: Vec::new(),
            spare: Vec::new(),
            counters: Counters::default(),
        };
        (joint(&there, &back), joint(&back, &there))
    }

    fn put(&mut self, batch: &Batch) {
        for index in 0..batch.len() {
            let mut frame = self.spare.pop().unwrap_or_default();
            batch.copy_frame(index, &mut frame);
            // Nobody panics with the lock: both ends are in one thread.
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            out.push_back(frame);
        }
    }
}

impl Device for Joint {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES
    }

    fn batch_max(&self) -> (usize, usize) {
        (1, FRAME_BYTES)
    }

    fn send(&mut self, _: &Address, batch: &Batch) -> io::Result<usize> {
        self.put(batch);
        Ok(batch.len())
    }

    fn poll(&mut self) -> bool {
        let mut into = self.into.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(frame) = into.pop_front() else {
            return false;
        };
        self.spare.push(std::mem::replace(&mut self.frame, frame));
        true
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }

    fn sender(&self) -> Address {
        Address::Ethernet([2; 6])
    }

    fn backlog(&self, _: usize) -> usize {
        0
    }

    fn room(&self) -> usize {
        4096
    }

    fn fd(&self) -> RawFd {
        // Nobody sleeps here.
        -1
    }

    fn prepare_sleep(&mut self) -> bool {
        true
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

/// One way of a ping-pong of messages of `bytes`, at most a frame's worth, without the joint: ns.
pub fn one_way_ns(bytes: usize, time: Duration) -> io::Result<f64> {
    let (this, that) = Joint::pair();
    let key = JobKey::random().map_err(io::Error::other)?;
    let (mut this, mut that) = (
        endpoint(0, Box::new(this), &key)?,
        endpoint(1, Box::new(that), &key)?,
    );
    let message = vec![1; bytes.min(FRAME_BYTES / 2)];
    let mut round = || -> io::Result<()> {
        exchange(&mut this, &mut that, 1, &message)?;
        exchange(&mut that, &mut this, 0, &message)
    };
    let with_joint = measured(time, &mut round)?;
    Ok((with_joint - joint_ns(bytes, time)?).max(0.0))
}

/// An endpoint of two, at a device that leads to the other.
pub fn endpoint(node: u32, device: Box<dyn Device>, key: &JobKey) -> io::Result<Pm> {
    let finder = move |_: u32, _: usize| {
        Ok(Peer {
            addresses: vec![Address::Ethernet([2; 6])],
            channel: 1,
            name: node,
            salt: 0,
            frame_bytes_max: None,
            host: "memory".to_owned(),
            probe: Vec::new(),
        })
    };
    let rail = Rail {
        device,
        kind: RailKind::Ethernet,
    };
    Pm::new(
        node,
        2,
        key.clone(),
        vec![rail],
        vec![1],
        Box::new(finder),
        Options::default(),
    )
}

/// One message from one endpoint to the other.
#[inline]
fn exchange(from: &mut Pm, to: &mut Pm, receiver: u32, message: &[u8]) -> io::Result<()> {
    let (prefix, head) = head(1 - receiver, message.len());
    // SAFETY: the message is a slice that outlives the call, and is copied because it is not said
    // to last.
    unsafe {
        from.send(
            receiver,
            &prefix[..head],
            message.as_ptr(),
            message.len(),
            None,
        )
    };
    for _ in 0..LOOKS_MAX {
        if let Some(Event::Packet { payload, .. }) = to.poll() {
            std::hint::black_box(to.at_hand());
            to.pass(payload);
            return Ok(());
        }
        from.poll();
    }
    Err(io::Error::other(
        "a message between two endpoints joined by memory did not arrive",
    ))
}

/// The head of a message from `node`, and its length.
pub fn head(node: u32, bytes: usize) -> ([u8; PREFIX_BYTES], usize) {
    let mut prefix = [0; PREFIX_BYTES];
    let head = Repr {
        envelope: Envelope {
            context: 0,
            source: node,
            tag: 0,
            content: Content::new(bytes as u64, 0),
        },
        sequence: 0,
        credit: 0,
        kind: Kind::Eager,
    };
    let used = head.emit_prefix(&mut prefix);
    (prefix, used)
}

/// One way through the joint alone, with a frame as long as the message with its heads.
fn joint_ns(bytes: usize, time: Duration) -> io::Result<f64> {
    let (mut this, mut that) = Joint::pair();
    let content = vec![1; bytes.min(FRAME_BYTES / 2) + 80];
    let mut batch = Batch::new();
    let mut one = |from: &mut Joint, to: &mut Joint| {
        batch.clear();
        // SAFETY: the content outlives the batch.
        unsafe { batch.push(content.as_ptr(), content.len()) };
        batch.end_frame();
        from.put(&batch);
        // An endpoint looks once more, and finds nothing.
        while to.poll() {
            std::hint::black_box(to.frame());
        }
    };
    measured(time, &mut || {
        one(&mut this, &mut that);
        one(&mut that, &mut this);
        Ok(())
    })
}

/// Half of what a round takes, ns.
fn measured(time: Duration, round: &mut dyn FnMut() -> io::Result<()>) -> io::Result<f64> {
    let mut halves = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time / 2 || halves.len() < 2 * WARM {
        let start = Instant::now();
        for _ in 0..BATCH {
            round()?;
        }
        halves.push(start.elapsed().as_nanos() as f64 / f64::from(2 * BATCH));
    }
    Ok(median(&mut halves[WARM..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_alone_takes_some_time_and_not_much() {
        let ns = one_way_ns(8, Duration::from_millis(5)).unwrap();
        // Unoptimised, on a busy machine; what matters is that messages arrive at all.
        assert!(ns < 100_000.0, "{ns} ns");
    }
}
