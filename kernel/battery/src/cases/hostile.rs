//! A process that writes nonsense into the memory it shares with the kernel harms itself only.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::case;
use crate::ground::{Ground, Receive, put};
use crate::packet::{data, eager, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, scribble};

pub const CASES: &[Case] = &[case("hostile-memory", memory), case("hostile-tail", tail)];

const MAP_BYTES: usize = 4096 + 4096 + (64 << 10);

/// Flags, records and positions are overwritten while messages arrive and requests are made.
fn memory(random: &mut Random) -> Outcome {
    let mut ground = Ground::with(2, 64, 64 << 10)?;
    let both = libc::PROT_READ | libc::PROT_WRITE;
    let shared = Buffer::of_device(ground.device.as_fd(), MAP_BYTES, both)?;
    let buffer = Buffer::new(20_000);
    for peer in &ground.peers {
        peer.set_nonblocking(true)?;
    }
    let start = Instant::now();
    let mut generation = 0;
    while start.elapsed() < Duration::from_secs(2) {
        scribble(&shared, random, 50);
        generation += 1;
        let slot = random.below(64) as u32;
        let receive = Receive {
            generation,
            ..Receive::new(slot, None, None, buffer)
        };
        // Any answer is right; the kernel has to live.
        let _ = put(&ground.device, &receive, random.below(1 << 18));
        let rank = random.below(2) as u32;
        let bytes = match random.below(3) {
            0 => request(rank, 1, 20_000, 1),
            1 => data(receive.cookie(), 0, 20_000, &pattern(1, 0, 2000)),
            _ => eager(rank, 1, &pattern(1, 0, random.below(20_000) as usize)),
        };
        let _ = ground.send(rank, &bytes);
        let _ = ground.device.cancel_entry(receive.cookie());
        let _ = ground.device.free_entry(random.below(1 << 20));
        let _ = ground.device.wait(Some(Duration::ZERO));
    }
    drop(ground);
    // Another context is as good as new.
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"still there"))?;
    equal(
        "payload",
        ground.next_packet()?.payload,
        b"still there".to_vec(),
    )
}

/// A tail that lies is not believed beyond the head: what has not been read is not overwritten by accident of the kernel's own.
fn tail(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 4096, 64 << 10)?;
    let both = libc::PROT_READ | libc::PROT_WRITE;
    let control = Buffer::of_device(ground.device.as_fd(), 4096, both)?;
    for lie in [u64::MAX, 1 << 40, 33, 65_536 * 3] {
        control.write_word(128, lie);
        ground.send(0, &eager(0, 1, &[1; 500]))?;
        // Whatever the kernel believes, the head stays where records are.
        ground.device.wait(Some(Duration::from_millis(20)))?;
        let head = control.read_word(0);
        if head % 32 != 0 || head > 1 << 20 {
            return fail(format!("the head is {head} after a tail of {lie}"));
        }
    }
    Ok(())
}
