//! Compiling a program and running it on a library.
//!
//! At most [`TRIALS_MAX`] compilers and jobs run at once in the whole process: MPI jobs of several
//! ranks on few cores slow each other down until they look like hanging. Output goes to a file, so
//! that a job that is killed still shows it, and a child that survives it cannot keep the run
//! waiting.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::library::{Kind, Library, LibraryError, RANKS, is_spread};
use crate::limit;
use crate::program::{Expect, Program, sources};

/// Compilers and jobs at a time.
pub const TRIALS_MAX: u32 = 2;

/// A job that takes longer on an idle machine hangs: the programs take well under a second there.
const HANG_AFTER: Duration = Duration::from_secs(60);

/// How long a job that hangs has for dying in order, before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Programs that are compiled in a folder, against one library's header and with its name alone: no
/// path to it is in them.
///
/// A folder has one workshop at a time, in whichever process: a second one would overwrite binaries
/// and logs that the first one uses.
#[derive(Debug)]
pub struct Workshop {
    folder: PathBuf,
    _lock: File,
    include: PathBuf,
    link: PathBuf,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the program expects.
    Passed,
    /// Not run, and why.
    Skipped(String),
    /// Otherwise.
    Failed {
        /// What is wrong.
        reason: String,
        /// What the ranks wrote.
        output: String,
    },
}

impl Workshop {
    /// Compiles against `library`, into `folder`; waits while another workshop has the folder.
    pub fn new(folder: &Path, library: &Library) -> Result<Workshop, LibraryError> {
        let lock = folder.join("lock");
        let lock = std::fs::create_dir_all(folder)
            .and_then(|()| File::create(&lock))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| LibraryError::File {
                path: lock.display().to_string(),
                source,
            })?;
        let include = library.include(folder)?;
        Ok(Workshop {
            folder: folder.to_path_buf(),
            _lock: lock,
            include,
            link: library.prefix.join("lib"),
        })
    }

    /// Makes the binary of a program; the error is what the compiler says.
    pub fn compile(&self, program: &Program) -> Result<PathBuf, String> {
        self.compile_with(program, &[])
    }

    /// As [`Workshop::compile`], with further options of the compiler.
    pub fn compile_with(&self, program: &Program, options: &[&str]) -> Result<PathBuf, String> {
        let _permit = Permit::take();
        let folder = self.folder.join(&program.chapter);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let binary = folder.join(&program.name);
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut compile = Command::new(&compiler);
        compile
            .args([
                "-std=c11",
                "-D_POSIX_C_SOURCE=200809L",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pthread",
            ])
            .args(options)
            .arg("-I")
            .arg(sources())
            .arg("-I")
            .arg(&self.include)
            .arg(&program.source)
            .arg("-o")
            .arg(&binary)
            .arg("-L")
            .arg(&self.link)
            // MPICH keeps what its library needs one folder further down.
            .arg(format!(
                "-Wl,-rpath-link,{}",
                self.link.join("mpich").display()
            ))
            .args(["-lmpi_abi", "-lm"]);
        match compile.output() {
            Ok(output) if output.status.success() => Ok(binary),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(format!("{compiler:?} could not be started: {error}")),
        }
    }
}

/// Runs the binary of a program on a library with this many ranks.
pub fn run(program: &Program, binary: &Path, library: &Library, ranks: u32) -> Outcome {
    if let (Kind::Mpich, Some(reason)) = (library.kind, &program.skip_mpich) {
        return Outcome::Skipped(reason.clone());
    }
    if let (true, Some(reason)) = (is_spread(), &program.one_host) {
        return Outcome::Skipped(format!("on several hosts: {reason}"));
    }
    match attempt(program, binary, library, ranks) {
        Outcome::Failed { output, .. } if is_bad_start(library, &output) => {
            attempt(program, binary, library, ranks)
        }
        outcome => outcome,
    }
}

/// Whether MPICH did not come up: its network library measures the machine when it starts, and now
/// and then refuses what it has measured. That says nothing of the program.
fn is_bad_start(library: &Library, output: &str) -> bool {
    library.kind == Kind::Mpich && output.contains("UCX  ERROR")
}

fn attempt(program: &Program, binary: &Path, library: &Library, ranks: u32) -> Outcome {
    let _permit = Permit::take();
    let log = binary.with_extension(format!("{}.{ranks}.log", library.name));
    let words = line(program, binary, library, ranks);
    let (end, output) = match execute(&words, library, &log, HANG_AFTER) {
        Ok(end) => (end, read(&log)),
        Err(error) => {
            return Outcome::Failed {
                reason: format!("could not be run: {error}"),
                output: String::new(),
            };
        }
    };
    match judge(program, library.kind, end, &output) {
        Ok(()) => Outcome::Passed,
        Err(reason) => Outcome::Failed { reason, output },
    }
}

/// What a run must be like to pass; `None` as its end means that it did not end.
fn judge(
    program: &Program,
    kind: Kind,
    end: Option<ExitStatus>,
    output: &str,
) -> Result<(), String> {
    let Some(status) = end else {
        return Err(format!(
            "hang: still running after {} s, killed",
            HANG_AFTER.as_secs()
        ));
    };
    match &program.expect {
        Expect::Good | Expect::Told(_) if !status.success() => Err(format!("failed: {status}")),
        Expect::Good | Expect::Told(_) => match output.lines().filter(|line| *line == "ok").count()
        {
            0 => Err("rank 0 did not say ok".to_string()),
            1 => warning(&program.expect, output, kind),
            // A library that does not understand its launcher comes up as so many jobs of one rank,
            // and many programs are right in each.
            jobs => Err(format!("rank 0 said ok {jobs} times: ranks came up alone")),
        },
        Expect::Fatal(_) if status.success() => Err("succeeded where it must fail".to_string()),
        Expect::Fatal(_) if output.contains("not-reached") => {
            Err("went on after the call that is fatal".to_string())
        }
        Expect::Fatal(words) => {
            let text = output.to_lowercase();
            let missing = words
                .iter()
                .find(|word| !text.contains(&word.to_lowercase()));
            match missing.filter(|_| kind == Kind::OxMpi) {
                Some(word) => Err(format!(
                    "died as it should, but its message does not mention {word:?}"
                )),
                None => Ok(()),
            }
        }
    }
}

/// Looks for the warning that a program must get, or must not.
fn warning(expect: &Expect, output: &str, kind: Kind) -> Result<(), String> {
    let Expect::Told(words) = expect else {
        return Ok(());
    };
    if kind != Kind::OxMpi {
        return Ok(());
    }
    let said: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("oxmpi:"))
        .collect();
    if words.is_empty() && !said.is_empty() {
        return Err("was warned although nothing is wrong".to_string());
    }
    let text = said.concat().to_lowercase();
    match words
        .iter()
        .find(|word| !text.contains(&word.to_lowercase()))
    {
        Some(word) => Err(format!("no warning mentions {word:?}")),
        None => Ok(()),
    }
}

/// The command line of a run.
fn line(program: &Program, binary: &Path, library: &Library, ranks: u32) -> Vec<String> {
    let (parts, each) = match program.programs {
        true => (ranks, 1),
        false => (1, ranks),
    };
    let launcher = library.launcher.iter();
    let mut launcher = launcher.map(|word| word.replace(RANKS, &each.to_string()));
    let mut words: Vec<String> = launcher.next().into_iter().collect();
    words.extend(program.options.iter().cloned());
    let mut part: Vec<String> = launcher.collect();
    part.push(binary.display().to_string());
    let parts = vec![part; parts as usize];
    words.extend(parts.join(&":".to_string()));
    words
}

/// Runs a job to its end, or to `limit`: then there is no status.
///
/// Debian's Hydra (MPICH 4.0) writes to a helper of its own that may have ended, and is then killed
/// by SIGPIPE before any rank has said a word; that says nothing about a library, so the job is run
/// once more.
fn execute(
    words: &[String],
    library: &Library,
    log: &Path,
    limit: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let status = run_once(words, library, log, limit)?;
    let is_hydra = library
        .launcher
        .first()
        .is_some_and(|word| word.contains("hydra"));
    let is_killed = status.is_some_and(|status| status.signal() == Some(SIGPIPE));
    if is_hydra && is_killed && read(log).is_empty() {
        println!(
            "{}: Hydra was killed by SIGPIPE; once more",
            words.join(" ")
        );
        return run_once(words, library, log, limit);
    }
    Ok(status)
}

/// The signal of a write to a pipe or connection without a reader.
const SIGPIPE: i32 = 13;

/// As [`execute`], once.
fn run_once(
    words: &[String],
    library: &Library,
    log: &Path,
    limit: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let file = File::create(log)?;
    let mut words = words.iter();
    // A launcher of others may need libraries of its own.
    let mut path = library.prefix.join("lib").into_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(others);
    }
    let mut job = Command::new(words.next().map_or("", String::as_str));
    job.args(words)
        .env("LD_LIBRARY_PATH", path)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0);
    let mut child = job.spawn()?;
    let end = wait(&mut child, limit)?;
    if end.is_none() {
        signal(&child, "-TERM");
        wait(&mut child, GRACE)?;
        signal(&child, "-KILL");
        child.wait()?;
    }
    Ok(end)
}

/// Waits for a child, but not for ever.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit::limit(limit) {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Signals the launcher and what shares its process group. The child is not reaped yet, so the
/// number is still its own.
fn signal(child: &Child, name: &str) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill")
        .args([name, "--", &group])
        .stderr(Stdio::null())
        .status();
}

fn read(log: &Path) -> String {
    std::fs::read(log).map_or(String::new(), |bytes| {
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Leave to run one compiler or job.
struct Permit;

static TAKEN: Mutex<u32> = Mutex::new(0);
static RETURNED: Condvar = Condvar::new();

impl Permit {
    fn take() -> Permit {
        let taken = TAKEN.lock().expect("nobody panics with the count in hand");
        let mut taken = RETURNED
            .wait_while(taken, |taken| *taken >= TRIALS_MAX)
            .expect("nobody panics with the count in hand");
        *taken += 1;
        Permit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *TAKEN.lock().expect("nobody panics with the count in hand") -= 1;
        RETURNED.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;

    fn program(expect: &str) -> Program {
        let text = format!("/* ranks: 1 */ {expect} /* Why. */");
        Program::parse(Path::new("c/errors/x.c"), &text).unwrap()
    }

    fn verdict(expect: &str, kind: Kind, code: Option<i32>, output: &str) -> String {
        let end = code.map(|code| ExitStatus::from_raw(code << 8));
        judge(&program(expect), kind, end, output)
            .err()
            .unwrap_or("passed".to_string())
    }

    #[test]
    fn a_good_run_ends_well_and_says_so() {
        assert_eq!(verdict("", Kind::Mpich, Some(0), "ok\n"), "passed");
        assert_eq!(
            verdict("", Kind::Mpich, Some(0), "not ok\n"),
            "rank 0 did not say ok"
        );
        assert_eq!(
            verdict("", Kind::OxMpi, Some(0), "ok\nok\n"),
            "rank 0 said ok 2 times: ranks came up alone"
        );
        assert_eq!(
            verdict("", Kind::OxMpi, Some(1), "ok\n"),
            "failed: exit status: 1"
        );
        assert_eq!(
            verdict("", Kind::OxMpi, None, "ok\n"),
            "hang: still running after 60 s, killed"
        );
    }

    #[test]
    fn a_fatal_run_fails_and_ours_says_why() {
        let expect = "/* expect: fatal MPI_Send Rank */";
        assert_eq!(
            verdict(expect, Kind::OxMpi, Some(1), "mpi_send: rank 7\n"),
            "passed"
        );
        assert_eq!(verdict(expect, Kind::Mpich, Some(1), ""), "passed");
        assert_eq!(
            verdict(expect, Kind::OxMpi, Some(1), "MPI_Send"),
            "died as it should, but its message does not mention \"Rank\""
        );
        assert_eq!(
            verdict(expect, Kind::OxMpi, Some(0), "MPI_Send rank"),
            "succeeded where it must fail"
        );
        assert_eq!(
            verdict(expect, Kind::Mpich, Some(1), "not-reached"),
            "went on after the call that is fatal"
        );
    }

    #[test]
    fn a_command_line_has_options_and_programs() {
        let library = Library {
            kind: Kind::OxMpi,
            name: "fake".to_string(),
            prefix: PathBuf::new(),
            launcher: vec!["mpiexec".into(), "-n".into(), RANKS.into()],
        };
        let words = |directives: &str| {
            let words = line(&program(directives), Path::new("x"), &library, 2);
            words.join(" ")
        };
        assert_eq!(words(""), "mpiexec -n 2 x");
        assert_eq!(words("/* options: -l -v */"), "mpiexec -l -v -n 2 x");
        assert_eq!(words("/* programs */"), "mpiexec -n 1 x : -n 1 x");
    }

    #[test]
    fn a_job_that_hangs_is_ended_with_its_children_and_keeps_its_output() {
        let prefix = std::env::temp_dir().join(format!("oxmpi-hang-{}", std::process::id()));
        let launcher = prefix.join("bin/mpiexec");
        std::fs::create_dir_all(prefix.join("bin")).unwrap();
        std::fs::write(
            &launcher,
            "#!/bin/sh\necho begun\nsleep 1000 &\necho $!\nwait\n",
        )
        .unwrap();
        std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
        let library = Library {
            kind: Kind::OxMpi,
            name: "fake".to_string(),
            prefix: prefix.clone(),
            launcher: vec![launcher.display().to_string()],
        };
        let log = prefix.join("log");
        let words = line(&program(""), &launcher, &library, 2);
        let end = execute(&words, &library, &log, Duration::from_secs(1)).unwrap();
        let output = read(&log);
        std::fs::remove_dir_all(&prefix).unwrap();
        assert_eq!(end, None);
        let (first, child) = output.trim().split_once('\n').unwrap();
        assert_eq!(first, "begun");
        // A zombie that nobody has reaped yet still has a folder, but no command line.
        let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        assert_eq!(line, b"", "the launcher's child lives on");
    }
}
