//! A column of a matrix as a datatype: bytes that do not lie together are gathered and scattered by
//! a description.
//!
//! Each rank sends its last column to the right, where it becomes the first one.

use oxmpi::datatype::{Basic, Datatype};
use oxmpi::plain::{bytes, bytes_mut};

const ROWS: usize = 30;
const COLUMNS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let mut matrix = vec![f64::from(rank); ROWS * COLUMNS];

    // ROWS blocks of one number, each COLUMNS numbers after the one before.
    let double = Datatype::named(Basic::Double);
    let column = Datatype::vector(ROWS as i64, 1, COLUMNS as i64, &double)?;
    let layout = column.layout(1)?;
    let all = 0..layout.bytes();

    let last = ((COLUMNS - 1) * size_of::<f64>()) as i64;
    let mut outgoing = vec![0; layout.bytes() as usize];
    layout.pack(bytes(&matrix), last, all.clone(), &mut outgoing)?;
    let mut incoming = vec![0; outgoing.len()];
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    world.send_recv(&outgoing, right, 0, &mut incoming, left, 0)?;
    layout.unpack(&incoming, all, bytes_mut(&mut matrix), 0)?;

    for row in matrix.chunks(COLUMNS) {
        assert_eq!(row[0], f64::from(left));
        assert!(row[1..].iter().all(|&value| value == f64::from(rank)));
    }
    if rank == 0 {
        println!("{size} ranks have their left neighbour's last column");
    }
    Ok(())
}
