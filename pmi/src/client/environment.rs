//! Which launcher started this process, and which protocol it offers.
//!
//! Launchers say it by environment variables: PMI_FD, PMI_RANK and PMI_SIZE for a connected socket (Hydra, our mpiexec,
//! Slurm with pmi2), PMI_PORT and PMI_ID for an address (Hydra with `-pmi-port`), PMIX_NAMESPACE for PMIx. OXMPI_PMI
//! chooses where several are offered.

use crate::error::PmiError;

/// What a launcher offers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// A connected socket for PMI-1 or PMI-2.
    Inherited {
        fd: i32,
        rank: u32,
        size: u32,
        version: u32,
    },
    /// An address to call for PMI-1; the launcher knows this process by `id`.
    Port { address: String, id: u32 },
    /// A PMIx server; where libpmix may be, and what else is offered if it is not.
    Pmix {
        namespace: String,
        files: Vec<String>,
        otherwise: Option<Box<Offer>>,
    },
}

/// The library's file name; the number has been 2 since PMIx 2.
const LIBPMIX: &str = "libpmix.so.2";

/// What OXMPI_PMI asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Not set: what the launcher offers.
    Any,
    /// pmi1
    One,
    /// pmi2
    Two,
    /// pmix
    Pmix,
}

/// Looks at the environment. None: no launcher of these protocols started this process.
pub(super) fn offer(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Offer>, PmiError> {
    let wanted = wanted(variable)?;
    // Ranks of our own mpiexec may have inherited PMIX_NAMESPACE from a job around it; PMI_FD is theirs.
    let ours = variable("OXMPI_RANK").is_some() && variable("PMI_FD").is_some();
    match (wanted, variable("PMIX_NAMESPACE")) {
        (Wanted::Pmix, None) => Err(PmiError::NotOffered {
            protocol: "pmix",
            missing: "PMIX_NAMESPACE",
        }),
        (Wanted::Pmix, Some(namespace)) => Ok(Some(Offer::Pmix {
            namespace,
            files: files(variable),
            otherwise: None,
        })),
        (Wanted::Any, Some(namespace)) if !ours => {
            let otherwise = socket(wanted, variable)?.map(Box::new);
            Ok(Some(Offer::Pmix {
                namespace,
                files: files(variable),
                otherwise,
            }))
        }
        _ => socket(wanted, variable),
    }
}

/// The files that may be libpmix: what the user names, or what came with the launcher, or what the system has. The
/// launcher's own comes first, because versions that differ do not always understand each other.
fn files(variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    if let Some(file) = variable("OXMPI_LIBPMIX") {
        return vec![file];
    }
    ["PMIX_PREFIX", "PRTE_PREFIX", "OPAL_PREFIX"]
        .iter()
        .filter_map(|name| variable(name))
        .flat_map(|prefix| {
            ["lib", "lib64", "lib/openmpi"].map(|folder| format!("{prefix}/{folder}/{LIBPMIX}"))
        })
        .chain([LIBPMIX.to_owned()])
        .collect()
}

/// What is offered over a socket.
fn socket(
    wanted: Wanted,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Offer>, PmiError> {
    let number = |name: &'static str| {
        let value = variable(name)?;
        Some(
            value
                .trim()
                .parse::<i32>()
                .ok()
                .filter(|number| *number >= 0)
                .ok_or(PmiError::Variable {
                    variable: name,
                    value,
                    expected: "a number that a launcher would set",
                }),
        )
    };
    let needed = |name: &'static str, present: &'static str| {
        number(name).unwrap_or(Err(PmiError::Incomplete {
            present,
            absent: name,
        }))
    };
    if let Some(fd) = number("PMI_FD") {
        // Whoever offers PMI-2 offers PMI-1, too, and all the same; but srun's own is PMI-2.
        let version = match wanted {
            Wanted::One => 1,
            Wanted::Two => 2,
            _ if variable("SLURM_STEP_ID").is_some() && launcher(variable) == SLURM => 2,
            _ => 1,
        };
        return Ok(Some(Offer::Inherited {
            fd: fd?,
            rank: needed("PMI_RANK", "PMI_FD")? as u32,
            size: needed("PMI_SIZE", "PMI_FD")? as u32,
            version,
        }));
    }
    if let Some(address) = variable("PMI_PORT") {
        let id = needed("PMI_ID", "PMI_PORT")? as u32;
        return Ok(Some(Offer::Port { address, id }));
    }
    match wanted {
        Wanted::Any | Wanted::Pmix => Ok(None),
        Wanted::One => Err(PmiError::NotOffered {
            protocol: "pmi1",
            missing: "PMI_FD",
        }),
        Wanted::Two => Err(PmiError::NotOffered {
            protocol: "pmi2",
            missing: "PMI_FD",
        }),
    }
}

const SLURM: &str = "Slurm";

/// The launcher's name, for people.
pub(super) fn launcher(variable: &impl Fn(&str) -> Option<String>) -> &'static str {
    // Nearest first: Hydra or Open MPI inside an allocation of Slurm inherits Slurm's variables, not the other way round.
    const MARKS: [(&str, &str); 6] = [
        ("OXMPI_RANK", "OxMPI's mpiexec"),
        ("HYDI_CONTROL_FD", "Hydra"),
        ("PRTE_LAUNCHED", "PRRTE"),
        ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
        ("FLUX_JOB_ID", "Flux"),
        ("SLURM_STEP_ID", SLURM),
    ];
    MARKS
        .iter()
        .find(|(mark, _)| variable(mark).is_some())
        .map_or("a launcher without a name", |(_, name)| name)
}

fn wanted(variable: &impl Fn(&str) -> Option<String>) -> Result<Wanted, PmiError> {
    match variable("OXMPI_PMI").as_deref() {
        None | Some("" | "auto") => Ok(Wanted::Any),
        Some("pmi1") => Ok(Wanted::One),
        Some("pmi2") => Ok(Wanted::Two),
        Some("pmix") => Ok(Wanted::Pmix),
        Some(value) => Err(PmiError::Variable {
            variable: "OXMPI_PMI",
            value: value.to_owned(),
            expected: "one of auto, pmi1, pmi2, pmix",
        }),
    }
}
