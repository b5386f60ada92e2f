//! Grids and graphs (MPI 5.0 §8.5), and the collectives of neighbours (§8.6) that follow them.

use oxmpi::{ErrorKind, collective};

oxmpi_harness::ranks! {
    /// Row-major places; a shift gives both partners, and nobody beyond an edge.
    fn a_grid_knows_places_and_partners([6]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let sizes = world.grid_sizes([0, 2]).unwrap();
        assert_eq!(sizes, [3, 2]);
        let grid = world.grid(&sizes, &[true, false]).unwrap().unwrap();
        let rank = grid.rank();
        let (row, column) = (rank / 2, rank % 2);
        assert_eq!(grid.coordinates(rank).unwrap(), [row, column]);
        assert_eq!(grid.rank_at(&[row as i32 - 3, column as i32]).unwrap(), rank);
        let above = (row + 2) % 3 * 2 + column;
        let below = (row + 1) % 3 * 2 + column;
        assert_eq!(grid.shift(0, 1).unwrap(), (Some(above), Some(below)));
        let left = (column == 1).then(|| rank - 1);
        let right = (column == 0).then_some(rank + 1);
        assert_eq!(grid.shift(1, 1).unwrap(), (left, right));
        let around = vec![Some(above), Some(below), left, right];
        assert_eq!(grid.neighbours().unwrap(), (around.clone(), around));
        // Whoever is beyond the edge says nothing.
        let mut got = [99];
        grid.send_recv(&[rank], right, 0, &mut got, left, 0).unwrap();
        assert_eq!(got[0], left.unwrap_or(99));
        let row_of = grid.subgrid(&[false, true]).unwrap();
        assert_eq!((row_of.size(), row_of.rank()), (2, column));
        assert_eq!(row_of.coordinates(1).unwrap(), [1]);
    }

    fn ranks_without_a_place_get_nothing([5]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let grid = world.grid(&[2, 2], &[false, false]).unwrap();
        assert_eq!(grid.is_some(), world.rank() < 4);
    }

    /// At once, in a scope and prepared: what each neighbour sent, in the order of the neighbours.
    fn neighbours_exchange_in_every_form([4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        // From the one before twice, to the next one twice.
        let ring = world.graph(&[before, before], &[next, next]).unwrap();
        assert_eq!(ring.neighbours().unwrap().0, [Some(before), Some(before)]);
        let mut got = [0; 2];
        ring.neighbour_alltoall(&[rank * 10, rank * 10 + 1], &mut got).unwrap();
        assert_eq!(got, [before * 10, before * 10 + 1]);
        let mut same = [0; 2];
        oxmpi::scope(|s| {
            ring.begin(s, collective::neighbour_allgather(&rank, &mut same))?.wait()
        })
        .unwrap();
        assert_eq!(same, [before; 2]);
        let grid = world.grid(&[size], &[false]).unwrap().unwrap();
        let mut edges = [7; 2];
        grid.neighbour_allgather(&rank, &mut edges).unwrap();
        let left = rank.checked_sub(1).unwrap_or(7);
        let right = if rank + 1 < size { rank + 1 } else { 7 };
        assert_eq!(edges, [left, right], "beyond the edge nothing changes");
    }

    fn what_cannot_be_is_refused([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let refused = |error: oxmpi::Error, words: &str| {
            assert!(error.to_string().contains(words), "{error}");
        };
        refused(world.grid(&[3], &[false]).unwrap_err(), "3");
        refused(world.grid(&[2, 0], &[false, false]).unwrap_err(), "0");
        refused(world.shift(0, 1).unwrap_err(), "Cartesian topology");
        refused(world.neighbours().unwrap_err(), "a topology");
        let grid = world.grid(&[2], &[false]).unwrap().unwrap();
        assert!(matches!(grid.shift(1, 1).unwrap_err().kind(), ErrorKind::Topology(_)));
        refused(grid.rank_at(&[2]).unwrap_err(), "2");
    }
}
