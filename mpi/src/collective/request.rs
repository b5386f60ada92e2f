//! Collectives that go on while the program does something else: nonblocking ones, and persistent ones.
//!
//! Both are a [`Task`] that walks the same schedule as the blocking call; whoever waits inside the library steps it, and the
//! engine's driver while the program computes. A persistent
//! collective keeps job, schedule and message number, and begins again at every start. The number is taken when the request is
//! made, because all processes make their requests in the same order but may start them in any (MPI 5.0 §6.13); messages of one
//! start cannot overtake those of the start before.

use std::sync::Arc;

use oxmpi_engine::RequestId;

use super::Collective;
use super::job::Job;
use super::run::Run;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::operation::{Operation, Pending, Report};
use crate::process::Task;
use crate::process::background::Work;
use oxmpi_schedules::Schedule;

impl Comm {
    /// Begins a collective and leaves the rest to the background. The memory must stay as it is until the operation is
    /// concluded.
    pub fn icollective(self: &Arc<Self>, collective: Collective) -> Result<Operation, ErrorKind> {
        let number = || self.ground().next_nonblocking_number();
        let mut request = Request::new(self, collective, number, false)?;
        request.begin();
        Ok(Operation::other(request))
    }

    /// A collective that can be started any number of times. Every process makes its persistent collectives in the same order among all
    /// collectives of the communicator.
    pub fn collective_init(
        self: &Arc<Self>,
        collective: Collective,
    ) -> Result<Operation, ErrorKind> {
        let number = || self.ground().next_lasting_number();
        let request = Request::new(self, collective, number, true)?;
        Ok(Operation::other(request))
    }

    /// As `ground`, to keep.
    fn shared_ground(self: &Arc<Self>) -> Arc<Comm> {
        match self.inter() {
            None => self.clone(),
            Some(inter) => inter.union.clone(),
        }
    }
}

/// A collective in the background. The run stands first: it lets go of the memory before the job frees its copies.
struct Walk {
    run: Run<Arc<Comm>, Arc<Schedule>>,
    job: Job,
    outcome: Option<Result<(), ErrorKind>>,
}

impl Walk {
    /// From the beginning, which is where a new run is.
    fn begin(&mut self) {
        self.outcome = None;
        self.job.load();
        self.run.begin_again();
    }
}

impl Work for Walk {
    fn step(&mut self) -> bool {
        let job = &self.job;
        let mut combine = |input: &[u8], into: &mut [u8]| job.combine(input, into);
        let outcome = match self.run.poll(&mut combine) {
            Ok(false) => return false,
            Ok(true) => {
                self.job.store();
                Ok(())
            }
            Err(error) => {
                self.run.give_up();
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

/// What the program holds.
struct Request {
    /// Whose error handler is asked; of an intercommunicator, not the one that the messages travel on.
    comm: Arc<Comm>,
    task: Arc<Task<Walk>>,
    persistent: bool,
    active: bool,
}

impl Request {
    fn new(
        comm: &Arc<Comm>,
        collective: Collective,
        number: impl FnOnce() -> i32,
        persistent: bool,
    ) -> Result<Request, ErrorKind> {
        let mut job = Job::empty();
        job.prepare(comm, collective)?;
        let ground = comm.shared_ground();
        let schedule = match job.take_schedule() {
            Some(schedule) => Arc::new(schedule),
            None => ground.schedule(&job.call()),
        };
        // SAFETY: the makers of the buffers promise their memory until the operation is over, and copies live in the job, which stands
        // beside the run.
        let run = unsafe { Run::start(ground, schedule, job.places(), number()) };
        let outcome = None;
        Ok(Request {
            comm: comm.clone(),
            task: Task::new(Walk { run, job, outcome }),
            persistent,
            active: false,
        })
    }

    fn begin(&mut self) {
        self.task.with(Walk::begin);
        self.task.begin();
        self.active = true;
        self.comm.process.background.start(self.task.clone());
    }
}

impl Pending for Request {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        if !self.task.is_over() {
            self.comm.process.progress();
        }
        self.task.is_over()
    }

    fn watch(&self, _requests: &mut Vec<RequestId>) {}

    fn is_noted(&self) -> bool {
        self.active && self.task.is_over()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        self.active = false;
        let outcome = self.task.with(|walk| walk.outcome.take());
        outcome
            .expect("it is over and was not concluded before")
            .map(|()| Report::EMPTY)
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        let look = |walk: &mut Walk| match walk.outcome.take()? {
            Ok(()) => {
                walk.outcome = Some(Ok(()));
                Some(Ok(Report::EMPTY))
            }
            Err(error) => {
                walk.outcome = Some(Err(ErrorKind::RequestFailed));
                Some(Err(error))
            }
        };
        self.task.with(look)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::CancelCollective)
    }

    fn is_persistent(&self) -> bool {
        self.persistent
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        if !self.persistent {
            return Err(ErrorKind::NotPersistent);
        }
        if self.active {
            return Err(ErrorKind::AlreadyActive);
        }
        self.begin();
        Ok(())
    }
}
