//! Walks a schedule with engine requests.
//!
//! A `Run` is a collective under way: the schedule says what comes next, the run starts transfers,
//! is told of their ends and carries out the local steps. `wait` drives it to the end here and now;
//! `poll` goes as far as it can without waiting, which is what nonblocking and persistent
//! collectives do whenever somebody looks. A run that has ended can begin again with the same
//! schedule on the same memory. Dropping a run that has not ended takes its messages back, so no
//! buffer is left in the engine's hands.

use std::borrow::Borrow;

use oxmpi_engine::{Completion, Content, EngineError, Envelope, Fault, Mode, Pattern};

use super::Combine;
use super::agreement::disagreement;
use crate::communicator::{Comm, Context};
use crate::error::ErrorKind;
use crate::kept::{LINE_BYTES, Started, Workspace};
use oxmpi_schedules::{Action, Direction, Execution, Local, Place, Region, Schedule, Transfer};

/// The caller's memory, as addresses: transfers in flight write to it, so there may be no
/// references to it meanwhile. Where blocks lie apart, only what a schedule names is touched; what
/// lies between them may be anybody's.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) send: (*const u8, usize),
    pub(super) receive: (*mut u8, usize),
}

impl Places {
    #[inline]
    pub(super) fn new(send: &[u8], receive: &mut [u8]) -> Self {
        Places {
            send: (send.as_ptr(), send.len()),
            receive: (receive.as_mut_ptr(), receive.len()),
        }
    }

    /// Both as slices.
    ///
    /// # Safety
    /// All of both must be valid for as long as the slices are used, nobody else may use them, and
    /// they must not overlap.
    #[inline]
    pub(super) unsafe fn as_slices<'a>(self) -> (&'a [u8], &'a mut [u8]) {
        // Programs give null pointers for no data, which no slice may have.
        let (send, receive): (&[u8], &mut [u8]) = (&[], &mut []);
        // SAFETY: the caller's promise, of what is not empty.
        unsafe {
            (
                match self.send {
                    (_, 0) => send,
                    (address, bytes) => std::slice::from_raw_parts(address, bytes),
                },
                match self.receive {
                    (_, 0) => receive,
                    (address, bytes) => std::slice::from_raw_parts_mut(address, bytes),
                },
            )
        }
    }
}

/// The three places of a schedule.
struct Buffers {
    places: Places,
    /// Scratch memory and transfers of the round; it goes back to the communicator with the run.
    workspace: Workspace,
}

// SAFETY: whoever starts a run promises that the places may be used for as long as it lives, from
// whichever thread steps it.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Where a region begins; the schedule must keep to the buffers.
    fn address(&mut self, region: Region) -> *mut u8 {
        let (base, bytes) = match region.place {
            Place::Send => (self.places.send.0.cast_mut(), self.places.send.1),
            Place::Receive => self.places.receive,
            Place::Scratch => (
                self.workspace.scratch.as_mut_ptr().cast(),
                self.workspace.scratch.len() * LINE_BYTES,
            ),
        };
        assert!(
            region.end() <= bytes,
            "a schedule names {region:?} of {bytes} bytes"
        );
        base.wrapping_add(region.offset)
    }

    /// Carries out a local step.
    ///
    /// # Safety
    /// The places given to `Run::start` must still be valid, and no transfer may be in flight.
    unsafe fn run(&mut self, local: Local, combine: &mut Combine<'_>) {
        let (read, write) = match local {
            Local::Copy { from, to } => (from, to),
            Local::Reduce { input, into } => (input, into),
        };
        assert!(
            read.bytes == write.bytes && write.place != Place::Send,
            "a schedule has the step {local:?}"
        );
        let (from, to) = (self.address(read), self.address(write));
        // SAFETY: both regions lie inside memory that is the run's now (see above). Regions of a
        // reduction do not overlap, which `validate` proves of every algorithm.
        unsafe {
            match local {
                Local::Copy { .. } => std::ptr::copy(from, to, write.bytes),
                Local::Reduce { .. } => {
                    assert!(
                        !read.overlaps(write),
                        "a schedule reduces {read:?} into itself"
                    );
                    let input = std::slice::from_raw_parts(from, read.bytes);
                    combine(input, std::slice::from_raw_parts_mut(to, write.bytes));
                }
            }
        }
    }
}

/// A collective under way, on a communicator and with a schedule that it owns or borrows.
pub(super) struct Run<C: Borrow<Comm>, S: Borrow<Schedule>> {
    comm: C,
    schedule: S,
    execution: Execution,
    buffers: Buffers,
    /// Numbers the messages of this collective.
    tag: i32,
    /// What all members must say alike, see `agreement`; 0 says nothing.
    signature: u8,
}

impl<C: Borrow<Comm>, S: Borrow<Schedule>> Run<C, S> {
    /// Begins; nothing moves before `wait` or `poll`.
    ///
    /// # Safety
    /// The places must be valid for as long as this lives, and nobody else may write what the
    /// schedule reads there nor touch what it writes.
    pub(super) unsafe fn start(
        comm: C,
        schedule: S,
        places: Places,
        (tag, signature): (i32, u8),
    ) -> Self {
        let scratch_bytes = schedule.borrow().scratch_bytes();
        let workspace = comm.borrow().kept.workspace(scratch_bytes);
        let buffers = Buffers { places, workspace };
        Run {
            comm,
            schedule,
            execution: Execution::start(),
            buffers,
            tag,
            signature,
        }
    }

    /// Begins once more, after the end.
    pub(super) fn begin_again(&mut self) {
        assert!(
            self.buffers.workspace.in_flight.is_empty(),
            "the run has not ended"
        );
        self.execution = Execution::start();
    }

    /// Drives it to the end.
    ///
    /// Receives are waited for first: they show when another member is in another collective, and
    /// that member may never take what this one sends.
    pub(super) fn wait(&mut self, combine: &mut Combine<'_>) -> Result<(), ErrorKind> {
        while self.step(combine)? {
            for at in (0..self.buffers.workspace.in_flight.len()).rev() {
                if self.buffers.workspace.in_flight[at].transfer.direction == Direction::Receive {
                    self.wait_for(at)?;
                }
            }
            for at in (0..self.buffers.workspace.in_flight.len()).rev() {
                self.wait_for(at)?;
            }
        }
        Ok(())
    }

    /// Waits for a transfer that is in flight. The last one takes its place.
    #[inline]
    fn wait_for(&mut self, at: usize) -> Result<(), ErrorKind> {
        let started = self.buffers.workspace.in_flight.swap_remove(at);
        let ended = self.comm.borrow().process.engine.wait(started.request);
        self.note_end(&started, ended)
    }

    /// Goes on as far as possible without waiting; true when the collective is over.
    pub(super) fn poll(&mut self, combine: &mut Combine<'_>) -> Result<bool, ErrorKind> {
        while self.step(combine)? {
            let mut at = 0;
            while let Some(started) = self.buffers.workspace.in_flight.get(at) {
                let engine = &self.comm.borrow().process.engine;
                match engine.test_or_fail(started.request) {
                    Ok(None) => at += 1,
                    Ok(Some(completion)) => {
                        let started = self.buffers.workspace.in_flight.swap_remove(at);
                        self.note_end(&started, Ok(completion))?;
                    }
                    Err(error) => {
                        let started = self.buffers.workspace.in_flight.swap_remove(at);
                        self.note_end(&started, Err(error))?;
                    }
                }
            }
            if !self.buffers.workspace.in_flight.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Starts and carries out all that can be done without waiting; false when the collective is
    /// over.
    fn step(&mut self, combine: &mut Combine<'_>) -> Result<bool, ErrorKind> {
        loop {
            match self.execution.poll(self.schedule.borrow()) {
                Action::Start { index, transfer } => self.transfer(index, transfer)?,
                // SAFETY: the places are valid (see `start`); local steps follow the round's
                // transfers.
                Action::Run(local) => unsafe { self.buffers.run(local, combine) },
                Action::Wait => return Ok(true),
                Action::Done => return Ok(false),
            }
        }
    }

    fn transfer(&mut self, index: u32, transfer: Transfer) -> Result<(), ErrorKind> {
        let comm = self.comm.borrow();
        let engine = &comm.process.engine;
        let context = comm.context(Context::Collective);
        let address = self.buffers.address(transfer.region);
        let bytes = transfer.region.bytes as u64;
        let process = comm.process_of(transfer.peer);
        // SAFETY: the region lies inside buffers that live until every transfer has ended (`drop`).
        let request = unsafe {
            match transfer.direction {
                Direction::Send => {
                    let envelope = Envelope {
                        context,
                        source: comm.rank,
                        tag: self.tag,
                        content: Content::new(bytes, self.signature),
                    };
                    engine.isend(process, envelope, address, Mode::Standard)
                }
                Direction::Receive => {
                    let (source, tag) = (Some(transfer.peer), Some(self.tag));
                    engine.irecv(
                        Some(process),
                        Pattern {
                            context,
                            source,
                            tag,
                            signature: self.signature,
                        },
                        address,
                        bytes,
                    )
                }
            }
        }?;
        self.buffers.workspace.in_flight.push(Started {
            request,
            index,
            transfer,
        });
        Ok(())
    }

    /// A transfer has ended: its length must be what was agreed.
    fn note_end(
        &mut self,
        started: &Started,
        ended: Result<Completion, EngineError>,
    ) -> Result<(), ErrorKind> {
        let transfer = started.transfer;
        let got = match ended {
            Ok(completion) => {
                let (here, there) = (self.signature, completion.signature);
                if here != there && here != 0 && there != 0 {
                    return Err(disagreement(transfer.peer, here, there));
                }
                completion.bytes
            }
            // Too long or too short is the same mistake here: the ranks do not agree on the call.
            Err(error) => match *error.fault() {
                Fault::Truncated { bytes, .. } => bytes,
                _ => return Err(error.into()),
            },
        };
        let (peer, expected) = (transfer.peer, transfer.region.bytes as u64);
        if got != expected && transfer.direction == Direction::Receive {
            return Err(ErrorKind::CollectiveMismatch {
                peer,
                expected,
                got,
            });
        }
        self.execution
            .transfer_done(self.schedule.borrow(), started.index);
        Ok(())
    }

    /// Takes back what is in flight: the collective has failed.
    pub(super) fn give_up(&mut self) {
        let engine = &self.comm.borrow().process.engine;
        self.buffers
            .workspace
            .in_flight
            .iter()
            .for_each(|started| engine.cancel(started.request));
        for started in self.buffers.workspace.in_flight.drain(..) {
            // Whoever gave up reports why; what becomes of the rest is of no interest.
            let _ = engine.wait(started.request);
        }
    }
}

impl<C: Borrow<Comm>, S: Borrow<Schedule>> Drop for Run<C, S> {
    fn drop(&mut self) {
        self.give_up();
        let workspace = std::mem::take(&mut self.buffers.workspace);
        self.comm.borrow().kept.give_back(workspace);
    }
}
