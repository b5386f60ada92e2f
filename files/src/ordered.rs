//! An access of all processes, from its turn to its end: where it begins, which way it goes, and
//! the outcome that all share.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use oxmpi_core::any_request::Report;
use oxmpi_core::{ErrorKind, FileFault};

use crate::aggregate::{Plan, words};
use crate::job::{Inner, Job};
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

/// The access of all processes with this number.
pub(crate) async fn together(
    mut job: Job,
    turn: u64,
    is_ordered: bool,
    background: bool,
) -> Result<Report> {
    let file = job.file.clone();
    poll_fn(|_| match file.turn.load(Ordering::Acquire) == turn {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    let _turn = Turn(file.clone());
    let mut refusal = None;
    if is_ordered {
        job.from = begin_of(&job).await? * job.view.unit();
        if let Err(why) = job.view.check_range(job.from, job.bytes) {
            // The others expect this rank: it takes part with no data.
            refusal = Some(file.refuse(FileFault::Argument, "cannot access", why));
            (job.from, job.bytes) = (0, 0);
        }
    }
    let all = tell_all_later(&file.comm, &words(&job)).await?;
    let plan = Plan::new(&job, &all);
    if !plan.is_aggregated() {
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let aside = background && !job.view.representation().calls_program();
        return match aside {
            true => {
                let process = file.comm.process().clone();
                step_aside(&process).await;
                offload(&process, move || job.run()).await
            }
            false => job.run(),
        };
    }
    let outcome = rounds::run(job, plan, background).await;
    refusal.map_or(outcome, Err)
}

/// Where an ordered access of this rank begins, in etypes: behind those of the ranks before it.
async fn begin_of(job: &Job) -> Result<u64> {
    let file = &job.file;
    let counts = tell_all_later(&file.comm, &[job.etypes()]).await?;
    // Everybody is here, so every earlier access has moved the pointer.
    let base = match file.comm.rank() {
        0 => file.add_shared(counts.iter().sum())?,
        _ => 0,
    };
    let base = hear_first_later(&file.comm, base).await?;
    Ok(base + counts[..file.comm.rank() as usize].iter().sum::<u64>())
}
