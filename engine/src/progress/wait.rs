//! How to wait: spin, yield or sleep.
//!
//! Measured on a 2-core machine: a message seen by a spinning receiver arrives in 0.16 µs, one that
//! has to wake its receiver in 30; but two spinners on one core cost a scheduler tick, 4000 µs,
//! where yielding costs 0.8. So who has a core to itself spins, who shares it yields, and both
//! sleep after a while. Ranks and usable CPUs are known at the start. What nobody tells us (other
//! jobs, other containers, hosts that are parts of one machine) shows in the time that others had
//! our CPU (`preemption`): a spinner that looks at the clock and finds part of a time slice gone
//! has been preempted, and is wary from then on, for a while. A spinner is not preempted by a rank
//! that yields to it at once: of two on one CPU it would spin until it loses patience, sleep, and
//! find the message there, again and again. So who is woken soon after falling asleep, several times
//! in a row, is wary, too.
//!
//! A wary thread still spins first, and yields after that. The other thread on the CPU may be a
//! program that computes: a yield then gives it a whole time slice, thousands of times what the
//! next message takes, and spinning is right. Or it may be the very rank that is waited for: then
//! only a yield helps. The policy tells them apart by what happened: each message that came while
//! the thread spun doubles the looks before the first yield, each that did not halves them. Unless
//! the yields took as long as a program computes: beside that, spinning for longer costs little,
//! also in vain, and it is long enough for a sender that has fallen asleep meanwhile.

use std::time::{Duration, Instant};

use super::preemption::Sample;
use crate::options::{Options, WaitMode};

/// Steps between two looks at the clock; with the looks at the rings that each of them makes, some
/// ten microseconds.
const LOOKS_PER_CLOCK: u32 = 128;
/// See [`WaitPolicy::direct_looks`].
const DIRECT_LOOKS: u32 = 128;
/// For how long something outside the engine is looked at, and nothing else.
const CONDITION_TIME: Duration = Duration::from_micros(4);
/// Looks at it between two looks at the clock: each is a load or two and a pause, which takes 40
/// cycles on some processors and 140 on others.
const CONDITION_LOOKS: u32 = 32;
/// A loss of this length between two looks at the clock means that another thread computes on the
/// CPU: a tenth of a time slice.
const LOSS: Duration = Duration::from_micros(400);
/// How long to be wary after a loss, at first and at most: who is preempted again soon after is
/// wary for twice as long.
const WARY: Duration = Duration::from_millis(100);
const WARY_MAX: Duration = Duration::from_secs(1);
/// What wakes a thread so soon after it fell asleep may have waited for its CPU.
const PROMPT: Duration = Duration::from_micros(100);
/// So many times in a row are no coincidence.
const PROMPTS_MAX: u32 = 3;
/// Looks of a wary thread before its first yield, at most: some forty microseconds, in which a long
/// message arrives whose sender is running.
const WARY_LOOKS_MAX: u32 = 512;
/// The same when the last yields were dear: some 160 microseconds, so that a sender wakes up, which
/// takes 30 to 60, and sends.
const DEAR_LOOKS: u32 = 4 * WARY_LOOKS_MAX;
/// A wait with yields that takes so long was spent beside a program that computes: a quarter of a
/// time slice. [`DEAR_LOOKS`] in vain are less than a sixth of it.
const DEAR: Duration = Duration::from_millis(1);
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
    /// How often in a row a spinner was woken as soon as it slept.
    prompts: u32,
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
            prompts: 0,
            sample: None,
        }
    }

    /// Whether ranks outnumber CPUs.
    pub fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Whether others are known to need the CPU, and spinning was not asked for.
    pub fn shares_cpus(&self) -> bool {
        match self.mode {
            WaitMode::Yield => true,
            WaitMode::Auto | WaitMode::Sleep => self.oversubscribed,
            WaitMode::Spin => false,
        }
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

    /// Whether nobody else is known to need the CPU and spinning was not forbidden.
    #[inline(always)]
    pub fn is_calm(&self) -> bool {
        self.unhurried && self.wary_until.is_none() && self.mode != WaitMode::Sleep
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
        // What the yields of a wary thread take is timed from the first one on.
        let is_timed = waiting.since.is_some() || self.wary_until.is_none();
        if yields && waiting.looks % 8 != 1 && is_timed {
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

    /// The thread has slept so long since it lost patience, and is awake at `now`.
    pub fn slept(&mut self, slept: Duration, now: Instant) {
        let spun = self.mode == WaitMode::Auto && self.is_calm();
        self.prompts = match spun && slept < PROMPT {
            true => self.prompts + 1,
            false => 0,
        };
        if self.prompts >= PROMPTS_MAX {
            self.prompts = 0;
            self.grow_wary(now);
        }
    }

    /// Something arrived: the wait is patient anew, and a wary policy learns whether spinning pays.
    #[inline(always)]
    pub fn arrived(&mut self, waiting: &mut Waiting) {
        if self.wary_until.is_some() && waiting.looks > 0 {
            self.learn(waiting);
        }
        waiting.reset();
    }

    #[cold]
    fn learn(&mut self, waiting: &Waiting) {
        let looks = self.wary_looks;
        self.wary_looks = if waiting.looks <= looks {
            looks.max((2 * looks).min(WARY_LOOKS_MAX))
        } else if waiting.since.is_some_and(|since| since.elapsed() > DEAR) {
            DEAR_LOOKS
        } else {
            (looks.min(WARY_LOOKS_MAX) / 2).max(1)
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

/// Whether something comes true within [`CONDITION_TIME`].
#[inline(always)]
pub fn comes_true_soon(mut is_met: impl FnMut() -> bool) -> bool {
    let mut until = None;
    loop {
        for _ in 0..CONDITION_LOOKS {
            std::hint::spin_loop();
            if is_met() {
                return true;
            }
        }
        let now = Instant::now();
        if now >= *until.get_or_insert(now + CONDITION_TIME) {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_looked_at_for_so_long_whatever_a_look_takes() {
        for wanted in [1, CONDITION_LOOKS] {
            let mut looks = 0;
            let is_met = || {
                looks += 1;
                looks == wanted
            };
            assert!(comes_true_soon(is_met));
        }
        for pause in [Duration::ZERO, Duration::from_nanos(200)] {
            // A try that is preempted takes longer than it should.
            let tries = (0..100).map(|_| {
                let begun = Instant::now();
                assert!(!comes_true_soon(|| {
                    let look = Instant::now();
                    while look.elapsed() < pause {}
                    false
                }));
                begun.elapsed()
            });
            let shortest = tries.min().unwrap();
            assert!(shortest >= CONDITION_TIME, "{shortest:?}");
            assert!(shortest < 10 * CONDITION_TIME, "{shortest:?}");
        }
    }

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
        // However long a busy machine keeps this thread.
        policy.wary_until = Some(Instant::now() + Duration::from_secs(3600));
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
        assert!(!wary(WARY_LOOKS_MAX).is_calm());
        assert!(WaitPolicy::new(&Options::default(), false).is_calm());
        assert!(!WaitPolicy::new(&Options::default(), true).is_calm());
    }

    #[test]
    fn who_is_woken_as_soon_as_it_sleeps_grows_wary() {
        let now = Instant::now();
        let soon = PROMPT / 2;
        let mut policy = WaitPolicy::new(&Options::default(), false);
        for _ in 0..PROMPTS_MAX {
            policy.slept(soon, now);
            policy.slept(2 * PROMPT, now);
        }
        assert!(policy.is_calm(), "now and then is a coincidence");
        for _ in 0..PROMPTS_MAX {
            assert!(policy.is_calm());
            policy.slept(soon, now);
        }
        assert!(!policy.is_calm());
        let told = Options {
            wait: WaitMode::Sleep,
            ..Options::default()
        };
        for (options, oversubscribed) in [(told, false), (Options::default(), true)] {
            let mut policy = WaitPolicy::new(&options, oversubscribed);
            (0..2 * PROMPTS_MAX).for_each(|_| policy.slept(soon, now));
            assert!(policy.wary_until.is_none(), "it did not spin");
        }
    }

    #[test]
    fn spinning_is_given_up_when_only_yields_help_and_taken_up_when_it_pays() {
        let mut policy = wary(WARY_LOOKS_MAX);
        let arrive_after = |policy: &mut WaitPolicy, looks| {
            let mut waiting = Waiting::default();
            (0..looks).for_each(|_| _ = policy.next(&mut waiting));
            // However long a busy machine has kept this thread.
            waiting.since = None;
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
    fn yields_that_take_a_time_slice_are_put_off() {
        let mut policy = wary(1);
        let wait = |policy: &mut WaitPolicy, yield_time: Duration| {
            let mut waiting = Waiting::default();
            while policy.next(&mut waiting) == Step::Spin {}
            std::thread::sleep(yield_time);
            policy.arrived(&mut waiting);
        };
        wait(&mut policy, 2 * DEAR);
        assert_eq!(policy.wary_looks, DEAR_LOOKS);
        assert_eq!(looks_before_a_yield(&mut policy), DEAR_LOOKS);
        let mut waiting = Waiting::default();
        policy.next(&mut waiting);
        policy.arrived(&mut waiting);
        assert_eq!(policy.wary_looks, DEAR_LOOKS, "as long as it pays");
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
