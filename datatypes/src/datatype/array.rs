//! Pieces of arrays: MPI_Type_create_subarray and MPI_Type_create_darray (MPI 5.0 §5.1.3 and
//! §5.1.4).
//!
//! Both are built one dimension at a time, from the one that lies together in memory outwards. A
//! dimension places pieces of what the inner dimensions gave and then marks the bounds of the whole
//! array there, so that the next dimension (and the next element) steps over all of it.

use super::construct::equal_lengths;
use super::typemap::{Concatenation, Typemap};
use super::{Constructor, Datatype, DatatypeError};

/// Which dimension's neighbours lie together in memory; the values are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Order {
    /// The last one.
    C = 12,
    /// The first one.
    Fortran = 15,
}

/// How a dimension is dealt out to the processes of the grid; the values are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Distribution {
    /// Not at all: the grid has one process there.
    None = 16,
    /// One block each; by default of the least length that suffices.
    Block = 17,
    /// Blocks in turn; by default of length 1.
    Cyclic = 18,
}

/// The arguments of MPI_Type_create_darray but for the old type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Darray {
    /// Number of processes.
    pub size: i64,
    /// Whose piece this is.
    pub rank: i64,
    /// The whole array's size in each dimension.
    pub gsizes: Box<[i64]>,
    /// How each dimension is distributed.
    pub distributions: Box<[Distribution]>,
    /// The block length of each distribution; none is MPI_DISTRIBUTE_DFLT_DARG.
    pub arguments: Box<[Option<i64>]>,
    /// The process grid's size in each dimension.
    pub psizes: Box<[i64]>,
    /// Storage order of the array. The grid of processes is row-major in either case (§5.1.4).
    pub order: Order,
}

impl Order {
    /// The dimensions from the one whose neighbours lie together outwards.
    fn dimensions(self, count: usize) -> impl Iterator<Item = usize> {
        (0..count).map(move |index| match self {
            Order::Fortran => index,
            Order::C => count - 1 - index,
        })
    }
}

impl Datatype {
    /// MPI_Type_create_subarray.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        equal_lengths(("sizes", sizes.len()), ("subsizes", subsizes.len()))?;
        equal_lengths(("sizes", sizes.len()), ("starts", starts.len()))?;
        if sizes.is_empty() {
            return Err(DatatypeError::NoDimensions);
        }
        let mut typemap = of.typemap().clone();
        let mut extent = of.extent();
        for dimension in order.dimensions(sizes.len()) {
            let (size, subsize, start) = (sizes[dimension], subsizes[dimension], starts[dimension]);
            if subsize < 1 || subsize > size || start < 0 || start > size - subsize {
                return Err(DatatypeError::Subarray {
                    dimension,
                    size,
                    subsize,
                    start,
                });
            }
            let whole = scaled(size, extent)?;
            let piece = typemap
                .repeated(subsize as u64, extent)?
                .shifted(scaled(start, extent)?)?;
            typemap = piece.marked(0, whole)?;
            extent = whole;
        }
        let constructor = Constructor::Subarray {
            sizes: sizes.into(),
            subsizes: subsizes.into(),
            starts: starts.into(),
            order,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_darray.
    pub fn darray(arguments: Darray, of: &Datatype) -> Result<Datatype, DatatypeError> {
        let dimensions = arguments.check()?;
        let coordinates = arguments.coordinates();
        let mut typemap = of.typemap().clone();
        let mut extent = of.extent();
        for dimension in arguments.order.dimensions(dimensions) {
            let block = arguments.block(dimension)?;
            let share = Share {
                size: arguments.gsizes[dimension] as u64,
                processes: arguments.psizes[dimension] as u64,
                process: coordinates[dimension],
                block: block as u64,
            };
            let whole = scaled(arguments.gsizes[dimension], extent)?;
            typemap = share.of(&typemap, extent)?.marked(0, whole)?;
            extent = whole;
        }
        let constructor = Constructor::Darray {
            arguments,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }
}

impl Darray {
    /// The number of dimensions, if the arguments agree with each other.
    fn check(&self) -> Result<usize, DatatypeError> {
        let dimensions = self.gsizes.len();
        equal_lengths(
            ("gsizes", dimensions),
            ("distribs", self.distributions.len()),
        )?;
        equal_lengths(("gsizes", dimensions), ("dargs", self.arguments.len()))?;
        equal_lengths(("gsizes", dimensions), ("psizes", self.psizes.len()))?;
        if dimensions == 0 {
            return Err(DatatypeError::NoDimensions);
        }
        if self.rank < 0 || self.rank >= self.size {
            return Err(DatatypeError::Rank {
                rank: self.rank,
                size: self.size,
            });
        }
        let mut grid = 1i128;
        for (index, (&gsize, &psize)) in self.gsizes.iter().zip(&self.psizes).enumerate() {
            positive("gsize", index, gsize)?;
            grid = grid.saturating_mul(i128::from(positive("psize", index, psize)?));
        }
        if grid != i128::from(self.size) {
            return Err(DatatypeError::Grid {
                grid,
                size: self.size,
            });
        }
        Ok(dimensions)
    }

    /// Where the rank stands in the grid, whose last dimension varies fastest.
    fn coordinates(&self) -> Vec<u64> {
        let mut rank = self.rank as u64;
        let mut coordinates = vec![0; self.psizes.len()];
        for (coordinate, &psize) in coordinates.iter_mut().zip(&self.psizes).rev() {
            *coordinate = rank % psize as u64;
            rank /= psize as u64;
        }
        coordinates
    }

    /// Length of the blocks that a dimension is dealt out in.
    fn block(&self, dimension: usize) -> Result<i64, DatatypeError> {
        let (size, processes) = (self.gsizes[dimension], self.psizes[dimension]);
        let distribution = self.distributions[dimension];
        let impossible = DatatypeError::Distribution {
            dimension,
            size,
            processes,
            distribution,
        };
        let argument = self.arguments[dimension];
        match distribution {
            Distribution::None if processes == 1 => Ok(size),
            Distribution::None => Err(impossible),
            Distribution::Cyclic => positive("darg", dimension, argument.unwrap_or(1)),
            Distribution::Block => {
                let least = (size - 1) / processes + 1;
                let block = positive("darg", dimension, argument.unwrap_or(least))?;
                if block < least {
                    Err(impossible)
                } else {
                    Ok(block)
                }
            }
        }
    }
}

/// One process's share of a dimension that is dealt out in blocks.
struct Share {
    size: u64,
    processes: u64,
    process: u64,
    block: u64,
}

impl Share {
    /// The share of a row of `element`s that are `extent` apart.
    fn of(&self, element: &Typemap, extent: i64) -> Result<Typemap, DatatypeError> {
        // Blocks of full length in the whole dimension, and what is left for the one after them.
        let (full, rest) = (self.size / self.block, self.size % self.block);
        let mine = full / self.processes + u64::from(self.process < full % self.processes);
        let block = element.repeated(self.block.min(self.size), extent)?;
        let mut share = Concatenation::new();
        if mine > 0 {
            let first = scaled((self.process * self.block) as i64, extent)?;
            // With a single block there is no next one, and its distance need not even fit.
            let stride = if mine == 1 {
                0
            } else {
                scaled((self.processes * self.block) as i64, extent)?
            };
            share.push(&block.repeated(mine, stride)?.shifted(first)?)?;
        }
        if rest > 0 && full % self.processes == self.process {
            let first = scaled((full * self.block) as i64, extent)?;
            share.push(&element.repeated(rest, extent)?.shifted(first)?)?;
        }
        share.finish()
    }
}

fn scaled(count: i64, extent: i64) -> Result<i64, DatatypeError> {
    count.checked_mul(extent).ok_or(DatatypeError::Overflow {
        what: "displacement",
    })
}

fn positive(argument: &'static str, index: usize, value: i64) -> Result<i64, DatatypeError> {
    if value > 0 {
        Ok(value)
    } else {
        Err(DatatypeError::NotPositive {
            argument,
            index,
            value,
        })
    }
}
