//! A call of a collective as its algorithms see it: what moves, in bytes, and the rule that decides
//! how.

use super::Operand;
use super::choose::{Collective, Rule, Situation, choose};
use super::cut::Block;
use super::position::{Placement, Position};
use super::reduce_scatter::Blocks;

/// One rank's call of a collective, in bytes. Where buffers and in-place data lie is said in the
/// collective's module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each is the MPI operation of that name; sizes are in bytes"
)]
pub enum Call<'a> {
    Barrier,
    Bcast {
        bytes: usize,
        root: u32,
    },
    Reduce {
        operand: Operand,
        root: u32,
    },
    Allreduce(Operand),
    Scan(Operand),
    Exscan(Operand),
    Gather {
        bytes: usize,
        root: u32,
        in_place: bool,
    },
    Gatherv {
        own_bytes: usize,
        blocks: &'a [Block],
        root: u32,
        in_place: bool,
    },
    Scatter {
        bytes: usize,
        root: u32,
        in_place: bool,
    },
    Scatterv {
        own_bytes: usize,
        blocks: &'a [Block],
        root: u32,
        in_place: bool,
    },
    Allgather {
        bytes: usize,
        in_place: bool,
    },
    Allgatherv {
        blocks: &'a [Block],
        in_place: bool,
    },
    Alltoall {
        bytes: usize,
        in_place: bool,
    },
    Alltoallv {
        send: &'a [Block],
        receive: &'a [Block],
        in_place: bool,
    },
    ReduceScatter {
        blocks: Blocks<'a>,
        commutative: bool,
        in_place: bool,
    },
}

/// A call that owns its lists, beside the schedule that was built for it.
#[derive(Debug)]
pub struct KeptCall {
    /// Its lists are empty.
    call: Call<'static>,
    first: Box<[Block]>,
    second: Box<[Block]>,
    ends: Box<[usize]>,
}

impl PartialEq<Call<'_>> for KeptCall {
    fn eq(&self, other: &Call<'_>) -> bool {
        let (first, second, ends) = other.lists();
        self.call == other.without_lists()
            && *self.first == *first
            && *self.second == *second
            && *self.ends == *ends
    }
}

impl Call<'_> {
    /// The same call with copies of its lists, to compare later ones with.
    pub fn keep(&self) -> KeptCall {
        let (first, second, ends) = self.lists();
        KeptCall {
            call: self.without_lists(),
            first: first.into(),
            second: second.into(),
            ends: ends.into(),
        }
    }

    /// The lists of blocks and of ends that it comes with.
    fn lists(&self) -> (&[Block], &[Block], &[usize]) {
        match *self {
            Call::Gatherv { blocks, .. }
            | Call::Scatterv { blocks, .. }
            | Call::Allgatherv { blocks, .. } => (blocks, &[], &[]),
            Call::Alltoallv { send, receive, .. } => (send, receive, &[]),
            Call::ReduceScatter {
                blocks: Blocks::Ends(ends),
                ..
            } => (&[], &[], ends),
            _ => (&[], &[], &[]),
        }
    }

    /// The same call with empty lists.
    fn without_lists(&self) -> Call<'static> {
        match *self {
            Call::Barrier => Call::Barrier,
            Call::Bcast { bytes, root } => Call::Bcast { bytes, root },
            Call::Reduce { operand, root } => Call::Reduce { operand, root },
            Call::Allreduce(operand) => Call::Allreduce(operand),
            Call::Scan(operand) => Call::Scan(operand),
            Call::Exscan(operand) => Call::Exscan(operand),
            Call::Gather {
                bytes,
                root,
                in_place,
            } => Call::Gather {
                bytes,
                root,
                in_place,
            },
            Call::Gatherv {
                own_bytes,
                root,
                in_place,
                ..
            } => Call::Gatherv {
                own_bytes,
                blocks: &[],
                root,
                in_place,
            },
            Call::Scatter {
                bytes,
                root,
                in_place,
            } => Call::Scatter {
                bytes,
                root,
                in_place,
            },
            Call::Scatterv {
                own_bytes,
                root,
                in_place,
                ..
            } => Call::Scatterv {
                own_bytes,
                blocks: &[],
                root,
                in_place,
            },
            Call::Allgather { bytes, in_place } => Call::Allgather { bytes, in_place },
            Call::Allgatherv { in_place, .. } => Call::Allgatherv {
                blocks: &[],
                in_place,
            },
            Call::Alltoall { bytes, in_place } => Call::Alltoall { bytes, in_place },
            Call::Alltoallv { in_place, .. } => Call::Alltoallv {
                send: &[],
                receive: &[],
                in_place,
            },
            Call::ReduceScatter {
                blocks,
                commutative,
                in_place,
            } => Call::ReduceScatter {
                blocks: match blocks {
                    Blocks::Equal(bytes) => Blocks::Equal(bytes),
                    Blocks::Ends(_) => Blocks::Ends(&[]),
                },
                commutative,
                in_place,
            },
        }
    }

    /// Which collective it is.
    #[inline]
    pub fn collective(&self) -> Collective {
        match self {
            Call::Barrier => Collective::Barrier,
            Call::Bcast { .. } => Collective::Bcast,
            Call::Reduce { .. } => Collective::Reduce,
            Call::Allreduce(_) => Collective::Allreduce,
            Call::Scan(_) => Collective::Scan,
            Call::Exscan(_) => Collective::Exscan,
            Call::Gather { .. } => Collective::Gather,
            Call::Gatherv { .. } => Collective::Gatherv,
            Call::Scatter { .. } => Collective::Scatter,
            Call::Scatterv { .. } => Collective::Scatterv,
            Call::Allgather { .. } => Collective::Allgather,
            Call::Allgatherv { .. } => Collective::Allgatherv,
            Call::Alltoall { .. } => Collective::Alltoall,
            Call::Alltoallv { .. } => Collective::Alltoallv,
            Call::ReduceScatter { .. } => Collective::ReduceScatter,
        }
    }

    /// Whether a member knows only the lengths of what it sends and receives itself.
    #[inline]
    pub fn is_uneven(&self) -> bool {
        matches!(
            self,
            Call::Gatherv { .. } | Call::Scatterv { .. } | Call::Alltoallv { .. }
        )
    }

    /// The root that it names, if it names one.
    #[inline]
    pub fn root(&self) -> Option<u32> {
        match *self {
            Call::Bcast { root, .. }
            | Call::Reduce { root, .. }
            | Call::Gather { root, .. }
            | Call::Gatherv { root, .. }
            | Call::Scatter { root, .. }
            | Call::Scatterv { root, .. } => Some(root),
            _ => None,
        }
    }

    /// The bytes that the collective's table counts; only what every rank knows.
    #[inline]
    fn bytes(&self, size: u32) -> usize {
        match self {
            Call::Barrier
            | Call::Gatherv { .. }
            | Call::Scatterv { .. }
            | Call::Alltoallv { .. } => 0,
            Call::Bcast { bytes, .. } | Call::Gather { bytes, .. } => *bytes,
            Call::Scatter { bytes, .. } | Call::Alltoall { bytes, .. } => *bytes,
            Call::Reduce { operand, .. } => operand.bytes,
            Call::Allreduce(operand) | Call::Scan(operand) | Call::Exscan(operand) => operand.bytes,
            Call::Allgather { bytes, .. } => bytes.saturating_mul(size as usize),
            Call::Allgatherv { blocks, .. } => blocks.iter().map(|block| block.bytes).sum(),
            Call::ReduceScatter { blocks, .. } => blocks.total(size),
        }
    }

    /// Whether its operation commutes; true where there is none.
    #[inline]
    pub(super) fn commutative(&self) -> bool {
        match self {
            Call::Reduce { operand, .. } => operand.commutative,
            Call::Allreduce(operand) | Call::Scan(operand) | Call::Exscan(operand) => {
                operand.commutative
            }
            Call::ReduceScatter { commutative, .. } => *commutative,
            _ => true,
        }
    }

    /// The rule that decides how it runs.
    #[inline]
    pub fn rule(&self, position: Position, placement: Placement<'_>) -> &'static Rule {
        let (size, commutative) = (position.size, self.commutative());
        let situation = Situation {
            size,
            bytes: self.bytes(size),
            commutative,
            placement,
        };
        choose(self.collective(), &situation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_call_equals_those_with_the_same_lists() {
        let block = |offset, bytes| Block { offset, bytes };
        let lists = [
            vec![],
            vec![block(0, 4)],
            vec![block(0, 4), block(4, 4)],
            vec![block(0, 4), block(8, 4)],
        ];
        let ends = [vec![], vec![4], vec![4, 8]];
        let mut calls = vec![Call::Barrier, Call::Bcast { bytes: 4, root: 0 }];
        for send in &lists {
            let in_place = false;
            calls.push(Call::Allgatherv {
                blocks: send,
                in_place,
            });
            for receive in &lists {
                calls.push(Call::Alltoallv {
                    send,
                    receive,
                    in_place,
                });
            }
        }
        let shares = ends.iter().map(|ends| Blocks::Ends(ends));
        calls.extend(
            shares
                .chain([Blocks::Equal(4)])
                .map(|blocks| Call::ReduceScatter {
                    blocks,
                    commutative: true,
                    in_place: false,
                }),
        );
        for (at, call) in calls.iter().enumerate() {
            let kept = call.keep();
            for (other_at, other) in calls.iter().enumerate() {
                assert_eq!(kept == *other, at == other_at, "{call:?} and {other:?}");
            }
        }
    }
}
