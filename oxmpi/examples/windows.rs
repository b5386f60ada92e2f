//! A table of counts that is spread over all ranks. Everybody counts in everybody's part, without
//! any help of that rank.

use oxmpi::op::Sum;
use oxmpi::view::Shape;
use oxmpi::window::LockKind;

/// Numbers that each rank counts, and classes that each rank holds the counts of.
const NUMBERS: u64 = 1000;
const CLASSES: u64 = 8;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    // Zero at first, on every rank.
    let counts = world.window::<u64>(CLASSES as usize)?;

    // Everybody adds at the same time: additions are atomic, so the locks may be shared.
    counts.lock_all(|epoch| {
        for number in 0..NUMBERS {
            let class = (number * number + u64::from(rank)) % (CLASSES * u64::from(size));
            let (owner, place) = (class / CLASSES, class % CLASSES);
            epoch.accumulate(&[1], owner as u32, place as usize, Sum)?;
        }
        Ok(())
    })?;
    world.barrier()?;

    // A look at the neighbour's part, alone.
    let next = counts.lock((rank + 1) % size)?;
    let mut theirs = [0; CLASSES as usize];
    next.get(&mut theirs, 0)?;
    next.unlock()?;

    // One's own memory is a slice while it is locked.
    let mut own = counts.lock(rank)?;
    let mine: u64 = own.as_mut_slice()?.iter().sum();
    own.unlock()?;
    let mut total = [0];
    world.allreduce(&[mine], &mut total, Sum)?;
    assert_eq!(total[0], NUMBERS * u64::from(size));

    // Transfers with a request are futures; the buffer is borrowed until the epoch ends.
    let mut again = [0; CLASSES as usize];
    let neighbour = (rank + 1) % size;
    counts.locked(LockKind::Shared, neighbour, |epoch| {
        let transfer = epoch.rget(&mut again, neighbour, 0)?;
        futures_lite::future::block_on(transfer)
    })?;
    assert_eq!(again, theirs);

    // Between two fences every rank may write to every other.
    let edge = [u64::from(rank)];
    counts.fence(|epoch| epoch.put(&edge, neighbour, 0))?;

    // Elements with gaps, here and there: a shape laid on a slice, and on the other's memory.
    let every_second = Shape::strided(CLASSES as usize / 2, 1, 2)?;
    let evens = every_second.of(&theirs)?;
    counts.fence(|epoch| epoch.put(&evens, neighbour, every_second.at(1)))?;
    counts.free()?;

    // Memory can be attached to a dynamic window, and taken back, at any time. Only its rank knows
    // where it is, and tells the others.
    let lists = world.dynamic_window::<u64>()?;
    let own = lists.attach(vec![0; size as usize])?;
    let mut place = own;
    world.bcast(&mut place, 0)?;
    let first = lists.lock_shared(0)?;
    first.put(&u64::from(rank), place.at(rank as usize))?;
    first.unlock()?;
    world.barrier()?;
    let list = lists.detach(own)?;
    if rank == 0 {
        assert_eq!(list, (0..u64::from(size)).collect::<Vec<_>>());
    }
    lists.free()
}
