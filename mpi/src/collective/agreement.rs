//! What all members of a communicator must say alike in a collective, beside the lengths: which one
//! it is, the operation, the root.
//!
//! On a board these stand in the note of every contribution (`board/round.rs`). In messages there
//! is a byte for them, the signature: it tells the collective and, of a reduction, the operation. A
//! root is told by nobody to whom it matters: when each rank takes itself for the root, all send
//! and none receives. So every member keeps a *trail* of the roots that it has named, and those
//! collectives in which everybody hears of everybody compare it.

use crate::disagreement::COLLECTIVE_SIGNATURE;
use crate::error::ErrorKind;
use oxmpi_datatypes::op::Predefined;
use oxmpi_schedules::choose::Collective;

/// What a member says of the collective that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreement {
    pub(super) collective: Collective,
    /// 0 for an operation of the program's own, and where there is none; else one more than the
    /// place in [`Predefined::ALL`].
    pub(super) operation: u8,
    /// Of the roots that were named in this communicator before.
    pub(super) trail: u8,
}

/// Operations that reductions take: those of the program, which cannot be told apart, and twelve.
const OPERATIONS: u8 = 13;

/// As much of the trail as a signature has room for.
const TRAIL: u8 = 8;

/// The number of an operation in an [`Agreement`].
#[inline]
pub(super) fn operation_number(predefined: Option<Predefined>) -> u8 {
    match predefined {
        None => 0,
        Some(predefined) => predefined as u8 + 1,
    }
}

/// Whether an operation gives the same bits whichever of two elements is the left one. Of a
/// positive and a negative zero the least and the greatest may be either, and nobody knows what a
/// function of the program does.
#[inline]
pub(super) fn is_symmetric(number: u8) -> bool {
    use Predefined::*;
    let symmetric = [
        Sum, Product, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor,
    ];
    symmetric
        .iter()
        .any(|&predefined| number == operation_number(Some(predefined)))
}

/// How people know an operation.
pub(super) fn operation_name(number: u8) -> String {
    match Predefined::ALL.get(usize::from(number).wrapping_sub(1)) {
        Some(predefined) => predefined.to_string(),
        None => "an operation of the program's own".to_owned(),
    }
}

/// How people know a collective.
pub(super) fn collective_name(collective: Collective) -> String {
    format!("{collective:?}").to_lowercase()
}

/// The trail after a further root.
#[inline]
pub(super) fn trail_after(trail: u32, root: u32) -> u32 {
    // The factor is odd, so one different root shows in the lowest bits for as long as others
    // follow; higher bits of a root are folded into those.
    let folded = root ^ root >> 3 ^ root >> 6;
    trail.wrapping_mul(5).wrapping_add(folded).wrapping_add(1)
}

impl Agreement {
    /// As it travels with a message: 0x80 and a number, which is not 0.
    #[inline]
    pub(super) fn signature(self) -> u8 {
        let number = match place(self.collective) {
            Place::Reduction(at) => 1 + at * OPERATIONS + self.operation,
            Place::Rooted(at) => ROOTED + at,
            Place::Everybody(at) => EVERYBODY + at * TRAIL + self.trail % TRAIL,
        };
        COLLECTIVE_SIGNATURE | number
    }

    /// What a signature says, if it is one.
    fn parse(signature: u8) -> Option<Agreement> {
        Collective::ALL.into_iter().find_map(|collective| {
            let said = |operation, trail| Agreement {
                collective,
                operation,
                trail,
            };
            let mut all = (0..OPERATIONS)
                .flat_map(|operation| (0..TRAIL).map(move |trail| said(operation, trail)));
            all.find(|said| said.signature() == signature)
        })
    }
}

/// Where the numbers of collectives from or to a root begin: after five reductions.
const ROOTED: u8 = 1 + 5 * OPERATIONS;

/// Where those begin in which everybody hears of everybody.
const EVERYBODY: u8 = ROOTED + 5;

const _: () = assert!(EVERYBODY + 5 * TRAIL < COLLECTIVE_SIGNATURE);

/// Where the numbers of a collective lie.
enum Place {
    Reduction(u8),
    Rooted(u8),
    Everybody(u8),
}

#[inline]
fn place(collective: Collective) -> Place {
    match collective {
        Collective::Reduce => Place::Reduction(0),
        Collective::Allreduce => Place::Reduction(1),
        Collective::Scan => Place::Reduction(2),
        Collective::Exscan => Place::Reduction(3),
        Collective::ReduceScatter => Place::Reduction(4),
        Collective::Bcast => Place::Rooted(0),
        Collective::Gather => Place::Rooted(1),
        Collective::Gatherv => Place::Rooted(2),
        Collective::Scatter => Place::Rooted(3),
        Collective::Scatterv => Place::Rooted(4),
        Collective::Barrier => Place::Everybody(0),
        Collective::Allgather => Place::Everybody(1),
        Collective::Allgatherv => Place::Everybody(2),
        Collective::Alltoall => Place::Everybody(3),
        Collective::Alltoallv => Place::Everybody(4),
    }
}

/// What the signatures of two members disagree on; they are not the same.
#[cold]
pub(super) fn disagreement(peer: u32, here: u8, there: u8) -> ErrorKind {
    let (Some(mine), Some(other)) = (Agreement::parse(here), Agreement::parse(there)) else {
        let (here, there) = ("this call".to_owned(), "another call".to_owned());
        return ErrorKind::DifferentCollective { peer, here, there };
    };
    if mine.collective != other.collective {
        return ErrorKind::DifferentCollective {
            peer,
            here: collective_name(mine.collective),
            there: collective_name(other.collective),
        };
    }
    if mine.operation != other.operation {
        return ErrorKind::DifferentOperation {
            peer,
            here: operation_name(mine.operation),
            there: operation_name(other.operation),
        };
    }
    ErrorKind::EarlierRoot { peer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn said(collective: Collective, operation: u8, trail: u8) -> Agreement {
        Agreement {
            collective,
            operation,
            trail,
        }
    }

    #[test]
    fn every_collective_and_operation_has_a_signature_of_its_own() {
        let mut seen = HashSet::new();
        for collective in Collective::ALL {
            let (operations, trails) = match place(collective) {
                Place::Reduction(_) => (OPERATIONS, 1),
                Place::Rooted(_) => (1, 1),
                Place::Everybody(_) => (1, TRAIL),
            };
            for operation in 0..operations {
                for trail in 0..trails {
                    let said = said(collective, operation, trail);
                    assert!(seen.insert(said.signature()), "{said:?}");
                    assert!(said.signature() > COLLECTIVE_SIGNATURE);
                    assert_eq!(Agreement::parse(said.signature()), Some(said));
                }
            }
        }
    }

    #[test]
    fn operations_of_the_program_and_those_that_choose_a_side_are_not_symmetric() {
        let of = |op| is_symmetric(operation_number(Some(op)));
        assert!(of(Predefined::Sum) && of(Predefined::LogicalXor));
        assert!(!of(Predefined::Max) && !of(Predefined::MinLoc) && !of(Predefined::Replace));
        assert!(!is_symmetric(operation_number(None)));
    }

    #[test]
    fn a_disagreement_is_told_with_its_values() {
        let number = |op| operation_number(Some(op));
        let sum = said(Collective::Allreduce, number(Predefined::Sum), 0).signature();
        let max = said(Collective::Allreduce, number(Predefined::Max), 0).signature();
        let own = said(Collective::Allreduce, 0, 0).signature();
        let bcast = said(Collective::Bcast, 0, 0).signature();
        let barrier = |trail| said(Collective::Barrier, 0, trail).signature();
        let text = |here, there| disagreement(3, here, there).to_string();
        assert_eq!(
            text(sum, max),
            "rank 3 combines by MPI_MAX where this rank combines by MPI_SUM; all ranks must name \
             the same operation"
        );
        assert!(text(own, max).contains("where this rank combines by an operation of the program"));
        assert!(text(sum, bcast).contains("rank 3 is in bcast where this rank is in allreduce"));
        assert!(text(barrier(1), barrier(2)).contains("another root"));
    }

    #[test]
    fn one_different_root_shows_however_many_follow() {
        let mut trails = [trail_after(0, 0), trail_after(0, 1)];
        for root in [0, 1, 7, 7, 2] {
            assert_ne!(trails[0] as u8 % TRAIL, trails[1] as u8 % TRAIL);
            trails = trails.map(|trail| trail_after(trail, root));
        }
    }
}
