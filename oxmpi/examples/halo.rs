//! A halo exchange: heat spreads along a rod that is cut into one piece per rank.
//!
//! The messages for the edges are under way while the inner points are computed.

use oxmpi::Communicator;

const POINTS: usize = 1000;
const STEPS: usize = 50;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);

    let first = POINTS * rank / size;
    let end = POINTS * (rank + 1) / size;
    let mut piece: Vec<f64> = (first..end).map(initial).collect();
    for _ in 0..STEPS {
        piece = step(&world, &piece)?;
    }

    // The same on one rank alone, to compare with.
    let mut rod: Vec<f64> = (0..POINTS).map(initial).collect();
    for _ in 0..STEPS {
        rod = spread(0.0, &rod, 0.0);
    }
    assert_eq!(piece, rod[first..end]);
    if rank == 0 {
        println!("{STEPS} steps of {POINTS} points agree with one process");
    }
    Ok(())
}

fn initial(point: usize) -> f64 {
    if (400..600).contains(&point) {
        1.0
    } else {
        0.0
    }
}

/// One step: the values at both edges come from the neighbours.
fn step(world: &Communicator<'_>, piece: &[f64]) -> oxmpi::Result<Vec<f64>> {
    let (rank, size) = (world.rank(), world.size());
    let (mut left, mut right) = ([0.0], [0.0]);
    let inner = oxmpi::scope(|s| {
        let mut under_way = Vec::new();
        if rank > 0 {
            under_way.push(world.irecv(s, &mut left, rank - 1, 0)?);
            under_way.push(world.isend(s, &piece[..1], rank - 1, 0)?);
        }
        if rank + 1 < size {
            under_way.push(world.irecv(s, &mut right, rank + 1, 0)?);
            under_way.push(world.isend(s, &piece[piece.len() - 1..], rank + 1, 0)?);
        }
        // The messages travel while this rank computes.
        let inner = spread(0.0, piece, 0.0);
        oxmpi::wait_all(under_way)?;
        Ok(inner)
    })?;
    Ok(corrected(inner, piece, left[0], right[0]))
}

/// A step of a piece between two values.
fn spread(left: f64, piece: &[f64], right: f64) -> Vec<f64> {
    let at = |i: usize| match i {
        0 => left,
        i if i <= piece.len() => piece[i - 1],
        _ => right,
    };
    (1..=piece.len())
        .map(|i| mean(at(i - 1), at(i), at(i + 1)))
        .collect()
}

/// The two points that needed the neighbours' values.
fn corrected(mut inner: Vec<f64>, piece: &[f64], left: f64, right: f64) -> Vec<f64> {
    let last = piece.len() - 1;
    let before = |i: usize| if i == 0 { left } else { piece[i - 1] };
    let after = |i: usize| if i == last { right } else { piece[i + 1] };
    for i in [0, last] {
        inner[i] = mean(before(i), piece[i], after(i));
    }
    inner
}

fn mean(left: f64, here: f64, right: f64) -> f64 {
    0.25 * left + 0.5 * here + 0.25 * right
}
