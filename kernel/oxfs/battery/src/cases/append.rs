//! O_APPEND: nothing is overwritten, nothing is lost, nothing is there twice.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Case, Outcome, equal, good, pattern, same};
use crate::sys::{self, Mapping};
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "append",
        time_s: 60,
        run: append,
    },
    Case {
        name: "append-mapped",
        time_s: 60,
        run: append_mapped,
    },
    Case {
        name: "append-direct-mapped",
        time_s: 120,
        run: append_direct_mapped,
    },
    Case {
        name: "append-two",
        time_s: 240,
        run: append_two,
    },
    Case {
        name: "append-restart",
        time_s: 240,
        run: append_restart,
    },
];

fn append() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let other = world.mount("")?;
    let line = |number: u32| format!("line {number}\n");
    for number in 0..20 {
        let root = if number % 2 == 0 { &root } else { &other };
        let mut options = OpenOptions::new();
        let file = good(
            "open",
            options.append(true).create(true).open(root.join("log")),
        )?;
        good("append", (&file).write_all(line(number).as_bytes()))?;
    }
    let expected: String = (0..20).map(line).collect();
    same(
        "lines of both",
        &good("read", fs::read(root.join("log")))?,
        expected.as_bytes(),
    )?;
    world.unmount_all()
}

/// A page that a mapping has changed, and changes again, does not go over what was appended to it.
fn append_mapped() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = root.join("f");
    good("write", fs::write(&path, [b'a'; 100]))?;
    let file = good(
        "open",
        OpenOptions::new().read(true).write(true).open(&path),
    )?;
    let mut log = good("open", OpenOptions::new().append(true).open(&path))?;
    let mut map = good("mmap", Mapping::new(&file, 4096, true))?;
    let mut expected = vec![b'a'; 100];
    for round in 0..30usize {
        map.set(round, b'0' + round as u8);
        expected[round] = b'0' + round as u8;
        let more = pattern(round as u64, 7 + round);
        good("append", log.write_all(&more))?;
        expected.extend(&more);
        equal("mapped", map.get(expected.len() - 1), more[more.len() - 1])?;
    }
    good("fsync", file.sync_all())?;
    let behind = good("read", fs::read(world.behind("f")))?;
    same("the server's", &behind, &expected)?;
    drop((map, file, log));
    world.unmount_all()
}

/// The same with O_DIRECT and with the mapping itself as what is appended, while at every moment one
/// thread changes the mapping and has it written back, and another asks how long the file is.
fn append_direct_mapped() -> Outcome {
    const HEAD: usize = 100;
    const MAP_BYTES: usize = 16 << 10;
    let (mut world, root) = World::with_mount("")?;
    let path = root.join("f");
    good("write", fs::write(&path, [b'a'; HEAD]))?;
    let file = good(
        "open",
        OpenOptions::new().read(true).write(true).open(&path),
    )?;
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(libc::O_DIRECT);
    let mut log = good("open", options.open(&path))?;
    let map = good("mmap", Mapping::new(&file, MAP_BYTES, true))?;
    let mut expected = vec![b'a'; HEAD];
    let done = AtomicBool::new(false);
    let appended: Outcome = std::thread::scope(|threads| {
        let changer = threads.spawn(|| {
            let mut changes = good("mmap", Mapping::new(&file, MAP_BYTES, true))?;
            let mut byte = 0;
            while !done.load(Ordering::Relaxed) {
                for at in 0..HEAD {
                    changes.set(at, byte);
                }
                byte = byte.wrapping_add(1);
                good("msync", changes.sync())?;
            }
            Ok(())
        });
        let asker = threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                good("stat", file.metadata())?;
            }
            Ok(())
        });
        let appended = (0..120usize).try_for_each(|round| {
            let more = match round % 4 {
                // From the mapping of this very file, of bytes that nobody changes.
                3 => expected[HEAD..expected.len().min(HEAD + 40)].to_vec(),
                _ => pattern(round as u64, 7 + round),
            };
            let wrote = match round % 4 {
                3 => log.write(map.part(HEAD, more.len())),
                _ => log.write(&more),
            };
            equal("one write", good("append", wrote)?, more.len())?;
            expected.extend(&more);
            let end = expected.len();
            same("mapped", map.part(HEAD, end - HEAD), &expected[HEAD..])
        });
        done.store(true, Ordering::Relaxed);
        let changed: Outcome = changer.join().map_err(|_| "a thread panicked")?;
        let asked: Outcome = asker.join().map_err(|_| "a thread panicked")?;
        appended.and(changed).and(asked)
    });
    appended?;
    good("fsync", file.sync_all())?;
    let behind = good("read", fs::read(world.behind("f")))?;
    same("the server's", &behind[HEAD..], &expected[HEAD..])?;
    drop((map, file, log));
    world.unmount_all()
}

/// A record says which writer made it, which of that writer's it is, and how long it is.
fn record(writer: u64, number: u64) -> Vec<u8> {
    let bytes = 1 + (writer * 7919 + number * 1009) % 9_000;
    let head = [writer, number, bytes].map(u64::to_le_bytes).concat();
    [head, pattern(writer << 32 | number, bytes as usize)].concat()
}

/// Appends records, and looks at each where the file's position says that it is.
fn write_records(path: &Path, writer: u64, count: u64) -> Outcome {
    let open = |flags| {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        good("open", options.custom_flags(flags).open(path))
    };
    let (mut cached, mut direct) = (open(0)?, open(libc::O_DIRECT)?);
    for number in 0..count {
        let file = match number % 5 {
            4 => &mut direct,
            _ => &mut cached,
        };
        let made = record(writer, number);
        equal("one write", good("append", file.write(&made))?, made.len())?;
        let end = good("position", file.stream_position())?;
        let mut found = vec![0; made.len()];
        let at = end.checked_sub(made.len() as u64);
        let at = at.ok_or_else(|| format!("position {end} after {} bytes", made.len()))?;
        good("read back", file.read_exact_at(&mut found, at))?;
        same(&format!("record {number} of {writer}"), &found, &made)?;
    }
    good("fsync", cached.sync_all())
}

/// Every record once, whole, and those of a writer in its order.
fn check_records(mut file: File, writers: u64, count: u64) -> Outcome {
    let mut next = vec![0; writers as usize];
    let mut head = [0; 24];
    while good("read", file.read(&mut head[..1]))? == 1 {
        good("a record's head", file.read_exact(&mut head[1..]))?;
        let word = |at: usize| {
            head[at..at + 8]
                .iter()
                .rev()
                .fold(0, |sum, &b| sum << 8 | u64::from(b))
        };
        let (writer, number) = (word(0), word(8));
        let expected = next.get(writer as usize).copied();
        equal("the next record", Some(number), expected)?;
        let made = record(writer, number);
        let mut found = vec![0; made.len() - head.len()];
        good("a record", file.read_exact(&mut found))?;
        same("its bytes", &found, &made[head.len()..])?;
        next[writer as usize] += 1;
    }
    equal("records of each", next, vec![count; writers as usize])
}

fn in_child(work: impl FnOnce() -> Outcome) -> Outcome<u32> {
    let run = || match work() {
        Ok(()) => 0,
        Err(why) => {
            println!("{why}");
            1
        }
    };
    good("fork", sys::in_child(run))
}

/// Two clients append to one file at once.
fn append_two() -> Outcome {
    const COUNT: u64 = 80;
    let (mut world, one) = World::with_mount("")?;
    let two = world.mount("")?;
    let other = in_child(|| write_records(&two.join("log"), 1, COUNT))?;
    let mine = write_records(&one.join("log"), 0, COUNT);
    equal("the other", good("wait", sys::wait(other))?, 0)?;
    mine?;
    for path in [world.behind("log"), one.join("log"), two.join("log")] {
        check_records(good("open", File::open(&path))?, 2, COUNT)
            .map_err(|why| format!("{}: {why}", path.display()))?;
    }
    world.unmount_all()
}

/// The server is killed while a client appends: what was not answered is not appended twice.
fn append_restart() -> Outcome {
    const COUNT: u64 = 120;
    let (mut world, root) = World::with_mount("")?;
    let writer = in_child(|| write_records(&root.join("log"), 0, COUNT))?;
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(500));
        world.kill();
        world.start()?;
    }
    equal("the writer", good("wait", sys::wait(writer))?, 0)?;
    check_records(good("open", File::open(world.behind("log")))?, 1, COUNT)?;
    world.unmount_all()
}
