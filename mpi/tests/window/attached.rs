//! Memory of dynamic windows: what is in use stays attached.

use oxmpi_core::process::Threads;
use oxmpi_core::window::{Flavor, LockKind};
use oxmpi_core::{ErrorKind, Source, Tag, WindowError};

use super::ground::{NONE, Rank, SETTINGS, Words};

/// More than a network holds by itself, so that the data of a put waits for its sender.
const COUNT: usize = 2 << 20;

/// Stops this process until another one continues it.
fn stop() {
    // SAFETY: a signal to this process.
    assert_eq!(unsafe { libc::raise(libc::SIGSTOP) }, 0);
}

fn go_on(process: u64) {
    // SAFETY: a signal to the other process of this test, which waits for it.
    assert_eq!(unsafe { libc::kill(process as i32, libc::SIGCONT) }, 0);
}

fn is_stopped(process: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, state) = stat.rsplit_once(") ").unwrap();
    state.starts_with('T')
}

oxmpi_harness::ranks! {
    fn memory_in_use_stays_attached([2], SETTINGS[1..]) {
        let rank = Rank::join(Threads::One);
        let mut process = [u64::from(std::process::id())];
        rank.bcast(&mut process, 0);
        let words = Words::new(&rank, Flavor::Dynamic, COUNT);
        rank.barrier();
        if rank.rank() == 0 {
            let values: Vec<u64> = (1..COUNT as u64).collect();
            words.window.lock(LockKind::Shared, Some(1), NONE).unwrap();
            // The flag goes first, in the same batch as the request of the long put.
            words.put(&[1], 1, COUNT - 1).unwrap();
            words.put(&values, 1, 0).unwrap();
            stop();
            words.window.unlock(Some(1)).unwrap();
            rank.barrier();
        } else {
            while !is_stopped(process[0]) || words.own_word(COUNT - 1) != 1 {
                let none = rank.comm.iprobe_message(Some(Source::Any), Tag::Is(5));
                assert!(none.unwrap().is_none());
            }
            let address = words.at(1, 0) as u64;
            let refusal = || match words.window.detach(address as *const u8) {
                Err(ErrorKind::Window(refusal)) => refusal,
                other => panic!("{other:?}"),
            };
            let error = refusal();
            let bytes = 8 * COUNT as u64;
            assert_eq!(error, WindowError::InUse { address, bytes, transfers: 1 });
            let text = error.to_string();
            assert!(text.contains("transfer(s) of other ranks into them are under way"), "{text}");
            go_on(process[0]);
            rank.barrier();
            assert_eq!((words.own_word(0), words.own_word(COUNT - 2)), (1, COUNT as u64 - 1));
            words.window.detach(address as *const u8).unwrap();
            assert_eq!(refusal(), WindowError::Detach { address });
            // It can come back, and be used.
            // SAFETY: the memory lives as long as the window.
            unsafe { words.window.attach(address as *mut u8, bytes) }.unwrap();
        }
        rank.barrier();
        if rank.rank() == 0 {
            words.window.lock(LockKind::Exclusive, Some(1), NONE).unwrap();
            words.put(&[9], 1, 3).unwrap();
            words.window.unlock(Some(1)).unwrap();
        }
        rank.barrier();
        assert_eq!(words.own_word(3), if rank.rank() == 1 { 9 } else { 0 });
        words.free();
        rank.end();
    }

    /// Data that leaves is waited for: its reader may have it before this rank knows.
    fn memory_that_was_read_can_be_detached([2, 3], SETTINGS) {
        let rank = Rank::join(Threads::One);
        for _ in 0..20 {
            let words = Words::new(&rank, Flavor::Dynamic, COUNT / 32);
            let next = (rank.rank() + 1) % rank.size();
            let mut got = vec![1; COUNT / 32];
            words.window.lock(LockKind::Shared, Some(next), NONE).unwrap();
            words.get(&mut got, next, 0).unwrap();
            words.window.flush_local(Some(next)).unwrap();
            assert!(got.iter().all(|word| *word == 0));
            words.window.unlock(Some(next)).unwrap();
            rank.barrier();
            words.window.detach(words.at(rank.rank(), 0) as *const u8).unwrap();
            rank.barrier();
            words.free();
        }
        rank.end();
    }
}
