//! Servers that die, hang or are not there.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::{Case, Outcome, equal, good, pattern, refused, same};
use crate::sys;
use crate::world::{World, count, within};

pub const CASES: &[Case] = &[
    Case {
        name: "restart",
        time_s: 240,
        run: restart,
    },
    Case {
        name: "restart-names",
        time_s: 240,
        run: restart_names,
    },
    Case {
        name: "restart-open",
        time_s: 120,
        run: restart_open,
    },
    Case {
        name: "soft",
        time_s: 120,
        run: soft,
    },
    Case {
        name: "hung",
        time_s: 120,
        run: hung,
    },
    Case {
        name: "killable",
        time_s: 120,
        run: killable,
    },
    Case {
        name: "forced",
        time_s: 120,
        run: forced,
    },
    Case {
        name: "forced-unlinked",
        time_s: 120,
        run: forced_unlinked,
    },
];

/// The server is killed and started while a process writes and syncs; every byte that was synced is
/// there, and all others, too.
fn restart() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let work = || -> Outcome {
        let mut options = OpenOptions::new();
        let file = good(
            "open",
            options
                .read(true)
                .write(true)
                .create(true)
                .open(root.join("f")),
        )?;
        for round in 0..60u64 {
            let data = pattern(round, 20_000);
            good("write", file.write_all_at(&data, round * 20_000))?;
            if round % 4 == 0 {
                good("fsync", file.sync_all())?;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        good("fsync", file.sync_all())
    };
    let child = good(
        "fork",
        sys::in_child(|| match work() {
            Ok(()) => 0,
            Err(why) => {
                println!("{why}");
                1
            }
        }),
    )?;
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(600));
        world.kill();
        std::thread::sleep(Duration::from_millis(300));
        world.start()?;
    }
    equal("the writer", good("wait", sys::wait(child))?, 0)?;
    let expected: Vec<u8> = (0..60).flat_map(|round| pattern(round, 20_000)).collect();
    same(
        "the server's",
        &good("read", fs::read(world.behind("f")))?,
        &expected,
    )?;
    same(
        "read back",
        &good("read", fs::read(root.join("f")))?,
        &expected,
    )?;
    equal("reconnected", count("reconnects") > 0, true)?;
    world.unmount_all()
}

/// Names are changed while the server is killed: every change is made once, and none is refused
/// because it had been made already.
fn restart_names() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let work = || -> Outcome {
        for number in 0..120u32 {
            let path = |name: &str| root.join(format!("{name}{number}"));
            good("mkdir", fs::create_dir(path("d")))?;
            good(
                "create",
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(path("f")),
            )?;
            good("link", fs::hard_link(path("f"), path("l")))?;
            good("rename", fs::rename(path("f"), path("g")))?;
            good("unlink", fs::remove_file(path("l")))?;
            good("rmdir", fs::remove_dir(path("d")))?;
        }
        Ok(())
    };
    let child = good(
        "fork",
        sys::in_child(|| match work() {
            Ok(()) => 0,
            Err(why) => {
                println!("{why}");
                1
            }
        }),
    )?;
    let mut kills = 0;
    while kills < 12 && !sys::has_ended(child) {
        std::thread::sleep(Duration::from_millis(150));
        world.kill();
        world.start()?;
        kills += 1;
        within(30, || count("alive") < 64)?;
    }
    let status = sys::wait(child);
    if let Ok(status) = status {
        equal("names", status, 0)?;
    }
    let left = good("readdir", fs::read_dir(world.behind("")))?.count();
    equal("names that are left", left, 120)?;
    world.unmount_all()
}

/// Places of many locks.
fn many() -> impl Iterator<Item = i64> {
    (100..1300).step_by(2)
}

/// Open files, one of them without a name, and locks survive the server. The process that has them
/// is not the one that starts the server: a process that becomes a server closes its files first,
/// which has to wait for the server.
fn restart_open() -> Outcome {
    let mut world = World::new(&["--no-root-squash", "--lease", "10"])?;
    let (one, two) = (world.mount("")?, world.mount("")?);
    let (ready, go) = (world.behind("../ready"), world.behind("../go"));
    let work = || -> Outcome {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let (named, unnamed) = (options.open(one.join("a")), options.open(one.join("b")));
        let (named, unnamed) = (good("open", named)?, good("open", unnamed)?);
        good("write", unnamed.write_all_at(b"no name", 0))?;
        good("unlink", fs::remove_file(one.join("b")))?;
        let lock = |kind| sys::lock(&named, libc::F_SETLK, kind, 0, 10);
        good("lock", lock(libc::F_WRLCK))?;
        // Many, with room between them.
        for at in many() {
            let locked = sys::lock(&named, libc::F_SETLK, libc::F_WRLCK, at, 1);
            good("one of many locks", locked)?;
        }
        good("ready", fs::write(&ready, b""))?;
        within(60, || go.exists())?;
        good("write", named.write_all_at(b"named", 0))?;
        good("fsync", named.sync_all())?;
        good("write", unnamed.write_all_at(b"NO", 0))?;
        good("fsync", unnamed.sync_all())?;
        let mut found = [0; 7];
        good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
        good("read", unnamed.read_exact_at(&mut found, 0))?;
        equal("without a name", &found, b"NO name")?;
        let other = OpenOptions::new()
            .read(true)
            .write(true)
            .open(two.join("a"));
        let other = good("open", other)?;
        let lock_other = || sys::lock(&other, libc::F_SETLK, libc::F_WRLCK, 0, 10);
        // Longer than the server keeps locks for their old owners alone.
        std::thread::sleep(Duration::from_secs(11));
        refused("the lock is held", lock_other(), libc::EAGAIN)?;
        for at in many() {
            let tried = sys::lock(&other, libc::F_SETLK, libc::F_WRLCK, at, 1);
            refused(&format!("the lock at {at}"), tried, libc::EAGAIN)?;
        }
        good("unlock", lock(libc::F_UNLCK))?;
        within(30, || lock_other().is_ok()).map_err(|why| format!("lock after unlock: {why}"))
    };
    let child = good(
        "fork",
        sys::in_child(|| match work() {
            Ok(()) => 0,
            Err(why) => {
                println!("{why}");
                1
            }
        }),
    )?;
    within(60, || ready.exists())?;
    world.kill();
    world.start()?;
    good("go", fs::write(&go, b""))?;
    equal("the process", good("wait", sys::wait(child))?, 0)?;
    let text = good("read", fs::read(world.behind("a")))?;
    equal("named", text, b"named".to_vec())?;
    for path in [ready, go] {
        good("remove", fs::remove_file(path))?;
    }
    world.unmount_all()
}

/// A soft mount gives up.
fn soft() -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    let root = world.mount("soft,timeo=3")?;
    good("write", fs::write(root.join("f"), b"text"))?;
    world.kill();
    let begun = Instant::now();
    refused("stat", fs::metadata(root.join("g")), libc::ETIMEDOUT)?;
    let took = begun.elapsed().as_secs();
    equal("after about 3 s", (2..15).contains(&took), true)?;
    world.start()?;
    within(30, || {
        fs::read(root.join("f")).is_ok_and(|text| text == b"text")
    })
    .map_err(|why| format!("afterwards: {why}"))?;
    for number in 0..40 {
        good("create", fs::write(root.join(format!("n{number}")), b"x"))?;
    }
    world.unmount_all()
}

/// A server that is stopped for longer than the time-out, and goes on.
fn hung() -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    let root = world.mount("timeo=2")?;
    good("write", fs::write(root.join("f"), b"text"))?;
    let server = world.server_pid();
    sys::signal(server, libc::SIGSTOP);
    let child = good(
        "fork",
        sys::in_child(|| i32::from(fs::write(root.join("g"), b"late").is_err())),
    )?;
    std::thread::sleep(Duration::from_secs(6));
    equal("it waits", sys::has_ended(child), false)?;
    sys::signal(server, libc::SIGCONT);
    equal("it was done", good("wait", sys::wait(child))?, 0)?;
    equal(
        "once",
        good("read", fs::read(world.behind("g")))?,
        b"late".to_vec(),
    )?;
    world.unmount_all()
}

/// On a hard mount whose server is gone, a process waits, but not against a kill.
fn killable() -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    let root = world.mount("timeo=3")?;
    good("write", fs::write(root.join("f"), pattern(1, 100_000)))?;
    good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
    let open = good("open", fs::File::open(root.join("f")))?;
    world.kill();
    let waits: [(&str, &dyn Fn() -> i32); 4] = [
        ("stat", &|| i32::from(fs::metadata(root.join("x")).is_err())),
        ("read", &|| {
            i32::from(open.read_at(&mut [0; 9], 50_000).is_err())
        }),
        ("create", &|| {
            i32::from(fs::File::create(root.join("y")).is_err())
        }),
        ("list", &|| i32::from(fs::read_dir(&root).is_err())),
    ];
    for (what, wait) in waits {
        let child = good("fork", sys::in_child(wait))?;
        std::thread::sleep(Duration::from_millis(700));
        equal(&format!("{what} waits"), sys::has_ended(child), false)?;
        sys::signal(child, libc::SIGKILL);
        let begun = Instant::now();
        equal(what, good("wait", sys::wait(child))?, 128 + libc::SIGKILL)?;
        equal(
            &format!("{what}, killed at once"),
            begun.elapsed().as_secs() < 5,
            true,
        )?;
    }
    world.start()?;
    within(30, || {
        fs::read(root.join("f")).is_ok_and(|data| data.len() == 100_000)
    })
    .map_err(|why| format!("afterwards: {why}"))?;
    drop(open);
    world.unmount_all()
}

/// umount -f of a mount whose server is gone, with dirty pages and a process that waits.
fn forced() -> Outcome {
    let (mut world, root) = World::with_mount("timeo=10")?;
    let file = good("create", fs::File::create(root.join("f")))?;
    // The first write asks the server whether the file has capabilities to lose.
    good("write", file.write_all_at(&[1; 10], 0))?;
    world.kill();
    good("write", file.write_all_at(&[1; 50_000], 0))?;
    let child = good(
        "fork",
        sys::in_child(|| i32::from(fs::metadata(root.join("g")).is_err())),
    )?;
    std::thread::sleep(Duration::from_millis(500));
    refused("busy", sys::unmount(&root, libc::MNT_FORCE), libc::EBUSY)?;
    equal("the waiter fails", good("wait", sys::wait(child))?, 1)?;
    refused("fsync", file.sync_all(), libc::EIO)?;
    drop(file);
    within(20, || sys::unmount(&root, libc::MNT_FORCE).is_ok())
        .map_err(|why| format!("umount -f: {why}"))?;
    Ok(())
}

/// umount -f of a mount whose server is gone, when processes have been killed that asked about a file
/// without a name, and read it: whoever lets go of the file last waits for what is being read.
fn forced_unlinked() -> Outcome {
    let (mut world, root) = World::with_mount("timeo=10")?;
    good("write", fs::write(world.behind("f"), pattern(1, 100_000)))?;
    let file = good("open", fs::File::open(root.join("f")))?;
    // What a mapping reads is read at once: a call of read would ask what the file is like first.
    let mapping = good("mmap", sys::Mapping::new(&file, 100_000, false))?;
    good("unlink", fs::remove_file(root.join("f")))?;
    world.kill();
    let stat = || i32::from(file.metadata().is_err());
    let read = || i32::from(mapping.get(50_000));
    let mut children = Vec::new();
    for ask in [&stat as &dyn Fn() -> i32, &read] {
        let child = good("fork", sys::in_child(ask))?;
        std::thread::sleep(Duration::from_millis(500));
        equal("it waits", sys::has_ended(child), false)?;
        children.push(child);
    }
    drop((file, mapping));
    for child in children {
        sys::signal(child, libc::SIGKILL);
        let ended = good("wait", sys::wait(child))?;
        equal("killed", ended, 128 + libc::SIGKILL)?;
    }
    let unmount = || i32::from(sys::unmount(&root, libc::MNT_FORCE).is_err());
    let child = good("fork", sys::in_child(unmount))?;
    within(20, || sys::has_ended(child)).map_err(|why| format!("umount -f: {why}"))
}
