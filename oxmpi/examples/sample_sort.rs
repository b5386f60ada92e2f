//! A sort across ranks: samples choose the borders, everything moves once, each rank sorts its
//! share.

use oxmpi::Communicator;
use oxmpi::op::Sum;

/// Numbers of each rank.
const EACH: usize = 10_000;
/// Samples that each rank contributes for each rank.
const SAMPLES: usize = 16;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let mut numbers = random(u64::from(world.rank()));
    let before = total(&world, &numbers)?;
    numbers.sort_unstable();
    let borders = borders(&world, &numbers)?;
    let mut mine = exchange(&world, &numbers, &borders)?;
    mine.sort_unstable();

    // Nothing is lost, and no rank has a number that is larger than one of the next rank.
    assert_eq!(total(&world, &mine)?, before);
    let ends = [
        mine.first().copied().unwrap_or(u64::MAX),
        mine.last().copied().unwrap_or(0),
    ];
    let mut all = vec![[0; 2]; world.size() as usize];
    world.allgather(&[ends], &mut all)?;
    assert!(all.windows(2).all(|pair| pair[0][1] <= pair[1][0]));
    if world.rank() == 0 {
        println!("{} numbers sorted on {} ranks", before.0, world.size());
    }
    Ok(())
}

/// The borders between the ranks' shares, the same on every rank.
fn borders(world: &Communicator<'_>, sorted: &[u64]) -> oxmpi::Result<Vec<u64>> {
    let size = world.size() as usize;
    let count = SAMPLES * size;
    let samples: Vec<u64> = (0..count)
        .map(|i| sorted[i * sorted.len() / count])
        .collect();
    let mut all = vec![0; count * size];
    world.allgather(&samples, &mut all)?;
    all.sort_unstable();
    Ok((1..size).map(|rank| all[rank * all.len() / size]).collect())
}

/// Sends every number to the rank whose share it belongs to.
fn exchange(world: &Communicator<'_>, sorted: &[u64], borders: &[u64]) -> oxmpi::Result<Vec<u64>> {
    let mut cuts = vec![0];
    cuts.extend(
        borders
            .iter()
            .map(|border| sorted.partition_point(|number| number < border)),
    );
    let ends = cuts.iter().skip(1).copied().chain([sorted.len()]);
    let leaving: Vec<usize> = cuts
        .iter()
        .zip(ends)
        .map(|(start, end)| end - start)
        .collect();
    let mut coming = vec![0; leaving.len()];
    world.alltoall(&leaving, &mut coming)?;
    let mut places = vec![0; coming.len()];
    for rank in 1..coming.len() {
        places[rank] = places[rank - 1] + coming[rank - 1];
    }
    let mut mine = vec![0; coming.iter().sum()];
    world.alltoallv(sorted, &leaving, &cuts, &mut mine, &coming, &places)?;
    Ok(mine)
}

/// How many numbers all ranks have, and their sum.
fn total(world: &Communicator<'_>, numbers: &[u64]) -> oxmpi::Result<(u64, u64)> {
    let sum = numbers
        .iter()
        .fold(0_u64, |sum, &number| sum.wrapping_add(number));
    let mut total = [numbers.len() as u64, sum];
    world.allreduce_in_place(&mut total, Sum)?;
    Ok((total[0], total[1]))
}

fn random(seed: u64) -> Vec<u64> {
    let mut state = seed + 0x9e37_79b9_7f4a_7c15;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..EACH).map(next).collect()
}
