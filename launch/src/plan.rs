//! The ranks of a host made ready for exec: every string and descriptor a rank needs, laid out
//! before the warden forks.
//!
//! After the fork only async-signal-safe calls are allowed (the launcher may live in a process with
//! many threads), so nothing may be allocated, formatted or looked up there. All of that happens
//! here.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use crate::bind;
use crate::environment::{self, Variables};
use crate::frame::{JobSpec, Program};
use crate::job::LaunchError;
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
    pub(crate) ends: RankEnds,
}

/// The rank's ends of what connects it with its launcher.
pub(crate) struct RankEnds {
    /// What becomes descriptors 1 and 2.
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Where it speaks PMI, if it does; keeps its number.
    pub(crate) pmi: OwnedFd,
}

/// All ranks of a host, and what they have in common.
pub(crate) struct Plan {
    /// By port.
    pub(crate) ranks: Vec<RankPlan>,
    pub(crate) segment: RawFd,
    /// What ranks read, by port, of those that have something to read.
    pub(crate) inputs: Vec<(usize, OwnedFd)>,
    /// What the others read: nothing.
    pub(crate) null: OwnedFd,
    /// Where they tell of a crash; keeps its number.
    pub(crate) crash: OwnedFd,
    /// The signal mask ranks start with: the launcher's own before it took signals over.
    pub(crate) mask: libc::sigset_t,
    /// The limit of open files of before the launcher raised its own.
    pub(crate) open_files: libc::rlimit,
    /// Keeps the strings alive and in place.
    _strings: Vec<CString>,
}

/// The ranks' ends of all pipes and sockets.
pub(crate) struct Ends {
    pub(crate) inputs: Vec<(usize, OwnedFd)>,
    pub(crate) null: OwnedFd,
    pub(crate) crash: OwnedFd,
    /// By port.
    pub(crate) ranks: Vec<RankEnds>,
}

impl Plan {
    /// `ranks` are those of this host, rising; `inherited` is what they find in their environment
    /// unless the job says something else.
    pub(crate) fn new(
        spec: &JobSpec,
        ranks: &[u32],
        inherited: &Variables,
        segment: BorrowedFd<'_>,
        ends: Ends,
        mask: libc::sigset_t,
        open_files: libc::rlimit,
    ) -> Result<Plan, LaunchError> {
        let mut strings = Strings::default();
        let unbound = |error| LaunchError::system("bind ranks to CPUs")(error);
        let places = spec.bind.places().map_err(unbound)?;
        if spec.bind.report {
            // On another host this is passed on by the remote shell, under the host's name.
            for line in bind::report(&spec.bind, ranks, &places).map_err(unbound)? {
                eprintln!("oxmpi: {line}");
            }
        }
        // A list of CPUs without places confines all ranks to it.
        let places = match (places.is_empty(), &spec.bind.cpus) {
            (true, Some(_)) => vec![spec.bind.usable().map_err(unbound)?],
            _ => places,
        };
        let crash = ends.crash.as_raw_fd();
        let mut plans = Vec::with_capacity(ranks.len());
        let mut shared: Option<(usize, Shared)> = None;
        for (port, (&rank, ends)) in ranks.iter().zip(ends.ranks).enumerate() {
            let number = spec.program_of(rank);
            // Ranks of one program follow each other: what they share is made once.
            let known = shared.take().filter(|known| known.0 == number);
            let common = match known {
                Some((_, common)) => common,
                None => {
                    let host = OnHost {
                        inherited,
                        ranks: ranks.len() as u32,
                        segment: segment.as_raw_fd(),
                        crash,
                    };
                    strings.shared(spec, number, &host)?
                }
            };
            let mut envp = common.envp.clone();
            let pmi = ends.pmi.as_raw_fd();
            let own = environment::of_a_rank(rank, port as u32).into_iter();
            for (name, value) in own.chain([("PMI_FD", pmi as u32)]) {
                let own = format!("{name}={value}");
                envp.push(strings.keep(OsStr::new(&own), "the environment")?);
            }
            envp.push(std::ptr::null());
            let place = (!places.is_empty()).then(|| &places[port % places.len()]);
            plans.push(RankPlan {
                path: common.path,
                argv: common.argv.clone(),
                envp,
                wdir: common.wdir,
                cpus: place.map(|cpus| sys::cpu_set(cpus)),
                ends,
            });
            shared = Some((number, common));
        }
        Ok(Plan {
            ranks: plans,
            segment: segment.as_raw_fd(),
            inputs: ends.inputs,
            null: ends.null,
            crash: ends.crash,
            mask,
            open_files,
            _strings: strings.kept,
        })
    }

    /// The descriptors the ranks will need, with `others`, in ascending order.
    pub(crate) fn descriptors(&self, others: &[RawFd]) -> Vec<RawFd> {
        let of_ranks = self
            .ranks
            .iter()
            .flat_map(|rank| [&rank.ends.stdout, &rank.ends.stderr, &rank.ends.pmi]);
        let inputs = self.inputs.iter().map(|(_, input)| input);
        let inputs = inputs.chain([&self.null, &self.crash]);
        let ours = of_ranks.chain(inputs).map(AsRawFd::as_raw_fd);
        let mut all: Vec<RawFd> = ours
            .chain([self.segment])
            .chain(others.iter().copied())
            .collect();
        all.sort_unstable();
        all
    }
}

/// What the ranks of one program have in common.
struct Shared {
    path: *const libc::c_char,
    argv: Vec<*const libc::c_char>,
    /// Without what differs from rank to rank, and without the NULL.
    envp: Vec<*const libc::c_char>,
    wdir: Option<*const libc::c_char>,
}

/// What the ranks of all programs on a host have in common.
struct OnHost<'a> {
    inherited: &'a Variables,
    ranks: u32,
    segment: RawFd,
    crash: RawFd,
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

    fn shared(
        &mut self,
        spec: &JobSpec,
        number: usize,
        host: &OnHost<'_>,
    ) -> Result<Shared, LaunchError> {
        let program = &spec.programs[number];
        let wdir = program.wdir.as_ref();
        Ok(Shared {
            path: self.keep(&program.path, "the program's path")?,
            argv: self.arguments(program)?,
            envp: self.environment(spec, number, host)?,
            wdir: wdir
                .map(|wdir| self.keep(wdir, "the working directory"))
                .transpose()?,
        })
    }

    fn arguments(&mut self, program: &Program) -> Result<Vec<*const libc::c_char>, LaunchError> {
        let mut argv = vec![self.keep(&program.argv0, "the program's name")?];
        for argument in &program.arguments {
            argv.push(self.keep(argument, "an argument of the program")?);
        }
        argv.push(std::ptr::null());
        Ok(argv)
    }

    fn environment(
        &mut self,
        spec: &JobSpec,
        number: usize,
        host: &OnHost<'_>,
    ) -> Result<Vec<*const libc::c_char>, LaunchError> {
        let program = &spec.programs[number];
        let pair = |(name, value): (&str, u32)| (OsString::from(name), value.to_string().into());
        let mut ours: Variables = environment::of_a_job(spec.size(), host.ranks)
            .map(pair)
            .into();
        ours.push(pair((oxmpi_settings::APPNUM.name, number as u32)));
        ours.push(pair((oxmpi_settings::SEGMENT.name, host.segment as u32)));
        ours.push(pair((oxmpi_settings::CRASH_SOCKET.name, host.crash as u32)));
        let mut variables = host.inherited.clone();
        let said = spec.env.iter().chain(&program.env);
        environment::overlay(&mut variables, said.chain(&ours));
        // What differs from rank to rank is added for each, and must not be there twice. A launcher
        // that a rank has started is no rank's program.
        let own = environment::of_a_rank(0, 0);
        let mut own: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        own.extend([oxmpi_settings::JOINED.name, "PMI_FD"]);
        variables.retain(|(name, _)| !own.iter().any(|own| name == own));
        let mut envp = Vec::with_capacity(variables.len() + 4);
        for (mut name, value) in variables {
            let what = format!("the environment variable {}", name.to_string_lossy());
            name.push("=");
            name.push(value);
            envp.push(self.keep(&name, &what)?);
        }
        Ok(envp)
    }
}
