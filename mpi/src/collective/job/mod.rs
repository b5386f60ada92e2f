//! A described collective made ready to run: its memory as two sides, its shape in bytes, its
//! operation.
//!
//! `one_group` does so for ordinary communicators, `two_groups` for intercommunicators,
//! `neighbourhood` for the edges of a topology. The first leaves the choice of the algorithm to the
//! pure part ([`Job::call`]); the others come with their schedule. A job can be run any number of
//! times: [`Job::load`], the run on [`Job::places`], [`Job::store`].

mod neighbourhood;
mod one_group;
mod two_groups;

use super::agreement::operation_number;
use super::description::{Collective, Reduction};
use super::run::Places;
use super::side::Side;
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use oxmpi_datatypes::op::Combiner;
use oxmpi_schedules::choose::Collective as Name;
use oxmpi_schedules::plan::Call;
use oxmpi_schedules::reduce_scatter::Blocks;
use oxmpi_schedules::{Operand, Schedule};

/// A collective that is ready to run.
pub(super) struct Job {
    name: Name,
    /// Bytes of a block or a vector.
    bytes: usize,
    root: u32,
    in_place: bool,
    commutative: bool,
    /// Where the shares of a reduce_scatter end, if they are not equal.
    ends: Vec<usize>,
    /// The schedule, where the pure part has no choice.
    schedule: Option<Schedule>,
    send: Side,
    receive: Side,
    /// What lies in the receive buffer is read, or not all of it is written.
    loads_receive: bool,
    /// Bytes of results in the receive buffer.
    stored: usize,
    combiner: Option<Combiner>,
    /// The operation's number in an `Agreement`.
    operation: u8,
}

impl Job {
    /// Checks a description and makes it ready. The job is filled where it stands: moving it would
    /// cost as much as a small collective's check.
    #[inline]
    pub(super) fn prepare(&mut self, comm: &Comm, collective: Collective) -> Result<(), ErrorKind> {
        match comm.inter() {
            None => one_group::prepare(self, comm, collective),
            Some(inter) => two_groups::prepare(self, comm, inter, collective),
        }
    }

    /// Nothing to do yet.
    #[inline]
    pub(super) fn empty() -> Job {
        Job {
            name: Name::Barrier,
            bytes: 0,
            root: 0,
            in_place: false,
            commutative: true,
            ends: Vec::new(),
            schedule: None,
            send: Side::none(),
            receive: Side::none(),
            loads_receive: false,
            stored: 0,
            combiner: None,
            operation: 0,
        }
    }

    /// Takes the operation in, after a check that it is one for these elements.
    #[inline]
    fn take_reduction(&mut self, reduction: &Reduction) -> Result<(), ErrorKind> {
        self.combiner = Some(reduction.op.combine_for(&reduction.datatype)?);
        self.commutative = reduction.op.is_commutative();
        self.operation = operation_number(reduction.op.predefined());
        Ok(())
    }

    fn operand(&self) -> Operand {
        Operand {
            bytes: self.bytes,
            element_bytes: self.combiner.as_ref().map_or(1, Combiner::element_bytes),
            commutative: self.commutative,
            in_place: self.in_place,
        }
    }

    fn shares(&self) -> Blocks<'_> {
        if self.ends.is_empty() {
            Blocks::Equal(self.bytes)
        } else {
            Blocks::Ends(&self.ends)
        }
    }

    /// The operation's number in an `Agreement`.
    #[inline]
    pub(super) fn operation(&self) -> u8 {
        self.operation
    }

    /// The call in the words of the pure part.
    #[inline]
    pub(super) fn call(&self) -> Call<'_> {
        let Job {
            bytes,
            root,
            in_place,
            ..
        } = *self;
        let send = || self.send.blocks().unwrap_or_default();
        let receive = || self.receive.blocks().unwrap_or_default();
        match self.name {
            Name::Barrier => Call::Barrier,
            Name::Bcast => Call::Bcast { bytes, root },
            Name::Reduce => Call::Reduce {
                operand: self.operand(),
                root,
            },
            Name::Allreduce => Call::Allreduce(self.operand()),
            Name::Scan => Call::Scan(self.operand()),
            Name::Exscan => Call::Exscan(self.operand()),
            Name::Gather => Call::Gather {
                bytes,
                root,
                in_place,
            },
            Name::Gatherv => Call::Gatherv {
                own_bytes: bytes,
                blocks: receive(),
                root,
                in_place,
            },
            Name::Scatter => Call::Scatter {
                bytes,
                root,
                in_place,
            },
            Name::Scatterv => Call::Scatterv {
                own_bytes: bytes,
                blocks: send(),
                root,
                in_place,
            },
            Name::Allgather => Call::Allgather { bytes, in_place },
            Name::Allgatherv => Call::Allgatherv {
                blocks: receive(),
                in_place,
            },
            Name::Alltoall => Call::Alltoall { bytes, in_place },
            Name::Alltoallv => Call::Alltoallv {
                send: send(),
                receive: receive(),
                in_place,
            },
            Name::ReduceScatter => Call::ReduceScatter {
                blocks: self.shares(),
                commutative: self.commutative,
                in_place,
            },
        }
    }

    /// The schedule that came with the job, if one did.
    #[inline]
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }

    /// The same, to keep.
    pub(super) fn take_schedule(&mut self) -> Option<Schedule> {
        self.schedule.take()
    }

    /// The memory that the schedule names.
    #[inline]
    pub(super) fn places(&self) -> Places {
        let (send, bytes) = self.send.span();
        Places {
            send: (send.cast_const(), bytes),
            receive: self.receive.span(),
        }
    }

    /// What combines data in a run.
    pub(super) fn combine(&self, input: &[u8], into: &mut [u8]) {
        match &self.combiner {
            Some(combiner) => combiner.combine(input, into),
            None => unreachable!("no operation, no reduce step"),
        }
    }

    /// Whether combining calls a function of the program.
    pub(super) fn calls_program(&self) -> bool {
        self.combiner.as_ref().is_some_and(Combiner::calls_program)
    }

    /// Before a run: copies hold what the program's memory holds.
    #[inline]
    pub(super) fn load(&mut self) {
        self.send.load();
        if self.loads_receive {
            self.receive.load();
        }
    }

    /// After a run: the program's memory holds the results.
    #[inline]
    pub(super) fn store(&self) {
        if self.stored > 0 {
            self.receive.store(self.stored);
        }
    }

    /// Takes in a buffer that is written, all of it.
    #[inline]
    fn write_to(&mut self, buffer: Buffer) -> Result<(), ErrorKind> {
        self.stored = buffer.bytes() as usize;
        self.receive = Side::one(buffer)?;
        Ok(())
    }

    /// The input lies in the receive buffer.
    #[inline]
    fn leave_in_place(&mut self) {
        self.in_place = true;
        self.loads_receive = true;
    }

    /// Refuses memory that is read and written at once.
    #[inline]
    fn check_apart(&self) -> Result<(), ErrorKind> {
        if self.send.overlaps(&self.receive) && self.send.shares_memory(&self.receive) {
            return Err(ErrorKind::SharedBuffer);
        }
        Ok(())
    }
}

/// A buffer where in place is not allowed.
#[inline]
fn not_in_place<B>(
    given: Option<B>,
    collective: &'static str,
    why: &'static str,
) -> Result<B, ErrorKind> {
    given.ok_or(ErrorKind::InPlace { collective, why })
}

/// What this process gives itself must be what it takes.
#[inline]
fn check_own(rank: u32, expected: usize, got: usize) -> Result<(), ErrorKind> {
    if expected == got {
        return Ok(());
    }
    Err(ErrorKind::CollectiveMismatch {
        peer: rank,
        expected: expected as u64,
        got: got as u64,
    })
}

/// A list with one entry for each of `size` processes.
fn check_entries(list: &'static str, got: usize, size: u32) -> Result<(), ErrorKind> {
    if got == size as usize {
        return Ok(());
    }
    Err(ErrorKind::PerRank { list, got, size })
}
