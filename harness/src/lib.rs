//! Runs a test as several ranks: real processes, the real launcher, inside `cargo test`.
//!
//! A test made by [`ranks!`](crate::ranks) is an ordinary `#[test]`. Run by `cargo test` it starts
//! the test binary again under the launcher, once for each number of ranks, with the test's own
//! name; in there the same function finds itself to be a rank and runs the body. A rank that panics
//! fails the job, and the job's output is shown. For the tests of this workspace, not for programs.
//!
//! It uses the launcher alone and knows nothing of MPI, so every crate above `launch` can use it in
//! tests and none links it otherwise.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use oxmpi_launch::{AppContext, Executable, Job, Outcome, Output, Settings, Stdin};

/// A job that takes longer is a hang. Generous, because tests share two cores with each other.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What survivors of a death have to end by themselves, on a machine that is busy with other tests.
const GRACE: Duration = Duration::from_secs(20);

/// Tells a rank which test it runs, so that a test that starts jobs of its own is not confused.
const CASE: &str = "OXMPI_TEST_CASE";

/// Makes a test that runs its body as each of these numbers of ranks:
///
/// ```ignore
/// oxmpi_harness::ranks! {
///     fn everybody_is_there([1, 2, 4]) {
///         let mpi = oxmpi::init().unwrap();
///         mpi.world().barrier().unwrap();
///     }
/// }
/// ```
///
/// A second argument runs it under several settings of the environment, `[&[], &[("OXMPI_BOARDS",
/// "off")]]`.
#[macro_export]
macro_rules! ranks {
    ($($(#[$attribute:meta])* fn $name:ident($sizes:expr $(, $settings:expr)?) $body:block)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let path = concat!(module_path!(), "::", stringify!($name));
            #[allow(unused_mut, unused_assignments)]
            let mut settings: &[$crate::Setting] = &[&[]];
            $(settings = &$settings;)?
            $crate::run(path, &$sizes, settings, || $body);
        }
    )*};
}

/// Environment variables for a job.
pub type Setting = &'static [(&'static str, &'static str)];

/// For tests of what only processes of one host can do. Where the environment spreads jobs over
/// hosts (`cargo xtask hosts`), they are skipped.
pub const ONE_HOST: Setting = &[(oxmpi_settings::SHARED_MEMORY.name, "on")];

/// Runs `body` if this process is a rank of the test, otherwise starts jobs that do.
pub fn run(path: &str, sizes: &[u32], settings: &[Setting], body: impl FnOnce()) {
    if is_rank(path) {
        return body();
    }
    for (&size, setting) in sizes
        .iter()
        .flat_map(|size| settings.iter().map(move |s| (size, s)))
    {
        if *setting == ONE_HOST && oxmpi_settings::HOST.read().is_set() {
            println!("{path}: skipped, it is about one host and OXMPI_HOST names several");
            continue;
        }
        let outcome = job(path, size, setting);
        // A name that libtest does not know would run nothing and succeed.
        let ran = String::from_utf8_lossy(&outcome.stdout)
            .matches("1 passed")
            .count();
        if !outcome.success() || ran != size as usize {
            panic!(
                "{path} as {size} rank(s) with {setting:?} ended with status {}:\n{}",
                outcome.code,
                text(&outcome)
            );
        }
    }
}

/// Runs `body` if this process is a rank of the test, otherwise starts a job for each size and
/// hands what came of it, and what was said, to `judge`: for tests that look at output or are meant
/// to fail.
pub fn run_and_judge(
    path: &str,
    sizes: &[u32],
    body: impl FnOnce(),
    mut judge: impl FnMut(Outcome, String),
) {
    if is_rank(path) {
        return body();
    }
    for &size in sizes {
        let outcome = job(path, size, &[]);
        let text = text(&outcome);
        judge(outcome, text);
    }
}

fn is_rank(path: &str) -> bool {
    std::env::var(CASE).is_ok_and(|case| case == path)
}

/// Starts this test binary as `size` ranks that run the test `path`, and waits for them.
pub fn job(path: &str, size: u32, env: &[(&str, &str)]) -> Outcome {
    let binary = std::env::current_exe().expect("a test binary knows its own path");
    // libtest names tests without the crate.
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    let mut variables = vec![(CASE, path)];
    if env
        .iter()
        .any(|(name, _)| *name == oxmpi_settings::NET.name)
    {
        // A test that chooses its network is not asked to read it in a way that is TCP's alone.
        variables.push((oxmpi_settings::PROGRESS.name, "auto"));
    }
    variables.extend(env);
    let arguments = [
        "--exact",
        test,
        "--nocapture",
        "--include-ignored",
        "--test-threads=1",
    ];
    start(binary, &arguments, size, &variables, GRACE)
}

/// Runs an example of the crate under test as `size` ranks, as `oxmpi run` does. What came of it,
/// and what was said.
pub fn example(name: &str, size: u32) -> (Outcome, String) {
    let test = std::env::current_exe().expect("a test binary knows its own path");
    let built = test.ancestors().nth(2).expect("tests are built in deps");
    let program = built.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is not built: run cargo test without --test, or cargo build --examples before",
        program.display()
    );
    let outcome = start(program, &[], size, &[], Settings::default().grace);
    let text = text(&outcome);
    (outcome, text)
}

fn start(
    program: PathBuf,
    arguments: &[&str],
    size: u32,
    env: &[(&str, &str)],
    grace: Duration,
) -> Outcome {
    let shown = program.display().to_string();
    let app = AppContext {
        executable: Executable {
            argv0: program.clone().into(),
            shown: shown.clone(),
            path: program,
        },
        arguments: arguments.iter().map(OsString::from).collect(),
        ranks: size,
        wdir: None,
        env: env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    let settings = Settings {
        label: true,
        timeout: Some(TIMEOUT),
        stdin: Stdin::Null,
        output: Output::Capture,
        grace,
        ..Settings::default()
    };
    let job = Job {
        apps: vec![app],
        settings,
    };
    job.run()
        .unwrap_or_else(|error| panic!("{shown} as {size} rank(s) could not start: {error}"))
}

/// What the ranks and the launcher said.
fn text(outcome: &Outcome) -> String {
    let out = String::from_utf8_lossy(&outcome.stdout);
    let err = String::from_utf8_lossy(&outcome.stderr);
    // libtest's own frame around each rank's output says nothing.
    let said = |line: &&str| !line.contains("running 1 test") && !line.contains("test result:");
    out.lines()
        .chain(err.lines())
        .filter(said)
        .collect::<Vec<_>>()
        .join("\n")
}
