//! Frames that leave: which one is next, and its header.
//!
//! Control frames go first, since others wait for them; a lone acknowledgement goes last, because
//! data would carry it.

use oxmpi_wire::frame::{Frame, Kind, flag};

use crate::Link;
use crate::piece::Piece;
use crate::send::Cut;
use crate::stream::{BEGINNING, Position};
use crate::timer::Timer;

/// A frame that is to leave: its header, and which part of the queue it carries.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// The header, which the caller completes when the payload is gathered: on a checked link with
    /// a [`Checksum`](crate::Checksum), and always with the number and the proof of a
    /// [`Session`](crate::Session).
    pub frame: Frame,
    /// It was sent before.
    pub repeat: bool,
    begin: Position,
}

/// Frames from the middle of a message that are to leave one after the other, each full of one
/// piece of it.
#[derive(Clone, Copy, Debug)]
pub struct Middles<M> {
    /// The header of the first; those that follow differ only in their sequence, which counts on.
    pub frame: Frame,
    /// How many there are.
    pub frames: u32,
    /// The piece of the first one. That of each next one begins where the one before ends, and is
    /// as long.
    pub piece: Piece<M>,
}

impl<M: Copy> Link<M> {
    /// Whether [`poll_transmit`](Link::poll_transmit) has something.
    #[inline]
    pub fn wants_transmit(&self, _now: u64) -> bool {
        self.debt.ack_due || self.wants_control() || self.may_send_data()
    }

    #[inline]
    pub(crate) fn wants_control(&self) -> bool {
        self.debt.lose_due
            || self.debt.ack_due
            || self.flow.stop_due
            || self.flow.go_due
            || self.probe.due
    }

    #[inline]
    fn may_send_data(&self) -> bool {
        !self.flow.stopped && self.sender.may_transmit(&self.config, self.window())
    }

    /// The next frame that is to leave now. To be called until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: u64) -> Option<Transmit> {
        if self.wants_control()
            && let Some(transmit) = self.poll_control(now)
        {
            return Some(transmit);
        }
        if self.flow.stopped {
            return self.poll_ack(now);
        }
        match self.sender.take(&self.config, now, self.window()) {
            Some(cut) => Some(self.data(now, cut)),
            None => self.poll_ack(now),
        }
    }

    /// The short way for long messages: at most `frames_max` frames that
    /// [`poll_transmit`](Link::poll_transmit) would give now, one after the other. `None`: there
    /// are no such frames, and `poll_transmit` says what leaves next.
    #[inline]
    pub fn poll_middles(&mut self, now: u64, frames_max: u32) -> Option<Middles<M>> {
        let held = self.wants_control() || self.flow.stopped || self.config.checked;
        if held || self.receiver.kept() > 0 || !self.timers.is_set(Timer::Repeat) {
            return None;
        }
        let window = self.window();
        let taken = self
            .sender
            .take_middle(&self.config, now, window, frames_max);
        let (cut, message, bytes, frames) = taken?;
        self.counters.data_out += u64::from(frames);
        self.settle_debt();
        Some(Middles {
            frame: self.header(Kind::Data, cut.length, 0, cut.sequence),
            frames,
            piece: Piece {
                message,
                offset: cut.begin.offset,
                bytes,
                first: false,
                last: false,
            },
        })
    }

    /// The pieces that make up the payload of a Data frame; none for other kinds.
    #[inline]
    pub fn pieces(&self, transmit: &Transmit) -> impl Iterator<Item = Piece<M>> + '_ {
        let data = transmit.frame.kind == Kind::Data;
        let length = if data { transmit.frame.length } else { 0 };
        self.sender.stream.pieces(transmit.begin, length)
    }

    /// The payload of a control frame: the bitmap of a selective acknowledgement, else nothing.
    /// Valid until the next frame is polled.
    #[inline]
    pub fn control_payload(&self, transmit: &Transmit) -> &[u8] {
        if transmit.frame.has(flag::SELECTIVE) && transmit.frame.kind != Kind::Data {
            &self.bitmap
        } else {
            &[]
        }
    }

    fn poll_control(&mut self, now: u64) -> Option<Transmit> {
        if core::mem::take(&mut self.flow.stop_due) {
            self.counters.stop_out += 1;
            return Some(self.control(now, Kind::Stop));
        }
        if core::mem::take(&mut self.flow.go_due) {
            self.counters.go_out += 1;
            return Some(self.control(now, Kind::Go));
        }
        if core::mem::take(&mut self.debt.lose_due) {
            self.counters.lose_out += 1;
            return Some(self.control(now, Kind::Lose));
        }
        if core::mem::take(&mut self.probe.due) {
            self.counters.probe_out += 1;
            if self.silent_since().is_none() {
                self.asked_at = now;
            }
            self.probe.unanswered = true;
            self.set_probe_timer(now);
            return Some(self.control(now, Kind::Probe));
        }
        // Data says nothing of frames kept beyond a gap, so such an acknowledgement does not wait
        // for it.
        if self.debt.ack_due && self.receiver.kept() > 0 {
            return self.poll_ack(now);
        }
        None
    }

    #[inline]
    fn poll_ack(&mut self, now: u64) -> Option<Transmit> {
        if !self.debt.ack_due {
            return None;
        }
        self.counters.acks_out += 1;
        Some(self.control(now, Kind::Ack))
    }

    fn control(&mut self, _now: u64, kind: Kind) -> Transmit {
        let mut flags = 0;
        let mut length = 0;
        let telling = matches!(kind, Kind::Ack | Kind::Lose);
        if telling && self.receiver.kept() > 0 {
            self.receiver.write_bitmap(&self.config, &mut self.bitmap);
            if !self.bitmap.is_empty() {
                flags |= flag::SELECTIVE;
                length = self.bitmap.len() as u16;
            }
        }
        if telling || self.receiver.kept() == 0 {
            self.settle_debt();
        }
        Transmit {
            frame: self.header(kind, length, flags, 0),
            repeat: false,
            begin: BEGINNING,
        }
    }

    #[inline]
    fn data(&mut self, now: u64, cut: Cut) -> Transmit {
        if cut.repeat {
            self.counters.repeats += 1;
        } else {
            self.counters.data_out += 1;
        }
        if self.sender.in_flight() == 1 && !cut.repeat && !self.probe.unanswered {
            self.asked_at = now;
        }
        let oldest = self.sender.is_oldest(cut.sequence);
        if oldest || !self.timers.is_set(Timer::Repeat) {
            let rto_ns = self.rtt.rto_ns(&self.config);
            self.timers.set(Timer::Repeat, now + rto_ns);
        }
        if self.receiver.kept() == 0 {
            self.settle_debt();
        }
        let flags = if cut.asking { flag::ASKING } else { 0 };
        Transmit {
            frame: self.header(Kind::Data, cut.length, flags, cut.sequence),
            repeat: cut.repeat,
            begin: cut.begin,
        }
    }

    #[inline]
    fn settle_debt(&mut self) {
        self.debt.settle();
        self.timers.clear(Timer::Ack);
    }

    #[inline]
    fn header(&self, kind: Kind, length: u16, flags: u16, sequence: u32) -> Frame {
        let config = &self.config;
        let stopped = u16::from(self.flow.stopping) * flag::STOPPED;
        let checked = u16::from(config.checked) * flag::CHECKED;
        let sealed = u16::from(config.sealed) * flag::SEALED;
        Frame {
            kind,
            channel: config.channel_out,
            to: config.peer,
            name: config.name_out,
            length,
            flags: flags | stopped | checked | sealed,
            sequence,
            ack: self.receiver.expected(),
            serial: 0,
            crc: 0,
            tag: 0,
        }
    }
}
