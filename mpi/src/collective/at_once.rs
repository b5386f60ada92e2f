//! The short way of blocking collectives: memory that is one block per rank, predefined operations.
//!
//! Most calls are of this kind, and those that are small cost little but their checks. So nothing
//! is described here: a call goes with its addresses straight to the board or to its schedule, as
//! `Comm::collective` would send it. A call that is unusual, or wrong in a way that this process
//! can see, gets no answer, and nothing has happened: the long way makes it, and knows what to say.
//! What a process cannot see alone, members that disagree, is noticed by both ways alike.

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;
use oxmpi_schedules::plan::Call;
use oxmpi_schedules::{Block, Operand};

use super::agreement::operation_number;
use super::run::Places;
use crate::buffer::MESSAGE_BYTES_MAX;
use crate::communicator::Comm;
use crate::error::ErrorKind;

/// The outcome of a call; none if it is not one for the short way.
type Outcome = Option<Result<(), ErrorKind>>;

/// Members whose blocks are listed here, without asking for memory.
const LISTED_MAX: usize = 32;

/// Memory that a collective reads: where, and how many bytes.
type From = (*const u8, usize);

/// Memory that it writes.
type To = (*mut u8, usize);

/// A side of which nothing is used.
const UNREAD: From = (std::ptr::dangling(), 0);
const UNWRITTEN: To = (std::ptr::dangling_mut(), 0);

/// What reductions combine: an operation, elements, and how many bytes of them.
#[derive(Clone, Copy, Debug)]
pub struct Combined {
    /// The operation.
    pub op: Predefined,
    /// The elements.
    pub basic: Basic,
    /// All elements of a vector together.
    pub bytes: usize,
}

impl Comm {
    /// Runs a call on these sides.
    ///
    /// # Safety
    /// Both must be valid until this returns, and nobody else may use them.
    #[inline(always)]
    unsafe fn at_once(&self, call: Call<'_>, send: From, receive: To) -> Outcome {
        if self.is_inter() || !are_apart(send, receive) {
            return None;
        }
        let mut combine = |_: &[u8], _: &mut [u8]| unreachable!("no operation, no reduce step");
        // SAFETY: the caller's promise, and the sides lie apart.
        Some(unsafe { self.together_at(&call, 0, Places { send, receive }, &mut combine) })
    }

    /// Runs a reduction on these sides; none to read if the input lies in place.
    ///
    /// # Safety
    /// As `at_once`.
    #[inline(always)]
    unsafe fn combine_at_once(
        &self,
        combined: Combined,
        call: impl FnOnce(Operand) -> Call<'static>,
        send: Option<From>,
        receive: To,
    ) -> Outcome {
        let places = Places {
            send: send.unwrap_or(UNREAD),
            receive,
        };
        if self.is_inter() || !are_apart(places.send, places.receive) {
            return None;
        }
        let Combined { op, basic, bytes } = combined;
        let mut combine = op.loop_over(basic)?;
        let call = call(Operand {
            bytes,
            element_bytes: basic.size() as usize,
            commutative: true,
            in_place: send.is_none(),
        });
        let operation = operation_number(Some(op));
        // SAFETY: as in `at_once`.
        Some(unsafe { self.together_at(&call, operation, places, &mut combine) })
    }

    /// MPI_Barrier.
    #[inline(always)]
    pub fn barrier_at_once(&self) -> Outcome {
        // SAFETY: no memory is used.
        unsafe { self.at_once(Call::Barrier, UNREAD, UNWRITTEN) }
    }

    /// MPI_Bcast.
    ///
    /// # Safety
    /// The memory must be valid for writing, at the root for reading, until this returns.
    #[inline(always)]
    pub unsafe fn bcast_at_once(&self, data: To, root: i32) -> Outcome {
        let (root, _) = self.root_at_once(root)?;
        let call = Call::Bcast {
            bytes: data.1,
            root,
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, UNREAD, data) }
    }

    /// MPI_Allreduce. Without anything to read the input lies in place.
    ///
    /// # Safety
    /// The memory must be valid until this returns.
    #[inline(always)]
    pub unsafe fn allreduce_at_once(
        &self,
        combined: Combined,
        send: Option<From>,
        receive: To,
    ) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { self.combine_at_once(combined, Call::Allreduce, send, receive) }
    }

    /// MPI_Scan.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn scan_at_once(
        &self,
        combined: Combined,
        send: Option<From>,
        receive: To,
    ) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { self.combine_at_once(combined, Call::Scan, send, receive) }
    }

    /// MPI_Exscan.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn exscan_at_once(
        &self,
        combined: Combined,
        send: Option<From>,
        receive: To,
    ) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { self.combine_at_once(combined, Call::Exscan, send, receive) }
    }

    /// MPI_Reduce. What is written is looked at on the root alone.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn reduce_at_once(
        &self,
        combined: Combined,
        send: Option<From>,
        receive: Option<To>,
        root: i32,
    ) -> Outcome {
        let (root, is_here) = self.root_at_once(root)?;
        let receive = match is_here {
            true => receive?,
            false => UNWRITTEN,
        };
        if send.is_none() && !is_here {
            return None;
        }
        let call = |operand| Call::Reduce { operand, root };
        // SAFETY: the caller's promise.
        unsafe { self.combine_at_once(combined, call, send, receive) }
    }

    /// MPI_Gather, with an own block of so many bytes; all blocks are looked at on the root alone.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn gather_at_once(&self, send: Option<From>, all: Option<To>, root: i32) -> Outcome {
        let (root, is_here) = self.root_at_once(root)?;
        let in_place = send.is_none();
        let (bytes, all) = match is_here {
            true => (self.share_of(all?.1, send)?, all?),
            false => (send?.1, UNWRITTEN),
        };
        let call = Call::Gather {
            bytes,
            root,
            in_place,
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, send.unwrap_or(UNREAD), all) }
    }

    /// MPI_Scatter, likewise.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn scatter_at_once(
        &self,
        all: Option<From>,
        receive: Option<To>,
        root: i32,
    ) -> Outcome {
        let (root, is_here) = self.root_at_once(root)?;
        let in_place = receive.is_none();
        let own = receive.map(|(address, bytes)| (address.cast_const(), bytes));
        let (bytes, all) = match is_here {
            true => (self.share_of(all?.1, own)?, all?),
            false => (receive?.1, UNREAD),
        };
        let call = Call::Scatter {
            bytes,
            root,
            in_place,
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, all, receive.unwrap_or(UNWRITTEN)) }
    }

    /// MPI_Allgather.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn allgather_at_once(&self, send: Option<From>, all: To) -> Outcome {
        let call = Call::Allgather {
            bytes: self.share_of(all.1, send)?,
            in_place: send.is_none(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, send.unwrap_or(UNREAD), all) }
    }

    /// MPI_Alltoall of blocks of so many bytes.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn alltoall_at_once(
        &self,
        send: *const u8,
        receive: *mut u8,
        bytes: usize,
    ) -> Outcome {
        let all = bytes.checked_mul(self.size as usize)?;
        if all as u64 > MESSAGE_BYTES_MAX {
            return None;
        }
        let call = Call::Alltoall {
            bytes,
            in_place: false,
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, (send, all), (receive, all)) }
    }

    /// MPI_Gatherv. A block is its offset from `all` and its bytes; they are looked at on the root
    /// alone.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn gatherv_at_once(
        &self,
        send: From,
        all: *mut u8,
        block: impl Fn(usize) -> Option<(i64, u64)>,
        root: i32,
    ) -> Outcome {
        let (root, is_here) = self.root_at_once(root)?;
        let own_bytes = send.1;
        let call = |blocks| Call::Gatherv {
            own_bytes,
            blocks,
            root,
            in_place: false,
        };
        if !is_here {
            // SAFETY: the caller's promise.
            return unsafe { self.at_once(call(&[]), send, UNWRITTEN) };
        }
        let listed = Listed::new(self.size, block)?;
        if listed.bytes_of(self.rank) != own_bytes {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call(listed.blocks()), send, listed.span(all)) }
    }

    /// MPI_Scatterv, likewise.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn scatterv_at_once(
        &self,
        all: *mut u8,
        block: impl Fn(usize) -> Option<(i64, u64)>,
        receive: To,
        root: i32,
    ) -> Outcome {
        let (root, is_here) = self.root_at_once(root)?;
        let own_bytes = receive.1;
        let call = |blocks| Call::Scatterv {
            own_bytes,
            blocks,
            root,
            in_place: false,
        };
        if !is_here {
            // SAFETY: the caller's promise.
            return unsafe { self.at_once(call(&[]), UNREAD, receive) };
        }
        let listed = Listed::new(self.size, block)?;
        if listed.bytes_of(self.rank) != own_bytes {
            return None;
        }
        let (from, bytes) = listed.span(all);
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call(listed.blocks()), (from.cast_const(), bytes), receive) }
    }

    /// MPI_Allgatherv.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn allgatherv_at_once(
        &self,
        send: Option<From>,
        all: *mut u8,
        block: impl Fn(usize) -> Option<(i64, u64)>,
    ) -> Outcome {
        // Of an intercommunicator the array has an entry for each member of the other group.
        if self.is_inter() {
            return None;
        }
        let listed = Listed::new(self.size, block)?;
        if send.is_some_and(|(_, bytes)| bytes != listed.bytes_of(self.rank)) {
            return None;
        }
        let call = Call::Allgatherv {
            blocks: listed.blocks(),
            in_place: send.is_none(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, send.unwrap_or(UNREAD), listed.span(all)) }
    }

    /// MPI_Alltoallv.
    ///
    /// # Safety
    /// As `allreduce_at_once`.
    #[inline(always)]
    pub unsafe fn alltoallv_at_once(
        &self,
        (from, sent): (*mut u8, impl Fn(usize) -> Option<(i64, u64)>),
        (to, received): (*mut u8, impl Fn(usize) -> Option<(i64, u64)>),
    ) -> Outcome {
        // As in `allgatherv_at_once`.
        if self.is_inter() {
            return None;
        }
        let (sent, received) = (
            Listed::new(self.size, sent)?,
            Listed::new(self.size, received)?,
        );
        if sent.bytes_of(self.rank) != received.bytes_of(self.rank) {
            return None;
        }
        let call = Call::Alltoallv {
            send: sent.blocks(),
            receive: received.blocks(),
            in_place: false,
        };
        let (from, bytes) = sent.span(from);
        // SAFETY: the caller's promise.
        unsafe { self.at_once(call, (from.cast_const(), bytes), received.span(to)) }
    }

    /// A root, if there is one, and whether this process is it.
    #[inline(always)]
    fn root_at_once(&self, root: i32) -> Option<(u32, bool)> {
        // A negative one is a number beyond every communicator.
        let root = root as u32;
        (root < self.size && !self.is_inter()).then_some((root, root == self.rank))
    }

    /// A member's share of so many bytes, which are equal parts; the own one, if it lies elsewhere,
    /// must be as long.
    #[inline(always)]
    fn share_of(&self, all: usize, own: Option<From>) -> Option<usize> {
        let share = match own {
            Some((_, bytes)) => bytes,
            None => all / self.size as usize,
        };
        (share.checked_mul(self.size as usize) == Some(all)).then_some(share)
    }
}

/// Whether two sides have no address in common.
#[inline(always)]
fn are_apart((from, readable): From, (to, writable): To) -> bool {
    let (from, to) = (from.addr(), to.addr());
    let follows = |first: usize, bytes: usize, second: usize| {
        first.checked_add(bytes).is_some_and(|end| end <= second)
    };
    readable == 0 || writable == 0 || follows(from, readable, to) || follows(to, writable, from)
}

/// Blocks of few members, with offsets that count from the lowest.
struct Listed {
    blocks: [Block; LISTED_MAX],
    members: usize,
    /// The lowest, from the address that was given.
    low: i64,
    /// From there to the end of the highest.
    bytes: usize,
}

impl Listed {
    /// Each block is an offset and a length; none if there are too many, or one is not such.
    #[inline(always)]
    fn new(members: u32, block: impl Fn(usize) -> Option<(i64, u64)>) -> Option<Listed> {
        let members = members as usize;
        if members > LISTED_MAX {
            return None;
        }
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for member in 0..members {
            let (offset, bytes) = block(member)?;
            if bytes > 0 {
                low = low.min(offset);
                high = high.max(offset.checked_add(i64::try_from(bytes).ok()?)?);
            }
        }
        if low > high {
            (low, high) = (0, 0);
        }
        let mut listed = Listed {
            blocks: [Block::default(); LISTED_MAX],
            members,
            low,
            bytes: usize::try_from(high.checked_sub(low)?).ok()?,
        };
        for member in 0..members {
            let (offset, bytes) = block(member)?;
            if bytes > 0 {
                listed.blocks[member] = Block {
                    offset: (offset - low) as usize,
                    bytes: bytes as usize,
                };
            }
        }
        Some(listed)
    }

    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        &self.blocks[..self.members]
    }

    #[inline(always)]
    fn bytes_of(&self, rank: u32) -> usize {
        self.blocks[rank as usize].bytes
    }

    /// All of them, of memory that begins at an address.
    #[inline(always)]
    fn span(&self, address: *mut u8) -> To {
        match self.bytes {
            0 => UNWRITTEN,
            bytes => (address.wrapping_offset(self.low as isize), bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_from_the_lowest_and_empty_ones_lie_nowhere() {
        let given = [(24, 8), (i64::MAX, 0), (-8, 16), (8, 8)];
        let listed = Listed::new(4, |member| Some(given[member])).unwrap();
        let found: Vec<_> = listed
            .blocks()
            .iter()
            .map(|b| (b.offset, b.bytes))
            .collect();
        assert_eq!(found, [(32, 8), (0, 0), (0, 16), (16, 8)]);
        assert_eq!((listed.low, listed.bytes), (-8, 40));
        let nothing = Listed::new(2, |_| Some((5, 0))).unwrap();
        assert_eq!(nothing.span(std::ptr::null_mut()).1, 0);
    }

    #[test]
    fn what_cannot_be_a_block_is_left_to_the_long_way() {
        assert!(Listed::new(2, |_| None).is_none());
        assert!(Listed::new(1, |_| Some((i64::MAX, 8))).is_none());
        assert!(Listed::new(2, |at| Some(([i64::MIN, 8][at], 8))).is_none());
        assert!(Listed::new(LISTED_MAX as u32 + 1, |_| Some((0, 0))).is_none());
    }

    #[test]
    fn sides_that_touch_are_apart_and_those_that_share_a_byte_are_not() {
        let at = |address: usize| std::ptr::without_provenance_mut::<u8>(address);
        let apart = |from, readable, to, writable| {
            are_apart((at(from).cast_const(), readable), (at(to), writable))
        };
        assert!(apart(4096, 8, 4104, 8) && apart(4104, 8, 4096, 8));
        assert!(!apart(4096, 9, 4104, 8) && !apart(4104, 8, 4096, 9));
        assert!(apart(4096, 0, 4096, 8) && apart(4096, 8, 4096, 0));
        assert!(!apart(usize::MAX - 1, 8, usize::MAX - 4, 8));
    }
}
