//! Errors of views: shapes that cannot be laid on a slice.

use oxmpi_datatypes::datatype::DatatypeError;

/// Why there cannot be such a view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The slice ends before the shape does.
    #[error("the shape reaches over {needed} element(s), but the slice has {length}")]
    Beyond {
        /// Elements from the first to the last that the shape names, with those between.
        needed: usize,
        /// Elements of the slice.
        length: usize,
    },
    /// Blocks that would lie on each other.
    #[error("blocks of {block} element(s) overlap if the next one begins {stride} further on")]
    Overlap {
        /// Elements of a block.
        block: usize,
        /// Elements from the beginning of one to that of the next.
        stride: usize,
    },
    /// An array and a part of it with different numbers of dimensions.
    #[error("the array has {sizes} dimension(s) and the part {parts}")]
    Dimensions {
        /// Those of the array.
        sizes: usize,
        /// Those of the part.
        parts: usize,
    },
    /// A part that is not inside of the array.
    #[error("the part is {from}..{to} of dimension {dimension}, which has {size} place(s)")]
    Outside {
        /// Which dimension.
        dimension: usize,
        /// Where the part begins.
        from: usize,
        /// Where it ends.
        to: usize,
        /// Places in that dimension.
        size: usize,
    },
    /// More elements than memory has.
    #[error("the shape cannot be: {0}")]
    Layout(#[from] DatatypeError),
}
