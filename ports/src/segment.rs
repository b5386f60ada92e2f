//! The memory that a job's processes on one host share, and the record of who lives in it.
//!
//! A memfd: it has no name in any file system, only processes that were handed the descriptor can
//! map it, and the kernel frees it when the last of them is gone, however it went. The creator (the
//! launcher) sizes it; every rank attaches. A port's resident line says whether its process is
//! there, has finished or has died, and of what.

mod departures;

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;

use crate::doorbell::{self, Doorbell};
use crate::layout::{Layout, PORTS_MAX};
use crate::ring::{Control, LINE_BYTES, Ring, Slot};
use crate::sync::{AtomicU32, AtomicU64, Ordering, SharedBytes};

/// "OxMPIseg" as it lies in memory.
const MAGIC: u64 = u64::from_le_bytes(*b"OxMPIseg");
/// Changes whenever anything in `layout` or a shared structure changes meaning.
const VERSION: u32 = 3;

/// A shared segment, mapped.
pub struct Segment {
    fd: OwnedFd,
    base: NonNull<u8>,
    layout: Layout,
    /// Length of the mapping: the layout's, computed once because every access is checked against
    /// it.
    bytes: u64,
}

// SAFETY: the mapping stays for the life of the value; everything in it is reached through atomics
// or handed over by them.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

#[repr(C, align(64))]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    ports: AtomicU32,
    usable_cpus: AtomicU32,
    /// Counts processes that finished or died, so that who waits sees by one load that something
    /// happened.
    departures: AtomicU32,
    /// 0, or port + 1 in the high half and the exit code in the low half: MPI_Abort was called.
    abort: AtomicU64,
    /// End of the extents handed out so far.
    end: AtomicU64,
    /// 1 when somebody could not reach a sleeper's pipe: those who sleep there look again by
    /// themselves.
    mute: AtomicU32,
    /// Drawn when the segment was made; see [`Segment::nonce`].
    nonce: AtomicU32,
    /// A bit for each remark that a process of this host has made to people.
    remarks: AtomicU32,
}

#[repr(C, align(64))]
struct Resident {
    state: AtomicU64,
    pid: AtomicU32,
    /// 1 when this process can fence all others (membarrier) before it sleeps.
    fences: AtomicU32,
    /// 1 while this process may end without a further word.
    excused: AtomicU32,
    /// 0, or the descriptor of a pipe in this process: it sleeps there and not on its doorbell's
    /// word.
    pipe: AtomicU32,
    /// 1 when this process was told that another one is lost: if it fails now, that may be why.
    told_of_loss: AtomicU32,
}

/// Who lives in a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// Nobody yet.
    Empty,
    /// A process that has attached.
    Attached {
        /// Its process id.
        pid: u32,
    },
    /// A process that has said goodbye.
    Finished,
    /// A process that ended without saying goodbye.
    Dead(Death),
}

/// How a process ended that did not say goodbye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Killed by a signal.
    Signal(i32),
    /// Exited with a status.
    Status(i32),
    /// Called abort with a code.
    Aborted(i32),
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Death::Status(status) => write!(f, "exited with status {status} without finalising"),
            Death::Aborted(code) => write!(f, "aborted with code {code}"),
        }
    }
}

/// A segment cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// More processes than a segment can hold.
    #[error(
        "{ports} processes on one host are too many: a shared segment holds 1 to {PORTS_MAX}; start fewer ranks here"
    )]
    Ports {
        /// Asked for.
        ports: u32,
    },
    /// memfd_create failed.
    #[error(
        "cannot create shared memory (memfd_create): {0}; check the open-file limit (ulimit -n)"
    )]
    Create(io::Error),
    /// The file-size limit is below what is needed.
    #[error(
        "shared memory of {bytes} bytes exceeds the file-size limit of {limit} bytes; raise it (ulimit -f unlimited)"
    )]
    FileSizeLimit {
        /// Needed.
        bytes: u64,
        /// Allowed.
        limit: u64,
    },
    /// Memory for a part of the segment could not be had.
    #[error(
        "cannot reserve {bytes} bytes of shared memory: {source}; free memory or raise the memory limit"
    )]
    Reserve {
        /// Asked for.
        bytes: u64,
        /// The kernel's answer.
        source: io::Error,
    },
    /// mmap failed.
    #[error(
        "cannot map {bytes} bytes of shared memory: {source}; check the address-space limit (ulimit -v)"
    )]
    Map {
        /// Asked for.
        bytes: u64,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The descriptor is not a segment of this version.
    #[error(
        "file descriptor {fd} is not a shared segment of this OxMPI version ({found}); do launcher and program come from the same installation?"
    )]
    Foreign {
        /// The descriptor.
        fd: i32,
        /// What was found.
        found: String,
    },
}

impl PortState {
    fn from_word(word: u64) -> PortState {
        let code = (word >> 32) as i32;
        match word as u32 {
            0 => PortState::Empty,
            1 => PortState::Attached { pid: code as u32 },
            2 => PortState::Finished,
            3 => PortState::Dead(Death::Signal(code)),
            4 => PortState::Dead(Death::Status(code)),
            _ => PortState::Dead(Death::Aborted(code)),
        }
    }

    fn to_word(self) -> u64 {
        let (kind, code) = match self {
            PortState::Empty => (0, 0),
            PortState::Attached { pid } => (1, pid),
            PortState::Finished => (2, 0),
            PortState::Dead(Death::Signal(code)) => (3, code as u32),
            PortState::Dead(Death::Status(code)) => (4, code as u32),
            PortState::Dead(Death::Aborted(code)) => (5, code as u32),
        };
        u64::from(code) << 32 | kind
    }
}

impl Segment {
    /// Makes the shared memory for `ports` processes. `usable_cpus` is what the creator may use, by
    /// affinity and quota.
    pub fn create(ports: u32, usable_cpus: u32) -> Result<Self, SegmentError> {
        if ports == 0 || ports > PORTS_MAX {
            return Err(SegmentError::Ports { ports });
        }
        let layout = Layout::new(ports);
        let fd = memfd().map_err(SegmentError::Create)?;
        check_file_size_limit(layout.bytes())?;
        // SAFETY: a plain system call on a descriptor we own.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), layout.bytes() as libc::off_t) } != 0 {
            return Err(SegmentError::Reserve {
                bytes: layout.bytes(),
                source: io::Error::last_os_error(),
            });
        }
        let base = map(fd.as_fd(), 0, layout.bytes())?;
        let segment = Self {
            fd,
            base,
            layout,
            bytes: layout.bytes(),
        };
        // The first page in memory now, so that a machine without any left says so here and not by
        // SIGBUS.
        segment.reserve(0, layout.port(0))?;
        let header = segment.header();
        header.ports.store(ports, Ordering::Relaxed);
        header
            .usable_cpus
            .store(usable_cpus.max(1), Ordering::Relaxed);
        header.end.store(layout.bytes(), Ordering::Relaxed);
        header.nonce.store(random_nonce(), Ordering::Relaxed);
        header.version.store(VERSION, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// Maps a segment that another process made and handed over.
    pub fn attach(fd: OwnedFd) -> Result<Self, SegmentError> {
        let raw = fd.as_raw_fd();
        let foreign = |found: String| SegmentError::Foreign { fd: raw, found };
        let bytes = file_bytes(fd.as_fd()).map_err(|error| foreign(error.to_string()))?;
        if bytes < size_of::<Header>() as u64 {
            return Err(foreign(format!("a file of {bytes} bytes")));
        }
        let first = map(fd.as_fd(), 0, size_of::<Header>() as u64)?;
        // SAFETY: just mapped, page-aligned, long enough; unmapped below after the last use.
        let (magic, version, ports) = unsafe {
            let header = first.cast::<Header>().as_ref();
            (
                header.magic.load(Ordering::Acquire),
                header.version.load(Ordering::Relaxed),
                header.ports.load(Ordering::Relaxed),
            )
        };
        // SAFETY: our own mapping, not used again.
        unsafe { libc::munmap(first.as_ptr().cast(), size_of::<Header>()) };
        if magic != MAGIC {
            return Err(foreign("its first bytes are something else".into()));
        }
        if version != VERSION {
            return Err(foreign(format!("version {version}, wanted {VERSION}")));
        }
        let layout = Layout::new(ports);
        if ports == 0 || ports > PORTS_MAX || bytes < layout.bytes() {
            return Err(foreign(format!("{bytes} bytes for {ports} ports")));
        }
        let base = map(fd.as_fd(), 0, layout.bytes())?;
        Ok(Self {
            fd,
            base,
            layout,
            bytes: layout.bytes(),
        })
    }

    /// A number that was drawn when the segment was made, for its job: all that share it know it.
    pub fn nonce(&self) -> u32 {
        self.header().nonce.load(Ordering::Relaxed)
    }

    /// The descriptor to hand over.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor alone, under the number it has: others may be about to open it by that.
    pub fn into_fd(self) -> OwnedFd {
        let segment = std::mem::ManuallyDrop::new(self);
        // SAFETY: our own mapping, to which no reference is left; the descriptor is moved out once,
        // and the value is never used or dropped again.
        unsafe {
            libc::munmap(segment.base.as_ptr().cast(), segment.bytes as usize);
            std::ptr::read(&segment.fd)
        }
    }

    /// Processes that share the segment.
    pub fn ports(&self) -> u32 {
        self.layout.ports
    }

    /// Where things lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// CPUs the job may use here, as its creator saw them.
    pub fn usable_cpus(&self) -> u32 {
        self.header().usable_cpus.load(Ordering::Relaxed)
    }

    /// Who lives in `port`.
    pub fn state(&self, port: u32) -> PortState {
        PortState::from_word(self.resident(port).state.load(Ordering::Acquire))
    }

    fn set_state(&self, port: u32, state: PortState) {
        let resident = self.resident(port);
        resident.state.store(state.to_word(), Ordering::Release);
    }

    /// This process moves in. `fences`: it can fence all others before it sleeps.
    pub(crate) fn move_in(&self, port: u32, fences: bool) {
        let resident = self.resident(port);
        resident.pid.store(std::process::id(), Ordering::Relaxed);
        resident.fences.store(u32::from(fences), Ordering::Release);
        self.set_state(
            port,
            PortState::Attached {
                pid: std::process::id(),
            },
        );
    }

    /// This process says goodbye; what happens to it later concerns nobody.
    pub fn finish(&self, port: u32) {
        self.depart(port, PortState::Finished);
    }

    /// Whether this process may end without a further word: it has nothing to do here now, but may
    /// come back.
    pub fn excuse(&self, port: u32, excused: bool) {
        let resident = self.resident(port);
        resident
            .excused
            .store(u32::from(excused), Ordering::Release);
    }

    /// What is left of a process that the system has seen end: if it was excused, its end was its
    /// goodbye.
    pub fn state_at_end(&self, port: u32) -> PortState {
        let excused = self.resident(port).excused.load(Ordering::Acquire) == 1;
        if excused && matches!(self.state(port), PortState::Attached { .. }) {
            self.finish(port);
        }
        self.state(port)
    }

    /// Whether the process in `port` fences others before it sleeps, so that senders need not.
    /// False while it has not attached.
    pub(crate) fn fences(&self, port: u32) -> bool {
        self.resident(port).fences.load(Ordering::Acquire) == 1
    }

    /// The process id in `port`, 0 before it attached.
    pub fn pid(&self, port: u32) -> u32 {
        self.resident(port).pid.load(Ordering::Relaxed)
    }

    /// The port that called abort first and its code.
    pub fn abort_code(&self) -> Option<(u32, i32)> {
        match self.header().abort.load(Ordering::Acquire) {
            0 => None,
            abort => Some(((abort >> 32) as u32 - 1, abort as u32 as i32)),
        }
    }

    /// Records that `port` calls abort. The first to do so is remembered; true if that is this one.
    pub fn set_abort(&self, port: u32, code: i32) -> bool {
        let abort = u64::from(port + 1) << 32 | u64::from(code as u32);
        self.header()
            .abort
            .compare_exchange(0, abort, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// True for the first process of this host that makes the remark with this number, below 32:
    /// what concerns the whole job is told once.
    pub fn remark_first(&self, remark: u32) -> bool {
        let bit = 1 << remark;
        self.header().remarks.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    fn wake_everybody(&self) {
        for port in 0..self.ports() {
            // Only who has moved in, and not out, can sleep; the doorbells of others may not even
            // have memory.
            if matches!(self.state(port), PortState::Attached { .. }) {
                // Woken whatever its word says: a sender killed between marking it awake and waking
                // it left a sleeper that everybody takes for awake.
                let _ = self.doorbell(port).rouse();
                self.wake(port);
            }
        }
    }

    /// This process sleeps by waiting for other descriptors too, so it is woken by a byte in this
    /// pipe.
    pub fn sleep_at_pipe(&self, port: u32, write_end: BorrowedFd<'_>) {
        let pipe = write_end.as_raw_fd() as u32;
        self.resident(port).pipe.store(pipe, Ordering::Release);
    }

    /// Whether a process could not be woken through its pipe: then who sleeps at one must look
    /// again by itself, now and then.
    pub fn is_mute(&self) -> bool {
        self.header().mute.load(Ordering::Relaxed) != 0
    }

    /// Wakes the process in `port`, wherever it sleeps.
    pub fn wake(&self, port: u32) {
        let pipe = self.resident(port).pipe.load(Ordering::Acquire);
        if pipe == 0 {
            doorbell::wake(self.doorbell(port));
        } else if ring_pipe(self.pid(port), pipe).is_err() {
            // A process that is gone needs no waking; that the others are out of reach as well is
            // what this prepares for.
            self.header().mute.store(1, Ordering::Relaxed);
        }
    }

    /// The doorbell of `port`.
    pub fn doorbell(&self, port: u32) -> &Doorbell {
        assert!(port < self.ports());
        self.at(self.layout.port(port))
    }

    /// The ring from `sender` into `port`.
    pub(crate) fn ring(&self, port: u32, sender: u32) -> Ring<'_> {
        assert!(port < self.ports() && sender < self.ports());
        let offset = self.layout.ring(port, sender);
        let control: &Control = self.at(offset);
        let slots: &Slot = self.at(offset + size_of::<Control>() as u64);
        let payload: &SharedBytes<LINE_BYTES> = self.at(offset + self.layout.payload_in_ring());
        // SAFETY: the layout has room for so many slots and payload lines behind the first of each
        // (tested there), all valid as zero bytes and as whatever a peer wrote.
        unsafe {
            Ring {
                control,
                slots: std::slice::from_raw_parts(slots, self.layout.slots),
                payload: std::slice::from_raw_parts(
                    payload,
                    self.layout.payload_bytes / LINE_BYTES,
                ),
            }
        }
    }

    /// Gets memory for a part of the segment now, so that a shortage is an error here and not a
    /// signal later.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), SegmentError> {
        loop {
            // SAFETY: a plain system call on a descriptor we own.
            let refused = unsafe {
                libc::fallocate(
                    self.fd.as_raw_fd(),
                    0,
                    offset as libc::off_t,
                    bytes as libc::off_t,
                ) != 0
            };
            if !refused {
                return Ok(());
            }
            let source = io::Error::last_os_error();
            // A signal of the application's (a profiler's timer, say) is no shortage.
            if source.kind() != io::ErrorKind::Interrupted {
                return Err(SegmentError::Reserve { bytes, source });
            }
        }
    }

    /// Appends room for an extent and returns its offset; [`crate::extent`] gives it memory.
    pub(crate) fn append(&self, bytes: u64) -> u64 {
        self.header().end.fetch_add(bytes, Ordering::Relaxed)
    }

    /// The room that [`Segment::append`] gave at `offset` was not used. It goes back unless
    /// somebody has appended since.
    pub(crate) fn take_back(&self, offset: u64, bytes: u64) {
        let _ = self.header().end.compare_exchange(
            offset + bytes,
            offset,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Where `offset` of the fixed part is mapped here.
    #[inline(always)]
    pub(crate) fn address(&self, offset: u64) -> *mut u8 {
        assert!(offset < self.bytes);
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.base.as_ptr().add(offset as usize) }
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        self.at(0)
    }

    fn resident(&self, port: u32) -> &Resident {
        assert!(port < self.ports());
        self.at(self.layout.resident(port))
    }

    /// A shared structure at an offset that `layout` computed.
    #[inline(always)]
    fn at<T>(&self, offset: u64) -> &T {
        let address = self.address(offset).cast::<T>();
        debug_assert!(address.is_aligned());
        // SAFETY: inside the mapping and aligned because `layout` places areas in lines and pages
        // and its test shows that they fit; the shared structures consist of atomics and
        // `SharedBytes`, valid for every bit pattern.
        unsafe { &*address }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: our own mapping; no reference into it outlives the segment (`Port` and `Board`
        // hold it alive).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}

/// Writes a byte into another process's pipe, opened by its name in /proc: nobody has to hand
/// descriptors around. The few microseconds are little beside what waking costs.
fn ring_pipe(pid: u32, pipe: u32) -> io::Result<()> {
    // For reading too, though nobody reads: a pipe whose reader ends now would kill us by SIGPIPE
    // if we were not one.
    let mut end = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(format!("/proc/{pid}/fd/{pipe}"))?;
    match end.write_all(&[1]) {
        // A full pipe has woken its reader already.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}

/// Random bits for a job's number. They keep jobs apart that meet, and are no secret, so a kernel
/// that gives none is made up for by the clock.
fn random_nonce() -> u32 {
    let mut bytes = [0_u8; 4];
    // SAFETY: pointer and length describe the array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize {
        return u32::from_le_bytes(bytes);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    std::process::id() ^ now.map_or(0, |now| now.subsec_nanos())
}

fn memfd() -> io::Result<OwnedFd> {
    let create = |flags| {
        // SAFETY: the name is a C string; the call returns a new descriptor or an error.
        let fd = unsafe { libc::memfd_create(c"oxmpi-segment".as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that the kernel has just given to us.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // Kernels before 6.3 do not know the flag that forbids execution.
    create(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL).or_else(|_| create(libc::MFD_CLOEXEC))
}

pub(crate) fn check_file_size_limit(bytes: u64) -> Result<(), SegmentError> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a local of the right type. Exceeding this limit would kill us by
    // SIGXFSZ, hence the look.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if known && limit.rlim_cur != libc::RLIM_INFINITY && limit.rlim_cur < bytes {
        return Err(SegmentError::FileSizeLimit {
            bytes,
            limit: limit.rlim_cur,
        });
    }
    Ok(())
}

fn file_bytes(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the structure when it returns 0, and only then is it read.
    unsafe {
        if libc::fstat(fd.as_raw_fd(), stat.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stat.assume_init().st_size as u64)
    }
}

pub(crate) fn map(
    fd: BorrowedFd<'_>,
    offset: u64,
    bytes: u64,
) -> Result<NonNull<u8>, SegmentError> {
    // SAFETY: a new shared mapping at an address the kernel chooses.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(SegmentError::Map {
            bytes,
            source: io::Error::last_os_error(),
        });
    }
    // mmap never returns null for a mapping it placed itself.
    Ok(NonNull::new(address.cast()).expect("mmap chose address zero"))
}
