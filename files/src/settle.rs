//! What the processes of a file tell each other: words from each to all, or from rank 0 to all, in
//! a form that waits and in one for background work.
//!
//! When a process has died, a process that needs it fails and leaves the exchange; one that needs
//! only the latter would wait for ever. So whoever waits for long looks whether all members live.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use oxmpi_core::any_request::{AnyRequest, Report};
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Root};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::Process;
use oxmpi_core::{ErrorKind, FileError};

use crate::errand;
use crate::failure::{report, reported};
use crate::job::{Inner, lock};

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

/// On one host everybody waits for everybody's words themselves, so a death concerns each wait.
pub(crate) fn is_one_host(comm: &Comm) -> bool {
    (1..comm.size()).all(|rank| comm.host_of(rank) == comm.host_of(0))
}

/// Waits for background work.
fn wait_for<T: Send + 'static>(
    comm: &Arc<Comm>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let place = Arc::new(Mutex::new(None));
    let filled = place.clone();
    let mut request = errand::begin(comm, false, async move {
        *lock(&filled) = Some(work.await?);
        Ok(Report::EMPTY)
    });
    request.wait()?;
    let result = lock(&place).take();
    Ok(result.expect("work that succeeds has a result"))
}

/// Each rank's words, by rank; waits.
pub(crate) fn tell_all(comm: &Arc<Comm>, mine: &[u64]) -> Result<Vec<u64>> {
    let mut mine = mine.to_vec();
    if !is_one_host(comm) {
        let shared = comm.clone();
        return wait_for(comm, async move { tell_all_later(&shared, &mine).await });
    }
    let mut all = vec![0; mine.len() * comm.size() as usize];
    comm.collective(everybody(&mut mine, &mut all))?;
    Ok(all)
}

/// Rank 0's words; waits.
pub(crate) fn hear_first(comm: &Arc<Comm>, words: &mut [u64]) -> Result<()> {
    if is_one_host(comm) {
        return comm.collective(from_first(words));
    }
    let (shared, mine) = (comm.clone(), words.to_vec());
    let heard = wait_for(comm, async move { hear_first_later(&shared, mine).await })?;
    words.copy_from_slice(&heard);
    Ok(())
}

/// Nobody goes on before everybody is here.
pub(crate) fn meet(comm: &Arc<Comm>) -> Result<()> {
    match is_one_host(comm) {
        true => comm.collective(Collective::Barrier),
        false => tell_all(comm, &[0]).map(|_| ()),
    }
}

/// Fails everywhere if it failed anywhere: on the ranks that did not fail, with the error of the
/// lowest one that did.
pub(crate) fn agree(
    comm: &Arc<Comm>,
    action: &'static str,
    path: &std::path::Path,
    mine: std::result::Result<(), Box<FileError>>,
) -> Result<()> {
    let words = report(mine.as_ref().err().map(|error| &**error));
    let all = tell_all(comm, &words)?;
    mine?;
    first_error(&all, action, path).map_or(Ok(()), |error| Err(error.into()))
}

/// The same for an open file, which errors name.
impl Inner {
    /// Each rank's words, by rank.
    pub(crate) fn tell_all(&self, action: &'static str, mine: &[u64]) -> Result<Vec<u64>> {
        let told = tell_all(&self.comm, mine);
        told.map_err(|error| self.during(action, None, error))
    }

    /// Nobody goes on before everybody is here.
    pub(crate) fn meet(&self, action: &'static str) -> Result<()> {
        meet(&self.comm).map_err(|error| self.during(action, None, error))
    }

    /// Fails everywhere if it failed anywhere.
    pub(crate) fn agree(
        &self,
        action: &'static str,
        mine: std::result::Result<(), Box<FileError>>,
    ) -> Result<()> {
        let agreed = agree(&self.comm, action, self.disk.path(), mine);
        agreed.map_err(|error| self.during(action, None, error))
    }
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

/// The end of an operation that was begun; the request is over then. If a member of its
/// communicator has died and the operation does not end, that is the error, and the request is
/// still under way.
pub(crate) async fn end_of(request: &mut AnyRequest) -> Result<Report> {
    // Looked for in every step: the record of a death wakes this process once, and then nothing may
    // ever come again.
    let lost = poll_fn(|_| {
        if request.is_ready() {
            return Poll::Ready(None);
        }
        match request.comm().and_then(|comm| comm.lost_member()) {
            Some(error) => Poll::Ready(Some(error)),
            None => Poll::Pending,
        }
    })
    .await;
    match lost {
        Some(error) => Err(error),
        None => {
            let outcome = request.conclude();
            *request = AnyRequest::Over(Report::EMPTY);
            outcome
        }
    }
}

/// Ends an exchange. One that is given up keeps its memory for ever, because messages of processes
/// that live may still arrive.
async fn end_exchange(mut request: AnyRequest, memory: Vec<Vec<u64>>) -> Result<Vec<Vec<u64>>> {
    match end_of(&mut request).await {
        Ok(_) => Ok(memory),
        Err(error) => {
            if !matches!(request, AnyRequest::Over(_)) {
                std::mem::forget((request, memory));
            }
            Err(error)
        }
    }
}

/// As [`tell_all`], in the background.
pub(crate) async fn tell_all_later(comm: &Arc<Comm>, mine: &[u64]) -> Result<Vec<u64>> {
    let mut mine = mine.to_vec();
    let mut all = vec![0; mine.len() * comm.size() as usize];
    let request = comm.icollective(everybody(&mut mine, &mut all))?;
    let mut memory = end_exchange(request, vec![mine, all]).await?;
    Ok(memory.swap_remove(1))
}

/// As [`hear_first`], in the background.
pub(crate) async fn hear_first_later(comm: &Arc<Comm>, mut words: Vec<u64>) -> Result<Vec<u64>> {
    let request = comm.icollective(from_first(&mut words))?;
    let mut memory = end_exchange(request, vec![words]).await?;
    Ok(memory.swap_remove(0))
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
