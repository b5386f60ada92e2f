//! What messages by TCP cost the rank that receives them, wherever its connections are read: time,
//! calls, wake-ups, switches, copies.
//!
//! Calls are those that read, ask what can be read, or give a receive away, by the transport's own
//! count; sending costs the same everywhere. Wake-ups are the process's voluntary switches of
//! context (a thread slept), switches all of them, by the kernel's count. Copies are per byte of
//! payload: the kernel makes one out of the socket, and the process another for what was not
//! received straight to its place.

use std::time::{Duration, Instant};

use oxmpi::{Communicator, Mpi, op};

use super::point::{RATE_WINDOW, ping_pong, posted_windows};
use super::wire::{Ranks, spread_over_cpus};
use crate::floor::wire::batch;

/// What is done, in the order of the answer.
pub const WORKLOADS: [&str; 3] = ["ping-pong of 8 B", "windows of 64", "integer sort"];
/// What is found of each, in that order.
pub const MEASURES: [&str; 5] = [
    "time per message",
    "receive calls per message",
    "wake-ups per 1000 messages",
    "context switches per 1000 messages",
    "copies per byte",
];

const FOUND: i32 = 13;

/// Keys of each rank in the integer sort, and how many values they have.
const KEYS: usize = 1 << 16;
const BUCKETS: usize = 1 << 10;

/// What had been spent at some moment.
struct Spent {
    at: Instant,
    wakes: i64,
    switches: i64,
    network: oxmpi_net::transport::Counters,
}

impl Spent {
    fn now(mpi: &Mpi) -> Spent {
        // SAFETY: the kernel fills the structure it is given; all-zero bytes are a valid rusage.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        Spent {
            at: Instant::now(),
            wakes: usage.ru_nvcsw,
            switches: usage.ru_nvcsw + usage.ru_nivcsw,
            network: mpi.network_counters().unwrap_or_default(),
        }
    }

    /// Spent since, as [`MEASURES`]; per message, or per packet where messages were not counted.
    fn since(&self, mpi: &Mpi, messages: Option<u64>) -> [f64; MEASURES.len()] {
        let now = Spent::now(mpi);
        let (then, network) = (&self.network, &now.network);
        let packets = network.packets - then.packets;
        let count = messages.unwrap_or(packets).max(1) as f64;
        let calls = |one: &oxmpi_net::transport::Counters| one.reads + one.questions + one.requests;
        let payload = (network.payload_bytes - then.payload_bytes).max(1);
        let copied = network.copied_bytes - then.copied_bytes;
        [
            (now.at - self.at).as_nanos() as f64 / count,
            (calls(network) - calls(then)) as f64 / count,
            1000.0 * (now.wakes - self.wakes) as f64 / count,
            1000.0 * (now.switches - self.switches) as f64 / count,
            1.0 + copied as f64 / payload as f64,
        ]
    }
}

/// All workloads, one after the other; rank 0 has the answer.
pub fn measure(
    mpi: &Mpi,
    world: &Communicator<'_>,
    time: Duration,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    spread_over_cpus(&mut Ranks { mpi, world })?;
    let mut found = Vec::new();
    world.barrier()?;
    let before = Spent::now(mpi);
    let answers = ping_pong(world, 8, batch(8), time)?;
    let mut one_way = before.since(mpi, Some(answers.messages));
    one_way[0] /= 2.0;
    found.extend(one_way);

    world.barrier()?;
    let before = Spent::now(mpi);
    let windows = posted_windows(world, 8, RATE_WINDOW, time)?;
    let mut in_windows = before.since(mpi, Some(windows.messages));
    // Windows are received by rank 1 alone.
    match world.rank() {
        1 => world.send(&in_windows, 0, FOUND)?,
        _ => {
            world.recv(&mut in_windows, 1, FOUND)?;
        }
    }
    found.extend(in_windows);

    let mut sort = Sort::new(world);
    sort.once(world)?;
    world.barrier()?;
    let before = Spent::now(mpi);
    let mut more = [1u8];
    while more[0] == 1 {
        sort.once(world)?;
        more[0] = u8::from(before.at.elapsed() < time);
        world.bcast(&mut more, 0)?;
    }
    found.extend(before.since(mpi, None));
    Ok(match world.rank() {
        0 => found,
        _ => Vec::new(),
    })
}

/// Where blocks of these lengths begin, one behind the other.
fn places(lengths: &[usize]) -> Vec<usize> {
    let begins = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end - length)
    });
    begins.collect()
}

/// A bucket sort as NPB's IS does it: counts are added up, keys travel to who has their buckets.
struct Sort {
    keys: Vec<u32>,
    sorted: Vec<u32>,
}

impl Sort {
    fn new(world: &Communicator<'_>) -> Sort {
        let mut state = 88_172_645_463_325_252 + u64::from(world.rank());
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as u32 % BUCKETS as u32
        };
        Sort {
            keys: (0..KEYS).map(|_| next()).collect(),
            sorted: Vec::new(),
        }
    }

    fn once(&mut self, world: &Communicator<'_>) -> oxmpi::Result<()> {
        let size = world.size() as usize;
        let owner = |key: u32| key as usize * size / BUCKETS;
        let mut counts = vec![0u32; BUCKETS];
        for key in &self.keys {
            counts[*key as usize] += 1;
        }
        let mut totals = vec![0u32; BUCKETS];
        world.allreduce(&counts, &mut totals, op::Sum)?;
        let mut lengths = vec![0usize; size];
        for (key, count) in counts.iter().enumerate() {
            lengths[owner(key as u32)] += *count as usize;
        }
        let mut lengths_in = vec![0u64; size];
        let lengths_out: Vec<u64> = lengths.iter().map(|length| *length as u64).collect();
        world.alltoall(&lengths_out, &mut lengths_in)?;
        let mut grouped = self.keys.clone();
        grouped.sort_unstable_by_key(|key| owner(*key));
        let lengths_in: Vec<usize> = lengths_in.iter().map(|length| *length as usize).collect();
        self.sorted.resize(lengths_in.iter().sum(), 0);
        let (at, at_in) = (places(&lengths), places(&lengths_in));
        world.alltoallv(
            &grouped,
            &lengths,
            &at,
            &mut self.sorted,
            &lengths_in,
            &at_in,
        )?;
        self.sorted.sort_unstable();
        let mine: u64 = totals
            .iter()
            .enumerate()
            .filter(|(key, _)| owner(*key as u32) == world.rank() as usize)
            .map(|(_, total)| u64::from(*total))
            .sum();
        assert_eq!(mine, self.sorted.len() as u64, "keys got lost on their way");
        Ok(())
    }
}
