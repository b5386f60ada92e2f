//! `is`: the integer sort of the NAS Parallel Benchmarks, classes S, W, A and B.
//!
//! Keys come from NAS's generator, each the mean of four numbers, so they pile up in the middle.
//! Ten times over, every key's rank is found: keys are counted in buckets, the buckets are shared
//! out so that every rank gets about as many keys, the keys travel (alltoallv), and are counted.
//! NAS verifies five known keys after every iteration (partial) and the whole order at the end
//! (full); both are done here as defined there, and decide the exit status. NAS wants a power of
//! two of ranks; here any number will do.

use std::ops::Range;

use oxmpi::op::{Max, Sum};
use oxmpi::{Communicator, Mpi};

use crate::arguments::{Arguments, Choice, Kind};
use crate::random::Nas;
use crate::{Entry, Failure, Program, setting};

pub(crate) const ENTRY: Entry = Entry {
    program: Program {
        name: "is",
        about: "sort integers (NAS IS, classes S, W, A, B)",
    },
    options: &[Choice {
        name: "class",
        about: "how many keys",
        kind: Kind::Word(&["S", "W", "A", "B"]),
    }],
    main,
};

/// Timed iterations.
const ITERATIONS: u32 = 10;
/// Keys verified in each.
const TESTS: usize = 5;

/// A size of the problem, with the ranks NAS published for five of its keys.
#[derive(Debug)]
struct Class {
    name: &'static str,
    keys_log2: u32,
    key_max_log2: u32,
    buckets_log2: u32,
    /// Positions of the five keys in the sequence.
    test_index: [u64; TESTS],
    /// Their ranks, but for a shift that depends on the iteration.
    test_rank: [i64; TESTS],
    /// The shift: +1 or -1 times (iteration - delay) per key.
    test_shift: [(i64, i64); TESTS],
}

/// (sign, delay) of the shifts.
const UP: (i64, i64) = (1, 0);
const DOWN: (i64, i64) = (-1, 0);
const UP_LATE: (i64, i64) = (1, 1);
const DOWN_LATE: (i64, i64) = (-1, 1);
const UP_LATER: (i64, i64) = (1, 2);

const CLASSES: [Class; 4] = [
    Class {
        name: "S",
        keys_log2: 16,
        key_max_log2: 11,
        buckets_log2: 9,
        test_index: [48427, 17148, 23627, 62548, 4431],
        test_rank: [0, 18, 346, 64917, 65463],
        test_shift: [UP, UP, UP, DOWN, DOWN],
    },
    Class {
        name: "W",
        keys_log2: 20,
        key_max_log2: 16,
        buckets_log2: 10,
        test_index: [357773, 934767, 875723, 898999, 404505],
        test_rank: [1249, 11698, 1039987, 1043896, 1048018],
        test_shift: [UP_LATER, UP_LATER, DOWN, DOWN, DOWN],
    },
    Class {
        name: "A",
        keys_log2: 23,
        key_max_log2: 19,
        buckets_log2: 10,
        test_index: [2112377, 662041, 5336171, 3642833, 4250760],
        test_rank: [104, 17523, 123928, 8288932, 8388264],
        test_shift: [UP_LATE, UP_LATE, UP_LATE, DOWN_LATE, DOWN_LATE],
    },
    Class {
        name: "B",
        keys_log2: 25,
        key_max_log2: 21,
        buckets_log2: 10,
        test_index: [41869, 812306, 5102857, 18232239, 26860214],
        test_rank: [33422937, 10244, 59149, 33135281, 99],
        test_shift: [DOWN, UP, UP, DOWN, UP],
    },
];

fn main(mpi: &Mpi, arguments: &Arguments) -> Result<(), Failure> {
    let world = mpi.world();
    let name = arguments.word("class");
    let class = CLASSES
        .iter()
        .find(|class| class.name == name)
        .expect("every word has its class");
    let mut sorter = Sorter::new(&world, class);

    // NAS runs one iteration before the clock starts, to touch the memory.
    sorter.rank_keys(1)?;
    world.barrier()?;
    let start = oxmpi::wtime();
    let mut passed = 0;
    for iteration in 1..=ITERATIONS {
        let ranked = sorter.rank_keys(iteration)?;
        passed += sorter.partial_verification(iteration, &ranked);
        sorter.ranked = ranked;
    }
    let mut seconds = [oxmpi::wtime() - start];
    world.allreduce_in_place(&mut seconds, Max)?;

    let mut passed = [passed];
    world.allreduce_in_place(&mut passed, Sum)?;
    let partial = passed[0];
    let partial_wanted = u64::from(ITERATIONS) * TESTS as u64;
    let sorted = sorter.full_verification()?;
    if world.rank() == 0 {
        let keys = 1u64 << class.keys_log2;
        let mops = f64::from(ITERATIONS) * keys as f64 / seconds[0] / 1e6;
        println!("NAS IS class {name}: {keys} keys, {ITERATIONS} iterations");
        println!("partial verification: {partial} of {partial_wanted} key ranks");
        println!(
            "full verification: {}",
            if sorted { "sorted" } else { "not sorted" }
        );
        let correct = sorted && partial == partial_wanted;
        println!(
            "verification {}",
            if correct { "successful" } else { "FAILED" }
        );
        println!("{:.4} s, {mops:.2} Mop/s; {}", seconds[0], setting(mpi));
    }
    if partial != partial_wanted {
        let text =
            format!("partial verification of class {name}: {partial} of {partial_wanted} ranks");
        return Err(Failure::Wrong(text));
    }
    if !sorted {
        return Err(Failure::Wrong(format!(
            "full verification of class {name}: keys are not in order"
        )));
    }
    Ok(())
}

/// One rank's share of the sort.
struct Sorter<'a> {
    world: &'a Communicator<'a>,
    class: &'static Class,
    /// Where this rank's keys stand in the sequence of all keys.
    share: Range<u64>,
    keys: Vec<u32>,
    /// The same keys bucket after bucket, and those that arrived: kept, because fresh memory costs
    /// a page fault per page in every iteration.
    sorted: Vec<u32>,
    arrived: Vec<u32>,
    /// The outcome of the last iteration.
    ranked: Ranked,
}

/// What one iteration finds out.
#[derive(Debug, Default)]
struct Ranked {
    /// The key values this rank is responsible for.
    values: Range<u32>,
    /// Number of keys that are smaller than `values.start`, on all ranks.
    before: u64,
    /// For each value: number of keys up to and including it, without `before`.
    cumulative: Vec<u32>,
    /// The keys NAS verifies.
    test_keys: [u32; TESTS],
}

impl<'a> Sorter<'a> {
    fn new(world: &'a Communicator<'a>, class: &'static Class) -> Self {
        let total = 1u64 << class.keys_log2;
        let begin = |rank: u32| total * u64::from(rank) / u64::from(world.size());
        let share = begin(world.rank())..begin(world.rank() + 1);
        let keys = generate(class, share.clone());
        Sorter {
            world,
            class,
            share,
            sorted: vec![0; keys.len()],
            arrived: Vec::new(),
            keys,
            ranked: Ranked::default(),
        }
    }

    /// One iteration: two keys change, then the rank of every key is found.
    fn rank_keys(&mut self, iteration: u32) -> oxmpi::Result<Ranked> {
        let key_max = 1 << self.class.key_max_log2;
        self.set_key(u64::from(iteration), iteration);
        self.set_key(u64::from(iteration + ITERATIONS), key_max - iteration);

        let (sizes, test_keys) = self.bucket_sizes()?;
        let counts: Vec<usize> = sizes.own.iter().map(|&size| size as usize).collect();
        self.sort_by_bucket(&counts);
        let owners = share_out(&sizes.all, self.world.size() as usize);
        let values = self.exchange(&counts, &owners)?;

        let first = owners[self.world.rank() as usize].start;
        let before = sizes.all[..first].iter().map(|&size| u64::from(size)).sum();
        let mut cumulative = vec![0u32; values.len()];
        for &key in &self.arrived {
            cumulative[(key - values.start) as usize] += 1;
        }
        let mut total = 0;
        for count in &mut cumulative {
            total += *count;
            *count = total;
        }
        Ok(Ranked {
            values,
            before,
            cumulative,
            test_keys,
        })
    }

    fn set_key(&mut self, index: u64, key: u32) {
        if self.share.contains(&index) {
            self.keys[(index - self.share.start) as usize] = key;
        }
    }

    /// How many keys fall into each bucket, here and everywhere; the test keys travel along.
    fn bucket_sizes(&self) -> oxmpi::Result<(Sizes, [u32; TESTS])> {
        let buckets = 1 << self.class.buckets_log2;
        let mut own = vec![0u32; buckets + TESTS];
        for &key in &self.keys {
            own[self.bucket(key)] += 1;
        }
        for (slot, index) in own[buckets..].iter_mut().zip(self.class.test_index) {
            if self.share.contains(&index) {
                *slot = self.keys[(index - self.share.start) as usize];
            }
        }
        let mut all = vec![0; own.len()];
        self.world.allreduce(&own, &mut all, Sum)?;
        let test_keys = std::array::from_fn(|i| all[buckets + i]);
        own.truncate(buckets);
        all.truncate(buckets);
        Ok((Sizes { own, all }, test_keys))
    }

    fn bucket(&self, key: u32) -> usize {
        (key >> (self.class.key_max_log2 - self.class.buckets_log2)) as usize
    }

    /// Puts this rank's keys bucket after bucket.
    fn sort_by_bucket(&mut self, counts: &[usize]) {
        let mut next = starts(counts);
        for i in 0..self.keys.len() {
            let key = self.keys[i];
            let place = &mut next[self.bucket(key)];
            self.sorted[*place] = key;
            *place += 1;
        }
    }

    /// Sends every key to the rank that owns its bucket; tells which values this rank owns.
    fn exchange(&mut self, counts: &[usize], owners: &[Range<usize>]) -> oxmpi::Result<Range<u32>> {
        let of_rank = |buckets: &Range<usize>| counts[buckets.clone()].iter().sum();
        let send_counts: Vec<usize> = owners.iter().map(of_rank).collect();
        let mut receive_counts = vec![0usize; owners.len()];
        self.world.alltoall(&send_counts, &mut receive_counts)?;
        self.arrived.resize(receive_counts.iter().sum(), 0);
        self.world.alltoallv(
            &self.sorted,
            &send_counts,
            &starts(&send_counts),
            &mut self.arrived,
            &receive_counts,
            &starts(&receive_counts),
        )?;
        let width = self.class.key_max_log2 - self.class.buckets_log2;
        let own = &owners[self.world.rank() as usize];
        Ok((own.start as u32) << width..(own.end as u32) << width)
    }

    /// How many of the five keys, of those this rank owns, have the rank NAS says.
    fn partial_verification(&self, iteration: u32, ranked: &Ranked) -> u64 {
        let class = self.class;
        let mut passed = 0;
        for (i, &key) in ranked.test_keys.iter().enumerate() {
            if !ranked.values.contains(&key) {
                continue;
            }
            let (sign, delay) = class.test_shift[i];
            let expected = class.test_rank[i] + sign * (i64::from(iteration) - delay);
            let found = ranked.smaller_than(key) as i64;
            if found == expected {
                passed += 1;
            } else {
                eprintln!(
                    "is: iteration {iteration}: key {key} has rank {found}, NAS says {expected}"
                );
            }
        }
        passed
    }

    /// Writes the keys out in the order of their ranks and looks at every neighbouring pair, across
    /// ranks too, and at the number of keys.
    fn full_verification(&self) -> oxmpi::Result<bool> {
        let ranked = &self.ranked;
        let mut sorted = Vec::with_capacity(ranked.cumulative.last().map_or(0, |&n| n as usize));
        for (key, &upto) in ranked.values.clone().zip(&ranked.cumulative) {
            sorted.resize(upto as usize, key);
        }
        // Each rank tells its first and last key; a rank without keys tells nothing.
        let ends = match (sorted.first(), sorted.last()) {
            (Some(&first), Some(&last)) => [first, last],
            _ => [u32::MAX, u32::MAX],
        };
        let mut all_ends = vec![[0; 2]; self.world.size() as usize];
        self.world.allgather(&[ends], &mut all_ends)?;
        let mut chain: Vec<u32> = all_ends.concat();
        chain.retain(|&key| key != u32::MAX);
        let mut verdict = [
            sorted.len() as u64,
            u64::from(!sorted.is_sorted() || !chain.is_sorted()),
        ];
        self.world.allreduce_in_place(&mut verdict, Sum)?;
        Ok(verdict == [1 << self.class.keys_log2, 0])
    }
}

impl Ranked {
    /// The rank of a key this process owns: how many keys are smaller.
    fn smaller_than(&self, key: u32) -> u64 {
        let index = (key - self.values.start) as usize;
        self.before
            + if index == 0 {
                0
            } else {
                u64::from(self.cumulative[index - 1])
            }
    }
}

/// Bucket sizes.
struct Sizes {
    own: Vec<u32>,
    all: Vec<u32>,
}

/// NAS's keys at these positions of the sequence.
fn generate(class: &Class, share: Range<u64>) -> Vec<u32> {
    let mut random = Nas::after(4 * share.start);
    // (x₁+x₂+x₃+x₄) / 2^46 · max/4, in integers.
    let shift = 48 - class.key_max_log2;
    share
        .map(|_| ((0..4).map(|_| random.draw()).sum::<u64>() >> shift) as u32)
        .collect()
}

/// Which buckets each rank gets: consecutive ones, up to its share of the keys.
fn share_out(sizes: &[u32], ranks: usize) -> Vec<Range<usize>> {
    let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    let (mut bucket, mut keys) = (0, 0);
    let mut owners = Vec::with_capacity(ranks);
    for rank in 0..ranks as u64 {
        let first = bucket;
        let wanted = total * (rank + 1) / ranks as u64;
        let last = rank + 1 == ranks as u64;
        while bucket < sizes.len() && (keys < wanted || last) {
            keys += u64::from(sizes[bucket]);
            bucket += 1;
        }
        owners.push(first..bucket);
    }
    owners
}

/// Where each part begins when they lie one after the other.
fn starts(counts: &[usize]) -> Vec<usize> {
    let mut next = 0;
    let mut result = Vec::with_capacity(counts.len());
    for count in counts {
        result.push(next);
        next += count;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NAS's own definition of a key, in floating point.
    fn key_by_definition(class: &Class, random: &mut Nas) -> u32 {
        let number = |x: u64| x as f64 / (1u64 << 46) as f64;
        let sum: f64 = (0..4).map(|_| number(random.draw())).sum();
        (f64::from(1u32 << class.key_max_log2) / 4.0 * sum) as u32
    }

    #[test]
    fn keys_are_those_of_the_definition_wherever_a_share_begins() {
        let class = &CLASSES[0];
        let all = generate(class, 0..1000);
        let mut random = Nas::after(0);
        assert!(
            all.iter()
                .all(|&key| key == key_by_definition(class, &mut random))
        );
        assert_eq!(generate(class, 333..666), all[333..666]);
    }

    #[test]
    fn published_ranks_hold_for_a_serial_count() {
        // Iteration 1 of class S and W, without any library.
        for class in &CLASSES[..2] {
            let mut keys = generate(class, 0..1 << class.keys_log2);
            keys[1] = 1;
            keys[11] = (1 << class.key_max_log2) - 1;
            for i in 0..TESTS {
                let key = keys[class.test_index[i] as usize];
                let rank = keys.iter().filter(|&&other| other < key).count() as i64;
                let (sign, delay) = class.test_shift[i];
                assert_eq!(
                    rank,
                    class.test_rank[i] + sign * (1 - delay),
                    "class {} test {i}",
                    class.name
                );
            }
        }
    }

    #[test]
    fn buckets_are_shared_out_completely_and_evenly() {
        for ranks in [1, 2, 3, 7, 16] {
            let owners = share_out(&[10; 64], ranks);
            assert_eq!(owners.len(), ranks);
            assert_eq!(owners[0].start, 0);
            assert_eq!(owners[ranks - 1].end, 64);
            assert!(owners.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(owners.iter().all(|o| o.len() <= 64 / ranks + 1));
        }
        // More ranks than buckets leaves some without.
        assert_eq!(
            share_out(&[5, 5], 4)
                .iter()
                .filter(|o| o.is_empty())
                .count(),
            2
        );
        // All keys in one bucket.
        assert_eq!(share_out(&[0, 9, 0], 2), [0..2, 2..3]);
    }

    #[test]
    fn starts_are_running_sums() {
        assert_eq!(starts(&[3, 0, 2]), [0, 3, 3]);
    }
}
