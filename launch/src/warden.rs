//! The warden: one small process between the launcher (or an agent) and the ranks of this host.
//!
//! It forks and executes the ranks, reports their ends, passes signals on, and is what makes
//! "nothing survives" true: as a child subreaper it inherits every process the ranks leave behind,
//! and when the launcher says so or disappears (its pipe ends) it kills all descendants until it
//! has none. If the warden itself is killed, the kernel kills the ranks (PR_SET_PDEATHSIG).
//!
//! Everything after the fork runs in a copy of a possibly multi-threaded process: only system
//! calls, no allocation, no locks, no panics. All memory was prepared in [`Plan`].

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use crate::plan::Plan;
use crate::record::{COMMAND_BYTES, Command, REPORT_BYTES, Report, Stage};
use crate::sys;

/// The launcher's handle on its warden.
pub(crate) struct Warden {
    pid: i32,
    commands: Option<PipeWriter>,
    reports: PipeReader,
}

impl Warden {
    /// Forks the warden, which starts the ranks at once. The plan's descriptors are closed here.
    /// Others up to `highest` are not for the warden.
    pub(crate) fn start(plan: Plan, highest: RawFd) -> io::Result<Warden> {
        let (command_reader, commands) = io::pipe()?;
        let (reports, report_writer) = io::pipe()?;
        sys::set_nonblocking(reports.as_fd())?;
        let mut pids = vec![0; plan.ranks.len()];
        let kept = plan.descriptors(&[command_reader.as_raw_fd(), report_writer.as_raw_fd()]);
        let highest = kept.last().copied().unwrap_or(0).max(highest);
        // SAFETY: the child runs `guard`, which keeps to async-signal-safe calls and never returns.
        let pid = sys::check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: only this copy of the process uses these descriptors and this memory from
            // here on.
            unsafe {
                forget_descriptors(&kept, highest);
                guard(
                    &plan,
                    &mut pids,
                    command_reader.as_raw_fd(),
                    report_writer.as_raw_fd(),
                )
            }
        }
        Ok(Warden {
            pid,
            commands: Some(commands),
            reports,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    /// Passes a command on. A warden that is gone is noticed at the end of its reports.
    pub(crate) fn tell(&mut self, command: Command) {
        if let Some(commands) = &mut self.commands {
            let _ = commands.write_all(&command.emit());
        }
    }

    /// The reports that have come. Ok(false): the warden has ended.
    pub(crate) fn reports(&mut self, into: &mut Vec<Report>) -> io::Result<bool> {
        // Writers write whole records, so a multiple of the record size never splits one.
        let mut bytes = [0; REPORT_BYTES * 64];
        match self.reports.read(&mut bytes) {
            Ok(0) => Ok(false),
            Ok(count) => {
                let records = bytes[..count].as_chunks::<REPORT_BYTES>().0;
                into.extend(records.iter().filter_map(|record| Report::parse(*record)));
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Warden {
    /// Whatever happened: end the warden, which ends everything below it, and wait for that.
    fn drop(&mut self) {
        self.tell(Command::End);
        self.commands = None;
        // Its last reports must find room, or it would wait for us as we do for it.
        let mut unheard = Vec::new();
        while matches!(self.reports(&mut unheard), Ok(true)) {
            unheard.clear();
            let _ = sys::poll(&mut [sys::poll_entry(self.fd(), libc::POLLIN)], None);
        }
        sys::reap(self.pid);
    }
}

/// The warden's life.
///
/// # Safety
/// Only in a freshly forked child that owns the descriptors and exits through this function.
unsafe fn guard(plan: &Plan, pids: &mut [i32], commands: RawFd, reports: RawFd) -> ! {
    // SAFETY: plain system calls on integers and on locals that outlive them.
    let children = unsafe {
        libc::prctl(libc::PR_SET_NAME, c"oxmpi-warden".as_ptr());
        // A group of its own: kill -9 of the launcher's whole group must not take the warden along.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    let mut ward = Ward {
        pids,
        mail: Mail {
            reports,
            bytes: [0; MAIL_BYTES],
            used: 0,
        },
    };
    for rank in 0..plan.ranks.len() {
        // SAFETY: the child side only executes or exits.
        let started = unsafe { ward.start(plan, rank) };
        // At once, so that later ranks do not each copy and close the descriptors of all earlier
        // ones.
        let ends = &plan.ranks[rank].ends;
        for fd in [&ends.stdout, &ends.stderr, &ends.pmi] {
            close(fd);
        }
        if !started {
            break;
        }
    }
    ward.mail.send();
    for (_, stdin) in &plan.inputs {
        close(stdin);
    }
    let mut entries = [commands, children].map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    loop {
        if sys::poll(&mut entries, None).is_err() {
            break;
        }
        if entries[1].revents != 0 {
            drain(children);
            ward.reap(libc::WNOHANG);
        }
        if entries[0].revents != 0 {
            let mut bytes = [0; COMMAND_BYTES];
            // SAFETY: pointer and length describe `bytes`.
            let got = unsafe { libc::read(commands, bytes.as_mut_ptr().cast(), COMMAND_BYTES) };
            match Command::parse(bytes) {
                Some(Command::Signal(signal)) if got == COMMAND_BYTES as isize => {
                    ward.signal(signal);
                }
                // The end of the pipe is the end of the launcher, however it came.
                _ => break,
            }
        }
    }
    ward.kill_all();
    // SAFETY: leaves without running destructors of the process this one was copied from.
    unsafe { libc::_exit(0) }
}

/// Closes what the fork copied and the warden does not need: the launcher must see the ends of the
/// ranks' output, rank 0 that of its input, and agents that of their connections to it. What is
/// meant to be inherited (no close-on-exec) stays as it is.
fn forget_descriptors(kept: &[RawFd], highest: RawFd) {
    for fd in (3..=highest).filter(|fd| kept.binary_search(fd).is_err()) {
        // SAFETY: integers only. The warden leaves by _exit, so the owners' destructors never run
        // here.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFD);
            if flags >= 0 && flags & libc::FD_CLOEXEC != 0 {
                libc::close(fd);
            }
        }
    }
}

fn close(fd: &OwnedFd) {
    // SAFETY: the warden leaves by _exit, so the owner's destructor never runs in this process.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// Forgets the SIGCHLDs that have been noticed.
fn drain(children: RawFd) {
    let mut infos = [0u8; size_of::<libc::signalfd_siginfo>() * 4];
    // SAFETY: pointer and length describe `infos`; the descriptor does not block.
    while unsafe { libc::read(children, infos.as_mut_ptr().cast(), infos.len()) } > 0 {}
}

/// The ranks in the warden's care. A pid of 0 is a rank that has not started or whose end was
/// reported: only pids the kernel still keeps for us are ever signalled, so a recycled number is
/// never hit.
struct Ward<'a> {
    pids: &'a mut [i32],
    mail: Mail,
}

impl Ward<'_> {
    /// Forks and executes one rank; the report waits in the mail.
    ///
    /// A plain fork, because the warden is small. Sharing memory as vfork does saves the copied
    /// page tables, but the warden would wait for every exec: two context switches per rank and,
    /// with 64 ranks on 2 busy cores, 107 ms instead of 90 ms.
    ///
    /// # Safety
    /// As for [`guard`].
    unsafe fn start(&mut self, plan: &Plan, rank: usize) -> bool {
        // SAFETY: getpid has no preconditions; the warden has one thread, and the child only
        // executes or exits.
        let (warden, pid) = unsafe { (libc::getpid(), libc::fork()) };
        let number = rank as u32;
        match pid {
            0 => {
                // SAFETY: this is the child.
                let (stage, errno) = unsafe { become_rank(plan, rank, warden) };
                // The mail holds a copy of what the warden will send itself.
                self.mail.used = 0;
                self.fail(number, stage, errno);
                self.mail.send();
                // SAFETY: no destructors of the copied process may run.
                unsafe { libc::_exit(127) }
            }
            -1 => {
                self.fail(number, Stage::Fork, errno());
                false
            }
            pid => {
                // The child does the same; whoever comes first, the group exists before it is
                // signalled. SAFETY: integers only.
                unsafe { libc::setpgid(pid, pid) };
                self.pids[rank] = pid;
                self.mail.put(Report::Started { port: number, pid });
                true
            }
        }
    }

    fn fail(&mut self, port: u32, stage: Stage, errno: i32) {
        self.mail.put(Report::Failed { port, stage, errno });
    }

    /// Collects ended children and reports those that were ranks. True: there are none left to wait
    /// for.
    fn reap(&mut self, flags: libc::c_int) -> bool {
        let none_left = loop {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            let pid = unsafe { libc::waitpid(-1, &mut status, flags) };
            if pid == 0 {
                break false;
            }
            if pid < 0 && errno() == libc::EINTR {
                continue;
            }
            if pid < 0 {
                break true;
            }
            if let Some(rank) = self.pids.iter().position(|known| *known == pid) {
                self.pids[rank] = 0;
                let port = rank as u32;
                self.mail.put(Report::Ended { port, status });
            }
            if flags & libc::WNOHANG == 0 {
                break false;
            }
        };
        self.mail.send();
        none_left
    }

    /// Sends a signal to the groups of all running ranks, and to processes that lost their parents.
    fn signal(&self, signal: libc::c_int) {
        for &pid in self.pids.iter() {
            sys::signal_group(pid, signal);
        }
        for_each_child(|pid| {
            if !self.pids.contains(&pid) {
                // SAFETY: integers only; a child that was not waited for keeps its pid.
                unsafe { libc::kill(pid, signal) };
            }
        });
    }

    /// Kills every descendant. Children of the killed become ours (subreaper), so this ends with
    /// none left.
    fn kill_all(&mut self) {
        loop {
            if self.reap(libc::WNOHANG) {
                return;
            }
            for &pid in self.pids.iter() {
                sys::signal_group(pid, libc::SIGKILL);
            }
            let listed = for_each_child(|pid| {
                // SAFETY: integers only; a child that was not waited for keeps its pid.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            });
            let running = self.pids.iter().any(|pid| *pid != 0);
            // Without /proc, orphans beyond the ranks' groups cannot be found: do not wait for
            // them.
            if (!listed && !running) || self.reap(0) {
                return;
            }
        }
    }
}

/// Turns the forked child into the rank. Comes back only with what failed.
///
/// # Safety
/// Only in a freshly forked child.
unsafe fn become_rank(plan: &Plan, number: usize, warden: i32) -> (Stage, i32) {
    let rank = &plan.ranks[number];
    // SAFETY: all pointers come from the plan, which lives in this copy of the process; the rest
    // are integers. Nothing here allocates.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != warden {
            // It died before the kernel knew that we want to follow.
            libc::_exit(1);
        }
        let own = plan.inputs.iter().find(|(port, _)| *port == number);
        let stdin = own.map_or(&plan.null, |(_, input)| input).as_raw_fd();
        let moved = libc::dup2(stdin, 0) >= 0
            && libc::dup2(rank.ends.stdout.as_raw_fd(), 1) >= 0
            && libc::dup2(rank.ends.stderr.as_raw_fd(), 2) >= 0
            && libc::fcntl(rank.ends.pmi.as_raw_fd(), libc::F_SETFD, 0) >= 0
            && libc::fcntl(plan.segment, libc::F_SETFD, 0) >= 0
            && libc::fcntl(plan.crash.as_raw_fd(), libc::F_SETFD, 0) >= 0;
        if !moved {
            return (Stage::Descriptors, errno());
        }
        if let Some(cpus) = &rank.cpus {
            // A CPU that went away meanwhile is no reason not to run.
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus);
        }
        libc::setrlimit(libc::RLIMIT_NOFILE, &plan.open_files);
        if let Some(wdir) = rank.wdir
            && libc::chdir(wdir) != 0
        {
            return (Stage::Directory, errno());
        }
        // The launcher's Rust runtime ignores SIGPIPE; programs expect the default.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &plan.mask, std::ptr::null_mut());
        libc::execve(rank.path, rank.argv.as_ptr(), rank.envp.as_ptr());
    }
    (Stage::Exec, errno())
}

/// Reports that go out together, so that many ranks do not wake the launcher as many times.
struct Mail {
    reports: RawFd,
    bytes: [u8; MAIL_BYTES],
    used: usize,
}

/// A quarter of PIPE_BUF: written in one piece.
const MAIL_BYTES: usize = 64 * REPORT_BYTES;

impl Mail {
    fn put(&mut self, report: Report) {
        if self.used == MAIL_BYTES {
            self.send();
        }
        let place = self.bytes.iter_mut().skip(self.used);
        place
            .zip(report.emit())
            .for_each(|(place, byte)| *place = byte);
        self.used += REPORT_BYTES;
    }

    fn send(&mut self) {
        if self.used > 0 {
            // SAFETY: pointer and length describe the used part of `bytes`. SIGPIPE is blocked; a
            // launcher that is gone does not matter.
            unsafe { libc::write(self.reports, self.bytes.as_ptr().cast(), self.used) };
        }
        self.used = 0;
    }
}

fn errno() -> i32 {
    // SAFETY: the location is valid in every thread.
    unsafe { *libc::__errno_location() }
}

/// Makes this process inherit what its descendants leave behind. For a process that has no other
/// children.
pub(crate) fn adopt_orphans() {
    // SAFETY: integers only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Kills the children of this process that are not `spared`, and what becomes its child by that.
pub(crate) fn kill_orphans(spared: &[i32]) {
    // A killed process is gone at once unless the kernel is busy for it: half a second is patience
    // enough.
    for _ in 0..250 {
        let mut orphans = Vec::new();
        for_each_child(|pid| {
            if !spared.contains(&pid) {
                orphans.push(pid);
            }
        });
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            // SAFETY: integers only; a child that was not waited for keeps its pid. A null status
            // is allowed.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Calls `act` for every child of this process. False: the kernel does not tell.
fn for_each_child(mut act: impl FnMut(i32)) -> bool {
    let mut bytes = [0u8; 4096];
    let mut number = 0i32;
    // SAFETY: the path is a C string; pointer and length describe `bytes`.
    unsafe {
        let path = c"/proc/thread-self/children";
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        loop {
            let got = libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len());
            if got <= 0 {
                break;
            }
            // Every number is followed by a space, so none is pending when the file ends.
            for &byte in bytes.iter().take(got as usize) {
                if byte.is_ascii_digit() {
                    number = number.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
                } else if number > 0 {
                    act(number);
                    number = 0;
                }
            }
        }
        libc::close(fd);
    }
    true
}
