//! The mark of a process that has joined: programs that it starts find it in their environment.
//!
//! A program started by a rank inherits every variable by which the launcher told the rank who it
//! is, and none of the descriptors that belong to them. It is no second rank of that number: it runs
//! alone. Without the mark it could not be told from a rank whose wrapper closes descriptors, which
//! must not run alone.
//!
//! The mark is the joined process and what it found in the variables. A launcher that a rank starts
//! changes them (OxMPI's removes the mark, too), so that its ranks do not take the mark for theirs.

use crate::sys;

const MARK: &str = oxmpi_settings::JOINED.name;

/// The variables by which launchers say which process this is.
const TELLING: [&str; 12] = [
    oxmpi_settings::RANK.name,
    oxmpi_settings::SIZE.name,
    oxmpi_settings::SEGMENT.name,
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_RANK",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_PROCID",
];

/// Whether a rank that has joined its job started this process.
pub(crate) fn is_started_by_rank() -> bool {
    let mark = std::env::var(MARK).ok();
    mark.is_some_and(|mark| is_of_other(&mark, std::process::id(), &variable))
}

/// Marks this process for the programs that it starts, if a launcher started it.
pub(crate) fn leave_mark() {
    if TELLING.iter().all(|name| variable(name).is_none()) {
        return;
    }
    sys::set_variable(MARK, &mark(std::process::id(), &variable));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn mark(process: u32, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let told: Vec<String> = TELLING
        .iter()
        .map(|name| variable(name).unwrap_or_default())
        .collect();
    format!("{process}:{}", told.join(","))
}

/// A process that replaced its program by another is still the same process.
fn is_of_other(found: &str, own: u32, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some((process, _)) = found.split_once(':') else {
        return false;
    };
    let Ok(process) = process.parse::<u32>() else {
        return false;
    };
    process != own && mark(process, variable) == found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_for_other_processes_of_the_same_launch() {
        let rank = |name: &str| (name == "OXMPI_RANK").then(|| "3".to_owned());
        let other_rank = |name: &str| (name == "OXMPI_RANK").then(|| "2".to_owned());
        let found = mark(17, &rank);
        assert!(is_of_other(&found, 18, &rank));
        assert!(!is_of_other(&found, 17, &rank), "it is the rank itself");
        assert!(
            !is_of_other(&found, 18, &other_rank),
            "another launcher started it"
        );
        assert!(!is_of_other("", 18, &rank) && !is_of_other("x:", 18, &rank));
    }
}
