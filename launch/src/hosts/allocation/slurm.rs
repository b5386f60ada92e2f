//! Slurm's allocations, also those of several groups (heterogeneous jobs).
//!
//! Slurm writes lists of hosts in a short form, `n[01-03,7],login`, and counts with repetitions,
//! `2(x3),1`.

use super::{Allocation, Surroundings, counted, not_understood};
use crate::hosts::{HOSTS_MAX, Host, HostsError, merged};

const NODES: &str = "SLURM_JOB_NODELIST";
const TASKS: &str = "SLURM_TASKS_PER_NODE";
const CPUS: &str = "SLURM_JOB_CPUS_PER_NODE";

/// One agent per host, beside whatever else runs in the job's steps, bound to nothing and with its
/// bytes passed on as they come: by default Slurm waits for the ends of lines.
const SRUN: &str = "srun --nodes=1 --ntasks=1 --nodelist={host} --overlap --unbuffered --mpi=none \
                    --cpu-bind=none --kill-on-bad-exit=0 --quiet";

pub(super) fn find(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let groups = around.get("SLURM_HET_SIZE");
    let groups = groups.and_then(|size| size.parse::<usize>().ok());
    let mut hosts = Vec::new();
    for group in 0..groups.unwrap_or(1).min(HOSTS_MAX) {
        let name = |name: &str| match groups {
            Some(_) => format!("{name}_HET_GROUP_{group}"),
            None => name.to_owned(),
        };
        let Some(list) = around.get(&name(NODES)) else {
            continue;
        };
        hosts.extend(group_hosts(around, &list, &name)?);
    }
    if hosts.is_empty() {
        return Ok(None);
    }
    Ok(Some(Allocation {
        name: around.job("Slurm", "SLURM_JOB_ID"),
        variable: NODES,
        hosts: merged(hosts, NODES)?,
        launcher: around.launcher(SRUN),
    }))
}

/// The hosts of one list with their slots: as many as tasks were asked for, else as tasks have room
/// on the CPUs of the host.
fn group_hosts(
    around: &Surroundings<'_>,
    list: &str,
    name: &dyn Fn(&str) -> String,
) -> Result<Vec<Host>, HostsError> {
    let names = expand(list, NODES)?;
    let tasks = around.get(&name(TASKS));
    let counts = match (&tasks, around.get(&name(CPUS))) {
        (Some(tasks), _) => repeated(tasks, TASKS)?,
        (None, Some(cpus)) => {
            let each = around.get("SLURM_CPUS_PER_TASK");
            let each = each.and_then(|each| each.parse().ok()).unwrap_or(1).max(1);
            let cpus = repeated(&cpus, CPUS)?;
            cpus.into_iter().map(|cpus| (cpus / each).max(1)).collect()
        }
        (None, None) => vec![1; names.len()],
    };
    if counts.len() != names.len() {
        let why = "it does not have as many counts as there are hosts";
        return Err(not_understood(TASKS, tasks.as_deref().unwrap_or(list), why));
    }
    let hosts = names.iter().zip(counts);
    hosts
        .map(|(host, count)| counted(host, &count.to_string(), NODES))
        .collect()
}

/// The names of a list in Slurm's short form; Flux writes the same.
pub(super) fn expand(list: &str, variable: &'static str) -> Result<Vec<String>, HostsError> {
    let mut names = Vec::new();
    let mut depth = 0;
    let words = list.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        expand_word(word, String::new(), &mut names).ok_or_else(|| {
            not_understood(variable, list, "a range of hosts is wrong or too long")
        })?;
    }
    Ok(names)
}

/// Adds what `word` stands for to `names`, each behind `prefix`; None if that cannot be.
fn expand_word(word: &str, prefix: String, names: &mut Vec<String>) -> Option<()> {
    let Some((before, rest)) = word.split_once('[') else {
        names.push(prefix + word);
        return (names.len() <= HOSTS_MAX && !word.contains(']')).then_some(());
    };
    let (ranges, after) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(first) || !digits(last) {
            return None;
        }
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if to < from || to - from >= HOSTS_MAX as u64 {
            return None;
        }
        // Leading zeros are part of the names.
        let width = first.len();
        for number in from..=to {
            expand_word(after, format!("{prefix}{before}{number:0width$}"), names)?;
        }
    }
    Some(())
}

/// The numbers of `2(x3),1`: 2, 2, 2, 1.
fn repeated(text: &str, variable: &'static str) -> Result<Vec<u32>, HostsError> {
    let mut counts = Vec::new();
    for word in text.split(',') {
        let (count, times) = match word.trim().split_once("(x") {
            Some((count, times)) => (count, times.trim_end_matches(')')),
            None => (word.trim(), "1"),
        };
        let pair: (Option<u32>, Option<usize>) = (count.parse().ok(), times.parse().ok());
        match pair {
            (Some(count), Some(times)) if times <= HOSTS_MAX => {
                counts.extend(std::iter::repeat_n(count, times));
            }
            _ => return Err(not_understood(variable, text, "a count is no number")),
        }
        if counts.len() > HOSTS_MAX {
            return Err(not_understood(variable, text, "it has too many counts"));
        }
    }
    Ok(counts)
}
