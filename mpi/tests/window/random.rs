//! Random programs of mixed operations and epochs against a sequential oracle, by seed.
//!
//! Every rank makes the same plan from the seed. In a round each word of each window is given to
//! one kind of access: written by one operation, combined by any rank with one commutative
//! operation, replaced by the accumulations of one rank (which are ordered), compared and swapped
//! once, or read. So the standard defines the outcome, and the oracle is a loop.
//!
//! On hosts (`cargo xtask hosts 2`) the networks between them are used, in the clear and encrypted;
//! without hosts shared memory and loopback. `OXMPI_TEST_LONG` makes it many programs.

use oxmpi_core::ErrorKind;
use oxmpi_core::buffer::Buffer;
use oxmpi_core::process::Threads;
use oxmpi_core::window::{Elements, Flavor, LockKind, Target};
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::{Op, Predefined};

use super::ground::{NONE, Random, Rank, Words, long};

const ROUNDS: u32 = 8;
const OPERATIONS: u64 = 48;
pub const WORDS: usize = 6000;

/// Programs of one seed: one, or many where there is time.
fn programs() -> u32 {
    match std::env::var_os("OXMPI_TEST_LONG") {
        Some(_) => 25,
        None => 1,
    }
}

/// Shared memory, with and without the kernel's copies, and loopback, both homes of progress, and
/// what differs most on them.
const HERE: [oxmpi_harness::Setting; 8] = [
    &[],
    &[("OXMPI_SINGLE_COPY", "off")],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp")],
    &[
        ("OXMPI_SHARED_MEMORY", "off"),
        ("OXMPI_NET", "tcp"),
        ("OXMPI_PROGRESS", "sock"),
    ],
    &[
        ("OXMPI_SHARED_MEMORY", "off"),
        ("OXMPI_NET", "udp"),
        ("OXMPI_DRIVER", "off"),
    ],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")],
    &[
        ("OXMPI_SHARED_MEMORY", "off"),
        ("OXMPI_NET", "tcp"),
        ("OXMPI_ENCRYPT", "on"),
    ],
    &[
        ("OXMPI_SHARED_MEMORY", "off"),
        ("OXMPI_NET", "udp"),
        ("OXMPI_ENCRYPT", "on"),
    ],
];

/// Between hosts by whatever network the environment names; the last one is for TCP alone.
const BETWEEN_HOSTS: [oxmpi_harness::Setting; 3] = [
    &[],
    &[("OXMPI_ENCRYPT", "on")],
    &[("OXMPI_PROGRESS", "sock")],
];

fn settings() -> &'static [oxmpi_harness::Setting] {
    let by_tcp = std::env::var("OXMPI_NET").is_ok_and(|network| network == "tcp");
    match std::env::var_os("OXMPI_HOST") {
        Some(_) if by_tcp => &BETWEEN_HOSTS,
        Some(_) => &BETWEEN_HOSTS[..2],
        None => &HERE,
    }
}

/// The seed of the environment, or one that is new every time.
pub fn seed() -> u64 {
    let given = std::env::var("OXMPI_TEST_SEED");
    let given = given.ok().and_then(|seed| seed.parse().ok());
    let clock = std::time::SystemTime::UNIX_EPOCH.elapsed();
    given.unwrap_or_else(|| clock.map_or(1, |time| time.as_nanos() as u64))
}

#[derive(Clone, Copy, PartialEq)]
pub enum Access {
    Put,
    Get,
    Combine(Predefined),
    Fetch(Predefined),
    /// An accumulation with MPI_REPLACE: those of one rank take effect in order.
    Replace,
    /// MPI_Compare_and_swap of one word; it finds what it compares with if its value is even.
    Swap,
}

/// An operation of the plan: words `first + k * stride`, `count` of them.
#[derive(Clone, Copy)]
pub struct Planned {
    pub origin: u32,
    pub target: u32,
    first: usize,
    count: usize,
    stride: usize,
    pub access: Access,
    value: u64,
}

impl Planned {
    pub fn places(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.stride)
    }

    pub fn values(self) -> Vec<u64> {
        (0..self.count as u64).map(|at| self.value + at).collect()
    }
}

/// Operations of a round of which no two conflict.
pub fn plan(random: &mut Random, size: u32) -> Vec<Planned> {
    let ops = [Predefined::Sum, Predefined::Max, Predefined::BitXor];
    let mut owners = vec![vec![None; WORDS]; size as usize];
    let mut planned = Vec::new();
    for _ in 0..OPERATIONS {
        let op = ops[random.below(3) as usize];
        let access = match random.below(6) {
            0 => Access::Put,
            1 => Access::Get,
            2 => Access::Combine(op),
            3 => Access::Fetch(op),
            4 => Access::Replace,
            _ => Access::Swap,
        };
        let count = match random.below(4) {
            _ if access == Access::Swap => 1,
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
            Access::Replace => Some(1000 + operation.origin as usize),
            Access::Put | Access::Fetch(_) | Access::Swap => None,
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
pub fn oracle(state: &mut [Vec<u64>], planned: &[Planned]) -> Vec<Vec<u64>> {
    let mut read = Vec::new();
    for operation in planned {
        let window = &mut state[operation.target as usize];
        read.push(operation.places().map(|place| window[place]).collect());
        for (place, value) in operation.places().zip(operation.values()) {
            match operation.access {
                Access::Put | Access::Replace => window[place] = value,
                Access::Swap if value % 2 == 0 => window[place] = value,
                Access::Get | Access::Swap => {}
                Access::Combine(op) | Access::Fetch(op) => {
                    window[place] = combined(op, window[place], value);
                }
            }
        }
    }
    read
}

/// An operation's memory at its origin, until it is completed.
pub struct Made {
    planned: usize,
    values: Vec<u64>,
    into: Vec<u64>,
    /// What a swap compares with.
    compare: Box<u64>,
}

/// Begins an operation; `before` is what its first word holds.
pub fn perform(
    words: &Words,
    operation: &Planned,
    planned: usize,
    before: u64,
    via_request: bool,
) -> Result<Made, ErrorKind> {
    let element = long();
    let at_target = Datatype::vector(operation.count as i64, 1, operation.stride as i64, &element);
    let at_target = at_target.unwrap();
    at_target.commit();
    let mut made = Made {
        planned,
        values: operation.values(),
        into: vec![0; operation.count],
        compare: Box::new(before.wrapping_add(operation.value % 2)),
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
    let replace = Predefined::Replace;
    match (operation.access, via_request) {
        (Access::Put, false) => window.put(&out, &target)?,
        (Access::Put, true) => window.rput(&out, &target)?.wait().map(drop)?,
        (Access::Get, false) => window.get(&into, &target)?,
        (Access::Get, true) => window.rget(&into, &target)?.wait().map(drop)?,
        (Access::Combine(op), true) => {
            let request = window.raccumulate(elements(&out), &target, &Op::Predefined(op));
            request?.wait().map(drop)?;
        }
        (Access::Combine(op), false) => {
            window.accumulate(elements(&out), &target, &Op::Predefined(op))?;
        }
        (Access::Replace, _) => {
            window.accumulate(elements(&out), &target, &Op::Predefined(replace))?;
        }
        (Access::Fetch(op), _) => {
            let (out, into, op) = (elements(&out), elements(&into), Op::Predefined(op));
            match via_request {
                false => window.get_accumulate(out, into, &target, &op)?,
                true => {
                    let request = window.rget_accumulate(out, into, &target, &op)?;
                    { request }.wait().map(drop)?;
                }
            }
        }
        (Access::Swap, _) => {
            let one = Target {
                datatype: &element,
                ..target
            };
            let (new, compare) = (made.values.as_ptr(), &raw const *made.compare);
            let found = made.into.as_mut_ptr();
            // SAFETY: all three stay where they are until the operation is completed.
            unsafe {
                window.compare_and_swap(new.cast(), compare.cast(), found.cast(), &one)?;
            }
        }
    }
    Ok(made)
}

/// The ways in which a round may be synchronised.
fn perform_round(
    rank: &Rank,
    words: &Words,
    planned: &[Planned],
    read: &[Vec<u64>],
    way: u64,
) -> Vec<Made> {
    let window = &words.window;
    let perform = |operation: &Planned, at: usize, via_request| {
        perform(words, operation, at, read[at][0], via_request).unwrap()
    };
    let mine = planned.iter().enumerate();
    let mine = mine.filter(|(_, operation)| operation.origin == rank.rank());
    let mut made = Vec::new();
    match way {
        0 => {
            window.fence(NONE).unwrap();
            made.extend(mine.map(|(at, operation)| perform(operation, at, false)));
            window.fence(NONE).unwrap();
        }
        1 => {
            window.lock_all(NONE).unwrap();
            for (at, operation) in mine {
                made.push(perform(operation, at, at % 3 == 0));
                match at % 9 {
                    0 => window.flush(Some(operation.target)).unwrap(),
                    2 => window.flush_all().unwrap(),
                    4 => window.flush_local(Some(operation.target)).unwrap(),
                    6 => window.flush_local_all().unwrap(),
                    _ => {}
                }
            }
            window.unlock_all().unwrap();
            rank.barrier();
        }
        2 => {
            let all = rank.comm.group();
            window.post(all, NONE).unwrap();
            window.start(all, NONE).unwrap();
            made.extend(mine.map(|(at, operation)| perform(operation, at, false)));
            window.complete().unwrap();
            match made.len() % 2 {
                0 => window.wait().unwrap(),
                _ => while !window.test().unwrap() {},
            }
            rank.barrier();
        }
        _ => {
            for (at, operation) in mine {
                let kind = [LockKind::Shared, LockKind::Exclusive][at % 2];
                window.lock(kind, Some(operation.target), NONE).unwrap();
                made.push(perform(operation, at, at % 3 == 0));
                window.unlock(Some(operation.target)).unwrap();
            }
            rank.barrier();
        }
    }
    made
}

oxmpi_harness::ranks! {
    fn random_programs_do_what_the_oracle_says([2, 3], *settings()) {
        let rank = Rank::join(Threads::One);
        let mut seeds = [seed()];
        rank.bcast(&mut seeds, 0);
        println!("OXMPI_TEST_SEED={}", seeds[0]);
        let mut random = Random(seeds[0]);
        for _ in 0..programs() {
            for flavor in [Flavor::Create, Flavor::Allocate, Flavor::Dynamic] {
                program(&rank, &mut random, seeds[0], flavor);
            }
        }
        rank.end();
    }
}

fn program(rank: &Rank, random: &mut Random, seed: u64, flavor: Flavor) {
    let words = Words::new(rank, flavor, WORDS);
    let mut state = vec![vec![0_u64; WORDS]; rank.size() as usize];
    for round in 0..ROUNDS {
        let planned = plan(random, rank.size());
        let way = random.below(4);
        let read = oracle(&mut state, &planned);
        rank.barrier();
        let place = format!("seed {seed} {flavor:?} round {round} way {way}");
        for made in perform_round(rank, &words, &planned, &read, way) {
            let operation = &planned[made.planned];
            if matches!(
                operation.access,
                Access::Get | Access::Fetch(_) | Access::Swap
            ) {
                assert!(made.into == read[made.planned], "{place}");
            }
        }
        let own = words.own();
        let wrong = (0..WORDS).find(|at| own[*at] != state[rank.rank() as usize][*at]);
        assert!(wrong.is_none(), "{place} word {wrong:?}");
    }
    words.free();
}
