//! What the processes of a file tell each other: words from each to all, or from rank 0 to all, in
//! a form that waits and in one for background work.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use oxmpi_core::any_request::{AnyRequest, Report};
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Root};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::Process;
use oxmpi_core::{ErrorKind, FileError};

use crate::failure::{report, reported};

type Result<T> = std::result::Result<T, ErrorKind>;

/// Words as memory that a collective may use until it is over.
fn raw(words: &mut [u64]) -> Buffer {
    // SAFETY: callers keep the words until the collective is over, and use them only after.
    unsafe { Buffer::raw(words.as_mut_ptr().cast(), size_of_val(words) as u64) }
}

fn everybody(mine: &mut [u64], all: &mut [u64]) -> Collective {
    Collective::Allgather {
        send: Some(raw(mine)),
        receive: Parts::Equal(raw(all)),
    }
}

fn from_first(words: &mut [u64]) -> Collective {
    Collective::Bcast {
        buffer: raw(words),
        root: Root::Rank(0),
    }
}

/// Each rank's words, by rank; waits.
pub(crate) fn tell_all(comm: &Comm, mine: &[u64]) -> Result<Vec<u64>> {
    let mut mine = mine.to_vec();
    let mut all = vec![0; mine.len() * comm.size() as usize];
    comm.collective(everybody(&mut mine, &mut all))?;
    Ok(all)
}

/// Rank 0's words; waits.
pub(crate) fn hear_first(comm: &Comm, words: &mut [u64]) -> Result<()> {
    comm.collective(from_first(words))
}

/// Nobody goes on before everybody is here.
pub(crate) fn meet(comm: &Comm) -> Result<()> {
    comm.collective(Collective::Barrier)
}

/// Fails everywhere if it failed anywhere: on the ranks that did not fail, with the error of the
/// lowest one that did.
pub(crate) fn agree(
    comm: &Comm,
    action: &'static str,
    path: &std::path::Path,
    mine: std::result::Result<(), Box<FileError>>,
) -> Result<()> {
    let words = report(mine.as_ref().err().map(|error| &**error));
    let all = tell_all(comm, &words)?;
    mine?;
    first_error(&all, action, path).map_or(Ok(()), |error| Err(error.into()))
}

/// The error that the lowest rank has reported.
pub(crate) fn first_error(
    all: &[u64],
    action: &'static str,
    path: &std::path::Path,
) -> Option<Box<FileError>> {
    let reports = all.chunks_exact(crate::failure::REPORT_WORDS);
    let mut ranks = reports.enumerate();
    ranks.find_map(|(rank, words)| reported(words, rank as u32, action, path))
}

/// The end of an operation that was begun.
pub(crate) async fn end_of(request: &mut AnyRequest) -> Result<Report> {
    poll_fn(|_| match request.is_ready() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    request.conclude()
}

/// As [`tell_all`], in the background.
pub(crate) async fn tell_all_later(comm: &Arc<Comm>, mine: &[u64]) -> Result<Vec<u64>> {
    let mut mine = mine.to_vec();
    let mut all = vec![0; mine.len() * comm.size() as usize];
    let mut request = comm.icollective(everybody(&mut mine, &mut all))?;
    end_of(&mut request).await?;
    Ok(all)
}

/// As [`hear_first`], in the background.
pub(crate) async fn hear_first_later(comm: &Arc<Comm>, word: u64) -> Result<u64> {
    let mut words = vec![word];
    let mut request = comm.icollective(from_first(&mut words))?;
    end_of(&mut request).await?;
    Ok(words[0])
}

/// Comes back in the next step: from then on the engine knows of the task, and expects calls of
/// other threads.
pub(crate) async fn step_aside(process: &Process) {
    let mut first = true;
    poll_fn(|_| match std::mem::take(&mut first) {
        true => {
            // Nothing will arrive for the sake of this task.
            process.rouse();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}
