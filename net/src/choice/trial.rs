//! Trying a device out before it is relied on: the first process of each host greets those of the hosts beside it, and waits for their greetings.
//!
//! Greetings are one-way on purpose. All processes have passed a fence, so everybody's device takes frames, and a greeting lies in the other's buffers until it looks; nobody
//! has to be awake to answer. Lost ones are made up for by sending several.

use std::time::{Duration, Instant};

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};

use super::Verdict;
use crate::device::{Address, Batch, Device};
use crate::key::JobKey;
use crate::pm::session;

/// How long greetings may take: neighbours come from a fence of the launcher, on busy machines one after the other.
const TRIAL_TIME: Duration = Duration::from_millis(500);
/// Greetings to each neighbour at once: with a third of all frames lost, one in 6 000 trials goes wrong.
const GREETINGS: usize = 8;
/// Time until they are repeated, for interfaces that need a while (address resolution, a bridge that learns).
const REPEAT_TIME: Duration = Duration::from_millis(20);
/// Between two looks.
const LOOK_TIME: Duration = Duration::from_micros(100);

/// A process of another host, as a device reaches it.
pub(super) struct Neighbour {
    pub rank: u32,
    pub addresses: Vec<Address>,
    pub channel: u16,
}

/// Greets the neighbours through a device of process `me`, and waits for their greetings.
pub(super) fn try_out(
    device: &mut dyn Device,
    rail: usize,
    channel: u16,
    me: u32,
    key: &JobKey,
    neighbours: &[Neighbour],
) -> Verdict {
    if neighbours.iter().any(|other| other.addresses.is_empty()) {
        return Verdict::NoPeer;
    }
    let mut awaited: Vec<u32> = neighbours.iter().map(|other| other.rank).collect();
    let begin = Instant::now();
    let mut greeted = None::<Instant>;
    while !awaited.is_empty() {
        if begin.elapsed() > TRIAL_TIME {
            return Verdict::Unheard;
        }
        if greeted.is_none_or(|last| last.elapsed() > REPEAT_TIME) {
            greet(device, rail, me, key, neighbours);
            greeted = Some(Instant::now());
        }
        let mut heard = false;
        while device.poll() {
            heard = true;
            if let Ok((frame, _)) = Frame::parse(device.frame())
                && frame.kind == Kind::Hello
                && (frame.to, frame.channel) == (me, channel)
                && frame.session == session(key, frame.from, me, rail)
            {
                awaited.retain(|rank| *rank != frame.from);
            }
        }
        if !heard {
            std::thread::sleep(LOOK_TIME);
        }
    }
    Verdict::Works
}

fn greet(device: &mut dyn Device, rail: usize, me: u32, key: &JobKey, neighbours: &[Neighbour]) {
    for other in neighbours {
        let frame = Frame {
            kind: Kind::Hello,
            channel: other.channel,
            to: other.rank,
            from: me,
            length: 0,
            flags: 0,
            session: session(key, me, other.rank, rail),
            sequence: 0,
            ack: 0,
            crc: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        for address in &other.addresses {
            for _ in 0..GREETINGS {
                let mut batch = Batch::new();
                // SAFETY: the header outlives the batch.
                #[allow(unsafe_code)]
                unsafe {
                    batch.push(header.as_ptr(), header.len());
                }
                batch.end_frame();
                // A way that does not exist shows by silence.
                let _ = device.send(address, &batch);
            }
        }
    }
}
