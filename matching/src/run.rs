//! Receives that all have the same pattern, in the order in which they were posted.
//!
//! Programs post windows of receives from one sender under one tag. While nothing else waits they
//! need no index: the oldest one is at the front. One that is cancelled leaves a gap, which is
//! passed over when it comes to the front, so the front is never a gap.

use alloc::boxed::Box;

use oxmpi_wire::Envelope;

use crate::pattern::Pattern;

/// Receives in a run, with its gaps: four windows of 64. A power of two. They take 256 × 24 bytes
/// where values are of 8 bytes.
const RUN_MAX: usize = 256;

pub(crate) struct Run<P> {
    pattern: Pattern,
    /// By stamp - 1, modulo the length.
    slots: Box<[Slot<P>]>,
    /// Stamp of the last one that was posted, and of the last one before the front.
    posted: u64,
    taken: u64,
    /// Those between, without gaps.
    live: usize,
}

#[derive(Clone, Copy)]
struct Slot<P> {
    capacity_bytes: u64,
    /// `None`: a gap, or unused.
    value: Option<P>,
}

const NOWHERE: Pattern = Pattern {
    context: 0,
    source: None,
    tag: None,
    signature: 0,
};

impl<P: Copy> Run<P> {
    pub(crate) fn new() -> Run<P> {
        let unused = Slot {
            capacity_bytes: 0,
            value: None,
        };
        Run {
            pattern: NOWHERE,
            slots: alloc::vec![unused; RUN_MAX].into_boxed_slice(),
            posted: 0,
            taken: 0,
            live: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Whether a receive with that pattern can be appended.
    #[inline(always)]
    pub(crate) fn takes(&self, pattern: &Pattern) -> bool {
        self.live == 0 || self.posted - self.taken < RUN_MAX as u64 && self.is_of(pattern)
    }

    /// Signatures do not count: nothing is matched by them.
    #[inline(always)]
    fn is_of(&self, pattern: &Pattern) -> bool {
        self.pattern.context == pattern.context
            && self.pattern.source == pattern.source
            && self.pattern.tag == pattern.tag
    }

    /// Appends a receive, after [`Run::takes`]; its stamp.
    #[inline(always)]
    pub(crate) fn push(&mut self, pattern: Pattern, capacity_bytes: u64, value: P) -> u64 {
        self.pattern = pattern;
        let slot = self.slot_mut(self.posted + 1);
        slot.capacity_bytes = capacity_bytes;
        slot.value = Some(value);
        self.posted += 1;
        self.live += 1;
        self.posted
    }

    /// The oldest receive and its capacity, if it accepts the message.
    #[inline(always)]
    pub(crate) fn front(&self, envelope: &Envelope) -> Option<(&P, u64)> {
        if self.live == 0 || !self.pattern.accepts(envelope) {
            return None;
        }
        let slot = self.slot(self.taken + 1);
        slot.value
            .as_ref()
            .map(|value| (value, slot.capacity_bytes))
    }

    /// Takes out the oldest receive, if it accepts the message.
    #[inline(always)]
    pub(crate) fn take(&mut self, envelope: &Envelope) -> Option<(P, u64)> {
        let (value, capacity_bytes) = self.front(envelope)?;
        let taken = (*value, capacity_bytes);
        self.remove(self.taken + 1);
        Some(taken)
    }

    /// Takes out the receive with that stamp, if it still waits.
    pub(crate) fn cancel(&mut self, stamp: u64) -> Option<P> {
        if stamp <= self.taken || stamp > self.posted {
            return None;
        }
        let value = self.slot(stamp).value?;
        self.remove(stamp);
        Some(value)
    }

    #[inline(always)]
    fn remove(&mut self, stamp: u64) {
        self.slot_mut(stamp).value = None;
        self.live -= 1;
        while self.taken < self.posted && self.slot(self.taken + 1).value.is_none() {
            self.taken += 1;
        }
    }

    /// Stamps, pattern and values of those that wait, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Pattern, &P)> {
        (self.taken + 1..=self.posted).filter_map(|stamp| {
            let value = self.slot(stamp).value.as_ref()?;
            Some((stamp, self.pattern, value))
        })
    }

    #[inline(always)]
    fn slot(&self, stamp: u64) -> &Slot<P> {
        &self.slots[(stamp - 1) as usize & (RUN_MAX - 1)]
    }

    #[inline(always)]
    fn slot_mut(&mut self, stamp: u64) -> &mut Slot<P> {
        &mut self.slots[(stamp - 1) as usize & (RUN_MAX - 1)]
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use oxmpi_wire::{Content, Envelope};

    use super::*;

    const PATTERN: Pattern = Pattern {
        context: 3,
        source: Some(1),
        tag: None,
        signature: 0,
    };

    fn message(source: u32) -> Envelope {
        Envelope {
            context: 3,
            source,
            tag: 9,
            content: Content::new(8, 0),
        }
    }

    #[test]
    fn receives_are_taken_in_the_order_in_which_they_were_posted() {
        let mut run = Run::new();
        for value in 0..10_000_u32 {
            assert!(run.takes(&PATTERN));
            run.push(PATTERN, 8, value);
            if value % 3 == 2 {
                assert_eq!(run.take(&message(2)), None);
                for back in [2, 1, 0] {
                    assert_eq!(run.take(&message(1)), Some((value - back, 8)));
                }
            }
        }
    }

    #[test]
    fn gaps_are_passed_over_wherever_they_are() {
        for cancelled in [[0, 1], [0, 3], [1, 2], [2, 3], [3, 1]] {
            let mut run = Run::new();
            let stamps: Vec<u64> = (0..4).map(|value| run.push(PATTERN, 8, value)).collect();
            for at in cancelled {
                assert_eq!(run.cancel(stamps[at as usize]), Some(at));
                assert_eq!(run.cancel(stamps[at as usize]), None);
            }
            let left: Vec<i32> = (0..4).filter(|value| !cancelled.contains(value)).collect();
            assert_eq!(
                run.iter().map(|(_, _, value)| *value).collect::<Vec<_>>(),
                left
            );
            for value in left {
                assert_eq!(run.take(&message(1)), Some((value, 8)));
            }
            assert_eq!((run.len(), run.take(&message(1))), (0, None));
        }
    }

    #[test]
    fn a_full_run_and_another_pattern_are_refused() {
        let mut run = Run::new();
        let stamps: Vec<u64> = (0..RUN_MAX)
            .map(|value| run.push(PATTERN, 8, value))
            .collect();
        assert!(!run.takes(&PATTERN));
        run.cancel(stamps[1]);
        assert!(!run.takes(&PATTERN), "a gap keeps its slot");
        run.cancel(stamps[0]);
        assert!(run.takes(&PATTERN));
        let any = Pattern {
            source: None,
            ..PATTERN
        };
        assert!(!run.takes(&any));
        stamps[2..].iter().for_each(|stamp| _ = run.cancel(*stamp));
        assert!(run.takes(&any), "an empty run is of no pattern");
    }
}
