//! Who am I: what a rank learns from the environment its launcher gave it.
//!
//! OXMPI_RANK, OXMPI_SIZE and OXMPI_SEGMENT come together or not at all. Without them the process
//! is a job of one rank. Anything between the two is an error, never a silent job of one: N
//! programs that each believe to be alone compute N times the same thing.

use std::os::fd::OwnedFd;

use crate::RANKS_MAX;
use crate::sys;

const RANK: &str = oxmpi_settings::RANK.name;
const SIZE: &str = oxmpi_settings::SIZE.name;
const SEGMENT: &str = oxmpi_settings::SEGMENT.name;

/// This process's place in its job.
#[derive(Debug)]
pub struct Identity {
    /// Rank in the job, from 0.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
    /// The number of the command line's program that this process executes, from 0.
    pub program: u32,
    /// The job's shared segment; None when no launcher started this process.
    pub segment: Option<OwnedFd>,
    /// The name of this host, for messages.
    pub host: String,
}

/// Why the environment does not say who this process is.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Some variables are there and some are not.
    #[error(
        "{present} is set but {absent} is not: start the program with mpiexec, or unset OXMPI_RANK, OXMPI_SIZE and OXMPI_SEGMENT to run it as a single rank"
    )]
    Incomplete {
        /// A variable that is set.
        present: &'static str,
        /// A variable that is not.
        absent: &'static str,
    },
    /// A variable does not hold a number.
    #[error(
        "{variable}={value} is not a number the launcher would set: start the program with mpiexec, or unset OXMPI_RANK, OXMPI_SIZE and OXMPI_SEGMENT to run it as a single rank"
    )]
    NotANumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Rank and size contradict each other.
    #[error(
        "OXMPI_RANK={rank} and OXMPI_SIZE={size} contradict each other: ranks go from 0 to size - 1, and a job has at most {RANKS_MAX}"
    )]
    OutOfRange {
        /// The rank given.
        rank: u32,
        /// The size given.
        size: u32,
    },
    /// The descriptor is not open here.
    #[error(
        "OXMPI_SEGMENT={fd} is not an open descriptor ({error}): a program that an MPI process starts cannot be a rank of the same job; unset OXMPI_RANK, OXMPI_SIZE and OXMPI_SEGMENT for it"
    )]
    SegmentClosed {
        /// The descriptor number given.
        fd: i32,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Identity {
    /// Reads the environment. The segment's descriptor no longer passes to programs this process
    /// starts.
    pub fn from_env() -> Result<Identity, IdentityError> {
        let identity = parse(|name| oxmpi_settings::find(name)?.read().text())?;
        let alone = Identity::alone();
        let Some((rank, size, fd)) = identity else {
            return Ok(alone);
        };
        let segment =
            sys::adopt_inherited(fd).map_err(|error| IdentityError::SegmentClosed { fd, error })?;
        // A launcher of an earlier release does not say it.
        let program = oxmpi_settings::APPNUM.read().number();
        Ok(Identity {
            rank,
            size,
            program: program.ok().flatten().unwrap_or(0) as u32,
            segment: Some(segment),
            host: alone.host,
        })
    }

    /// A job of one rank.
    pub(crate) fn alone() -> Identity {
        Identity {
            rank: 0,
            size: 1,
            program: 0,
            segment: None,
            host: sys::host_name(),
        }
    }
}

/// Variables by which launchers tell how many processes they started, and which of them this one
/// is.
const FOREIGN: [(&str, &str, &str); 6] = [
    (
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "Open MPI's mpirun",
    ),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "Slurm's srun"),
    ("PMI_SIZE", "PMI_RANK", "a PMI launcher"),
    ("MPI_LOCALNRANKS", "MPI_LOCALRANKID", "Hydra"),
    ("PALS_SIZE", "PALS_RANKID", "PALS"),
    ("JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "jsrun"),
];

/// The number of processes that a launcher, ours or another, has told by a variable; 1 without a
/// launcher. It takes nothing from the environment, so it can be asked for before joining.
pub fn announced_size() -> Option<u32> {
    let ours = oxmpi_settings::SIZE.read().text();
    let foreign = || {
        FOREIGN
            .iter()
            .find_map(|(size, _, _)| std::env::var(size).ok())
    };
    match ours.or_else(foreign) {
        Some(size) => size.parse().ok(),
        None => Some(1),
    }
}

/// A process that is about to run alone although a launcher started several says so: N programs
/// that each believe to be alone compute N times the same thing.
pub(crate) fn warn_if_lonely() {
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(text) = lonely(variable) {
        eprintln!("oxmpi: {text}");
    }
}

fn lonely(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    FOREIGN.iter().find_map(|(size, rank, who)| {
        let count: u32 = variable(size)?.parse().ok()?;
        let number = variable(rank)?;
        // One of them speaks for all.
        (count > 1 && number == "0").then(|| {
            let advice = match *size {
                "SLURM_STEP_NUM_TASKS" => "use srun --mpi=pmi2 or srun --mpi=pmix, or OxMPI's mpiexec",
                "OMPI_COMM_WORLD_SIZE" => "is PMIX_NAMESPACE removed from the environment? Or use OxMPI's mpiexec",
                _ => "is PMI_FD removed from the environment? Or use OxMPI's mpiexec",
            };
            format!(
                "this process runs alone, as rank 0 of 1, although {who} started {count} ({size}={count}, {rank}={number}): \
                 the launcher offers no protocol that this process could join the others by (PMI-1, PMI-2, PMIx); {advice}"
            )
        })
    })
}

fn parse(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(u32, u32, i32)>, IdentityError> {
    let values = [RANK, SIZE, SEGMENT].map(|name| (name, variable(name)));
    let Some((present, _)) = values.iter().find(|(_, value)| value.is_some()) else {
        return Ok(None);
    };
    let [rank, size, fd] = values.clone().map(|(name, value)| {
        let value = value.ok_or(IdentityError::Incomplete {
            present,
            absent: name,
        })?;
        // i32 so that a descriptor fits as it is; no rank or size is larger.
        value
            .parse::<i32>()
            .ok()
            .filter(|number| *number >= 0)
            .ok_or(IdentityError::NotANumber {
                variable: name,
                value,
            })
    });
    let (rank, size, fd) = (rank? as u32, size? as u32, fd?);
    if rank >= size || size > RANKS_MAX {
        return Err(IdentityError::OutOfRange { rank, size });
    }
    Ok(Some((rank, size, fd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(values: [Option<&str>; 3]) -> Result<Option<(u32, u32, i32)>, String> {
        parse(|name| {
            let index = [RANK, SIZE, SEGMENT]
                .iter()
                .position(|known| *known == name);
            values[index.unwrap()].map(str::to_owned)
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn all_or_nothing() {
        assert_eq!(with([None, None, None]), Ok(None));
        assert_eq!(with([Some("3"), Some("4"), Some("9")]), Ok(Some((3, 4, 9))));
        let error = with([Some("3"), None, Some("9")]).unwrap_err();
        assert!(
            error.starts_with("OXMPI_RANK is set but OXMPI_SIZE is not: "),
            "{error}"
        );
    }

    #[test]
    fn contradictions_are_named() {
        let error = with([Some("4"), Some("4"), Some("9")]).unwrap_err();
        assert!(
            error.starts_with("OXMPI_RANK=4 and OXMPI_SIZE=4 contradict"),
            "{error}"
        );
        let error = with([Some("x"), Some("4"), Some("9")]).unwrap_err();
        assert!(error.starts_with("OXMPI_RANK=x is not a number"), "{error}");
        let error = with([Some("0"), Some("-4"), Some("9")]).unwrap_err();
        assert!(
            error.starts_with("OXMPI_SIZE=-4 is not a number"),
            "{error}"
        );
    }

    #[test]
    fn a_rank_that_is_alone_among_several_says_so() {
        let slurm = |name: &str| match name {
            "SLURM_STEP_NUM_TASKS" => Some("4".to_string()),
            "SLURM_PROCID" => Some("0".to_string()),
            _ => None,
        };
        let text = lonely(slurm).unwrap();
        assert!(text.contains("Slurm's srun started 4"), "{text}");
        assert!(text.contains("srun --mpi=pmi2"), "{text}");
        assert_eq!(lonely(|_| None), None);
        assert_eq!(lonely(|_| Some("1".into())), None);
    }

    #[test]
    fn a_closed_descriptor_is_not_adopted() {
        let error = sys::adopt_inherited(987_654).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
}
