//! Steps of `cargo xtask test` that run what there is on several hosts: the Rust API, the programs,
//! the C programs, mpi4py.
//!
//! The API, the C programs and mpi4py run over each network (`--net`), and over networks that lose
//! frames; the rest over the one that is chosen by itself.
//!
//! Nothing in those tests knows of hosts. `cargo xtask hosts` makes them, and OXMPI_HOST,
//! OXMPI_LAUNCHER and OXMPI_MAP_BY in the environment have the launcher deal the ranks out. A test
//! that is about one host says so and is counted as skipped. Where hosts cannot be made, every step
//! is skipped, and counted.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::hosts;
use crate::installed::{self, task};
use crate::mpi4py;
use crate::steps::{Expect, Steps, cargo, root};

/// The test programs that run on 2 hosts.
const RUST: [&str; 10] = [
    "--test",
    "conformance",
    "--test",
    "collective",
    "--test",
    "scattered",
    "--test",
    "sessions",
    "--test",
    "programs",
];
/// Random programs of one-sided operations, and which of that test program's tests they are.
const WINDOWS: [&str; 2] = ["--test", "window"];
const RANDOM_WINDOWS: &str = "random_programs";
/// What is about hosts that fall silent: it sleeps most of its time.
const SILENCE: [&str; 2] = ["--test", "hosts"];

/// Programs of the release build: hosts, options of `hosts`, words after `oxmpi`, and the text that
/// says that the result was checked.
const PROGRAMS: [(u32, &str, &str, &str); 19] = [
    (2, "", "run -n 2 ring", "correct"),
    (2, "", "pmtest --quick", "UDP"),
    (
        2,
        "--cards 2",
        "run -n 2 --net ethernet -x OXMPI_NET_TRUNK=eth0,eth1 ring",
        "correct",
    ),
    (2, "", "run -n 2 --net xdp ring", "correct"),
    (2, "", "run -n 2 --net tcp --encrypt ring", "encrypted"),
    (2, "", "run -n 2 --net udp --encrypt ring", "encrypted"),
    (2, "", "run -n 2 --net ethernet --encrypt ring", "encrypted"),
    (
        2,
        "",
        "run -n 4 --net tcp --encrypt is --class S",
        "verification successful",
    ),
    (
        2,
        "",
        "run -n 4 --net udp --encrypt --net-fault loss=2%,duplicate=1%,reorder=1%,corrupt=1%,seed=5 is --class S",
        "verification successful",
    ),
    (
        2,
        "",
        "run -n 4 --net ethernet --encrypt --net-fault loss=2%,corrupt=1%,seed=6 is --class S",
        "verification successful",
    ),
    (2, "", "run -n 4 is --class S", "verification successful"),
    (2, "", "run -n 2 is --class A", "verification successful"),
    (2, "--ipv6", "run -n 4 ring", "correct"),
    (2, "--mtu 9000", "run -n 4 mm", "correct"),
    (4, "", "run -n 4 lu", "correct"),
    (4, "", "run -n 8 is --class S", "verification successful"),
    (16, "", "run -n 16 pi", "correct"),
    (16, "", "run -n 32 ring --rounds 20", "correct"),
    (16, "", "run -n 16 is --class S", "verification successful"),
];

/// The networks between hosts, and on how many ranks mpi4py's tests run over them.
const NETWORKS: [(&str, u32); 3] = [("tcp", 2), ("udp", 3), ("ethernet", 2)];
/// Who else than the library may read the connections of tcp, without a module of ours: the home's
/// name, for OXMPI_PROGRESS.
const HOMES: [&str; 2] = ["uring", "bpf"];
/// The library's name among them.
const LIBRARY: &str = "user";
/// The one that mpi4py's tests, which take minutes, run over in a short run.
const MPI4PY_SHORT: &str = "udp";

/// Bad networks, and whether everything runs over them in every run or the Rust API alone.
const FAULTY: [(&str, &str); 4] = [
    ("udp", "loss=1%,duplicate=1%,reorder=1%,seed=1"),
    ("ethernet", "loss=5%,seed=2"),
    ("udp", "loss=5%,seed=3"),
    ("ethernet", "loss=1%,duplicate=1%,reorder=1%,seed=4"),
];
/// So many of them in a short run.
const FAULTY_SHORT: usize = 1;

/// Packets that the network loses beneath TCP, which `--net-fault` cannot: for `hosts`.
const LOSSY: &str = "--loss 2%";

/// TCP sent something again, or nothing was shown.
const SENT_AGAIN: &str = r#"
"$@" || exit
awk '/^Tcp:/ { again = $13 } END { print again " segments were sent again"; exit again < 1 }' \
    /proc/net/snmp
"#;

/// Whether the ranks are where they should be: everything else would also pass on one host.
const DEALT_OUT: &str = r#""$1" run -n 4 hostname | sort | uniq -c | tr -s ' \n' ' '"#;

/// Without OXMPI_LAUNCHER, jobs are started by ssh; the hosts' own stands first in PATH.
const BY_SSH: &str = "unset OXMPI_LAUNCHER; exec \"$1\" run -n 4 ring";

/// A rank's host loses its cable in the middle of a conversation: the job must end by itself, and
/// name the host. The launcher's own line to the host does not go through the cable, so it is the
/// ranks that have to notice.
const VANISHING: &str = r#"
(sleep 2; "$2" link h1 down) &
status=0
"$1" run -n 3 --timeout 1000 ring --rounds 1000000000 >"$3" 2>&1 || status=$?
cat "$3"
case "$status" in
    0) echo "it ended well" ;;
    124) echo "nobody noticed" ;;
    *) grep -q h1 "$3" && echo "named it" ;;
esac
"#;

/// A cable that is out for a second in the middle of a conversation: nothing is lost, and nobody is
/// told.
const RECOVERING: &str = r#"
(sleep 1; "$2" link h1 down; sleep 1; "$2" link h1 up) &
exec "$1" run -n 2 --timeout 1500 ring --rounds 120000
"#;

/// Whether a step will want the installation of `installed`.
pub fn wants_installation(steps: &Steps) -> bool {
    // Those of the long run included: what is made in vain costs seconds.
    jobs(true)
        .iter()
        .chain(&waiting_jobs(true))
        .any(|job| job.installed && steps.selects(&job.name))
}

/// Those that work; without an installation, those that need none.
pub fn run(steps: &mut Steps, is_installed: bool, long: bool) {
    run_jobs(steps, jobs(long), is_installed);
}

/// Those that wait: for a host that says nothing, for a cable that comes back.
pub fn run_waiting(steps: &mut Steps, is_installed: bool, long: bool) {
    run_jobs(steps, waiting_jobs(long), is_installed);
}

fn run_jobs(steps: &mut Steps, mut jobs: Vec<Job>, is_installed: bool) {
    jobs.retain(|job| steps.selects(&job.name) && (is_installed || !job.installed));
    if jobs.is_empty() {
        return;
    }
    installed::fetch(steps, "ip", "iproute2");
    if let Err(reason) = possible() {
        for job in &jobs {
            steps.skip(&job.name, &reason);
        }
        return;
    }
    for mut job in jobs {
        if let Some(reason) = job.needs.and_then(refused) {
            steps.skip(&job.name, &reason);
            continue;
        }
        if job.is_of_mpi4py() && !mpi4py::provide(steps, &job.name) {
            continue;
        }
        let run = |steps: &mut Steps| {
            steps.run(&job.name, job.minutes, job.expect, &mut job.command);
        };
        match job.measures {
            true => steps.alone(run),
            false => run(steps),
        }
    }
}

/// A command on hosts.
struct Job {
    name: String,
    minutes: u64,
    expect: Expect,
    /// Whether it uses the installation.
    installed: bool,
    /// Whether it needs the machine for itself.
    measures: bool,
    /// What it needs of the kernel, in the words of `oxmpi info`.
    needs: Option<&'static str>,
    command: Command,
}

impl Job {
    fn is_of_mpi4py(&self) -> bool {
        self.name.contains("mpi4py")
    }

    fn new(name: &str, minutes: u64, expect: Expect, command: Command) -> Job {
        Job {
            name: name.to_owned(),
            minutes,
            expect,
            installed: !name.contains("themselves"),
            measures: name.contains("pmtest"),
            needs: None,
            command,
        }
    }

    /// The same over tcp, with connections that are read by somebody else than the library.
    fn read_by(self, home: &str) -> Job {
        let mut job = self.over("tcp", None);
        job.name += &format!(" read by {home}");
        job.command.env("OXMPI_PROGRESS", home);
        job.needs = match home {
            "uring" => Some("io_uring can be used"),
            "bpf" => Some("BPF programs on sockets can be used"),
            _ => None,
        };
        job
    }

    /// The same over a certain network.
    fn over(mut self, network: &str, faults: Option<&str>) -> Job {
        self.name += &format!(" over {network}");
        self.command.env("OXMPI_NET", network);
        if let Some(faults) = faults {
            self.name += &format!(" with {faults}");
            self.command.env("OXMPI_NET_FAULT", faults);
        }
        self
    }
}

fn jobs(long: bool) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut themselves = cargo(&["test", "--locked", "--package", "xtask", "--test", "hosts"]);
    themselves.args(["--", "--ignored"]);
    jobs.push(Job::new("hosts: themselves", 5, Expect::Tests, themselves));

    // There is no way out of the hosts' network: what has to be fetched is fetched now.
    let mut build = cargo(&["test", "--workspace", "--locked", "--no-run"]);
    build.args(RUST).args(WINDOWS).args(["--test", "chapters"]);
    jobs.push(Job::new("hosts: build", 20, Expect::Success, build));
    let mut dealt_out = on_hosts(2, "");
    dealt_out.args(["sh", "-c", DEALT_OUT, "sh"]).arg(oxmpi());
    let name = "hosts: oxmpi deals ranks out";
    jobs.push(Job::new(name, 2, Expect::Text(" 2 h0 2 h1"), dealt_out));
    for (count, options, words, text) in PROGRAMS {
        let mut program = on_hosts(count, options);
        program.arg(oxmpi()).args(words.split(' '));
        let blank = if options.is_empty() { "" } else { " " };
        let name = format!("hosts: oxmpi {words} on {count} hosts{blank}{options}");
        jobs.push(Job::new(&name, 3, Expect::Text(text), program));
    }
    let mut by_ssh = on_hosts(2, "");
    by_ssh.args(["sh", "-c", BY_SSH, "sh"]).arg(oxmpi());
    jobs.push(Job::new("hosts: ssh", 2, Expect::Text("correct"), by_ssh));
    for (network, ranks) in NETWORKS {
        jobs.push(rust_on_2().over(network, None));
        jobs.push(windows_on_2().over(network, None));
        jobs.push(sorting().over(network, None));
        let is_wanted = |job: &Job| long || network == MPI4PY_SHORT || !job.is_of_mpi4py();
        let installed = installed_on_2(ranks).filter(is_wanted);
        jobs.extend(installed.map(|job| job.over(network, None)));
    }
    for home in HOMES {
        jobs.push(sorting().read_by(home));
        // All homes take the same way above the device, so one of them is enough in a short run.
        if long || home == HOMES[0] {
            jobs.push(rust_on_2().read_by(home));
        }
        if long {
            jobs.push(windows_on_2().read_by(home));
            jobs.extend(installed_on_2(2).map(|job| job.read_by(home)));
        }
    }
    for home in [LIBRARY].into_iter().chain(HOMES) {
        jobs.push(losing_packets().read_by(home));
        if long {
            let name = format!("hosts: Rust API on 2 hosts with {LOSSY}");
            let rust = tests_with(2, LOSSY, &RUST);
            jobs.push(Job::new(&name, 20, Expect::Tests, rust).read_by(home));
        }
    }
    let on_4 = tests(4, &["--test", "conformance"]);
    let name = "hosts: Rust API on 4 hosts";
    jobs.push(Job::new(name, 8, Expect::Tests, on_4));
    let mut pool = on_hosts(4, "");
    pool.arg(installed::prefix().join("bin/mpiexec"));
    pool.args(["-n", "4", "-wdir"])
        .arg(root().join("xtask/mpi4py"));
    pool.arg(mpi4py::python()).arg("communicator.py");
    let name = "hosts: mpi4py's MPICommExecutor on 4 hosts";
    jobs.push(Job::new(name, 2, Expect::Text("correct"), pool));
    for (index, (network, faults)) in FAULTY.into_iter().enumerate() {
        if long || index < FAULTY_SHORT {
            jobs.push(rust_on_2().over(network, Some(faults)));
            jobs.push(windows_on_2().over(network, Some(faults)));
            jobs.push(sorting().over(network, Some(faults)));
        }
        if long {
            jobs.extend(installed_on_2(2).map(|job| job.over(network, Some(faults))));
        }
    }
    jobs
}

fn waiting_jobs(long: bool) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (network, _) in NETWORKS {
        jobs.push(silence().over(network, None));
        jobs.push(vanishing().over(network, None));
        jobs.push(recovering().over(network, None));
    }
    if long {
        for home in HOMES {
            jobs.push(silence().read_by(home));
            jobs.push(vanishing().read_by(home));
            jobs.push(recovering().read_by(home));
        }
        let faulty = FAULTY.into_iter();
        jobs.extend(faulty.map(|(network, faults)| silence().over(network, Some(faults))));
    }
    jobs
}

fn silence() -> Job {
    let name = "hosts: silence between 2 hosts";
    Job::new(name, 8, Expect::Tests, tests(2, &SILENCE))
}

fn rust_on_2() -> Job {
    let command = tests(2, &RUST);
    Job::new("hosts: Rust API on 2 hosts", 12, Expect::Tests, command)
}

fn windows_on_2() -> Job {
    let mut command = tests(2, &WINDOWS);
    command.arg(RANDOM_WINDOWS);
    let name = "hosts: random one-sided programs on 2 hosts";
    Job::new(name, 6, Expect::Tests, command)
}

fn sorting() -> Job {
    let mut command = on_hosts(2, "");
    command.arg(oxmpi());
    command.args(["run", "-n", "4", "is", "--class", "W"]);
    let expect = Expect::Text("verification successful");
    Job::new("hosts: is on 4 ranks of 2 hosts", 3, expect, command)
}

fn losing_packets() -> Job {
    let mut command = on_hosts(2, LOSSY);
    command.args(["sh", "-c", SENT_AGAIN, "sh"]).arg(oxmpi());
    command.args(["run", "-n", "4", "is", "--class", "A"]);
    let expect = Expect::Text("verification successful");
    let name = format!("hosts: is on 4 ranks of 2 hosts with {LOSSY}");
    Job::new(&name, 5, expect, command)
}

fn vanishing() -> Job {
    let mut command = on_hosts(3, "");
    command.args(["sh", "-c", VANISHING, "sh"]).arg(oxmpi());
    command.arg(task(&[]).get_program());
    command.arg(crate::steps::target().join("vanishing.log"));
    let expect = Expect::Text("named it");
    Job::new("hosts: a host that vanishes", 3, expect, command)
}

fn recovering() -> Job {
    let mut command = on_hosts(2, "");
    command.args(["sh", "-c", RECOVERING, "sh"]).arg(oxmpi());
    command.arg(task(&[]).get_program());
    let expect = Expect::Text("correct");
    Job::new(
        "hosts: a cable that is out for a second",
        3,
        expect,
        command,
    )
}

/// What C and Python users run.
fn installed_on_2(ranks: u32) -> impl Iterator<Item = Job> {
    let mut programs = tests(2, &["--test", "chapters"]);
    programs.env("OXMPI_TEST_PREFIX", installed::prefix());
    let programs = Job::new("hosts: C programs on 2 hosts", 8, Expect::Tests, programs);
    let mut suite = on_hosts(2, "");
    suite.arg(task(&[]).get_program());
    suite.args(["mpi4py", "--ranks", &ranks.to_string(), "--prefix"]);
    suite.arg(installed::prefix());
    let name = format!("hosts: mpi4py's tests on {ranks} ranks over 2 hosts");
    let suite = Job::new(&name, 8, Expect::Tests, suite);
    [programs, suite].into_iter()
}

/// Tests of the workspace, on this many hosts.
fn tests(count: u32, words: &[&str]) -> Command {
    tests_with(count, "", words)
}

/// The same, on hosts with these options.
fn tests_with(count: u32, options: &str, words: &[&str]) -> Command {
    let mut command = on_hosts(count, options);
    command.arg(cargo(&[]).get_program());
    command.args([
        "test",
        "--workspace",
        "--locked",
        "--offline",
        "--no-fail-fast",
    ]);
    // With what the tests say, which one was left out is among it.
    command.args(words).args(["--", "--show-output"]);
    command
}

/// What follows runs with this many hosts, and its jobs are spread over all of them.
fn on_hosts(count: u32, options: &str) -> Command {
    on_hosts_of(count, options, &oxmpi())
}

/// The same with agents of a certain build.
pub fn on_hosts_of(count: u32, options: &str, oxmpi: &Path) -> Command {
    let mut command = task(&["hosts", &count.to_string()]);
    command.args(options.split_whitespace()).arg("--");
    command
        .env("OXMPI_MAP_BY", "node")
        .env("OXMPI_AGENT", oxmpi);
    command
}

fn oxmpi() -> std::path::PathBuf {
    installed::prefix().join("bin/oxmpi")
}

/// Why the kernel refuses what is needed, as `oxmpi info` says it; none if it says nothing of it,
/// and then the steps show what is wrong.
fn refused(needs: &str) -> Option<String> {
    let output = Command::new(oxmpi()).arg("info").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with("progress"))?;
    let is_usable = line.contains(needs);
    (!is_usable).then(|| format!("`oxmpi info`: {line}"))
}

/// Why there can be no hosts here.
pub fn possible() -> Result<(), String> {
    if !hosts::is_root() {
        return Err("hosts are namespaces, which need root".to_owned());
    }
    let trial = task(&["hosts", "2", "true"]).stdin(Stdio::null()).output();
    match trial {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("hosts cannot be made here: {words}"))
        }
        Err(error) => Err(format!("hosts cannot be made here: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_different_names_that_say_hosts() {
        let jobs = jobs(true);
        let mut names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert!(names.iter().all(|name| name.starts_with("hosts: ")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), jobs.len());
    }
}
