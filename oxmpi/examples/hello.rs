//! The smallest program: every rank says who it is, and all of them add up their ranks.
//!
//! `oxmpi run -n 4 target/debug/examples/hello`

use oxmpi::op::Sum;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    println!(
        "rank {} of {} on {}",
        world.rank(),
        world.size(),
        mpi.host()
    );
    let mut total = [0];
    world.allreduce(&[world.rank()], &mut total, Sum)?;
    assert_eq!(total[0], (0..world.size()).sum());
    Ok(())
}
