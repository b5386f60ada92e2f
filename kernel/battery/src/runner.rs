//! Runs cases one after the other, each in a process of its own, and looks afterwards whether the
//! module has let go everything.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use o2g::Device;

use crate::random::Random;
use crate::sys::{self, Child, Ended};

/// One thing that is tried.
pub struct Case {
    pub name: &'static str,
    /// After so many seconds it hangs, on a kernel that does not check itself. Generous: software
    /// emulation is slow, and other work may share the machine.
    pub time_s: u64,
    pub run: fn(&mut Random) -> Outcome,
}

/// How a case ends.
pub type Outcome<T = ()> = Result<T, Trouble>;

/// Why a case did not pass.
pub enum Trouble {
    Fail(String),
    Skip(String),
}

impl<E: std::error::Error> From<E> for Trouble {
    fn from(error: E) -> Trouble {
        Trouble::Fail(error.to_string())
    }
}

/// Ends a case that found something else than it should.
pub fn fail<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Trouble::Fail(why.into()))
}

/// Compares.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected {
        return Ok(());
    }
    fail(format!("{what}: found {found:?}, expected {expected:?}"))
}

/// A kernel that checks itself, which one with kmemleak does, is so much slower.
fn slowness() -> u64 {
    sys::mount_debugfs();
    match std::fs::exists("/sys/kernel/debug/kmemleak") {
        Ok(true) => 8,
        _ => 1,
    }
}

/// Runs them; how many failed.
pub fn run(cases: impl Iterator<Item = &'static Case>, seed: u64) -> usize {
    let slowness = slowness();
    let mut failed = 0;
    for case in cases {
        let time = Duration::from_secs(case.time_s * slowness);
        let outcome = run_apart(case, seed, time).and_then(|()| left_behind());
        match outcome {
            Ok(()) => println!("ok {}", case.name),
            Err(Trouble::Skip(why)) => println!("skip {}: {why}", case.name),
            Err(Trouble::Fail(why)) => {
                failed += 1;
                println!(
                    "FAIL {}: {} (seed {seed})",
                    case.name,
                    why.replace('\n', " | ")
                );
            }
        }
    }
    failed
}

/// The case in a child; its outcome comes through a pipe, because it may end in any way.
fn run_apart(case: &'static Case, seed: u64, time: Duration) -> Outcome {
    let (mut from_child, to_parent) = std::io::pipe()?;
    let child = Child::fork(move || {
        sys::lead_group();
        let mut to_parent = to_parent;
        let mut random = Random::new(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| (case.run)(&mut random)));
        let text = match outcome {
            Ok(Ok(())) => "o".to_owned(),
            Ok(Err(Trouble::Skip(why))) => format!("s{why}"),
            Ok(Err(Trouble::Fail(why))) => format!("f{why}"),
            Err(panic) => format!("f{}", panic_text(panic.as_ref())),
        };
        // Nobody reads it if the parent is gone.
        let _ = to_parent.write_all(text.as_bytes());
        0
    })?;
    let ended = child.wait(time)?;
    let Some(ended) = ended else {
        child.kill_group(libc::SIGKILL);
        child.wait(Duration::from_secs(60))?;
        return fail(format!("no end after {time:?}"));
    };
    // What it started and did not end.
    child.kill_group(libc::SIGKILL);
    if !sys::is_readable(from_child.as_fd())? {
        return fail(format!("it said nothing and ended: {ended:?}"));
    }
    let mut text = String::new();
    from_child.read_to_string(&mut text)?;
    match (text.split_at_checked(1), ended) {
        (Some(("o", _)), Ended::Exit(0)) => Ok(()),
        (Some(("s", why)), Ended::Exit(0)) => Err(Trouble::Skip(why.to_owned())),
        (Some(("f", why)), Ended::Exit(0)) => fail(why),
        _ => fail(format!("it ended: {ended:?}, after {text:?}")),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a text"))
}

/// No page, socket or context of others may exist; letting go takes a moment, because it is done by
/// the kernel's workers.
pub fn left_behind() -> Outcome {
    let device = Device::open()?;
    let start = Instant::now();
    loop {
        let counters = device.counters()?;
        let found = (
            counters.pages_pinned_all,
            counters.sockets_all,
            counters.contexts_all,
        );
        if found == (0, 0, 1) {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(60) {
            let (pages, sockets, contexts) = found;
            return fail(format!(
                "left behind: {pages} pinned pages, {sockets} sockets, {} contexts",
                contexts - 1
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
