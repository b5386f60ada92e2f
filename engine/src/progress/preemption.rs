//! Whether another thread has had this one's CPU: how much of the time between two looks this
//! thread was ready to run and did not.
//!
//! A hole in a spinner's own time is the same thing seen from inside, but it is seen only if
//! nothing has arrived meanwhile, and for who was away for long, something has. The kernel knows
//! better: it counts preemptions, and the time that a thread has run.

use std::time::{Duration, Instant};

/// What the kernel says of this thread at some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    thread: usize,
    at: Instant,
    ran: Duration,
    preemptions: i64,
}

/// A sample that is older says nothing of now.
const AGE_MAX: Duration = Duration::from_millis(500);

impl Sample {
    /// Two short system calls.
    pub fn take(at: Instant) -> Sample {
        let (ran, preemptions) = ask();
        Sample {
            thread: this_thread(),
            at,
            ran,
            preemptions,
        }
    }

    /// How long others had the CPU between an earlier sample and this one; nothing if this thread
    /// gave it away itself, as far as that can be told, or if the earlier sample is of another
    /// thread.
    pub fn lost_since(&self, before: &Sample) -> Duration {
        let passed = self.at.saturating_duration_since(before.at);
        let comparable = self.thread == before.thread && passed <= AGE_MAX;
        if !comparable || self.preemptions == before.preemptions {
            return Duration::ZERO;
        }
        passed.saturating_sub(self.ran.saturating_sub(before.ran))
    }
}

/// Tells threads apart that exist at the same time; cheaper than any name that they have.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// Time that this thread has run, and how often it was preempted.
#[allow(unsafe_code)]
fn ask() -> (Duration, i64) {
    // SAFETY: both structures are plain numbers, for which zeros are values, and the kernel writes
    // no more than them.
    unsafe {
        let mut ran: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut ran);
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        let ran = Duration::new(ran.tv_sec as u64, ran.tv_nsec as u32);
        (ran, usage.ru_nivcsw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Instant, after_ms: u64, ran_ms: u64, preemptions: i64) -> Sample {
        Sample {
            thread: 1,
            at: at + Duration::from_millis(after_ms),
            ran: Duration::from_millis(ran_ms),
            preemptions,
        }
    }

    #[test]
    fn only_time_taken_by_others_is_lost() {
        let now = Instant::now();
        let before = sample(now, 0, 70, 3);
        let lost = |after, ran, preemptions| {
            let lost = sample(now, after, ran, preemptions).lost_since(&before);
            lost.as_millis()
        };
        assert_eq!(lost(10, 74, 4), 6);
        assert_eq!(lost(10, 74, 3), 0, "it slept");
        assert_eq!(lost(1000, 74, 9), 0, "long ago");
        let of_another = Sample {
            thread: 2,
            ..sample(now, 10, 3, 9)
        };
        assert_eq!(of_another.lost_since(&before), Duration::ZERO);
    }

    #[test]
    fn threads_are_told_apart() {
        assert_eq!(this_thread(), this_thread());
        std::thread::scope(|scope| {
            let here = this_thread();
            scope.spawn(move || assert_ne!(this_thread(), here));
        });
    }

    #[test]
    fn the_kernel_answers() {
        let begin = Instant::now();
        let first = Sample::take(begin);
        while begin.elapsed() < Duration::from_millis(5) {}
        let second = Sample::take(Instant::now());
        assert!(second.ran > first.ran && second.preemptions >= first.preemptions);
    }
}
