//! The smallest program: every rank says who it is, and all of them add up their ranks.
//!
//! `oxmpi run -n 4 target/debug/examples/hello`

use oxmpi::op::Sum;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    println!("rank {rank} of {size} on {}", mpi.host());
    let mut total = [0];
    world.allreduce(&[rank], &mut total, Sum)?;
    assert_eq!(total[0], (0..size).sum());
    Ok(())
}
