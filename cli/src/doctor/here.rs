//! Questions about one host. Each has its own function, looks only, and changes nothing.

use std::process::{Command, Stdio};

use oxmpi_net::address::{Local, Policy, offered};
use oxmpi_net::device::ethernet;
use oxmpi_net::tcp::describe_driver;

use super::Answer;

/// A rank holds a handful of descriptors, and one for each process it talks to.
const OPEN_FILES_MIN: u64 = 256;
/// Below this, ranks of a parallel program soon have no memory for their own data.
const MEMORY_MIN_KIB: u64 = 256 * 1024;

/// All of them.
pub(super) fn answers() -> Vec<Answer> {
    let mut answers = vec![
        version(),
        cpus(),
        memory(),
        open_files(),
        single_copy(),
        clock(),
    ];
    answers.extend(networks());
    answers.push(Answer::good("kernel home", describe_driver()));
    answers
}

fn version() -> Answer {
    let program = std::env::current_exe().unwrap_or_default();
    Answer::good(
        "version",
        format!("{}, {}", env!("CARGO_PKG_VERSION"), program.display()),
    )
}

fn cpus() -> Answer {
    let usable = oxmpi_launch::usable_cpus();
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let all = oxmpi_launch::cpu_list(online.trim(), ',').map_or(usable, |cpus| cpus.len() as u32);
    match usable < all {
        false => Answer::good("CPUs", format!("{usable} usable")),
        true => Answer::note(
            "CPUs",
            format!(
                "{usable} of {all} usable: an affinity mask or a cgroup quota says so; more ranks than \
                 that share them"
            ),
        ),
    }
}

fn memory() -> Answer {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match field(&text, "MemAvailable:") {
        None => Answer::note("memory", "the kernel does not say how much is free"),
        Some(kib) if kib < MEMORY_MIN_KIB => Answer::note(
            "memory",
            format!("only {} MiB are free: end other programs first", kib / 1024),
        ),
        Some(kib) => Answer::good("memory", format!("{} MiB free", kib / 1024)),
    }
}

fn open_files() -> Answer {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Max open files"));
    let mut limits = line.unwrap_or_default().split_whitespace().skip(3);
    // The launcher and the ranks raise the soft limit themselves as far as they need.
    let hard: u64 = limits
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(u64::MAX);
    match hard < OPEN_FILES_MIN {
        true => Answer::bad(
            "open files",
            format!(
                "at most {hard} (the hard limit): a rank needs one for each process it talks to; \
                 raise it in /etc/security/limits.conf or the container's --ulimit nofile"
            ),
        ),
        false => Answer::good("open files", format!("up to {hard}")),
    }
}

/// Whether one process may read another's memory: ranks are siblings, so a child asks about
/// another.
fn single_copy() -> Answer {
    let what = "single copy";
    let quiet = |command: &mut Command| {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    };
    let mut sleeper = Command::new("sleep");
    quiet(sleeper.arg("10"));
    let program = std::env::current_exe().unwrap_or_default();
    let Ok(mut sleeper) = sleeper.spawn() else {
        return Answer::note(what, "not tried: there is no program sleep");
    };
    let mut asker = Command::new(program);
    quiet(asker.args(["doctor", "--may-read", &sleeper.id().to_string()]));
    let asked = asker.status();
    let _ = sleeper.kill();
    let _ = sleeper.wait();
    match asked {
        Ok(status) if status.success() => Answer::good(
            what,
            "long messages between ranks of a host are copied once",
        ),
        Ok(_) => Answer::note(
            what,
            format!(
                "the kernel refuses a process the memory of another, so long messages are copied \
                 twice; {}",
                why_refused()
            ),
        ),
        Err(error) => Answer::note(what, format!("not tried: {error}")),
    }
}

/// The restriction that is most likely in the way.
fn why_refused() -> String {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    match scope.unwrap_or_default().trim() {
        "" | "0" => "in a container, --cap-add SYS_PTRACE permits it".to_owned(),
        scope => format!("sysctl kernel.yama.ptrace_scope=0 permits it (it is {scope})"),
    }
}

fn clock() -> Answer {
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match std::fs::read_to_string(file).unwrap_or_default().trim() {
        source @ ("tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page") => {
            Answer::good("clock", format!("{source}, read without the kernel"))
        }
        "" => Answer::good("clock", "the kernel does not say how it keeps time"),
        source => Answer::note(
            "clock",
            format!(
                "{source}: each MPI_Wtime asks the kernel; programs that take many times are slower"
            ),
        ),
    }
}

fn networks() -> Vec<Answer> {
    let what = "network";
    let read = Local::read().map_err(|error| error.to_string());
    let policy = Policy::from_env().map_err(|error| error.to_string());
    let (local, policy) = match (read, policy) {
        (Ok(local), Ok(policy)) => (local, policy),
        (Err(error), _) | (_, Err(error)) => return vec![Answer::bad(what, error)],
    };
    let addresses = match offered(&local.interfaces, &policy) {
        Ok(addresses) => addresses,
        Err(nothing) => {
            let says = format!("{nothing}; jobs on this host alone are not concerned");
            return vec![Answer::note(what, says)];
        }
    };
    let list: Vec<String> = addresses
        .iter()
        .map(|one| one.address.to_string())
        .collect();
    let says = format!(
        "others reach it by {} (oxmpi info --net: why)",
        list.join(", ")
    );
    let frames = match ethernet::permitted() {
        Ok(()) => Answer::good("raw Ethernet", "permitted"),
        Err(error) => Answer::note(
            "raw Ethernet",
            format!("{error}; oxmpi setup-net prints what permits it; UDP and TCP work without"),
        ),
    };
    vec![Answer::good(what, says), frames]
}

/// The number behind a name in a file such as /proc/meminfo.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn this_host_can_run_jobs() {
        let answers = answers();
        let bad: Vec<_> = answers
            .iter()
            .filter(|one| one.state == State::Bad)
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert!(answers.len() > 6);
    }

    #[test]
    fn numbers_of_a_file() {
        let text = "MemTotal: 7 kB\nMemAvailable:   12 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12));
        assert_eq!(field(text, "Swap:"), None);
    }
}
