//! Data: through the page cache, past it, and by mappings; sizes, holes.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::{Case, Outcome, equal, good, pattern, refused, same};
use crate::sys::{self, Mapping};
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "buffered",
        time_s: 120,
        run: buffered,
    },
    Case {
        name: "buffered-bounce",
        time_s: 120,
        run: buffered_bounce,
    },
    Case {
        name: "direct",
        time_s: 120,
        run: direct,
    },
    Case {
        name: "uncached",
        time_s: 120,
        run: uncached,
    },
    Case {
        name: "sizes",
        time_s: 60,
        run: sizes,
    },
    Case {
        name: "holes",
        time_s: 60,
        run: holes,
    },
    Case {
        name: "mapped",
        time_s: 60,
        run: mapped,
    },
    Case {
        name: "tail",
        time_s: 60,
        run: tail,
    },
    Case {
        name: "full",
        time_s: 60,
        run: full,
    },
    Case {
        name: "random",
        time_s: 200,
        run: random,
    },
];

/// What a mapping writes behind the end of the file, in its last page, is gone when the file grows.
fn tail() -> Outcome {
    const HEAD: usize = 100;
    type Grow = fn(&File, &File) -> std::io::Result<()>;
    let ways: [(&str, Grow); 6] = [
        ("a write", |file, _| file.write_all_at(b"more", 300)),
        ("a write to the next page", |file, _| {
            file.write_all_at(b"more", 5000)
        }),
        ("a direct write", |_, direct| {
            direct.write_all_at(b"more", 300)
        }),
        ("a direct write further on", |_, direct| {
            direct.write_all_at(b"more", 9000)
        }),
        ("ftruncate", |file, _| file.set_len(3000)),
        ("fallocate", |file, _| sys::fallocate(file, 0, 0, 3000)),
    ];
    let (mut world, root) = World::with_mount("")?;
    for (number, (way, grow)) in ways.into_iter().enumerate() {
        let name = format!("f{number}");
        let path = root.join(&name);
        good("write", fs::write(&path, [b'a'; HEAD]))?;
        let file = open(&path)?;
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(libc::O_DIRECT);
        let direct = good("open", options.open(&path))?;
        let mut map = good("mmap", Mapping::new(&file, 4096, true))?;
        map.set(50, b'b');
        map.set(200, b'x');
        good(way, grow(&file, &direct))?;
        good("fsync", file.sync_all())?;
        for path in [world.behind(&name), path] {
            let found = good("read", fs::read(&path))?;
            equal(way, (found[50], found[200]), (b'b', 0))?;
        }
    }
    world.unmount_all()
}

/// A file system of the server that is full in the middle of what is written back, or written
/// directly.
fn full() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let small = world.behind("small");
    good("mkdir", fs::create_dir(&small))?;
    good("mount", sys::mount_kind("tmpfs", &small, "size=900k"))?;
    let tried = fill(&root.join("small/f"), 3 << 19);
    good("unmount", sys::unmount(&small, libc::MNT_DETACH))?;
    tried?;
    world.unmount_all()
}

fn fill(path: &Path, bytes: usize) -> Outcome {
    let data = pattern(7, bytes);
    let file = open(path)?;
    good("write", file.write_all_at(&data, 0))?;
    refused("fsync", file.sync_all(), libc::ENOSPC)?;
    // It is said once, and what there was room for is there.
    good("fsync again", file.sync_all())?;
    drop(file);
    good("remove", fs::remove_file(path))?;
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .custom_flags(libc::O_DIRECT);
    let file = good("open", options.open(path))?;
    let wrote = good("direct write", file.write_at(&data, 0))?;
    equal("a part of it", wrote > 0 && wrote < bytes, true)?;
    refused(
        "the rest",
        file.write_at(&data[wrote..], wrote as u64),
        libc::ENOSPC,
    )?;
    let found = good("read", fs::read(path))?;
    same("what there was room for", &found[..wrote], &data[..wrote])
}

fn open(path: &Path) -> Outcome<File> {
    let mut options = OpenOptions::new();
    good(
        "open",
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path),
    )
}

fn read(file: &File, at: u64, bytes: usize) -> Outcome<Vec<u8>> {
    let mut data = vec![0; bytes];
    let mut had = 0;
    while had < bytes {
        match good("read", file.read_at(&mut data[had..], at + had as u64))? {
            0 => break,
            more => had += more,
        }
    }
    data.truncate(had);
    Ok(data)
}

/// Writes and reads with pieces of several lengths and at odd places; the server has the same.
fn through(world: &World, root: &Path) -> Outcome {
    let data = pattern(1, 5 << 20);
    let path = root.join("f");
    let file = open(&path)?;
    let mut at = 0;
    for piece in [1, 4095, 4096, 4097, 65_536, 1 << 20, 12_345]
        .iter()
        .cycle()
    {
        let end = data.len().min(at + piece);
        good("write", file.write_all_at(&data[at..end], at as u64))?;
        at = end;
        if at == data.len() {
            break;
        }
    }
    same("read back", &read(&file, 0, data.len() + 5)?, &data)?;
    good("fsync", file.sync_all())?;
    same(
        "the server's",
        &good("read", fs::read(world.behind("f")))?,
        &data,
    )?;
    drop(file);
    // Nothing is cached of what the server writes itself.
    good("write", fs::write(world.behind("g"), &data))?;
    let file = open(&root.join("g"))?;
    same("read", &read(&file, 0, data.len())?, &data)?;
    same("a part", &read(&file, 4_097, 70_000)?, &data[4_097..74_097])?;
    equal("at the end", read(&file, data.len() as u64, 10)?.len(), 0)?;
    // A part of a page that is not there has to be read first.
    drop(file);
    good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
    let file = good("open", OpenOptions::new().write(true).open(root.join("g")))?;
    good("write", file.write_all_at(b"xyz", 10_001))?;
    drop(file);
    let mut expected = data.clone();
    expected[10_001..10_004].copy_from_slice(b"xyz");
    same(
        "a part of a page",
        &good("read", fs::read(world.behind("g")))?,
        &expected,
    )
}

fn buffered() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    through(&world, &root)?;
    world.unmount_all()
}

fn buffered_bounce() -> Outcome {
    let (mut world, root) = World::with_mount("bounce")?;
    through(&world, &root)?;
    world.unmount_all()
}

fn uncached() -> Outcome {
    let (mut world, root) = World::with_mount("cache=none")?;
    through(&world, &root)?;
    // Others' changes are seen at once.
    let file = open(&root.join("n"))?;
    good("write", file.write_all_at(b"abc", 0))?;
    good("write", fs::write(world.behind("n"), b"defgh"))?;
    same("at once", &read(&file, 0, 10)?, b"defgh")?;
    equal("its size", good("fstat", file.metadata())?.len(), 5)?;
    drop(file);
    world.unmount_all()
}

fn direct() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let mut options = OpenOptions::new();
    let options = options
        .read(true)
        .write(true)
        .create(true)
        .custom_flags(libc::O_DIRECT);
    let file = good("O_DIRECT", options.open(root.join("f")))?;
    let data = pattern(2, (3 << 20) + 777);
    good("write", file.write_all_at(&data, 0))?;
    same(
        "the server's, without a sync",
        &good("read", fs::read(world.behind("f")))?,
        &data,
    )?;
    same("read", &read(&file, 0, data.len() + 9)?, &data)?;
    same(
        "an odd part",
        &read(&file, 1_234_567, 54_321)?,
        &data[1_234_567..1_288_888],
    )?;
    // Cached pages of others on this mount are not left behind.
    let cached = open(&root.join("f"))?;
    same("cached", &read(&cached, 0, 4_096)?, &data[..4_096])?;
    good("direct write", file.write_all_at(b"fresh", 100))?;
    same("cached then", &read(&cached, 100, 5)?, b"fresh")?;
    good("cached write", cached.write_all_at(b"newer", 200))?;
    same("direct then", &read(&file, 200, 5)?, b"newer")?;
    let many: Vec<Vec<u8>> = (0..16).map(|n| pattern(n, 3_000)).collect();
    let slices: Vec<std::io::IoSlice> = many
        .iter()
        .map(|part| std::io::IoSlice::new(part))
        .collect();
    use std::io::Write;
    let mut file = file;
    equal(
        "writev",
        good("writev", file.write_vectored(&slices))?,
        48_000,
    )?;
    same("writev", &read(&cached, 0, 48_000)?, &many.concat())?;
    drop((file, cached));
    world.unmount_all()
}

fn sizes() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = open(&root.join("f"))?;
    good("write", file.write_all_at(&[7; 10_000], 0))?;
    good("shorter", file.set_len(5_000))?;
    equal("size", good("fstat", file.metadata())?.len(), 5_000)?;
    good("longer", file.set_len(9_000))?;
    let mut expected = vec![7; 5_000];
    expected.resize(9_000, 0);
    same(
        "zeros behind the old end",
        &read(&file, 0, 9_999)?,
        &expected,
    )?;
    good("O_TRUNC", fs::write(root.join("f"), b"ab"))?;
    same("truncated", &read(&file, 0, 10)?, b"ab")?;
    same(
        "the server's",
        &good("read", fs::read(world.behind("f")))?,
        b"ab",
    )?;
    good("far", file.write_all_at(b"z", (1 << 32) + 5))?;
    equal("size", good("fstat", file.metadata())?.len(), (1 << 32) + 6)?;
    equal("hole", read(&file, 1 << 31, 3)?, vec![0; 3])?;
    good("short again", file.set_len(0))?;
    drop(file);
    world.unmount_all()
}

fn holes() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = open(&root.join("f"))?;
    good("allocate", sys::fallocate(&file, 0, 0, 100_000))?;
    equal("size", good("fstat", file.metadata())?.len(), 100_000)?;
    let keep = libc::FALLOC_FL_KEEP_SIZE;
    good("keep size", sys::fallocate(&file, keep, 100_000, 50_000))?;
    equal("size", good("fstat", file.metadata())?.len(), 100_000)?;
    good("write", file.write_all_at(&[9; 100_000], 0))?;
    good(
        "punch",
        sys::fallocate(&file, keep | libc::FALLOC_FL_PUNCH_HOLE, 8_192, 16_384),
    )?;
    let mut expected = vec![9; 100_000];
    expected[8_192..24_576].fill(0);
    same("punched", &read(&file, 0, 100_000)?, &expected)?;
    same(
        "the server's",
        &good("read", fs::read(world.behind("f")))?,
        &expected,
    )?;
    equal(
        "SEEK_HOLE",
        good("seek", sys::seek(&file, 0, libc::SEEK_HOLE))?,
        8_192,
    )?;
    equal(
        "SEEK_DATA",
        good("seek", sys::seek(&file, 8_192, libc::SEEK_DATA))?,
        24_576,
    )?;
    refused(
        "behind the end",
        sys::seek(&file, 200_000, libc::SEEK_DATA),
        libc::ENXIO,
    )?;
    drop(file);
    world.unmount_all()
}

fn mapped() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = open(&root.join("f"))?;
    let data = pattern(3, 20_000);
    good("write", file.write_all_at(&data, 0))?;
    let mut shared = good("mmap", Mapping::new(&file, 20_000, true))?;
    let mut private = good("mmap", Mapping::new(&file, 20_000, false))?;
    equal("shared sees it", shared.get(12_345), data[12_345])?;
    shared.set(5_000, 200);
    shared.set(19_999, 201);
    equal("read sees it", read(&file, 5_000, 1)?, vec![200])?;
    equal("private sees it", private.get(5_000), 200)?;
    private.set(6_000, 99);
    equal(
        "private is private",
        read(&file, 6_000, 1)?,
        vec![data[6_000]],
    )?;
    good("write", file.write_all_at(&[77], 7_000))?;
    equal("shared sees the write", shared.get(7_000), 77)?;
    good("msync", shared.sync())?;
    let behind = good("read", fs::read(world.behind("f")))?;
    equal(
        "the server has it",
        (behind[5_000], behind[19_999], behind.len()),
        (200, 201, 20_000),
    )?;
    shared.set(1, 55);
    drop((shared, private, file));
    // Unmapped and closed, and not synced: the last release has written it.
    let behind = good("read", fs::read(root.join("f")))?;
    equal("after all", behind[1], 55)?;
    let sent = crate::world::within(10, || {
        fs::read(world.behind("f")).is_ok_and(|data| data[1] == 55)
    });
    sent.map_err(|why| format!("written after munmap: {why}"))?;
    world.unmount_all()
}

/// Random operations on one file, compared with a vector.
fn random() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = open(&root.join("f"))?;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).custom_flags(libc::O_DIRECT);
    let direct = good("O_DIRECT", options.open(root.join("f")))?;
    let mut mirror: Vec<u8> = Vec::new();
    let seed = std::process::id().into();
    let choices = pattern(seed, 16_000);
    let number =
        |at: usize| u32::from_le_bytes(choices[at..at + 4].try_into().unwrap_or([0; 4])) as usize;
    for step in 0..900 {
        let (what, at, bytes) = (
            number(step * 12),
            number(step * 12 + 4) % 300_000,
            number(step * 12 + 8) % 40_000,
        );
        let told = |why: String| format!("seed {seed}, step {step}: {why}");
        let through = if what & 64 == 0 { &file } else { &direct };
        match what % 8 {
            0..=2 => {
                let data = pattern(step as u64, bytes);
                good("write", through.write_all_at(&data, at as u64)).map_err(told)?;
                if mirror.len() < at + bytes && bytes > 0 {
                    mirror.resize(at + bytes, 0);
                }
                if let Some(place) = mirror.get_mut(at..at + bytes) {
                    place.copy_from_slice(&data);
                }
            }
            3..=5 => {
                let end = mirror.len().min(at + bytes);
                let expected = mirror.get(at.min(end)..end).unwrap_or(&[]);
                same(
                    "read",
                    &read(through, at as u64, bytes).map_err(told)?,
                    expected,
                )
                .map_err(told)?;
            }
            6 => {
                good("truncate", file.set_len(at as u64)).map_err(told)?;
                mirror.resize(at, 0);
            }
            _ => good("fsync", file.sync_data()).map_err(told)?,
        }
    }
    good("fsync", file.sync_all())?;
    same(
        "the server's",
        &good("read", fs::read(world.behind("f")))?,
        &mirror,
    )?;
    drop((file, direct));
    world.unmount_all()
}
