//! The switch: the first process of a process namespace, which has the bridge in its own network
//! and the hosts as children.
//!
//! The kernel kills it when the process that asked for the hosts ends, however that ends, and with
//! the first process of a process namespace it kills all others. With the last process in a
//! namespace the namespace goes, and with that its interfaces. Nothing that was made here has a
//! name that could stay behind.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::plan::Plan;
use super::{arguments, hold, relay, system};

/// How long processes that outlive the command have for ending by themselves.
const LEFT_GRACE: Duration = Duration::from_millis(500);
/// How often they are looked at.
const LEFT_LOOK: Duration = Duration::from_millis(10);

/// Makes the hosts, runs the command on the first, and gives its status; the error is for people.
pub fn run(program: &str, plan: &Plan, parent: u32, command: &[OsString]) -> Result<i32, String> {
    live_no_longer_than(parent)?;
    let failed = |what: &'static str| move |error| format!("{what}: {error}");
    system::unshare(system::CLONE_NEWNS | system::CLONE_NEWNET)
        .map_err(failed("cannot make namespaces"))?;
    own_files(plan).map_err(failed("cannot mount what the hosts share"))?;

    let mut hosts = Vec::new();
    for host in 0..plan.count {
        hosts.push(Host::start(plan, host)?);
    }
    let processes: Vec<u32> = hosts.iter().map(|host| host.process.id()).collect();
    hosts.iter_mut().try_for_each(|host| host.expect("ready"))?;
    hold::ip(&plan.switch_lines(&processes))?;
    hosts.iter_mut().try_for_each(Host::go)?;
    hosts.iter_mut().try_for_each(|host| host.expect("up"))?;

    let task = super::task()?;
    let child = Command::new(&task)
        .args(["enter", "h0"])
        .args(command)
        .envs(plan.environment(&task.to_string_lossy(), &processes))
        .env("PATH", super::path_with_ssh()?)
        .spawn()
        .map_err(failed("cannot start the command"))?;
    relay::relay(child.id());
    let status = loop {
        match system::reap(true) {
            Ok(Some((process, status))) if process == child.id() => break status,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("cannot wait for the command: {error}")),
        }
    };
    for line in left_behind(plan, &processes) {
        eprintln!("{program} hosts: left behind by the command, and killed: {line}");
    }
    Ok(status)
}

/// Has the kernel end us with our parent, which might have ended already.
fn live_no_longer_than(parent: u32) -> Result<(), String> {
    system::die_with_parent()
        .map_err(|error| format!("cannot tie my life to my parent's: {error}"))?;
    // /proc is still that of the outside, where our parent has the number it gave us.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let now = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    match now.and_then(|number| number.trim().parse::<u32>().ok()) {
        Some(number) if number == parent => Ok(()),
        _ => Err("my parent ended while the hosts were being made".to_owned()),
    }
}

/// The processes and the names that hosts see; nothing of it is visible outside.
fn own_files(plan: &Plan) -> std::io::Result<()> {
    system::mount("none", "/", "", system::MS_REC | system::MS_PRIVATE)?;
    system::mount("proc", "/proc", "proc", 0)?;
    // A file in a file system that is only memory, bound to its place: it needs no name elsewhere.
    // /tmp is borrowed for it.
    system::mount("tmpfs", "/tmp", "tmpfs", 0)?;
    std::fs::write("/tmp/hosts", plan.hosts_file(hold::has_ipv6()))?;
    system::mount("/tmp/hosts", "/etc/hosts", "", system::MS_BIND)?;
    system::unmount("/tmp")
}

/// A host as its switch sees it.
struct Host {
    name: String,
    process: Child,
    words: BufReader<std::process::ChildStdout>,
}

impl Host {
    fn start(plan: &Plan, host: u32) -> Result<Host, String> {
        let name = format!("h{host}");
        let failed = |error: std::io::Error| format!("{name} cannot be started: {error}");
        let mut process = Command::new(super::task()?)
            .arg(super::HOLD)
            .args(arguments(plan))
            .arg(host.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let words = process.stdout.take().map(BufReader::new);
        let words = words.ok_or_else(|| format!("{name} has no output"))?;
        Ok(Host {
            name,
            process,
            words,
        })
    }

    /// Waits for a word; a host that fails has said why on standard error.
    fn expect(&mut self, word: &str) -> Result<(), String> {
        let mut line = String::new();
        match self.words.read_line(&mut line) {
            Ok(_) if line.trim_end() == word => Ok(()),
            _ => Err(format!("{} did not come up", self.name)),
        }
    }

    fn go(&mut self) -> Result<(), String> {
        let input = self.process.stdin.as_mut();
        let written = input.map(|input| input.write_all(b"\n"));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(format!("{} did not come up", self.name)),
        }
    }
}

/// What still runs when the command has ended, and does not end soon: host, process and command
/// line of each.
fn left_behind(plan: &Plan, holders: &[u32]) -> Vec<String> {
    let end = Instant::now() + LEFT_GRACE;
    loop {
        // Those that ended are taken note of, so that they do not count as running.
        while matches!(system::reap(false), Ok(Some(_))) {}
        let left: Vec<u32> = processes()
            .into_iter()
            .filter(|process| *process != 1 && !holders.contains(process))
            .collect();
        if left.is_empty() || Instant::now() > end {
            return left
                .into_iter()
                .filter_map(|process| describe(process, plan, holders))
                .collect();
        }
        std::thread::sleep(LEFT_LOOK);
    }
}

fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// None if it has ended meanwhile; a zombie has no command line.
fn describe(process: u32, plan: &Plan, holders: &[u32]) -> Option<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    if line.is_empty() {
        return None;
    }
    let network =
        |process| std::fs::read_link(Path::new("/proc").join(format!("{process}/ns/net")));
    let its = network(process).ok()?;
    let place = holders
        .iter()
        .position(|holder| network(*holder).is_ok_and(|network| network == its));
    let host = place.and_then(|place| plan.names().into_iter().nth(place));
    let host = host.unwrap_or_else(|| "no host".to_owned());
    let words = String::from_utf8_lossy(&line).replace('\0', " ");
    Some(format!("pid {process} on {host}: {}", words.trim_end()))
}
