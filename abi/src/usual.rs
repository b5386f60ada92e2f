//! Arguments as most calls have them, recognised by a load or two: predefined datatypes without
//! gaps, predefined operations, addresses of memory.
//!
//! The short ways of chapters (`quick` in abi/table) ask here. Whatever is not recognised is left
//! to the checked way, so nothing here knows an error text.

use std::ffi::c_void;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use oxmpi_core::buffer::MESSAGE_BYTES_MAX;
use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;

use crate::constant::{MPI_DATATYPE_NULL, MPI_OP_NULL};
use crate::fortran_sizes;
use crate::handle::{CONSTANTS_END, Handle};

/// Constants of datatypes and of operations begin here; each kind has fewer than this many.
const FIRST_TYPE: usize = MPI_DATATYPE_NULL.0;
const FIRST_OP: usize = MPI_OP_NULL.0;
const TYPES: usize = 256;
const OPS: usize = 32;

/// The predefined types that lie in memory without gaps, by handle: their places in `Basic::ALL`,
/// from 1 on; 0 where there is none.
///
/// What Fortran's default types stand for is known from their first use on ([`is_made`]): a program
/// may tell their sizes before, and the checked way notes that use.
static BASICS: [AtomicU8; TYPES] = {
    let mut basics = [const { AtomicU8::new(0) }; TYPES];
    let mut at = 0;
    while at < Basic::ALL.len() {
        let basic = Basic::ALL[at];
        if basic.pair().is_none() && !fortran_sizes::is_default(basic) {
            basics[basic.handle() as usize - FIRST_TYPE] = AtomicU8::new(at as u8 + 1);
        }
        at += 1;
    }
    basics
};

/// Their sizes; 0 where there is none, pairs included: such a block is not one of no bytes.
static SIZES: [AtomicU8; TYPES] = {
    let mut sizes = [const { AtomicU8::new(0) }; TYPES];
    let mut at = 0;
    while at < Basic::ALL.len() {
        let basic = Basic::ALL[at];
        if basic.pair().is_none() && !fortran_sizes::is_default(basic) {
            sizes[basic.handle() as usize - FIRST_TYPE] = AtomicU8::new(basic.size() as u8);
        }
        at += 1;
    }
    sizes
};

/// Notes what a constant stands for when it is used for the first time.
pub fn is_made(constant: Handle, stands_for: Option<Basic>) {
    let Some(basic) = stands_for.filter(|basic| basic.pair().is_none()) else {
        return;
    };
    let place = Basic::ALL.iter().position(|other| *other == basic);
    let at = constant.0.wrapping_sub(FIRST_TYPE);
    if let (Some(place), Some(kept), Some(size)) = (place, BASICS.get(at), SIZES.get(at)) {
        // Each says nothing else, before or after: who sees one of them only takes the long way.
        size.store(basic.size() as u8, Relaxed);
        kept.store(place as u8 + 1, Relaxed);
    }
}

/// The predefined operations, by handle.
static PREDEFINED: [Option<Predefined>; OPS] = {
    let mut ops = [None; OPS];
    let mut at = 0;
    while at < Predefined::ALL.len() {
        let op = Predefined::ALL[at];
        ops[op.handle() as usize - FIRST_OP] = Some(op);
        at += 1;
    }
    ops
};

/// The predefined type behind a handle, if it lies in memory without gaps.
#[inline(always)]
pub fn basic_of(datatype: Handle) -> Option<Basic> {
    let place = BASICS
        .get(datatype.0.wrapping_sub(FIRST_TYPE))?
        .load(Relaxed);
    Basic::ALL.get(usize::from(place).wrapping_sub(1)).copied()
}

/// The predefined operation behind a handle.
#[inline(always)]
pub fn op_of(op: Handle) -> Option<Predefined> {
    *PREDEFINED.get(op.0.wrapping_sub(FIRST_OP))?
}

/// One side of a transfer: count and datatype.
pub type Elements = (i64, Handle);

/// Bytes of a block, if its type is predefined and without gaps, its count is no mistake and there
/// are messages as long.
///
/// A negative count is, taken without its sign, more bytes than any memory has.
#[inline(always)]
pub fn block_bytes((count, datatype): Elements) -> Option<u64> {
    let size = SIZES
        .get(datatype.0.wrapping_sub(FIRST_TYPE))?
        .load(Relaxed);
    let bytes = u64::from(size).checked_mul(count as u64)?;
    (size != 0 && bytes <= MESSAGE_BYTES_MAX).then_some(bytes)
}

/// Whether an address can be that of the program's memory: none of the standard's constants is.
#[inline(always)]
pub fn is_memory(address: *const c_void) -> bool {
    address.addr() >= CONSTANTS_END
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant::MPI_BYTE;

    #[test]
    fn handles_lead_to_what_they_name() {
        for handle in 0..CONSTANTS_END {
            let short = u16::try_from(handle).unwrap();
            let named = Basic::from_handle(short).filter(|basic| basic.pair().is_none());
            if named.is_some_and(fortran_sizes::is_default) {
                continue;
            }
            assert_eq!(basic_of(Handle(handle)), named, "{handle:#x}");
            assert_eq!(op_of(Handle(handle)), Predefined::from_handle(short));
            let bytes = block_bytes((3, Handle(handle)));
            assert_eq!(bytes, named.map(|basic| 3 * u64::from(basic.size())));
            assert_eq!(block_bytes((-1, Handle(handle))), None, "{handle:#x}");
            assert_eq!(block_bytes((i64::MIN, Handle(handle))), None);
        }
        assert_eq!(basic_of(Handle(usize::MAX)), None);
        assert_eq!(block_bytes((0, MPI_BYTE)), Some(0));
        let longest = MESSAGE_BYTES_MAX as i64;
        assert_eq!(block_bytes((longest, MPI_BYTE)), Some(MESSAGE_BYTES_MAX));
        assert_eq!(block_bytes((longest + 1, MPI_BYTE)), None);
        assert_eq!(block_bytes((i64::MAX, MPI_BYTE)), None);
    }

    #[test]
    fn defaults_of_fortran_stand_for_what_their_first_use_says() {
        let constant = |basic: Basic| Handle(usize::from(basic.handle()));
        assert_eq!(block_bytes((2, constant(Basic::DoubleComplex))), None);
        is_made(constant(Basic::DoubleComplex), Some(Basic::Complex32));
        is_made(constant(Basic::TwoReal), Some(Basic::TwoReal));
        is_made(constant(Basic::DoublePrecision), None);
        assert_eq!(
            basic_of(constant(Basic::DoubleComplex)),
            Some(Basic::Complex32)
        );
        assert_eq!(block_bytes((2, constant(Basic::DoubleComplex))), Some(64));
        assert_eq!(block_bytes((2, constant(Basic::TwoReal))), None);
        assert_eq!(basic_of(constant(Basic::DoublePrecision)), None);
    }
}
