//! Memory that stays pinned between receives: it serves the next one, and never in the place of
//! memory that the process has got meanwhile.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use o2g::{Put, PutError};
use oxmpi_wire::o2g::DONE;

use super::case;
use crate::ground::{Ground, PATIENCE, Receive};
use crate::packet::{eager, pattern};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, Child, Ended, become_limited, become_nobody};

pub const CASES: &[Case] = &[
    case("pins-are-reused", reused),
    case("pins-and-a-new-mapping", new_mapping),
    case("pins-and-a-fork", forked),
    case("pins-and-moved-memory", moved),
    case("pins-and-dropped-pages", dropped),
    case("pins-and-a-shorter-file", shorter_file),
    case("pins-and-protected-memory", protected),
    case("pins-are-let-go", let_go),
    case("pins-are-bounded", bounded),
    case("pins-within-the-limit", within_limit),
    Case {
        name: "pins-and-flipped-mappings",
        time_s: 120,
        run: flipped,
    },
];

const BYTES: usize = 64 << 10;

/// Receives one message into a buffer, and looks whether it is there.
fn receive(ground: &mut Ground, buffer: Buffer, number: u64) -> Outcome {
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    let payload = pattern(number, 0, buffer.bytes());
    ground.send(0, &eager(0, 1, &payload))?;
    equal("error", ground.wait_done(&receive)?.error, 0)?;
    equal(
        "placed",
        ground.next_packet()?.placed,
        buffer.bytes() as u64,
    )?;
    equal("bytes", buffer.copy() == payload, true)
}

fn pins(ground: &Ground) -> Outcome<(u64, u64)> {
    let counters = ground.device.counters()?;
    Ok((counters.pins, counters.pins_reused))
}

/// Waits until this context keeps no page pinned.
fn wait_for_none(ground: &Ground) -> Outcome {
    let start = Instant::now();
    loop {
        let counters = ground.device.counters()?;
        if (counters.pages_kept, counters.pages_pinned_all) == (0, 0) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return fail(format!("pages are still pinned: {counters:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Memory that is received into again is pinned once, parts of it included.
fn reused(random: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(BYTES);
    for round in 0..50 {
        receive(&mut ground, buffer, round)?;
    }
    equal("pins, reused", pins(&ground)?, (1, 49))?;
    for round in 0..50 {
        let from = random.below(BYTES as u64) as usize;
        let bytes = 1 + random.below((BYTES - from) as u64) as usize;
        receive(&mut ground, buffer.part(from, bytes), round)?;
    }
    equal("pins, parts of it reused", pins(&ground)?, (1, 99))?;
    let counters = ground.device.counters()?;
    let pages = BYTES as u64 / 4096;
    let found = (counters.pages_pinned, counters.pages_kept);
    equal("pages pinned and kept", found, (0, pages))?;
    println!("count pins_for_100_receives={}", counters.pins);
    // A receive that is taken back gives it back, too.
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    let counters = ground.device.counters()?;
    let found = (counters.pages_pinned, counters.pages_kept);
    equal("pages of the entry", found, (pages, 0))?;
    ground.device.cancel_entry(receive.cookie())?;
    let counters = ground.device.counters()?;
    let found = (counters.pages_pinned, counters.pages_kept);
    equal("pages after it", found, (0, pages))
}

/// Other memory at the same address is not that of before.
fn new_mapping(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(BYTES);
    for round in 0..40 {
        receive(&mut ground, buffer, round)?;
        match round % 4 {
            // Gone and mapped anew, or mapped over, in whole or in part.
            0 => {
                buffer.unmap();
                buffer.map_anew()?;
            }
            1 => buffer.map_anew()?,
            2 => buffer.part(8192, 4096).map_anew()?,
            _ => buffer.part(BYTES - 4096, 4096).map_anew()?,
        }
    }
    equal("pins, reused", pins(&ground)?, (40, 0))
}

/// A child has the memory as it was, and the parent goes on with pages of its own.
fn forked(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(BYTES);
    for round in 0..5 {
        receive(&mut ground, buffer, round)?;
        let (mut told, tell) = std::io::pipe()?;
        let child = Child::fork(|| {
            let mut byte = [0];
            let woken = std::io::Read::read_exact(&mut told, &mut byte).is_ok();
            i32::from(!woken || buffer.copy() != pattern(round, 0, BYTES))
        })?;
        if round % 2 == 0 {
            buffer.touch();
        }
        receive(&mut ground, buffer, round + 100)?;
        buffer.touch();
        receive(&mut ground, buffer, round + 200)?;
        std::io::Write::write_all(&mut (&tell), &[1])?;
        equal("the child", child.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    }
    Ok(())
}

/// Memory that moved is where it is now, and what comes to its old place is something else.
fn moved(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let mut buffer = Buffer::new(BYTES);
    for round in 0..20 {
        receive(&mut ground, buffer, round)?;
        let old = buffer;
        buffer = buffer.moved()?;
        old.map_anew()?;
        receive(&mut ground, old, round + 100)?;
        let intact = buffer.copy() == pattern(round, 0, BYTES);
        equal("what moved", intact, true)?;
        receive(&mut ground, buffer, round + 200)?;
        let intact = old.copy() == pattern(round + 100, 0, BYTES);
        equal("what is there instead", intact, true)?;
        old.unmap();
    }
    Ok(())
}

/// Pages that were given back come again as others.
fn dropped(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(BYTES);
    for round in 0..20 {
        receive(&mut ground, buffer, round)?;
        match round % 2 {
            0 => buffer.drop_pages()?,
            _ => buffer.part(12_288, 4096).drop_pages()?,
        }
        let zeroes = buffer.part(12_288, 4096).copy() == vec![0; 4096];
        equal("zeroes", zeroes, true)?;
    }
    Ok(())
}

/// Pages of a file in memory that was cut and is long again.
fn shorter_file(_: &mut Random) -> Outcome {
    std::fs::create_dir_all("/dev/shm")?;
    let path = "/dev/shm/o2g-battery-pins";
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(path)?;
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::of_file(&file, BYTES)?;
    for round in 0..10 {
        receive(&mut ground, buffer, round)?;
        let found = std::fs::read(path)?;
        equal("the file", found == pattern(round, 0, BYTES), true)?;
        file.set_len(0)?;
        file.set_len(BYTES as u64)?;
        equal("zeroes", buffer.copy() == vec![0; BYTES], true)?;
    }
    Ok(std::fs::remove_file(path)?)
}

/// What can only be read now is refused, however it was pinned before.
fn protected(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(BYTES);
    receive(&mut ground, buffer, 1)?;
    buffer.part(4096, 4096).protect()?;
    match ground.put(&Receive::new(0, Some(0), Some(1), buffer)) {
        Err(PutError::Memory { .. }) => {}
        other => return fail(format!("EFAULT was expected: {other:?}")),
    }
    equal("bytes", buffer.copy() == pattern(1, 0, BYTES), true)
}

/// Memory that the process gives back is soon nobody's.
fn let_go(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffers: Vec<_> = (0..20).map(|_| Buffer::new(BYTES)).collect();
    for buffer in &buffers {
        receive(&mut ground, *buffer, 1)?;
    }
    let kept = ground.device.counters()?.pages_kept;
    equal("pages kept", kept, 20 * BYTES as u64 / 4096)?;
    for buffer in buffers {
        buffer.unmap();
    }
    wait_for_none(&ground)
}

/// What was used least recently makes room.
fn bounded(_: &mut Random) -> Outcome {
    const REGIONS: usize = 1100;
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(REGIONS * 8192);
    let page = |number: usize| memory.part(number * 8192, 100);
    for number in 0..REGIONS {
        receive(&mut ground, page(number), number as u64)?;
    }
    let counters = ground.device.counters()?;
    println!("count pages_kept={}", counters.pages_kept);
    equal("pages kept", counters.pages_kept, 1024)?;
    equal("pages pinned", counters.pages_pinned_all, 1024)?;
    let (before, _) = pins(&ground)?;
    receive(&mut ground, page(REGIONS - 1), 1)?;
    receive(&mut ground, page(REGIONS - 1024), 1)?;
    equal("the last ones are here", pins(&ground)?.0, before)?;
    receive(&mut ground, page(0), 1)?;
    equal("the first is not", pins(&ground)?.0, before + 1)
}

/// A process that may lock little keeps half of that, and gives it up for what it needs.
fn within_limit(_: &mut Random) -> Outcome {
    const LIMIT: usize = 64 * 4096;
    let mut ground = Ground::new(1)?;
    become_limited(LIMIT as u64)?;
    let buffers: Vec<_> = (0..16).map(|_| Buffer::new(8 * 4096)).collect();
    for buffer in &buffers {
        receive(&mut ground, *buffer, 1)?;
        let kept = ground.device.counters()?.pages_kept;
        equal("half of the limit is kept", kept <= 32, true)?;
    }
    // All of it at once, and the next cannot be pinned.
    let all = Receive::new(1, Some(0), Some(2), Buffer::new(LIMIT));
    ground.post(&all)?;
    let counters = ground.device.counters()?;
    let found = (counters.pages_pinned, counters.pages_kept);
    equal("pages pinned and kept", found, (64, 0))?;
    receive(&mut ground, buffers[0], 2)?;
    let counters = ground.device.counters()?;
    equal("pages pinned", counters.pages_pinned, 64)?;
    equal("copied by a thread", counters.placed_bytes_thread > 0, true)?;
    ground.device.cancel_entry(all.cookie())?;
    become_nobody()?;
    receive(&mut ground, buffers[0], 3)?;
    equal("nothing is kept", ground.device.counters()?.pages_kept, 0)
}

/// The process changes its mappings while messages arrive in them: what arrives is lost or there,
/// memory beside it is not touched, and everything is let go.
fn flipped(random: &mut Random) -> Outcome {
    const ROUNDS: u64 = 300;
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(3 * BYTES);
    let (before, buffer) = (memory.part(0, BYTES), memory.part(BYTES, BYTES));
    let after = memory.part(2 * BYTES, BYTES);
    let over = AtomicBool::new(false);
    let mut flips = Random::new(random.next());
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                flip(buffer, &mut flips);
                // So that some receives find memory that stays for a moment.
                std::thread::sleep(Duration::from_micros(flips.below(2000)));
            }
        });
        let outcome = receive_while_flipped(&mut ground, buffer, random, ROUNDS);
        over.store(true, Ordering::Relaxed);
        outcome
    });
    let (refused, done) = outcome?;
    println!("count receives_refused_while_flipping={refused} done={done}");
    equal("memory before", before.is_untouched(), true)?;
    equal("memory behind", after.is_untouched(), true)?;
    buffer.map_anew()?;
    receive(&mut ground, buffer, 1)?;
    buffer.unmap();
    wait_for_none(&ground)
}

/// How many receives were refused, and how many were done.
fn receive_while_flipped(
    ground: &mut Ground,
    buffer: Buffer,
    random: &mut Random,
    rounds: u64,
) -> Outcome<(u64, u64)> {
    let (mut refused, mut done) = (0, 0);
    for round in 0..rounds {
        let from = random.below(BYTES as u64 / 2) as usize;
        let part = buffer.part(from, BYTES / 2);
        let receive = Receive {
            generation: round as u32 + 1,
            ..Receive::new(0, Some(0), Some(1), part)
        };
        match ground.put(&receive) {
            Ok(Put::Posted) => {}
            Ok(Put::Again) => return fail("EAGAIN although nothing came"),
            // There was a moment without memory.
            Err(PutError::Memory { .. }) => {
                refused += 1;
                continue;
            }
            Err(error) => return fail(error.to_string()),
        }
        ground.send(0, &eager(0, 1, &pattern(round, 0, part.bytes())))?;
        ground.wait_done(&receive)?;
        ground.next_packet()?;
        done += u64::from(ground.device.state(0) == DONE);
    }
    Ok((refused, done))
}

/// One change of the mapping.
fn flip(buffer: Buffer, random: &mut Random) {
    let part = buffer.part(random.below(8) as usize * 4096, 8 * 4096);
    // Whatever cannot be done now can be done the next time.
    let _ = match random.below(5) {
        0 => part.map_anew(),
        1 => part.drop_pages(),
        2 => part.protect().and_then(|()| part.map_anew()),
        3 => {
            part.unmap();
            part.map_anew()
        }
        _ => Child::fork(|| 0)
            .and_then(|child| child.wait(PATIENCE))
            .map(drop),
    };
}
