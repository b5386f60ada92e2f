//! Receiving: frames from the devices to their links, and what the links deliver as events.
//!
//! One frame at a time is *shown* by a device, and one piece of it (or one that its arrival made
//! deliverable) is *current*: it is handed out before the device is asked for the next frame, so
//! that payload is copied once, from where the device has it to where it belongs. A frame is
//! believed only if it proves that the process it names has sent it, and no frame is believed
//! twice.

use oxmpi_link::Delivered;
use oxmpi_wire::frame::{self, Frame, Kind};
use oxmpi_wire::{PREFIX_BYTES, WireError};

use super::secret::Party;
use super::{Pm, Standing, Way, conversation};
use crate::event::Event;
use oxmpi_wire::stream::{self, HEAD_MAX, LENGTH_BYTES, Next};

/// Frames between two looks at the clock and at what else waits.
const FRAMES_PER_CLOCK: u32 = 8;
/// Frames after which acknowledgements and what they let go leave, and timers are looked at,
/// although more frames wait.
const FRAMES_PER_FLUSH: u32 = 64;
/// Frames that are not believed, in one look: a flood of them must not keep this process from what
/// it has to say.
const IGNORED_PER_LOOK: u32 = 64;
/// Looks at the first rail between two at the second, on which nothing goes at the moment.
const LOOKS_PER_BULK_LOOK: u32 = 8;
/// Looks at the second rail after something went over it.
pub(super) const BULK_LOOKS: u32 = 256;
/// Looks that find nothing between two looks at the clock.
const LOOKS_PER_CLOCK: u32 = 16;

/// A piece of a message that is being handed out.
pub(super) struct Current {
    way: Way,
    delivered: Delivered,
    /// What has not been taken of it.
    begin: usize,
    end: usize,
}

/// A frame that a device shows and that nobody has taken yet.
pub(super) struct Unhandled {
    pub rail: usize,
    /// Its session has verified it, and would take it for a replay the second time.
    pub proven: bool,
}

/// What a look at a device came to.
enum Look {
    /// There is nothing.
    Nothing,
    /// A frame that is nobody's, or that nobody awaits.
    Ignored,
    /// A frame that its link took.
    Taken,
}

impl Pm {
    /// The next thing that happened, if anything has. `None` ends a look.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        let mut ignored = 0;
        loop {
            if self.current.is_some() {
                if let Some(event) = self.next_in_piece() {
                    return Some(event);
                }
                continue;
            }
            if let Some(way) = self.shown {
                self.next_piece(way);
                continue;
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if let Some(Unhandled { rail, proven }) = self.unhandled.take() {
                self.frames += 1;
                self.take(rail, proven);
                continue;
            }
            let mut look = Look::Nothing;
            for rail in 0..self.lines.len() {
                if rail > 0 && !self.is_bulk_likely() {
                    break;
                }
                look = self.look(rail);
                if !matches!(look, Look::Nothing) {
                    break;
                }
            }
            match look {
                Look::Taken => {}
                Look::Ignored if ignored < IGNORED_PER_LOOK => ignored += 1,
                Look::Ignored | Look::Nothing => {
                    self.end_look();
                    return self.events.pop_front();
                }
            }
        }
    }

    /// Whether the second rail is worth a look, which may be a system call: while something goes
    /// over it, and now and then.
    #[inline(always)]
    fn is_bulk_likely(&mut self) -> bool {
        if self.bulk_looks > 0 {
            self.bulk_looks -= 1;
            return true;
        }
        self.looks.is_multiple_of(LOOKS_PER_BULK_LOOK)
    }

    /// Takes the next frame of a device.
    #[inline(always)]
    fn look(&mut self, rail: usize) -> Look {
        let line = &mut self.lines[rail];
        if !line.poll() {
            return Look::Nothing;
        }
        if rail > 0 {
            self.bulk_looks = BULK_LOOKS;
        }
        if self.frames.is_multiple_of(FRAMES_PER_CLOCK) {
            self.now = self.clock.now();
            self.frame_at = self.now;
            line.backlog = line.device.backlog(line.backlog_high);
            if self.frames >= FRAMES_PER_FLUSH {
                self.frames = 0;
                self.look_at_clock();
            }
        }
        self.frames += 1;
        self.take(rail, false)
    }

    /// Gives the frame that a device shows to its link. `proven`: its session has verified it
    /// already.
    #[inline(always)]
    fn take(&mut self, rail: usize, proven: bool) -> Look {
        let line = &mut self.lines[rail];
        let bytes = line.frame();
        let Ok((frame, _)) = Frame::parse(bytes) else {
            self.counters.forged += 1;
            return Look::Ignored;
        };
        if matches!(frame.kind, Kind::Hello | Kind::Welcome) {
            // A greeting from when the device was tried out; it begins no conversation.
            return Look::Ignored;
        }
        let peer = self.names.process(frame.name);
        let Some(peer) = peer.filter(|peer| *peer != self.me) else {
            self.counters.forged += 1;
            return Look::Ignored;
        };
        let way = Way { peer, rail };
        let conversation = match &mut self.partners[peer as usize] {
            Standing::Open(partner) => partner.ways[rail].as_mut(),
            Standing::Unknown => None,
            // What a process says after its goodbye, or after it was given up, is heard by nobody.
            Standing::Finished | Standing::Lost(_) => return Look::Ignored,
        };
        let Some(conversation) = conversation else {
            return self.take_first(way);
        };
        if !proven && let Err(forgery) = line.believe(conversation) {
            self.counters.count_forgery(forgery);
            return Look::Ignored;
        }
        let handled = conversation
            .link
            .handle_frame(self.now, line.frame(), line.backlog);
        let Ok(handled) = handled else {
            return Look::Ignored;
        };
        self.advanced = handled.advanced;
        conversation.heard_at = self.now;
        conversation.last_sent = 0;
        if !conversation.confirmed {
            conversation.confirm(line.device.sender());
        }
        if !conversation.is_owing {
            conversation.is_owing = true;
            self.owing.push(way);
        }
        self.shown = Some(way);
        Look::Taken
    }

    /// A frame in the name of a process that this one does not talk to yet: only that process
    /// itself begins a conversation.
    #[cold]
    fn take_first(&mut self, way: Way) -> Look {
        if !self.is_expected(way) {
            self.counters.forged += 1;
            return Look::Ignored;
        }
        match self.open(way) {
            // The conversation verifies it once more, and remembers it.
            true => self.take(way.rail, false),
            false => Look::Ignored,
        }
    }

    /// Whether the frame that a device shows is of the process it names, which this one does not
    /// talk to yet.
    fn is_expected(&mut self, way: Way) -> bool {
        let line = &mut self.lines[way.rail];
        let session = &mut line.expected[way.peer as usize];
        if session.is_none() {
            let Ok(peer) = (self.finder)(way.peer, way.rail) else {
                return false;
            };
            let me = Party {
                process: self.me,
                salt: self.options.salt,
            };
            *session = Some(Box::new(conversation::session(
                &self.key, way, me, peer.salt,
            )));
        }
        let session = session.as_mut();
        session.is_some_and(|session| session.verify(line.device.frame()).is_ok())
    }

    /// The next piece that the shown frame made deliverable, or the end of that frame.
    #[inline(always)]
    fn next_piece(&mut self, way: Way) {
        let Standing::Open(partner) = &mut self.partners[way.peer as usize] else {
            self.shown = None;
            return;
        };
        let Some(conversation) = &mut partner.ways[way.rail] else {
            self.shown = None;
            return;
        };
        if let Some(delivered) = conversation.link.poll_delivered() {
            let frame = self.lines[way.rail].frame();
            let end = conversation.link.bytes(&delivered, frame).len();
            self.current = Some(Current {
                way,
                delivered,
                begin: 0,
                end,
            });
            return;
        }
        self.shown = None;
        if self.advanced {
            while let Some(slot) = conversation.link.poll_released() {
                conversation.outstanding -= 1;
                let token = self.memory.free(slot);
                if token != 0 {
                    self.events.push_back(Event::Released { token });
                }
            }
        }
        if conversation.link.wants_transmit(self.now) && !conversation.is_active {
            conversation.is_active = true;
            self.active.push_back(way);
        }
        if let Some(due) = conversation.link.poll_timeout() {
            self.nearest = self.nearest.min(due);
            if !conversation.is_timed {
                conversation.is_timed = true;
                self.timed.push(way);
            }
        }
        if partner.goodbye.is_some() {
            self.part(way.peer, self.now);
        }
    }

    /// What the current piece holds next; when it holds nothing more, it is no longer current.
    #[inline(always)]
    fn next_in_piece(&mut self) -> Option<Event> {
        let current = self.current.as_mut()?;
        let way = current.way;
        let Standing::Open(partner) = &mut self.partners[way.peer as usize] else {
            self.current = None;
            return None;
        };
        let Some(conversation) = &mut partner.ways[way.rail] else {
            self.current = None;
            return None;
        };
        if current.begin == current.end {
            let cut = conversation.left > 0 || conversation.partial_bytes > 0;
            let last = current.delivered.last;
            self.current = None;
            if last && cut {
                self.lose_babbler(way.peer, "a message that ends too early");
            }
            return None;
        }
        let from = way.peer;
        if conversation.left > 0 {
            return Some(Event::Payload { from });
        }
        if conversation.partial_bytes == 0 && !(current.delivered.first && current.begin == 0) {
            self.current = None;
            self.lose_babbler(from, "a message that is longer than it says");
            return None;
        }
        let frame = self.lines[way.rail].frame();
        let bytes = conversation.link.bytes(&current.delivered, frame);
        // A head that was cut is put together.
        let before = conversation.partial_bytes;
        let mut joined = [0; HEAD_MAX];
        let bytes = if before == 0 {
            bytes
        } else {
            let more = bytes.len().min(HEAD_MAX - before);
            joined[..before].copy_from_slice(&conversation.partial[..before]);
            joined[before..before + more].copy_from_slice(&bytes[..more]);
            &joined[..before + more]
        };
        match stream::next(bytes) {
            Next::Packet { head, payload } => {
                let mut prefix = [0; PREFIX_BYTES];
                prefix[..head - LENGTH_BYTES].copy_from_slice(&bytes[LENGTH_BYTES..head]);
                conversation.left = payload;
                conversation.partial_bytes = 0;
                partner.paused = false;
                current.begin = head - before;
                Some(Event::Packet {
                    from,
                    prefix,
                    payload,
                })
            }
            Next::Incomplete => {
                let bytes = &bytes[..bytes.len().min(HEAD_MAX)];
                conversation.partial[..bytes.len()].copy_from_slice(bytes);
                conversation.partial_bytes = bytes.len();
                current.begin = current.end;
                None
            }
            Next::Farewell { pause } => {
                conversation.partial_bytes = 0;
                self.current = None;
                self.hear_farewell(from, pause);
                None
            }
            Next::OtherVersion { found } => {
                self.current = None;
                let error = WireError::Version { found };
                self.lose(from, error.to_string());
                None
            }
            Next::Garbage { length, kind } => {
                let kind = kind.map_or(String::new(), |kind| format!(" and kind {kind}"));
                self.current = None;
                self.lose_babbler(from, &format!("a packet of length {length}{kind}"));
                None
            }
        }
    }

    /// The look found nothing more: what waits may leave, and time passes.
    #[inline(always)]
    fn end_look(&mut self) {
        self.frames = 0;
        self.looks = self.looks.wrapping_add(1);
        if !self.active.is_empty() {
            self.flush_unsent();
        }
        if self.looks.is_multiple_of(LOOKS_PER_CLOCK) {
            self.look_at_clock();
        }
    }

    /// Acknowledgements that waited for a message to go with leave now.
    #[cold]
    pub(super) fn settle(&mut self) {
        let now = self.clock.now();
        let mut owing = std::mem::take(&mut self.owing);
        for way in owing.drain(..) {
            let Some(conversation) = self.conversation(way) else {
                continue;
            };
            conversation.is_owing = false;
            conversation.link.note_backlog(now, 0);
            conversation.link.force_ack();
            if conversation.link.wants_transmit(now) {
                self.put_out(way, now, 0);
            }
        }
        self.owing = owing;
    }

    /// Which rail the packet of the last event came by: packets of one process arrive one after the
    /// other on each.
    #[inline(always)]
    pub fn rail(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.way.rail)
    }

    /// Payload of the current packet that has arrived. [`Pm::pass`] takes it.
    #[inline(always)]
    pub fn at_hand(&self) -> &[u8] {
        let Some(current) = &self.current else {
            return &[];
        };
        let Standing::Open(partner) = &self.partners[current.way.peer as usize] else {
            return &[];
        };
        let Some(conversation) = &partner.ways[current.way.rail] else {
            return &[];
        };
        let frame = self.lines[current.way.rail].frame();
        let bytes = conversation.link.bytes(&current.delivered, frame);
        let end = current.end.min(current.begin + conversation.left);
        &bytes[current.begin..end]
    }

    /// Hands payload of the current packet to `write`, with the place of each piece behind the
    /// first, at most `room` bytes: what is at hand, and then frame by frame what the device has of
    /// it, as long as nothing else comes in between. Says how much.
    pub fn read(&mut self, room: usize, mut write: impl FnMut(u64, &[u8])) -> usize {
        let Some(current) = &mut self.current else {
            return 0;
        };
        let way = current.way;
        let Standing::Open(partner) = &mut self.partners[way.peer as usize] else {
            return 0;
        };
        let Some(conversation) = &mut partner.ways[way.rail] else {
            return 0;
        };
        let line = &mut self.lines[way.rail];
        let bytes = conversation.link.bytes(&current.delivered, line.frame());
        let bytes = &bytes[current.begin..current.end];
        let mut landed = bytes.len().min(conversation.left).min(room);
        write(0, &bytes[..landed]);
        current.begin += landed;
        let mut frames = 0;
        // The piece is used up: nobody looks at the frame shown any more.
        let alone = current.begin == current.end && conversation.link.is_drained();
        while alone && self.frames + frames < FRAMES_PER_FLUSH {
            let wanted = conversation.left.min(room) - landed;
            if wanted == 0 || !line.poll() {
                break;
            }
            let rail = way.rail;
            if frame::name(line.frame()) != Some(conversation.link.config().name_in) {
                let proven = false;
                self.unhandled = Some(Unhandled { rail, proven });
                break;
            }
            if let Err(forgery) = line.believe(conversation) {
                self.counters.count_forgery(forgery);
                frames += 1;
                continue;
            }
            let frame = line.frame();
            let Some(piece) = conversation.link.take_middle(self.now, frame, wanted) else {
                let proven = true;
                self.unhandled = Some(Unhandled { rail, proven });
                break;
            };
            let piece = &frame[piece];
            write(landed as u64, piece);
            landed += piece.len();
            frames += 1;
        }
        // The next look is one at the clock, too.
        self.frames = (self.frames + frames).next_multiple_of(FRAMES_PER_CLOCK);
        conversation.left -= landed;
        landed
    }

    /// So many bytes at hand have been used.
    #[inline(always)]
    pub fn pass(&mut self, bytes: usize) {
        let Some(current) = &mut self.current else {
            return;
        };
        if let Standing::Open(partner) = &mut self.partners[current.way.peer as usize]
            && let Some(conversation) = &mut partner.ways[current.way.rail]
        {
            conversation.left -= bytes;
            current.begin += bytes;
        }
    }
}
