//! Collectives that go on while the program does something else: nonblocking ones, and persistent
//! ones.
//!
//! Both are a [`Task`] that walks the same schedule as the blocking call; whoever waits inside the
//! library steps it, and the engine's driver while the program computes. A persistent collective
//! keeps job, schedule and message number, and begins again at every start. The number is taken
//! when the request is made, because all processes make their requests in the same order but may
//! start them in any (MPI 5.0 §6.13); messages of one start cannot overtake those of the start
//! before.

use std::any::Any;
use std::sync::Arc;

use super::Collective;
use super::job::Job;
use super::run::Run;
use crate::any_request::{AnyRequest, Errand, Held};
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::process::Task;
use crate::process::background::{Lasting, Work};
use oxmpi_schedules::Schedule;

impl Comm {
    /// Begins a collective and leaves the rest to the background. The memory must stay as it is
    /// until the operation is concluded.
    pub fn icollective(self: &Arc<Self>, collective: Collective) -> Result<AnyRequest, ErrorKind> {
        let number = || self.whole().next_nonblocking_number();
        let mut errand = self.errand(collective, number, false)?;
        errand.begin();
        Ok(AnyRequest::Other(Held::Errand(errand)))
    }

    /// A collective that can be started any number of times. Every process makes its persistent
    /// collectives in the same order among all collectives of the communicator.
    pub fn collective_init(
        self: &Arc<Self>,
        collective: Collective,
    ) -> Result<AnyRequest, ErrorKind> {
        let number = || self.whole().next_lasting_number();
        let errand = self.errand(collective, number, true)?;
        Ok(AnyRequest::Other(Held::Errand(errand)))
    }

    fn errand(
        self: &Arc<Self>,
        collective: Collective,
        number: impl FnOnce() -> i32,
        is_persistent: bool,
    ) -> Result<Errand, ErrorKind> {
        let mut job = Job::empty();
        job.prepare(self, collective)?;
        let whole = self.shared_whole();
        let (schedule, signature) = match job.take_schedule() {
            Some(schedule) => (Arc::new(schedule), 0),
            // All members begin these and blocking ones in the same order (MPI 5.0 §6.12), so roots
            // leave one trail.
            None => {
                let call = job.call();
                let agreed = whole.agreement(&call, job.operation());
                (whole.schedule(&call), agreed.signature())
            }
        };
        // SAFETY: the makers of the buffers promise their memory until the operation is over, and
        // copies live in the job, which the walk keeps for longer than the run.
        let run = unsafe { Run::start(whole, schedule, job.places(), (number(), signature)) };
        let walk = Walk {
            run: Some(run),
            job,
            outcome: None,
        };
        let task = match self.kept.task() {
            None => Task::new(walk),
            Some(task) => {
                task.with(|kept| {
                    let kept: &mut dyn Any = kept;
                    *kept.downcast_mut().expect("only walks are kept") = walk;
                });
                task
            }
        };
        Ok(Errand::new(self.clone(), task, is_persistent))
    }

    /// As `whole`, to keep.
    fn shared_whole(self: &Arc<Self>) -> Arc<Comm> {
        match self.inter() {
            None => self.clone(),
            Some(inter) => inter.union.clone(),
        }
    }
}

/// A collective in the background. The run stands first: it lets go of the memory before the job
/// frees its copies.
struct Walk {
    /// None while there is no request.
    run: Option<Run<Arc<Comm>, Arc<Schedule>>>,
    job: Job,
    outcome: Option<Result<(), ErrorKind>>,
}

impl Work for Walk {
    fn step(&mut self) -> bool {
        let job = &self.job;
        let run = self.run.as_mut().expect("its request has begun it");
        let mut combine = |input: &[u8], into: &mut [u8]| job.combine(input, into);
        let outcome = match run.poll(&mut combine) {
            Ok(false) => return false,
            Ok(true) => {
                job.store();
                Ok(())
            }
            Err(error) => {
                run.give_up();
                Err(error)
            }
        };
        self.outcome = Some(outcome);
        true
    }

    fn calls_program(&self) -> bool {
        self.job.calls_program()
    }
}

impl Lasting for Walk {
    fn begin(&mut self) {
        self.outcome = None;
        self.job.load();
        let run = self.run.as_mut();
        run.expect("its request is there").begin_again();
    }

    fn outcome(&mut self) -> &mut Option<Result<(), ErrorKind>> {
        &mut self.outcome
    }

    fn give_up(&mut self) {
        if let Some(run) = &mut self.run {
            run.give_up();
        }
        self.outcome = Some(Err(ErrorKind::RequestFailed));
    }

    fn clear(&mut self) {
        self.run = None;
        self.job = Job::empty();
        self.outcome = None;
    }
}
