//! Requests as futures, with an executor of a few lines: nothing about them is bound to one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Wakes the thread that runs the future, and counts.
struct Unpark {
    thread: Thread,
    wakes: AtomicUsize,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// Runs a future on this thread, asleep until it is woken. Gives the number of wakes too.
pub fn block_on<F: Future>(future: F) -> (F::Output, usize) {
    let unpark = Arc::new(Unpark {
        thread: std::thread::current(),
        wakes: AtomicUsize::new(0),
    });
    let waker = Waker::from(unpark.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return (output, unpark.wakes.load(Ordering::Relaxed));
        }
        std::thread::park();
    }
}

oxmpi_harness::ranks! {
    fn a_request_can_be_awaited([2], [&[], &[("OXMPI_DRIVER", "off")]]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let peer = 1 - world.rank();
        let outgoing = vec![world.rank(); 100_000];
        let mut incoming = vec![9u32; 100_000];
        oxmpi::scope(|s| {
            let exchange = async {
                let receive = world.irecv(s, &mut incoming, peer, 0)?;
                let send = world.isend(s, &outgoing, peer, 0)?;
                let status = receive.await?;
                send.await?;
                oxmpi::Result::Ok(status)
            };
            let (status, _) = block_on(exchange);
            assert_eq!(status?.count::<u32>(), Some(100_000));
            Ok(())
        })
        .unwrap();
        assert!(incoming.iter().all(|&x| x == peer));
    }

    fn a_sleeping_executor_is_woken([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let mut data = [0u8];
            oxmpi::scope(|s| {
                let request = world.irecv(s, &mut data, 1, 0)?;
                let (status, wakes) = block_on(request);
                assert!(wakes >= 1, "nobody woke it, so it did not sleep");
                status
            })
            .unwrap();
            assert_eq!(data, [1]);
        } else {
            std::thread::sleep(std::time::Duration::from_millis(300));
            world.send(&[1u8], 0, 0).unwrap();
        }
    }

    fn futures_move_between_threads([2]) {
        let mpi = oxmpi::init_with::<oxmpi::thread::Multiple>().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let mut data = [[0u8]; 8];
            oxmpi::scope(|s| {
                let mut requests = Vec::new();
                for (i, data) in data.iter_mut().enumerate() {
                    requests.push(world.irecv(s, data, 1, i as i32)?);
                }
                std::thread::scope(|threads| {
                    for request in requests {
                        threads.spawn(|| block_on(request).0.unwrap());
                    }
                });
                Ok(())
            })
            .unwrap();
            assert!(data.iter().enumerate().all(|(i, data)| data[0] == i as u8));
        } else {
            for i in (0..8u8).rev() {
                std::thread::sleep(std::time::Duration::from_millis(5));
                world.send(&[i], 0, i32::from(i)).unwrap();
            }
        }
    }
}
