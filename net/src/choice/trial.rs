//! Trying a device out before it is relied on: the first process of each host greets those of the hosts beside it, and waits for their greetings.
//!
//! Greetings are one-way on purpose. All processes have passed a fence, so everybody's device takes frames, and a greeting lies in the other's buffers until it looks; nobody
//! has to be awake to answer. Lost ones are made up for by sending several.

use std::time::{Duration, Instant};

use oxmpi_link::Session;
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};

use super::Verdict;
use crate::device::{Address, Batch, Device};
use crate::key::JobKey;
use crate::pm::secret::{Party, Purpose, session};

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
    pub party: Party,
    pub addresses: Vec<Address>,
    pub channel: u16,
}

/// Greets the neighbours through a device of process `me`, and waits for their greetings.
pub(super) fn try_out(
    device: &mut dyn Device,
    rail: usize,
    channel: u16,
    me: Party,
    key: &JobKey,
    neighbours: &[Neighbour],
) -> Verdict {
    if neighbours.iter().any(|other| other.addresses.is_empty()) {
        return Verdict::NoPeer;
    }
    let own = me.process;
    let mut sessions: Vec<Session> = neighbours
        .iter()
        .map(|other| session(key, Purpose::Trial, rail, me, other.party))
        .collect();
    let mut awaited: Vec<u32> = neighbours.iter().map(|other| other.party.process).collect();
    let begin = Instant::now();
    let mut greeted = None::<Instant>;
    while !awaited.is_empty() {
        if begin.elapsed() > TRIAL_TIME {
            return Verdict::Unheard;
        }
        if greeted.is_none_or(|last| last.elapsed() > REPEAT_TIME) {
            greet(device, own, neighbours, &mut sessions);
            greeted = Some(Instant::now());
        }
        let mut heard = false;
        while device.poll() {
            heard = true;
            let bytes = device.frame();
            let named = |frame: &Frame| {
                let mut others = neighbours.iter();
                others.position(|other| other.party.process == frame.name)
            };
            if let Ok((frame, _)) = Frame::parse(bytes)
                && frame.kind == Kind::Hello
                && (frame.to, frame.channel) == (own, channel)
                && let Some(number) = named(&frame)
                && sessions[number].verify(bytes).is_ok()
            {
                awaited.retain(|rank| *rank != frame.name);
            }
        }
        if !heard {
            std::thread::sleep(LOOK_TIME);
        }
    }
    Verdict::Works
}

fn greet(device: &mut dyn Device, me: u32, neighbours: &[Neighbour], sessions: &mut [Session]) {
    for (other, session) in neighbours.iter().zip(sessions) {
        let frame = Frame {
            kind: Kind::Hello,
            channel: other.channel,
            to: other.party.process,
            name: me,
            length: 0,
            flags: 0,
            sequence: 0,
            ack: 0,
            serial: 0,
            crc: 0,
            tag: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        for address in &other.addresses {
            for _ in 0..GREETINGS {
                session.sign(&mut header);
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
