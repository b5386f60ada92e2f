//! Barrier, and the collectives that move data: bcast, gather, scatter, allgather, alltoall.
//!
//! Every rank must make the same calls in the same order. The root's buffer is an `Option`: the
//! root passes `Some`, the others `None`.

use super::blocks::{blocks_to_receive, blocks_to_send, check_length, for_all};
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use oxmpi_datatypes::plain::{Plain, bytes, bytes_mut};
use oxmpi_schedules::plan::Call;

/// A buffer in which every rank has a block: the elements, a count and a displacement per rank.
type Parts<'a, T> = (&'a [T], &'a [usize], &'a [usize]);
/// The same to be written.
type PartsMut<'a, T> = (&'a mut [T], &'a [usize], &'a [usize]);

const PER_RANK: &str = "one block as long as the other buffer for each rank";
const OWN_COUNT: &str = "the count given for this rank";

impl<L: Level> Communicator<'_, L> {
    /// Returns when all ranks have called it.
    pub fn barrier(&self) -> Result<()> {
        self.named("barrier", || self.move_data(&Call::Barrier, &[], &mut []))
    }

    /// Copies the root's `data` to every rank.
    pub fn bcast<T: Plain>(&self, data: &mut [T], root: u32) -> Result<()> {
        self.named("bcast", || {
            self.check_root(root)?;
            let call = Call::Bcast {
                bytes: size_of_val(data),
                root,
            };
            self.move_data(&call, &[], bytes_mut(data))
        })
    }

    /// Brings every rank's `data` to the root: rank r's becomes the r-th block of `all`.
    pub fn gather<T: Plain>(&self, data: &[T], all: Option<&mut [T]>, root: u32) -> Result<()> {
        self.named("gather", || {
            let all = self.at_root("receive", root, all)?;
            if let Some(all) = &all {
                check_length(
                    "receive",
                    all.len(),
                    for_all(data.len(), self.size()),
                    PER_RANK,
                )?;
            }
            let call = Call::Gather {
                bytes: size_of_val(data),
                root,
                in_place: false,
            };
            self.move_data(&call, bytes(data), bytes_mut(all.unwrap_or_default()))
        })
    }

    /// Brings every rank's `data`, of any length, to the root. The root gives a buffer, and for
    /// each rank the count of elements that come from it and the displacement at which they belong.
    pub fn gatherv<T: Plain>(
        &self,
        data: &[T],
        all: Option<PartsMut<'_, T>>,
        root: u32,
    ) -> Result<()> {
        self.named("gatherv", || {
            let mut blocks = Vec::new();
            let mut target: &mut [T] = &mut [];
            if let Some((all, counts, displacements)) = self.at_root("receive", root, all)? {
                let (size, element) = (self.size(), size_of::<T>());
                blocks = blocks_to_receive(all.len(), counts, displacements, size, element)?;
                check_length("send", data.len(), counts[root as usize], OWN_COUNT)?;
                target = all;
            }
            let (own_bytes, blocks, in_place) = (size_of_val(data), &blocks[..], false);
            let call = Call::Gatherv {
                own_bytes,
                blocks,
                root,
                in_place,
            };
            self.move_data(&call, bytes(data), bytes_mut(target))
        })
    }

    /// Deals out the root's `all`: the r-th block becomes rank r's `data`.
    pub fn scatter<T: Plain>(&self, all: Option<&[T]>, data: &mut [T], root: u32) -> Result<()> {
        self.named("scatter", || {
            let all = self.at_root("send", root, all)?;
            if let Some(all) = all {
                check_length(
                    "send",
                    all.len(),
                    for_all(data.len(), self.size()),
                    PER_RANK,
                )?;
            }
            let call = Call::Scatter {
                bytes: size_of_val(data),
                root,
                in_place: false,
            };
            self.move_data(&call, bytes(all.unwrap_or_default()), bytes_mut(data))
        })
    }

    /// Deals out the root's buffer in blocks of any length, given by a count and a displacement for
    /// each rank.
    pub fn scatterv<T: Plain>(
        &self,
        all: Option<Parts<'_, T>>,
        data: &mut [T],
        root: u32,
    ) -> Result<()> {
        self.named("scatterv", || {
            let mut blocks = Vec::new();
            let mut source: &[T] = &[];
            if let Some((all, counts, displacements)) = self.at_root("send", root, all)? {
                let (size, element) = (self.size(), size_of::<T>());
                blocks = blocks_to_send(all.len(), counts, displacements, size, element)?;
                check_length("receive", data.len(), counts[root as usize], OWN_COUNT)?;
                source = all;
            }
            let (own_bytes, blocks, in_place) = (size_of_val(data), &blocks[..], false);
            let call = Call::Scatterv {
                own_bytes,
                blocks,
                root,
                in_place,
            };
            self.move_data(&call, bytes(source), bytes_mut(data))
        })
    }

    /// Brings every rank's `data` to every rank: rank r's becomes the r-th block of `all`.
    pub fn allgather<T: Plain>(&self, data: &[T], all: &mut [T]) -> Result<()> {
        self.named("allgather", || {
            check_length(
                "receive",
                all.len(),
                for_all(data.len(), self.size()),
                PER_RANK,
            )?;
            let call = Call::Allgather {
                bytes: size_of_val(data),
                in_place: false,
            };
            self.move_data(&call, bytes(data), bytes_mut(all))
        })
    }

    /// Brings every rank's `data`, of any length, to every rank, at the displacement given for it.
    pub fn allgatherv<T: Plain>(
        &self,
        data: &[T],
        all: &mut [T],
        counts: &[usize],
        displacements: &[usize],
    ) -> Result<()> {
        self.named("allgatherv", || {
            let (size, element) = (self.size(), size_of::<T>());
            let blocks = &blocks_to_receive(all.len(), counts, displacements, size, element)?;
            check_length("send", data.len(), counts[self.rank() as usize], OWN_COUNT)?;
            let call = Call::Allgatherv {
                blocks,
                in_place: false,
            };
            self.move_data(&call, bytes(data), bytes_mut(all))
        })
    }

    /// Sends the r-th block of `data` to rank r, and receives from rank r the r-th block of `all`.
    pub fn alltoall<T: Plain>(&self, data: &[T], all: &mut [T]) -> Result<()> {
        self.named("alltoall", || {
            let size = self.size() as usize;
            let block = data.len() / size;
            let rule = "a whole number of elements for each rank";
            check_length("send", data.len(), block * size, rule)?;
            check_length(
                "receive",
                all.len(),
                data.len(),
                "as many elements as are sent",
            )?;
            let call = Call::Alltoall {
                bytes: block * size_of::<T>(),
                in_place: false,
            };
            self.move_data(&call, bytes(data), bytes_mut(all))
        })
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
        self.named("alltoallv", || {
            let (size, element) = (self.size(), size_of::<T>());
            let send = &blocks_to_send(data.len(), send_counts, send_displacements, size, element)?;
            let receive = &blocks_to_receive(
                all.len(),
                receive_counts,
                receive_displacements,
                size,
                element,
            )?;
            let own = self.rank() as usize;
            let rule = "what this rank sends to itself must be what it expects from itself";
            check_length("receive", receive_counts[own], send_counts[own], rule)?;
            let call = Call::Alltoallv {
                send,
                receive,
                in_place: false,
            };
            self.move_data(&call, bytes(data), bytes_mut(all))
        })
    }

    pub(super) fn check_root(&self, root: u32) -> Result<(), ErrorKind> {
        self.comm.check_rank("root", root)
    }

    /// The buffer that only the root gives, after a check that there is such a root; elsewhere it
    /// is ignored.
    pub(super) fn at_root<B>(
        &self,
        buffer: &'static str,
        root: u32,
        given: Option<B>,
    ) -> Result<Option<B>, ErrorKind> {
        self.check_root(root)?;
        if self.rank() != root {
            return Ok(None);
        }
        match given {
            Some(given) => Ok(Some(given)),
            None => Err(ErrorKind::RootBuffer { buffer, root }),
        }
    }
}
