//! Communicators: a grid of ranks, with one communicator for each row and one for each column.
//!
//! What is sent on one is never received on another, so libraries can have one of their own
//! (`dup`).

use oxmpi::op::{Max, Sum};

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let columns = (1..=size).find(|c| c * c >= size).unwrap_or(1);
    let (row, column) = (rank / columns, rank % columns);

    // Same colour, same communicator; the key orders its ranks.
    let across = world.split(Some(row), i64::from(column))?;
    let down = world.split(Some(column), i64::from(row))?;
    let (across, down) = (
        across.expect("it has a colour"),
        down.expect("it has a colour"),
    );
    assert_eq!((across.rank(), down.rank()), (column, row));

    let (mut in_row, mut in_column) = ([0], [0]);
    across.allreduce(&[rank], &mut in_row, Sum)?;
    down.allreduce(&[rank], &mut in_column, Max)?;
    let of_row = (0..size).filter(|r| r / columns == row);
    let of_column = (0..size).filter(|r| r % columns == column);
    assert_eq!(Some(in_row[0]), Some(of_row.sum()));
    assert_eq!(Some(in_column[0]), of_column.max());

    // Ranks without a colour take part in the call and get none.
    let even = world.split((rank % 2 == 0).then_some(0), 0)?;
    assert_eq!(even.is_some(), rank % 2 == 0);
    if let Some(even) = even {
        assert_eq!(even.world_rank(even.rank())?, rank);
    }
    if rank == 0 {
        println!("{size} ranks as a grid with {columns} columns");
    }
    Ok(())
}
