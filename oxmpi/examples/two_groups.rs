//! Two groups of ranks that talk to each other: rank 0 serves, all others ask.

use oxmpi::collective::Root;
use oxmpi::{ANY_SOURCE, ANY_TAG};

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    if world.size() == 1 {
        return Ok(());
    }
    let serves = world.rank() == 0;
    let side = world.split(Some(u32::from(serves)), 0)?.expect("a colour");
    // The first ranks of both groups know each other in the world: 0 and 1.
    let beyond = (side.rank() == 0).then_some((&world, u32::from(serves)));
    let both = side.intercommunicator(0, beyond, 0)?;
    // Ranks are those of the other group.
    if serves {
        for _ in 0..both.remote_size() {
            let (question, status) = both.recv_one::<u64>(ANY_SOURCE, ANY_TAG)?;
            both.send(&(question * question), status.source, status.tag)?;
        }
    } else {
        let question = u64::from(side.rank()) + 5;
        both.send(&question, 0, 1)?;
        let (answer, _) = both.recv_one::<u64>(0, 1)?;
        assert_eq!(answer, question * question);
    }
    // Collectives go from one group to the other.
    let mut goodbye = if serves { 7 } else { 0 };
    let root = if serves { Root::This } else { Root::Rank(0) };
    both.bcast(&mut goodbye, root)?;
    assert_eq!(goodbye, 7);
    // One group again, the server behind.
    let together = both.merge(serves)?;
    assert_eq!(together.size(), world.size());
    Ok(())
}
