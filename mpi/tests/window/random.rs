//! Random programs of mixed operations and epochs against a sequential oracle, by seed.
//!
//! Every rank makes the same plan from the seed. In a round each word of each window is given to
//! one kind of access: written by one rank, combined by any with one commutative operation, or
//! read. So the standard defines the outcome, and the oracle is a loop.

use oxmpi_core::buffer::Buffer;
use oxmpi_core::process::Threads;
use oxmpi_core::window::{Elements, Flavor, LockKind, Target};
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::{Op, Predefined};

use super::ground::{NONE, Random, Rank, SETTINGS, Words, long};

const ROUNDS: u32 = 12;
const OPERATIONS: u64 = 40;
const WORDS: usize = 6000;

/// The seed of the environment, or one that is new every time.
fn seed() -> u64 {
    let given = std::env::var("OXMPI_TEST_SEED");
    let given = given.ok().and_then(|seed| seed.parse().ok());
    let clock = std::time::SystemTime::UNIX_EPOCH.elapsed();
    given.unwrap_or_else(|| clock.map_or(1, |time| time.as_nanos() as u64))
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Put,
    Get,
    Combine(Predefined),
    Fetch(Predefined),
}

/// An operation of the plan: words `first + k * stride`, `count` of them.
#[derive(Clone, Copy)]
struct Planned {
    origin: u32,
    target: u32,
    first: usize,
    count: usize,
    stride: usize,
    access: Access,
    value: u64,
}

impl Planned {
    fn places(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.stride)
    }

    fn values(self) -> Vec<u64> {
        (0..self.count as u64).map(|at| self.value + at).collect()
    }
}

/// Operations of a round of which no two conflict.
fn plan(random: &mut Random, size: u32) -> Vec<Planned> {
    let ops = [Predefined::Sum, Predefined::Max, Predefined::BitXor];
    let mut owners = vec![vec![None; WORDS]; size as usize];
    let mut planned = Vec::new();
    for _ in 0..OPERATIONS {
        let op = ops[random.below(3) as usize];
        let access = match random.below(4) {
            0 => Access::Put,
            1 => Access::Get,
            2 => Access::Combine(op),
            _ => Access::Fetch(op),
        };
        let count = match random.below(4) {
            0 | 1 => 1 + random.below(4),
            2 => 1 + random.below(300),
            _ => 1 + random.below(2500),
        } as usize;
        let stride = 1 + (random.below(3) / 2) as usize;
        let operation = Planned {
            origin: random.below(u64::from(size)) as u32,
            target: random.below(u64::from(size)) as u32,
            first: random.below((WORDS - count * stride) as u64) as usize,
            count,
            stride,
            access,
            value: random.below(1 << 40),
        };
        // A fetch's result depends on order: its words are its own.
        let shares = match access {
            Access::Get => Some(1_usize),
            Access::Combine(op) => Some(2 + op as usize),
            _ => None,
        };
        let owners = &mut owners[operation.target as usize];
        let is_free = |place: usize| match owners[place] {
            None => true,
            Some(owner) => shares.is_some() && owner == shares,
        };
        if operation.places().all(is_free) {
            operation
                .places()
                .for_each(|place| owners[place] = Some(shares));
            planned.push(operation);
        }
    }
    planned
}

fn combined(op: Predefined, left: u64, right: u64) -> u64 {
    match op {
        Predefined::Sum => left.wrapping_add(right),
        Predefined::Max => left.max(right),
        _ => left ^ right,
    }
}

/// What the windows hold after a round, and what each operation read.
fn oracle(state: &mut [Vec<u64>], planned: &[Planned]) -> Vec<Vec<u64>> {
    let mut read = Vec::new();
    for operation in planned {
        let window = &mut state[operation.target as usize];
        read.push(operation.places().map(|place| window[place]).collect());
        for (place, value) in operation.places().zip(operation.values()) {
            match operation.access {
                Access::Put => window[place] = value,
                Access::Get => {}
                Access::Combine(op) | Access::Fetch(op) => {
                    window[place] = combined(op, window[place], value);
                }
            }
        }
    }
    read
}

/// An operation's memory at its origin, until it is completed.
struct Made {
    planned: usize,
    values: Vec<u64>,
    into: Vec<u64>,
}

fn perform(words: &Words, operation: &Planned, planned: usize, via_request: bool) -> Made {
    let element = long();
    let at_target = Datatype::vector(operation.count as i64, 1, operation.stride as i64, &element);
    let at_target = at_target.unwrap();
    at_target.commit();
    let mut made = Made {
        planned,
        values: operation.values(),
        into: vec![0; operation.count],
    };
    let count = operation.count as u64;
    // SAFETY: the memory stays where it is until the operation is completed.
    let (out, into) = unsafe {
        (
            Buffer::new(made.values.as_mut_ptr().cast(), count, &element).unwrap(),
            Buffer::new(made.into.as_mut_ptr().cast(), count, &element).unwrap(),
        )
    };
    let target = Target {
        rank: Some(operation.target),
        displacement: words.at(operation.target, operation.first),
        count: 1,
        datatype: &at_target,
    };
    let elements = |buffer| Elements {
        buffer,
        datatype: &element,
    };
    let window = &words.window;
    match (operation.access, via_request) {
        (Access::Put, false) => window.put(&out, &target).unwrap(),
        (Access::Get, false) => window.get(&into, &target).unwrap(),
        (Access::Combine(op), false) => window
            .accumulate(elements(&out), &target, &Op::Predefined(op))
            .unwrap(),
        (Access::Fetch(op), false) => window
            .get_accumulate(
                elements(&out),
                elements(&into),
                &target,
                &Op::Predefined(op),
            )
            .unwrap(),
        (Access::Put, true) => drop(window.rput(&out, &target).unwrap().wait().unwrap()),
        (Access::Get, true) => drop(window.rget(&into, &target).unwrap().wait().unwrap()),
        (Access::Combine(op), true) => {
            let op = Op::Predefined(op);
            let request = window.raccumulate(elements(&out), &target, &op);
            request.unwrap().wait().unwrap();
        }
        (Access::Fetch(op), true) => {
            let op = Op::Predefined(op);
            let request = window.rget_accumulate(elements(&out), elements(&into), &target, &op);
            request.unwrap().wait().unwrap();
        }
    }
    made
}

/// The ways in which a round may be synchronised.
fn perform_round(rank: &Rank, words: &Words, planned: &[Planned], way: u64) -> Vec<Made> {
    let window = &words.window;
    let mine = planned.iter().enumerate();
    let mine = mine.filter(|(_, operation)| operation.origin == rank.rank());
    let mut made = Vec::new();
    match way {
        0 => {
            window.fence(NONE).unwrap();
            made.extend(mine.map(|(at, operation)| perform(words, operation, at, false)));
            window.fence(NONE).unwrap();
        }
        1 => {
            window.lock_all(NONE).unwrap();
            for (at, operation) in mine {
                made.push(perform(words, operation, at, at % 3 == 0));
                if at % 5 == 0 {
                    window.flush(Some(operation.target)).unwrap();
                }
            }
            window.unlock_all().unwrap();
            rank.barrier();
        }
        2 => {
            let all = rank.comm.group();
            window.post(all, NONE).unwrap();
            window.start(all, NONE).unwrap();
            made.extend(mine.map(|(at, operation)| perform(words, operation, at, false)));
            window.complete().unwrap();
            window.wait().unwrap();
            rank.barrier();
        }
        _ => {
            for (at, operation) in mine {
                let kind = [LockKind::Shared, LockKind::Exclusive][at % 2];
                window.lock(kind, Some(operation.target), NONE).unwrap();
                made.push(perform(words, operation, at, at % 3 == 0));
                window.unlock(Some(operation.target)).unwrap();
            }
            rank.barrier();
        }
    }
    made
}

oxmpi_harness::ranks! {
    fn random_programs_do_what_the_oracle_says([2, 3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let mut seeds = [seed()];
        rank.bcast(&mut seeds, 0);
        println!("OXMPI_TEST_SEED={}", seeds[0]);
        let mut random = Random(seeds[0]);
        for flavor in [Flavor::Create, Flavor::Allocate, Flavor::Dynamic] {
            let words = Words::new(&rank, flavor, WORDS);
            let mut state = vec![vec![0_u64; WORDS]; rank.size() as usize];
            for round in 0..ROUNDS {
                let planned = plan(&mut random, rank.size());
                let way = random.below(4);
                let read = oracle(&mut state, &planned);
                rank.barrier();
                for made in perform_round(&rank, &words, &planned, way) {
                    let operation = &planned[made.planned];
                    if matches!(operation.access, Access::Get | Access::Fetch(_)) {
                        let is_right = made.into == read[made.planned];
                        assert!(is_right, "seed {} {flavor:?} round {round} way {way}", seeds[0]);
                    }
                }
                let is_right = words.own() == state[rank.rank() as usize];
                assert!(is_right, "seed {} {flavor:?} round {round} way {way}", seeds[0]);
            }
            words.free();
        }
        rank.end();
    }
}
