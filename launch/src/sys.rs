//! The few system calls the launcher needs and the standard library does not offer, as safe
//! functions.
//!
//! Only this file, `tracee.rs` and `warden.rs` contain unsafe code. Nothing here keeps state, decides anything
//! or retries except for EINTR; the callers say what a failure means.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// Turns the C convention (-1 and errno) into a Result.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The CPUs this process may run on.
pub(crate) fn affinity() -> io::Result<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the kernel writes at most the given number of bytes into `set`; all-zero is a valid
    // value.
    unsafe {
        check(libc::sched_getaffinity(
            0,
            size_of::<libc::cpu_set_t>(),
            set.as_mut_ptr(),
        ))?;
        Ok(set.assume_init())
    }
}

/// The numbers of the CPUs in a set, ascending.
pub(crate) fn cpus_of(set: &libc::cpu_set_t) -> Vec<u32> {
    (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the index is below CPU_SETSIZE, the size of the set in bits.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, set) })
        .map(|cpu| cpu as u32)
        .collect()
}

/// The set that holds the given CPUs; numbers beyond CPU_SETSIZE are left out.
pub(crate) fn cpu_set(cpus: &[u32]) -> libc::cpu_set_t {
    // SAFETY: cpu_set_t is an array of integers, for which all-zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as u32) {
        // SAFETY: the index is below CPU_SETSIZE, the size of the set in bits.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    set
}

/// The time of day here, to the millisecond: `12:34:56.789`.
pub(crate) fn time_of_day() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let seconds = now.as_secs() as _;
    let mut fields = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both point to locals, and the fields are valid as zeros too.
    let fields = unsafe {
        libc::localtime_r(&seconds, fields.as_mut_ptr());
        fields.assume_init()
    };
    let libc::tm {
        tm_hour,
        tm_min,
        tm_sec,
        ..
    } = fields;
    let millis = now.subsec_millis();
    format!("{tm_hour:02}:{tm_min:02}:{tm_sec:02}.{millis:03}")
}

/// Raises the soft limit of open files to `wanted` when the hard limit allows it; gives the limit
/// of before.
pub(crate) fn raise_open_files(wanted: u64) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit that outlives the call.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur < wanted {
        let raised = libc::rlimit {
            rlim_cur: wanted.min(limit.rlim_max),
            rlim_max: limit.rlim_max,
        };
        // SAFETY: `raised` is a valid rlimit that outlives the call.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) })?;
    }
    Ok(limit)
}

/// Takes standard input and output for this process's own purposes: what is started, or prints,
/// finds nothing to read and its output among the errors.
pub(crate) fn claim_standard_files() -> io::Result<(OwnedFd, OwnedFd)> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::open("/dev/null")?;
    // SAFETY: dup2 on open descriptors; nobody else owns the standard files.
    unsafe {
        check(libc::dup2(null.as_raw_fd(), 0))?;
        check(libc::dup2(2, 1))?;
    }
    Ok((stdin, stdout))
}

/// The signal mask of this thread.
pub(crate) fn signal_mask() -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: without a new set the call only fills `mask`; all-zero is a valid set where it fails.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}

/// Has what `command` starts begin with this signal mask, and the kernel kill it when this thread
/// ends, however it does.
pub(crate) fn bind_life(command: &mut std::process::Command, mask: libc::sigset_t) {
    // SAFETY: the closure runs in the forked child and makes plain system calls on integers and on
    // a set that it owns.
    unsafe {
        let parent = libc::getpid();
        command.pre_exec(move || {
            libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != parent {
                // It died before the kernel knew that we want to follow.
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// A descriptor that becomes readable when the process ends.
pub(crate) fn process_descriptor(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: integers only; the descriptor that comes back closes on exec and is ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0);
        check(fd as libc::c_int)?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Makes reads and writes on this descriptor return WouldBlock instead of waiting.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // One call where fcntl takes two: every rank has three of these. SAFETY: the descriptor is open
    // for the duration of the borrow; the kernel reads `on` during the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &on) })?;
    Ok(())
}

/// A descriptor that becomes readable when its pipe has something; see poll(2).
pub(crate) fn poll_entry(fd: BorrowedFd<'_>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

/// Waits until an entry is ready or the time is over; None waits for ever. EINTR counts as nothing
/// ready.
pub(crate) fn poll(entries: &mut [libc::pollfd], wait: Option<Duration>) -> io::Result<()> {
    let wait = wait.map(|wait| libc::timespec {
        tv_sec: wait.as_secs().min(i64::MAX as u64 / 2) as _,
        tv_nsec: libc::c_long::from(wait.subsec_nanos() as i32),
    });
    let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: pointer and length describe `entries`; `wait` is null or a timespec that outlives the
    // call.
    let ready = unsafe {
        libc::ppoll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            wait,
            std::ptr::null(),
        )
    };
    match check(ready) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            entries.iter_mut().for_each(|entry| entry.revents = 0);
            Ok(())
        }
        other => other.map(drop),
    }
}

/// A set of readable descriptors whose cost does not grow with those that are silent.
pub(crate) struct Epoll(OwnedFd);

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: no pointers; the descriptor that comes back is ours alone.
        unsafe {
            let fd = check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            Ok(Epoll(OwnedFd::from_raw_fd(fd)))
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Reports `key` whenever `fd` is readable or at its end. Closing the descriptor removes it.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: key,
        };
        // SAFETY: both descriptors are open; `event` is only read during the call.
        check(unsafe {
            libc::epoll_ctl(
                self.0.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                fd.as_raw_fd(),
                &mut event,
            )
        })?;
        Ok(())
    }

    /// The keys that are ready now, without waiting.
    pub(crate) fn ready(&self, keys: &mut Vec<u64>) -> io::Result<()> {
        const BATCH: usize = 64;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        // SAFETY: pointer and length describe `events`.
        let count = check(unsafe {
            libc::epoll_wait(
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH as libc::c_int,
                0,
            )
        })?;
        keys.clear();
        keys.extend(events[..count as usize].iter().map(|event| event.u64));
        Ok(())
    }
}

/// Signals that arrive as data: blocked for this thread while the value lives, read from a
/// descriptor.
pub(crate) struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Takes over those of `wanted` that are not ignored: nohup and background jobs of scripts stay
    /// what they are. SIGPIPE, SIGTTIN and SIGTTOU are blocked as well, so that a closed pipe or a
    /// terminal that belongs to somebody else is an error code and not a death or a stop.
    pub(crate) fn take(wanted: &[libc::c_int]) -> io::Result<Signals> {
        let mut read = MaybeUninit::<libc::sigset_t>::uninit();
        let mut block = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises each set before it is used; all pointers are to locals
        // that outlive the calls; `before` is filled by pthread_sigmask, which succeeded when it is
        // read.
        unsafe {
            libc::sigemptyset(read.as_mut_ptr());
            libc::sigemptyset(block.as_mut_ptr());
            for signal in [libc::SIGPIPE, libc::SIGTTIN, libc::SIGTTOU] {
                libc::sigaddset(block.as_mut_ptr(), signal);
            }
            for &signal in wanted {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed();
                check(libc::sigaction(
                    signal,
                    std::ptr::null(),
                    action.as_mut_ptr(),
                ))?;
                if action.assume_init().sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(read.as_mut_ptr(), signal);
                    libc::sigaddset(block.as_mut_ptr(), signal);
                }
            }
            let fd = check(libc::signalfd(
                -1,
                read.as_ptr(),
                libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
            ))?;
            let fd = OwnedFd::from_raw_fd(fd);
            let failed =
                libc::pthread_sigmask(libc::SIG_BLOCK, block.as_ptr(), before.as_mut_ptr());
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            Ok(Signals {
                fd,
                before: before.assume_init(),
            })
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The signal mask of before, which the ranks get.
    pub(crate) fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// The next signal that has arrived, if any.
    pub(crate) fn next(&self) -> Option<libc::c_int> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes whole signalfd_siginfo records only; it is read when one came.
        unsafe {
            let got = libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size);
            (got == size as isize).then(|| info.assume_init().ssi_signo as libc::c_int)
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: `before` was filled by the kernel in `take`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Stops this process as Ctrl-Z does; returns when it is continued.
pub(crate) fn stop_self() {
    // SAFETY: raise has no memory effects.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Ends this process by a signal, so that the shell that started it sees how it ended.
pub(crate) fn die_of(signal: libc::c_int) -> ! {
    // SAFETY: the default action is restored and unblocked for one signal, then raised; no memory
    // effects besides the local set.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}

/// Sends a signal to a process group; one that is gone already is as good as told.
pub(crate) fn signal_group(group: i32, signal: libc::c_int) {
    // Groups 0 and 1 would mean "my own" and "everybody".
    if group > 1 {
        // SAFETY: kill has no memory effects.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Waits for a child to end and forgets it.
pub(crate) fn reap(pid: i32) {
    loop {
        // SAFETY: a null status pointer is allowed.
        let result = check(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) });
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
