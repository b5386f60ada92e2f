//! Receiving: looks at the next packet, and puts it where it belongs.
//!
//! A message that has come whole in one frame is shown where it lies. The parts of a longer one are
//! put together, bytes for a region go straight there, and answers to whoever awaits them.

use std::fmt;
use std::ops::Deref;

use oxmpi_net::transport::Event;
use oxmpi_wire::PREFIX_BYTES;

use super::packet::Action;
use super::send::Purpose;
use super::{Channel, Gone, PmError};

/// Room that is made for a message before any of it is here; further room as it comes, so that a
/// length alone costs no memory.
const ROOM_BYTES_MAX: usize = 1 << 20;

/// A message that has arrived. Its bytes may lie in the receive ring: who keeps it keeps a slot.
pub struct Received<'c> {
    channel: &'c mut Channel,
    from: u32,
    /// Put together, or `None` where the endpoint shows it.
    kept: Option<Vec<u8>>,
}

impl Received<'_> {
    /// The node that sent it.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// Whether the bytes lie where the network put them: nothing was copied.
    pub fn is_in_place(&self) -> bool {
        self.kept.is_none()
    }
}

impl Deref for Received<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.kept {
            Some(bytes) => bytes,
            None => &self.channel.pm.at_hand()[..self.channel.shown],
        }
    }
}

impl Drop for Received<'_> {
    fn drop(&mut self) {
        match self.kept.take() {
            Some(bytes) => self.channel.recycle(bytes),
            None => self.channel.release_shown(),
        }
    }
}

impl fmt::Debug for Received<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes from node {}", self.len(), self.from)
    }
}

/// What a node is sending us.
#[derive(Default)]
pub(super) struct Arrival {
    /// Of the current packet: where its payload belongs, and how much is still to come.
    landing: Landing,
    rest: usize,
    /// The current message as far as it is here, and its whole length.
    message: Vec<u8>,
    total: u64,
}

/// Where payload belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Landing {
    /// Nowhere: it is not wanted.
    #[default]
    Nowhere,
    /// Behind the message so far.
    Message,
    /// Into a region, from here on.
    Region { region: usize, at: usize },
    /// Into the answer to a read.
    Answer { token: u32 },
}

/// What a look found.
enum Step {
    /// Nothing.
    Nothing,
    /// Something that concerns no receiver.
    Progress,
    /// A message of this many bytes that is whole and at hand.
    Shown { from: u32, bytes: usize },
    /// A message that was put together.
    Whole { from: u32, message: Vec<u8> },
}

impl Channel {
    /// The next message, if one is here. Also makes everything else progress, so call it often. An
    /// error says once that a node is lost, or that it refused a [`Channel::write`]; the channel
    /// goes on.
    #[inline]
    pub fn receive(&mut self) -> Result<Option<Received<'_>>, PmError> {
        self.release_shown();
        if !self.inbox.is_empty() || !self.troubles.is_empty() || !self.outbox.is_empty() {
            self.progress_outbox();
            if let Some((from, message)) = self.inbox.pop_front() {
                return Ok(Some(Received {
                    channel: self,
                    from,
                    kept: Some(message),
                }));
            }
            if let Some(trouble) = self.troubles.pop_front() {
                return Err(trouble);
            }
        }
        loop {
            match self.step() {
                Step::Nothing => return Ok(None),
                Step::Progress => {
                    if let Some(trouble) = self.troubles.pop_front() {
                        return Err(trouble);
                    }
                }
                Step::Shown { from, bytes } => {
                    self.shown = bytes;
                    return Ok(Some(Received {
                        channel: self,
                        from,
                        kept: None,
                    }));
                }
                Step::Whole { from, message } => {
                    return Ok(Some(Received {
                        channel: self,
                        from,
                        kept: Some(message),
                    }));
                }
            }
        }
    }

    /// Makes everything progress for somebody who awaits something else than a message: what
    /// arrives is kept for later receives. False if there was nothing.
    pub fn progress(&mut self) -> bool {
        self.step_keeping()
    }

    /// What was shown is over.
    #[inline]
    pub(super) fn release_shown(&mut self) {
        if self.shown > 0 {
            self.pm.pass(self.shown);
            self.shown = 0;
        }
    }

    /// One look by somebody who awaits something else: messages are kept. False if there was
    /// nothing.
    pub(super) fn step_keeping(&mut self) -> bool {
        self.release_shown();
        self.progress_outbox();
        match self.step() {
            Step::Nothing => return false,
            Step::Progress => {}
            Step::Shown { from, bytes } => {
                let mut message = self.buffer(0);
                message.extend_from_slice(&self.pm.at_hand()[..bytes]);
                self.pm.pass(bytes);
                self.inbox.push_back((from, message));
            }
            Step::Whole { from, message } => self.inbox.push_back((from, message)),
        }
        true
    }

    #[inline]
    fn step(&mut self) -> Step {
        match self.pm.poll() {
            None => Step::Nothing,
            Some(Event::Packet {
                from,
                prefix,
                payload,
            }) => self.begin(from, &prefix, payload),
            Some(Event::Payload { from }) => self.take_in(from),
            Some(Event::Released { token }) => {
                self.released(token);
                Step::Progress
            }
            Some(Event::Finished(node)) => self.leave_behind(node, Gone::Closed),
            Some(Event::Lost(node)) => self.leave_behind(node, Gone::Lost),
        }
    }

    #[inline]
    fn begin(&mut self, from: u32, prefix: &[u8; PREFIX_BYTES], payload: usize) -> Step {
        // What no channel writes comes from a process that speaks MPI: a mixed job, whose messages
        // are nobody's.
        let operation = Action::parse(prefix).ok().flatten();
        let landing = match operation {
            Some(Action::Message { offset: 0, total }) => {
                if total == payload as u64 && self.pm.at_hand().len() >= payload {
                    return Step::Shown {
                        from,
                        bytes: payload,
                    };
                }
                let arrival = &mut self.arrivals[from as usize];
                arrival.message.clear();
                arrival.message.reserve(payload.min(ROOM_BYTES_MAX));
                arrival.total = total;
                Landing::Message
            }
            Some(Action::Message { offset, total }) => {
                let arrival = &self.arrivals[from as usize];
                // Parts come in order and whole; anything else is not worth keeping.
                if offset == arrival.message.len() as u64 && total == arrival.total {
                    Landing::Message
                } else {
                    Landing::Nowhere
                }
            }
            Some(other) => self.begin_remote(from, other, payload),
            None => Landing::Nowhere,
        };
        let arrival = &mut self.arrivals[from as usize];
        arrival.landing = landing;
        arrival.rest = payload;
        self.take_in(from)
    }

    /// Remote memory: where the payload belongs, after everything else has been seen to.
    fn begin_remote(&mut self, from: u32, operation: Action, payload: usize) -> Landing {
        match operation {
            Action::Write {
                region,
                offset,
                bytes,
            } => match super::region::place(&self.regions, region, offset, bytes) {
                Some(place) if place.len() == payload => {
                    return Landing::Region {
                        region: region as usize,
                        at: place.start,
                    };
                }
                _ => self.refuse(from, region, bytes, 0),
            },
            Action::Read {
                region,
                offset,
                bytes,
                token,
            } => self.serve_read(from, region, offset, bytes, token),
            Action::Answer { token, total, .. } => {
                if self.expect_answer(from, token, total) {
                    return Landing::Answer { token };
                }
            }
            Action::Refusal {
                region,
                bytes,
                token,
            } => self.hear_refusal(from, region, bytes, token),
            Action::Message { .. } => {}
        }
        Landing::Nowhere
    }

    /// Takes what is at hand of a packet's payload.
    fn take_in(&mut self, from: u32) -> Step {
        let arrival = &mut self.arrivals[from as usize];
        let bytes = self.pm.at_hand();
        let bytes = &bytes[..bytes.len().min(arrival.rest)];
        let count = bytes.len();
        match &mut arrival.landing {
            Landing::Nowhere => {}
            Landing::Message => arrival.message.extend_from_slice(bytes),
            Landing::Region { region, at } => {
                // A region that was taken back meanwhile takes nothing more.
                if let Some(Some(memory)) = self.regions.get_mut(*region)
                    && let Some(place) = memory.get_mut(*at..*at + count)
                {
                    place.copy_from_slice(bytes);
                }
                *at += count;
            }
            Landing::Answer { token } => {
                if let Some(answer) = self.answers.get_mut(token) {
                    answer.bytes.extend_from_slice(bytes);
                }
            }
        }
        arrival.rest -= count;
        self.pm.pass(count);
        let whole = arrival.landing == Landing::Message
            && arrival.rest == 0
            && arrival.message.len() as u64 == arrival.total;
        if !whole {
            return Step::Progress;
        }
        arrival.landing = Landing::Nowhere;
        let next = self.pool.pop().unwrap_or_default();
        let message = std::mem::replace(&mut self.arrivals[from as usize].message, next);
        self.arrivals[from as usize].message.clear();
        Step::Whole { from, message }
    }

    fn leave_behind(&mut self, node: u32, gone: Gone) -> Step {
        self.gone[node as usize] = Some(gone);
        self.drop_flights(node);
        self.arrivals[node as usize] = Arrival::default();
        if gone == Gone::Lost {
            self.troubles.push_back(self.why_gone(node, gone));
        }
        Step::Progress
    }

    /// Tells a node that a region is not there.
    pub(super) fn refuse(&mut self, to: u32, region: u32, bytes: u64, token: u32) {
        let word = Purpose::Word(Action::Refusal {
            region,
            bytes,
            token,
        });
        self.depart(to, word, Vec::new());
    }
}
