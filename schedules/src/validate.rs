//! What must be true of every schedule whatever the algorithm; tests and the simulator ask for it.
//!
//! A schedule that passes cannot reach outside its buffers, never lets two transfers of a round
//! race for the same bytes, never writes the caller's input, and never sends to itself.

use super::position::Position;
use super::schedule::{Direction, Local, Place, Region, Schedule};

/// Lengths of the buffers that a schedule will be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Bytes in `Send`.
    pub send: usize,
    /// Bytes in `Receive`.
    pub receive: usize,
}

/// Why a schedule is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleFault {
    /// A region reaches past its buffer.
    #[error(
        "round {round}: {region:?} reaches past the {available} bytes of its buffer; the algorithm and the caller disagree about sizes"
    )]
    OutOfBounds {
        /// Where.
        round: u32,
        /// What.
        region: Region,
        /// Length of the buffer.
        available: usize,
    },
    /// Two transfers of one round touch the same bytes and one of them writes.
    #[error(
        "round {round}: a transfer writes {written:?} while another one uses {other:?}; they need separate rounds"
    )]
    Race {
        /// Where.
        round: u32,
        /// The receive.
        written: Region,
        /// The other transfer.
        other: Region,
    },
    /// A step writes the caller's input.
    #[error("round {round}: {region:?} is written, but the send buffer is the caller's")]
    InputWritten {
        /// Where.
        round: u32,
        /// What.
        region: Region,
    },
    /// A transfer with itself or with a rank that does not exist.
    #[error("round {round}: rank {rank} of {size} has a transfer with rank {peer}")]
    NoSuchPeer {
        /// Where.
        round: u32,
        /// This rank.
        rank: u32,
        /// The communicator's size.
        size: u32,
        /// The other rank.
        peer: u32,
    },
    /// A local step whose operands differ in length, or a reduction of overlapping operands.
    #[error("round {round}: operands do not fit: {step:?}")]
    Misfit {
        /// Where.
        round: u32,
        /// The step.
        step: Local,
    },
}

impl Schedule {
    /// Checks what every schedule promises.
    pub fn validate(&self, position: Position, extents: Extents) -> Result<(), ScheduleFault> {
        for (round, view) in (0..).zip(self.iter()) {
            let inside = |region: Region| {
                let available = match region.place {
                    Place::Send => extents.send,
                    Place::Receive => extents.receive,
                    Place::Scratch => self.scratch_bytes(),
                };
                let fault = ScheduleFault::OutOfBounds {
                    round,
                    region,
                    available,
                };
                if region.end() <= available {
                    Ok(())
                } else {
                    Err(fault)
                }
            };
            let writable = |region: Region| match region.place {
                Place::Send => Err(ScheduleFault::InputWritten { round, region }),
                _ => inside(region),
            };
            let mut written: Vec<Region> = Vec::new();
            for transfer in view.transfers {
                let (rank, size, peer) = (position.rank, position.size, transfer.peer);
                if peer == rank || peer >= size {
                    return Err(ScheduleFault::NoSuchPeer {
                        round,
                        rank,
                        size,
                        peer,
                    });
                }
                match transfer.direction {
                    Direction::Send => inside(transfer.region)?,
                    Direction::Receive => {
                        writable(transfer.region)?;
                        written.push(transfer.region);
                    }
                }
            }
            no_races(
                round,
                &mut written,
                view.transfers
                    .iter()
                    .filter(|transfer| transfer.direction == Direction::Send)
                    .map(|transfer| transfer.region),
            )?;
            for step in view.locals {
                let (read, write) = match *step {
                    Local::Copy { from, to } => (from, to),
                    Local::Reduce { input, into } => (input, into),
                };
                inside(read)?;
                writable(write)?;
                let overlapping = matches!(step, Local::Reduce { .. }) && read.overlaps(write);
                if read.bytes != write.bytes || overlapping {
                    return Err(ScheduleFault::Misfit { round, step: *step });
                }
            }
        }
        Ok(())
    }
}

/// Sorted by place and offset, regions that are written must not reach into the next, and what is
/// sent must lie between them.
fn no_races(
    round: u32,
    written: &mut [Region],
    sent: impl Iterator<Item = Region>,
) -> Result<(), ScheduleFault> {
    written.sort_unstable_by_key(|region| (region.place == Place::Scratch, region.offset));
    for pair in written.windows(2) {
        if pair[0].overlaps(pair[1]) {
            return Err(ScheduleFault::Race {
                round,
                written: pair[0],
                other: pair[1],
            });
        }
    }
    for other in sent.filter(|region| region.place != Place::Send) {
        let key = |region: &Region| (region.place == Place::Scratch, region.end());
        let first = written
            .partition_point(|region| key(region) <= (other.place == Place::Scratch, other.offset));
        if let Some(written) = written
            .get(first)
            .copied()
            .filter(|region| region.overlaps(other))
        {
            return Err(ScheduleFault::Race {
                round,
                written,
                other,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Builder;
    use super::*;

    fn fault(build: impl FnOnce(&mut Builder)) -> String {
        let mut builder = Builder::default();
        build(&mut builder);
        let extents = Extents {
            send: 8,
            receive: 8,
        };
        let found = builder.finish().validate(Position::new(0, 2), extents);
        found.expect_err("the schedule is wrong").to_string()
    }

    #[test]
    fn each_fault_is_named_with_its_values() {
        assert_eq!(
            fault(|builder| builder.send(1, Region::send(4, 8))),
            "round 0: Send[4..12] reaches past the 8 bytes of its buffer; the algorithm and the caller disagree about sizes"
        );
        assert_eq!(
            fault(|builder| {
                builder.receive(1, Region::receive(0, 8));
                builder.send(1, Region::receive(4, 2));
            }),
            "round 0: a transfer writes Receive[0..8] while another one uses Receive[4..6]; they need separate rounds"
        );
        assert_eq!(
            fault(|builder| builder.copy(Region::receive(0, 4), Region::send(0, 4))),
            "round 0: Send[0..4] is written, but the send buffer is the caller's"
        );
        assert_eq!(
            fault(|builder| builder.send(0, Region::send(0, 4))),
            "round 0: rank 0 of 2 has a transfer with rank 0"
        );
        assert_eq!(
            fault(|builder| builder.reduce(Region::receive(0, 4), Region::receive(2, 4))),
            "round 0: operands do not fit: Reduce { input: Receive[0..4], into: Receive[2..6] }"
        );
    }
}
