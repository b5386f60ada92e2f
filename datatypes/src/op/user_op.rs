//! Operations of the program's own: [`UserOp`] holds the function, `UserKernel` calls it on packed
//! elements.
//!
//! A user's function wants its elements as its language lays them out: at multiples of the extent,
//! aligned, with gaps. Where packed bytes already are that, the function gets them as they are;
//! otherwise they are unpacked into scratch memory, combined there, and packed again, a piece at a
//! time. MPI 5.0 §6.9.5 leaves it to the library how many elements each call gets.

use std::fmt;
use std::sync::Arc;

use super::OpError;
use crate::datatype::Datatype;
use crate::plain::{bytes, bytes_mut};

/// What scratch memory may take for each side, unless one element alone takes more: small enough to
/// stay in a core's own cache with the packed bytes beside it.
const SCRATCH_BYTES_MAX: u64 = 32 * 1024;

/// Bytes that one element may span when it must be unpacked: 1 TiB, which tells a type made of
/// absolute addresses in distant regions (its span is no memory that anybody has) from a large one.
pub(super) const SPAN_BYTES_MAX: u64 = 1 << 40;

/// Alignment of scratch memory: the strictest of any basic type.
const ALIGN: i64 = align_of::<u128>() as i64;
const _: () = assert!(ALIGN == 16);

type Function = dyn Fn(*const u8, *mut u8, i64, &Datatype) + Send + Sync;

/// An operation that the program made (MPI_Op_create).
pub struct UserOp {
    commutative: bool,
    function: Box<Function>,
}

impl UserOp {
    /// From a function that sets `inout` to `input ∘ inout` for `count` elements of the datatype:
    /// the form of MPI_User_function_c. Element i lies at i extents from each address, laid out and
    /// aligned as the datatype says; the input is for reading, the other for reading and writing,
    /// and they do not overlap. Calls may come from several threads at once.
    pub fn new(
        commutative: bool,
        function: impl Fn(*const u8, *mut u8, i64, &Datatype) + Send + Sync + 'static,
    ) -> UserOp {
        UserOp {
            commutative,
            function: Box::new(function),
        }
    }

    /// As [`UserOp::new`] from a function whose count is an int, the form of MPI_User_function:
    /// more elements than an int can count reach it in several calls.
    pub fn with_int_count(
        commutative: bool,
        function: impl Fn(*const u8, *mut u8, i32, &Datatype) + Send + Sync + 'static,
    ) -> UserOp {
        UserOp::new(commutative, move |input, inout, count, datatype| {
            let mut done = 0;
            while done < count {
                let some = i32::try_from(count - done).unwrap_or(i32::MAX);
                let at = (done * datatype.extent()) as isize;
                function(
                    input.wrapping_offset(at),
                    inout.wrapping_offset(at),
                    some,
                    datatype,
                );
                done += i64::from(some);
            }
        })
    }

    /// Whether order is free: the program said so when it made the operation.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }
}

impl fmt::Debug for UserOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("UserOp");
        debug.field("commutative", &self.commutative);
        debug.finish_non_exhaustive()
    }
}

/// A user's operation on packed elements of one datatype.
#[derive(Clone)]
pub(super) struct UserKernel {
    op: Arc<UserOp>,
    datatype: Datatype,
}

impl UserKernel {
    pub(super) fn new(op: Arc<UserOp>, datatype: &Datatype) -> Result<UserKernel, OpError> {
        let kernel = UserKernel {
            op,
            datatype: datatype.clone(),
        };
        let bytes = datatype.true_extent().unsigned_abs();
        if bytes > SPAN_BYTES_MAX && !kernel.is_packed_as_laid_out() {
            return Err(OpError::Span {
                bytes,
                limit: SPAN_BYTES_MAX,
            });
        }
        Ok(kernel)
    }

    fn is_packed_as_laid_out(&self) -> bool {
        self.datatype.is_contiguous() && self.datatype.true_lb() == 0
    }

    pub(super) fn combine(&self, input: &[u8], inout: &mut [u8]) {
        let size = self.datatype.size() as usize;
        if inout.is_empty() || size == 0 {
            return;
        }
        let align = self.datatype.align() as usize;
        let aligned = input.as_ptr().addr().is_multiple_of(align)
            && inout.as_ptr().addr().is_multiple_of(align);
        if aligned && self.is_packed_as_laid_out() {
            let count = (inout.len() / size) as i64;
            (self.op.function)(input.as_ptr(), inout.as_mut_ptr(), count, &self.datatype);
            return;
        }
        let count = (inout.len() / size).min(self.elements_at_once());
        let mut left = Scratch::new(&self.datatype, count);
        let mut right = Scratch::new(&self.datatype, count);
        let pieces = input.chunks(count * size);
        for (input, inout) in pieces.zip(inout.chunks_mut(count * size)) {
            let count = inout.len() / size;
            let lower = left.unpack(&self.datatype, input, count);
            let higher = right.unpack(&self.datatype, inout, count);
            (self.op.function)(lower, higher, count as i64, &self.datatype);
            right.pack(&self.datatype, inout, count);
        }
    }

    /// How many elements scratch memory holds. Elements without an extent lie on top of each other,
    /// so they are combined one by one.
    fn elements_at_once(&self) -> usize {
        let span = self.datatype.true_extent().unsigned_abs();
        match self.datatype.extent().unsigned_abs() {
            0 => 1,
            step => 1 + (SCRATCH_BYTES_MAX.saturating_sub(span) / step) as usize,
        }
    }
}

/// Memory in which elements lie as their datatype says.
struct Scratch {
    memory: Vec<u128>,
}

/// Where `count` elements lie in scratch memory.
struct Placement {
    /// The lowest byte of data is this far from the address that stands for the buffer.
    lowest: i64,
    /// Bytes from the lowest to the highest.
    span: i64,
    /// The lowest byte's place in the memory, such that the buffer's address is aligned.
    begin: i64,
}

impl Placement {
    fn new(datatype: &Datatype, count: usize) -> Placement {
        let last = datatype.extent() * (count as i64 - 1);
        let lowest = datatype.true_lb() + last.min(0);
        Placement {
            lowest,
            span: datatype.true_extent() + last.abs(),
            begin: lowest.rem_euclid(ALIGN),
        }
    }
}

impl Scratch {
    /// For up to `count` elements. Fewer never take more: alignment may shift them by less than one
    /// unit.
    fn new(datatype: &Datatype, count: usize) -> Scratch {
        let bytes = (ALIGN + Placement::new(datatype, count).span) as usize;
        Scratch {
            memory: vec![0; bytes.div_ceil(size_of::<u128>())],
        }
    }

    /// Lays out `count` packed elements and returns the address of the buffer that they now are. It
    /// may lie outside of the memory, since a type's data may begin anywhere.
    fn unpack(&mut self, datatype: &Datatype, packed: &[u8], count: usize) -> *mut u8 {
        let place = Placement::new(datatype, count);
        let shift = place.begin.wrapping_sub(place.lowest);
        let layout = datatype.layout(count as u64);
        let layout = layout.expect("a piece's span is that of its scratch memory, which exists");
        let layout = layout.shifted(shift);
        let memory = bytes_mut(&mut self.memory);
        let unpacked = layout.unpack(packed, 0..layout.bytes(), memory, 0);
        unpacked.expect("scratch memory spans what the layout reaches");
        memory.as_mut_ptr().wrapping_offset(shift as isize)
    }

    /// The inverse of `unpack`.
    fn pack(&self, datatype: &Datatype, packed: &mut [u8], count: usize) {
        let place = Placement::new(datatype, count);
        let layout = datatype.layout(count as u64);
        let layout = layout.expect("the same layout was built to unpack");
        let layout = layout.shifted(place.begin.wrapping_sub(place.lowest));
        let gathered = layout.pack(bytes(&self.memory), 0, 0..layout.bytes(), packed);
        gathered.expect("scratch memory spans what the layout reaches");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::datatype::Basic;

    /// No memory is touched, so 2^32 elements cost nothing.
    #[test]
    fn an_int_count_is_called_in_pieces() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let op = UserOp::with_int_count(true, move |input, inout, count, _| {
            seen.lock()
                .unwrap()
                .push((input.addr(), inout.addr(), count));
        });
        let double = Datatype::named(Basic::Double);
        let (input, inout) = (
            std::ptr::without_provenance(1 << 40),
            std::ptr::without_provenance_mut(2 << 40),
        );
        (op.function)(input, inout, 1 << 32, &double);
        let step = i32::MAX as usize * 8;
        let expected = [
            (1 << 40, 2 << 40, i32::MAX),
            ((1 << 40) + step, (2 << 40) + step, i32::MAX),
            ((1 << 40) + 2 * step, (2 << 40) + 2 * step, 2),
        ];
        assert_eq!(*calls.lock().unwrap(), expected);
    }

    #[test]
    fn pieces_are_bounded_and_never_empty() {
        let at_once = |datatype: &Datatype| {
            let op = Arc::new(UserOp::new(true, |_, _, _, _| {}));
            UserKernel::new(op, datatype).unwrap().elements_at_once()
        };
        let double = Datatype::named(Basic::Double);
        let sparse = Datatype::resized(&double, 0, 64).unwrap();
        let at = at_once(&sparse) as u64;
        assert!(at * 64 <= SCRATCH_BYTES_MAX + 64 && at * 64 >= SCRATCH_BYTES_MAX - 64);
        assert_eq!(at_once(&Datatype::resized(&double, 0, 0).unwrap()), 1);
        assert_eq!(
            at_once(&Datatype::vector(2, 1, 1 << 20, &double).unwrap()),
            1
        );
    }
}
