//! One message that four threads fill: each part leaves when its thread is done with it, and the
//! receiver looks at parts that have come while others are on their way.

use oxmpi::thread::Multiple;

const PARTS: usize = 4;
const LENGTH: usize = 40_000;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init_with::<Multiple>()?;
    let world = mpi.world();
    let (from, to) = (0, world.size() - 1);
    if from == to {
        return Ok(());
    }
    let mut data = vec![0u64; LENGTH];
    if world.rank() == from {
        oxmpi::scope(|s| {
            let send = world.prepare_partitioned_send(s, &mut data, PARTS, to, 0)?;
            let mut filling = send.start()?;
            std::thread::scope(|threads| {
                for mut part in filling.parts() {
                    threads.spawn(move || {
                        let number = part.number() as u64;
                        part.fill(number);
                        part.ready()
                    });
                }
            });
            filling.wait().map(drop)
        })?;
    } else if world.rank() == to {
        let mut sum = 0;
        oxmpi::scope(|s| {
            let receive = world.prepare_partitioned_recv(s, &mut data, PARTS, from, 0)?;
            let arriving = receive.start()?;
            let mut left: Vec<usize> = (0..PARTS).collect();
            while let Some(&number) = left.first() {
                match arriving.part(number)? {
                    Some(part) => sum += part.iter().sum::<u64>(),
                    // Not yet: another one may be there.
                    None => left.push(number),
                }
                left.remove(0);
            }
            arriving.wait().map(drop)
        })?;
        assert_eq!(sum, (LENGTH / PARTS) as u64 * 6);
    }
    Ok(())
}
