//! The file system oxfs in the guest: a server in one network namespace, mounts in another.
//!
//! `--only oxfs` is its battery (`kernel/oxfs/battery`), `--only oxfs/NAME` one case of it. Both
//! programs, battery and server, are one, linked statically. `--only oxfs-load` runs programs of
//! others on a mount: those that [`TOOLS`] names and that are found.

use std::path::PathBuf;

use super::folder;
use super::guest::{HOSTS, Trial, built};
use super::module::BuildError;

/// The package and the program.
pub const BATTERY: &str = "oxfs-battery";
/// The word of `--only` that chooses the battery; with a slash and a name, one case of it.
pub const WORD: &str = "oxfs";
/// The word of `--only` that chooses programs of others.
const LOAD: &str = "oxfs-load";
/// A quarter of an hour is enough where nothing else runs.
pub const MINUTES_MAX: u64 = 40;

/// The export lies in memory of its own, so that a case that fills it harms no other.
const PREPARE: &str = "mkdir -p /srv /mnt\nmount -t tmpfs -o size=600m tmpfs /srv\n";

/// Programs of others, by their place in the folder `tools` of `target/kernel`: `bin` has what
/// `cargo install` gives, `usr` what packages hold.
const TOOLS: [&str; 6] = [
    "bin/fsx",
    "bin/pjdfstest",
    "usr/bin/fio",
    "usr/bin/stress-ng",
    "usr/bin/dbench",
    "usr/sbin/bonnie++",
];

const LOADS: &str = include_str!("oxfs_load.sh");

/// Whether a word of `--only` is about the file system.
pub fn is_word(word: &str) -> bool {
    word == LOAD
        || word
            .strip_prefix(WORD)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The trials that words choose.
pub fn trials(only: &[String]) -> Result<Vec<Trial>, BuildError> {
    let mut trials = Vec::new();
    if let Some(names) = cases(only) {
        trials.push(Trial {
            name: "oxfs",
            script: format!("{HOSTS}{PREPARE}into b {BATTERY} {names}\n"),
            programs: vec![battery()],
        });
    }
    if only.iter().any(|word| word == LOAD) {
        trials.push(Trial {
            name: "oxfs-load",
            script: format!("{HOSTS}{PREPARE}{LOADS}"),
            programs: [battery()].into_iter().chain(tools()).collect(),
        });
    }
    Ok(trials)
}

fn battery() -> (PathBuf, String) {
    (built(BATTERY), format!("/bin/{BATTERY}"))
}

fn tools() -> Vec<(PathBuf, String)> {
    let place = |tool: &str| (folder().join("tools").join(tool), format!("/{tool}"));
    TOOLS
        .map(place)
        .into_iter()
        .filter(|(from, _)| from.exists())
        .collect()
}

/// The cases of the battery that words name: `all`, or some.
fn cases(only: &[String]) -> Option<String> {
    if only.iter().any(|word| word == WORD) {
        return Some("all".to_owned());
    }
    let named = only.iter().filter_map(|word| word.strip_prefix("oxfs/"));
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
        assert!(is_word("oxfs-load") && is_word("oxfs/x") && !is_word("oxfsx") && !is_word("mpi"));
    }
}
