//! How to wait: spin, yield or sleep.
//!
//! Measured on a 2-core machine: a message seen by a spinning receiver arrives in 0.16 µs, one that
//! has to wake its receiver in 30; but two spinners on one core cost a scheduler tick, 4000 µs,
//! where yielding costs 0.8. So who has a core to itself spins, who shares it yields, and both
//! sleep after a while. Ranks and usable CPUs are known at the start. What nobody tells us (other
//! jobs, other containers, hosts that are parts of one machine) shows in the time that others had
//! our CPU (`preemption`): a spinner that looks at the clock and finds part of a time slice gone
//! has been preempted, and is wary from then on, for a while.
//!
//! A wary thread still spins first, and yields after that. The other thread on the CPU may be a
//! program that computes: a yield then gives it a whole time slice, thousands of times what the
//! next message takes, and spinning is right. Or it may be the very rank that is waited for: then
//! only a yield helps. The policy tells them apart by what happened: each message that came while
//! the thread spun doubles the looks before the first yield, each that did not halves them.

use std::time::{Duration, Instant};

use super::preemption::Sample;
use crate::options::{Options, WaitMode};

/// Steps between two looks at the clock; with the looks at the rings that each of them makes, some
/// ten microseconds.
const LOOKS_PER_CLOCK: u32 = 128;
/// See [`WaitPolicy::direct_looks`].
const DIRECT_LOOKS: u32 = 128;
/// A loss of this length between two looks at the clock means that another thread computes on the
/// CPU: a tenth of a time slice.
const LOSS: Duration = Duration::from_micros(400);
/// How long to be wary after a loss, at first and at most: who is preempted again soon after is
/// wary for twice as long.
const WARY: Duration = Duration::from_millis(100);
const WARY_MAX: Duration = Duration::from_secs(1);
/// Looks of a wary thread before its first yield, at most: some forty microseconds, in which a long
/// message arrives whose sender is running.
const WARY_LOOKS_MAX: u32 = 512;
/// A yield that takes this long let somebody compute: better sleep, a waking thread is scheduled
/// sooner than a yielding one.
const LONG_YIELD: Duration = Duration::from_millis(2);

/// What a waiting thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look again at once.
    Spin,
    /// Let others run, then look again.
    Yield,
    /// Sleep until something arrives.
    Sleep,
}

/// A process's policy.
#[derive(Debug)]
pub struct WaitPolicy {
    mode: WaitMode,
    patience: Duration,
    /// More ranks than CPUs.
    oversubscribed: bool,
    /// Looks without a look at the clock are allowed: nobody else needs the CPU as far as we know,
    /// and nobody said to yield.
    unhurried: bool,
    /// Preempted while spinning: yield until then.
    wary_until: Option<Instant>,
    /// How long the last such time was, and when it ended.
    wary: Duration,
    wary_ended: Option<Instant>,
    /// Looks before the first yield while wary: what has paid off lately.
    wary_looks: u32,
    /// What the kernel said at the last look at the clock of a spinner that has not slept since.
    sample: Option<Sample>,
}

/// One wait.
#[derive(Debug, Default)]
pub struct Waiting {
    looks: u32,
    since: Option<Instant>,
    last: Option<Instant>,
}

impl WaitPolicy {
    /// `oversubscribed`: there are more ranks than CPUs.
    pub fn new(options: &Options, oversubscribed: bool) -> Self {
        Self {
            mode: options.wait,
            patience: options.patience,
            oversubscribed,
            unhurried: !oversubscribed && options.wait != WaitMode::Yield,
            wary_until: None,
            wary: WARY,
            wary_ended: None,
            wary_looks: WARY_LOOKS_MAX,
            sample: None,
        }
    }

    /// Whether ranks outnumber CPUs.
    pub fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Looks before a receive is posted, in the hope to find its message in the ring: about two
    /// microseconds where spinning is right, one look where it is not.
    #[inline(always)]
    pub fn direct_looks(&self) -> u32 {
        if !self.unhurried || self.mode == WaitMode::Sleep {
            1
        } else if self.wary_until.is_none() {
            DIRECT_LOOKS
        } else {
            self.wary_looks.min(DIRECT_LOOKS)
        }
    }

    /// Whether a wait that has made so many looks yields.
    fn yields(&self, looks: u32) -> bool {
        match self.mode {
            WaitMode::Auto if self.oversubscribed => true,
            WaitMode::Auto => self.wary_until.is_some() && looks > self.wary_looks,
            WaitMode::Yield => true,
            WaitMode::Spin | WaitMode::Sleep => false,
        }
    }

    /// The next step of a wait that found nothing.
    #[inline(always)]
    pub fn next(&mut self, waiting: &mut Waiting) -> Step {
        waiting.looks += 1;
        if self.unhurried
            && !waiting.looks.is_multiple_of(LOOKS_PER_CLOCK)
            && (self.wary_until.is_none() || waiting.looks <= self.wary_looks)
        {
            return if self.mode == WaitMode::Sleep {
                Step::Sleep
            } else {
                Step::Spin
            };
        }
        self.next_by_clock(waiting)
    }

    #[inline(never)]
    fn next_by_clock(&mut self, waiting: &mut Waiting) -> Step {
        if self.mode == WaitMode::Sleep {
            return Step::Sleep;
        }
        let yields = self.yields(waiting.looks);
        if yields && waiting.looks % 8 != 1 {
            return Step::Yield;
        }
        let now = Instant::now();
        let since = *waiting.since.get_or_insert(now);
        let hole = waiting.last.replace(now).map(|last| now - last);
        if self.wary_until.is_some_and(|until| now >= until) {
            self.wary_until = None;
            self.wary_ended = Some(now);
        }
        if self.mode == WaitMode::Auto && !self.oversubscribed && self.wary_until.is_none() {
            let sample = Sample::take(now);
            let before = self.sample.replace(sample);
            if before.is_some_and(|before| sample.lost_since(&before) > LOSS) {
                self.grow_wary(now);
            }
        }
        let never_sleeps = matches!(self.mode, WaitMode::Spin | WaitMode::Yield);
        let starved = yields && hole.is_some_and(|hole| hole > 8 * LONG_YIELD);
        if !never_sleeps && (now - since > self.patience || starved) {
            self.sample = None;
            return Step::Sleep;
        }
        if self.yields(waiting.looks) {
            Step::Yield
        } else {
            Step::Spin
        }
    }

    /// Something arrived: the wait is patient anew, and a wary policy learns whether spinning pays.
    #[inline(always)]
    pub fn arrived(&mut self, waiting: &mut Waiting) {
        if self.wary_until.is_some() && waiting.looks > 0 {
            self.learn(waiting.looks);
        }
        waiting.reset();
    }

    #[cold]
    fn learn(&mut self, looks: u32) {
        self.wary_looks = if looks <= self.wary_looks {
            (2 * self.wary_looks).min(WARY_LOOKS_MAX)
        } else {
            (self.wary_looks / 2).max(1)
        };
    }

    /// Others need the CPU.
    #[cold]
    fn grow_wary(&mut self, now: Instant) {
        let again = self.wary_ended.is_some_and(|ended| now - ended < self.wary);
        self.wary = if again {
            (2 * self.wary).min(WARY_MAX)
        } else {
            WARY
        };
        self.wary_until = Some(now + self.wary);
        self.sample = None;
    }
}

impl Waiting {
    /// Something arrived: be patient anew.
    #[inline(always)]
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(options: &Options, oversubscribed: bool) -> Vec<Step> {
        let mut policy = WaitPolicy::new(options, oversubscribed);
        let mut waiting = Waiting::default();
        let mut steps = vec![];
        loop {
            let step = policy.next(&mut waiting);
            if steps.last() != Some(&step) {
                steps.push(step);
            }
            if step == Step::Sleep {
                return steps;
            }
        }
    }

    #[test]
    fn who_shares_a_cpu_never_spins() {
        assert_eq!(steps(&Options::default(), true), [Step::Yield, Step::Sleep]);
    }

    #[test]
    fn who_has_a_cpu_spins_then_sleeps() {
        // A busy test machine may preempt the spinner, and then it yields in between.
        let steps = steps(&Options::default(), false);
        assert_eq!(
            (steps[0], *steps.last().unwrap()),
            (Step::Spin, Step::Sleep)
        );
    }

    /// A policy that has been preempted just now, and its looks before the first yield.
    fn wary(looks: u32) -> WaitPolicy {
        let mut policy = WaitPolicy::new(&Options::default(), false);
        policy.grow_wary(Instant::now());
        policy.wary_looks = looks;
        policy
    }

    fn looks_before_a_yield(policy: &mut WaitPolicy) -> u32 {
        let mut waiting = Waiting::default();
        while policy.next(&mut waiting) == Step::Spin {}
        waiting.looks - 1
    }

    #[test]
    fn who_was_preempted_spins_before_it_yields() {
        for looks in [1, 2, 64, WARY_LOOKS_MAX] {
            assert_eq!(looks_before_a_yield(&mut wary(looks)), looks);
        }
        assert_eq!(wary(WARY_LOOKS_MAX).direct_looks(), DIRECT_LOOKS);
        assert_eq!(wary(1).direct_looks(), 1);
    }

    #[test]
    fn spinning_is_given_up_when_only_yields_help_and_taken_up_when_it_pays() {
        let mut policy = wary(WARY_LOOKS_MAX);
        let arrive_after = |policy: &mut WaitPolicy, looks| {
            let mut waiting = Waiting::default();
            (0..looks).for_each(|_| _ = policy.next(&mut waiting));
            policy.arrived(&mut waiting);
            assert_eq!(waiting.looks, 0, "the next wait is patient anew");
        };
        for _ in 0..10 {
            arrive_after(&mut policy, WARY_LOOKS_MAX + 1);
        }
        assert_eq!(policy.wary_looks, 1);
        for _ in 0..10 {
            arrive_after(&mut policy, 1);
        }
        assert_eq!(policy.wary_looks, WARY_LOOKS_MAX);
        arrive_after(&mut policy, 0);
        assert_eq!(policy.wary_looks, WARY_LOOKS_MAX, "nothing was waited for");
    }

    #[test]
    fn who_is_told_to_spin_never_yields() {
        let options = Options {
            wait: WaitMode::Spin,
            ..Options::default()
        };
        let mut policy = WaitPolicy::new(&options, false);
        let mut waiting = Waiting::default();
        assert!((0..100_000).all(|_| policy.next(&mut waiting) == Step::Spin));
        assert_eq!(policy.direct_looks(), DIRECT_LOOKS);
    }

    #[test]
    fn yield_is_obeyed_at_every_look() {
        let options = Options {
            wait: WaitMode::Yield,
            ..Options::default()
        };
        for oversubscribed in [false, true] {
            let mut policy = WaitPolicy::new(&options, oversubscribed);
            let mut waiting = Waiting::default();
            assert!((0..1000).all(|_| policy.next(&mut waiting) == Step::Yield));
        }
    }

    #[test]
    fn sleep_is_obeyed_at_once() {
        let options = Options {
            wait: WaitMode::Sleep,
            ..Options::default()
        };
        assert_eq!(steps(&options, false), [Step::Sleep]);
    }
}
