//! What a datatype says about itself: bounds, sizes, signature, layout, and whether it is
//! committed.
//!
//! Everything here was computed when the type was built; nothing is derived again, and nothing but
//! the commitment changes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::typemap::Typemap;
use super::{Constructor, Datatype, DatatypeError, Layout, Signature};
use crate::ElementMark;

impl Datatype {
    /// The call this type comes from.
    #[inline]
    pub fn constructor(&self) -> &Constructor {
        &self.0.constructor
    }

    /// Whether a large-count constructor was called.
    pub fn has_large_counts(&self) -> bool {
        self.0.large
    }

    /// MPI_Type_commit. The layout was compiled when the type was built; this only permits its use.
    pub fn commit(&self) {
        self.0.committed.store(true, Ordering::Relaxed);
    }

    /// Whether the type may be used to communicate.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Relaxed)
    }

    /// Bytes of data (MPI_Type_size).
    #[inline]
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Lower bound.
    pub fn lb(&self) -> i64 {
        self.0.lb
    }

    /// Upper bound.
    pub fn ub(&self) -> i64 {
        self.0.ub
    }

    /// From lower to upper bound: the distance of consecutive elements.
    pub fn extent(&self) -> i64 {
        self.0.ub - self.0.lb
    }

    /// Lowest byte of data.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.0.true_lb
    }

    /// End of the highest byte of data.
    pub fn true_ub(&self) -> i64 {
        self.0.typemap.bounds.true_lb_ub().1
    }

    /// Bytes from the lowest to the highest.
    pub fn true_extent(&self) -> i64 {
        self.true_ub() - self.true_lb()
    }

    /// Strictest alignment of its basic types.
    pub fn align(&self) -> u32 {
        self.0.typemap.bounds.align()
    }

    /// Which basic types, in which order.
    pub fn signature(&self) -> &Signature {
        &self.0.typemap.signature
    }

    /// Whether any number of elements is one block in packed order, beginning at
    /// [`Datatype::true_lb`].
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.contiguous
    }

    /// Bytes of `count` elements if they are one block that begins at their address, and may be
    /// used to communicate: the buffers of most programs.
    #[inline(always)]
    pub fn block_bytes(&self, count: u64) -> Option<u64> {
        if !self.is_contiguous() || self.true_lb() != 0 || !self.is_committed() {
            return None;
        }
        let bytes = self.size().checked_mul(count)?;
        (bytes <= i64::MAX as u64).then_some(bytes)
    }

    /// What its basic elements are, in a byte.
    #[inline]
    pub fn element_mark(&self) -> ElementMark {
        self.0.mark
    }

    /// Whether a single element is one block, beginning at [`Datatype::true_lb`].
    pub fn is_one_block(&self) -> bool {
        self.0.layout.contiguous().is_some()
    }

    /// Where the bytes of `count` consecutive elements lie. Cheap: nothing is built that exists.
    pub fn layout(&self, count: u64) -> Result<Layout, DatatypeError> {
        if count == 1 {
            return Ok((*self.0.layout).clone());
        }
        self.0.typemap.bounds.repeated(count, self.extent())?;
        let bytes = self
            .size()
            .checked_mul(count)
            .filter(|bytes| *bytes <= i64::MAX as u64);
        bytes.ok_or(DatatypeError::Overflow { what: "size" })?;
        Ok(Layout::repeated_shared(
            &self.0.layout,
            count,
            self.extent(),
        ))
    }

    pub(crate) fn typemap(&self) -> &Typemap {
        &self.0.typemap
    }

    /// How many whole elements of this type `bytes` are (MPI_Get_count); none if they end inside
    /// one.
    pub fn count_in(&self, bytes: u64) -> Option<u64> {
        match (self.size(), bytes) {
            (_, 0) => Some(0),
            (0, _) => None,
            (size, _) => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// How many basic elements `bytes` are (MPI_Get_elements); none if they end inside one.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        let elements = self.signature().elements_in(bytes);
        (elements.rest == 0).then_some(elements.whole)
    }
}

/// Equal by construction: the same call with equal arguments.
impl PartialEq for Datatype {
    fn eq(&self, other: &Datatype) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.large == other.0.large && self.0.constructor == other.0.constructor)
    }
}

impl fmt::Debug for Datatype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.constructor.fmt(formatter)
    }
}
