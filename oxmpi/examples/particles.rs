//! Structs in messages: particles move, and those that leave a rank's region go to the rank that
//! owns their place.
//!
//! `derive(Plain)` proves that a struct may travel as it lies in memory. Every rank tells every
//! other how many particles will come (alltoall), then all particles move in one call (alltoallv).

use oxmpi::op::Sum;
use oxmpi::{Communicator, Plain};

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Particle {
    position: f64,
    speed: f64,
    number: u64,
}

/// Particles that each rank begins with.
const EACH: u64 = 100;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());

    // The region of rank r is from r to r + 1; the world is closed to a circle.
    let mut particles: Vec<Particle> = (0..EACH)
        .map(|i| Particle {
            position: f64::from(rank) + i as f64 / EACH as f64,
            speed: (i % 7) as f64 - 3.0,
            number: u64::from(rank) * EACH + i,
        })
        .collect();
    for _ in 0..10 {
        for particle in &mut particles {
            particle.position += 0.3 * particle.speed;
            particle.position = particle.position.rem_euclid(f64::from(size));
        }
        particles = migrate(&world, particles)?;
        assert!(particles.iter().all(|p| owner(p, size) == rank as usize));
    }

    // Nobody is lost and nobody is there twice.
    let mut seen = vec![0; (EACH * u64::from(size)) as usize];
    particles.iter().for_each(|p| seen[p.number as usize] += 1);
    world.allreduce_in_place(&mut seen, Sum)?;
    assert!(seen.iter().all(|&count| count == 1));
    if rank == 0 {
        println!(
            "{} particles on {size} ranks, all accounted for",
            seen.len()
        );
    }
    Ok(())
}

fn owner(particle: &Particle, size: u32) -> usize {
    (particle.position as usize).min(size as usize - 1)
}

fn migrate(world: &Communicator<'_>, mut all: Vec<Particle>) -> oxmpi::Result<Vec<Particle>> {
    let size = world.size();
    all.sort_by_key(|particle| owner(particle, size));
    let mut leaving = vec![0_usize; size as usize];
    all.iter().for_each(|p| leaving[owner(p, size)] += 1);

    let mut coming = vec![0_usize; size as usize];
    world.alltoall(&leaving, &mut coming)?;
    let none = Particle {
        position: 0.0,
        speed: 0.0,
        number: 0,
    };
    let mut arrived = vec![none; coming.iter().sum()];
    let (from, to) = (starts(&leaving), starts(&coming));
    world.alltoallv(&all, &leaving, &from, &mut arrived, &coming, &to)?;
    Ok(arrived)
}

/// Where each block begins when they lie one after the other.
fn starts(counts: &[usize]) -> Vec<usize> {
    let sum = |next: &mut usize, count: &usize| {
        let start = *next;
        *next += count;
        Some(start)
    };
    counts.iter().scan(0, sum).collect()
}
