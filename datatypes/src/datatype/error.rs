//! What can go wrong with datatypes: building one ([`DatatypeError`]), copying through one
//! ([`CopyError`]) and converting to or from external32 ([`ExternalError`]). Error classes are
//! assigned in the ABI layer.

use super::{Basic, Distribution};

/// Why a datatype, or the layout of many elements of one, cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatatypeError {
    /// A count or block length below zero.
    #[error("{argument} {index} is {value}: it must not be negative")]
    Negative {
        /// The argument's name in the standard.
        argument: &'static str,
        /// Which entry of an array argument; 0 for a single one.
        index: usize,
        /// What was given.
        value: i64,
    },
    /// A size or displacement that 64 bits cannot hold.
    #[error(
        "the type's {what} does not fit in 64 bits: use fewer elements or smaller displacements"
    )]
    Overflow {
        /// Which property overflows.
        what: &'static str,
    },
    /// Two array arguments that belong together differ in length.
    #[error("{first} has {first_len} entries but {second} has {second_len}: they must be equal")]
    Lengths {
        /// Name of one array.
        first: &'static str,
        /// Its length.
        first_len: usize,
        /// Name of the other.
        second: &'static str,
        /// Its length.
        second_len: usize,
    },
    /// Types built from types built from types, too often.
    #[error("the type is nested {depth} deep, the limit is {limit}: build it from fewer steps")]
    TooDeep {
        /// How deep it would be.
        depth: u32,
        /// [`super::DEPTH_MAX`].
        limit: u32,
    },
    /// An array of no dimensions.
    #[error("an array type needs at least one dimension")]
    NoDimensions,
    /// A piece that does not lie inside its array.
    #[error(
        "dimension {dimension}: a piece of {subsize} from {start} does not lie in an array of {size} \
         (it needs 1 <= subsize <= size and 0 <= start <= size - subsize)"
    )]
    Subarray {
        /// Which dimension, from 0.
        dimension: usize,
        /// The array's size there.
        size: i64,
        /// The piece's size.
        subsize: i64,
        /// Where the piece begins.
        start: i64,
    },
    /// An array argument that must be positive is not.
    #[error("{argument} {index} is {value}: it must be positive")]
    NotPositive {
        /// The argument's name in the standard.
        argument: &'static str,
        /// Which entry of it.
        index: usize,
        /// What was given.
        value: i64,
    },
    /// The process grid does not have as many places as there are processes.
    #[error(
        "the process grid has {grid} places for {size} processes: the product of psizes must be size"
    )]
    Grid {
        /// Product of the grid's sizes.
        grid: i128,
        /// Number of processes.
        size: i64,
    },
    /// A rank outside its group.
    #[error("rank {rank} is not in a group of {size}")]
    Rank {
        /// The rank given.
        rank: i64,
        /// Number of processes.
        size: i64,
    },
    /// A dimension cannot be distributed as asked.
    #[error(
        "dimension {dimension}: {size} elements over {processes} processes cannot be distributed as \
         {distribution:?} (block needs argument * processes >= size; none needs one process)"
    )]
    Distribution {
        /// Which dimension, from 0.
        dimension: usize,
        /// The array's size there.
        size: i64,
        /// The grid's size there.
        processes: i64,
        /// What was asked for.
        distribution: Distribution,
    },
    /// No Fortran kind has this precision and range.
    #[error(
        "no Fortran kind has precision {precision:?} and range {range:?}: reals go to 33 and 4931, integers to range 38"
    )]
    Kind {
        /// Decimal digits asked for.
        precision: Option<i32>,
        /// Decimal exponent range asked for.
        range: Option<i32>,
    },
}

/// Why bytes cannot be copied between memory and packed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The type reaches outside the memory that was lent.
    #[error(
        "the type reaches from {first} to {end} of a memory of {bytes} bytes: lend more or move the origin"
    )]
    Outside {
        /// First byte reached, relative to the memory's begin.
        first: i128,
        /// End of what is reached.
        end: i128,
        /// Length of the memory.
        bytes: usize,
    },
    /// The packed range is not inside the message or does not have the length of the packed buffer.
    #[error(
        "packed bytes {begin}..{end} of a message of {total} do not fit a buffer of {buffer} bytes"
    )]
    Range {
        /// Begin of the range.
        begin: u64,
        /// End of the range.
        end: u64,
        /// Packed size of everything.
        total: u64,
        /// Length of the packed buffer.
        buffer: usize,
    },
}

/// Why a value cannot be converted to or from external32.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The native value does not fit in the fewer bytes that external32 gives it.
    #[error("{value} does not fit in the {bytes} bytes that external32 gives {}: use a type of fixed size", .basic.name())]
    DoesNotFit {
        /// The type.
        basic: Basic,
        /// The value, unsigned ones as they are.
        value: i128,
        /// Bytes of it in external32.
        bytes: usize,
    },
    /// The external buffer is too short.
    #[error("{elements} elements take {needed} bytes in external32, the buffer has {buffer}")]
    Short {
        /// Basic elements to convert.
        elements: u64,
        /// Bytes they take.
        needed: u64,
        /// Bytes there are.
        buffer: usize,
    },
    /// The native side lies outside its memory, or is too large.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// So many elements cannot be laid out.
    #[error(transparent)]
    Datatype(#[from] DatatypeError),
}
