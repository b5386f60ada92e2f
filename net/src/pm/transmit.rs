//! Sending: a message is copied or remembered, queued in its link, and leaves at once, unless many
//! follow each other.
//!
//! Short messages in quick succession wait for each other, for as long as nobody looks for
//! arrivals: a look, a sleep or a full frame lets them go. A message that comes alone never waits.

use super::line::Outcome;
use super::memory::Slot;
use super::receive::BULK_LOOKS;
use super::{Pm, Standing, Way};
use crate::event::Sent;
use oxmpi_wire::{Code, Packet};

/// Payload up to this length is copied even if its memory lasts: copying is cheaper than coming
/// back for it.
pub const COPIED_BYTES_MAX: usize = 16 << 10;
/// Payload up to this length is copied after it has left, if little else is on its way; copying it
/// takes less than its acknowledgement.
const TAKEN_OVER_BYTES_MAX: usize = 64 << 10;
/// Messages on their way at most then, this one included.
const TAKEN_OVER_MAX: usize = 2;
/// Calls in which so much leaves, where it does: a segmented send has less than 64 KiB.
const CALLS_MAX: usize = 3;
/// Messages up to this length wait for each other when they come in quick succession.
const TOGETHER_BYTES: usize = 2 << 10;
/// As much leaves together at most; several frames in one call.
const WAITING_BYTES_MAX: usize = 8 << 10;
/// A message that follows the one before within this time is one of many.
const SUCCESSION_NS: u64 = 3_000;

/// Whether a packet is one of several that a message may consist of: its own length says nothing of
/// the message's.
#[inline(always)]
pub(crate) fn is_part(head: &[u8]) -> bool {
    const DATA: u8 = Code::Data as u8;
    const MORE: u8 = Code::More as u8;
    matches!(head.get(1), Some(&(DATA | MORE)))
}

impl Pm {
    /// Sends a packet: its head (header and body) and `bytes` bytes at `payload`. `lasting`: that
    /// memory stays, and is not copied; the token comes back by
    /// [`Event::Released`](crate::event::Event::Released) when the other side has it all, unless it
    /// is 0.
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes; if the answer is [`Sent::Held`], until
    /// the token comes back or the process is lost or has finished.
    #[inline]
    pub unsafe fn send(
        &mut self,
        to: u32,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        lasting: Option<u64>,
    ) -> Sent {
        let mut way = Way { peer: to, rail: 0 };
        if self.lines.len() > 1 && (bytes > self.one_frame_bytes || is_part(head)) {
            way.rail = self.rail_of(to, head);
            if way.rail > 0 {
                // Acknowledgements will come.
                self.bulk_looks = BULK_LOOKS;
            }
        }
        let conversation = match &mut self.partners[to as usize] {
            Standing::Open(partner) => {
                if partner.goodbye.is_some() {
                    if partner.heard.is_some() {
                        // Nobody reads it, and nobody could tell.
                        return Sent::Left;
                    }
                    if self.closing {
                        return Sent::Later;
                    }
                    // The pause is over.
                    partner.goodbye = None;
                    partner.said = false;
                }
                partner.ways[way.rail].as_mut()
            }
            Standing::Unknown => None,
            Standing::Finished | Standing::Lost(_) => return Sent::Left,
        };
        let Some(conversation) = conversation else {
            if !self.open(way) && way.rail == 0 {
                return Sent::Left;
            }
            // SAFETY: the caller's promise. The way exists now, or bulk goes by the first rail.
            return unsafe { self.send(to, head, payload, bytes, lasting) };
        };
        if !conversation.link.can_send() {
            return Sent::Later;
        }
        let word = bytes as u32;
        // SAFETY: the caller's promise.
        let slot = unsafe { self.memory.store(way, word, head, payload, bytes, lasting) };
        let Some((slot, message_bytes)) = slot else {
            return Sent::Later;
        };
        let now = self.clock.now();
        // What comes next may be the answer, and tells a round trip.
        self.frames = 0;
        conversation.link.send(now, slot, message_bytes);
        conversation.unsent_bytes += message_bytes;
        conversation.outstanding += 1;
        let soon = now - conversation.last_sent < SUCCESSION_NS && bytes <= TOGETHER_BYTES;
        conversation.last_sent = now;
        if soon && conversation.unsent_bytes < WAITING_BYTES_MAX {
            self.activate(way);
        } else if !soon {
            self.put_out(way, now, 0);
            // The call may have taken longer than a succession.
            let now = self.clock.now();
            if let Some(conversation) = self.conversation(way) {
                conversation.last_sent = now;
            }
        } else {
            let short_of = conversation.payload_bytes_max;
            self.put_out(way, now, short_of);
        }
        match lasting {
            // SAFETY: the caller's promise.
            Some(1..) if unsafe { self.let_go(way, slot, head, bytes) } => Sent::Left,
            Some(_) => Sent::Held,
            None => Sent::Left,
        }
    }

    /// Copies an eager message that is held, now that the network has all of it: the other side is
    /// busy with it meanwhile, and whoever sent it need not wait for the acknowledgement. Only
    /// while little is on its way: many messages are better left where they are.
    ///
    /// # Safety
    /// The message's memory must be what was promised to [`Pm::send`].
    unsafe fn let_go(&mut self, way: Way, slot: Slot, head: &[u8], bytes: usize) -> bool {
        let is_whole_and_eager = || {
            let is = |packet: Packet<_>| {
                packet.code() == Some(Code::Eager) && packet.content().bytes() == bytes as u64
            };
            Packet::new_checked(head).is_ok_and(is)
        };
        if bytes > TAKEN_OVER_BYTES_MAX || !is_whole_and_eager() {
            return false;
        }
        for _ in 0..CALLS_MAX {
            let Some(conversation) = self.conversation(way) else {
                return false;
            };
            if conversation.outstanding > TAKEN_OVER_MAX {
                return false;
            }
            if conversation.unsent_bytes == 0 {
                // SAFETY: the caller's promise.
                return unsafe { self.memory.take_over(slot) }.is_some();
            }
            let now = self.clock.now();
            self.put_out(way, now, 0);
        }
        false
    }

    /// The rail for a packet with payload. All packets of a message, its short end included, take
    /// the same, because among themselves they are in order. Payload that was asked for may arrive
    /// at any time; messages that were not are put in order by the receiver, from the numbers in
    /// their heads.
    #[inline(never)]
    fn rail_of(&self, to: u32, head: &[u8]) -> usize {
        let no_bulk =
            matches!(&self.partners[to as usize], Standing::Open(partner) if partner.no_bulk);
        let Ok(packet) = Packet::new_checked(head) else {
            return 0;
        };
        let message_bytes = packet.content().bytes();
        let is_bulk = match packet.code() {
            Some(Code::Data) => message_bytes >= self.options.bulk_bytes_min,
            Some(Code::Eager | Code::More) => message_bytes > self.one_frame_bytes as u64,
            _ => false,
        };
        usize::from(!no_bulk && is_bulk)
    }

    /// Says a word that is no packet.
    pub(super) fn send_word(&mut self, peer: u32, word: u32) -> bool {
        let way = Way { peer, rail: 0 };
        let now = self.clock.now();
        let Standing::Open(partner) = &mut self.partners[peer as usize] else {
            return true;
        };
        let Some(conversation) = partner.ways[0].as_mut() else {
            return true;
        };
        if !conversation.link.can_send() {
            return false;
        }
        // SAFETY: there is no payload.
        let slot = unsafe { self.memory.store(way, word, &[], std::ptr::null(), 0, None) };
        let Some((slot, bytes)) = slot else {
            return false;
        };
        conversation.link.send(now, slot, bytes);
        conversation.unsent_bytes += bytes;
        conversation.outstanding += 1;
        self.put_out(way, now, 0);
        true
    }

    /// Sends one batch of a conversation's frames, and remembers if there is more to send.
    #[inline(always)]
    pub(super) fn put_out(&mut self, way: Way, now: u64, short_of: usize) {
        let Standing::Open(partner) = &mut self.partners[way.peer as usize] else {
            return;
        };
        let Some(conversation) = &mut partner.ways[way.rail] else {
            return;
        };
        let line = &mut self.lines[way.rail];
        let outcome = line.put_out(conversation, &self.memory, now, short_of);
        if let Some(due) = conversation.link.poll_timeout() {
            self.nearest = self.nearest.min(due);
            if !conversation.is_timed {
                conversation.is_timed = true;
                self.timed.push(way);
            }
        }
        let more = match outcome {
            Outcome::Done => short_of > 0 && conversation.unsent_bytes > 0,
            Outcome::Full => conversation.link.wants_transmit(now),
            Outcome::Blocked => {
                self.counters.blocked += 1;
                true
            }
            Outcome::Unreachable => {
                conversation.try_next_address(now, true);
                false
            }
        };
        if more && !conversation.is_active {
            conversation.is_active = true;
            self.active.push_back(way);
        }
    }

    /// The conversation has something to send.
    #[inline(always)]
    pub(super) fn activate(&mut self, way: Way) {
        if let Some(conversation) = self.conversation(way)
            && !std::mem::replace(&mut conversation.is_active, true)
        {
            self.active.push_back(way);
        }
    }

    /// Lets go what waits: a batch of each conversation in turn, as far as windows and devices have
    /// room.
    #[inline(never)]
    pub fn flush_unsent(&mut self) {
        let now = self.clock.now();
        for _ in 0..self.active.len() {
            let Some(way) = self.active.pop_front() else {
                return;
            };
            if let Some(conversation) = self.conversation(way) {
                conversation.is_active = false;
            }
            self.put_out(way, now, 0);
        }
    }
}
