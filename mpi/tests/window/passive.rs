//! A passive target is passive: it computes, or sleeps, and is served all the same.

use std::time::{Duration, Instant};

use oxmpi_core::process::Threads;
use oxmpi_core::window::{Flavor, LockKind};
use oxmpi_datatypes::op::Predefined;

use super::ground::{NONE, Rank, SETTINGS, Words};

const FLAVORS: [Flavor; 3] = [Flavor::Create, Flavor::Allocate, Flavor::Dynamic];
/// Longer than any of this takes on a loaded machine.
const LIMIT: Duration = Duration::from_secs(20);

oxmpi_harness::ranks! {
    fn a_target_that_computes_is_served([2, 3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let mut number = [u64::from(std::process::id())];
        rank.bcast(&mut number, 0);
        let sign = |who: u32, what: &str| {
            std::env::temp_dir().join(format!("oxmpi-passive-{}-{who}-{what}", number[0]))
        };
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 30_000);
            let what = format!("{flavor:?}");
            rank.barrier();
            if rank.rank() == 0 {
                // Not a call of the library until all others say that they are through.
                let begin = Instant::now();
                for other in 1..rank.size() {
                    while !sign(other, &what).exists() {
                        assert!(begin.elapsed() < LIMIT, "rank {other} waits for {flavor:?}");
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            } else {
                let others = u64::from(rank.size() - 1);
                words.window.lock(LockKind::Exclusive, Some(0), NONE).unwrap();
                words.put(&[7], 0, rank.rank() as usize).unwrap();
                words.window.unlock(Some(0)).unwrap();
                words.window.lock(LockKind::Shared, Some(0), NONE).unwrap();
                let mut seen = [0];
                words.get(&mut seen, 0, rank.rank() as usize).unwrap();
                words.window.flush(Some(0)).unwrap();
                assert_eq!(seen, [7], "{flavor:?}");
                for _ in 0..20 {
                    let mut old = 0;
                    words.fetch(&1, &mut old, Predefined::Sum, 0, 0).unwrap();
                    words.window.flush(Some(0)).unwrap();
                    // SAFETY: a local that the operation has written.
                    assert!(unsafe { (&raw const old).read_volatile() } < 20 * others);
                }
                let long = vec![1_u64; 20_000];
                words.sum(&long, 0, 5000).unwrap();
                words.window.flush(Some(0)).unwrap();
                let mut all = vec![0; 20_000];
                words.get(&mut all, 0, 5000).unwrap();
                words.window.unlock(Some(0)).unwrap();
                assert!(all.iter().all(|value| (1..=others).contains(value)), "{flavor:?}");
                std::fs::write(sign(rank.rank(), &what), []).unwrap();
            }
            rank.barrier();
            let _ = std::fs::remove_file(sign(rank.rank(), &what));
            if rank.rank() == 0 {
                assert_eq!(words.own()[0], 20 * u64::from(rank.size() - 1), "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }

    /// A process with windows that nobody uses does not use its CPU.
    fn an_idle_window_costs_nothing([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let words: Vec<Words> = FLAVORS.iter().map(|flavor| Words::new(&rank, *flavor, 4)).collect();
        rank.barrier();
        std::thread::sleep(Duration::from_millis(100));
        let before = cpu_time();
        std::thread::sleep(Duration::from_millis(500));
        let used = cpu_time() - before;
        assert!(used < Duration::from_millis(100), "{used:?} of 500 ms");
        rank.barrier();
        words.into_iter().for_each(Words::free);
        rank.end();
    }
}

/// The time that all threads of this process have had on a CPU.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = text.rsplit_once(')').unwrap().1;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // User and system time, in hundredths of a second.
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(10 * ticks)
}
