//! The link: both halves, their timers, and what a caller asks of them.
//!
//! Frames that leave are made in `transmit.rs`, frames that arrive are taken in `arrive.rs`; both
//! are further methods of [`Link`].

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::ack::Debt;
use crate::congestion::Congestion;
use crate::flow::Flow;
use crate::receive::{Delivered, Place, Receiver};
use crate::rtt::RoundTrip;
use crate::send::Sender;
use crate::timer::{Timer, Timers};
use crate::{Config, Counters, Recovery};

/// One conversation between two nodes. `M` is the caller's handle of a message's memory; the link
/// never looks into it.
///
/// Call order: [`send`](Link::send) while [`can_send`](Link::can_send);
/// [`poll_transmit`](Link::poll_transmit) until `None` after anything else was called, each frame
/// gathered by [`pieces`](Link::pieces) or [`control_payload`](Link::control_payload) before the
/// next [`handle_frame`](Link::handle_frame); after `handle_frame`,
/// [`poll_delivered`](Link::poll_delivered) until `None`, and
/// [`poll_released`](Link::poll_released) until `None`; [`handle_timeout`](Link::handle_timeout) at
/// [`poll_timeout`](Link::poll_timeout).
#[derive(Clone, Debug)]
pub struct Link<M> {
    pub(crate) config: Config,
    pub(crate) sender: Sender<M>,
    pub(crate) receiver: Receiver,
    pub(crate) debt: Debt,
    pub(crate) flow: Flow,
    pub(crate) probe: Probe,
    pub(crate) timers: Timers,
    pub(crate) rtt: RoundTrip,
    pub(crate) congestion: Congestion,
    pub(crate) bitmap: Vec<u8>,
    /// When the oldest question was asked that the peer has not answered.
    pub(crate) asked_at: u64,
    /// When the peer gave the last sign of life.
    pub(crate) heard_at: u64,
    pub(crate) counters: Counters,
}

/// The question whether the peer is there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Probe {
    /// It is to leave.
    pub due: bool,
    /// It left, and nothing came since.
    pub unanswered: bool,
    /// Doublings of the time until the next one.
    pub backoff: u32,
}

impl Probe {
    /// Nothing is asked.
    const NONE: Probe = Probe {
        due: false,
        unanswered: false,
        backoff: 0,
    };
}

impl<M: Copy> Link<M> {
    /// A conversation that has not begun. Takes all the memory that the link will ever have.
    /// Panics if the configuration cannot work, with the value. `now` counts nanoseconds from any
    /// origin and never goes back.
    pub fn new(config: Config, now: u64) -> Link<M> {
        config.assert_legal();
        let window_frames = config.window_frames_max;
        let mut link = Link {
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            debt: Debt::new(),
            flow: Flow::new(),
            probe: Probe::NONE,
            timers: Timers::new(),
            rtt: RoundTrip::new(now),
            congestion: Congestion::new(window_frames),
            bitmap: Vec::with_capacity(config.bitmap_bytes_max()),
            asked_at: now,
            heard_at: now,
            counters: Counters::default(),
            config,
        };
        link.counters.window_frames = link.window();
        link
    }

    /// Forgets the conversation and begins another one in the memory of the first, so that a link
    /// that was made beforehand needs none when its peer comes. Messages that were not released are
    /// not given back. Panics if the configuration needs more memory than the link has.
    pub fn renew(&mut self, config: Config, now: u64) {
        config.assert_legal();
        let (has, needs) = (
            Self::memory_bytes(&self.config),
            Self::memory_bytes(&config),
        );
        assert!(
            needs <= has
                && config.messages_max <= self.config.messages_max
                && config.recovery == Recovery::GoBackN,
            "a link with {has} bytes of memory cannot be used for {config:?}"
        );
        self.sender.renew(&config);
        self.receiver.renew(&config);
        self.debt = Debt::new();
        self.flow = Flow::new();
        self.probe = Probe::NONE;
        self.timers = Timers::new();
        self.rtt = RoundTrip::new(now);
        self.congestion = Congestion::new(config.window_frames_max);
        self.bitmap.clear();
        (self.asked_at, self.heard_at) = (now, now);
        self.counters = Counters::default();
        self.config = config;
        self.counters.window_frames = self.window();
    }

    /// What [`Link::new`] allocates: queues for `messages_max` messages and `window_frames_max`
    /// frames, and with selective repeat a window of payloads. Memory that is not used yet is not
    /// written to either.
    pub const fn memory_bytes(config: &Config) -> usize {
        Sender::<M>::bytes(config) + Receiver::bytes(config) + config.bitmap_bytes_max()
    }

    /// Whether the queue has room for a message.
    #[inline]
    pub fn can_send(&self) -> bool {
        self.sender.stream.len() < self.config.messages_max
    }

    /// Queues a message. Its memory must stay as it is until [`poll_released`](Link::poll_released)
    /// gives it back. Panics if the queue is full.
    #[inline]
    pub fn send(&mut self, now: u64, message: M, bytes: usize) {
        assert!(
            self.can_send(),
            "the queue of {} messages is full; ask can_send first",
            self.config.messages_max
        );
        self.counters.messages_out += 1;
        self.sender.stream.push(message, bytes);
        if self.flow.stopped && !self.timers.is_set(Timer::Probe) {
            self.set_probe_timer(now);
        }
    }

    /// The next run of bytes that has arrived, in order. To be called until `None` before the next
    /// frame is handled.
    #[inline]
    pub fn poll_delivered(&mut self) -> Option<Delivered> {
        let delivered = self.receiver.poll_delivered()?;
        self.counters.messages_in += u64::from(delivered.last);
        Some(delivered)
    }

    /// Whether everything that was delivered has been taken.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.receiver.is_drained()
    }

    /// The bytes of what was delivered last; `frame` is the frame just handled.
    #[inline]
    pub fn bytes<'a>(&'a self, delivered: &Delivered, frame: &'a [u8]) -> &'a [u8] {
        match &delivered.place {
            Place::Frame(range) => &frame[range.clone()],
            Place::Kept(slot, range) => self.receiver.kept_bytes(*slot, range),
        }
    }

    /// The next message that the peer has wholly, in the order of sending.
    #[inline]
    pub fn poll_released(&mut self) -> Option<M> {
        self.sender.stream.take_released()
    }

    /// When to call [`handle_timeout`](Link::handle_timeout), if nothing else happens until then.
    #[inline]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.timers.next()
    }

    /// Time has passed; afterwards there may be something to transmit.
    pub fn handle_timeout(&mut self, now: u64) {
        if self.timers.take_expired(Timer::Ack, now) && self.debt.owed > 0 {
            self.debt.ack_due = true;
        }
        if self.timers.take_expired(Timer::Probe, now) {
            let stalled = self.flow.stopped && self.sender.has_work();
            if stalled || self.probe.unanswered {
                self.probe.due = true;
                self.probe.backoff = (self.probe.backoff + 1).min(u32::BITS);
            }
        }
        if self.timers.take_expired(Timer::Repeat, now) && self.sender.in_flight() > 0 {
            self.counters.timeouts += 1;
            self.rtt.back_off();
            self.sender.time_out();
        }
        self.assert_awake();
    }

    /// Whoever waits for something has a timer, or something to transmit: no link stalls because
    /// one frame was lost.
    #[inline]
    pub(crate) fn assert_awake(&self) {
        let moving = self.sender.in_flight() == 0 || self.sender.has_lost();
        let timer = if self.flow.stopped {
            self.probe.due || self.timers.is_set(Timer::Probe)
        } else {
            self.timers.is_set(Timer::Repeat)
        };
        assert!(
            timer || (moving && !self.flow.stopped) || !self.sender.has_work(),
            "frames are unacknowledged and no timer runs"
        );
    }

    /// How many frames wait in the device, when no frame is at hand to say it with: so that GO
    /// leaves when they have become few.
    #[inline]
    pub fn note_backlog(&mut self, now: u64, backlog: usize) {
        let rto_ns = self.rtt.rto_ns(&self.config);
        self.flow.note_backlog(&self.config, now, backlog, rto_ns);
    }

    /// Acknowledgements that are owed leave now: the process is about to sleep, to compute or to
    /// leave.
    #[inline]
    pub fn force_ack(&mut self) {
        if self.debt.owed > 0 {
            self.debt.ack_due = true;
        }
    }

    /// Asks for a sign of life, unless an answer is awaited already.
    pub fn probe(&mut self, _now: u64) {
        if !self.probe.unanswered {
            self.probe.due = true;
        }
    }

    /// Nothing is queued, unacknowledged or owed.
    pub fn is_quiet(&self) -> bool {
        !self.sender.has_work() && self.debt.owed == 0 && !self.wants_control()
    }

    /// Since when the peer owes an answer without having given any sign of life; `None` if it owes
    /// nothing.
    pub fn silent_since(&self) -> Option<u64> {
        let owes = self.sender.in_flight() > 0 || self.probe.unanswered;
        owes.then(|| self.asked_at.max(self.heard_at))
    }

    /// Whether the peer has owed an answer for longer than `dead_after_ns`.
    pub fn is_dead(&self, now: u64) -> bool {
        self.silent_since()
            .is_some_and(|since| now.saturating_sub(since) > self.config.dead_after_ns)
    }

    /// What has been counted.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the link was told when it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Frames that may be on their way.
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        if self.config.congestion {
            self.congestion.window_frames()
        } else {
            self.config.window_frames_max
        }
    }

    pub(crate) fn set_probe_timer(&mut self, now: u64) {
        let rto_ns = self.rtt.rto_ns(&self.config);
        let interval = rto_ns.saturating_mul(1 << self.probe.backoff.min(32));
        let interval = interval.min(self.config.rto_ns_max);
        self.timers.set(Timer::Probe, now + interval);
    }
}

impl<M: Hash> Link<M> {
    /// Everything that decides about what the link does next, with times relative to `now`: two
    /// links with the same digest behave alike, as long as time-outs do not depend on measurements
    /// (`rto_ns_min` equal to `rto_ns_max`). For model checkers, which have to recognise states.
    #[doc(hidden)]
    pub fn digest<H: Hasher>(&self, now: u64, state: &mut H) {
        self.sender.digest(now, 2 * self.config.rto_ns_max, state);
        self.receiver.digest(self.config.window_frames_max, state);
        self.debt.digest(now, state);
        self.flow.digest(now, state);
        self.probe.hash(state);
        self.timers.distances(now).hash(state);
        self.rtt.least_ns().hash(state);
    }
}
