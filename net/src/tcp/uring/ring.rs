//! The ring of io_uring and the buffers that it receives into: all unsafe code of this home.
//!
//! A request is known by its token. Two kinds are made: a *standing* receive, which takes buffers
//! of the pool for as long as there are any, and a *long* receive, straight into the memory of a
//! message. What the kernel may still write is counted (`outstanding`), and no memory is let go
//! before that count says so.
//!
//! The kernel moves bytes in the thread that made a request, whenever that thread is inside the
//! kernel: in a call, at the end of an interrupt, or asleep. It interrupts no thread for it (the
//! flags below): on virtual machines an interrupt of another CPU costs more than the whole message.
//! A flag in shared memory says that there is something to move, so a thread that waits looks by a
//! load and calls only when there is.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, CancelBuilder, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use oxmpi_wire::stream::HEAD_MAX;

/// Buffers of a process, and bytes of each. More than one task of the kernel takes them in one go,
/// so that a fast sender does not run through all of them while nobody looks.
const BUFFERS: u16 = 32;
const BUFFER_BYTES: usize = 16 << 10;
/// In front of each there is room for a head that began in the buffer before; a cache line.
pub(super) const HEADROOM: usize = 64;
const _: () = assert!(HEADROOM >= HEAD_MAX);
/// The only group of buffers.
const GROUP: u16 = 0;
/// Requests that are given to the kernel in one call.
const SUBMISSIONS: u32 = 256;
/// Completions that may wait; the kernel keeps further ones elsewhere, and says so.
const COMPLETIONS_MIN: u32 = 1024;
/// Ask for completions; from the kernel's header.
const ENTER_GETEVENTS: u32 = 1;
/// The token of requests whose answer does not matter.
const UNHEARD: u64 = 0;
/// How long the end waits for a thread that has to let go of memory before that memory is left to
/// the kernel for good.
const LETTING_GO: Duration = Duration::from_secs(20);

/// io_uring cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// There is none.
    #[error(
        "the kernel of this host has no io_uring, or a sandbox hides it (containers often forbid it by seccomp)"
    )]
    Missing,
    /// It is not for this user.
    #[error("the kernel refuses io_uring to this process: {why} ({error})")]
    Refused {
        /// What forbids it.
        why: &'static str,
        /// The kernel's word.
        error: io::Error,
    },
    /// Not all that is needed.
    #[error("the kernel of this host is too old, Linux 6.0 is needed ({0})")]
    Old(io::Error),
    /// No memory, or another limit.
    #[error(
        "io_uring cannot be set up: {0}; limits of memory (ulimit -l, cgroup) and of open files may be the reason"
    )]
    System(io::Error),
}

fn why_refused() -> &'static str {
    let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    match setting.as_deref().map(str::trim) {
        Ok("1") => {
            "the sysctl kernel.io_uring_disabled is 1, only members of kernel.io_uring_group may"
        }
        Ok("2") => "the sysctl kernel.io_uring_disabled is 2",
        _ => "a sandbox forbids it (seccomp), as containers often do",
    }
}

impl RingError {
    fn of_setup(error: io::Error) -> RingError {
        match error.raw_os_error() {
            Some(libc::ENOSYS) => RingError::Missing,
            Some(libc::EPERM | libc::EACCES) => RingError::Refused {
                why: why_refused(),
                error,
            },
            Some(libc::EINVAL) => RingError::Old(error),
            _ => RingError::System(error),
        }
    }
}

/// What became of a request, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub token: u64,
    /// Bytes, or the negative of an error.
    pub result: i32,
    /// The buffer that has the bytes. Who takes the completion gives it back.
    pub buffer: Option<u16>,
    /// The request goes on.
    pub more: bool,
}

pub(super) struct Ring {
    io: IoUring,
    pool: Pool,
    /// Requests that have not ended.
    outstanding: usize,
    /// Completions that were passed over by who waited for a certain one.
    passed: VecDeque<Completion>,
    /// Calls.
    pub calls: u64,
}

impl Ring {
    /// A ring for about so many connections.
    pub fn open(connections: u32) -> Result<Ring, RingError> {
        let completions = connections.saturating_mul(2).max(COMPLETIONS_MIN);
        let io = IoUring::builder()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_clamp()
            .setup_cqsize(completions.next_power_of_two())
            .dontfork()
            .build(SUBMISSIONS)
            .map_err(RingError::of_setup)?;
        let pool = Pool::new().map_err(RingError::System)?;
        // SAFETY: the pool's ring has that many entries and lives until `drop` has seen the last
        // request end.
        unsafe {
            io.submitter()
                .register_buf_ring_with_flags(pool.entries as u64, BUFFERS, GROUP, 0)
                .map_err(RingError::of_setup)?;
        }
        let mut ring = Ring {
            io,
            pool,
            outstanding: 0,
            passed: VecDeque::new(),
            calls: 0,
        };
        ring.try_out().map_err(RingError::of_setup)?;
        Ok(ring)
    }

    /// Receives a byte by a standing receive, because nothing else says whether this kernel knows
    /// them, and whether each of the calls is permitted.
    fn try_out(&mut self) -> io::Result<()> {
        const TRIAL: u64 = 1;
        let (mut here, there) = UnixStream::pair()?;
        here.write_all(&[7])?;
        self.stand(there.as_raw_fd(), TRIAL);
        self.call()?;
        drop(here);
        let begun = Instant::now();
        loop {
            match self.next() {
                Some(one) if one.result < 0 => {
                    return Err(io::Error::from_raw_os_error(-one.result));
                }
                Some(one) => {
                    if let Some(buffer) = one.buffer {
                        self.pool.give_back(buffer);
                    }
                    if !one.more {
                        return Ok(());
                    }
                }
                None if begun.elapsed() > LETTING_GO => return Err(io::ErrorKind::TimedOut.into()),
                None => self.call()?,
            }
        }
    }

    pub fn fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }

    /// Receives whatever comes on a socket, each time into a buffer of the pool.
    pub fn stand(&mut self, socket: RawFd, token: u64) {
        let entry = opcode::RecvMulti::new(Fd(socket), GROUP).build();
        // SAFETY: its memory is that of the pool.
        unsafe { self.push(entry.user_data(token)) };
        self.outstanding += 1;
    }

    /// Receives `bytes` bytes to `into`, and then whatever comes as [`Ring::stand`] does, if all of
    /// them came.
    ///
    /// # Safety
    /// `into` must be valid for writing `bytes` bytes until the request with `token` has ended.
    pub unsafe fn receive(
        &mut self,
        socket: RawFd,
        token: u64,
        into: *mut u8,
        bytes: u32,
        then: u64,
    ) {
        let entry = opcode::Recv::new(Fd(socket), into, bytes)
            .flags(libc::MSG_WAITALL)
            .build()
            .flags(squeue::Flags::IO_LINK)
            .user_data(token);
        // A chain that is submitted in two calls is no chain.
        if self.io.submission().len() + 2 > SUBMISSIONS as usize {
            self.submit();
        }
        // SAFETY: the caller's promise.
        unsafe { self.push(entry) };
        self.outstanding += 1;
        self.stand(socket, then);
    }

    /// Asks to end a request. Its last completion follows.
    pub fn cancel(&mut self, token: u64) {
        let entry = opcode::AsyncCancel::new(token).build();
        // SAFETY: it has no memory.
        unsafe { self.push(entry.user_data(UNHEARD)) };
    }

    /// # Safety
    /// The memory of the request must stay until it has ended.
    unsafe fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: the caller's promise.
        while unsafe { self.io.submission().push(&entry) }.is_err() {
            self.submit();
        }
    }

    /// Gives the kernel what was asked for; what it does not take now is offered again later.
    pub fn submit(&mut self) {
        if !self.io.submission().is_empty() {
            self.calls += 1;
            let _ = self.io.submit();
        }
    }

    /// Whether a call would bring something.
    #[inline(always)]
    pub fn wants_call(&mut self) -> bool {
        let submission = self.io.submission();
        submission.taskrun() || !submission.is_empty() || submission.cq_overflow()
    }

    /// Gives the kernel what was asked for, and lets it move what there is to move for this thread.
    pub fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        let submissions = self.io.submission().len() as u32;
        // SAFETY: no argument; flags and counts are integers.
        let entered = unsafe {
            let submitter = self.io.submitter();
            submitter.enter::<libc::sigset_t>(submissions, 0, ENTER_GETEVENTS, None)
        };
        match entered {
            Err(error) if !is_passing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The next completion, if there is one.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Completion> {
        if !self.passed.is_empty() {
            return self.passed.pop_front();
        }
        self.reap()
    }

    /// Whether no completion waits.
    pub fn is_drained(&mut self) -> bool {
        self.passed.is_empty() && self.io.completion().is_empty()
    }

    #[inline(always)]
    fn reap(&mut self) -> Option<Completion> {
        loop {
            let entry = self.io.completion().next()?;
            if entry.user_data() == UNHEARD {
                continue;
            }
            let more = cqueue::more(entry.flags());
            self.outstanding -= usize::from(!more);
            return Some(Completion {
                token: entry.user_data(),
                result: entry.result(),
                buffer: cqueue::buffer_select(entry.flags()),
                more,
            });
        }
    }

    /// Waits for the end of a request that was cancelled; other completions wait meanwhile.
    pub fn await_end(&mut self, token: u64) {
        let ends = |one: &Completion| one.token == token && !one.more;
        if self.passed.iter().any(ends) {
            return;
        }
        let mut turns = 0u32;
        loop {
            while let Some(completion) = self.reap() {
                let ended = ends(&completion);
                self.passed.push_back(completion);
                if ended {
                    return;
                }
            }
            // The thread that made the request may have to come by first.
            let _ = self.call();
            turns += 1;
            if turns > 100 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    /// What a buffer holds becomes the scratch, behind [`HEADROOM`]; what was the scratch before is
    /// the kernel's again.
    pub fn lend(&mut self, buffer: u16, scratch: &mut Vec<u8>) {
        self.pool.lend(buffer, scratch);
    }

    /// Nobody wants what a buffer holds.
    pub fn give_back(&mut self, buffer: u16) {
        self.pool.give_back(buffer);
    }
}

/// Errors that another try mends: completions wait to be taken, memory is short, a signal came.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME)
    )
}

impl Drop for Ring {
    fn drop(&mut self) {
        let entry = opcode::AsyncCancel2::new(CancelBuilder::any().all()).build();
        // SAFETY: it has no memory.
        unsafe { self.push(entry.user_data(UNHEARD)) };
        self.passed.clear();
        let begun = Instant::now();
        while self.outstanding > 0 && begun.elapsed() < LETTING_GO {
            if self.call().is_err() {
                // Whoever forbids the call has it forbidden for good.
                break;
            }
            while self.reap().is_some() {}
            if begun.elapsed() > Duration::from_millis(1) {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        if self.outstanding > 0 {
            // The kernel may write there yet: better lost than given to somebody else.
            self.pool.leak();
        }
    }
}

/// Buffers that the kernel takes by itself, and the ring of their addresses.
struct Pool {
    /// By number. No slice of one that the kernel has is ever made.
    buffers: Vec<Vec<u8>>,
    entries: *mut BufRingEntry,
    tail: u16,
    /// The one whose memory is the scratch now; in its place lies what was the scratch before.
    lent: Option<u16>,
}

// SAFETY: `entries` is memory of its own, and only who has the pool writes there.
unsafe impl Send for Pool {}

/// Bytes of the ring of addresses.
const ENTRIES_BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();

impl Pool {
    fn new() -> io::Result<Pool> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever there is room.
        let entries =
            unsafe { libc::mmap(std::ptr::null_mut(), ENTRIES_BYTES, access, flags, -1, 0) };
        if entries == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut pool = Pool {
            buffers: vec![vec![0; HEADROOM + BUFFER_BYTES]; BUFFERS as usize],
            entries: entries.cast(),
            tail: 0,
            lent: None,
        };
        for buffer in 0..BUFFERS {
            pool.give_back(buffer);
        }
        Ok(pool)
    }

    fn give_back(&mut self, buffer: u16) {
        let memory = &mut self.buffers[usize::from(buffer)];
        let address = memory.as_mut_ptr().wrapping_add(HEADROOM) as u64;
        // SAFETY: the place is one of the ring's; the kernel reads it only below the tail.
        let (entry, tail) = unsafe {
            let entry = self.entries.add(usize::from(self.tail % BUFFERS));
            (entry, BufRingEntry::tail(self.entries))
        };
        // Field by field: the tail lies in an unused field of the first entry.
        // SAFETY: as above; nobody else has a reference to the entry.
        unsafe {
            (*entry).set_addr(address);
            (*entry).set_len(BUFFER_BYTES as u32);
            (*entry).set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: aligned, and written by nobody else. The kernel's acquire is the partner.
        unsafe { AtomicU16::from_ptr(tail.cast_mut()).store(self.tail, Ordering::Release) };
    }

    fn lend(&mut self, buffer: u16, scratch: &mut Vec<u8>) {
        if let Some(before) = self.lent.take() {
            std::mem::swap(scratch, &mut self.buffers[usize::from(before)]);
            self.give_back(before);
        }
        std::mem::swap(scratch, &mut self.buffers[usize::from(buffer)]);
        self.lent = Some(buffer);
    }

    fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.buffers));
        self.entries = std::ptr::null_mut();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.entries.is_null() {
            // SAFETY: from mmap, and the ring that knew it has no request left.
            unsafe { libc::munmap(self.entries.cast(), ENTRIES_BYTES) };
        }
    }
}
