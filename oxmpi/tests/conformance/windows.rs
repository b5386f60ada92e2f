//! Windows of a type: locks as guards, epochs as scopes, futures, direct access, errors.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use oxmpi::op::{BitOr, Max, Sum};
use oxmpi::window::{LockKind, NoOp, Replace};

/// With memory that the ranks share, and with messages alone (which raw Ethernet has none of within
/// a host).
pub const BOTH_WAYS: [oxmpi_harness::Setting; 2] =
    [&[], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")]];

pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// The end of a window that is not freed.
fn let_go(_window: oxmpi::window::Window<'_, u8>) {}

/// The text after "call on rank r of n (host): ".
pub fn said<T: std::fmt::Debug>(result: oxmpi::Result<T>) -> String {
    let text = result.unwrap_err().to_string();
    let (_, said) = text.split_once("): ").expect("an error tells where");
    said.to_owned()
}

oxmpi_harness::ranks! {
    fn locks_are_guards([1, 3], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let window = world.window::<u64>(100).unwrap();
        assert_eq!((window.rank(), window.size(), window.length()), (me, size, 100));
        // Everybody adds to a number of rank 0, alone, by reading and writing it.
        for _ in 0..20 {
            let lock = window.lock(0).unwrap();
            let mut count = [0];
            lock.get(&mut count, 5).unwrap();
            lock.put(&[count[0] + 1], 5).unwrap();
            lock.unlock().unwrap();
        }
        // And to another one, atomically, together.
        let lock = window.lock_shared(size - 1).unwrap();
        for _ in 0..20 {
            lock.fetch_add(2, 6).unwrap();
        }
        lock.accumulate(&[1, 1 << me], 7, BitOr).unwrap();
        assert_eq!(lock.rank(), size - 1);
        drop(lock);
        world.barrier().unwrap();
        let lock = window.lock_shared(0).unwrap();
        assert_eq!(lock.load(5).unwrap(), 20 * u64::from(size));
        drop(lock);
        let lock = window.lock_shared(size - 1).unwrap();
        assert_eq!(lock.load(6).unwrap(), 40 * u64::from(size));
        let mut bits = [0; 2];
        lock.get_accumulate(&[], &mut bits, 7, NoOp).unwrap();
        assert_eq!(bits, [1, (1 << size) - 1]);
        drop(lock);
        world.barrier().unwrap();
        if me == 0 {
            let lock = window.lock(size - 1).unwrap();
            assert_eq!(lock.swap(9, 0).unwrap(), 0);
            assert_eq!(lock.compare_and_swap(8, 1, 0).unwrap(), 9);
            assert_eq!(lock.compare_and_swap(9, 10, 0).unwrap(), 9);
            lock.store(11, 1).unwrap();
            assert_eq!(lock.fetch_and_op(7, 1, Max).unwrap(), 11);
            lock.flush().unwrap();
            assert_eq!((lock.load(0).unwrap(), lock.load(1).unwrap()), (10, 11));
        }
        window.free().unwrap();
    }

    fn fences_are_scopes([1, 2, 4], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let (right, left) = ((me + 1) % size, (me + size - 1) % size);
        for length in [1, 5000] {
            let window = world.window::<f64>(3 * length).unwrap();
            let data = vec![f64::from(me); length];
            let (mut seen, mut before) = (vec![-1.0; length], vec![-1.0; length]);
            window.fence(|epoch| epoch.put(&data, right, 0)).unwrap();
            window
                .fence(|epoch| {
                    epoch.get(&mut seen, me, 0)?;
                    for rank in 0..size {
                        epoch.accumulate(&data, rank, length, Sum)?;
                    }
                    epoch.get_accumulate(&data, &mut before, right, 2 * length, Replace)
                })
                .unwrap();
            assert!(seen.iter().all(|number| *number == f64::from(left)));
            assert!(before.iter().all(|number| *number == 0.0));
            let mut lock = window.lock(me).unwrap();
            let memory = lock.as_mut_slice().unwrap();
            let sum = f64::from(size * (size - 1) / 2);
            assert!(memory[length..2 * length].iter().all(|number| *number == sum));
            assert!(memory[2 * length..].iter().all(|number| *number == f64::from(left)));
            drop(lock);
            window.free().unwrap();
        }
    }

    fn exposed_memory_is_accessed([2, 3], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let window = world.window_of(vec![0u32; 8]).unwrap();
        let others: Vec<u32> = (0..size).filter(|rank| *rank != me).collect();
        let data = [me + 1];
        for _ in 0..5 {
            let exchange = || {
                window.access(&others, |epoch| {
                    others.iter().try_for_each(|rank| epoch.put(&data, *rank, me as usize))
                })
            };
            window.expose(&others, exchange).unwrap();
        }
        let memory = window.into_memory().unwrap();
        for rank in others {
            assert_eq!(memory[rank as usize], rank + 1);
        }
        assert_eq!(memory[me as usize], 0);
    }

    fn transfers_are_futures([2, 3], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        for length in [3, 40_000] {
            let window = world.window::<i32>(length * size as usize).unwrap();
            let data = vec![me as i32 + 1; length];
            let mut back = vec![0; length];
            let mut old = vec![7; length];
            window
                .lock_all(|epoch| {
                    let right = (me + 1) % size;
                    let at = me as usize * length;
                    let exchange = async {
                        epoch.rput(&data, right, at)?.await?;
                        epoch.flush(right)?;
                        epoch.rget(&mut back, right, at)?.await?;
                        epoch.raccumulate(&data, right, at, Sum)?.await?;
                        epoch.rget_accumulate(&[], &mut old, right, at, NoOp)?.await
                    };
                    block_on(exchange)?;
                    epoch.flush_all()?;
                    assert_eq!(epoch.load(right, at)?, 2 * (me as i32 + 1));
                    assert_eq!(epoch.compare_and_swap(-1, 0, right, at)?, 2 * (me as i32 + 1));
                    // One that nobody waits for: the scope's end does.
                    drop(epoch.rput(&data, right, at)?);
                    Ok(())
                })
                .unwrap();
            assert_eq!(back, data);
            assert!(old.iter().all(|number| *number == 2 * (me as i32 + 1)));
            let mut whole = vec![0; length];
            let (right, at) = ((me + 1) % size, me as usize * length);
            let get = window.locked(LockKind::Shared, right, |epoch| {
                let mut transfer = epoch.rget(&mut whole, right, at)?;
                while !transfer.test()? {}
                transfer.wait()
            });
            get.unwrap();
            assert_eq!(whole, data);
            window.free().unwrap();
        }
    }

    fn memory_of_a_host_is_a_slice([1, 3], [oxmpi_harness::ONE_HOST]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let window = world.shared_window::<u16>(7).unwrap();
        for rank in 0..size {
            assert!(window.is_mapped(rank).unwrap());
            for _ in 0..50 {
                let mut lock = window.lock(rank).unwrap();
                lock.as_mut_slice().unwrap().iter_mut().for_each(|number| *number += 1);
            }
        }
        world.barrier().unwrap();
        let mut lock = window.lock(me).unwrap();
        assert_eq!(lock.as_mut_slice().unwrap(), [50 * size as u16; 7]);
        drop(lock);
        window.free().unwrap();
    }

    fn wrong_accesses_are_errors_and_nothing_is_broken([2], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let me = world.rank();
        let window = world.window::<u32>(10).unwrap();
        assert!(said(window.lock(2)).starts_with("target rank 2 does not exist: the window has 2 rank(s)"));
        assert!(said(window.is_mapped(2)).starts_with("target rank 2 does not exist"));
        let lock = window.lock_shared(1).unwrap();
        assert!(said(window.lock(1)).starts_with("rank 1 is locked by this process already"));
        let outside = said(lock.put(&[0; 3], 8));
        assert!(outside.starts_with("the access to rank 1 covers bytes 32 to 44 of its window, which has 40"), "{outside}");
        assert!(said(lock.get(&mut [0], usize::MAX)).contains("window"));
        assert!(said(lock.fetch_add(1, 10)).contains("covers bytes 40 to 44"));
        assert!(said(lock.compare_and_swap(1, 1, 10)).contains("covers bytes 40 to 44"));
        assert!(said(lock.get_accumulate(&[1], &mut [0; 2], 0, Sum)).starts_with("the origin describes 4 bytes and the target 8"));
        assert!(said(window.fence(|_| Ok(()))).contains("holds a lock"));
        assert!(said(window.expose(&[0], || Ok(()))).contains("holds a lock"));
        // All of it has done nothing, and the lock works.
        assert_eq!(lock.load(9).unwrap(), 0);
        drop(lock);
        assert!(said(window.access(&[5], |_| Ok(()))).starts_with("target rank 5 does not exist"));
        window
            .fence(|epoch| {
                assert!(said(window.lock(0)).contains("between two fences"));
                assert!(said(window.fence(|_| Ok(()))).contains("between two fences"));
                assert!(said(epoch.put(&[1; 11], 0, 0)).contains("covers bytes 0 to 44"));
                assert!(said(epoch.put(&[1], 7, 0)).starts_with("target rank 7"));
                epoch.accumulate(&[1], 0, 3, Sum)
            })
            .unwrap();
        // The body's own error ends the epoch on all ranks.
        let failed = window.fence(|epoch| epoch.put(&[1; 11], 0, 0));
        assert!(said(failed).contains("covers bytes"));
        let lock = window.lock(0).unwrap();
        assert_eq!(lock.load(3).unwrap(), 2);
        drop(lock);
        if me == 0 && !window.is_mapped(1).unwrap() {
            let mut lock = window.lock(1).unwrap();
            assert!(said(lock.as_mut_slice()).starts_with("ranks 0 and 1 do not share memory"));
        }
        window.free().unwrap();
    }

    fn a_window_that_is_dropped_goes_on_serving([2], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let window = world.window::<u8>(64).unwrap();
        if world.rank() == 1 {
            let_go(window);
            world.recv(&mut [0u8], 0, 1).unwrap();
            return;
        }
        let lock = window.lock(1).unwrap();
        lock.put(&[3; 64], 0).unwrap();
        let mut back = [0; 64];
        lock.get(&mut back, 0).unwrap();
        assert_eq!(back, [3; 64]);
        lock.unlock().unwrap();
        world.send(&[0u8], 1, 1).unwrap();
    }
}
