//! Duplicates that are ready later (MPI_COMM_IDUP): the leader's choice travels while the program
//! does something else.
//!
//! The new communicator exists at once, without a number. A background task brings the leader's
//! choice down a tree, in the context and with the number of a nonblocking collective, and
//! completes the communicator.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxmpi_engine::{Content, Envelope, Mode, Pattern, Request, RequestId};

use super::Foundation;
use crate::any_request::{AnyRequest, Pending, Report};
use crate::communicator::{Comm, Context};
use crate::error::ErrorKind;
use crate::info::Info;
use crate::process::background::Work;
use crate::process::{Task, UNKNOWN};
use oxmpi_datatypes::plain::{bytes, bytes_mut};

impl Comm {
    /// Begins to duplicate. The new communicator must not be used before the operation is over.
    /// Collective.
    pub fn idup(self: &Arc<Self>) -> Result<(Arc<Comm>, AnyRequest), ErrorKind> {
        let mut new = Comm::new(
            self.process.clone(),
            UNKNOWN,
            self.rank,
            self.group().clone(),
        );
        if let Some(inter) = self.inter() {
            let union = &inter.union;
            let both = Comm::new(
                self.process.clone(),
                UNKNOWN,
                union.rank,
                union.group().clone(),
            );
            new.set_inter(inter.with_union(both));
        }
        new.inherit(self);
        let new = Arc::new(new);
        let carrier = self.carrier();
        let number = carrier
            .nonblocking_collectives
            .fetch_add(1, Ordering::Relaxed);
        let task = Task::new(Duplication {
            old: self.clone(),
            new: new.clone(),
            tag: (number & i32::MAX as u32) as i32,
            foundations: Box::new(self.foundations_of_duplicate()),
            stage: Stage::Begin,
            in_flight: Vec::new(),
            outcome: Ok(()),
        });
        self.process.background.start(task.clone());
        let operation = Duplicating {
            comm: self.clone(),
            task,
        };
        Ok((new, AnyRequest::other(operation)))
    }

    /// As [`Comm::idup`], with these hints.
    pub fn idup_with_info(
        self: &Arc<Self>,
        info: Option<&Info>,
    ) -> Result<(Arc<Comm>, AnyRequest), ErrorKind> {
        let (new, operation) = self.idup()?;
        info.inspect(|info| new.set_info(info));
        Ok((new, operation))
    }
}

/// How far a duplication is.
enum Stage {
    /// Nothing was done.
    Begin,
    /// The choice is on its way to this rank.
    Receiving,
    /// It is on its way to the ranks below.
    Sending,
}

/// The work of one rank.
struct Duplication {
    old: Arc<Comm>,
    new: Arc<Comm>,
    tag: i32,
    /// Boxed, because the engine keeps its address.
    foundations: Box<[Foundation; 2]>,
    stage: Stage,
    in_flight: Vec<Request>,
    outcome: Result<(), ErrorKind>,
}

impl Duplication {
    /// The lowest bit of this rank in the tree, beyond all ranks for the root.
    fn low_bit(&self) -> u32 {
        let carrier = self.old.carrier();
        match carrier.rank {
            0 => carrier.size.next_power_of_two(),
            rank => 1 << rank.trailing_zeros(),
        }
    }

    fn receive(&mut self) -> Result<(), ErrorKind> {
        let carrier = self.old.carrier();
        if carrier.rank == 0 {
            return Ok(());
        }
        let parent = carrier.rank - self.low_bit();
        let pattern = Pattern {
            context: carrier.context(Context::Collective),
            source: Some(parent),
            tag: Some(self.tag),
            signature: 0,
        };
        let data = bytes_mut(&mut self.foundations[..]);
        let (address, capacity) = (data.as_mut_ptr(), data.len() as u64);
        let from = Some(carrier.process_of(parent));
        let engine = &carrier.process.engine;
        // SAFETY: the box lives until the task is over, and `drop` waits for what is in flight.
        let request = unsafe { engine.irecv(from, pattern, address, capacity)? };
        self.in_flight.push(request);
        Ok(())
    }

    fn send(&mut self) -> Result<(), ErrorKind> {
        let carrier = self.old.carrier();
        let data = bytes(&self.foundations[..]);
        let mut bit = self.low_bit() / 2;
        while bit > 0 {
            let child = carrier.rank + bit;
            if child < carrier.size {
                let envelope = Envelope {
                    context: carrier.context(Context::Collective),
                    source: carrier.rank,
                    tag: self.tag,
                    content: Content::new(data.len() as u64, 0),
                };
                let (to, engine) = (carrier.process_of(child), &carrier.process.engine);
                // SAFETY: as in `receive`.
                let request = unsafe { engine.isend(to, envelope, data.as_ptr(), Mode::Standard)? };
                self.in_flight.push(request);
            }
            bit /= 2;
        }
        Ok(())
    }

    /// Whether all that is in flight has ended.
    fn settle(&mut self) -> Result<bool, ErrorKind> {
        let engine = &self.old.process.engine;
        while let Some(&request) = self.in_flight.last() {
            if !engine.is_settled(request) {
                return Ok(false);
            }
            self.in_flight.pop();
            engine.wait(request)?;
        }
        Ok(true)
    }

    /// The new communicator gets what was chosen for it.
    fn complete(&self) -> Result<(), ErrorKind> {
        let [own, union] = *self.foundations;
        if let Some(inter) = self.new.inter() {
            inter.union.found(union.number()?, union.ticket());
        }
        self.new.found(own.number()?, own.ticket());
        Ok(())
    }

    fn advance(&mut self) -> Result<bool, ErrorKind> {
        loop {
            if !self.settle()? {
                return Ok(false);
            }
            match self.stage {
                Stage::Begin => {
                    self.receive()?;
                    self.stage = Stage::Receiving;
                }
                Stage::Receiving => {
                    self.send()?;
                    self.stage = Stage::Sending;
                }
                Stage::Sending => {
                    self.complete()?;
                    return Ok(true);
                }
            }
        }
    }
}

impl Work for Duplication {
    fn step(&mut self) -> bool {
        match self.advance() {
            Ok(over) => over,
            Err(error) => {
                self.outcome = Err(error);
                true
            }
        }
    }
}

impl Drop for Duplication {
    fn drop(&mut self) {
        let engine = &self.old.process.engine;
        for request in self.in_flight.drain(..) {
            engine.cancel(request);
            // The error that led here is known; what becomes of the rest is of no interest.
            let _ = engine.wait(request);
        }
    }
}

/// What the request of an idup stands for.
struct Duplicating {
    comm: Arc<Comm>,
    task: Arc<Task<Duplication>>,
}

impl Pending for Duplicating {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        self.task.is_over() || {
            self.comm.process.progress();
            self.task.is_over()
        }
    }

    fn watch(&self, _requests: &mut Vec<RequestId>) {}

    fn is_noted(&self) -> bool {
        self.task.is_over()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        self.task
            .with(|work| std::mem::replace(&mut work.outcome, Ok(())))?;
        Ok(Report::EMPTY)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        // Collective operations cannot be cancelled (MPI 5.0 §3.8.4); whoever asks waits for the
        // end.
        Ok(())
    }
}
