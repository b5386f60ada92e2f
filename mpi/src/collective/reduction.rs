//! The collectives that combine data: reduce, allreduce, scan, exscan, reduce_scatter.
//!
//! Ranks are combined as the operation allows: in any order when it commutes, in the order of the
//! ranks when it does not. The result of a floating-point sum may differ in the last digits between
//! numbers of ranks, but not from run to run.

use super::agreement::operation_number;
use super::blocks::{check_length, for_all};
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use oxmpi_datatypes::op::{Operation, reduce_bytes};
use oxmpi_datatypes::plain::{Plain, bytes, bytes_mut};
use oxmpi_schedules::Operand;
use oxmpi_schedules::plan::Call;
use oxmpi_schedules::reduce_scatter::Blocks;

const SAME: &str = "as many elements as the send buffer";

impl<L: Level> Communicator<'_, L> {
    /// Combines every rank's `data`, element by element, into the root's `result`.
    pub fn reduce<T: Plain>(
        &self,
        data: &[T],
        result: Option<&mut [T]>,
        op: impl Operation<T>,
        root: u32,
    ) -> Result<()> {
        self.named("reduce", || {
            let result = self.at_root("receive", root, result)?;
            if let Some(result) = &result {
                check_length("receive", result.len(), data.len(), SAME)?;
            }
            let call = Call::Reduce {
                operand: operand(data, &op, false),
                root,
            };
            self.combine_data(&call, data, result.unwrap_or_default(), &op)
        })
    }

    /// Combines every rank's `data`, element by element, into every rank's `result`.
    pub fn allreduce<T: Plain>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("allreduce", || {
            check_length("receive", result.len(), data.len(), SAME)?;
            let call = Call::Allreduce(operand(data, &op, false));
            self.combine_data(&call, data, result, &op)
        })
    }

    /// Combines every rank's `data`, element by element, and leaves the result there on every rank.
    pub fn allreduce_in_place<T: Plain>(
        &self,
        data: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("allreduce_in_place", || {
            let call = Call::Allreduce(operand(data, &op, true));
            self.combine_data(&call, &[], data, &op)
        })
    }

    /// Rank r gets the combination of ranks 0 to r.
    pub fn scan<T: Plain>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("scan", || {
            check_length("receive", result.len(), data.len(), SAME)?;
            let call = Call::Scan(operand(data, &op, false));
            self.combine_data(&call, data, result, &op)
        })
    }

    /// Rank r gets the combination of ranks 0 to r - 1; rank 0 keeps what is in `result`.
    pub fn exscan<T: Plain>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("exscan", || {
            check_length("receive", result.len(), data.len(), SAME)?;
            let call = Call::Exscan(operand(data, &op, false));
            self.combine_data(&call, data, result, &op)
        })
    }

    /// Combines every rank's `data`, element by element; rank r gets the next `counts[r]` elements
    /// of the result.
    pub fn reduce_scatter<T: Plain>(
        &self,
        data: &[T],
        result: &mut [T],
        counts: &[usize],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("reduce_scatter", || {
            let (size, element) = (self.size(), size_of::<T>());
            if counts.len() != size as usize {
                return Err(ErrorKind::PerRank {
                    list: "counts",
                    got: counts.len(),
                    size,
                });
            }
            let total = counts
                .iter()
                .fold(0usize, |sum, &count| sum.saturating_add(count));
            check_length("send", data.len(), total, "the sum of all counts")?;
            let own = counts[self.rank() as usize];
            check_length(
                "receive",
                result.len(),
                own,
                "the count given for this rank",
            )?;
            let mut end = 0;
            let ends: Vec<usize> = counts
                .iter()
                .map(|&count| {
                    end += count * element;
                    end
                })
                .collect();
            let (blocks, commutative) = (Blocks::Ends(&ends), op.is_commutative());
            let call = Call::ReduceScatter {
                blocks,
                commutative,
                in_place: false,
            };
            self.combine_data(&call, data, result, &op)
        })
    }

    /// Combines every rank's `data`, element by element; rank r gets the r-th block of the result.
    pub fn reduce_scatter_block<T: Plain>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        self.named("reduce_scatter_block", || {
            let rule = "one block as long as the receive buffer for each rank";
            check_length("send", data.len(), for_all(result.len(), self.size()), rule)?;
            let (blocks, commutative) = (Blocks::Equal(size_of_val(result)), op.is_commutative());
            let call = Call::ReduceScatter {
                blocks,
                commutative,
                in_place: false,
            };
            self.combine_data(&call, data, result, &op)
        })
    }

    fn combine_data<T: Plain>(
        &self,
        call: &Call<'_>,
        data: &[T],
        result: &mut [T],
        op: &impl Operation<T>,
    ) -> Result<(), ErrorKind> {
        let mut combine = |input: &[u8], into: &mut [u8]| reduce_bytes(op, input, into);
        let operation = operation_number(op.predefined());
        self.comm.together(
            call,
            operation,
            bytes(data),
            bytes_mut(result),
            &mut combine,
        )
    }
}

fn operand<T: Plain>(data: &[T], op: &impl Operation<T>, in_place: bool) -> Operand {
    Operand {
        bytes: size_of_val(data),
        element_bytes: size_of::<T>(),
        commutative: op.is_commutative(),
        in_place,
    }
}
