//! A launcher and ranks with a file capability, started by a user without rights: what the user's
//! environment names is neither executed nor written. That takes root, `setcap` (Debian:
//! libcap2-bin) and a file system that keeps capabilities; without them the tests say that they
//! were skipped.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mpiexec::{Ran, finish, marker, start};

/// A user without rights: `nobody`.
const NOBODY: &str = "65534";

const WHY: &str = "is not obeyed: this program has privileges that its caller does not have (setuid, setgid or file \
                   capabilities, as getcap shows), and then no variable may name a file, a library or a program";

/// A folder that everybody may write to, with a privileged copy of oxmpi in it; gone with the test.
struct Privileged(PathBuf);

impl Drop for Privileged {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Privileged {
    /// None, with the reason on stderr, where there are no file capabilities.
    fn new(name: &str) -> Option<Privileged> {
        let folder = Privileged(std::env::temp_dir().join(marker(name)));
        std::fs::create_dir(&folder.0).unwrap();
        std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o777)).unwrap();
        let program = folder.program();
        std::fs::copy(env!("CARGO_BIN_EXE_oxmpi"), &program).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let granted = Command::new("setcap")
            .arg("cap_net_raw+ep")
            .arg(&program)
            .output();
        match granted {
            Ok(granted) if granted.status.success() => Some(folder),
            other => {
                eprintln!("skipped: no file capabilities here: {other:?}");
                None
            }
        }
    }

    fn program(&self) -> PathBuf {
        self.0.join("oxmpi")
    }

    /// What becomes of oxmpi with these words and one variable.
    fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut oxmpi = Command::new("setpriv");
        oxmpi
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
            .arg(self.program())
            .args(words)
            .envs(variables.iter().copied())
            .current_dir("/");
        finish(start(&mut oxmpi), b"")
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_privileged_launcher_executes_nothing_that_its_environment_names() {
    let Some(folder) = Privileged::new("privileged-launcher") else {
        return;
    };
    let mark = folder.0.join("mark");
    let launcher = format!("touch {} {{host}}", text(&mark));
    for (variable, value) in [
        ("OXMPI_LAUNCHER", launcher.as_str()),
        ("OXMPI_AGENT", "/tmp/agent"),
        ("OXMPI_HOSTFILE", "/tmp/hosts"),
    ] {
        let ran = folder.run(&["run", "-host", "a", "true"], &[(variable, value)]);
        let told = format!("oxmpi: {variable}={value} {WHY}; unset {variable}, ");
        assert!(ran.stderr.starts_with(&told), "{ran:?}");
        assert!(!mark.exists(), "{variable} is obeyed");
    }
    // A program of the same name that stands first in PATH is not the system's.
    let trap = folder.0.join("true");
    std::fs::write(&trap, format!("#!/bin/sh\ntouch {}\n", text(&mark))).unwrap();
    std::fs::set_permissions(&trap, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", text(&folder.0));
    let ran = folder.run(&["run", "-n", "1", "true"], &[("PATH", &path)]);
    assert_eq!((ran.code, mark.exists()), (0, false), "{ran:?}");
}

#[test]
fn a_privileged_rank_writes_no_file_that_its_environment_names() {
    let Some(folder) = Privileged::new("privileged-rank") else {
        return;
    };
    let prefix = folder.0.join("capture");
    let variables = [
        ("OXMPI_PORTS", "off"),
        ("OXMPI_NET", "udp"),
        ("OXMPI_NET_PCAP", text(&prefix)),
    ];
    let ran = folder.run(&["run", "-n", "2", "pi"], &variables);
    let told = format!("OXMPI_NET_PCAP={} {WHY}", text(&prefix));
    assert!(ran.stderr.contains(&told), "{ran:?}");
    assert_ne!(ran.code, 0, "{ran:?}");
    let files: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, ["oxmpi"]);
}
