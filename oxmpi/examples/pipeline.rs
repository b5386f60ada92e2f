//! Messages that are prepared once: rank after rank smooths a signal, block by block, and passes it
//! on. The last one checks that nothing was lost.

use oxmpi::PROC_NULL;

const BLOCK: usize = 1000;
const BLOCKS: u32 = 20;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, last) = (world.rank(), world.size() - 1);
    let before = rank.checked_sub(1);
    let next = if rank < last {
        Some(rank + 1)
    } else {
        PROC_NULL
    };
    let (mut taken, mut passed) = ([0.0; BLOCK], [0.0; BLOCK]);
    let mut sum = 0.0;
    oxmpi::scope(|s| {
        // Checked once, started for every block. To and from nobody they do nothing.
        let mut receive = world.prepare_recv(s, &mut taken, before, 0)?;
        let mut send = world.prepare_send(s, &mut passed, next, 0)?;
        for block in 0..BLOCKS {
            receive = receive.start()?.wait()?;
            if before.is_none() {
                receive.output_mut().fill(f64::from(block));
            }
            send.input_mut().copy_from_slice(receive.output());
            sum += send.input().iter().sum::<f64>();
            send = send.start()?.wait()?;
        }
        Ok(())
    })?;
    assert_eq!(sum, f64::from(BLOCKS * (BLOCKS - 1) / 2) * BLOCK as f64);
    Ok(())
}
