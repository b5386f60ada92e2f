//! Advisory locks between two mounts, which are two clients.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use super::{Case, Outcome, equal, good, refused};
use crate::sys;
use crate::world::World;

pub const CASES: &[Case] = &[Case {
    name: "locks",
    time_s: 60,
    run: locks,
}];

fn locks() -> Outcome {
    let (mut world, one) = World::with_mount("")?;
    let two = world.mount("")?;
    let open = |root: &std::path::Path| {
        let mut options = OpenOptions::new();
        good(
            "open",
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(root.join("f")),
        )
    };
    let (a, b) = (open(&one)?, open(&two)?);
    let (set, wait, get) = (libc::F_SETLK, libc::F_SETLKW, libc::F_GETLK);
    let (write, read, none) = (libc::F_WRLCK, libc::F_RDLCK, libc::F_UNLCK);
    good("lock", sys::lock(&a, set, write, 0, 100))?;
    refused(
        "the same bytes",
        sys::lock(&b, set, write, 50, 10),
        libc::EAGAIN,
    )?;
    refused("for reading", sys::lock(&b, set, read, 99, 1), libc::EAGAIN)?;
    good("other bytes", sys::lock(&b, set, write, 100, 10))?;
    equal(
        "who has it",
        good("test", sys::lock(&b, get, write, 0, 10))?,
        write,
    )?;
    good("unlock", sys::lock(&a, set, none, 0, 50))?;
    equal(
        "nobody",
        good("test", sys::lock(&b, get, write, 0, 10))?,
        none,
    )?;
    good("shared", sys::lock(&a, set, read, 0, 10))?;
    good("shared", sys::lock(&b, set, read, 0, 10))?;
    good("unlock", sys::lock(&b, set, none, 0, 0))?;
    good("unlock", sys::lock(&a, set, none, 0, 0))?;
    // Waiting.
    good("lock", sys::lock(&a, set, write, 0, 0))?;
    let child = good(
        "fork",
        sys::in_child(|| match sys::lock(&b, wait, write, 0, 0) {
            Ok(_) => 0,
            Err(_) => 1,
        }),
    )?;
    std::thread::sleep(Duration::from_millis(500));
    equal("it waits", sys::has_ended(child), false)?;
    good("unlock", sys::lock(&a, set, none, 0, 0))?;
    equal("it was granted", good("wait", sys::wait(child))?, 0)?;
    // Interrupted waiting leaves nothing.
    good("lock", sys::lock(&a, set, write, 0, 0))?;
    let child = good(
        "fork",
        sys::in_child(|| match sys::lock(&b, wait, write, 0, 0) {
            Ok(_) => 0,
            Err(_) => 1,
        }),
    )?;
    std::thread::sleep(Duration::from_millis(500));
    sys::signal(child, libc::SIGKILL);
    let begun = Instant::now();
    equal(
        "killed",
        good("wait", sys::wait(child))?,
        128 + libc::SIGKILL,
    )?;
    equal("at once", begun.elapsed() < Duration::from_secs(5), true)?;
    good("unlock", sys::lock(&a, set, none, 0, 0))?;
    crate::world::within(10, || sys::lock(&a, set, write, 0, 0).is_ok())
        .map_err(|why| format!("a lock after an interrupted wait: {why}"))?;
    good("unlock", sys::lock(&a, set, none, 0, 0))?;
    // flock.
    let now = libc::LOCK_NB;
    good("flock", sys::flock(&a, libc::LOCK_EX | now))?;
    refused(
        "flock of another",
        sys::flock(&b, libc::LOCK_SH | now),
        libc::EAGAIN,
    )?;
    good("shared", sys::flock(&a, libc::LOCK_SH | now))?;
    good("shared", sys::flock(&b, libc::LOCK_SH | now))?;
    drop(a);
    crate::world::within(10, || sys::flock(&b, libc::LOCK_EX | now).is_ok())
        .map_err(|why| format!("flock after close: {why}"))?;
    drop(b);
    world.unmount_all()
}
