//! Which launcher started this process, and which protocol it offers.
//!
//! Launchers say it by environment variables: PMI_FD, PMI_RANK and PMI_SIZE for a connected socket
//! (Hydra, our mpiexec, Slurm with pmi2), PMI_PORT and PMI_ID for an address (Hydra with
//! `-pmi-port`), PMIX_NAMESPACE for PMIx. OXMPI_PMI chooses where several are offered.

use oxmpi_settings::{LIBPMIX as LIBPMIX_SETTING, PMI, RANK};

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
    // Ranks of our own mpiexec may have inherited PMIX_NAMESPACE from a job around it; PMI_FD is
    // theirs.
    let ours = RANK.read_from(variable).is_set() && variable("PMI_FD").is_some();
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

/// The files that may be libpmix: what the user names, or what came with the launcher, or what the
/// system has. The launcher's own comes first, because versions that differ do not always
/// understand each other.
fn files(variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    if let Some(file) = LIBPMIX_SETTING.read_from(variable).text() {
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
    // Nearest first: Hydra or Open MPI inside an allocation of Slurm inherits Slurm's variables,
    // not the other way round.
    const MARKS: [(&str, &str); 6] = [
        (RANK.name, "OxMPI's mpiexec"),
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
    Ok(match PMI.read_from(variable).choice()? {
        "pmi1" => Wanted::One,
        "pmi2" => Wanted::Two,
        "pmix" => Wanted::Pmix,
        _ => Wanted::Any,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is offered when these variables are set, `A=1 B=2`.
    fn with(variables: &str) -> Result<Option<Offer>, String> {
        offer(&|name: &str| look_up(variables, name)).map_err(|error| error.to_string())
    }

    fn look_up(variables: &str, name: &str) -> Option<String> {
        let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    }

    fn inherited(version: u32) -> Offer {
        Offer::Inherited {
            fd: 7,
            rank: 2,
            size: 4,
            version,
        }
    }

    const SOCKET: &str = "PMI_FD=7 PMI_RANK=2 PMI_SIZE=4";

    #[test]
    fn launchers_and_their_protocols() {
        assert_eq!(with(""), Ok(None));
        assert_eq!(with("SLURM_STEP_ID=0 SLURM_NTASKS=4"), Ok(None));
        assert_eq!(with(SOCKET), Ok(Some(inherited(1))));
        assert_eq!(
            with(&format!("{SOCKET} HYDI_CONTROL_FD=3 SLURM_STEP_ID=0")),
            Ok(Some(inherited(1)))
        );
        assert_eq!(
            with(&format!("{SOCKET} SLURM_STEP_ID=0")),
            Ok(Some(inherited(2)))
        );
        assert_eq!(
            with(&format!("{SOCKET} SLURM_STEP_ID=0 OXMPI_PMI=pmi1")),
            Ok(Some(inherited(1)))
        );
        assert_eq!(
            with(&format!("{SOCKET} OXMPI_PMI=pmi2")),
            Ok(Some(inherited(2)))
        );
        let port = Offer::Port {
            address: "head:4711".to_owned(),
            id: 3,
        };
        assert_eq!(with("PMI_PORT=head:4711 PMI_ID=3"), Ok(Some(port)));
    }

    #[test]
    fn pmix_goes_first_where_the_library_is() {
        let pmix = |files: &[&str], otherwise: Option<Offer>| Offer::Pmix {
            namespace: "job".to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            otherwise: otherwise.map(Box::new),
        };
        let system = ["libpmix.so.2"];
        assert_eq!(with("PMIX_NAMESPACE=job"), Ok(Some(pmix(&system, None))));
        let both = format!("{SOCKET} PMIX_NAMESPACE=job");
        assert_eq!(with(&both), Ok(Some(pmix(&system, Some(inherited(1))))));
        assert_eq!(
            with(&format!("{both} OXMPI_PMI=pmix")),
            Ok(Some(pmix(&system, None)))
        );
        assert_eq!(
            with(&format!("{both} OXMPI_PMI=pmi2")),
            Ok(Some(inherited(2)))
        );
        assert_eq!(
            with(&format!("{both} OXMPI_RANK=2")),
            Ok(Some(inherited(1))),
            "our own mpiexec inside another job"
        );
        assert_eq!(
            with("PMIX_NAMESPACE=job OXMPI_LIBPMIX=/x.so"),
            Ok(Some(pmix(&["/x.so"], None)))
        );
        let beside = [
            "/opt/lib/libpmix.so.2",
            "/opt/lib64/libpmix.so.2",
            "/opt/lib/openmpi/libpmix.so.2",
            "libpmix.so.2",
        ];
        assert_eq!(
            with("PMIX_NAMESPACE=job OPAL_PREFIX=/opt"),
            Ok(Some(pmix(&beside, None)))
        );
    }

    #[test]
    fn half_an_offer_is_an_error() {
        let said = with("PMI_FD=7 PMI_RANK=2").unwrap_err();
        assert_eq!(
            said,
            "PMI_FD is set in the environment but PMI_SIZE is not: the program was not started by the launcher that set it; start it with mpiexec or srun, or unset PMI_FD to run it alone"
        );
        let said = with("PMI_FD=x PMI_RANK=2 PMI_SIZE=4").unwrap_err();
        assert!(
            said.starts_with(
                "PMI_FD=x in the environment is not a number that a launcher would set: "
            ),
            "{said}"
        );
        let said = with("OXMPI_PMI=pmi2").unwrap_err();
        assert_eq!(
            said,
            "OXMPI_PMI=pmi2 asks for a launcher's protocol that nobody offers here: PMI_FD is not set"
        );
        assert!(
            with("OXMPI_PMI=pmix PMI_FD=7")
                .unwrap_err()
                .contains("PMIX_NAMESPACE is not set")
        );
        assert!(
            with("OXMPI_PMI=pmi3")
                .unwrap_err()
                .contains("OXMPI_PMI=\"pmi3\" makes no sense: expected auto, pmi1, pmi2 or pmix")
        );
        assert!(
            with("PMI_PORT=head:1")
                .unwrap_err()
                .contains("PMI_ID is not")
        );
    }

    #[test]
    fn names_for_people() {
        let name = |variables: &str| launcher(&|name: &str| look_up(variables, name));
        assert_eq!(name("SLURM_STEP_ID=0"), "Slurm");
        assert_eq!(name("SLURM_STEP_ID=0 HYDI_CONTROL_FD=1"), "Hydra");
        assert_eq!(
            name("SLURM_STEP_ID=0 OMPI_COMM_WORLD_SIZE=1"),
            "Open MPI's mpirun"
        );
        assert_eq!(name(""), "a launcher without a name");
    }
}
