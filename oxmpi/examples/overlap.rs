//! Requests: receives from all ranks at once, handled in the order in which the messages come.

use oxmpi::Request;

const LENGTH: usize = 5000;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let outgoing = vec![u64::from(rank); LENGTH];
    let mut incoming = vec![vec![0; LENGTH]; size as usize];
    let order = oxmpi::scope(|s| {
        let mut receives: Vec<Request<'_>> = Vec::new();
        for (source, buffer) in incoming.iter_mut().enumerate() {
            receives.push(world.irecv(s, buffer, source as u32, 0)?);
        }
        let mut sends = Vec::new();
        for dest in 0..size {
            sends.push(world.isend(s, &outgoing, dest, 0)?);
        }
        let mut order = Vec::new();
        // Whichever message is there next; the request is taken out of the list.
        while let Some((_, status)) = oxmpi::wait_any(&mut receives) {
            order.push(status?.source);
        }
        oxmpi::wait_all(sends)?;
        Ok(order)
    })?;

    for (source, data) in incoming.iter().enumerate() {
        assert!(data.iter().all(|&value| value == source as u64));
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..size));
    println!("rank {rank} has heard from {order:?}, in this order");
    Ok(())
}
