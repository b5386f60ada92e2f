//! A matrix in a file: all ranks write their columns, each reads whole rows, and a journal grows at
//! the pointer that all share.

use futures_lite::future;
use oxmpi::file::{OpenOptions, Pattern, Whence};

/// Rows of the matrix, and columns of each rank.
const ROWS: u64 = 6;
const COLUMNS: u64 = 4;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    // One name for all ranks, which no other run has.
    let mut number = [std::process::id()];
    world.bcast(&mut number, 0)?;
    let path = std::env::temp_dir().join(format!("oxmpi-example-{}.dat", number[0]));

    // The view: this rank's columns of a matrix of f64, whose rows lie one after the other.
    let columns = Pattern::Subarray {
        sizes: &[ROWS, COLUMNS * size],
        lengths: &[ROWS, COLUMNS],
        starts: &[0, COLUMNS * rank],
    };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .delete_on_close(true)
        .open(&world, &path)?
        .view::<f64>(0, &columns)?;
    let mine: Vec<f64> = (0..ROWS * COLUMNS)
        .map(|i| (i / COLUMNS * 1000 + COLUMNS * rank + i % COLUMNS) as f64)
        .collect();
    file.write_all(&mine)?;
    file.sync()?;

    // Without holes, element by element; the read goes on while the program computes.
    let file = file.view::<f64>(0, &Pattern::All)?;
    let row = rank % ROWS;
    let begun = file.begin_read_at(row * COLUMNS * size, vec![0.0; (COLUMNS * size) as usize])?;
    let (values, count) = future::block_on(begun)?;
    assert_eq!(count as u64, COLUMNS * size);
    for (column, value) in values.iter().enumerate() {
        assert_eq!(*value, (row * 1000 + column as u64) as f64);
    }
    // At the end of the file there is less than asked for.
    let mut rest = [0.0; 10];
    let found = file.read_at(ROWS * COLUMNS * size - 3, &mut rest)?;
    assert_eq!(found, 3);

    // A journal behind the matrix: entries in the order of the ranks, then as they come.
    let journal = file.view::<u32>(ROWS * COLUMNS * size * 8, &Pattern::All)?;
    journal.write_ordered(&vec![world.rank(); 1 + rank as usize])?;
    journal.write_shared(&[1000 + world.rank()])?;
    journal.sync()?;
    world.barrier()?;
    let entries = size * (size + 1) / 2 + size;
    assert_eq!(journal.shared_position()?, entries);
    world.barrier()?;
    journal.seek_shared(0, Whence::Set)?;
    let mut again = vec![0; 1 + rank as usize];
    journal.read_ordered(&mut again)?;
    assert!(again.iter().all(|entry| *entry == world.rank()));
    journal.close()?;
    if rank == 0 {
        println!("{size} ranks have shared a matrix and a journal of {entries} entries");
    }
    Ok(())
}
