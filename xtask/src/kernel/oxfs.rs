//! The file system oxfs in the guest: a server in one network namespace, mounts in another.
//!
//! `--only oxfs` is its battery (`kernel/oxfs/battery`), `--only oxfs/NAME` one case of it. Both
//! programs, battery and server, are one, linked statically. `--only oxfs-load` runs programs of
//! others on a mount, `--only oxfs-load/NAME` one of them. They come from Debian ([`PACKAGED`]) and
//! from crates.io ([`CRATES`]); what cannot be had is skipped in the guest.

use std::path::{Path, PathBuf};

use super::folder;
use super::guest::{HOSTS, Trial, built};
use super::module::BuildError;
use crate::installed;
use crate::steps::{Expect, Steps, cargo};

/// The package and the program.
pub const BATTERY: &str = "oxfs-battery";
/// The word of `--only` that chooses the battery; with a slash and a name, one case of it.
pub const WORD: &str = "oxfs";
/// The word of `--only` that chooses programs of others.
pub const LOAD: &str = "oxfs-load";
/// The word of `--only` that chooses NFS on the load of the battery's counts.
pub const NFS: &str = "oxfs-nfs";
/// A quarter of an hour is enough where nothing else runs.
pub const MINUTES_MAX: u64 = 40;

/// The start of a script: the export lies in memory of its own, so that a case that fills it harms no other.
pub const PREPARE: &str = "mkdir -p /srv /mnt\nmount -t tmpfs -o size=600m tmpfs /srv\n";

/// Programs of others that Debian has: their places on this machine, and in the guest, and their
/// packages.
const PACKAGED: [(&str, &str); 4] = [
    ("/usr/bin/fio", "fio"),
    ("/usr/bin/stress-ng", "stress-ng"),
    ("/usr/bin/dbench", "dbench"),
    ("/usr/sbin/bonnie++", "bonnie++"),
];
/// What dbench replays.
const DBENCH_SCRIPT: &str = "/usr/share/dbench/client.txt";
/// Programs of others that crates.io has, by name and version.
const CRATES: [&str; 2] = ["fsx@0.3.2", "pjdfstest@0.2.2"];
/// A library that pjdfstest is linked with, by its file and package.
const ACL: (&str, &str) = ("/usr/include/sys/acl.h", "libacl1-dev");

/// Cases of the battery that every boot of OxMPI has, short ones: half a minute together.
const DAILY: [&str; 16] = [
    "names",
    "permissions",
    "buffered",
    "direct",
    "mapped",
    "random",
    "locks",
    "close-to-open",
    "recall",
    "restart",
    "cut",
    "cut-lease",
    "ended-session",
    "ended-machine",
    "squashed-mapped",
    "squashed-bits",
];

/// All loads, in the order in which they run.
const ALL_LOADS: [&str; 12] = [
    "fsx",
    "pjdfstest",
    "fio",
    "fio-direct",
    "fio-mapped",
    "build",
    "dbench",
    "bonnie",
    "stress-ng",
    "pressed",
    "two",
    "killed",
];
/// How long one may take.
const LOAD_SECONDS_MAX: u32 = 900;

const LOADS: &str = include_str!("oxfs_load.sh");
/// What of pjdfstest is tried, and which of its cases fail, as docs/oxfs.md explains.
const PJDFSTEST: &str = include_str!("pjdfstest.toml");

/// Whether a word of `--only` is about the file system.
pub fn is_word(word: &str) -> bool {
    is_below(word, LOAD) || is_below(word, WORD) || word == NFS
}

/// The words of `--only` for cases that are tried every day.
pub fn daily() -> impl Iterator<Item = String> {
    DAILY.iter().map(|name| format!("{WORD}/{name}"))
}

/// Whether a word is this one, or this one with a slash and a name.
fn is_below(word: &str, whole: &str) -> bool {
    word.strip_prefix(whole)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Fetches the programs of others that words choose.
pub fn fetch_loads(steps: &mut Steps, only: &[String]) {
    if loads(only).is_none() {
        return;
    }
    for (program, package) in PACKAGED {
        let name = program.rsplit('/').next().unwrap_or(program);
        installed::fetch(steps, name, &format!("--no-install-recommends {package}"));
    }
    if !Path::new(ACL.0).exists() {
        installed::fetch(steps, ACL.0, ACL.1);
    }
    for name in CRATES {
        let program = crate_program(name);
        if program.exists() {
            continue;
        }
        let mut install = cargo(&["install", "--locked", name, "--root"]);
        install.arg(tools()).arg("--target-dir");
        install.arg(folder().join("tools-build"));
        // Not in this workspace, whose lints and profiles are not theirs.
        install.current_dir(std::env::temp_dir());
        steps.run_always(
            &format!("cargo install {name}"),
            20,
            Expect::Success,
            &mut install,
        );
    }
}

fn tools() -> PathBuf {
    folder().join("tools")
}

fn crate_program(name: &str) -> PathBuf {
    let name = name.split('@').next().unwrap_or(name);
    tools().join("bin").join(name)
}

/// The trials that words choose.
pub fn trials(only: &[String]) -> Result<Vec<Trial>, BuildError> {
    let mut trials = Vec::new();
    if let Some(names) = cases(only) {
        trials.push(Trial {
            name: "oxfs",
            script: format!("{HOSTS}{PREPARE}into b {BATTERY} {names}\n"),
            programs: vec![battery()],
            modules: Vec::new(),
        });
    }
    if let Some(names) = loads(only) {
        let script = LOADS
            .replace("{LOADS}", &names)
            .replace("{SECONDS}", &LOAD_SECONDS_MAX.to_string())
            .replace("{PJDFSTEST}", PJDFSTEST.trim_end());
        trials.push(Trial {
            name: "oxfs-load",
            script: format!("{HOSTS}{PREPARE}{script}"),
            programs: [battery()].into_iter().chain(programs()).collect(),
            modules: Vec::new(),
        });
    }
    Ok(trials)
}

pub fn battery() -> (PathBuf, String) {
    (built(BATTERY), format!("/bin/{BATTERY}"))
}

/// Those programs of others that are there.
fn programs() -> Vec<(PathBuf, String)> {
    let packaged = PACKAGED.map(|(program, _)| program);
    let packaged = packaged.into_iter().chain([DBENCH_SCRIPT]);
    let packaged = packaged.map(|place| (PathBuf::from(place), place.to_owned()));
    let built = CRATES.map(crate_program).into_iter().map(|program| {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("/bin/{name}");
        (program, place)
    });
    packaged
        .chain(built)
        .filter(|(from, _)| from.exists())
        .collect()
}

/// The cases of the battery that words name: `all`, or some.
fn cases(only: &[String]) -> Option<String> {
    chosen(only, WORD, "all")
}

/// The loads that words name.
fn loads(only: &[String]) -> Option<String> {
    chosen(only, LOAD, &ALL_LOADS.join(" "))
}

fn chosen(only: &[String], whole: &str, all: &str) -> Option<String> {
    if only.iter().any(|word| word == whole) {
        return Some(all.to_owned());
    }
    let named = only
        .iter()
        .filter_map(|word| word.strip_prefix(whole)?.strip_prefix('/'));
    let names: Vec<&str> = named.collect();
    (!names.is_empty()).then(|| names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_choose_cases() {
        assert_eq!(cases(&words("oxfs oxfs/names")).as_deref(), Some("all"));
        assert_eq!(
            cases(&words("oxfs/names x oxfs/data")).as_deref(),
            Some("names data")
        );
        assert_eq!(cases(&words("mpi oxfs-load")), None);
        assert_eq!(
            loads(&words("oxfs-load/fio oxfs/names oxfs-load/fsx")).as_deref(),
            Some("fio fsx")
        );
        assert_eq!(loads(&words("oxfs")), None);
        assert!(is_word("oxfs-load") && is_word("oxfs/x") && !is_word("oxfsx") && !is_word("mpi"));
    }
}
