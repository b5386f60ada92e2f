//! Real processes for tests: the test's own binary started again in another role, on a shared
//! segment.
//!
//! A test asks [`role`] first: in a child it plays its part and exits, in the parent it starts a
//! [`Job`]. Children die with the parent, and a job that is dropped leaves none behind.
#![allow(dead_code, reason = "each test file uses its share")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use oxmpi_ports::{Death, Segment};

const PORT: &str = "OXMPI_TEST_PORT";
const SEED: &str = "OXMPI_TEST_CHILD_SEED";
const SEGMENT: &str = "OXMPI_TEST_SEGMENT";

/// Rounds of a random test: few by default, many with `OXMPI_TEST_LONG=1`.
pub fn rounds(short: u64, long: u64) -> u64 {
    if std::env::var_os("OXMPI_TEST_LONG").is_some() {
        long
    } else {
        short
    }
}

/// The first seed of a random test: the time, or `OXMPI_TEST_SEED` to replay a failure.
pub fn first_seed() -> u64 {
    match std::env::var("OXMPI_TEST_SEED") {
        Ok(seed) => seed.parse().expect("OXMPI_TEST_SEED is a number"),
        Err(_) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("the clock is past 1970").as_nanos() as u64 % 1_000_000_000
        }
    }
}

/// Numbers by seed (xorshift64*): good enough to choose sizes and moments.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % end
    }

    /// A length that is often small, sometimes at a limit, seldom large: up to `max`.
    pub fn length(&mut self, max: u64) -> usize {
        let length = match self.below(8) {
            0 => 0,
            1..=3 => self.below(64),
            4 | 5 => self.below(2000),
            6 => [23, 24, 25, 48, 56, 64, 65, 4096, max][self.below(9) as usize],
            _ => self.below(max + 1),
        };
        length.min(max) as usize
    }
}

/// What a child is.
pub struct Role {
    /// Its port.
    pub port: u32,
    /// The seed its parent chose.
    pub seed: u64,
    /// The segment, as it was handed over.
    pub segment: OwnedFd,
}

/// The role of this process, if it is a child.
pub fn role() -> Option<Role> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let fd = number(SEGMENT)? as i32;
    Some(Role {
        port: number(PORT)? as u32,
        seed: number(SEED)?,
        // SAFETY: the parent handed this descriptor over for us alone, and tests ask for their role
        // once.
        segment: unsafe { OwnedFd::from_raw_fd(fd) },
    })
}

/// Processes on one segment.
pub struct Job {
    /// What they share.
    pub segment: Segment,
    children: Vec<Option<Child>>,
    seed: u64,
}

impl Job {
    /// Starts `size` processes that play test `name`, with further environment.
    pub fn start(name: &str, size: u32, seed: u64, environment: &[(&str, &str)]) -> Self {
        let segment = Segment::create(size, 2).expect("memory for a segment");
        let fd = segment.fd().as_raw_fd();
        let start = |port: u32| {
            let mut command = Command::new(std::env::current_exe().expect("our own path"));
            command
                .args(["--exact", name, "--nocapture", "--test-threads=1"])
                .env(PORT, port.to_string())
                .env(SEED, seed.to_string())
                .env(SEGMENT, fd.to_string())
                .envs(environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            // SAFETY: both calls are async-signal-safe. The child dies with the thread that started
            // it, which waits for it.
            unsafe {
                command.pre_exec(move || {
                    libc::fcntl(fd, libc::F_SETFD, 0);
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    Ok(())
                });
            }
            Some(command.spawn().expect("the test binary starts"))
        };
        Self {
            children: (0..size).map(start).collect(),
            segment,
            seed,
        }
    }

    /// Waits until `done` says so; gives up after five minutes.
    pub fn until(&self, what: &str, mut done: impl FnMut(&Segment) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(300);
        while !done(&self.segment) {
            assert!(
                Instant::now() < deadline,
                "seed {}: no {what} after 300 s",
                self.seed
            );
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Waits until every process has moved into its port.
    pub fn until_attached(&self) {
        self.until("attachment of everybody", |segment| {
            (0..segment.ports()).all(|port| segment.state(port) != oxmpi_ports::PortState::Empty)
        });
    }

    /// Kills the process in `port` and records its death, as a launcher does.
    pub fn kill(&mut self, port: u32) {
        let mut child = self.children[port as usize]
            .take()
            .expect("it has not ended yet");
        child.kill().expect("our own child can be killed");
        let status = child.wait().expect("our own child can be waited for");
        // It may have been faster than the signal.
        if let Some(signal) = status.signal() {
            self.segment.mark_dead(port, Death::Signal(signal));
        }
    }

    /// Waits until everybody has ended well within `limit`.
    pub fn finish(mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        for port in 0..self.children.len() {
            let Some(child) = &mut self.children[port] else {
                continue;
            };
            let status: ExitStatus = loop {
                if let Some(status) = child.try_wait().expect("our own child") {
                    break status;
                }
                assert!(
                    Instant::now() < deadline,
                    "seed {}: the process in port {port} has not ended after {limit:?} (replay with OXMPI_TEST_SEED={})",
                    self.seed,
                    self.seed
                );
                std::thread::sleep(Duration::from_micros(300));
            };
            assert!(
                status.success(),
                "seed {}: the process in port {port} ended with {status} (replay with OXMPI_TEST_SEED={})",
                self.seed,
                self.seed
            );
            self.children[port] = None;
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
