//! Frames that arrive: whether they belong to this conversation, and what follows from them.
//!
//! Who sent a frame was verified by the [`Session`](crate::Session) before. Nothing of a frame is
//! believed before all of it was checked; a refused frame changes one counter and nothing else.

use core::ops::Range;

use oxmpi_wire::frame::{Frame, Kind, flag};

use crate::receive::Arrival;
use crate::send::News;
use crate::timer::Timer;
use crate::{Link, Recovery, Refusal, crc};

/// What a frame brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled {
    /// What it was for.
    pub kind: Kind,
    /// What became of its data; `None` if it is not Data.
    pub arrival: Option<Arrival>,
    /// Frames of ours are acknowledged by it: there may be messages to take by
    /// [`poll_released`](Link::poll_released).
    pub advanced: bool,
}

impl<M: Copy> Link<M> {
    /// Takes a whole frame, header included. `backlog` is how many more wait in the device. Panics
    /// if the last frame's deliveries have not been taken, since their bytes may lie in this one's
    /// place.
    #[inline]
    pub fn handle_frame(
        &mut self,
        now: u64,
        bytes: &[u8],
        backlog: usize,
    ) -> Result<Handled, Refusal> {
        assert!(
            self.receiver.is_drained(),
            "call poll_delivered until None before the next handle_frame"
        );
        match self.admit(bytes) {
            Ok((frame, payload, arrival)) => Ok(self.take(now, &frame, payload, arrival, backlog)),
            Err(refusal) => {
                self.counters.count_refusal(&refusal);
                Err(refusal)
            }
        }
    }

    /// The short way for a frame of a long message, on a link on which nothing else happens: if the
    /// frame is the expected one and holds one piece of at most `bytes_max` bytes that neither
    /// begins nor ends a message, says where in the frame that piece is, and it is delivered.
    /// `None`: nothing has changed, and [`handle_frame`](Link::handle_frame) takes it.
    #[inline]
    pub fn take_middle(
        &mut self,
        now: u64,
        bytes: &[u8],
        bytes_max: usize,
    ) -> Option<Range<usize>> {
        let (frame, payload) = Frame::parse(bytes).ok()?;
        let config = &self.config;
        let ours = frame.name == config.name_in
            && frame.to == config.me
            && frame.channel == config.channel_in;
        let sealed = u16::from(config.sealed) * flag::SEALED;
        let plain =
            frame.kind == Kind::Data && frame.flags & !flag::ASKING == sealed && !config.checked;
        let calm = !self.flow.stopped && !self.flow.stopping && !self.probe.unanswered;
        if !(ours && plain && calm && self.sender.is_oldest(frame.ack)) {
            return None;
        }
        let piece = self
            .receiver
            .accept_middle(frame.sequence, payload, bytes_max)?;
        self.heard_at = now;
        self.hear_data(now, &frame, Some(Arrival::InOrder));
        Some(piece)
    }

    /// Checks everything about a frame, and gives its data to the receiving half, which has the
    /// last word.
    #[inline]
    fn admit<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<(Frame, &'a [u8], Option<Arrival>), Refusal> {
        let (frame, payload) = Frame::parse(bytes).map_err(Refusal::Frame)?;
        let config = &self.config;
        if frame.name != config.name_in || frame.to != config.me {
            let Frame { name, to, .. } = frame;
            return Err(Refusal::Node { name, to });
        }
        if frame.channel != config.channel_in {
            return Err(Refusal::Channel {
                found: frame.channel,
                expected: config.channel_in,
            });
        }
        if frame.has(flag::CHECKED) {
            let computed = crc::of_frame(bytes);
            if frame.crc != computed {
                let found = frame.crc;
                return Err(Refusal::Checksum { found, computed });
            }
        } else if config.checked {
            return Err(Refusal::Unchecked);
        }
        if frame.has(flag::SEALED) != config.sealed {
            return Err(Refusal::Seal {
                found: !config.sealed,
            });
        }
        if matches!(frame.kind, Kind::Hello | Kind::Welcome) {
            return Err(Refusal::Kind);
        }
        if self.sender.is_impossible(frame.ack) {
            return Err(Refusal::Ack {
                found: frame.ack,
                next: self.sender.next_sequence(),
            });
        }
        if frame.kind != Kind::Data {
            return Ok((frame, payload, None));
        }
        let sequence = frame.sequence;
        let accepted = self.receiver.accept(config, sequence, payload);
        let arrival = accepted.map_err(|_| Refusal::Pieces { sequence })?;
        Ok((frame, payload, Some(arrival)))
    }

    #[inline]
    fn take(
        &mut self,
        now: u64,
        frame: &Frame,
        payload: &[u8],
        arrival: Option<Arrival>,
        backlog: usize,
    ) -> Handled {
        self.heard_at = now;
        let asked = self.probe.unanswered;
        self.hear_life();
        self.hear_stop(now, frame.has(flag::STOPPED));
        let advanced = self.hear_ack(now, frame, payload);
        match frame.kind {
            Kind::Data => self.hear_data(now, frame, arrival),
            Kind::Ack => {
                self.counters.acks_in += 1;
                if !advanced && !asked && !frame.has(flag::SELECTIVE) {
                    self.rtt.needless_repeat();
                }
            }
            Kind::Lose => self.hear_lose(now, frame.ack),
            Kind::Stop => self.counters.stop_in += 1,
            Kind::Go => self.counters.go_in += 1,
            Kind::Probe => {
                self.counters.probe_in += 1;
                self.debt.ack_due = true;
            }
            Kind::Hello | Kind::Welcome => unreachable!("admit refused it"),
        }
        let rto_ns = self.rtt.rto_ns(&self.config);
        self.flow.note_backlog(&self.config, now, backlog, rto_ns);
        self.assert_awake();
        Handled {
            kind: frame.kind,
            arrival,
            advanced,
        }
    }

    /// Any frame answers a probe, except that a stopped sender goes on asking.
    #[inline]
    fn hear_life(&mut self) {
        if self.probe.unanswered {
            self.probe.unanswered = false;
            if !self.flow.stopped {
                self.probe.backoff = 0;
                self.timers.clear(Timer::Probe);
            }
        }
    }

    /// Every frame says whether its sender wants silence.
    #[inline]
    fn hear_stop(&mut self, now: u64, stopped: bool) {
        if stopped == self.flow.stopped {
            return;
        }
        self.flow.stopped = stopped;
        self.probe.backoff = 0;
        if stopped {
            self.timers.clear(Timer::Repeat);
            if self.sender.has_work() {
                self.set_probe_timer(now);
            }
        } else {
            self.probe.due = false;
            self.timers.clear(Timer::Probe);
            self.restart_repeat_timer(now);
        }
    }

    #[inline]
    fn restart_repeat_timer(&mut self, now: u64) {
        if self.sender.in_flight() > 0 && !self.flow.stopped {
            let rto_ns = self.rtt.rto_ns(&self.config);
            self.timers.set(Timer::Repeat, now + rto_ns);
        } else {
            self.timers.clear(Timer::Repeat);
        }
    }

    #[inline]
    fn hear_ack(&mut self, now: u64, frame: &Frame, payload: &[u8]) -> bool {
        let outstanding = self.sender.outstanding();
        let least_ns = self.rtt.least_ns();
        let mut news = self.sender.acknowledge(now, frame.ack, least_ns);
        if frame.has(flag::SELECTIVE) {
            self.sender
                .note_kept(now, frame.ack, payload, least_ns, &mut news);
        }
        if news.frames > 0 {
            self.learn(now, &news, outstanding);
        }
        if news.advanced || news.spurious {
            self.restart_repeat_timer(now);
        }
        news.advanced
    }

    #[inline]
    fn learn(&mut self, now: u64, news: &News, outstanding: u32) {
        if let Some(ns) = news.round_trip_ns {
            self.rtt.sample(now, ns);
            self.counters.round_trip_ns = self.rtt.smoothed_ns().unwrap_or(0);
            self.counters.round_trip_ns_least = self.rtt.least_ns().unwrap_or(0);
        } else if news.advanced {
            self.rtt.progress();
        }
        self.counters.timeouts_spurious += u64::from(news.spurious);
        if self.config.congestion {
            self.obey(news, outstanding);
        }
    }

    /// The window follows what became of the frames.
    fn obey(&mut self, news: &News, outstanding: u32) {
        let next = self.sender.next_stamp();
        let limited = outstanding.saturating_mul(2) >= self.congestion.window_frames();
        match news.lost {
            Some(lost) => self.congestion.lose(lost, next),
            None => self.congestion.grow(news.frames, limited),
        }
        if let (Some(ns), Some(least)) = (news.round_trip_ns_asked, self.rtt.least_ns()) {
            let arrived = self.sender.arrived_stamp();
            self.congestion.measure(ns, least, arrived, next);
        }
        self.counters.window_frames = self.window();
    }

    #[inline]
    fn hear_data(&mut self, now: u64, frame: &Frame, arrival: Option<Arrival>) {
        let asking = frame.has(flag::ASKING);
        match arrival.expect("Data was given to the receiving half") {
            Arrival::InOrder => {
                self.counters.data_in += 1;
                let kept = self.receiver.kept();
                self.debt.in_order(&self.config, asking, kept);
            }
            Arrival::Duplicate => {
                self.counters.duplicates += 1;
                self.debt.duplicate(self.config.recovery);
            }
            arrival @ (Arrival::Kept | Arrival::TooEarly) => {
                self.counters.out_of_order += 1;
                self.counters.kept += u64::from(arrival == Arrival::Kept);
                let rto_ns = self.rtt.rto_ns(&self.config);
                self.debt
                    .too_early(&self.config, now, frame.sequence, asking, rto_ns);
            }
        }
        if self.debt.owed > 0 && !self.timers.is_set(Timer::Ack) {
            self.timers.set(Timer::Ack, now + self.config.ack_delay_ns);
        }
        if self.flow.stopping {
            let rto_ns = self.rtt.rto_ns(&self.config);
            self.flow.note_data(now, rto_ns);
        }
    }

    /// Go-back-N returns to the missing frame; selective repeat has learned from the bitmap what is
    /// missing.
    fn hear_lose(&mut self, now: u64, ack: u32) {
        self.counters.lose_in += 1;
        if self.config.recovery == Recovery::Selective {
            return;
        }
        let patience_ns = self.rtt.least_ns().unwrap_or(self.config.rto_ns_min / 2);
        if let Some(lost) = self.sender.go_back(now, ack, patience_ns)
            && self.config.congestion
        {
            let next = self.sender.next_stamp();
            self.congestion.lose(lost, next);
            self.counters.window_frames = self.window();
        }
    }
}
