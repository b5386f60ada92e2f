//! An operation of the program's own: functions x -> a * x + b are composed, in the order of the
//! ranks.
//!
//! Composition is associative and does not commute; the library keeps the order when it is told so.

use oxmpi::op;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let rank = world.rank();
    let function = |rank: u32| [f64::from(rank % 3) - 1.0, f64::from(rank)];

    // First the left one, which comes from lower ranks, then the right one.
    let compose = op::user(false, |f: &[f64; 2], g: &[f64; 2]| {
        [g[0] * f[0], g[0] * f[1] + g[1]]
    });
    let mut composed = [[0.0; 2]];
    world.scan(&[function(rank)], &mut composed, compose)?;

    // Rank r has applied the functions of ranks 0 to r.
    let apply = |x: f64, [a, b]: [f64; 2]| a * x + b;
    let expected = (0..=rank).map(function).fold(5.0, apply);
    assert_eq!(apply(5.0, composed[0]), expected);
    println!("rank {rank}: 5 becomes {expected}");
    Ok(())
}
