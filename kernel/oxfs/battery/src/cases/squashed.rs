//! A server as it is by default, for which root of a client is nobody, and a process of another
//! user: what the kernel does for the process, it has to do in the name of that user.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::{Case, Outcome, equal, good, same};
use crate::sys::{self, Mapping};
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "squashed-mapped",
        time_s: 60,
        run: squashed_mapped,
    },
    Case {
        name: "squashed-bits",
        time_s: 60,
        run: squashed_bits,
    },
];

const BYTES: usize = 3 * 4096;

fn as_user(work: impl FnOnce() -> Outcome) -> Outcome {
    let work = || good("setuid", sys::become_user(1000)).and_then(|()| work());
    let child = sys::in_child(|| match work() {
        Ok(()) => 0,
        Err(why) => {
            println!("{why}");
            1
        }
    });
    let child = good("fork", child)?;
    equal("as user 1000", good("wait", sys::wait(child))?, 0)
}

/// A file that only its owner may write, mapped; its descriptor is closed.
fn mapped(path: &Path) -> Outcome<Mapping> {
    good("write", fs::write(path, [b'a'; BYTES]))?;
    sys::set_mode(path, 0o644)?;
    let file = OpenOptions::new().read(true).write(true).open(path);
    good("mmap", Mapping::new(&good("open", file)?, BYTES, true))
}

/// What is stored by a mapping whose file is closed is at the server when the mapping goes, or the
/// process.
fn squashed_mapped() -> Outcome {
    let mut world = World::new(&[])?;
    let root = world.mount("")?;
    let expected: Vec<u8> = (0..BYTES)
        .map(|at| if at == 5000 { b'b' } else { b'a' })
        .collect();
    as_user(|| {
        let mut map = mapped(&root.join("unmapped"))?;
        map.set(5000, b'b');
        drop(map);
        let found = good("read", fs::read(world.behind("unmapped")))?;
        same("after munmap", &found, &expected)?;
        let mut map = mapped(&root.join("left"))?;
        map.set(5000, b'b');
        std::mem::forget(map);
        Ok(())
    })?;
    for name in ["unmapped", "left"] {
        for path in [world.behind(name), root.join(name)] {
            same(name, &good("read", fs::read(path))?, &expected)?;
        }
    }
    world.unmount_all()
}

/// Whoever writes to a file with a set-user-id bit takes that away, and may.
fn squashed_bits() -> Outcome {
    let mut world = World::new(&[])?;
    let root = world.mount("")?;
    let others = world.behind("others");
    good("write", fs::write(&others, b"text"))?;
    as_user(|| {
        let path = root.join("own");
        good("write", fs::write(&path, [b'a'; 100]))?;
        let mode = || good("stat", fs::metadata(world.behind("own"))).map(|found| found.mode());
        let open = |flags| {
            let mut options = OpenOptions::new();
            good("open", options.write(true).custom_flags(flags).open(&path))
        };
        let ways: [(&str, &dyn Fn() -> Outcome); 4] = [
            ("write", &|| {
                let file = open(0)?;
                good("write", file.write_all_at(b"b", 1))?;
                good("write more", file.write_all_at(b"b", 2))
            }),
            ("direct write", &|| {
                good("write", open(libc::O_DIRECT)?.write_all_at(b"b", 1))
            }),
            ("append", &|| {
                good("write", open(libc::O_APPEND)?.write_all_at(b"b", 0))
            }),
            ("ftruncate", &|| good("ftruncate", open(0)?.set_len(10))),
        ];
        for (way, change) in ways {
            sys::set_mode(&path, 0o4755)?;
            equal(way, mode()? & 0o7777, 0o4755)?;
            change().map_err(|why| format!("{way}: {why}"))?;
            equal(way, mode()? & 0o7777, 0o755)?;
            let here = good("stat", fs::metadata(&path))?.mode();
            equal(way, here & 0o7777, 0o755)?;
        }
        Ok(())
    })?;
    // Of a file of root that anybody may write.
    sys::set_mode(&others, 0o6777)?;
    as_user(|| good("write", fs::write(root.join("others"), b"other")))?;
    let mode = good("stat", fs::metadata(&others))?.mode();
    equal("of root", mode & 0o7777, 0o777)?;
    world.unmount_all()
}
