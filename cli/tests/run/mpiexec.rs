//! Runs the built mpiexec and keeps what it said. A run that hangs fails its test instead of the
//! suite.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const HANGS_AFTER: Duration = Duration::from_secs(600);

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// Exit status, or 128 + signal as a shell gives it.
    pub code: i32,
    /// The signal the launcher itself died of.
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub wall: Duration,
}

impl Ran {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The lines of standard output, sorted: ranks come in any order.
    pub fn sorted(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// Standard error with pids and the host's name made comparable.
    pub fn said(&self) -> String {
        let host = oxmpi_launch::host_name();
        let words: Vec<String> = self
            .stderr
            .replace(&format!(" on {host}"), " on HOST")
            .split(' ')
            .map(str::to_owned)
            .collect();
        let mut said = Vec::new();
        for word in words {
            let follows_pid = said
                .last()
                .is_some_and(|last: &String| last.ends_with("(pid"));
            said.push(if follows_pid { "PID".to_owned() } else { word });
        }
        said.join(" ")
    }
}

pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.args(words);
    command
}

/// Runs mpiexec with nothing to read.
pub fn run(words: &[&str]) -> Ran {
    finish(start(&mut command(words)), b"")
}

pub fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mpiexec was built by cargo")
}

/// Gives it its input and waits for the end of it and of its output.
pub fn finish(mut child: Child, input: &[u8]) -> Ran {
    let begin = Instant::now();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    std::thread::spawn(move || stdin.write_all(&input));
    let stdout = gather(child.stdout.take().unwrap());
    let stderr = gather(child.stderr.take().unwrap());
    let Ok(stdout) = stdout.recv_timeout(HANGS_AFTER) else {
        child.kill().unwrap();
        panic!("mpiexec hangs");
    };
    let stderr = stderr
        .recv_timeout(HANGS_AFTER)
        .expect("stderr ends with stdout");
    let status = child.wait().unwrap();
    Ran {
        code: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap()),
        signal: status.signal(),
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        wall: begin.elapsed(),
    }
}

fn gather(mut from: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        sender.send(bytes)
    });
    receiver
}

/// A word for command lines that no other process on this machine has.
pub fn marker(name: &str) -> String {
    format!("oxmpi-test-{}-{name}", std::process::id())
}

/// The processes that have `marker` in their command line, zombies not counted.
pub fn marked(marker: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(marker) {
            found.push(pid);
        }
    }
    found
}

/// Waits until `condition` holds; the machine may be busy, so it is given five minutes.
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(300) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Sends a signal as kill(1) does, to a process or (negative) to a group.
pub fn kill(signal: &str, pid: i32) {
    let status = Command::new("kill")
        .args(["-s", signal, "--", &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}
