//! Other programs on the machine while a benchmark runs: threads that compute, all the time or in
//! bursts. The library is not told of them and has to notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A bursty neighbour computes for so long, then sleeps for as long: a few time slices, so that the
/// library meets both states several times in every repetition.
const BURST: Duration = Duration::from_millis(10);

/// What the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// So many threads compute.
    Busy(usize),
    /// One thread computes half of the time.
    Bursty,
}

impl Load {
    /// As rows of a table name it.
    pub fn name(self) -> String {
        match self {
            Load::Busy(1) => "one busy neighbour".to_owned(),
            Load::Busy(threads) => format!("{threads} busy neighbours"),
            Load::Bursty => "a bursty neighbour".to_owned(),
        }
    }
}

/// Neighbours that compute until they are dropped.
pub struct Neighbours {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    /// Starts them.
    pub fn start(load: Load) -> Neighbours {
        let over = Arc::new(AtomicBool::new(false));
        let (threads, pause) = match load {
            Load::Busy(threads) => (threads, Duration::ZERO),
            Load::Bursty => (1, BURST),
        };
        let threads = (0..threads)
            .map(|_| {
                let over = over.clone();
                thread::spawn(move || compute(&over, pause))
            })
            .collect();
        Neighbours { over, threads }
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a neighbour only computes");
        }
    }
}

fn compute(over: &AtomicBool, pause: Duration) {
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        while begin.elapsed() < BURST {
            std::hint::black_box((0..1000_u64).fold(0, |sum, n| sum ^ (n * n)));
        }
        thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_end_when_they_are_dropped() {
        for load in [Load::Busy(2), Load::Bursty] {
            let neighbours = Neighbours::start(load);
            let over = neighbours.over.clone();
            drop(neighbours);
            assert_eq!(Arc::strong_count(&over), 1, "{}", load.name());
        }
    }
}
