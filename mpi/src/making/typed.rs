//! Topologies for Rust programs: grids, graphs, and the neighbours that follow from them.
//!
//! The calls are those of `topologies`, with ranks and sizes as the rest of the typed face has
//! them: `u32`, and `None` for the process beyond an edge.

use std::sync::Arc;

use crate::communicator::{Communicator, Neighbours};
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use crate::topology::dims_create;

/// As the topologies take numbers; more than they have room for is more than there are ranks.
fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// Sizes of a grid with a place for each rank, as close to each other as they can be:
    /// dimensions of 0 are filled in, the others stay as they are.
    pub fn grid_sizes<const N: usize>(&self, sizes: [u32; N]) -> Result<[u32; N]> {
        let mut filled = sizes.map(number);
        dims_create(number(self.size()), &mut filled)
            .map_err(|kind| self.fail("grid_sizes", kind))?;
        Ok(filled.map(|size| size as u32))
    }

    /// The first ranks as places of a grid, whose last coordinate runs fastest; where `wraps` is
    /// true the last place of a dimension is next to the first. Ranks for which there is no place
    /// get nothing. Collective over this communicator.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let sizes = world.grid_sizes([0, 0])?;
    /// let grid = world.grid(&sizes, &[true, false])?.expect("as many places as ranks");
    /// let (above, below) = grid.shift(0, 1)?;
    /// let mut edge = [0.0; 8];
    /// // A neighbour beyond the edge is `None`, and a message to it or from it does nothing.
    /// grid.send_recv(&[1.0; 8], below, 0, &mut edge, above, 0)?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn grid(&self, sizes: &[u32], wraps: &[bool]) -> Result<Option<Communicator<'mpi, L>>> {
        let sizes = sizes.iter().copied().map(number).collect::<Vec<_>>();
        let new = self.comm.cart_create(&sizes, wraps);
        let new = new.map_err(|kind| self.fail("grid", kind))?;
        Ok(new.map(|new| Communicator::new(self.process, Arc::new(new))))
    }

    /// The part of this grid in which this rank lies when only the dimensions for which `remains`
    /// is true are left, such as its row. Collective over this communicator.
    pub fn subgrid(&self, remains: &[bool]) -> Result<Communicator<'mpi, L>> {
        let new = self.comm.cart_sub(remains);
        let new = new.map_err(|kind| self.fail("subgrid", kind))?;
        Ok(Communicator::new(self.process, Arc::new(new)))
    }

    /// The coordinates of a rank of this grid.
    pub fn coordinates(&self, rank: u32) -> Result<Vec<u32>> {
        let grid = self.comm.cartesian("coordinates");
        let found = grid
            .map_err(ErrorKind::from)
            .and_then(|grid| Ok(grid.coords(rank)?));
        let found = found.map_err(|kind| self.fail("coordinates", kind))?;
        Ok(found
            .into_iter()
            .map(|coordinate| coordinate as u32)
            .collect())
    }

    /// The rank at these coordinates of this grid; where it wraps they may be any numbers.
    pub fn rank_at(&self, coordinates: &[i32]) -> Result<u32> {
        let grid = self.comm.cartesian("rank_at");
        let found = grid
            .map_err(ErrorKind::from)
            .and_then(|grid| Ok(grid.rank_of(coordinates)?));
        found.map_err(|kind| self.fail("rank_at", kind))
    }

    /// From whom this rank receives and to whom it sends when all data moves by `steps` along a
    /// dimension of this grid; `None` is beyond the edge.
    pub fn shift(&self, dimension: usize, steps: i32) -> Result<(Option<u32>, Option<u32>)> {
        let direction = i32::try_from(dimension).unwrap_or(i32::MAX);
        let grid = self.comm.cartesian("shift");
        let found = grid
            .map_err(ErrorKind::from)
            .and_then(|grid| Ok(grid.shift(self.rank(), direction, steps)?));
        found.map_err(|kind| self.fail("shift", kind))
    }

    /// The same ranks, of which this one has these neighbours in `neighbour_` calls: it receives
    /// from `sources` and sends to `destinations`. What one rank names as a destination the other
    /// names as a source. Collective over this communicator.
    pub fn graph(&self, sources: &[u32], destinations: &[u32]) -> Result<Communicator<'mpi, L>> {
        let ranks = |list: &[u32]| list.iter().copied().map(number).collect::<Vec<_>>();
        let (from, to) = (ranks(sources), ranks(destinations));
        let new = self
            .comm
            .dist_graph_create_adjacent(&from, None, &to, None, None);
        let new = new.map_err(|kind| self.fail("graph", kind))?;
        Ok(Communicator::new(self.process, Arc::new(new)))
    }

    /// From whom and to whom `neighbour_` calls move data, in their order: in a grid for each
    /// dimension the rank before, then the one after; `None` is beyond the edge.
    pub fn neighbours(&self) -> Result<Neighbours> {
        let found = self.comm.neighbours();
        found.map_err(|kind| self.fail("neighbours", kind))
    }
}
