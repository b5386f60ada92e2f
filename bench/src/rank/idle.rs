//! What happens while a rank does something else: transfers that go on while it computes, and CPU
//! that it uses while it has nothing to do.

use std::time::{Duration, Instant};

use oxmpi::{Communicator, Result};

const DATA: i32 = 1;

/// Share (%) of a transfer to rank 1 that was over when its computing ended, the wait that was left
/// (µs), and the transfer alone (µs). Rank 0 reports what rank 1 found.
pub fn overlap_receive(
    world: &Communicator<'_>,
    bytes: usize,
    compute: Duration,
) -> Result<Vec<f64>> {
    let mut buffer = vec![1u8; bytes];
    let alone = transfer_alone(world, &mut buffer)?;
    world.barrier()?;
    if world.rank() == 0 {
        world.send(&buffer, 1, DATA)?;
        return reported(world);
    }
    let left = oxmpi::scope(|scope| {
        let receive = world.irecv(scope, &mut buffer, 0, DATA)?;
        work(compute);
        let start = Instant::now();
        receive.wait()?;
        Ok(start.elapsed())
    })?;
    report(world, left, alone)
}

/// The same for a send that rank 1 starts before it computes, with rank 0 waiting to receive.
pub fn overlap_send(world: &Communicator<'_>, bytes: usize, compute: Duration) -> Result<Vec<f64>> {
    let mut buffer = vec![1u8; bytes];
    let alone = transfer_alone(world, &mut buffer)?;
    world.barrier()?;
    if world.rank() == 0 {
        world.recv(&mut buffer, 1, DATA)?;
        return reported(world);
    }
    let left = oxmpi::scope(|scope| {
        let send = world.isend(scope, &buffer, 0, DATA)?;
        work(compute);
        let start = Instant::now();
        send.wait()?;
        Ok(start.elapsed())
    })?;
    report(world, left, alone)
}

/// How long the transfer takes when nobody computes, seen from rank 1; the second of two, because
/// the first one touches pages for the first time.
fn transfer_alone(world: &Communicator<'_>, buffer: &mut [u8]) -> Result<Duration> {
    let mut alone = Duration::ZERO;
    for _ in 0..2 {
        world.barrier()?;
        let start = Instant::now();
        if world.rank() == 0 {
            world.send(buffer, 1, DATA)?;
        } else {
            world.recv(buffer, 0, DATA)?;
        }
        alone = start.elapsed();
    }
    Ok(alone)
}

fn report(world: &Communicator<'_>, left: Duration, alone: Duration) -> Result<Vec<f64>> {
    let (left, alone) = (
        left.as_nanos() as f64 / 1000.0,
        alone.as_nanos() as f64 / 1000.0,
    );
    let share = 100.0 * (1.0 - left / alone).max(0.0);
    world.send(&[share, left, alone], 0, DATA)?;
    Ok(Vec::new())
}

fn reported(world: &Communicator<'_>) -> Result<Vec<f64>> {
    let mut found = [0.0f64; 3];
    world.recv(&mut found, 1, DATA)?;
    Ok(found.to_vec())
}

/// Arithmetic that a compiler cannot remove and that calls nothing.
fn work(time: Duration) {
    let start = Instant::now();
    let mut value = 1.0f64;
    while start.elapsed() < time {
        for _ in 0..10_000 {
            value = std::hint::black_box(value * 1.000_000_1 + 1e-9);
        }
    }
}

/// CPU used by rank 1, %, while it is blocked in a receive from rank 0, which stays away.
pub fn blocked(world: &Communicator<'_>, away: Duration) -> Result<Vec<f64>> {
    world.barrier()?;
    if world.rank() == 0 {
        std::thread::sleep(away);
        world.send(&[1u8], 1, DATA)?;
        let mut used = [0.0f64];
        world.recv(&mut used, 1, DATA)?;
        return Ok(used.to_vec());
    }
    let (before, start) = (cpu_time(), Instant::now());
    world.recv(&mut [0u8], 0, DATA)?;
    let share = 100.0 * (cpu_time() - before).as_secs_f64() / start.elapsed().as_secs_f64();
    world.send(&[share], 0, DATA)?;
    Ok(Vec::new())
}

/// User and system time of all threads of this process.
pub fn cpu_time() -> Duration {
    // SAFETY: the kernel fills the structure it is given; all-zero bytes are a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000))
        .sum()
}
