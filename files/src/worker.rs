//! A thread that accesses files while the program computes and messages move.
//!
//! There is one in a process that needs it. It calls the engine only to rouse those who wait, and
//! only for jobs of a background task, during which the engine expects calls of other threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use oxmpi_core::process::Process;

type Job = Box<dyn FnOnce() + Send>;

/// The job has not ended; it has, and waiting threads are being roused; all of that is over.
const RUNNING: u8 = 0;
const ENDED: u8 = 1;
const LEFT: u8 = 2;

struct State<T> {
    stage: AtomicU8,
    result: Mutex<Option<T>>,
}

/// The end of a job.
pub(crate) struct Offloaded<T>(Arc<State<T>>);

/// Runs `job` on the thread for files; the future is over when the job is. To be called from a
/// background task only.
pub(crate) fn offload<T: Send + 'static>(
    process: &Arc<Process>,
    job: impl FnOnce() -> T + Send + 'static,
) -> Offloaded<T> {
    let state = Arc::new(State {
        stage: AtomicU8::new(RUNNING),
        result: Mutex::new(None),
    });
    let process_expects_threads = process.expects_threads();
    let (shared, process) = (state.clone(), process.clone());
    let work: Job = Box::new(move || {
        let result = job();
        *shared.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        // Pairs with the acquire in `poll`.
        shared.stage.store(ENDED, Ordering::Release);
        process.rouse();
        shared.stage.store(LEFT, Ordering::Release);
    });
    match thread().filter(|_| process_expects_threads) {
        Some(queue) => match queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(work)
        {
            Ok(()) => {}
            Err(rejected) => (rejected.0)(),
        },
        // No thread can be had, or none may call the engine: the caller does the work.
        None => work(),
    }
    Offloaded(state)
}

fn thread() -> Option<&'static Mutex<Sender<Job>>> {
    static QUEUE: OnceLock<Option<Mutex<Sender<Job>>>> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let old = crate::sys::block_signals();
        let thread = std::thread::Builder::new().name("oxmpi-files".into());
        let started = thread.spawn(move || jobs.into_iter().for_each(|job| job()));
        crate::sys::restore_signals(&old);
        started.ok().map(|_| Mutex::new(sender))
    });
    queue.as_ref()
}

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let state = &self.0;
        if state.stage.load(Ordering::Acquire) == RUNNING {
            return Poll::Pending;
        }
        // The engine must not be told that nobody else calls it while the thread is still in there.
        while state.stage.load(Ordering::Acquire) != LEFT {
            std::thread::yield_now();
        }
        let result = state
            .result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Poll::Ready(result.expect("the result of a job is taken once"))
    }
}
