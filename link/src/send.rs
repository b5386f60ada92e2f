//! The sending half: frames that were cut out of the stream of messages (`stream.rs`), and what is
//! known of each one's fate.
//!
//! `transmit.rs` and `arrive.rs` call it; it knows no clock, no header and no timer.
//!
//! Invariants: `flight` holds frames `unacknowledged ..`, without gaps; `lost` and `kept` count
//! their fates; a message is released only when every frame with a piece of it is acknowledged.

use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

use crate::Config;
use crate::config::{ACK_FRAMES_MAX, REORDER_FRAMES};
use crate::stream::{Position, Stream};

/// What is known of a frame that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    /// On its way, as far as we know.
    Sent,
    /// To be repeated: the peer misses it.
    Lost,
    /// To be repeated after a time-out, though nobody has missed it; it may only be late.
    Presumed,
    /// At the receiver, who waits for an earlier one.
    Kept,
}

impl Fate {
    #[inline]
    fn is_to_be_repeated(self) -> bool {
        matches!(self, Fate::Lost | Fate::Presumed)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flight {
    begin: Position,
    sent_at: u64,
    /// Number of its last transmission, counted over all frames.
    stamp: u32,
    length: u16,
    fate: Fate,
    /// Sent more than once: its acknowledgement measures nothing.
    repeated: bool,
    /// Sent because of a time-out: its acknowledgement may well be that of an earlier transmission.
    doubtful: bool,
    /// Asked for an acknowledgement at once.
    asking: bool,
}

impl Flight {
    /// A frame that is about to leave for the first time.
    #[inline]
    fn new(begin: Position, length: u16) -> Flight {
        Flight {
            begin,
            sent_at: 0,
            stamp: 0,
            length,
            fate: Fate::Sent,
            repeated: false,
            doubtful: false,
            asking: false,
        }
    }
}

/// A frame to be sent now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub sequence: u32,
    pub begin: Position,
    pub length: u16,
    pub repeat: bool,
    pub asking: bool,
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    /// Frames that are now known to be there.
    pub frames: u32,
    /// The oldest unacknowledged frame is another one than before.
    pub advanced: bool,
    /// A round trip.
    pub round_trip_ns: Option<u64>,
    /// The same, if the peer was asked not to delay its answer.
    pub round_trip_ns_asked: Option<u64>,
    /// The last time-out was too early.
    pub spurious: bool,
    /// Newest transmission among frames that turned out to be lost.
    pub lost: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sender<M> {
    pub stream: Stream<M>,
    flight: VecDeque<Flight>,
    /// Number of the frame at the front of `flight`, or of the next one.
    unacknowledged: u32,
    /// Frames to be repeated.
    lost: u32,
    kept: u32,
    /// No frame before this one is to be repeated; means nothing while none is.
    lost_from: u32,
    /// Number of the next transmission.
    stamp_next: u32,
    /// Newest transmission known to have arrived.
    stamp_arrived: u32,
    /// Frames that may be on their way after a time-out: 1, then doubled by each answer.
    allowance: u32,
    /// Frames since the last one that asked for an acknowledgement.
    since_asked: u32,
    /// The frame to which was gone back last, and when.
    went_back: Option<(u32, u64)>,
}

impl<M: Copy> Sender<M> {
    pub fn new(config: &Config) -> Sender<M> {
        let flight = VecDeque::with_capacity(config.window_frames_max as usize);
        Sender::with(config, Stream::new(config.messages_max), flight)
    }

    /// As when it was made, in the same memory.
    pub fn renew(&mut self, config: &Config) {
        self.stream.renew();
        self.flight.clear();
        let stream = core::mem::replace(&mut self.stream, Stream::new(0));
        *self = Sender::with(config, stream, core::mem::take(&mut self.flight));
    }

    fn with(config: &Config, stream: Stream<M>, flight: VecDeque<Flight>) -> Sender<M> {
        Sender {
            stream,
            flight,
            unacknowledged: config.first_sequence,
            lost: 0,
            kept: 0,
            lost_from: config.first_sequence,
            stamp_next: 0,
            stamp_arrived: u32::MAX,
            allowance: u32::MAX,
            since_asked: 0,
            went_back: None,
        }
    }

    /// What [`Sender::new`] allocates.
    pub const fn bytes(config: &Config) -> usize {
        Stream::<M>::bytes(config.messages_max)
            + config.window_frames_max as usize * size_of::<Flight>()
    }

    /// Number of the next new frame.
    #[inline]
    pub fn next_sequence(&self) -> u32 {
        self.unacknowledged.wrapping_add(self.flight.len() as u32)
    }

    #[inline]
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Whether a frame is the oldest one that is not acknowledged.
    #[inline]
    pub fn is_oldest(&self, sequence: u32) -> bool {
        sequence == self.unacknowledged
    }

    /// Frames on their way, as far as we know.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.flight.len() as u32 - self.lost - self.kept
    }

    #[inline]
    pub fn next_stamp(&self) -> u32 {
        self.stamp_next
    }

    #[inline]
    pub fn arrived_stamp(&self) -> u32 {
        self.stamp_arrived
    }

    /// Whether anything is queued, lost or on its way.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.flight.is_empty() || self.stream.has_uncut()
    }

    /// Whether a frame may leave while the window is `window`.
    #[inline]
    pub fn may_transmit(&self, config: &Config, window: u32) -> bool {
        let room = self.outstanding() < window.min(self.allowance);
        room && (self.lost > 0
            || self.stream.has_uncut() && (self.flight.len() as u32) < config.window_frames_max)
    }

    /// The frame that is to leave now, lost ones first.
    #[inline]
    pub fn take(&mut self, config: &Config, now: u64, window: u32) -> Option<Cut> {
        if !self.may_transmit(config, window) {
            return None;
        }
        let repeat = self.lost > 0;
        let index = if repeat {
            self.first_lost()
        } else {
            self.cut(config)
        };
        let limit = window.min(self.allowance);
        self.since_asked += 1;
        let outstanding = self.outstanding() + u32::from(repeat);
        let full = outstanding >= limit || self.flight.len() as u32 >= config.window_frames_max;
        let often = self.since_asked >= (limit / 4).clamp(1, ACK_FRAMES_MAX);
        let asking = full
            || often
            || (!repeat
                && self
                    .stream
                    .ended_long_message(config, self.flight[index].begin));
        if asking {
            self.since_asked = 0;
        }
        let flight = &mut self.flight[index];
        flight.sent_at = now;
        flight.stamp = self.stamp_next;
        flight.asking = asking;
        self.stamp_next = self.stamp_next.wrapping_add(1);
        if repeat {
            flight.doubtful = flight.fate == Fate::Presumed;
            flight.fate = Fate::Sent;
            flight.repeated = true;
            self.lost -= 1;
        }
        Some(Cut {
            sequence: self.unacknowledged.wrapping_add(index as u32),
            begin: flight.begin,
            length: flight.length,
            repeat,
            asking,
        })
    }

    /// As [`Sender::take`] for several frames from the middle of a message that follow others, none
    /// of which asks: the first, the message, how many bytes of it each carries, and how many
    /// frames there are.
    #[inline]
    pub fn take_middle(
        &mut self,
        config: &Config,
        now: u64,
        window: u32,
        frames_max: u32,
    ) -> Option<(Cut, M, usize, u32)> {
        if self.lost > 0 || self.flight.is_empty() {
            return None;
        }
        let limit = window.min(self.allowance);
        let often = (limit / 4).clamp(1, ACK_FRAMES_MAX);
        // The frame that asks is not one of them: the one that fills the window, or is due to ask.
        let room = limit.saturating_sub(self.outstanding() + 1);
        let places = config
            .window_frames_max
            .saturating_sub(self.flight.len() as u32 + 1);
        let unasked = often.saturating_sub(self.since_asked + 1);
        let frames_max = frames_max.min(room).min(places).min(unasked);
        let sequence = self.next_sequence();
        let (begin, message, bytes, frames) = self.stream.cut_middle(config, frames_max)?;
        let length = config.payload_bytes_max as u16;
        let mut position = begin;
        for _ in 0..frames {
            let stamp = self.stamp_next;
            self.stamp_next = stamp.wrapping_add(1);
            self.flight.push_back(Flight {
                sent_at: now,
                stamp,
                ..Flight::new(position, length)
            });
            position.offset += bytes;
        }
        self.since_asked += frames;
        let cut = Cut {
            sequence,
            begin,
            length,
            repeat: false,
            asking: false,
        };
        Some((cut, message, bytes, frames))
    }

    /// Cuts the next frame out of the stream and returns its index in `flight`.
    #[inline]
    fn cut(&mut self, config: &Config) -> usize {
        let (begin, length) = self.stream.cut(config);
        self.flight.push_back(Flight::new(begin, length));
        self.flight.len() - 1
    }

    fn first_lost(&mut self) -> usize {
        let behind = self.lost_from.wrapping_sub(self.unacknowledged) as i32;
        let mut frames = self.flight.iter().skip(behind.max(0) as usize);
        let found = frames.position(|flight| flight.fate.is_to_be_repeated());
        let index = found.expect("`lost` counts frames at or behind `lost_from`");
        let index = index + behind.max(0) as usize;
        self.lost_from = self.unacknowledged.wrapping_add(index as u32);
        index
    }

    /// Whether an acknowledgement speaks of frames that were never sent.
    #[inline]
    pub fn is_impossible(&self, ack: u32) -> bool {
        let ahead = ack.wrapping_sub(self.unacknowledged);
        ahead as usize > self.flight.len() && (ahead as i32) > 0
    }

    /// Everything before `ack` is there. An old acknowledgement, overtaken by a later one, changes
    /// nothing.
    #[inline]
    pub fn acknowledge(&mut self, now: u64, ack: u32, least_ns: Option<u64>) -> News {
        let mut news = News::default();
        let ahead = ack.wrapping_sub(self.unacknowledged);
        if ahead == 0 || ahead as i32 <= 0 {
            return news;
        }
        assert!(
            ahead as usize <= self.flight.len(),
            "handle_frame refused impossible acknowledgements"
        );
        let mut filled_gap = false;
        for _ in 0..ahead {
            let Some(flight) = self.flight.pop_front() else {
                break;
            };
            filled_gap |= flight.repeated;
            match flight.fate {
                Fate::Sent => self.arrived(&flight, now, least_ns, &mut news),
                fate @ (Fate::Lost | Fate::Presumed) => {
                    self.lost -= 1;
                    news.frames += 1;
                    news.spurious |= fate == Fate::Presumed;
                }
                Fate::Kept => self.kept -= 1,
            }
        }
        if filled_gap {
            // Frames behind a repeated one were acknowledged when it came, not when they came
            // themselves.
            news.round_trip_ns = None;
            news.round_trip_ns_asked = None;
        }
        self.unacknowledged = ack;
        let oldest = self.flight.front().map(|flight| flight.begin);
        self.stream.release(oldest);
        news.advanced = true;
        if self.flight.is_empty() {
            self.since_asked = 0;
            // As in `Stream::take_released`: few frames at a time use few cache lines.
            self.flight.clear();
        }
        self.conclude(&mut news);
        news
    }

    /// A frame on its way has arrived.
    #[inline]
    fn arrived(&mut self, flight: &Flight, now: u64, least_ns: Option<u64>, news: &mut News) {
        news.frames += 1;
        let ns = now.saturating_sub(flight.sent_at);
        if !flight.repeated {
            news.round_trip_ns = Some(ns);
            news.round_trip_ns_asked = flight.asking.then_some(ns);
        }
        // Which transmission of a repeated frame has arrived is not said: the last one only if it
        // had the time to.
        let certain = !flight.repeated || !flight.doubtful && ns >= least_ns.unwrap_or(u64::MAX);
        if certain && (flight.stamp.wrapping_sub(self.stamp_arrived) as i32) > 0 {
            self.stamp_arrived = flight.stamp;
        }
    }

    /// After a time-out, the first answer tells whether frames were lost or only late.
    #[inline]
    fn conclude(&mut self, news: &mut News) {
        if self.allowance == u32::MAX {
            return;
        }
        if news.spurious {
            self.take_back();
        } else if news.advanced && self.lost > 0 {
            self.allowance = self.allowance.saturating_mul(2);
            let index = self.first_lost();
            news.lost = Some(self.flight[index].stamp);
        }
        if self.lost == 0 {
            self.allowance = u32::MAX;
        }
    }

    /// What was taken for lost is on its way after all, except what the peer misses.
    fn take_back(&mut self) {
        for flight in &mut self.flight {
            if flight.fate == Fate::Presumed {
                flight.fate = Fate::Sent;
                self.lost -= 1;
            }
        }
        self.allowance = u32::MAX;
    }

    /// Frames beyond `ack` that are there although `ack` is not: bit `i` stands for `ack + 1 + i`.
    /// Then looks which of the others are lost.
    pub fn note_kept(
        &mut self,
        now: u64,
        ack: u32,
        bitmap: &[u8],
        least_ns: Option<u64>,
        news: &mut News,
    ) {
        if ack != self.unacknowledged {
            return;
        }
        for (byte, &bits) in bitmap.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let index = 1 + byte * 8 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(flight) = self.flight.get_mut(index) else {
                    continue;
                };
                if flight.fate == Fate::Kept {
                    continue;
                }
                let was = core::mem::replace(&mut flight.fate, Fate::Kept);
                self.kept += 1;
                if was.is_to_be_repeated() {
                    self.lost -= 1;
                    news.frames += 1;
                    news.spurious |= was == Fate::Presumed;
                } else {
                    let flight = self.flight[index].clone();
                    self.arrived(&flight, now, least_ns, news);
                }
            }
        }
        self.conclude(news);
        self.find_lost(news);
    }

    /// A frame is lost when one that left [`REORDER_FRAMES`] later has arrived; when there are not
    /// so many and none will follow, when the last one has (RFC 5827, early retransmit).
    fn find_lost(&mut self, news: &mut News) {
        let later = (self.flight.len() as u32).saturating_sub(1).max(1);
        let enough = if self.stream.has_uncut() {
            REORDER_FRAMES
        } else {
            REORDER_FRAMES.min(later)
        };
        for index in 0..self.flight.len() {
            let flight = &mut self.flight[index];
            let overtaken = self.stamp_arrived.wrapping_sub(flight.stamp) as i32;
            if flight.fate == Fate::Sent && overtaken >= enough as i32 {
                flight.fate = Fate::Lost;
                let sequence = self.unacknowledged.wrapping_add(index as u32);
                if self.lost == 0 || (sequence.wrapping_sub(self.lost_from) as i32) < 0 {
                    self.lost_from = sequence;
                }
                self.lost += 1;
                let newest = news.lost.unwrap_or(flight.stamp);
                let newer = (flight.stamp.wrapping_sub(newest) as i32) > 0;
                news.lost = Some(if newer { flight.stamp } else { newest });
            }
        }
    }

    /// Go-back-N: the peer misses `ack`, and everything behind it has been thrown away. Says which
    /// transmission was lost; `None` if there is nothing to go back to, or if the same was heard
    /// before the last repeat can have arrived.
    pub fn go_back(&mut self, now: u64, ack: u32, patience_ns: u64) -> Option<u32> {
        if ack != self.unacknowledged || self.flight.is_empty() {
            return None;
        }
        if let Some((sequence, at)) = self.went_back
            && sequence == ack
            && now.saturating_sub(at) < patience_ns
        {
            return None;
        }
        self.went_back = Some((ack, now));
        let stamp = self.flight[0].stamp;
        self.lose_all(Fate::Lost);
        self.allowance = u32::MAX;
        Some(stamp)
    }

    /// The oldest frame has been on its way for too long. It is repeated alone; the others follow
    /// when its answer shows that they are missing.
    pub fn time_out(&mut self) {
        self.lose_all(Fate::Presumed);
        self.allowance = 1;
    }

    /// Takes all frames for lost that are not known to be there. The oldest cannot be there,
    /// whatever was said: else it would be acknowledged.
    fn lose_all(&mut self, fate: Fate) {
        for (index, flight) in self.flight.iter_mut().enumerate() {
            match flight.fate {
                Fate::Sent => self.lost += 1,
                Fate::Kept if index == 0 => {
                    self.kept -= 1;
                    self.lost += 1;
                }
                Fate::Presumed => {}
                Fate::Lost | Fate::Kept => continue,
            }
            flight.fate = fate;
        }
        self.lost_from = self.unacknowledged;
    }

    /// Whether frames wait to be repeated.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }
}

impl<M: Hash> Sender<M> {
    /// What decides about the next action; ages beyond `age_ns_max` are all alike, and
    /// transmissions are counted from the newest one, since only differences matter.
    pub fn digest<H: Hasher>(&self, now: u64, age_ns_max: u64, state: &mut H) {
        let age_ns = |at| age_ns_max.min(now - at);
        self.stream.digest(state);
        (self.unacknowledged, self.lost, self.kept).hash(state);
        (self.allowance, self.since_asked).hash(state);
        self.stamp_next.wrapping_sub(self.stamp_arrived).hash(state);
        for flight in &self.flight {
            let age = self.stamp_next.wrapping_sub(flight.stamp);
            let marks = (flight.fate, flight.repeated, flight.doubtful);
            (flight.length, age, marks, age_ns(flight.sent_at)).hash(state);
        }
        self.went_back
            .map(|(sequence, at)| (sequence, age_ns(at)))
            .hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After 2^31 frames without a loss, what was noted of the last loss lies ahead of everything,
    /// as far as 32 bits can tell.
    #[test]
    fn a_loss_is_repeated_after_any_number_of_frames_without_one() {
        let config = Config {
            payload_bytes_max: 100,
            first_sequence: 5,
            ..Config::new(0, 1)
        };
        for frames in [1u32 << 30, 1 << 31, (1 << 31) + 7, 3 << 30] {
            let mut sender = Sender::new(&config);
            sender.unacknowledged = sender.unacknowledged.wrapping_add(frames);
            sender.stamp_next = frames;
            sender.stamp_arrived = frames.wrapping_sub(1);
            sender.stream.push(0u8, 480);
            while sender.take(&config, 0, 256).is_some() {}
            let first = sender.unacknowledged;
            let mut news = News::default();
            sender.note_kept(1, first, &[0b1110], Some(1), &mut news);
            let repeats = core::iter::from_fn(|| sender.take(&config, 1, 256));
            let repeats: alloc::vec::Vec<u32> = repeats
                .map(|cut| cut.sequence.wrapping_sub(first))
                .collect();
            assert_eq!(repeats, [0, 1], "after {frames} frames");
        }
    }
}
