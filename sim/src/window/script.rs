//! What each rank does, drawn before the run: epochs of every kind, operations in them.
//!
//! A part of a window is words of 8 bytes. Each region of it is for one kind of operation, because
//! the standard leaves open what comes of different kinds that meet (MPI 5.0 §12.7): a counter that
//! is read and written back under exclusive locks, a pair that such locks write and shared ones
//! read, words of fetches, of swaps and of accumulations, and a region of puts and gets.

use std::ops::Range;

use oxmpi_windows::LockKind;

use crate::random::Random;

/// Bytes of a word.
pub(super) const WORD: usize = 8;
/// The words of a part, by what is done to them.
pub(super) const COUNTER: usize = 0;
pub(super) const PAIR: usize = 1;
pub(super) const FETCHED: usize = 3;
pub(super) const SWAPPED: usize = 4;
pub(super) const SUMS: Range<usize> = 5..21;
pub(super) const PUT: Range<usize> = 21..85;
/// Bytes of a part.
pub(super) const PART_BYTES: usize = 85 * WORD;

/// A call of the program, or a step of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Lock(LockKind, u32),
    Unlock(u32),
    LockAll,
    UnlockAll,
    Flush(u32),
    FlushAll,
    FlushLocal(u32),
    FlushLocalAll,
    Fence,
    /// The second half of a fence: the ranks meet in rounds, this one and those that follow.
    Meet(u32),
    Post(Vec<u32>),
    Start(Vec<u32>),
    Complete(Vec<u32>),
    /// Its second half.
    Completed(Vec<u32>),
    Wait(Vec<u32>),
    /// Writes so many words of the region of puts.
    Put {
        target: u32,
        first: usize,
        words: usize,
    },
    /// Reads them.
    Get {
        target: u32,
        first: usize,
        words: usize,
    },
    /// Adds to the word of fetches and reads it.
    Fetch {
        target: u32,
        add: i64,
    },
    /// Adds to so many words of sums.
    Accumulate {
        target: u32,
        first: usize,
        words: usize,
        add: i64,
    },
    /// Swaps the word of swaps if it is what this rank saw last.
    Swap {
        target: u32,
    },
    /// Reads the counter; [`Action::WriteCounter`] follows behind a flush.
    ReadCounter(u32),
    /// Writes the counter plus one, and the pair.
    WriteCounter(u32),
    /// Reads the pair.
    ReadPair(u32),
    /// Writes behind the end of the part.
    PutOutside(u32),
    /// Looks at the own part by loads.
    Look,
}

impl Action {
    /// Whose part an operation accesses, or is about to.
    pub(super) fn target(&self) -> Option<u32> {
        match self {
            Action::Lock(_, target)
            | Action::Flush(target)
            | Action::FlushLocal(target)
            | Action::Put { target, .. }
            | Action::Get { target, .. }
            | Action::Fetch { target, .. }
            | Action::Accumulate { target, .. }
            | Action::Swap { target }
            | Action::ReadCounter(target)
            | Action::WriteCounter(target)
            | Action::ReadPair(target)
            | Action::PutOutside(target) => Some(*target),
            _ => None,
        }
    }
}

/// The programs of all ranks.
pub(super) fn draw(size: u32, work: u32, deaths: bool, random: &mut Random) -> Vec<Vec<Action>> {
    let mut scripts = vec![Vec::new(); size as usize];
    let everybody: Vec<u32> = (0..size).collect();
    // Calls that need a rank come to nothing once it has died.
    let phases: &[u32] = if deaths {
        &[0, 1, 2, 2, 2, 2]
    } else {
        &[0, 1, 2, 2]
    };
    let mut made = 0;
    while made < work {
        let phase = random.pick(phases);
        match phase {
            0 => {
                fence(&mut scripts);
                for script in &mut scripts {
                    operations(script, &everybody, false, random);
                }
                fence(&mut scripts);
            }
            1 => started(&mut scripts, &everybody, random),
            _ => {
                for script in &mut scripts {
                    for _ in 0..1 + random.below(4) {
                        locked(script, &everybody, random);
                    }
                }
            }
        }
        made += 1;
    }
    scripts
}

fn fence(scripts: &mut [Vec<Action>]) {
    for script in scripts {
        script.extend([Action::Fence, Action::Look]);
    }
}

/// Some ranks expose their parts to some others.
fn started(scripts: &mut [Vec<Action>], everybody: &[u32], random: &mut Random) {
    let mut edges = Vec::new();
    for origin in everybody {
        for target in everybody {
            if origin != target && random.chance(40) {
                edges.push((*origin, *target));
            }
        }
    }
    for rank in everybody {
        let of = |mine: fn(&(u32, u32)) -> u32, other: fn(&(u32, u32)) -> u32| {
            let edges = edges.iter().filter(|edge| mine(edge) == *rank);
            edges.map(other).collect::<Vec<u32>>()
        };
        let origins = of(|edge| edge.1, |edge| edge.0);
        let targets = of(|edge| edge.0, |edge| edge.1);
        let script = &mut scripts[*rank as usize];
        script.extend([
            Action::Post(origins.clone()),
            Action::Start(targets.clone()),
        ]);
        operations(script, &targets, false, random);
        script.extend([Action::Complete(targets), Action::Wait(origins)]);
    }
}

fn locked(script: &mut Vec<Action>, everybody: &[u32], random: &mut Random) {
    let target = random.pick(everybody);
    match random.below(5) {
        // Nothing else in the world tells whether the lock excludes.
        0 | 1 => script.extend([
            Action::Lock(LockKind::Exclusive, target),
            Action::ReadCounter(target),
            Action::Flush(target),
            Action::WriteCounter(target),
            Action::Unlock(target),
        ]),
        2 => {
            script.extend([
                Action::Lock(LockKind::Shared, target),
                Action::ReadPair(target),
            ]);
            operations(script, &[target], true, random);
            script.push(Action::Unlock(target));
        }
        3 => {
            let kind = random.pick(&[LockKind::Shared, LockKind::Exclusive]);
            script.push(Action::Lock(kind, target));
            operations(script, &[target], true, random);
            script.push(Action::Unlock(target));
        }
        _ => {
            script.push(Action::LockAll);
            operations(script, everybody, true, random);
            script.push(Action::UnlockAll);
        }
    }
}

fn operations(script: &mut Vec<Action>, targets: &[u32], flushes: bool, random: &mut Random) {
    if targets.is_empty() {
        return;
    }
    for _ in 0..random.below(8) {
        let target = random.pick(targets);
        let words = random.pick(&[1, 1, 2, 16, 64]).min(PUT.len());
        let first = PUT.start + random.below((PUT.len() - words) as u64 + 1) as usize;
        let add = 1 + random.below(100) as i64;
        script.push(match random.below(10) {
            0..=2 => Action::Put {
                target,
                first,
                words,
            },
            3 | 4 => Action::Get {
                target,
                first,
                words,
            },
            5 => Action::Fetch { target, add },
            6 => {
                let words = random.pick(&[1, 3, SUMS.len()]);
                let first = SUMS.start + random.below((SUMS.len() - words) as u64 + 1) as usize;
                Action::Accumulate {
                    target,
                    first,
                    words,
                    add,
                }
            }
            7 => Action::Swap { target },
            8 if flushes => match random.below(5) {
                0 => Action::FlushAll,
                1 => Action::FlushLocal(target),
                2 => Action::FlushLocalAll,
                _ => Action::Flush(target),
            },
            8 => Action::Get {
                target,
                first,
                words,
            },
            _ => Action::PutOutside(target),
        });
    }
}
