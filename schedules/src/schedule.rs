//! The schedule: rounds of transfers, each followed by local work.
//!
//! All transfers of a round start together; its local steps run in order once they have completed;
//! then the next round starts. A schedule names no memory, only regions of three places that the
//! driver resolves. Within a round no transfer writes what another one touches (`validate` proves
//! it in tests).

use std::fmt;

/// A piece of memory that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The caller's input; never written.
    Send,
    /// The caller's output. With in-place calls it is also the input, and `Send` is not named.
    Receive,
    /// Working memory of [`Schedule::scratch_bytes`], aligned to [`SCRATCH_ALIGN`], contents
    /// arbitrary.
    Scratch,
}

/// Alignment of scratch memory and of every region that a builder takes from it: one cache line,
/// which is more than any element type asks for.
pub const SCRATCH_ALIGN: usize = 64;

/// What a signal carries.
const SIGNAL: Region = Region {
    place: Place::Scratch,
    offset: 0,
    bytes: 0,
};

/// Some bytes of a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Which memory.
    pub place: Place,
    /// First byte.
    pub offset: usize,
    /// Length.
    pub bytes: usize,
}

impl Region {
    /// Bytes of the caller's input.
    #[inline]
    pub fn send(offset: usize, bytes: usize) -> Region {
        Region {
            place: Place::Send,
            offset,
            bytes,
        }
    }

    /// Bytes of the caller's output.
    #[inline]
    pub fn receive(offset: usize, bytes: usize) -> Region {
        Region {
            place: Place::Receive,
            offset,
            bytes,
        }
    }

    /// The part of this region that begins `offset` bytes into it.
    #[inline]
    pub fn part(self, offset: usize, bytes: usize) -> Region {
        debug_assert!(
            offset + bytes <= self.bytes,
            "part {offset}+{bytes} of {self:?}"
        );
        Region {
            place: self.place,
            offset: self.offset + offset,
            bytes,
        }
    }

    /// One past the last byte.
    #[inline]
    pub fn end(self) -> usize {
        self.offset + self.bytes
    }

    /// Whether the two share a byte.
    pub fn overlaps(self, other: Region) -> bool {
        self.place == other.place
            && self.bytes > 0
            && other.bytes > 0
            && self.offset < other.end()
            && other.offset < self.end()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}[{}..{}]", self.place, self.offset, self.end())
    }
}

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the region to the peer.
    Send,
    /// From the peer into the region.
    Receive,
}

/// A message to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// The other rank of the communicator; never this one.
    pub peer: u32,
    /// The bytes; may be empty (a barrier's signal).
    pub region: Region,
}

/// Work on this rank's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// `to` = `from`; the two may overlap.
    Copy {
        /// Source.
        from: Region,
        /// Destination, of the same length.
        to: Region,
    },
    /// `into` = `input` ∘ `into`, element by element. Where `into` ∘ `input` is meant, the
    /// algorithm exchanges the roles of the two regions and goes on with the other one, which saves
    /// a copy.
    Reduce {
        /// Left operand.
        input: Region,
        /// Right operand and result; disjoint from `input` and of the same length.
        into: Region,
    },
}

/// Where a round ends in the two lists; it begins where the one before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    transfers_end: u32,
    locals_end: u32,
}

/// One round, as slices.
#[derive(Clone, Copy, Debug)]
pub struct RoundView<'a> {
    /// Index of the round's first transfer in the whole schedule.
    pub first_transfer: u32,
    /// Started together.
    pub transfers: &'a [Transfer],
    /// Run in order after the transfers.
    pub locals: &'a [Local],
}

/// What one rank does in one collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    transfers: Vec<Transfer>,
    locals: Vec<Local>,
    rounds: Vec<Round>,
    scratch_bytes: usize,
}

impl Schedule {
    /// Working memory that the driver must provide.
    #[inline]
    pub fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// Number of rounds.
    #[inline]
    pub fn rounds(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// All transfers, in the order in which they start.
    #[inline]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// The round with that number, or `None` past the last one.
    #[inline]
    pub fn round(&self, number: u32) -> Option<RoundView<'_>> {
        let round = self.rounds.get(number as usize)?;
        let (first_transfer, first_local) = match number.checked_sub(1) {
            Some(before) => {
                let before = self.rounds[before as usize];
                (before.transfers_end, before.locals_end)
            }
            None => (0, 0),
        };
        Some(RoundView {
            first_transfer,
            transfers: &self.transfers[first_transfer as usize..round.transfers_end as usize],
            locals: &self.locals[first_local as usize..round.locals_end as usize],
        })
    }

    /// The rounds one after the other.
    pub fn iter(&self) -> impl Iterator<Item = RoundView<'_>> {
        (0..self.rounds()).map_while(|number| self.round(number))
    }

    /// Bytes that this rank sends.
    pub fn bytes_sent(&self) -> usize {
        let sends = self
            .transfers
            .iter()
            .filter(|transfer| transfer.direction == Direction::Send);
        sends.map(|transfer| transfer.region.bytes).sum()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} rounds, {} scratch bytes",
            self.rounds(),
            self.scratch_bytes
        )?;
        for (number, round) in self.iter().enumerate() {
            writeln!(f, "round {number}")?;
            for transfer in round.transfers {
                let arrow = if transfer.direction == Direction::Send {
                    "->"
                } else {
                    "<-"
                };
                writeln!(f, "  {:?} {arrow} rank {}", transfer.region, transfer.peer)?;
            }
            for local in round.locals {
                match local {
                    Local::Copy { from, to } => writeln!(f, "  {to:?} = {from:?}")?,
                    Local::Reduce { input, into } => {
                        writeln!(f, "  {into:?} = {input:?} ∘ {into:?}")?
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes a schedule front to back. Empty data transfers and copies vanish: sender and receiver
/// know the same sizes, so both leave them out.
#[derive(Debug, Default)]
pub struct Builder {
    schedule: Schedule,
    transfers_begin: usize,
    locals_begin: usize,
}

impl Builder {
    /// A builder with room for that many rounds of about two transfers and a local step each.
    #[inline]
    pub fn for_rounds(rounds: u32) -> Builder {
        Builder::with_room(rounds, 2 * rounds, rounds)
    }

    /// A builder with room for exactly what is known to come.
    #[inline]
    pub fn with_room(rounds: u32, transfers: u32, locals: u32) -> Builder {
        let schedule = Schedule {
            transfers: Vec::with_capacity(transfers as usize),
            locals: Vec::with_capacity(locals as usize),
            rounds: Vec::with_capacity(rounds as usize),
            scratch_bytes: 0,
        };
        Builder {
            schedule,
            transfers_begin: 0,
            locals_begin: 0,
        }
    }

    /// Takes fresh working memory.
    #[inline]
    pub fn scratch(&mut self, bytes: usize) -> Region {
        let offset = self.schedule.scratch_bytes.next_multiple_of(SCRATCH_ALIGN);
        self.schedule.scratch_bytes = offset + bytes;
        Region {
            place: Place::Scratch,
            offset,
            bytes,
        }
    }

    /// Sends a region, unless it is empty.
    #[inline]
    pub fn send(&mut self, to: u32, region: Region) {
        if region.bytes > 0 {
            self.transfer(Transfer {
                direction: Direction::Send,
                peer: to,
                region,
            });
        }
    }

    /// Receives into a region, unless it is empty.
    #[inline]
    pub fn receive(&mut self, from: u32, region: Region) {
        if region.bytes > 0 {
            self.transfer(Transfer {
                direction: Direction::Receive,
                peer: from,
                region,
            });
        }
    }

    /// Sends an empty message: the barrier's only content.
    #[inline]
    pub fn send_signal(&mut self, to: u32) {
        self.transfer(Transfer {
            direction: Direction::Send,
            peer: to,
            region: SIGNAL,
        });
    }

    /// Receives an empty message.
    #[inline]
    pub fn receive_signal(&mut self, from: u32) {
        self.transfer(Transfer {
            direction: Direction::Receive,
            peer: from,
            region: SIGNAL,
        });
    }

    /// A transfer after a local step depends on it, so it opens the next round by itself.
    #[inline]
    fn transfer(&mut self, transfer: Transfer) {
        if self.schedule.locals.len() > self.locals_begin {
            self.end_round();
        }
        self.schedule.transfers.push(transfer);
    }

    /// Copies; a copy that continues the one before it becomes one with it.
    #[inline]
    pub fn copy(&mut self, from: Region, to: Region) {
        debug_assert_eq!(from.bytes, to.bytes);
        if from.bytes == 0 || from == to {
            return;
        }
        let mine = &mut self.schedule.locals[self.locals_begin..];
        if let Some(Local::Copy {
            from: last_from,
            to: last_to,
        }) = mine.last_mut()
        {
            let follows = last_from.place == from.place && last_to.place == to.place;
            if follows && last_from.end() == from.offset && last_to.end() == to.offset {
                last_from.bytes += from.bytes;
                last_to.bytes += to.bytes;
                return;
            }
        }
        self.schedule.locals.push(Local::Copy { from, to });
    }

    /// `into` = `input` ∘ `into`.
    #[inline]
    pub fn reduce(&mut self, input: Region, into: Region) {
        debug_assert_eq!(input.bytes, into.bytes);
        if into.bytes > 0 {
            self.schedule.locals.push(Local::Reduce { input, into });
        }
    }

    /// Writes a phase among some of the ranks: in it peers are numbered 0, 1, …, and `rank_of`
    /// names their ranks.
    #[inline]
    pub fn among<R>(
        &mut self,
        rank_of: impl Fn(u32) -> u32,
        phase: impl FnOnce(&mut Builder) -> R,
    ) -> R {
        let first = self.schedule.transfers.len();
        let answer = phase(self);
        for transfer in &mut self.schedule.transfers[first..] {
            transfer.peer = rank_of(transfer.peer);
        }
        answer
    }

    /// Everything written after this waits for everything written before it.
    #[inline]
    pub fn end_round(&mut self) {
        let (transfers, locals) = (self.schedule.transfers.len(), self.schedule.locals.len());
        if transfers > self.transfers_begin || locals > self.locals_begin {
            self.schedule.rounds.push(Round {
                transfers_end: transfers as u32,
                locals_end: locals as u32,
            });
            (self.transfers_begin, self.locals_begin) = (transfers, locals);
        }
    }

    /// The finished schedule.
    #[inline]
    pub fn finish(mut self) -> Schedule {
        self.end_round();
        self.schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_after_a_local_step_opens_a_round_and_copies_that_touch_are_joined() {
        let mut builder = Builder::default();
        builder.copy(Region::send(0, 4), Region::receive(8, 4));
        builder.copy(Region::send(4, 4), Region::receive(12, 4));
        builder.send(1, Region::receive(8, 8));
        builder.send(2, Region::receive(0, 0));
        let schedule = builder.finish();
        assert_eq!(schedule.rounds(), 2);
        let first = schedule.round(0).expect("two rounds");
        assert_eq!(
            first.locals,
            [Local::Copy {
                from: Region::send(0, 8),
                to: Region::receive(8, 8)
            }]
        );
        assert_eq!(schedule.round(1).expect("two rounds").transfers.len(), 1);
        assert_eq!(
            schedule.to_string(),
            "2 rounds, 0 scratch bytes\nround 0\n  Receive[8..16] = Send[0..8]\nround 1\n  Receive[8..16] -> rank 1\n"
        );
    }

    #[test]
    fn scratch_regions_are_aligned_and_disjoint() {
        let mut builder = Builder::default();
        let (first, second) = (builder.scratch(3), builder.scratch(5));
        assert_eq!((first.offset, second.offset), (0, SCRATCH_ALIGN));
        assert_eq!(builder.finish().scratch_bytes(), SCRATCH_ALIGN + 5);
    }
}
