//! A rank dies. If it holds a lock, whoever waits for the lock gets an error that names it. Calls
//! that need all ranks are such errors on the others, which go on without them.

use std::time::Duration;

use oxmpi_core::ErrorKind;
use oxmpi_core::group::Group;
use oxmpi_core::process::Threads;
use oxmpi_core::window::{Flavor, LockKind};
use oxmpi_harness::run;

use super::ground::{NONE, Rank, SETTINGS, Words};

/// Rank 1 holds the lock of rank 0 and dies.
fn hold_and_die(flavor: Flavor) {
    take_no_hint();
    let rank = Rank::join(Threads::One);
    let words = Words::new(&rank, flavor, 2);
    if rank.rank() == 1 {
        words
            .window
            .lock(LockKind::Exclusive, Some(0), NONE)
            .unwrap();
        words.put(&[1], 0, 0).unwrap();
        words.window.flush(Some(0)).unwrap();
    }
    rank.barrier();
    if rank.rank() == 1 {
        std::thread::sleep(Duration::from_millis(100));
        std::process::abort();
    }
    let locked = words.window.lock(LockKind::Exclusive, Some(0), NONE);
    let error = locked
        .and_then(|()| {
            words.put(&[2], 0, 1).unwrap();
            words.window.unlock(Some(0))
        })
        .unwrap_err();
    eprintln!("rank {} was told: {error}", rank.rank());
    if rank.rank() == 0 {
        // The others ask this rank for its lock: an answer on its way must not meet its end.
        std::thread::sleep(Duration::from_secs(1));
    }
    std::process::exit(1);
}

fn names_rank_1<T: std::fmt::Debug>(outcome: Result<T, ErrorKind>) {
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("rank 1"), "{error}");
}

/// Rank 1 dies between two fences. The others are told by the next, by any that follows, and by
/// waiting for rank 1; each other they can still reach.
fn die_between_fences(flavor: Flavor) {
    take_no_hint();
    let rank = Rank::join(Threads::One);
    let words = Words::new(&rank, flavor, 2);
    let window = &words.window;
    window.fence(NONE).unwrap();
    if rank.rank() == 1 {
        std::process::abort();
    }
    let other = 2 - rank.rank();
    words.put(&[5], other, 0).unwrap();
    names_rank_1(window.fence(NONE));
    names_rank_1(window.fence(NONE));
    let group = |ranks: &[u32]| {
        let processes = window.group().processes();
        Group::new(ranks.iter().map(|rank| processes[*rank as usize]).collect())
    };
    window.post(&group(&[1, other]), NONE).unwrap();
    names_rank_1(window.start(&group(&[other, 1]), NONE));
    names_rank_1(loop {
        match window.test() {
            Ok(false) => {}
            ended => break ended,
        }
    });
    for round in 0..10 {
        window.post(&group(&[other]), NONE).unwrap();
        window.start(&group(&[other]), NONE).unwrap();
        words.put(&[round], other, 1).unwrap();
        window.complete().unwrap();
        window.wait().unwrap();
        assert_eq!(words.own_word(1), round);
        window.lock(LockKind::Exclusive, Some(other), NONE).unwrap();
        words.put(&[6], other, 0).unwrap();
        window.unlock(Some(other)).unwrap();
    }
    names_rank_1(window.free());
    eprintln!("rank {} was told of rank 1", rank.rank());
    std::thread::sleep(Duration::from_secs(1));
    std::process::exit(1);
}

unsafe extern "C" {
    fn signal(signal: i32, handler: usize) -> usize;
}

/// The launcher asks the others to end when one has died, and insists two seconds later.
pub fn take_no_hint() {
    const SIGTERM: i32 = 15;
    const IGNORE: usize = 1;
    // SAFETY: the system's function with two of its constants.
    unsafe { signal(SIGTERM, IGNORE) };
}

fn judge(name: &str, flavor: Flavor, part: fn(Flavor)) {
    let path = format!("{}::{name}", module_path!());
    let is_rank = std::env::var("OXMPI_TEST_CASE").is_ok_and(|case| case == path);
    if is_rank {
        return run(&path, &[], &[], || part(flavor));
    }
    // By UDP only the launcher could tell of the death, and it ends the job instead.
    for setting in &SETTINGS[..2] {
        let outcome = oxmpi_harness::job(&path, 3, setting);
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_ne!(outcome.code, 0, "{setting:?}\n{said}");
        let told = said.lines().filter(|line| line.contains("was told"));
        let told: Vec<&str> = told.collect();
        assert_eq!(told.len(), 2, "{flavor:?} {setting:?}\n{said}");
        for line in told {
            assert!(line.contains("rank 1"), "{flavor:?} {setting:?}\n{said}");
        }
        assert!(outcome.wall < Duration::from_secs(60), "{:?}", outcome.wall);
    }
}

#[test]
fn the_death_of_a_holder_is_an_error_by_shared_memory() {
    judge(
        "the_death_of_a_holder_is_an_error_by_shared_memory",
        Flavor::Allocate,
        hold_and_die,
    );
}

#[test]
fn the_death_of_a_holder_is_an_error_by_message() {
    judge(
        "the_death_of_a_holder_is_an_error_by_message",
        Flavor::Create,
        hold_and_die,
    );
}

#[test]
fn the_death_of_a_rank_ends_fences_by_shared_memory() {
    judge(
        "the_death_of_a_rank_ends_fences_by_shared_memory",
        Flavor::Allocate,
        die_between_fences,
    );
}

#[test]
fn the_death_of_a_rank_ends_fences_by_message() {
    judge(
        "the_death_of_a_rank_ends_fences_by_message",
        Flavor::Create,
        die_between_fences,
    );
}
