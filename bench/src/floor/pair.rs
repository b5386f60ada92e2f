//! Two processes, pinned, with memory they both map: the ground every floor stands on.
//!
//! `run` forks; the child is the peer and leaves through `_exit`, the parent measures. The child
//! must not allocate or lock, because a fork copies only the calling thread: closures given as
//! `peer` touch shared memory, memory allocated before the fork, and system calls, nothing else.
//! The kernel kills the child when its parent dies. Waiting spins, or yields when both processes
//! have to share a CPU, and gives up on a silent peer after `SILENCE_S_MAX` instead of hanging.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

/// Lines are spaced by two cache lines, because the adjacent-line prefetcher of Intel's cores
/// fetches pairs.
pub const LINE_BYTES: usize = 128;

/// A peer that has not answered for this long is taken for dead; the longest step of any floor is
/// milliseconds.
const SILENCE_S_MAX: u64 = 10;

/// Polls between two looks at the clock; about 0.1 s when spinning, so the clock never shows in a
/// figure.
const POLLS_PER_CLOCK: u32 = 1 << 24;

/// Yields between two looks at the clock: a yield is a system call, a microsecond when somebody
/// else runs.
const YIELDS_PER_CLOCK: u32 = 1 << 16;

/// Why a bare mechanism could not be measured.
#[derive(Debug, Error)]
pub enum FloorError {
    /// The machine has no memory for the pair.
    #[error(
        "no shared memory of {bytes} bytes for a floor: {source}; lower the memory limit's pressure and retry"
    )]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The second process could not be made.
    #[error("cannot start the second process of a floor: {0}; check the process limit (ulimit -u)")]
    Fork(io::Error),
    /// A CPU of the affinity mask refused us.
    #[error(
        "cannot pin a floor's process to CPU {cpu}: {source}; check the affinity mask (taskset -p $$)"
    )]
    Pin {
        /// The CPU.
        cpu: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The peer stopped answering.
    #[error(
        "the second process of a floor was silent for {SILENCE_S_MAX} s; was it killed? run the floor again"
    )]
    Silent,
    /// The kernel refuses to read another process's memory.
    #[error(
        "process_vm_readv of {bytes} bytes from process {pid} failed: {source}; a container or Yama may forbid it"
    )]
    Readv {
        /// Length asked for.
        bytes: usize,
        /// The process read from.
        pid: i32,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Where the two processes of a floor run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// CPU of the measuring process.
    pub this: usize,
    /// CPU of its peer; equal to `this` when both share one.
    pub peer: usize,
}

impl Cpus {
    /// The first two CPUs of the affinity mask, or the only one twice.
    pub fn usable() -> Cpus {
        let list = usable_cpus();
        let this = list.first().copied().unwrap_or(0);
        Cpus {
            this,
            peer: list.get(1).copied().unwrap_or(this),
        }
    }

    /// Both processes on the first of the two.
    pub fn one_core(self) -> Cpus {
        Cpus {
            this: self.this,
            peer: self.this,
        }
    }

    /// Whether both processes share a CPU.
    pub fn shared(self) -> bool {
        self.this == self.peer
    }
}

/// CPUs that this process may run on, in order.
pub fn usable_cpus() -> Vec<usize> {
    let set = affinity();
    // SAFETY: CPU_ISSET only reads inside the set, and the index stays below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

fn affinity() -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is a plain bit field; the kernel writes at most the size it is given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    }
}

/// Pins the calling thread to one CPU.
pub fn pin(cpu: usize) -> Result<(), FloorError> {
    // SAFETY: the set lives on this stack and CPU_SET checks its bound.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(FloorError::Pin {
            cpu,
            source: io::Error::last_os_error(),
        })
    }
}

/// Anonymous memory, shared with a later fork (`shared`) or private to each process.
pub struct Memory {
    base: NonNull<u8>,
    bytes: usize,
}

impl Memory {
    /// Memory both processes see: pages of a memfd, as a port's are.
    pub fn shared(bytes: usize) -> Result<Memory, FloorError> {
        let failed = |source| FloorError::Memory { bytes, source };
        // SAFETY: the name is a C string; the descriptor is used and closed here only.
        unsafe {
            let fd = libc::memfd_create(c"oxmpi-floor".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(failed(io::Error::last_os_error()));
            }
            if libc::ftruncate(fd, bytes as libc::off_t) != 0 {
                let error = io::Error::last_os_error();
                libc::close(fd);
                return Err(failed(error));
            }
            let memory = Memory::map(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, fd);
            libc::close(fd);
            memory
        }
    }

    /// Memory that a fork copies on write: what an application's own buffer is.
    pub fn private(bytes: usize) -> Result<Memory, FloorError> {
        Memory::map(
            bytes,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
            -1,
        )
    }

    fn map(bytes: usize, flags: i32, fd: i32) -> Result<Memory, FloorError> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(FloorError::Memory {
                bytes,
                source: io::Error::last_os_error(),
            });
        }
        let base = NonNull::new(base.cast()).expect("mmap succeeded, so the address is not null");
        Ok(Memory { base, bytes })
    }

    /// Address of the byte at `offset`, of which `bytes` are in bounds.
    #[inline]
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset + bytes <= self.bytes,
            "a floor reached beyond its memory"
        );
        // SAFETY: just checked to lie inside the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The word at the start of line `index`.
    #[inline]
    pub fn line(&self, index: usize) -> &AtomicU64 {
        // SAFETY: in bounds (checked), aligned because mappings are page-aligned, and only ever
        // used as an atomic.
        unsafe { &*self.at(index * LINE_BYTES, 8).cast::<AtomicU64>() }
    }

    /// Writes every byte, so that no page fault and no copy-on-write is left for the measurement.
    pub fn touch(&self, value: u8) {
        // SAFETY: the whole mapping is ours to write; a racing peer sees bytes, never references.
        unsafe { self.base.as_ptr().write_bytes(value, self.bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and no reference outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// How a process of the pair waits.
#[derive(Clone, Copy)]
pub struct Waiting {
    yields: bool,
}

impl Waiting {
    /// Until `ready` says so, or the peer has been silent for too long.
    #[inline]
    pub fn until(self, mut ready: impl FnMut() -> bool) -> Result<(), FloorError> {
        let mut began: Option<Instant> = None;
        loop {
            for _ in 0..if self.yields {
                YIELDS_PER_CLOCK
            } else {
                POLLS_PER_CLOCK
            } {
                if ready() {
                    return Ok(());
                }
                if self.yields {
                    // SAFETY: a system call without arguments.
                    unsafe { libc::sched_yield() };
                } else {
                    std::hint::spin_loop();
                }
            }
            if began.get_or_insert_with(Instant::now).elapsed() > Duration::from_secs(SILENCE_S_MAX)
            {
                return Err(FloorError::Silent);
            }
        }
    }
}

/// Forks; runs `peer` in the child on one CPU and `this` here on the other, and gives back what
/// `this` found. `this` receives the child's process id.
pub fn run<R>(
    cpus: Cpus,
    peer: impl FnOnce(Waiting) -> Result<(), FloorError>,
    this: impl FnOnce(Waiting, i32) -> Result<R, FloorError>,
) -> Result<R, FloorError> {
    let waiting = Waiting {
        yields: cpus.shared(),
    };
    let before = affinity();
    // SAFETY: the child runs only `peer`, which keeps the promise in the file's header, and
    // `_exit`.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(FloorError::Fork(io::Error::last_os_error()));
    }
    if child == 0 {
        // SAFETY: both are plain system calls; `_exit` never returns and runs no destructor of the
        // parent's.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let fine = pin(cpus.peer).and_then(|()| peer(waiting)).is_ok();
            libc::_exit(i32::from(!fine));
        }
    }
    let found = pin(cpus.this).and_then(|()| this(waiting, child));
    // SAFETY: `before` came from the kernel; the child is ours, unreaped, and gone after the wait.
    unsafe {
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &before);
        if found.is_err() {
            libc::kill(child, libc::SIGKILL);
        }
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    found
}

/// The value that tells a peer to leave its loop.
pub const STOP: u64 = u64::MAX;

/// Tells a peer that waits on `line` to leave.
pub fn stop(line: &AtomicU64) {
    line.store(STOP, Ordering::Release);
}

/// Runs `body` with this thread, and every process it starts, confined to one CPU.
pub fn confined<R>(cpu: usize, body: impl FnOnce() -> R) -> Result<R, FloorError> {
    let before = affinity();
    pin(cpu)?;
    let result = body();
    // SAFETY: `before` came from the kernel for this very thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &before) };
    Ok(result)
}
