//! Collective access by aggregating ranks, window by window.
//!
//! First every rank tells each aggregating rank, as strips, which of its pieces lie in that one's
//! part. Then both walk through the part in windows of the same length, and know without another
//! word how many bytes of whom belong to each. Where all ranks run on one host their data go
//! through memory that they share (`staged`). Else they travel as one message for each rank and
//! window, straight from or to the program's memory, and while a window is written the next one is
//! exchanged, if a thread can be spared for that. At the end all tell how it went; until then
//! nobody goes on, so what a rank has written is in the file for every rank.

use std::sync::Arc;

use oxmpi_core::any_request::Report;
use oxmpi_core::communicator::Comm;
use oxmpi_core::{ErrorKind, SendMode, Source, Tag};

use crate::access::HOLE_MAX;
use crate::aggregate::Plan;
use crate::coverage::ranges;
use crate::failure::report;
use crate::job::{Data, Direction, Inner, Job};
use crate::messages::{Messages, finish, receive, send};
use crate::settle::{first_error, step_aside, tell_all_later};
use crate::share::{
    Outcome, Places, Share, parts_of, read_ranges, spread_all, walks, with_packed, write_ranges,
};
use crate::staged::{Staged, stage};
use crate::strip::{STRIP_BYTES, Strip, gather};
use crate::worker::{Offloaded, offload};

type Result<T> = std::result::Result<T, ErrorKind>;

/// Strips of a rank, more of them, and data.
const STRIPS: i32 = 11;
const MORE_STRIPS: i32 = 12;
const DATA: i32 = 13;

/// Strips that the first message of a rank has room for: with its length it is 1 KiB.
const FIRST_STRIPS: usize = 31;
const FIRST_BYTES: usize = 8 + FIRST_STRIPS * STRIP_BYTES;

/// The whole access.
pub(crate) async fn run(job: Job, data: Data, plan: Plan, background: bool) -> Result<Report> {
    let file = job.file.clone();
    let bytes = match job.direction {
        Direction::Write => job.bytes,
        Direction::Read => {
            let there = job.view.data_before(plan.size).saturating_sub(job.from);
            there.min(job.bytes)
        }
    };
    let own: Vec<Vec<Strip>> = plan
        .divide(|take| {
            job.view
                .blocks(job.from, bytes, |blocks| take(Strip::of(blocks)));
        })
        .into_iter()
        .map(|strips| strips.0)
        .collect();
    let share = describe(&file.comm, &plan, &own).await?;
    let stage = match plan.is_staged {
        true => stage(&file, &plan).await?,
        false => None,
    };
    let aside = background || spare_cpus(&file.comm) && plan.windows() > 1;
    if aside {
        step_aside(file.comm.process()).await;
    }
    let outcome = match stage {
        Some(stage) => {
            let all = Staged {
                file: &file,
                plan: &plan,
                data: &data,
                own: &own,
                aside,
                stage,
            };
            all.run(job.direction, share).await?
        }
        None => {
            let all = Exchange {
                file: &file,
                plan: &plan,
                data: &data,
                own: &own,
                aside,
            };
            match job.direction {
                Direction::Write => all.write(share).await?,
                Direction::Read => all.read(share).await?,
            }
        }
    };
    let action = match job.direction {
        Direction::Write => "cannot write",
        Direction::Read => "cannot read",
    };
    let words = report(outcome.as_ref().err().map(|error| &**error));
    let told = tell_all_later(&file.comm, &words).await?;
    outcome?;
    if let Some(error) = first_error(&told, action, file.disk.path()) {
        return Err(error.into());
    }
    if job.direction == Direction::Read {
        job.deliver(&data, bytes)?;
    }
    Ok(job.report(bytes))
}

/// Whether the ranks of this host leave CPUs unused.
fn spare_cpus(comm: &Comm) -> bool {
    let here = comm.host_of(comm.rank());
    let ranks = (0..comm.size())
        .filter(|rank| comm.host_of(*rank) == here)
        .count();
    comm.process().usable_cpus() as usize > ranks
}

/// Tells the aggregating ranks which pieces this rank has; if this is one, hears the others'.
async fn describe(comm: &Arc<Comm>, plan: &Plan, own: &[Vec<Strip>]) -> Result<Option<Share>> {
    let me = comm.rank();
    let mut sent = Messages::default();
    let mut heard = Messages::default();
    let mine = plan.aggregators.iter().position(|rank| *rank == me);
    let mut ranks = Vec::new();
    if let Some(index) = mine {
        for rank in (0..comm.size()).filter(|rank| *rank != me) {
            if plan.reaches_into(rank as usize, index) {
                receive(comm, FIRST_BYTES, rank, STRIPS, &mut heard)?;
                ranks.push((rank, Vec::new()));
            }
        }
    }
    for (index, aggregator) in plan.aggregators.iter().enumerate() {
        if *aggregator == me || !plan.reaches_into(me as usize, index) {
            continue;
        }
        let strips = &own[index];
        let mut first = (strips.len() as u64).to_le_bytes().to_vec();
        let (here, rest) = strips.split_at(strips.len().min(FIRST_STRIPS));
        here.iter().for_each(|strip| first.extend(strip.to_bytes()));
        first.resize(FIRST_BYTES, 0);
        send(comm, first, *aggregator, STRIPS, &mut sent)?;
        if !rest.is_empty() {
            let rest = rest.iter().flat_map(|strip| strip.to_bytes()).collect();
            send(comm, rest, *aggregator, MORE_STRIPS, &mut sent)?;
        }
    }
    let mut more = Messages::default();
    let mut unfinished = Vec::new();
    for (place, ((rank, strips), entry)) in ranks.iter_mut().zip(&mut heard.0).enumerate() {
        finish(entry).await?;
        let bytes = &entry.1;
        let count = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        let here = bytes[8..].chunks_exact(STRIP_BYTES).take(count);
        *strips = here.map(Strip::from_bytes).collect();
        if count > FIRST_STRIPS {
            let bytes = (count - FIRST_STRIPS) * STRIP_BYTES;
            receive(comm, bytes, *rank, MORE_STRIPS, &mut more)?;
            unfinished.push(place);
        }
    }
    heard.0.clear();
    for (place, entry) in unfinished.into_iter().zip(&mut more.0) {
        finish(entry).await?;
        let bytes = entry.1.chunks_exact(STRIP_BYTES);
        ranks[place].1.extend(bytes.map(Strip::from_bytes));
    }
    more.0.clear();
    sent.end().await?;
    Ok(mine.map(|index| {
        ranks.push((me, own[index].clone()));
        Share {
            part: plan.part(index),
            ranks,
        }
    }))
}

/// What the rounds go by.
struct Exchange<'a> {
    file: &'a Arc<Inner>,
    plan: &'a Plan,
    data: &'a Data,
    /// This rank's strips, by part.
    own: &'a [Vec<Strip>],
    /// The file is accessed by the thread for files.
    aside: bool,
}

impl Exchange<'_> {
    fn comm(&self) -> &Arc<Comm> {
        &self.file.comm
    }

    /// The message of this rank's data in a window, from or to an aggregating rank.
    fn move_own(
        &self,
        range: std::ops::Range<u64>,
        peer: u32,
        sends: bool,
        all: &mut Messages,
    ) -> Result<()> {
        let part = self.data.buffer.part(range);
        let request = match sends {
            true => self
                .comm()
                .isend_buffer(&part, Some(peer), DATA, SendMode::Standard)?,
            false => {
                let source = Some(Source::Rank(peer));
                self.comm().irecv_buffer(&part, source, Tag::Is(DATA))?
            }
        };
        all.0.push((request, Vec::new()));
        Ok(())
    }

    /// Begins the messages of this rank's data in the windows of a round, but for its own window;
    /// returns the range of that.
    fn begin_own(
        &self,
        places: &mut Places<'_>,
        number: u64,
        sends: bool,
        all: &mut Messages,
    ) -> Result<std::ops::Range<u64>> {
        let mut mine = 0..0;
        for (index, aggregator) in self.plan.aggregators.iter().enumerate() {
            let window = self.plan.window_of(self.plan.part(index), number);
            let range = places.next(index, window.end, |_| ());
            if *aggregator == self.comm().rank() {
                mine = range;
            } else if !range.is_empty() {
                self.move_own(range, *aggregator, sends, all)?;
            }
        }
        Ok(mine)
    }

    /// All ranks write. The outcome is that of this rank's own share.
    async fn write(&self, share: Option<Share>) -> Result<Outcome> {
        let me = self.comm().rank();
        let mut outcome: Outcome = Ok(());
        let mut places = Places::new(self.own);
        let mut walks = share.as_ref().map(walks).unwrap_or_default();
        let mut writing: Option<Offloaded<(Outcome, Vec<u8>)>> = None;
        let mut spare = Vec::new();
        let mut sent = Messages::default();
        for number in 0..self.plan.windows() {
            let mut heard = Messages::default();
            let mut parts = Vec::new();
            if let Some(share) = &share {
                let window = self.plan.window_of(share.part, number);
                parts = parts_of(&mut walks, window);
            }
            for (rank, _, bytes) in parts.iter().filter(|(rank, ..)| *rank != me) {
                receive(self.comm(), *bytes as usize, *rank, DATA, &mut heard)?;
            }
            let mine = self.begin_own(&mut places, number, true, &mut sent)?;
            if !parts.is_empty() {
                let ranges = ranges(parts.iter().flat_map(|(_, strips, _)| strips), 0);
                let base = ranges[0].offset;
                let end = ranges[ranges.len() - 1].end();
                let mut memory = std::mem::take(&mut spare);
                memory.resize((end - base) as usize, 0);
                let mut messages = heard.0.iter_mut();
                for (rank, strips, _) in &parts {
                    if *rank == me {
                        let part = self.data.buffer.part(mine.clone());
                        with_packed(&part, |packed| {
                            spread_all(strips, base, &mut memory, packed)
                        });
                    } else {
                        let entry = messages.next().expect("one for each with data");
                        finish(entry).await?;
                        spread_all(strips, base, &mut memory, &entry.1);
                    }
                }
                if let Some(writing) = writing.take() {
                    let (result, memory) = writing.await;
                    outcome = outcome.and(result);
                    spare = memory;
                }
                // After a failure the rest is received, because others wait for it, and dropped.
                if outcome.is_ok() {
                    let file = self.file.clone();
                    let write = move || {
                        let result = write_ranges(&file, &ranges, base, &memory);
                        (result, memory)
                    };
                    if self.aside {
                        writing = Some(offload(self.comm().process(), write));
                    } else {
                        (outcome, spare) = write();
                    }
                }
            }
            heard.0.clear();
            sent.end().await?;
        }
        if let Some(writing) = writing {
            outcome = outcome.and(writing.await.0);
        }
        Ok(outcome)
    }

    /// All ranks read. The outcome is that of this rank's own share.
    async fn read(&self, share: Option<Share>) -> Result<Outcome> {
        let me = self.comm().rank();
        let mut outcome: Outcome = Ok(());
        let mut places = Places::new(self.own);
        let mut walks = share.as_ref().map(walks).unwrap_or_default();
        let mut memory = Vec::new();
        for number in 0..self.plan.windows() {
            let mut messages = Messages::default();
            let mine = self.begin_own(&mut places, number, false, &mut messages)?;
            let Some(share) = &share else {
                messages.end().await?;
                continue;
            };
            let parts = parts_of(&mut walks, self.plan.window_of(share.part, number));
            if !parts.is_empty() {
                let ranges = ranges(parts.iter().flat_map(|(_, strips, _)| strips), HOLE_MAX);
                let base = ranges[0].offset;
                let end = ranges[ranges.len() - 1].end();
                let mut room: Vec<u8> = std::mem::take(&mut memory);
                room.resize((end - base) as usize, 0);
                let file = self.file.clone();
                let read = move || {
                    let result = read_ranges(&file, &ranges, base, &mut room);
                    (result, room)
                };
                let result;
                (result, memory) = match self.aside {
                    true => offload(self.comm().process(), read).await,
                    false => read(),
                };
                outcome = outcome.and(result);
                for (rank, strips, bytes) in &parts {
                    let mut packed = vec![0; *bytes as usize];
                    let mut at = 0;
                    for strip in strips {
                        gather(strip, base, &memory, &mut packed[at..]);
                        at += strip.bytes() as usize;
                    }
                    if *rank == me {
                        self.data.buffer.part(mine.clone()).unpack(&packed);
                    } else {
                        send(self.comm(), packed, *rank, DATA, &mut messages)?;
                    }
                }
            }
            messages.end().await?;
        }
        Ok(outcome)
    }
}
