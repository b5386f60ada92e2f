//! /dev/oxk-stream against programs that keep to nothing: any request with any argument, memory
//! that is taken away or changes while it is sent, processes that are killed at any moment.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::case;
use crate::ground::PATIENCE;
use crate::packet::pattern;
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::stream_device::{
    ACCEPT, CONNECT, COUNTS, LISTEN, NAME, PATH, SHUTDOWN, accept, address, connect, key, listen,
    open, pair, place,
};
use crate::sys::{self, Buffer, Child, scribble};

pub const CASES: &[Case] = &[
    case("streams-hostile-user", user),
    case("streams-memory-flipped", flipped),
    case("streams-of-a-user", of_a_user),
];

const BYTES: usize = 300 << 10;
/// What a user may have (`kernel/oxk/stream/user.c`).
const LISTENERS: usize = 16;
const STREAMS: usize = 256;

/// Memory of a hostile program: its own, somebody else's, none.
fn some_memory(random: &mut Random, own: &Buffer) -> Buffer {
    let from = random.below(BYTES as u64) as usize;
    let most = (BYTES - from) as u64;
    match random.below(8) {
        0 => Buffer::wild(random.next(), random.next()),
        1 => Buffer::wild(0xffff_8880_0000_0000, 1 << random.below(24)),
        2 => Buffer::wild(own.address() + from as u64, u64::MAX >> random.below(40)),
        3 => Buffer::wild(8, 100),
        _ => own.part(from, random.below(most + 1) as usize),
    }
}

/// One request, read or write.
fn one_call(random: &mut Random, files: &mut Vec<File>, own: &Buffer, key: i32) {
    let at = random.below(files.len() as u64) as usize;
    let fd = files[at].as_raw_fd();
    let memory = some_memory(random, own);
    match random.below(14) {
        0..4 => drop(sys::read_to(files[at].as_fd(), memory)),
        4..8 => drop(sys::write_from(files[at].as_fd(), memory)),
        8 => {
            let requests = [LISTEN, CONNECT, SHUTDOWN, COUNTS, random.next() as u32];
            let request = requests[random.below(5) as usize];
            let _ = sys::ioctl(fd, request, memory.address());
        }
        9 => {
            let mut what = address(key, random.below(40) as u32, place());
            what.bytes = random.below(40) as u32;
            what.address[random.below(28) as usize] = random.next() as u8;
            let _ = sys::ioctl_with(
                fd,
                if random.one_in(2) { LISTEN } else { CONNECT },
                &mut what,
            );
        }
        10 => {
            if let Ok(fd) = sys::ioctl(fd, ACCEPT, random.below(2) * libc::O_NONBLOCK as u64) {
                files.push(sys::adopt(fd as i32));
            }
        }
        11 => files.extend(open()),
        12 => drop(sys::is_readable(files[at].as_fd())),
        // Those of the parent stay open there.
        _ => drop(files.swap_remove(at)),
    }
    if files.is_empty() || files.len() > 20 {
        files.clear();
        files.extend(open());
    }
}

/// What a child does until it is killed: calls of all kinds, some of which wait, while a thread
/// takes its memory away.
fn misbehave(random: &mut Random, mut files: Vec<File>, waits: bool) -> Outcome {
    // A child has no keys of its own.
    let key = key(NAME)?;
    let own = Buffer::new(BYTES);
    for file in files.iter().filter(|_| !waits) {
        sys::set_nonblocking(file.as_fd())?;
    }
    let mut flipping = Random::new(random.next());
    std::thread::spawn(move || {
        loop {
            let _ = match flipping.below(3) {
                0 => own.map_anew(),
                1 => own.drop_pages(),
                _ => own.protect().and_then(|()| own.map_anew()),
            };
        }
    });
    loop {
        one_call(random, &mut files, &own, key);
    }
}

/// Children that misbehave are killed and replaced; afterwards all is well.
fn user(random: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let ends = (connect(key, place)?, accept(&listener, 0)?);
    let begin = |random: &mut Random| {
        let mut random = Random::new(random.next());
        let files = [&listener, &ends.0, &ends.1].map(File::try_clone);
        Child::fork(move || {
            let files = files.into_iter().flatten().collect();
            let waits = random.one_in(2);
            i32::from(misbehave(&mut random, files, waits).is_err())
        })
    };
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(begin(random)?);
    }
    let start = Instant::now();
    let mut killed = 0;
    while start.elapsed() < Duration::from_secs(6) {
        std::thread::sleep(Duration::from_millis(random.below(200)));
        let at = random.below(3) as usize;
        let old = std::mem::replace(&mut children[at], begin(random)?);
        end(&old)?;
        killed += 1;
    }
    for child in &children {
        end(child)?;
    }
    println!("count hostile_users={killed}");
    drop((listener, ends));
    let (mut one, mut two) = pair()?;
    one.write_all(b"well")?;
    let mut found = [0; 4];
    two.read_exact(&mut found)?;
    equal("afterwards", &found, b"well")
}

/// Kills one; it ends although it may be waiting for a peer.
fn end(child: &Child) -> Outcome {
    child.kill(libc::SIGKILL);
    match child.wait(PATIENCE)? {
        Some(_) => Ok(()),
        None => fail(format!(
            "a child that was killed is there {PATIENCE:?} later"
        )),
    }
}

/// A user who may open the device has so many listeners and streams, and no more; what was closed
/// counts no longer.
fn of_a_user(_: &mut Random) -> Outcome {
    open()?;
    fs::set_permissions(PATH, fs::Permissions::from_mode(0o666))?;
    sys::become_nobody()?;
    let key = key(NAME)?;
    let enough = |begun: Result<i64, i32>| match begun {
        Ok(_) => Ok(false),
        Err(libc::EDQUOT) => Ok(true),
        Err(errno) => fail(format!("errno {errno} in place of EDQUOT")),
    };
    for _ in 0..2 {
        let mut listeners = Vec::new();
        loop {
            let (listener, place) = (open()?, place());
            let begun = sys::ioctl_with(listener.as_raw_fd(), LISTEN, &mut address(key, 32, place));
            if enough(begun)? {
                break;
            }
            listeners.push((listener, place));
        }
        equal("listeners", listeners.len(), LISTENERS)?;
        // Each counts twice, at both ends, and 32 wait at a listener.
        let mut streams = Vec::new();
        let mut refused = None;
        for at in 0..=STREAMS / 2 {
            let stream = open()?;
            let mut to = address(key, 0, listeners[at / 30].1);
            match sys::ioctl_with(stream.as_raw_fd(), CONNECT, &mut to) {
                Ok(_) => streams.push(stream),
                Err(errno) => {
                    refused = Some(errno);
                    break;
                }
            }
        }
        equal("streams", streams.len(), STREAMS / 2)?;
        equal("one more", refused, Some(libc::EDQUOT))?;
    }
    Ok(())
}

/// Memory that changes while it is sent or received: whatever arrives, as many bytes arrive, and
/// nothing beside the memory of the receiver is written.
fn flipped(random: &mut Random) -> Outcome {
    const ROUNDS: usize = 40;
    let (one, two) = pair()?;
    let memory = Buffer::new(BYTES);
    let over = AtomicBool::new(false);
    let mut flips = Random::new(random.next());
    std::thread::scope(|scope| -> Outcome {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                scribble(&memory, &mut flips, 20);
            }
        });
        let writer = scope.spawn(|| -> Outcome<usize> {
            let mut sent = 0;
            for round in 0..ROUNDS {
                let part = memory.part(round * 100, 100_000);
                match sys::write_from(one.as_fd(), part) {
                    Ok(n) => sent += n as usize,
                    Err(errno) => return fail(format!("write: errno {errno}")),
                }
            }
            Ok(sent)
        });
        // Words of the receiver are flipped, too, but not what lies around them.
        let around = Buffer::new(3 * 4096 + 50_000);
        let into = around.part(4096 + 8, 50_000);
        let mut received = 0;
        let outcome = loop {
            if received == ROUNDS * 100_000 {
                break Ok(());
            }
            scribble(&around.part(8192, 16_384), random, 5);
            match sys::read_to(two.as_fd(), into) {
                Ok(1..) if received > ROUNDS * 100_000 => break fail("more than was sent"),
                Ok(n @ 1..) => received += n as usize,
                other => break fail(format!("read: {other:?} after {received} bytes")),
            }
        };
        let sent = writer.join().expect("no panic");
        over.store(true, Ordering::Release);
        outcome?;
        equal("sent", sent?, received)?;
        equal("before it", around.part(0, 4096 + 8).is_untouched(), true)?;
        let behind = 4096 + 8 + 50_000;
        let behind = around.part(behind, around.bytes() - behind);
        equal("behind it", behind.is_untouched(), true)
    })?;
    // What is not flipped any more arrives as it is.
    let bytes = pattern(3, 0, 200_000);
    let mut found = vec![0; bytes.len()];
    std::thread::scope(|scope| -> Outcome {
        let writer = scope.spawn(|| (&one).write_all(&bytes));
        (&two).read_exact(&mut found)?;
        writer.join().expect("no panic")?;
        equal("bytes", found == bytes, true)
    })
}
