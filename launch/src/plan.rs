//! A job made ready for exec: every string and descriptor a rank needs, laid out before the warden forks.
//!
//! After the fork only async-signal-safe calls are allowed (the launcher may live in a process with many
//! threads), so nothing may be allocated, formatted or looked up there. All of that happens here.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use crate::bind::{self, Bind};
use crate::identity;
use crate::job::{AppContext, Job, LaunchError};
use crate::sys;

/// One rank, ready to be executed. The pointers lead into strings that the [`Plan`] owns.
pub(crate) struct RankPlan {
    pub(crate) path: *const libc::c_char,
    /// NULL-terminated.
    pub(crate) argv: Vec<*const libc::c_char>,
    /// NULL-terminated.
    pub(crate) envp: Vec<*const libc::c_char>,
    pub(crate) wdir: Option<*const libc::c_char>,
    pub(crate) cpus: Option<libc::cpu_set_t>,
    /// What becomes descriptors 1 and 2.
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// All ranks, and what they have in common.
pub(crate) struct Plan {
    pub(crate) ranks: Vec<RankPlan>,
    pub(crate) segment: RawFd,
    /// What rank 0 reads; None leaves it the launcher's own standard input.
    pub(crate) first_stdin: Option<OwnedFd>,
    /// What the others read: nothing.
    pub(crate) null: OwnedFd,
    /// The signal mask ranks start with: the launcher's own before it took signals over.
    pub(crate) mask: libc::sigset_t,
    /// The limit of open files of before the launcher raised its own.
    pub(crate) open_files: libc::rlimit,
    /// Keeps the strings alive and in place.
    _strings: Vec<CString>,
}

/// The ranks' ends of the pipes the launcher made.
pub(crate) struct Ends {
    pub(crate) first_stdin: Option<OwnedFd>,
    pub(crate) null: OwnedFd,
    /// Standard output and error of each rank.
    pub(crate) outputs: Vec<(OwnedFd, OwnedFd)>,
}

impl Plan {
    pub(crate) fn new(
        job: &Job,
        segment: BorrowedFd<'_>,
        ends: Ends,
        mask: libc::sigset_t,
        open_files: libc::rlimit,
    ) -> Result<Plan, LaunchError> {
        let mut strings = Strings::default();
        let size = ends.outputs.len();
        let cores = match job.settings.bind {
            Bind::None => Vec::new(),
            Bind::Core => bind::cores().map_err(LaunchError::system("read the CPU affinity"))?,
        };
        let mut outputs = ends.outputs.into_iter();
        let mut ranks = Vec::with_capacity(size);
        for app in &job.apps {
            let path = strings.keep(app.executable.path.as_os_str(), "the program's path")?;
            let wdir = match &app.wdir {
                Some(wdir) => Some(strings.keep(wdir.as_os_str(), "the working directory")?),
                None => None,
            };
            let argv = strings.arguments(app)?;
            let shared = strings.environment(job, app, size, segment.as_raw_fd())?;
            for (stdout, stderr) in outputs.by_ref().take(app.ranks as usize) {
                let rank = ranks.len();
                let mut envp = shared.clone();
                let own = format!("{}={rank}", identity::RANK);
                envp.push(strings.keep(OsStr::new(&own), "the environment")?);
                envp.push(std::ptr::null());
                let core = (!cores.is_empty()).then(|| &cores[rank % cores.len()]);
                ranks.push(RankPlan {
                    path,
                    argv: argv.clone(),
                    envp,
                    wdir,
                    cpus: core.map(|cpus| sys::cpu_set(cpus)),
                    stdout,
                    stderr,
                });
            }
        }
        Ok(Plan {
            ranks,
            segment: segment.as_raw_fd(),
            first_stdin: ends.first_stdin,
            null: ends.null,
            mask,
            open_files,
            _strings: strings.kept,
        })
    }
}

impl Plan {
    /// The descriptors the ranks will need, with `others`, in ascending order.
    pub(crate) fn descriptors(&self, others: &[RawFd]) -> Vec<RawFd> {
        let outputs = self
            .ranks
            .iter()
            .flat_map(|rank| [&rank.stdout, &rank.stderr]);
        let inputs = self.first_stdin.iter().chain([&self.null]);
        let ours = outputs.chain(inputs).map(AsRawFd::as_raw_fd);
        let mut all: Vec<RawFd> = ours
            .chain([self.segment])
            .chain(others.iter().copied())
            .collect();
        all.sort_unstable();
        all
    }
}

/// C strings under construction. Moving a CString does not move its bytes, so pointers stay good.
#[derive(Default)]
struct Strings {
    kept: Vec<CString>,
}

impl Strings {
    fn keep(&mut self, text: &OsStr, what: &str) -> Result<*const libc::c_char, LaunchError> {
        let string = CString::new(text.as_bytes()).map_err(|_| LaunchError::Nul {
            what: what.to_owned(),
        })?;
        let pointer = string.as_ptr();
        self.kept.push(string);
        Ok(pointer)
    }

    fn arguments(&mut self, app: &AppContext) -> Result<Vec<*const libc::c_char>, LaunchError> {
        let mut argv = vec![self.keep(&app.executable.argv0, "the program's name")?];
        for argument in &app.arguments {
            argv.push(self.keep(argument, "an argument of the program")?);
        }
        argv.push(std::ptr::null());
        Ok(argv)
    }

    /// Everything but OXMPI_RANK, which differs from rank to rank.
    fn environment(
        &mut self,
        job: &Job,
        app: &AppContext,
        size: usize,
        segment: RawFd,
    ) -> Result<Vec<*const libc::c_char>, LaunchError> {
        let ours = [
            (identity::SIZE.into(), size.to_string().into()),
            (identity::SEGMENT.into(), segment.to_string().into()),
        ];
        let mut variables: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| name != identity::RANK)
            .collect();
        for (name, value) in job.settings.env.iter().chain(&app.env).chain(&ours) {
            match variables.iter_mut().find(|known| known.0 == *name) {
                Some(known) => known.1.clone_from(value),
                None => variables.push((name.clone(), value.clone())),
            }
        }
        let mut envp = Vec::with_capacity(variables.len() + 2);
        for (mut name, value) in variables {
            let what = format!("the environment variable {}", name.to_string_lossy());
            name.push("=");
            name.push(value);
            envp.push(self.keep(&name, &what)?);
        }
        Ok(envp)
    }
}
