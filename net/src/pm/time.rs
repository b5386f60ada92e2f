//! Time: the links' timers, processes that have been silent for too long, and how long a sleeper
//! may sleep.

use std::time::{Duration, Instant};

use super::liveness::{Liveness, Verdict};
use super::{Line, Partner, Pm, Standing, Way};

/// Between two looks after silent processes: while there are any, and otherwise.
const ROUND_NS: u64 = 250_000_000;
const ROUND_NS_WATCHFUL: u64 = 20_000_000;
/// A sleeper looks after its conversations this often.
const NAP_MAX: Duration = Duration::from_secs(1);
const NAP_MAX_WATCHFUL: Duration = Duration::from_millis(20);
/// The device tells when frames come, not when it can take some.
const NAP_MAX_STUCK: Duration = Duration::from_micros(200);
/// A process that nothing has come from for so long is asked for a sign of life.
const QUESTION_NS: u64 = 3_000_000_000;
/// An acknowledgement waits no longer for a message to go with when nothing has come for so long:
/// an answer would have left.
const SETTLED_NS: u64 = 10_000;
/// The clock begins later than 0, so that 0 is long ago.
const ORIGIN_NS: u64 = 60_000_000_000;

/// Nanoseconds since this process began to talk.
pub(super) struct Clock(Instant);

impl Clock {
    pub fn new() -> Clock {
        Clock(Instant::now())
    }

    #[inline(always)]
    pub fn now(&self) -> u64 {
        let elapsed = self.0.elapsed();
        ORIGIN_NS + elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
    }
}

impl Pm {
    /// Makes it safe to sleep until [`Pm::fd`] is readable. False if there is something to do
    /// first.
    pub fn prepare_sleep(&mut self) -> bool {
        let busy = self.current.is_some() || self.shown.is_some() || self.unhandled.is_some();
        if busy || !self.events.is_empty() {
            return false;
        }
        if !self.active.is_empty() {
            self.flush_unsent();
        }
        if !self.owing.is_empty() {
            self.settle();
        }
        let mut ready = true;
        for line in &mut self.lines {
            // All of them, because each may have to be told.
            ready &= line.device.prepare_sleep();
        }
        ready && self.events.is_empty()
    }

    /// How long a sleeper may sleep.
    pub fn nap_max(&self) -> Option<Duration> {
        let devices = self.lines.iter().filter_map(|line| line.device.nap_max());
        let devices = devices.min();
        if self.open == 0 {
            return devices;
        }
        let now = self.clock.now();
        let mut nap = if self.watchful || self.says_goodbye {
            NAP_MAX_WATCHFUL
        } else {
            NAP_MAX
        };
        if self.lines.iter().any(Line::is_stuck) {
            nap = nap.min(NAP_MAX_STUCK);
        }
        for way in &self.timed {
            if let Standing::Open(partner) = &self.partners[way.peer as usize]
                && let Some(conversation) = &partner.ways[way.rail]
                && let Some(due) = conversation.link.poll_timeout()
            {
                nap = nap.min(Duration::from_nanos(due.saturating_sub(now)));
            }
        }
        Some(devices.map_or(nap, |devices| nap.min(devices)))
    }

    /// Somebody slept: time has passed.
    pub fn handle_waking(&mut self) {
        self.bulk_looks = super::receive::BULK_LOOKS;
        self.looks = 0;
        self.look_at_clock();
    }

    /// Does what is due.
    #[inline(never)]
    pub(super) fn look_at_clock(&mut self) {
        let now = self.clock.now();
        self.now = now;
        if now >= self.nearest {
            self.handle_timers(now);
        }
        if !self.owing.is_empty() && now - self.frame_at > SETTLED_NS {
            self.settle();
        }
        for rail in 0..self.lines.len() {
            while let Some(address) = self.lines[rail].device.refused() {
                self.handle_refusal(rail, &address, now);
            }
        }
        if now >= self.round_at {
            self.make_round(now);
        }
        if !self.active.is_empty() {
            self.flush_unsent();
        }
    }

    #[cold]
    fn handle_timers(&mut self, now: u64) {
        self.nearest = u64::MAX;
        let mut timed = std::mem::take(&mut self.timed);
        timed.retain(|&way| {
            let Some(conversation) = self.conversation(way) else {
                return false;
            };
            let due = conversation.link.poll_timeout();
            if due.is_some_and(|due| due <= now) {
                conversation.link.handle_timeout(now);
                conversation.try_next_address(now, false);
            }
            let due = conversation.link.poll_timeout();
            let wants = conversation.link.wants_transmit(now);
            conversation.is_timed = due.is_some();
            self.nearest = self.nearest.min(due.unwrap_or(u64::MAX));
            if wants {
                self.activate(way);
            }
            due.is_some()
        });
        self.timed = timed;
    }

    /// A host says that nobody takes frames at an address.
    #[cold]
    fn handle_refusal(&mut self, rail: usize, address: &crate::device::Address, now: u64) {
        for standing in &mut self.partners {
            if let Standing::Open(partner) = standing
                && let Some(conversation) = &mut partner.ways[rail]
                && conversation.address() == address
                && !conversation.try_next_address(now, true)
            {
                partner.refused = true;
                self.round_at = 0;
            }
        }
    }

    /// Looks after processes that have been silent for long.
    #[cold]
    fn make_round(&mut self, now: u64) {
        self.watchful = false;
        let mut lost = Vec::new();
        for peer in 0..self.partners.len() as u32 {
            let Standing::Open(partner) = &mut self.partners[peer as usize] else {
                continue;
            };
            if partner.paused && partner.owes_nothing() {
                // It may end without a word, and frames of ours that come late are then refused:
                // that is no loss.
                partner.refused = false;
            }
            let suspect_after = self.options.suspect_after.as_nanos() as u64;
            let silence = partner.silence(now);
            let is_suspect =
                partner.refused || silence.is_some_and(|silence| silence > suspect_after);
            if silence.is_some() || partner.refused {
                self.watchful = true;
            }
            if !is_suspect {
                partner.liveness = None;
            } else if partner.liveness.is_none() {
                self.counters.liveness += 1;
                partner.liveness = Some(partner.begin_vigil(now));
            }
            let verdict = partner.look_after(now, self.options.dead_after);
            if let Some(what) = verdict {
                lost.push((peer, what));
                continue;
            }
            if !partner.paused && partner.goodbye.is_none() {
                let question = partner.ask(now);
                if question {
                    self.activate(Way { peer, rail: 0 });
                }
            }
        }
        for (peer, what) in lost {
            self.lose(peer, what);
        }
        if self.says_goodbye {
            for peer in 0..self.partners.len() as u32 {
                self.part(peer, now);
            }
            self.says_goodbye = !self.is_closed();
        }
        let watchful = self.watchful || self.says_goodbye;
        self.round_at = now
            + if watchful {
                ROUND_NS_WATCHFUL
            } else {
                ROUND_NS
            };
    }
}

impl Partner {
    /// For how long the process has owed an answer without a sign of life on any rail; `None` if it
    /// owes none.
    fn silence(&mut self, now: u64) -> Option<u64> {
        let ways = self.ways.iter().flatten();
        let since = ways
            .clone()
            .filter_map(|way| way.link.silent_since())
            .min()?;
        let heard = ways.map(|way| way.heard_at).max().unwrap_or(0);
        Some(now.saturating_sub(since.max(heard)))
    }

    /// Whether it has everything that was sent to it.
    fn owes_nothing(&self) -> bool {
        let mut ways = self.ways.iter().flatten();
        ways.all(|way| way.outstanding == 0)
    }

    fn begin_vigil(&self, now: u64) -> Liveness {
        let at = self
            .ways
            .iter()
            .flatten()
            .find_map(|way| way.confirmed_ip());
        Liveness::begin(now, &self.probe, at)
    }

    /// Why the process is gone, if it is.
    fn look_after(&mut self, now: u64, dead_after: Duration) -> Option<String> {
        let at = |partner: &Partner| {
            let ways = partner.ways.iter().flatten();
            let ways = ways.map(|way| way.describe_addresses());
            ways.collect::<Vec<_>>().join(", ")
        };
        let liveness = self.liveness.as_mut()?;
        match liveness.look(now) {
            Verdict::Exists => {
                self.refused = false;
                None
            }
            Verdict::Gone(why) => Some(format!(
                "the process is gone: it does not answer at {}, and {why}",
                at(self)
            )),
            Verdict::Open if self.refused && self.probe.is_empty() => Some(format!(
                "the process is gone: its host says that nobody takes frames at {}",
                at(self)
            )),
            Verdict::Open if liveness.waited_ns >= dead_after.as_nanos() as u64 => {
                let seconds = dead_after.as_secs();
                let dialled = match liveness.describe() {
                    dialled if dialled.is_empty() => String::new(),
                    dialled => format!(", nor does its host at {dialled}"),
                };
                Some(format!(
                    "nothing has come from it for more than {seconds} s although it owes an answer (at {}){dialled}: the host or the network is gone",
                    at(self)
                ))
            }
            Verdict::Open => None,
        }
    }

    /// Asks for a sign of life if there has been none for long. True if the question is to be sent.
    fn ask(&mut self, now: u64) -> bool {
        let Some(conversation) = &mut self.ways[0] else {
            return false;
        };
        if now - conversation.heard_at < QUESTION_NS || conversation.link.silent_since().is_some() {
            return false;
        }
        conversation.link.probe(now);
        true
    }
}
