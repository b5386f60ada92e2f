//! mpi4py, built from its source distribution against an installation, and its own tests on it.
//!
//! Those tests come from another project, which is their value. The build folder is
//! `target/mpi4py`: a virtual environment, the source distribution, and one log per number of
//! ranks. Tests that are left out, and the reasons, stand in `xtask/mpi4py.skip`. `cargo xtask
//! mpi4py` runs the tests alone, against an installation of one's choice.

mod report;
mod suite;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::installed;
use crate::steps::{Expect, Steps, root, target};

/// Pinned, so that a run says something about OxMPI and not about what was published last night.
const VERSION: &str = "4.1.2";
/// The numbers of ranks of a long test run.
const RANKS: [u32; 4] = [1, 2, 3, 4];
/// Those of a short one; the steps on several hosts have 2 and 3.
const RANKS_SHORT: [u32; 2] = [1, 4];
/// mpi4py's tests take about two minutes on four ranks that share two cores.
const MINUTES_MAX: u64 = 6;

/// Programs that use mpi4py.futures: words after python, and the text by which they say that the
/// result was checked.
const FUTURES: [(&str, &[&str]); 2] = [
    ("MPIPoolExecutor", &["-m", "mpi4py.futures", "pool.py"]),
    ("MPICommExecutor", &["communicator.py"]),
];

/// Builds mpi4py against the installation of `installed` and runs its tests there.
pub fn run(steps: &mut Steps, long: bool) {
    if !provide(steps, "mpi4py") {
        return;
    }
    let numbers: &[u32] = if long { &RANKS } else { &RANKS_SHORT };
    for ranks in numbers {
        let ranks = ranks.to_string();
        let mut suite = installed::task(&["mpi4py", "--ranks", &ranks, "--prefix"]);
        steps.run(
            &format!("mpi4py: its tests on {ranks} ranks"),
            MINUTES_MAX + 1,
            Expect::Tests,
            suite.arg(installed::prefix()),
        );
    }
    for (name, words) in FUTURES {
        let mut job = installed::mpiexec(4);
        job.arg("-wdir")
            .arg(root().join("xtask/mpi4py"))
            .arg(python());
        steps.run(
            &format!("mpi4py: {name}"),
            2,
            Expect::Text("correct"),
            job.args(words),
        );
    }
    // Without processes that wait for work the pool wants to start some, and must not hang.
    let mut alone = Command::new("sh");
    alone
        .args(["-c", "timeout 60 \"$@\"; test $? -eq 1", "sh"])
        .arg(installed::prefix().join("bin/mpiexec"))
        .args(["-n", "1"])
        .arg(python())
        .arg(root().join("xtask/mpi4py/pool.py"));
    steps.run(
        "mpi4py: a pool that would have to start processes ends at once",
        2,
        Expect::Text("the job ends now"),
        &mut alone,
    );
}

/// Whether there is an mpi4py for a step, built against the installation of `installed`.
pub fn provide(steps: &mut Steps, name: &str) -> bool {
    // Steps of two lanes want it, and it is built once.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    installed::provide(steps, name, "python3", "python3-venv python3-dev")
        && build(steps, &installed::prefix())
}

/// Runs the tests of the mpi4py that was built before; true when none failed.
pub fn run_alone(prefix: &Path, ranks: &[u32], words: &[String]) -> bool {
    let ranks = if ranks.is_empty() { &RANKS } else { ranks };
    let mut good = true;
    for &ranks in ranks {
        match suite::run(prefix, ranks, words) {
            Ok(report) => {
                print!("{report}");
                good &= report.is_good();
            }
            Err(error) => {
                eprintln!("cargo xtask: {error}");
                good = false;
            }
        }
    }
    good
}

fn build(steps: &mut Steps, prefix: &Path) -> bool {
    let header = prefix.join("include/mpi.h");
    let stamp = folder().join("built with this mpi.h");
    if built_with(&header, &stamp) {
        println!("\n=== mpi4py {VERSION}: built before with the same mpi.h");
        return true;
    }
    let environment = folder().join("venv");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&environment);
    let pip = environment.join("bin/pip");
    let archive = folder().join(format!("mpi4py-{VERSION}.tar.gz"));
    let mut download = Command::new(&pip);
    download
        .args(["download", "--no-deps", "--no-binary", "mpi4py", "--dest"])
        .arg(folder())
        .arg(format!("mpi4py=={VERSION}"));
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(&archive).arg("-C").arg(folder());
    let mut install = Command::new(&pip);
    install
        .args([
            "install",
            "--no-deps",
            "--no-cache-dir",
            "--force-reinstall",
        ])
        .arg(&archive)
        .env("MPICC", prefix.join("bin/mpicc"))
        // Optimising one C file of 200 000 lines takes minutes and tests nothing of ours.
        .env("CFLAGS", "-O0 -g0");
    let mut good = steps.run_always("mpi4py: environment", 3, Expect::Success, &mut make);
    if good && !archive.exists() {
        good = steps.run_always("mpi4py: download", 5, Expect::Success, &mut download);
    }
    good = good
        && steps.run_always("mpi4py: unpack", 1, Expect::Success, &mut unpack)
        && steps.run_always("mpi4py: build", 10, Expect::Success, &mut install);
    if good {
        // Without the stamp the next run builds again, and that is all that can go wrong.
        let _ = std::fs::copy(&header, &stamp);
    }
    good
}

/// The header is all that mpi4py sees of us when it is built.
fn built_with(header: &Path, stamp: &Path) -> bool {
    match (std::fs::read(header), std::fs::read(stamp)) {
        (Ok(header), Ok(stamp)) => header == stamp && python().exists() && sources().exists(),
        _ => false,
    }
}

fn folder() -> PathBuf {
    target().join("mpi4py")
}

/// The source distribution, unpacked.
fn sources() -> PathBuf {
    folder().join(format!("mpi4py-{VERSION}"))
}

/// The interpreter that has mpi4py.
pub fn python() -> PathBuf {
    folder().join("venv/bin/python")
}
