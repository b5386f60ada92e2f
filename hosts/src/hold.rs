//! A host: a small process that holds the namespaces which are the host.
//!
//! It makes them, says "ready", waits until the switch has put the cable in, configures its
//! interface, says "up", and sleeps until it is killed. Standard input and output are its line to
//! `switch`.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use super::plan::Plan;
use super::{loss, system};

/// Holds a host; the error is for people.
pub fn run(plan: &Plan, host: u32) -> Result<(), String> {
    let name = format!("h{host}");
    let failed = |what: &str, error: std::io::Error| format!("{name}: {what}: {error}");
    let namespaces = system::CLONE_NEWNET | system::CLONE_NEWUTS | system::CLONE_NEWNS;
    system::unshare(namespaces).map_err(|error| failed("cannot make namespaces", error))?;
    system::set_host_name(&name).map_err(|error| failed("cannot set its name", error))?;
    own_files().map_err(|error| failed("cannot mount what a host has of its own", error))?;
    // Link-local addresses shall be usable at once, too. A kernel without IPv6 has no such file.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0");

    let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
    let mut say = |word: &str| writeln!(output, "{word}").and_then(|()| output.flush());
    say("ready").map_err(|error| failed("the switch is gone", error))?;
    let mut go = [0; 1];
    input
        .read_exact(&mut go)
        .map_err(|error| failed("the switch is gone", error))?;
    ip(&plan.host_lines(host, has_ipv6())).map_err(|error| format!("{name}: {error}"))?;
    // They are lost as long as this process lives.
    let _losing = lose(plan).map_err(|error| failed("cannot lose packets (BPF)", error))?;
    say("up").map_err(|error| failed("the switch is gone", error))?;
    // The end of the switch is the end of this process; so is the end of its line.
    let _ = input.read_to_end(&mut Vec::new());
    Ok(())
}

fn lose(plan: &Plan) -> std::io::Result<Vec<OwnedFd>> {
    let cards = match plan.lost_per_mille {
        0 => 0,
        _ => plan.cards,
    };
    let lose = |card| loss::lose(&format!("eth{card}"), plan.lost_per_mille);
    (0..cards).map(lose).collect()
}

/// Has `ip` carry out some lines in this process's network.
pub fn ip(lines: &str) -> Result<(), String> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ip (package iproute2) cannot be started: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A line that fails ends `ip`, which then says more about it than a broken pipe does.
        let _ = input.write_all(lines.as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|error| format!("ip cannot be waited for: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("ip failed: {words}; its lines were:\n{lines}"))
}

/// Whether this kernel has IPv6.
pub fn has_ipv6() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").exists()
}

/// A /sys that shows this network's interfaces, and a /dev/shm that other hosts do not see.
fn own_files() -> std::io::Result<()> {
    const CGROUPS: &str = "/sys/fs/cgroup";
    // The new /sys hides what was mounted below the old one; quotas are still wanted, so that tree
    // moves over. /tmp is borrowed as the place in between, and nobody outside this process sees
    // that.
    system::mount("tmpfs", "/tmp", "tmpfs", 0)?;
    let between = "/tmp/cgroup";
    std::fs::create_dir(between)?;
    let flags = system::MS_BIND | system::MS_REC;
    let kept = system::mount(CGROUPS, between, "", flags).is_ok();
    system::mount("sysfs", "/sys", "sysfs", 0)?;
    if kept {
        system::mount(between, CGROUPS, "", system::MS_MOVE)?;
    }
    system::unmount("/tmp")?;
    if std::path::Path::new("/dev/shm").exists() {
        system::mount("tmpfs", "/dev/shm", "tmpfs", 0)?;
    }
    Ok(())
}
