//! Locks: they exclude, they are fair, and ranks that wait for them are not forgotten.

use std::time::{Duration, Instant};

use oxmpi_core::process::Threads;
use oxmpi_core::window::{Assertion, Flavor, LockKind};

use super::ground::{NONE, Random, Rank, SETTINGS, Words};

const FLAVORS: [Flavor; 2] = [Flavor::Create, Flavor::Allocate];

oxmpi_harness::ranks! {
    /// Reading and writing apart would lose increments if two held the lock at once.
    fn an_exclusive_lock_excludes([2, 4], SETTINGS) {
        const ROUNDS: u64 = 150;
        let rank = Rank::join(Threads::One);
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            let target = rank.size() - 1;
            for round in 0..ROUNDS {
                words.window.lock(LockKind::Exclusive, Some(target), NONE).unwrap();
                let mut value = [0];
                words.get(&mut value, target, 0).unwrap();
                words.window.flush(Some(target)).unwrap();
                words.put(&[value[0] + 1], target, 0).unwrap();
                words.window.unlock(Some(target)).unwrap();
                if round % 16 == 3 {
                    std::thread::yield_now();
                }
            }
            rank.barrier();
            if rank.rank() == target {
                assert_eq!(words.own()[0], ROUNDS * u64::from(rank.size()), "{flavor:?}");
            }
            words.free();
        }
        rank.end();
    }

    /// Writers change two words together; whoever reads under a shared lock sees them equal.
    fn shared_and_exclusive_locks_exclude_each_other([3, 4], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let mut random = Random(77 + u64::from(rank.rank()));
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            for _ in 0..150 {
                let target = random.below(u64::from(rank.size())) as u32;
                if random.below(2) == 0 {
                    words.window.lock(LockKind::Shared, Some(target), NONE).unwrap();
                    let (mut first, mut second) = ([0], [0]);
                    words.get(&mut first, target, 0).unwrap();
                    words.get(&mut second, target, 1).unwrap();
                    words.window.unlock(Some(target)).unwrap();
                    assert_eq!(first, second, "{flavor:?}");
                } else {
                    words.window.lock(LockKind::Exclusive, Some(target), NONE).unwrap();
                    let mut value = [0];
                    words.get(&mut value, target, 0).unwrap();
                    words.window.flush(Some(target)).unwrap();
                    words.put(&[value[0] + 1], target, 0).unwrap();
                    words.window.flush(Some(target)).unwrap();
                    words.put(&[value[0] + 1], target, 1).unwrap();
                    words.window.unlock(Some(target)).unwrap();
                }
            }
            rank.barrier();
            words.free();
        }
        rank.end();
    }

    /// Ranks that hold the lock again and again, shared, do not keep a writer out.
    fn a_writer_is_not_starved([3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            let begin = Instant::now();
            if rank.rank() == 1 {
                std::thread::sleep(Duration::from_millis(20));
                for turn in 1..=20 {
                    words.window.lock(LockKind::Exclusive, Some(0), NONE).unwrap();
                    words.put(&[turn], 0, 0).unwrap();
                    words.window.unlock(Some(0)).unwrap();
                }
            } else {
                let mut seen = [0];
                while seen[0] < 20 {
                    words.window.lock(LockKind::Shared, Some(0), NONE).unwrap();
                    words.get(&mut seen, 0, 0).unwrap();
                    words.window.unlock(Some(0)).unwrap();
                    assert!(begin.elapsed() < Duration::from_secs(30), "the writer starves");
                }
            }
            rank.barrier();
            words.free();
        }
        rank.end();
    }

    /// Whoever waits sleeps, and is woken when the holder lets go.
    fn a_lock_is_passed_on_to_a_sleeper([2, 3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, 2);
            for holder in 0..rank.size() {
                let hold = Duration::from_millis(40);
                if rank.rank() == holder {
                    words.window.lock(LockKind::Exclusive, Some(0), NONE).unwrap();
                    words.put(&[u64::from(holder)], 0, 0).unwrap();
                    words.window.flush(Some(0)).unwrap();
                }
                rank.barrier();
                let begin = Instant::now();
                if rank.rank() == holder {
                    std::thread::sleep(hold);
                    words.window.unlock(Some(0)).unwrap();
                } else {
                    words.window.lock(LockKind::Exclusive, Some(0), NONE).unwrap();
                    words.put(&[9], 0, 1).unwrap();
                    words.window.unlock(Some(0)).unwrap();
                    let took = begin.elapsed();
                    assert!(took > hold / 2, "{flavor:?}: the lock was not held: {took:?}");
                    assert!(took < Duration::from_secs(5), "{flavor:?}: nobody was woken: {took:?}");
                }
                rank.barrier();
            }
            words.free();
        }
        rank.end();
    }

    fn all_are_locked_at_once([2, 4], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let size = rank.size();
        for flavor in FLAVORS {
            let words = Words::new(&rank, flavor, size as usize);
            for round in 1..=20_u64 {
                let unchecked = Assertion { no_check: round % 3 == 0, ..NONE };
                words.window.lock_all(unchecked).unwrap();
                for target in 0..size {
                    words.put(&[round], target, rank.rank() as usize).unwrap();
                }
                words.window.flush_all().unwrap();
                let mut seen = vec![0; size as usize];
                for target in 0..size {
                    let seen = &mut seen[target as usize..][..1];
                    words.get(seen, target, rank.rank() as usize).unwrap();
                }
                words.window.flush_local_all().unwrap();
                assert_eq!(seen, vec![round; size as usize], "{flavor:?}");
                words.window.unlock_all().unwrap();
                // An exclusive lock waits for all of those.
                words.window.lock(LockKind::Exclusive, Some(0), NONE).unwrap();
                words.window.unlock(Some(0)).unwrap();
                rank.barrier();
                assert_eq!(words.own(), vec![round; size as usize], "{flavor:?}");
                rank.barrier();
            }
            words.free();
        }
        rank.end();
    }
}
