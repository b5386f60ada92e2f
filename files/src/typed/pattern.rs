//! Which elements of a file a process sees.

use oxmpi_core::{ErrorKind, FileError, FileFault};
use oxmpi_datatypes::datatype::{Datatype, Order};

use crate::failure::fault;

/// Which elements of a file a process sees, in elements; it repeats to the file's end.
#[derive(Clone, Debug)]
pub enum Pattern<'a> {
    /// All of them.
    All,
    /// `length` elements, the first at element `first`, again every `stride` elements.
    Blocks {
        /// Where the first block begins.
        first: u64,
        /// Elements of a block.
        length: u64,
        /// Elements from one block to the next.
        stride: u64,
    },
    /// Blocks of elements, each with its place and its length, in a tile of so many elements.
    Indexed {
        /// Where each block begins and how long it is, in ascending order.
        blocks: &'a [(u64, u64)],
        /// Elements from one tile to the next.
        tile: u64,
    },
    /// A part of an array whose last dimension varies fastest.
    Subarray {
        /// The array's length in each dimension.
        sizes: &'a [u64],
        /// The part's length in each dimension.
        lengths: &'a [u64],
        /// Where the part begins in each dimension.
        starts: &'a [u64],
    },
    /// Any datatype built from elements.
    Datatype(&'a Datatype),
}

#[cold]
pub(super) fn wrong(why: impl Into<String>) -> ErrorKind {
    ErrorKind::File(Box::new(refused(why)))
}

fn refused(why: impl Into<String>) -> FileError {
    fault(FileFault::Argument, "cannot set the view of", why)
}

#[cold]
pub(super) fn as_file_error(kind: ErrorKind) -> FileError {
    match kind {
        ErrorKind::File(error) => *error,
        other => refused(other.to_string()),
    }
}

impl Pattern<'_> {
    /// The filetype.
    pub(super) fn datatype(&self, etype: &Datatype) -> Result<Datatype, FileError> {
        let number = |value: u64| i64::try_from(value).map_err(|error| refused(error.to_string()));
        let numbers = |values: &[u64]| -> Result<Vec<i64>, FileError> {
            values.iter().map(|value| number(*value)).collect()
        };
        let extent = |elements: u64| {
            let bytes = number(elements)?.checked_mul(etype.extent());
            bytes.ok_or_else(|| refused(format!("{elements} elements are too many")))
        };
        let built = match self {
            Pattern::All => return Ok(etype.clone()),
            Pattern::Datatype(datatype) => {
                datatype.commit();
                return Ok((*datatype).clone());
            }
            Pattern::Blocks {
                first,
                length,
                stride,
            } => Datatype::indexed(&[number(*length)?], &[number(*first)?], etype)
                .map(|block| (block, stride)),
            Pattern::Indexed { blocks, tile } => {
                let (places, lengths): (Vec<u64>, Vec<u64>) = blocks.iter().copied().unzip();
                Datatype::indexed(&numbers(&lengths)?, &numbers(&places)?, etype)
                    .map(|blocks| (blocks, tile))
            }
            Pattern::Subarray {
                sizes,
                lengths,
                starts,
            } => {
                let (sizes, lengths) = (numbers(sizes)?, numbers(lengths)?);
                let part = Datatype::subarray(&sizes, &lengths, &numbers(starts)?, Order::C, etype);
                let part = part.map_err(|error| refused(error.to_string()))?;
                part.commit();
                return Ok(part);
            }
        };
        let (blocks, tile) = built.map_err(|error| refused(error.to_string()))?;
        let tiled = Datatype::resized(&blocks, 0, extent(*tile)?);
        let tiled = tiled.map_err(|error| refused(error.to_string()))?;
        tiled.commit();
        Ok(tiled)
    }
}
