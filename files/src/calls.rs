//! The calls that read and write: alone or together with all processes of the file, at once or in
//! the background, and split in two.
//!
//! A call checks what the mode allows, takes the pointer it is about (and moves it), notes view,
//! hints and mode as they are now, and makes a [`Job`] of that; from there on nothing that the
//! program changes concerns the access any more. A job is done by this process alone or by all
//! together, at once or in the background. Collective accesses of one file take turns, in the order
//! of their calls, so that their messages cannot mix.

use std::sync::atomic::Ordering;

use oxmpi_core::any_request::{AnyRequest, Report};
use oxmpi_core::{ErrorKind, FileFault};

use crate::errand;
use crate::file::{File, Start};
use crate::job::{Direction, Job, lock};
use crate::ordered::{self, Call};
use crate::representation::Memory;
use crate::settle;
use crate::worker::offload;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Nonblocking accesses of fewer bytes are done in the call: waking a thread costs more.
const AT_ONCE_MAX: u64 = 16 << 10;

impl File {
    /// Reads by this process alone, or writes.
    pub fn read(&self, start: Start, memory: Memory) -> Result<Report> {
        self.job(Direction::Read, start, memory)?.run()
    }

    /// See [`File::read`].
    pub fn write(&self, start: Start, memory: Memory) -> Result<Report> {
        self.job(Direction::Write, start, memory)?.run()
    }

    /// Begins to read by this process alone.
    pub fn iread(&self, start: Start, memory: Memory) -> Result<AnyRequest> {
        Ok(self.begin_own(self.job(Direction::Read, start, memory)?))
    }

    /// Begins to write by this process alone.
    pub fn iwrite(&self, start: Start, memory: Memory) -> Result<AnyRequest> {
        Ok(self.begin_own(self.job(Direction::Write, start, memory)?))
    }

    fn begin_own(&self, job: Job) -> AnyRequest {
        let comm = &self.0.comm;
        let calls_program = job.view.representation().calls_program();
        if job.bytes <= AT_ONCE_MAX {
            return match job.run() {
                Ok(report) => AnyRequest::Over(report),
                Err(error) => errand::begin(comm, false, async move { Err(error) }),
            };
        }
        let process = comm.process().clone();
        let request = errand::begin(comm, calls_program, async move {
            settle::step_aside(&process).await;
            match calls_program {
                true => job.run(),
                false => offload(&process, move || job.run()).await,
            }
        });
        comm.process().progress();
        request
    }

    /// Reads together with all processes of the file.
    pub fn read_all(&self, start: Start, memory: Memory) -> Result<Report> {
        self.all(Direction::Read, start, memory, false)?.wait()
    }

    /// Writes together with all processes of the file.
    pub fn write_all(&self, start: Start, memory: Memory) -> Result<Report> {
        self.all(Direction::Write, start, memory, false)?.wait()
    }

    /// Begins to read together with all processes of the file.
    pub fn iread_all(&self, start: Start, memory: Memory) -> Result<AnyRequest> {
        self.all(Direction::Read, start, memory, true)
    }

    /// Begins to write together with all processes of the file.
    pub fn iwrite_all(&self, start: Start, memory: Memory) -> Result<AnyRequest> {
        self.all(Direction::Write, start, memory, true)
    }

    fn all(
        &self,
        direction: Direction,
        start: Start,
        memory: Memory,
        background: bool,
    ) -> Result<AnyRequest> {
        self.check_no_split(direction.action())?;
        self.begin_all(
            direction,
            start,
            self.job(direction, start, memory),
            background,
        )
    }

    /// Takes part in a collective access that this process refuses because of its arguments, so
    /// that the others fail and do not wait for it.
    pub fn refuse_all(&self, reads: bool, start: Start, background: bool) {
        let direction = match reads {
            true => Direction::Read,
            false => Direction::Write,
        };
        let why = "its arguments were refused";
        let refusal = self.0.refuse(FileFault::Argument, direction.action(), why);
        if let Ok(mut request) = self.begin_all(direction, start, Err(refusal), background)
            && !background
        {
            // It fails, as this call does anyway.
            let _ = request.wait();
        }
    }

    fn begin_all(
        &self,
        direction: Direction,
        start: Start,
        job: Result<Job>,
        background: bool,
    ) -> Result<AnyRequest> {
        let inner = &self.0;
        if inner.comm.size() == 1 {
            let mut job = job?;
            if start == Start::Ordered {
                let begin = inner.add_shared(job.etypes())?;
                job.begin_at(begin)?;
            }
            return match background {
                true => Ok(self.begin_own(job)),
                false => job.run().map(AnyRequest::Over),
            };
        }
        let refusal = match &job {
            Ok(_) => None,
            Err(ErrorKind::File(error)) => Some(error.clone()),
            // Messages do not move any more: the others learn that by themselves.
            Err(_) => return job.map(|_| AnyRequest::Over(Report::EMPTY)),
        };
        let calls_program = job
            .as_ref()
            .is_ok_and(|job| job.view.representation().calls_program());
        let turn = inner.next_turn.fetch_add(1, Ordering::Relaxed);
        let call = Call {
            file: inner.clone(),
            direction,
            is_ordered: start == Start::Ordered,
            background,
            job,
        };
        let request = errand::begin(&inner.comm, calls_program, ordered::together(call, turn));
        match refusal {
            // The rest of it goes on in the background.
            Some(error) if background => Err(error.into()),
            _ => Ok(request),
        }
    }

    /// Begins a split collective; `name` tells its kind.
    pub fn begin_split(
        &self,
        name: &'static str,
        reads: bool,
        start: Start,
        memory: Memory,
    ) -> Result<()> {
        let request = match reads {
            true => self.iread_all(start, memory)?,
            false => self.iwrite_all(start, memory)?,
        };
        lock(&self.0.state).split = Some((name, request));
        Ok(())
    }

    /// Ends the split collective of this kind.
    pub fn end_split(&self, name: &'static str) -> Result<Report> {
        let action = "cannot end a split collective on";
        let begun = {
            let mut state = lock(&self.0.state);
            match &state.split {
                Some((begun, _)) if *begun == name => Ok(state.split.take()),
                Some((begun, _)) => Err(format!("{begun} was begun, and {name} is to be ended")),
                None => Err(format!("{name} was not begun")),
            }
        };
        let begun = begun.map_err(|why| self.0.refuse(FileFault::Unsupported, action, why))?;
        let (_, mut request) = begun.expect("it is there");
        request.wait()
    }

    /// Checks an access and takes its pointer.
    fn job(&self, direction: Direction, start: Start, memory: Memory) -> Result<Job> {
        let inner = &self.0;
        let action = direction.action();
        if direction == Direction::Write {
            self.check_writable(action)?;
        } else if !inner.amode.reads() {
            let why = "it was opened with MPI_MODE_WRONLY";
            return Err(inner.refuse(FileFault::Access, action, why));
        }
        if matches!(start, Start::At(_) | Start::Pointer) {
            self.check_not_sequential(action)?;
        }
        let mut state = lock(&inner.state);
        let view = state.view.clone();
        let bytes = memory.bytes_in(view.representation());
        let bytes = bytes.map_err(|error| inner.named(error))?;
        let checked = memory.check_form(view.representation(), bytes, direction == Direction::Read);
        checked.map_err(|error| inner.named(error))?;
        if view.is_empty() && bytes > 0 {
            let why = format!("the data are {bytes} bytes, but the view's filetype has none");
            return Err(inner.refuse(FileFault::Argument, action, why));
        }
        if bytes % view.unit() != 0 {
            let why = format!(
                "the data are {bytes} bytes, which is no whole number of etypes of {} bytes",
                view.unit()
            );
            return Err(inner.refuse(FileFault::Argument, action, why));
        }
        let etypes = bytes / view.unit();
        let mut job = Job {
            file: inner.clone(),
            view,
            hints: state.hints.clone(),
            atomic: state.atomic,
            direction,
            from: 0,
            memory,
            bytes,
        };
        match start {
            Start::At(offset) => job.begin_at(self.checked(offset, action)?)?,
            Start::Pointer => {
                job.begin_at(state.pointer)?;
                state.pointer += etypes;
            }
            Start::Shared => {
                drop(state);
                job.begin_at(inner.add_shared(etypes)?)?;
            }
            // Where it begins is known when all ranks are there.
            Start::Ordered => {}
        }
        Ok(job)
    }
}
