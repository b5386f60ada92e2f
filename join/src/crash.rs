//! What a rank says when it crashes, so that its launcher can print a backtrace.
//!
//! The launcher hands a datagram socket down to the ranks of its host. A rank that receives one of
//! [`SIGNALS`] sends its registers, the top of its stack and the list of what is mapped where, and
//! then dies of the same signal, at the same place, as if nobody had listened: a core file, and
//! what a shell sees, are unchanged. Everything else (finding the frames, their names and lines)
//! happens in the launcher, which is in good health.
//!
//! The handler allocates nothing, takes no lock and never waits longer than `BYSTANDER_WAIT_MAX`. A
//! program that handles a signal itself keeps its handler: runtimes of Fortran, Julia and Java do,
//! and that of Rust for SIGSEGV and SIGBUS.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{IntoRawFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use crate::sys;

/// What counts as a crash.
pub const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];

/// Of the stack: some hundred frames of ordinary functions.
const STACK_BYTES_MAX: usize = 256 * 1024;
/// Of /proc/self/maps: two thousand lines.
const MAPS_BYTES_MAX: usize = 256 * 1024;
/// Of either in one datagram; a multiple of every page size up to 16 KiB.
const PIECE_BYTES: usize = 16 * 1024;
/// The alternate stack that a thread without one gets: the kernel's frame with all registers of
/// vectors and matrices takes up to 12 KiB. Others may be as small as 8 KiB (Rust's runtime makes
/// those), so what the handler itself puts on its stack is some hundred bytes.
const ALTERNATE_STACK_BYTES: usize = 64 * 1024;
/// How long a crash may take to be told, altogether; a launcher that does not listen is left alone.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// How long a thread that crashes while another one tells its crash waits for the process's death:
/// longer than the telling may take, so that the first crash decides which signal ends the process.
const BYSTANDER_WAIT_MAX: Duration = Duration::from_secs(4);

/// The largest datagram.
pub const DATAGRAM_BYTES_MAX: usize = size_of::<Head>() + PIECE_BYTES;

/// The signal was sent (abort, kill) and nothing was accessed, or the processor does not say what.
pub const NO_ADDRESS: u64 = u64::MAX;

/// What begins every datagram. Both ends are of one version, on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Head {
    /// One of the constants of [`kind`].
    pub kind: u32,
    /// The rank whose process, or whose child, has crashed.
    pub rank: u32,
    /// The process.
    pub process: u32,
    /// The signal.
    pub signal: u32,
    /// Where the bytes of a piece of the stack were; the address of the failed access, or
    /// [`NO_ADDRESS`], for [`kind::REGISTERS`].
    pub address: u64,
    /// Program counter, stack pointer, frame pointer, link register (0 where there is none).
    pub registers: [u64; 4],
}

/// Kinds of datagrams, in the order in which they come.
pub mod kind {
    /// The first one: registers.
    pub const REGISTERS: u32 = 1;
    /// A piece of /proc/self/maps follows the head; nothing follows when that was all of it.
    pub const MAPS: u32 = 2;
    /// A piece of the stack follows the head.
    pub const STACK: u32 = 3;
}

const WORDS: usize = size_of::<Head>() / 8;

impl Head {
    /// A datagram's head and what follows it.
    pub fn parse(datagram: &[u8]) -> Option<(Head, &[u8])> {
        let (head, rest) = datagram.split_at_checked(size_of::<Head>())?;
        let mut words = [0u64; WORDS];
        for (word, bytes) in words.iter_mut().zip(head.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let [first, second, address, registers @ ..] = words;
        let half = |word: u64, place: usize| {
            let bytes = word.to_ne_bytes();
            u32::from_ne_bytes([
                bytes[place],
                bytes[place + 1],
                bytes[place + 2],
                bytes[place + 3],
            ])
        };
        let head = Head {
            kind: half(first, 0),
            rank: half(first, 4),
            process: half(second, 0),
            signal: half(second, 4),
            address,
            registers,
        };
        Some((head, rest))
    }
}

static SOCKET: AtomicI32 = AtomicI32::new(-1);
static RANK: AtomicU32 = AtomicU32::new(0);
/// The thread that tells its crash, the first one; 0 before any has crashed.
static TELLER: AtomicI32 = AtomicI32::new(0);
/// What the teller reads into.
static PIECE: Piece = Piece(UnsafeCell::new([0; PIECE_BYTES]));

struct Piece(UnsafeCell<[u8; PIECE_BYTES]>);

// SAFETY: only the thread in `TELLER` uses it, once: that never changes after its first crash.
unsafe impl Sync for Piece {}

/// From now on a crash of this process is told to its launcher, if that listens.
pub(crate) fn arm(rank: u32) {
    let wanted = oxmpi_settings::BACKTRACE.read().switch();
    if matches!(wanted, Ok(Some(false))) || SOCKET.load(Ordering::Relaxed) >= 0 {
        return;
    }
    let Ok(Some(number)) = oxmpi_settings::CRASH_SOCKET.read().number() else {
        return;
    };
    let Ok(socket) = sys::adopt_inherited(number as RawFd) else {
        return;
    };
    RANK.store(rank, Ordering::Relaxed);
    SOCKET.store(socket.into_raw_fd(), Ordering::Relaxed);
    give_alternate_stack();
    for signal in SIGNALS {
        handle(signal);
    }
}

/// A stack of its own for the handler, so that an overflow of this thread's stack can be told.
/// Other threads have none unless they make one: their overflows end without a backtrace.
fn give_alternate_stack() {
    // SAFETY: queries into a local; the new mapping belongs to the kernel's use of it from here on
    // and is never unmapped, so it outlives every use.
    unsafe {
        let mut present = MaybeUninit::<libc::stack_t>::zeroed().assume_init();
        if libc::sigaltstack(ptr::null(), &mut present) != 0
            || present.ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let stack = libc::mmap(
            ptr::null_mut(),
            ALTERNATE_STACK_BYTES,
            protection,
            flags,
            -1,
            0,
        );
        if stack == libc::MAP_FAILED {
            return;
        }
        let new = libc::stack_t {
            ss_sp: stack,
            ss_flags: 0,
            ss_size: ALTERNATE_STACK_BYTES,
        };
        libc::sigaltstack(&new, ptr::null_mut());
    }
}

/// Installs the handler where the program has none.
fn handle(signal: c_int) {
    // SAFETY: both structures are locals, valid when zeroed; the handler has the signature that
    // SA_SIGINFO asks for.
    unsafe {
        let mut present = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        if libc::sigaction(signal, ptr::null(), &mut present) != 0
            || present.sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut new = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        new.sa_sigaction = crashed as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO;
        // Only these two may mean that the thread's own stack has run out.
        if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
            new.sa_flags |= libc::SA_ONSTACK;
        }
        // A fault in the handler, which the mask then blocks, ends the process at once.
        libc::sigemptyset(&mut new.sa_mask);
        for other in SIGNALS {
            libc::sigaddset(&mut new.sa_mask, other);
        }
        libc::sigaction(signal, &new, ptr::null_mut());
    }
}

extern "C" fn crashed(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over valid structures; everything called is async-signal-safe.
    unsafe {
        let thread = libc::syscall(libc::SYS_gettid) as i32;
        match TELLER.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => tell(signal, info, context.cast()),
            // The process has survived its first crash: another thread has removed the cause.
            Err(teller) if teller == thread => {}
            Err(_) => wait_for_death(),
        }
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &default, ptr::null_mut());
        if !comes_again(signal, info) {
            // Delivered when this handler returns.
            libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
        }
    }
}

/// Lets the thread that has crashed first say so and die, and the process with it.
fn wait_for_death() {
    let until = now() + BYSTANDER_WAIT_MAX.as_millis() as i64;
    while now() < until {
        pause();
    }
}

/// A millisecond.
fn pause() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    // SAFETY: the pointer leads to a local; the rest of an interrupted pause is not asked for.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// Whether a process sent the signal; none is the consequence of an instruction then.
///
/// # Safety
/// As for [`tell`].
unsafe fn is_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*info).si_code <= 0 }
}

/// Whether the instruction that is executed next, again, brings the signal again.
///
/// # Safety
/// As for [`tell`].
unsafe fn comes_again(signal: c_int, info: *const libc::siginfo_t) -> bool {
    // SAFETY: as the caller promises.
    let (sent, code) = unsafe { (is_sent(info), (*info).si_code) };
    let late = [(libc::SIGBUS, BUS_MCEERR_AO), (libc::SIGSEGV, SEGV_MTEAERR)];
    !sent && !late.contains(&(signal, code))
}

/// si_code of SIGBUS: broken memory that this thread has not touched.
const BUS_MCEERR_AO: c_int = 5;
/// si_code of SIGSEGV: a wrong memory tag, noticed some time after the access.
const SEGV_MTEAERR: c_int = 8;
/// si_code of the kernel's signals without further facts: on x86-64 those for addresses that are
/// not canonical.
const SI_KERNEL: c_int = 0x80;

/// Sends everything.
///
/// # Safety
/// Only in a signal handler, with what the kernel gave it.
unsafe fn tell(signal: c_int, info: *const libc::siginfo_t, context: *const libc::ucontext_t) {
    // SAFETY: as the caller promises.
    let (registers, address) = unsafe {
        let address = match is_sent(info) || (*info).si_code == SI_KERNEL {
            true => NO_ADDRESS,
            false => (*info).si_addr() as u64,
        };
        (registers(context), address)
    };
    let mut letter = Letter {
        head: Head {
            kind: kind::REGISTERS,
            rank: RANK.load(Ordering::Relaxed),
            // SAFETY: no preconditions.
            process: unsafe { libc::getpid() } as u32,
            signal: signal as u32,
            address,
            registers,
        },
        until: now() + WAIT_MAX.as_millis() as i64,
    };
    if letter.send(ptr::null(), 0) != Sent::Whole {
        return;
    }
    letter.send_maps();
    letter.send_stack(registers[1] as usize);
}

#[cfg(target_arch = "x86_64")]
unsafe fn registers(context: *const libc::ucontext_t) -> [u64; 4] {
    // SAFETY: the kernel's context, for the time of the handler.
    let all = unsafe { &(*context).uc_mcontext.gregs };
    let one = |index: c_int| all[index as usize] as u64;
    [
        one(libc::REG_RIP),
        one(libc::REG_RSP),
        one(libc::REG_RBP),
        0,
    ]
}

#[cfg(target_arch = "aarch64")]
unsafe fn registers(context: *const libc::ucontext_t) -> [u64; 4] {
    // SAFETY: the kernel's context, for the time of the handler.
    let all = unsafe { &(*context).uc_mcontext };
    [all.pc, all.sp, all.regs[29], all.regs[30]]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Whole,
    /// The bytes are not there.
    NoMemory,
    /// Nobody listens, or not in time.
    Never,
}

struct Letter {
    head: Head,
    /// In milliseconds of [`now`].
    until: i64,
}

impl Letter {
    /// Sends the head and `length` bytes, which need not be readable.
    fn send(&self, bytes: *const u8, length: usize) -> Sent {
        let mut parts = [
            libc::iovec {
                iov_base: (&raw const self.head).cast_mut().cast(),
                iov_len: size_of::<Head>(),
            },
            libc::iovec {
                iov_base: bytes.cast_mut().cast(),
                iov_len: length,
            },
        ];
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the message and its parts are locals; the kernel refuses addresses that are none
        // with EFAULT. The error's place is valid in every thread.
        unsafe {
            let mut message = MaybeUninit::<libc::msghdr>::zeroed().assume_init();
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
            loop {
                if libc::sendmsg(SOCKET.load(Ordering::Relaxed), &message, flags) >= 0 {
                    return Sent::Whole;
                }
                match *libc::__errno_location() {
                    libc::EFAULT => return Sent::NoMemory,
                    libc::EINTR => {}
                    libc::EAGAIN | libc::ENOBUFS if now() < self.until => {
                        // The launcher has some datagrams to read first.
                        pause();
                    }
                    _ => return Sent::Never,
                }
            }
        }
    }

    fn send_maps(&mut self) {
        self.head.kind = kind::MAPS;
        let bytes = PIECE.0.get().cast::<u8>();
        let mut left = MAPS_BYTES_MAX;
        // SAFETY: the path is a C string; pointer and length describe `PIECE`, which belongs to the
        // thread that tells.
        unsafe {
            let flags = libc::O_RDONLY | libc::O_CLOEXEC;
            let file = libc::open(c"/proc/self/maps".as_ptr(), flags);
            if file < 0 {
                return;
            }
            while left > 0 {
                let count = libc::read(file, bytes.cast(), PIECE_BYTES.min(left));
                // The end of the file is sent, too.
                if count < 0 || self.send(bytes, count as usize) != Sent::Whole || count == 0 {
                    break;
                }
                left -= count as usize;
            }
            libc::close(file);
        }
    }

    fn send_stack(&mut self, pointer: usize) {
        self.head.kind = kind::STACK;
        let mut place = pointer;
        let mut piece = PIECE_BYTES;
        let mut begun = false;
        while place < pointer.saturating_add(STACK_BYTES_MAX) && now() < self.until {
            // Up to the next boundary, so that a piece ends where a mapping may.
            let length = piece - place % piece;
            self.head.address = place as u64;
            match self.send(place as *const u8, length) {
                Sent::Whole => begun = true,
                Sent::NoMemory if piece > PAGE_BYTES_MIN => {
                    piece = PAGE_BYTES_MIN;
                    continue;
                }
                // A stack that has run out: its pointer lies below what is there.
                Sent::NoMemory if !begun => {}
                Sent::NoMemory | Sent::Never => return,
            }
            // A wild stack pointer may lie in the last page of all.
            let Some(next) = place.checked_add(length) else {
                return;
            };
            place = next;
        }
    }
}

const PAGE_BYTES_MIN: usize = 4096;

/// Milliseconds of a clock that never goes back.
fn now() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer leads to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests;
