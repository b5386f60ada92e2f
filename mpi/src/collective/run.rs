//! Walks a schedule with engine requests.
//!
//! A `Run` is a collective under way: the schedule says what comes next, the run starts transfers,
//! is told of their ends and carries out the local steps. `wait` drives it to the end here and now; a
//! nonblocking or persistent collective would call `step` whenever it looks, with the same schedule.
//! Dropping a run that has not ended takes its messages back, so no buffer is left in the engine's hands.

use std::sync::atomic::Ordering;

use oxmpi_engine::{Envelope, Fault, Mode, Pattern, Request};

use super::Combine;
use crate::collectives::{
    Action, Direction, Execution, Local, Memory, Place, Region, Schedule, Transfer,
};
use crate::communicator::{Comm, Context};
use crate::error::ErrorKind;

/// The three places of a schedule, as addresses: transfers in flight write to them, so there may be
/// no references to them meanwhile.
pub(super) struct Buffers {
    send: (*const u8, usize),
    receive: (*mut u8, usize),
    /// Owned; freed with the run.
    scratch: Vec<Line>,
}

/// Scratch memory comes in cache lines.
#[derive(Clone)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "seen only as bytes")] [u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;
const _: () = assert!(crate::collectives::SCRATCH_ALIGN == align_of::<Line>());

impl Buffers {
    pub(super) fn new(send: &[u8], receive: &mut [u8], scratch_bytes: usize) -> Self {
        Buffers {
            send: (send.as_ptr(), send.len()),
            receive: (receive.as_mut_ptr(), receive.len()),
            scratch: vec![Line([0; LINE_BYTES]); scratch_bytes.div_ceil(LINE_BYTES)],
        }
    }

    /// Where a region begins; the schedule must keep to the buffers.
    fn address(&mut self, region: Region) -> *mut u8 {
        let (base, bytes) = match region.place {
            Place::Send => (self.send.0.cast_mut(), self.send.1),
            Place::Receive => self.receive,
            Place::Scratch => (
                self.scratch.as_mut_ptr().cast(),
                self.scratch.len() * LINE_BYTES,
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
    /// The buffers given to `new` must still be borrowed, and no transfer may be in flight.
    unsafe fn run(&mut self, local: Local, combine: &mut Combine<'_>) {
        let scratch_bytes = self.scratch.len() * LINE_BYTES;
        let scratch: *mut u8 = self.scratch.as_mut_ptr().cast();
        // SAFETY: the places are the caller's buffers and our own; nobody else refers to them now.
        let mut memory = unsafe {
            Memory {
                send: std::slice::from_raw_parts(self.send.0, self.send.1),
                receive: std::slice::from_raw_parts_mut(self.receive.0, self.receive.1),
                scratch: std::slice::from_raw_parts_mut(scratch, scratch_bytes),
            }
        };
        memory.run(local, combine);
    }
}

/// A transfer in flight.
struct Started {
    request: Request,
    index: u32,
    transfer: Transfer,
}

/// A collective under way.
pub(super) struct Run<'a> {
    comm: &'a Comm,
    schedule: &'a Schedule,
    execution: Execution,
    buffers: Buffers,
    /// Numbers the messages of this collective.
    tag: i32,
    /// Transfers of the round, the oldest last.
    in_flight: Vec<Started>,
}

impl<'a> Run<'a> {
    /// Begins; nothing moves before `wait`.
    ///
    /// # Safety
    /// The buffers given to `Buffers::new` must stay borrowed for as long as this lives.
    pub(super) unsafe fn start(comm: &'a Comm, schedule: &'a Schedule, buffers: Buffers) -> Self {
        // All members count their collectives alike, so the number names the same one everywhere.
        let number = comm.collectives.fetch_add(1, Ordering::Relaxed);
        Run {
            comm,
            schedule,
            execution: Execution::start(),
            buffers,
            tag: (number & i32::MAX as u32) as i32,
            in_flight: Vec::new(),
        }
    }

    /// Drives it to the end.
    pub(super) fn wait(mut self, combine: &mut Combine<'_>) -> Result<(), ErrorKind> {
        while self.step(combine)? {
            self.finish_round()?;
        }
        Ok(())
    }

    /// Starts and carries out all that can be done without waiting; false when the collective is over.
    fn step(&mut self, combine: &mut Combine<'_>) -> Result<bool, ErrorKind> {
        loop {
            match self.execution.poll(self.schedule) {
                Action::Start { index, transfer } => self.transfer(index, transfer)?,
                // SAFETY: buffers stay borrowed (see `start`); local steps follow the round's transfers.
                Action::Run(local) => unsafe { self.buffers.run(local, combine) },
                Action::Wait => return Ok(true),
                Action::Done => return Ok(false),
            }
        }
    }

    fn transfer(&mut self, index: u32, transfer: Transfer) -> Result<(), ErrorKind> {
        let engine = &self.comm.process.engine;
        let context = self.comm.context(Context::Collective);
        let address = self.buffers.address(transfer.region);
        let bytes = transfer.region.bytes as u64;
        let process = self.comm.process_of(transfer.peer);
        // SAFETY: the region lies inside buffers that live until every transfer has ended (`drop`).
        let request = unsafe {
            match transfer.direction {
                Direction::Send => {
                    let envelope = Envelope {
                        context,
                        source: self.comm.rank,
                        tag: self.tag,
                        bytes,
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
                        },
                        address,
                        bytes,
                    )
                }
            }
        }?;
        self.in_flight.push(Started {
            request,
            index,
            transfer,
        });
        Ok(())
    }

    /// Waits for the transfers in flight.
    fn finish_round(&mut self) -> Result<(), ErrorKind> {
        while let Some(Started {
            request,
            index,
            transfer,
        }) = self.in_flight.pop()
        {
            let got = match self.comm.process.engine.wait(request) {
                Ok(completion) => completion.bytes,
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
            self.execution.transfer_done(self.schedule, index);
        }
        Ok(())
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let engine = &self.comm.process.engine;
        self.in_flight
            .iter()
            .for_each(|started| engine.cancel(started.request));
        for started in self.in_flight.drain(..) {
            // Whoever gave up reports why; what becomes of the rest is of no interest.
            let _ = engine.wait(started.request);
        }
    }
}
