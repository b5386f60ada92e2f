//! The blocking collectives under their own names, and those of one value.
//!
//! Every rank must make the same calls in the same order. The root's buffer is an `Option`: the
//! root passes `Some`, the others `None`. What each call does stands on its description in
//! [`call`].

use super::super::description::Root;
use super::call::{self, Lent, Parts, PartsMut};
use crate::communicator::Communicator;
use crate::error::Result;
use crate::thread::Level;
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::{Data, DataMut};
use oxmpi_datatypes::op::Operation;

impl<L: Level> Communicator<'_, L> {
    /// Returns when all ranks have called it.
    #[inline]
    pub fn barrier(&self) -> Result<()> {
        self.run(call::barrier())
    }

    /// Copies the root's `data` to every rank.
    #[inline]
    pub fn bcast<D: DataMut + ?Sized>(&self, data: &mut D, root: impl Into<Root>) -> Result<()> {
        self.run(call::bcast(data, root))
    }

    /// Brings every rank's `data` to the root: rank r's becomes the r-th block of `all`.
    #[inline]
    pub fn gather<S: Lent>(
        &self,
        data: S,
        all: Option<&mut [S::Element]>,
        root: impl Into<Root>,
    ) -> Result<()> {
        self.run(call::gather(data, all, root))
    }

    /// Brings every rank's `data`, of any length, to the root. The root gives a buffer, and for
    /// each rank the count of elements that come from it and the displacement at which they belong.
    pub fn gatherv<S: Lent>(
        &self,
        data: S,
        all: Option<PartsMut<'_, S::Element>>,
        root: impl Into<Root>,
    ) -> Result<()> {
        self.run(call::gatherv(data, all, root))
    }

    /// Deals out the root's `all`: the r-th block becomes rank r's `data`.
    #[inline]
    pub fn scatter<D: DataMut + ?Sized>(
        &self,
        all: Option<&[D::Element]>,
        data: &mut D,
        root: impl Into<Root>,
    ) -> Result<()> {
        self.run(call::scatter(all, data, root))
    }

    /// Deals out the root's buffer in blocks of any length, given by a count and a displacement for
    /// each rank.
    pub fn scatterv<D: DataMut + ?Sized>(
        &self,
        all: Option<Parts<'_, D::Element>>,
        data: &mut D,
        root: impl Into<Root>,
    ) -> Result<()> {
        self.run(call::scatterv(all, data, root))
    }

    /// Brings every rank's `data` to every rank: rank r's becomes the r-th block of `all`.
    #[inline]
    pub fn allgather<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        all: &mut R,
    ) -> Result<()> {
        self.run(call::allgather(data, all))
    }

    /// Brings every rank's value to every rank, in the order of the ranks.
    pub fn allgather_one<T: Plain>(&self, value: T) -> Result<Vec<T>> {
        let own = std::slice::from_ref(&value);
        let mut all = vec![value; self.comm.peers as usize];
        self.allgather(own, &mut all[..])?;
        Ok(all)
    }

    /// Brings every rank's `data`, of any length, to every rank, at the displacement given for it.
    pub fn allgatherv<S: Lent>(
        &self,
        data: S,
        all: &mut [S::Element],
        counts: &[usize],
        displacements: &[usize],
    ) -> Result<()> {
        self.run(call::allgatherv(data, all, counts, displacements))
    }

    /// Sends the r-th block of `data` to rank r, and receives from rank r the r-th block of `all`.
    #[inline]
    pub fn alltoall<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        all: &mut R,
    ) -> Result<()> {
        self.run(call::alltoall(data, all))
    }

    /// Sends a block of any length to each rank and receives one from each. Counts and
    /// displacements are in elements; what a rank sends to another must be what that one expects.
    pub fn alltoallv<T: Plain>(
        &self,
        data: &[T],
        send_counts: &[usize],
        send_displacements: &[usize],
        all: &mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<()> {
        self.run(call::alltoallv(
            data,
            send_counts,
            send_displacements,
            all,
            receive_counts,
            receive_displacements,
        ))
    }

    /// Sends the r-th of `data` to rank r and receives the r-th of `all` from it, each of them
    /// memory of its own: vectors, slices, views with a shape for each rank.
    pub fn alltoallw<D: Data, E: DataMut<Element = D::Element>>(
        &self,
        data: &[D],
        all: &mut [E],
    ) -> Result<()> {
        self.run(call::alltoallw(data, all))
    }

    /// Combines every rank's `data`, element by element, into the root's `result`.
    #[inline]
    pub fn reduce<S: Lent>(
        &self,
        data: S,
        result: Option<&mut [S::Element]>,
        op: impl Operation<S::Element>,
        root: impl Into<Root>,
    ) -> Result<()> {
        self.run(call::reduce(data, result, op, root))
    }

    /// Combines every rank's `data`, element by element, into every rank's `result`.
    #[inline]
    pub fn allreduce<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        result: &mut R,
        op: impl Operation<S::Element>,
    ) -> Result<()> {
        self.run(call::allreduce(data, result, op))
    }

    /// Combines every rank's `data`, element by element, and leaves the result there on every rank.
    #[inline]
    pub fn allreduce_in_place<D: DataMut + ?Sized>(
        &self,
        data: &mut D,
        op: impl Operation<D::Element>,
    ) -> Result<()> {
        self.run(call::allreduce_in_place(data, op))
    }

    /// The combination of every rank's value, on every rank.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let total = world.allreduce_one(world.rank(), oxmpi::op::Sum)?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn allreduce_one<T: Plain>(&self, mut value: T, op: impl Operation<T>) -> Result<T> {
        self.allreduce_in_place(std::slice::from_mut(&mut value), op)?;
        Ok(value)
    }

    /// Rank r gets the combination of ranks 0 to r.
    pub fn scan<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        result: &mut R,
        op: impl Operation<S::Element>,
    ) -> Result<()> {
        self.run(call::scan(data, result, op))
    }

    /// Rank r gets the combination of ranks 0 to r - 1; rank 0 keeps what is in `result`.
    pub fn exscan<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        result: &mut R,
        op: impl Operation<S::Element>,
    ) -> Result<()> {
        self.run(call::exscan(data, result, op))
    }

    /// The combination of the values of the ranks below this one; none on rank 0. Summed counts are
    /// where a rank's part begins.
    pub fn exscan_one<T: Plain>(&self, value: T, op: impl Operation<T>) -> Result<Option<T>> {
        let mut result = value;
        let (data, into) = (
            std::slice::from_ref(&value),
            std::slice::from_mut(&mut result),
        );
        self.exscan(data, into, op)?;
        Ok((self.rank() > 0).then_some(result))
    }

    /// Combines every rank's `data`, element by element; rank r gets the next `counts[r]` elements
    /// of the result.
    pub fn reduce_scatter<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        result: &mut R,
        counts: &[usize],
        op: impl Operation<S::Element>,
    ) -> Result<()> {
        self.run(call::reduce_scatter(data, result, counts, op))
    }

    /// Combines every rank's `data`, element by element; rank r gets the r-th block of the result.
    pub fn reduce_scatter_block<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        result: &mut R,
        op: impl Operation<S::Element>,
    ) -> Result<()> {
        self.run(call::reduce_scatter_block(data, result, op))
    }

    /// Sends `data` to all neighbours in the topology, and receives a block from each, in the order
    /// of [`Communicator::neighbours`].
    pub fn neighbour_allgather<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        all: &mut R,
    ) -> Result<()> {
        self.run(call::neighbour_allgather(data, all))
    }

    /// Sends a block of `data` to each neighbour in the topology, and receives a block from each,
    /// in the order of [`Communicator::neighbours`].
    pub fn neighbour_alltoall<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
        &self,
        data: S,
        all: &mut R,
    ) -> Result<()> {
        self.run(call::neighbour_alltoall(data, all))
    }
}
