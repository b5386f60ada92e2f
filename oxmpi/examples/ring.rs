//! A ring: what each rank has travels past all the others, one neighbour at a time.
//!
//! The pattern behind many algorithms in which every rank must see all data and none has room for
//! it at once.

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let left = (rank + size - 1) % size;

    let mine = vec![f64::from(rank); 1000];
    let mut sum = mine.clone();
    let mut visiting = mine.clone();
    let mut next = vec![0.0; 1000];
    for _ in 1..size {
        // Both directions in one call: no order of sends and receives can block the ring.
        world.send_recv(&visiting, right, 0, &mut next, left, 0)?;
        for (sum, next) in sum.iter_mut().zip(&next) {
            *sum += next;
        }
        std::mem::swap(&mut visiting, &mut next);
    }

    let expected: f64 = (0..size).map(f64::from).sum();
    assert!(sum.iter().all(|&sum| sum == expected));
    if rank == 0 {
        println!("every rank has seen the data of {size} ranks");
    }
    Ok(())
}
