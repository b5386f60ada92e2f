//! An access of all processes, from its turn to its end: where it begins, which way it goes, and
//! the outcome that all share.
//!
//! A rank that refuses its own call (an argument that cannot be, a view without data) takes part
//! in the first exchange all the same and says so: the others fail with it, and none waits.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use oxmpi_core::any_request::Report;
use oxmpi_core::{ErrorKind, FileError, FileFault};

use crate::aggregate::{Plan, WORDS, words};
use crate::failure::{fault, report, reported};
use crate::job::{Direction, Inner, Job};
use crate::rounds;
use crate::settle::{hear_first_later, step_aside, tell_all_later};
use crate::worker::offload;

type Result<T> = std::result::Result<T, ErrorKind>;

/// The turn of an access; it passes on when this is dropped.
struct Turn(Arc<Inner>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.turn.fetch_add(1, Ordering::Release);
    }
}

/// A call of all processes as this one made it.
pub(crate) struct Call {
    pub(crate) file: Arc<Inner>,
    pub(crate) direction: Direction,
    pub(crate) is_ordered: bool,
    pub(crate) background: bool,
    /// What this rank is to access, or why it refuses.
    pub(crate) job: Result<Job>,
}

/// The word of the first exchange that also carries a mark of the call.
const MARKED: usize = 4;
/// In a mark: the way of access that the word had before.
const PLAIN_MASK: u64 = 0xff;
/// In a mark: the call writes.
const WRITES: u64 = 1 << 8;
/// In a mark: the call is an ordered one.
const ORDERED: u64 = 1 << 9;
/// In a mark: the view does not ascend, so that each rank accesses its own pieces.
const UNSORTED: u64 = 1 << 10;
/// In a mark: from this bit on, the first word of the report of a rank that refuses.
const REFUSAL: u32 = 16;

impl Call {
    /// What this rank adds to its word.
    fn mark(&self) -> u64 {
        let mut mark = refusal(self.job.as_ref().err()) << REFUSAL;
        if self.direction == Direction::Write {
            mark |= WRITES;
        }
        if self.is_ordered {
            mark |= ORDERED;
        }
        if self.job.as_ref().is_ok_and(|job| !job.view.is_ascending()) {
            mark |= UNSORTED;
        }
        mark
    }

    /// Fails if a rank refuses, or made another call than this one.
    fn check(&self, marks: impl Iterator<Item = u64>) -> std::result::Result<(), Box<FileError>> {
        let kind = |mark: u64| mark & (WRITES | ORDERED);
        for (rank, mark) in marks.enumerate() {
            let words = [mark >> REFUSAL, 0, u64::MAX, 0];
            let path = self.file.disk.path();
            if let Some(error) = reported(&words, rank as u32, self.direction.action(), path) {
                return Err(error);
            }
            if kind(mark) != kind(self.mark()) {
                let why = format!(
                    "rank {rank} calls for a collective {}, this rank for a collective {}; all \
                     ranks must make the same call",
                    kind_name(mark),
                    kind_name(self.mark())
                );
                return Err(self
                    .file
                    .refusal(FileFault::NotSame, self.direction.action(), why));
            }
        }
        Ok(())
    }
}

/// The first word of this rank's report. What is no failure of the file is one of a function of the
/// program that converts values.
fn refusal(error: Option<&ErrorKind>) -> u64 {
    match error {
        None => 0,
        Some(ErrorKind::File(error)) => report(Some(error))[0],
        Some(_) => report(Some(&fault(FileFault::Conversion, "", "")))[0],
    }
}

fn kind_name(mark: u64) -> &'static str {
    match (mark & WRITES != 0, mark & ORDERED != 0) {
        (false, false) => "read",
        (true, false) => "write",
        (false, true) => "ordered read",
        (true, true) => "ordered write",
    }
}

/// The access of all processes with this number. If a process is lost in it, the error names the
/// file, and the bytes of this rank unless they are not known before all are there.
pub(crate) async fn together(call: Call, turn: u64) -> Result<Report> {
    let (file, action) = (call.file.clone(), call.direction.action());
    let job = call.job.as_ref().ok().filter(|_| !call.is_ordered);
    let place = job.map(|job| (job.view.clone(), job.from, job.bytes));
    access(call, turn).await.map_err(|error| {
        let place = place.filter(|(_, _, bytes)| *bytes > 0);
        let range = place.map(|(view, from, bytes)| (view.byte_of(from), bytes));
        file.during(action, range, error)
    })
}

async fn access(mut call: Call, turn: u64) -> Result<Report> {
    let file = call.file.clone();
    poll_fn(|_| match file.turn.load(Ordering::Acquire) == turn {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    let _turn = Turn(file.clone());
    // Values are converted before anything is told, because functions of the program may refuse.
    let data = match call.job.as_ref().map(Job::data) {
        Ok(Err(error)) => {
            call.job = Err(error);
            None
        }
        Ok(Ok(data)) => Some(data),
        Err(_) => None,
    };
    if call.is_ordered {
        let begin = begin_of(&call).await;
        // A rank that refuses tells its own reason.
        let mut job = call.job?;
        call.job = job.begin_at(begin?).map(|()| job);
    }
    let mut mine = call.job.as_ref().map_or([0; WORDS], words);
    mine[MARKED] |= call.mark();
    let mut all = tell_all_later(&file.comm, &mine).await?;
    let marks: Vec<u64> = all.chunks(WORDS).map(|words| words[MARKED]).collect();
    let checked = call.check(marks.iter().copied());
    let background = call.background;
    let (job, data) = (
        call.job?,
        data.expect("an access that is not refused has data"),
    );
    checked?;
    all.chunks_mut(WORDS)
        .for_each(|words| words[MARKED] &= PLAIN_MASK);
    let plan = match marks.iter().any(|mark| mark & UNSORTED != 0) {
        true => None,
        false => Some(Plan::new(&job, &all)).filter(Plan::is_aggregated),
    };
    if let Some(plan) = plan {
        return rounds::run(job, data, plan, background).await;
    }
    let aside = background && !job.view.representation().calls_program();
    match aside {
        true => {
            let process = file.comm.process().clone();
            step_aside(&process).await;
            offload(&process, move || job.run_with(&data)).await
        }
        false => job.run_with(&data),
    }
}

/// Where an ordered access of this rank begins, in etypes: behind those of the ranks before it.
async fn begin_of(call: &Call) -> Result<u64> {
    let file = &call.file;
    // As many words as in the first exchange of other calls, so that those are recognised.
    let mut mine = [0; WORDS];
    mine[0] = call.job.as_ref().map_or(0, Job::etypes);
    mine[MARKED] = call.mark();
    let all = tell_all_later(&file.comm, &mine).await?;
    call.check(all.chunks(WORDS).map(|words| words[MARKED]))?;
    let counts: Vec<u64> = all.chunks(WORDS).map(|words| words[0]).collect();
    // Everybody is here, so every earlier access has moved the pointer.
    let base = match file.comm.rank() {
        0 => file.add_shared(counts.iter().sum())?,
        _ => 0,
    };
    let base = hear_first_later(&file.comm, vec![base]).await?[0];
    Ok(base + counts[..file.comm.rank() as usize].iter().sum::<u64>())
}
