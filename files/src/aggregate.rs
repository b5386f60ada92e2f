//! Who accesses which range of the file for whom: the pure part of collective access.
//!
//! Every rank tells where its pieces begin and end and how long they are. From that all come to
//! the same plan: either each rank accesses its own pieces, or the range from the first to the last
//! byte is divided among some *aggregating* ranks, whose parts begin at aligned bytes.

use crate::config_list::in_turn;
use crate::hints::{Hints, Switch};
use crate::job::{Direction, Inner, Job, lock};
use crate::stage::{AHEAD, AHEAD_CROWDED, Known, SLOTS, SLOTS_CROWDED, STAGE_MAX, WINDOW};
use crate::strip::{Strip, StripWalk, Strips};

/// Words that a rank tells.
pub(crate) const WORDS: usize = 9;

/// Pieces of a rank that are looked at to know how long they are.
const LOOKED_AT: usize = 64;
/// On one host, longer pieces are accessed by their own rank if data go by messages: a call costs
/// less than moving them to another process.
const LONG_PIECE_HERE: u64 = 4 << 10;
/// The same if data go through the stage, where moving them is one copy. Calls that write 16 KiB
/// took twice the CPU time of that on ext4 and a tenth more on tmpfs, calls that write 64 KiB as
/// much; calls that read 4 KiB as much as that on tmpfs and half more on ext4, those that read
/// 16 KiB as much on both.
const LONG_WRITE_STAGED: u64 = 64 << 10;
const LONG_READ_STAGED: u64 = 8 << 10;
/// A shorter range of all ranks together is not worth a stage.
const STAGED_MIN: u64 = 64 << 10;
/// Between hosts, files lie on servers that like long ranges better.
const LONG_PIECE_APART: u64 = 1 << 20;
/// Ranges of aggregating ranks begin at multiples of this unless the program knows better.
const ALIGN: u64 = 64 << 10;
/// Aggregating ranks of a host; more get in each other's way at the file's lock.
const PER_HOST_MAX: u32 = 4;

/// What this rank tells the others of its access.
pub(crate) fn words(job: &Job) -> [u64; WORDS] {
    let hints = &job.hints;
    let size = match job.direction {
        // A file that cannot be asked fails when it is read.
        Direction::Read => job.file.disk.size().unwrap_or(u64::MAX),
        Direction::Write => u64::MAX,
    };
    let (mut start, mut end, mut mean) = (0, 0, u64::MAX);
    if job.bytes > 0 {
        start = job.view.byte_of(job.from);
        end = job.view.byte_of(job.from + job.bytes - 1) + 1;
        let (mut count, mut bytes) = (0, 0);
        for piece in job.view.pieces(job.from, job.bytes).take(LOOKED_AT) {
            count += 1;
            bytes += piece.bytes;
        }
        mean = bytes / count;
    }
    let switch = match job.direction {
        Direction::Read => hints.cb_read,
        Direction::Write => hints.cb_write,
    };
    let switch = if job.atomic { Switch::Disable } else { switch };
    [
        start,
        end,
        job.bytes,
        mean,
        switch as u64,
        hints.cb_nodes,
        hints.cb_buffer_size,
        hints.striping_unit,
        size,
    ]
}

/// A rank's range, from the first to the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What all ranks have come to.
pub(crate) struct Plan {
    pub(crate) reaches: Vec<Reach>,
    /// The aggregating ranks; none if every rank accesses its own pieces.
    pub(crate) aggregators: Vec<u32>,
    /// Where the first one's part begins, and how long each part is.
    base: u64,
    part: u64,
    /// How much of a part is accessed at a time.
    pub(crate) window: u64,
    /// The file's length, of which a read cannot get more.
    pub(crate) size: u64,
    /// Data go through memory that all ranks share, if they can.
    pub(crate) is_staged: bool,
    /// Windows there of each aggregating rank, and how many of them it is ahead.
    pub(crate) slots: u64,
    pub(crate) ahead: u64,
}

impl Reach {
    pub(crate) fn meets(&self, other: Reach) -> bool {
        self.start < self.end && self.start < other.end && other.start < self.end
    }
}

impl Plan {
    pub(crate) fn new(job: &Job, all: &[u64]) -> Plan {
        let can_stage = !matches!(*lock(&job.file.stage), Known::Impossible);
        let direction = can_stage.then_some(job.direction);
        Plan::of(all, &Places::of(&job.file), direction)
    }

    /// The words of rank 0 decide where ranks could differ. `stage`: ranks of one host may share
    /// memory for an access of this direction.
    fn of(all: &[u64], places: &Places<'_>, stage: Option<Direction>) -> Plan {
        let hosts = &places.hosts;
        let first = &all[..WORDS];
        // A host that has not seen another's data yet knows of a shorter file.
        let sizes = all.chunks_exact(WORDS).map(|words| words[8]);
        let size = sizes.max().unwrap_or(0);
        let mut reaches = Vec::new();
        let (mut mean, mut low, mut high, mut pieces) = (u64::MAX, u64::MAX, 0, 0);
        for words in all.chunks_exact(WORDS) {
            let (start, end) = (words[0].min(size), words[1].min(size));
            if start < end {
                mean = mean.min(words[3]);
                pieces += words[2] / words[3].max(1);
                low = low.min(start);
                high = high.max(end);
            }
            reaches.push(Reach { start, end });
        }
        let one_host = hosts.iter().all(|host| *host == hosts[0]);
        let is_crowded = hosts.len() as u64 > u64::from(places.cpus);
        let stage = stage.filter(|_| one_host && high.saturating_sub(low) >= STAGED_MIN);
        let long = match stage {
            Some(Direction::Write) => LONG_WRITE_STAGED,
            Some(Direction::Read) => LONG_READ_STAGED,
            None if one_host => LONG_PIECE_HERE,
            None => LONG_PIECE_APART,
        };
        let mut window = first[6].max(4096);
        if stage.is_some() && window == Hints::default().cb_buffer_size {
            window = WINDOW;
        }
        // Each window takes some time, also one in which nobody has anything.
        let is_dense = || pieces >= high.saturating_sub(low) / window;
        let pays = match first[4] {
            switch if switch == Switch::Enable as u64 => low < high,
            switch if switch == Switch::Disable as u64 => false,
            _ => mean < long && is_dense() && is_interleaved(&reaches),
        };
        let (slots, ahead) = match is_crowded {
            true => (SLOTS_CROWDED, AHEAD_CROWDED),
            false => (SLOTS, AHEAD),
        };
        let mut plan = Plan {
            reaches,
            aggregators: Vec::new(),
            base: 0,
            part: 1,
            window,
            size,
            is_staged: false,
            slots,
            ahead,
        };
        if pays {
            let align = if first[7] > 0 { first[7] } else { ALIGN };
            plan.base = low - low % align;
            let parts_max = (high - plan.base).div_ceil(align);
            let ranks = places.aggregators(first[5]);
            let parts = (ranks.len() as u64).min(parts_max);
            plan.part = (high - plan.base).div_ceil(parts).next_multiple_of(align);
            let used = (high - plan.base).div_ceil(plan.part) as usize;
            plan.aggregators = ranks[..used].to_vec();
            if stage.is_some() {
                plan.is_staged = true;
                let most = STAGE_MAX / (used as u64 * plan.slots);
                plan.window = plan.window.min(most.max(4096));
            }
        }
        plan
    }

    pub(crate) fn is_aggregated(&self) -> bool {
        !self.aggregators.is_empty()
    }

    /// The range of an aggregating rank, by its place in the list.
    pub(crate) fn part(&self, index: usize) -> Reach {
        let start = self.base + index as u64 * self.part;
        Reach {
            start,
            end: start + self.part,
        }
    }

    /// How many windows a part has.
    pub(crate) fn windows(&self) -> u64 {
        self.part.div_ceil(self.window)
    }

    /// Whether a rank has, or may have, something in a part.
    pub(crate) fn reaches_into(&self, rank: usize, index: usize) -> bool {
        self.reaches[rank].meets(self.part(index))
    }

    /// The slot of a window in memory that all ranks share.
    pub(crate) fn slot(&self, index: usize, number: u64) -> u64 {
        index as u64 * self.slots + number % self.slots
    }

    /// A window of a part, by its number.
    pub(crate) fn window_of(&self, part: Reach, number: u64) -> Reach {
        let start = part.start + number * self.window;
        Reach {
            start,
            end: part.end.min(start + self.window),
        }
    }

    /// The strips that `produce` gives one after the other, divided by parts.
    pub(crate) fn divide(&self, produce: impl FnOnce(&mut dyn FnMut(Strip))) -> Vec<Strips> {
        let mut divided = vec![Strips::default(); self.aggregators.len()];
        produce(&mut |strip| {
            let mut index = ((strip.offset - self.base) / self.part) as usize;
            let mut left = strip.bytes();
            let mut walk = StripWalk::new(std::slice::from_ref(&strip));
            while left > 0 {
                let (strips, end) = (&mut divided[index], self.part(index).end);
                left -= walk.up_to(end, |some| strips.push_strip(some));
                index += 1;
            }
        });
        divided
    }
}

/// How many ranks access the file for the others where that pays.
pub(crate) fn aggregator_count(file: &Inner, hints: &Hints) -> usize {
    Places::of(file).aggregators(hints.cb_nodes).len()
}

/// Whether the ranges of two ranks overlap.
fn is_interleaved(reaches: &[Reach]) -> bool {
    let mut sorted: Vec<Reach> = reaches
        .iter()
        .copied()
        .filter(|r| r.start < r.end)
        .collect();
    sorted.sort_unstable_by_key(|reach| (reach.start, reach.end));
    sorted.windows(2).any(|two| two[1].start < two[0].end)
}

/// Where the ranks of a file are, and which of them may access it for others.
struct Places<'a> {
    /// The number of each rank's host.
    hosts: Vec<u32>,
    /// CPUs of this host.
    cpus: u32,
    /// Those that the hint `cb_config_list` has chosen.
    listed: Option<&'a [u32]>,
}

impl<'a> Places<'a> {
    fn of(file: &'a Inner) -> Places<'a> {
        let comm = &file.comm;
        Places {
            hosts: (0..comm.size()).map(|rank| comm.host_of(rank)).collect(),
            cpus: comm.process().usable_cpus(),
            listed: file.listed.as_deref(),
        }
    }

    /// Ranks that access the file for others: those of the list, or a few of each host, the hosts
    /// in turn; no more than are wanted, if that is not 0.
    fn aggregators(&self, wanted: u64) -> Vec<u32> {
        let mut chosen = match self.listed {
            Some(listed) => listed.to_vec(),
            None => self.by_default(wanted),
        };
        if wanted > 0 {
            chosen.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        }
        chosen
    }

    fn by_default(&self, wanted: u64) -> Vec<u32> {
        let mut by_host: Vec<(u32, Vec<u32>)> = Vec::new();
        for (rank, host) in self.hosts.iter().enumerate() {
            match by_host.iter_mut().find(|(known, _)| known == host) {
                Some((_, ranks)) => ranks.push(rank as u32),
                None => by_host.push((*host, vec![rank as u32])),
            }
        }
        let per_host = match wanted {
            0 => self.cpus.clamp(1, PER_HOST_MAX) as usize,
            _ => usize::MAX,
        };
        let by_host = by_host.into_iter().map(|(_, mut ranks)| {
            ranks.truncate(per_host);
            ranks
        });
        in_turn(by_host.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(start: u64, end: u64, mean: u64, switch: Switch) -> [u64; WORDS] {
        [
            start,
            end,
            end - start,
            mean,
            switch as u64,
            0,
            4 << 20,
            0,
            u64::MAX,
        ]
    }

    fn places(hosts: &[u32], cpus: u32) -> Places<'static> {
        Places {
            hosts: hosts.to_vec(),
            cpus,
            listed: None,
        }
    }

    #[test]
    fn separate_or_long_pieces_are_left_to_their_ranks() {
        let apart = [
            rank(0, 100, 8, Switch::Automatic),
            rank(100, 200, 8, Switch::Automatic),
        ];
        assert!(!Plan::of(&apart.concat(), &places(&[0, 0], 2), None).is_aggregated());
        let long = [rank(0, 1 << 20, 1 << 20, Switch::Automatic); 2];
        assert!(!Plan::of(&long.concat(), &places(&[0, 0], 2), None).is_aggregated());
        let mixed = [rank(0, 1 << 20, 8, Switch::Automatic); 2];
        assert_eq!(
            Plan::of(&mixed.concat(), &places(&[0, 0], 2), None).aggregators,
            [0, 1]
        );
        let off = [rank(0, 1 << 20, 8, Switch::Disable); 2];
        assert!(!Plan::of(&off.concat(), &places(&[0, 0], 2), None).is_aggregated());
    }

    #[test]
    fn ranks_of_one_host_share_memory_for_longer_pieces() {
        let all = [rank(0, 1 << 20, 32 << 10, Switch::Automatic); 2].concat();
        let of = |hosts: &[u32], direction| Plan::of(&all, &places(hosts, 2), direction);
        let written = of(&[0, 0], Some(Direction::Write));
        assert!(written.is_aggregated() && written.is_staged && written.window == WINDOW);
        assert!(!of(&[0, 0], Some(Direction::Read)).is_aggregated());
        let short = [rank(0, 1 << 20, 4 << 10, Switch::Automatic); 2].concat();
        let read = |cpus| Plan::of(&short, &places(&[0, 0], cpus), Some(Direction::Read));
        assert!(read(2).is_staged && read(1).is_staged);
        assert!(!of(&[0, 0], None).is_aggregated());
        let apart = of(&[0, 1], Some(Direction::Write));
        assert!(apart.is_aggregated() && !apart.is_staged);
        // So short that messages do.
        let short = [rank(0, 4096, 8, Switch::Automatic); 2].concat();
        let short = Plan::of(&short, &places(&[0, 0], 2), Some(Direction::Write));
        assert!(short.is_aggregated() && !short.is_staged);
    }

    #[test]
    fn pieces_far_from_each_other_are_left_to_their_ranks() {
        // 4096 pieces of 8 bytes of each rank, and how much of the file they lie in.
        let of = |bytes| {
            let mut one = rank(0, bytes, 8, Switch::Automatic);
            one[2] = 8 * 4096;
            let stage = Some(Direction::Write);
            Plan::of(&[one; 2].concat(), &places(&[0, 0], 2), stage).is_aggregated()
        };
        assert!(of(1 << 30) && !of(1 << 40));
    }

    #[test]
    fn windows_of_many_aggregating_ranks_are_shorter() {
        let mut one = rank(0, 1 << 30, 8, Switch::Automatic);
        (one[5], one[6]) = (64, 16 << 20);
        let plan = Plan::of(
            &[one; 64].concat(),
            &places(&[0; 64], 2),
            Some(Direction::Write),
        );
        assert_eq!(plan.aggregators.len(), 64);
        assert_eq!(plan.window * plan.slots * 64, STAGE_MAX);
    }

    #[test]
    fn parts_cover_the_range_once() {
        for (low, high) in [(0, 1), (5, 70_000), (1 << 40, (1 << 40) + (9 << 20))] {
            let all = [rank(low, high, 8, Switch::Enable); 3].concat();
            let plan = Plan::of(&all, &places(&[0, 0, 1], 2), None);
            let whole = Strip {
                offset: low,
                block: high - low,
                stride: high - low,
                count: 1,
            };
            let divided = plan.divide(|take| take(whole));
            let mut at = low;
            for strip in divided.iter().flat_map(|strips| &strips.0) {
                assert_eq!(strip.offset, at);
                at = strip.end();
            }
            assert_eq!(at, high);
            assert!(plan.windows() * plan.window >= plan.part);
        }
    }

    #[test]
    fn hosts_take_turns() {
        let aggregators = |hosts: &[u32], cpus, wanted| places(hosts, cpus).aggregators(wanted);
        assert_eq!(aggregators(&[0, 0, 1, 1, 1], 2, 0), [0, 2, 1, 3]);
        assert_eq!(aggregators(&[0, 0, 1, 1, 1], 2, 3), [0, 2, 1]);
        assert_eq!(aggregators(&[0; 16], 64, 0), [0, 1, 2, 3]);
    }

    #[test]
    fn a_list_and_a_number_choose_the_fewer_ranks() {
        let listed = Places {
            listed: Some(&[4, 1, 2]),
            ..places(&[0, 0, 1, 1, 1], 2)
        };
        assert_eq!(listed.aggregators(0), [4, 1, 2]);
        assert_eq!(listed.aggregators(2), [4, 1]);
        assert_eq!(listed.aggregators(9), [4, 1, 2]);
    }
}
