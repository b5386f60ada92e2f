//! Cartesian grids: ranks as places with coordinates (MPI 5.0 §8.5.1 and §8.5.5 to §8.5.8).
//!
//! Ranks are numbered row-major: the last coordinate runs fastest. A grid of no dimensions has one
//! place. Invariant: the number of places fits a u32, so a place's rank does.

use super::TopologyError;
use super::{check_places, check_rank};

/// A grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dimensions: Vec<Dimension>,
    size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    size: u32,
    periodic: bool,
}

/// A rank's part of a grid that is cut along some dimensions: what MPI_CART_SUB splits by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which of the parts: ranks with the same colour are in the same one.
    pub colour: u32,
    /// The rank within the part.
    pub key: u32,
    /// The part's grid.
    pub grid: Cartesian,
}

impl Cartesian {
    /// A grid of these sizes, which wraps around where it is periodic.
    pub fn new(dims: &[i32], periods: &[bool]) -> Result<Cartesian, TopologyError> {
        check_length("periods", periods.len(), dims.len())?;
        let mut dimensions = Vec::with_capacity(dims.len());
        let mut places = 1u64;
        for (dimension, (&value, &periodic)) in dims.iter().zip(periods).enumerate() {
            let size = match u32::try_from(value) {
                Ok(size) if size > 0 => size,
                _ => return Err(TopologyError::DimensionNotPositive { dimension, value }),
            };
            places = places.saturating_mul(u64::from(size));
            dimensions.push(Dimension { size, periodic });
        }
        check_places(places, u32::MAX)?;
        Ok(Cartesian {
            dimensions,
            size: places as u32,
        })
    }

    /// Whether this many processes are enough for the grid.
    pub fn check_fits(&self, processes: u32) -> Result<(), TopologyError> {
        check_places(self.size.into(), processes)
    }

    /// How many places it has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// The size of each dimension.
    pub fn dims(&self) -> Vec<i32> {
        // Sizes were ints when the grid was made.
        self.dimensions
            .iter()
            .map(|dimension| dimension.size as i32)
            .collect()
    }

    /// Which dimensions wrap around.
    pub fn periods(&self) -> Vec<bool> {
        self.dimensions
            .iter()
            .map(|dimension| dimension.periodic)
            .collect()
    }

    /// The rank at these coordinates; those of periodic dimensions may be any number.
    pub fn rank_of(&self, coords: &[i32]) -> Result<u32, TopologyError> {
        check_length("coords", coords.len(), self.dimensions.len())?;
        let mut rank = 0;
        for (number, (dimension, &coordinate)) in self.dimensions.iter().zip(coords).enumerate() {
            let place =
                dimension
                    .place(coordinate.into())
                    .ok_or(TopologyError::CoordinateOutOfRange {
                        dimension: number,
                        coordinate,
                        size: dimension.size,
                    })?;
            rank = rank * dimension.size + place;
        }
        Ok(rank)
    }

    /// The coordinates of this rank.
    pub fn coords(&self, rank: u32) -> Result<Vec<i32>, TopologyError> {
        let mut rest = check_rank(rank, self.size)?;
        let mut coords = vec![0; self.dimensions.len()];
        for (dimension, coordinate) in self.dimensions.iter().zip(&mut coords).rev() {
            *coordinate = (rest % dimension.size) as i32;
            rest /= dimension.size;
        }
        Ok(coords)
    }

    /// Whom this rank receives from and whom it sends to when all data moves by `displacement`
    /// along a dimension; `None` is beyond the edge, MPI_PROC_NULL.
    pub fn shift(
        &self,
        rank: u32,
        direction: i32,
        displacement: i32,
    ) -> Result<(Option<u32>, Option<u32>), TopologyError> {
        check_rank(rank, self.size)?;
        let dimensions = self.dimensions.len();
        let number = usize::try_from(direction)
            .ok()
            .filter(|&number| number < dimensions);
        let number = number.ok_or(TopologyError::NoSuchDirection {
            direction,
            dimensions,
        })?;
        let displacement = i64::from(displacement);
        Ok((
            self.moved(rank, number, -displacement),
            self.moved(rank, number, displacement),
        ))
    }

    /// The ranks next to this one: for each dimension the one before, then the one after.
    pub fn neighbours(&self, rank: u32) -> Result<Vec<Option<u32>>, TopologyError> {
        check_rank(rank, self.size)?;
        let both = |number| [self.moved(rank, number, -1), self.moved(rank, number, 1)];
        Ok((0..self.dimensions.len()).flat_map(both).collect())
    }

    /// The part of the grid this rank is in when only some dimensions remain.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> Result<Part, TopologyError> {
        check_length("remain_dims", remain.len(), self.dimensions.len())?;
        let coords = self.coords(rank)?;
        let (mut colour, mut key, mut size) = (0, 0, 1);
        let mut dimensions = Vec::new();
        for ((&dimension, &remains), &coordinate) in self.dimensions.iter().zip(remain).zip(&coords)
        {
            let coordinate = coordinate as u32;
            if remains {
                key = key * dimension.size + coordinate;
                size *= dimension.size;
                dimensions.push(dimension);
            } else {
                colour = colour * dimension.size + coordinate;
            }
        }
        Ok(Part {
            colour,
            key,
            grid: Cartesian { dimensions, size },
        })
    }

    /// The place of a process in the grid, or `None` if the grid has none for it: MPI_CART_MAP.
    pub fn map(&self, rank: u32) -> Option<u32> {
        (rank < self.size).then_some(rank)
    }

    /// The rank so many places further along a dimension.
    fn moved(&self, rank: u32, number: usize, displacement: i64) -> Option<u32> {
        let dimension = self.dimensions[number];
        let stride: u32 = self.dimensions[number + 1..]
            .iter()
            .map(|inner| inner.size)
            .product();
        let place = rank / stride % dimension.size;
        let moved = dimension.place(i64::from(place) + displacement)?;
        Some(rank - place * stride + moved * stride)
    }
}

impl Dimension {
    /// The place that a coordinate means.
    fn place(self, coordinate: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let place = if self.periodic {
            coordinate.rem_euclid(size)
        } else {
            coordinate
        };
        (0..size).contains(&place).then_some(place as u32)
    }
}

fn check_length(
    first: &'static str,
    first_len: usize,
    dimensions: usize,
) -> Result<(), TopologyError> {
    if first_len == dimensions {
        return Ok(());
    }
    Err(TopologyError::Lengths {
        first,
        first_len,
        second: "ndims",
        second_len: dimensions,
    })
}
