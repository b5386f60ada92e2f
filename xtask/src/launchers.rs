//! Steps of `cargo xtask test` in which others launch OxMPI's programs, and OxMPI launches others'.
//!
//! Guest: Hydra (PMI-1, PMI-2), Open MPI's mpirun (PMIx), PRRTE (PMIx) and Slurm (PMI-2, PMIx), on
//! this host and, where the launcher can, on two hosts of `cargo xtask hosts`. Host: programs on
//! MPICH's libmpi_abi under our mpiexec. Packages come from Debian, MPICH 5 and PRRTE from the
//! Python package index; what cannot be had is a step skipped with the reason.

use std::path::PathBuf;
use std::process::Command;

use crate::installed::{self, task};
use crate::mpi4py;
use crate::spread;
use crate::steps::{Expect, Steps, cargo, root, target};

/// The same release as the one the C programs are compared with, and in the same place.
const MPICH: &str = "mpich-5.0.2";
/// Open MPI 5 starts its jobs with PRRTE, which Debian does not have as a package.
const OPENMPI: &str = "openmpi-5.0.11";

/// The C programs that are run: each a chapter of its own, at several numbers of ranks.
const C_PROGRAMS: [&str; 4] = [
    "point_to_point/probe",
    "point_to_point/large_message",
    "collectives/allreduce",
    "collectives/alltoall",
];

/// A launcher of others.
struct Launcher {
    name: &'static str,
    /// The program, and the Debian packages that have it.
    tool: &'static str,
    packages: &'static str,
    /// What has to stand before the words: Slurm needs its daemons.
    around: &'static str,
    /// The words that start a job, with {ranks} and, for what is not in PATH, {openmpi} or {oxmpi}.
    words: &'static str,
    /// The same on the hosts h0 and h1.
    on_hosts: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
}

const SLURM: &str = "pmi/tests/slurm/with-slurm";
/// Slurm's programs look for PMIx in a plugin of their own, which opens `libpmix.so`: only the
/// development package has that name.
const SLURM_PACKAGES: &str = "slurm-wlm slurm-wlm-basic-plugins munge libpmix2 libpmix-dev";

const LAUNCHERS: [Launcher; 7] = [
    Launcher {
        name: "Hydra, PMI-1",
        tool: "mpiexec.hydra",
        packages: "mpich",
        around: "",
        words: "mpiexec.hydra -n {ranks}",
        on_hosts: Some("mpiexec.hydra -hosts h0,h1 -ppn 1 -n {ranks}"),
        environment: &[("OXMPI_PMI", "pmi1")],
    },
    Launcher {
        name: "Hydra, PMI-2",
        tool: "mpiexec.hydra",
        packages: "mpich",
        around: "",
        words: "mpiexec.hydra -n {ranks}",
        on_hosts: Some("mpiexec.hydra -hosts h0,h1 -ppn 1 -n {ranks}"),
        environment: &[("OXMPI_PMI", "pmi2")],
    },
    Launcher {
        name: "Open MPI 4, PMIx",
        tool: "mpirun.openmpi",
        packages: "openmpi-bin libpmix2",
        around: "",
        words: "mpirun.openmpi --allow-run-as-root --oversubscribe -n {ranks}",
        on_hosts: Some(
            "mpirun.openmpi --allow-run-as-root --host h0:8,h1:8 --map-by node -x LD_LIBRARY_PATH -n {ranks}",
        ),
        environment: &[],
    },
    Launcher {
        name: "PRRTE, PMIx",
        tool: "python3",
        packages: "python3-venv",
        around: "",
        words: "{openmpi}/bin/mpirun --allow-run-as-root --oversubscribe -n {ranks}",
        on_hosts: Some(
            "{openmpi}/bin/mpirun --allow-run-as-root --host h0:8,h1:8 --map-by node -x LD_LIBRARY_PATH -n {ranks}",
        ),
        environment: &[
            ("OPAL_PREFIX", "{openmpi}"),
            ("PRTE_PREFIX", "{openmpi}"),
            ("PMIX_PREFIX", "{openmpi}"),
            ("LD_LIBRARY_PATH", "{openmpi}/lib/openmpi"),
        ],
    },
    Launcher {
        name: "Slurm, PMI-2",
        tool: "slurmctld",
        packages: SLURM_PACKAGES,
        around: SLURM,
        words: "srun --mpi=pmi2 --overcommit -n {ranks}",
        on_hosts: None,
        environment: &[],
    },
    Launcher {
        name: "Slurm, PMIx",
        tool: "slurmctld",
        packages: SLURM_PACKAGES,
        around: SLURM,
        words: "srun --mpi=pmix --overcommit -n {ranks}",
        on_hosts: None,
        environment: &[],
    },
    // Our own mpiexec is told nothing: it takes size and nodes from the allocation, and reaches the
    // nodes by srun.
    Launcher {
        name: "ours in an allocation of Slurm",
        tool: "slurmctld",
        packages: SLURM_PACKAGES,
        around: SLURM,
        words: "salloc -Q --overcommit -N2 -n {ranks} {oxmpi}/bin/mpiexec",
        on_hosts: None,
        environment: &[],
    },
];

/// Whether a step will want the installation of `installed`.
pub fn wants_installation(steps: &Steps) -> bool {
    let guests = LAUNCHERS
        .iter()
        .any(|launcher| launcher.wanted(steps, false) || launcher.wanted(steps, true));
    guests || hosted_names().iter().any(|name| steps.selects(name))
}

/// Fetches MPICH and builds the runner of the C programs, for whatever step wants them. Now,
/// because there is no way out of the hosts' network, and because steps of two lanes use them.
pub fn fetch(steps: &mut Steps, is_installed: bool) {
    if !is_installed {
        return;
    }
    let mut build = cargo(&[
        "build",
        "--workspace",
        "--locked",
        "--bin",
        "oxmpi-conformance",
    ]);
    steps.run_always("runner of the C programs", 10, Expect::Success, &mut build);
    if installed::fetch(steps, "python3", "python3-venv") {
        provide(steps, "MPICH beside OxMPI", MPICH);
    }
}

/// All of them.
pub fn run(steps: &mut Steps) {
    if !wants_installation(steps) {
        return;
    }
    let hosts = spread::possible();
    for launcher in &LAUNCHERS {
        guest(steps, launcher, None);
        if launcher.on_hosts.is_some() {
            guest(steps, launcher, Some(&hosts));
        }
    }
    hosted(steps, &hosts);
}

/// OxMPI's programs under a launcher; with `hosts`, on two of them, if there can be any.
fn guest(steps: &mut Steps, launcher: &Launcher, hosts: Option<&Result<(), String>>) {
    let title = |what: &str| launcher.title(what, hosts.is_some());
    if !launcher.wanted(steps, hosts.is_some()) {
        return;
    }
    if let Some(Err(reason)) = hosts {
        return steps.skip(&title("all"), reason);
    }
    if !installed::fetch(steps, launcher.tool, launcher.packages) {
        let reason = format!("{} is not installed", launcher.tool);
        return steps.skip(&title("all"), &reason);
    }
    if launcher.words.contains("{openmpi}") && !provide(steps, &title("all"), OPENMPI) {
        return;
    }
    let words = match hosts {
        Some(_) => launcher.on_hosts.unwrap_or(launcher.words),
        None => launcher.words,
    };
    let start = || launcher.start(hosts.is_some());
    let job = || {
        let mut command = start();
        let words = filled(words).replace("{ranks}", "4");
        command.args(words.split_whitespace());
        command
    };
    let mut pi = job();
    pi.arg(installed::prefix().join("bin/oxmpi"))
        .args(["program", "pi"]);
    steps.run(&title("pi"), 2, Expect::Text("4 ranks"), &mut pi);
    let mut programs = start();
    programs.arg(runner());
    programs.args(["--launcher", &filled(words)]);
    programs.arg(installed::prefix()).args(C_PROGRAMS);
    steps.run(
        &title("C programs"),
        4,
        Expect::Text(" 0 failed"),
        &mut programs,
    );
    if mpi4py::provide(steps, &title("mpi4py")) {
        let mut hello = job();
        hello
            .arg(mpi4py::python())
            .arg(root().join("xtask/mpi4py/hello.py"))
            .arg("4");
        // On which hosts it was is part of the answer: a job that came up on one of two is not what
        // was asked for.
        let answer = match hosts {
            Some(_) => "on ['h0', 'h1']: correct",
            None => "]: correct",
        };
        steps.run(&title("mpi4py"), 2, Expect::Text(answer), &mut hello);
    }
}

impl Launcher {
    /// The name of a step.
    fn title(&self, what: &str, on_hosts: bool) -> String {
        let place = if on_hosts { ", 2 hosts" } else { "" };
        format!("launchers: {}{place}: {what}", self.name)
    }

    /// Whether any of its steps is to run.
    fn wanted(&self, steps: &Steps, on_hosts: bool) -> bool {
        ["pi", "C programs", "mpi4py"]
            .iter()
            .any(|what| steps.selects(&self.title(what, on_hosts)))
    }

    /// A command to which the launcher's words, or those that will use it, are added.
    fn start(&self, on_hosts: bool) -> Command {
        let mut command = match (on_hosts, self.around) {
            (true, _) => task(&["hosts", "2", "--"]),
            // Executes the words that follow, as the other two do.
            (false, "") => Command::new("env"),
            (false, around) => Command::new(root().join(around)),
        };
        for (name, value) in self.environment {
            command.env(name, filled(value));
        }
        command
    }
}

/// The runner of the C programs, as the build of the tests has left it.
fn runner() -> PathBuf {
    target().join("debug/oxmpi-conformance")
}

/// Programs on MPICH's library under our mpiexec.
fn hosted(steps: &mut Steps, hosts: &Result<(), String>) {
    let mpiexec = installed::prefix().join("bin/mpiexec");
    let words = format!("{} -n {{ranks}}", mpiexec.display());
    for (count, name) in [1, 2].iter().zip(hosted_names()) {
        if !steps.selects(&name) {
            continue;
        }
        if let (2, Err(reason)) = (count, hosts) {
            steps.skip(&name, reason);
            continue;
        }
        if !installed::provide(steps, &name, "python3", "python3-venv")
            || !provide(steps, &name, MPICH)
        {
            continue;
        }
        let mut programs = match count {
            1 => Command::new("env"),
            _ => task(&["hosts", "2", "--"]),
        };
        programs.env("OXMPI_MAP_BY", "node");
        programs.arg(runner());
        programs.args(["--launcher", &words]);
        programs.arg(environment(MPICH)).args(C_PROGRAMS);
        steps.run(&name, 4, Expect::Text(" 0 failed"), &mut programs);
    }
}

fn hosted_names() -> [String; 2] {
    ["1 host", "2 hosts"].map(|hosts| format!("launchers: ours, for MPICH's library, {hosts}"))
}

/// Whether a release of the Python package index is there, after an attempt to fetch it; if not,
/// the step is skipped.
fn provide(steps: &mut Steps, name: &str, release: &str) -> bool {
    let folder = environment(release);
    if folder.join("bin/mpiexec").exists() {
        return true;
    }
    let (package, version) = release.split_once('-').unwrap_or((release, ""));
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--disable-pip-version-check"]);
    install.arg(format!("{package}=={version}"));
    let there = make.output().is_ok_and(|output| output.status.success())
        && install.output().is_ok_and(|output| output.status.success())
        && folder.join("bin/mpiexec").exists();
    if !there {
        let reason = format!("{package} {version} cannot be fetched from the Python package index");
        steps.skip(name, &reason);
    }
    there
}

/// The virtual environment of a release. The runner of the C programs looks for MPICH there, too.
fn environment(release: &str) -> PathBuf {
    target().join("tmp/conformance").join(release)
}

fn filled(words: &str) -> String {
    let openmpi = environment(OPENMPI).display().to_string();
    let oxmpi = installed::prefix().display().to_string();
    words
        .replace("{openmpi}", &openmpi)
        .replace("{oxmpi}", &oxmpi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launcher_says_where_the_number_of_ranks_goes() {
        for launcher in &LAUNCHERS {
            let all = [Some(launcher.words), launcher.on_hosts];
            for words in all.into_iter().flatten() {
                assert!(words.contains("-n {ranks}"), "{}", launcher.name);
            }
        }
    }

    #[test]
    fn steps_say_launcher_place_and_program() {
        assert_eq!(
            LAUNCHERS[0].title("pi", true),
            "launchers: Hydra, PMI-1, 2 hosts: pi"
        );
        assert_eq!(
            LAUNCHERS[0].title("mpi4py", false),
            "launchers: Hydra, PMI-1: mpi4py"
        );
    }
}
