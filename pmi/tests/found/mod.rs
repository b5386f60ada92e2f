//! What the tests with real launchers share: where programs are, how long they may take, what
//! whoami must have said.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Longer than any launcher needs for a few ranks on a busy machine; what hangs ends in an error.
const SECONDS_MAX: u32 = 600;

/// An example of this crate, which `cargo test` builds beside the tests.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let path = test
        .ancestors()
        .nth(2)
        .expect("tests are in deps")
        .join("examples")
        .join(name);
    assert!(
        path.exists(),
        "{} is not built: cargo build -p oxmpi-pmi --examples",
        path.display()
    );
    path
}

/// Runs a command with a limit of time.
pub fn run(program: impl AsRef<Path>, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new("timeout")
        .args(["--kill-after=5", &SECONDS_MAX.to_string()])
        .arg(program.as_ref())
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("timeout is part of every Linux")
}

/// Checks that whoami ran as ranks 0 to size - 1 with this protocol and these hosts.
pub fn check_whoami(output: &Output, launcher: &str, hosts: &[u32]) {
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = said.lines().filter(|line| line.contains("rank")).collect();
    lines.sort_unstable();
    let everything = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {everything}", output.status);
    assert_eq!(lines.len(), hosts.len(), "{everything}");
    for (rank, line) in lines.iter().enumerate() {
        let end = format!(": rank {rank} of {}, hosts Some({hosts:?})", hosts.len());
        assert!(
            line.starts_with(launcher) && line.ends_with(&end),
            "{line} is not {launcher}{end}\n{everything}"
        );
    }
}
