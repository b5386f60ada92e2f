//! Collectives on one host that are small, or oversubscribed: everybody writes on a board, and
//! reads what the others wrote.
//!
//! A message between two ranks costs matching and a ring; a board costs one store per rank and one
//! load per pair, and where ranks take turns on few CPUs everybody needs to run only once. The
//! leader of a group (its rank 0) hands out the board when the group is made. Contributions carry a
//! note of what they are, so ranks that disagree on the call are told instead of reading nonsense.
//!
//! Whether a call runs here may depend only on what all ranks know: the call and the size.

mod round;
mod uneven;
mod waits;

use oxmpi_engine::{Engine, EngineError};

use super::Combine;
use super::agreement::Agreement;
use crate::communicator::GroupBoard;
use crate::error::ErrorKind;
use oxmpi_schedules::plan::Call;

use round::Round;
pub(super) use uneven::Rest;
use uneven::directory_bytes;

/// The longest message from or to a root that goes over the board where every rank has a CPU (2
/// ranks, against messages: 8 KiB 1.3 and 1.3 µs with a barrier, 64 KiB 7.4 and 4.7).
const ROOTED_BYTES_MAX: usize = 8 << 10;

/// The same for vectors that everybody combines (2 KiB 0.6 and 0.6 µs, 64 KiB 10.5 and 6.3).
const COMBINED_BYTES_MAX: usize = 2 << 10;

/// Blocks of an alltoall are cut into pieces no smaller than this: a cache line.
const PIECE_BYTES_MIN: usize = 64;

impl GroupBoard {
    /// Whether a call is better done here; opens the board.
    #[inline(always)]
    pub(crate) fn suits(&mut self, engine: &Engine, call: &Call<'_>) -> Result<bool, EngineError> {
        let size = self.members.len();
        let oversubscribed = size > engine.usable_cpus() as usize;
        let cell_bytes = self.open(engine)?.cell_bytes();
        Ok(suits(call, size, cell_bytes, oversubscribed))
    }

    /// Runs a call that suits, but for what it leaves to messages. It may be a part of another one:
    /// members that disagree are told by what was agreed on for the whole.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        engine: &Engine,
        agreed: Agreement,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<Rest, ErrorKind> {
        self.open(engine)?;
        let mut round = Round {
            engine,
            operation: 0,
            agreed,
            root: 0,
            board: self.open.as_mut().expect("it was opened just now"),
            members: &self.members,
            group: self.group.as_ref(),
            me: self.me,
        };
        round.run(call, send, receive, combine)
    }
}

/// Whether a call is better done here. Where ranks take turns on the CPUs (`oversubscribed`), a
/// message waits for its receiver's turn at every hop, while on the board everybody needs one turn;
/// so there even long vectors go over the board, piece by piece. Where every rank has a CPU,
/// messages win once they are long.
#[inline(always)]
fn suits(call: &Call<'_>, size: usize, cell_bytes: usize, oversubscribed: bool) -> bool {
    let fits = |bytes: usize| bytes <= cell_bytes;
    let below = |limit: usize, bytes: usize| fits(bytes) && (oversubscribed || bytes <= limit);
    match call {
        Call::Barrier => true,
        Call::Bcast { bytes, .. } | Call::Gather { bytes, .. } => below(ROOTED_BYTES_MAX, *bytes),
        Call::Scatter { bytes, .. } => below(ROOTED_BYTES_MAX, bytes.saturating_mul(size)),
        Call::Reduce { operand, .. } | Call::Allreduce(operand) => {
            below(COMBINED_BYTES_MAX, operand.bytes)
                || oversubscribed && fits(operand.element_bytes)
        }
        Call::Scan(operand) | Call::Exscan(operand) => fits(operand.bytes),
        Call::Allgather { bytes, .. } => fits(*bytes),
        Call::Allgatherv { blocks, .. } => blocks.iter().all(|block| fits(block.bytes)),
        Call::Alltoall { bytes, .. } => {
            fits(bytes.saturating_mul(size)) || oversubscribed && fits(size * PIECE_BYTES_MIN)
        }
        Call::ReduceScatter { blocks, .. } => fits(blocks.total(size as u32)),
        // Nobody knows all lengths, so they decide nothing here: whoever has something too long
        // says so on the board, and sends it.
        Call::Gatherv { .. } | Call::Scatterv { .. } => fits(directory_bytes(size)),
        Call::Alltoallv { in_place, .. } => !in_place && fits(directory_bytes(size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_schedules::Operand;

    #[test]
    fn long_vectors_suit_only_where_ranks_share_cpus() {
        let allreduce = |bytes| {
            Call::Allreduce(Operand {
                bytes,
                element_bytes: 8,
                commutative: true,
                in_place: false,
            })
        };
        let suits = |bytes, oversubscribed| suits(&allreduce(bytes), 4, 64 << 10, oversubscribed);
        assert!(suits(COMBINED_BYTES_MAX, false) && !suits(COMBINED_BYTES_MAX + 8, false));
        assert!(suits(8 << 20, true));
    }

    #[test]
    fn small_calls_and_crowded_ones_suit() {
        let suits = |call: Call<'_>, oversubscribed| suits(&call, 16, 1024, oversubscribed);
        let bcast = |bytes| Call::Bcast { bytes, root: 0 };
        let alltoall = |bytes| Call::Alltoall {
            bytes,
            in_place: false,
        };
        assert!(suits(Call::Barrier, false) && suits(Call::Barrier, true));
        assert!(
            suits(bcast(1024), false) && !suits(bcast(1025), false) && !suits(bcast(1025), true)
        );
        assert!(suits(alltoall(64), false) && !suits(alltoall(65), false));
        assert!(suits(alltoall(1 << 20), true));
    }
}
