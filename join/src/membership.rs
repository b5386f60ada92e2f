//! How a rank joins its job, whoever started it.
//!
//! On one host under our own launcher everything is inherited. In every other case the rank is a
//! client of its launcher (PMI-1, PMI-2, PMIx): it tells the others where it can be dialled, learns
//! who shares its host, and opens the memory they share. What ranks tell each other:
//!
//! | key           | who puts it                            | value                                     |
//! |---------------|----------------------------------------|-------------------------------------------|
//! | oxmpi-card    | every rank, if there are several hosts | where it can be dialled                   |
//! | oxmpi-key     | rank 0, if there are several hosts     | the job's key                             |
//! | oxmpi-report  | the lowest rank of each of several hosts | which networks reach it                 |
//! | oxmpi-choice  | rank 0, if there are several hosts     | the network that all use                  |
//! | oxmpi-segment | the lowest rank of a host              | process and descriptor of the host's memory |
//! | oxmpi-host    | every rank, if the launcher is silent  | which host it runs on                     |
//!
//! The key is as secret as the launcher's own channel is.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use oxmpi_engine::{JoinFacts, Network};
use oxmpi_net::tcp::{DriverError, Progress, find_bpf, find_driver, find_ring};
use oxmpi_pmi::Client;
use oxmpi_ports::Segment;
use oxmpi_settings::SettingError;

use crate::cpu_sharing;
use crate::cpus::usable_cpus;
use crate::crash;
use crate::error::WireUpError;
use crate::identity::{Identity, warn_if_lonely};
use crate::mark;
use crate::network;

const SEGMENT: &str = "oxmpi-segment";
const HOST: &str = "oxmpi-host";

/// A process that has joined its job, and its line to the launcher.
pub struct Membership {
    /// What the engine needs; to be taken once.
    pub facts: JoinFacts,
    /// The number of the command line's program that this process executes, from 0.
    pub program: u32,
    /// How to leave the job, and to end it.
    pub launcher: LauncherLine,
}

/// A process's line to its launcher; nothing where there is none.
#[derive(Clone, Default)]
pub struct LauncherLine {
    client: Option<Arc<Mutex<Client>>>,
    /// Our own launcher sees by the segment what becomes of its ranks.
    foreign: bool,
}

impl Membership {
    /// Joins the job that the environment describes; without a launcher the process is alone, and
    /// so is one that a rank of a job has started.
    pub fn from_env() -> Result<Membership, WireUpError> {
        if mark::is_started_by_rank() {
            let alone = Identity::alone();
            return Ok(Membership::alone_on_host(alone, LauncherLine::default()));
        }
        let joined = Membership::of_launcher()?;
        mark::leave_mark();
        Ok(joined)
    }

    fn of_launcher() -> Result<Membership, WireUpError> {
        let identity = Identity::from_env()?;
        let apart = is_apart()?;
        let inherited = identity.segment.is_some();
        if inherited {
            check_driver()?;
            crash::arm(identity.rank);
        }
        if inherited && !apart && ports(&identity)? == identity.size {
            return Ok(Membership::alone_on_host(identity, LauncherLine::default()));
        }
        if inherited && identity.size == 1 {
            return Ok(Membership::alone_on_host(identity, LauncherLine::default()));
        }
        let Some(mut client) = Client::from_env()? else {
            if inherited {
                return Err(WireUpError::NoLauncher {
                    rank: identity.rank,
                    size: identity.size,
                    ports: ports(&identity)?,
                });
            }
            warn_if_lonely();
            tell_of_settings(&identity);
            return Ok(Membership::alone_on_host(identity, LauncherLine::default()));
        };
        let (pmi_rank, pmi_size) = (client.rank(), client.size());
        if inherited && (pmi_rank, pmi_size) != (identity.rank, identity.size) {
            return Err(WireUpError::TwoLaunchers {
                rank: identity.rank,
                size: identity.size,
                pmi_rank,
                pmi_size,
            });
        }
        let program = match inherited {
            true => identity.program,
            false => client.program()?.unwrap_or(0),
        };
        let identity = Identity {
            rank: pmi_rank,
            size: pmi_size,
            program,
            ..identity
        };
        tell_of_settings(&identity);
        wire_up(identity, client, apart, !inherited)
    }

    fn alone_on_host(identity: Identity, launcher: LauncherLine) -> Membership {
        let Identity {
            rank,
            size,
            program,
            segment,
            host,
        } = identity;
        let facts = JoinFacts {
            rank,
            size,
            host,
            segment,
            network: None,
        };
        Membership {
            facts,
            program,
            launcher,
        }
    }
}

impl LauncherLine {
    /// The process leaves the job properly.
    pub fn leave(&self) {
        if let Some(client) = &self.client
            && let Ok(mut client) = client.lock()
        {
            // A launcher that is gone is told nothing, and that is all that can be done about it.
            let _ = client.finalize();
        }
    }

    /// Asks a foreign launcher to end the job.
    pub fn abort(&self, code: i32, text: &str) {
        if self.foreign
            && let Some(client) = &self.client
            && let Ok(mut client) = client.lock()
        {
            client.abort(code, text);
        }
    }
}

/// What was asked for is there even where no connection needs it: a job that is tried on one host
/// before it runs on several is told so at once.
fn check_driver() -> Result<(), WireUpError> {
    match Progress::from_env()? {
        Progress::User | Progress::Sock => {}
        Progress::Kernel => find_driver().map_err(DriverError::from)?,
        Progress::Uring => find_ring().map_err(DriverError::from)?,
        Progress::Bpf => find_bpf().map_err(DriverError::from)?,
    }
    Ok(())
}

/// True if processes of one host talk by the network, as if they were on several hosts.
fn is_apart() -> Result<bool, SettingError> {
    let shared = oxmpi_settings::SHARED_MEMORY.read().switch()?;
    Ok(shared == Some(false))
}

/// A rank that another launcher started says what is worth saying about its settings; OxMPI's own
/// launcher says it itself. Rank 0 speaks for all.
fn tell_of_settings(identity: &Identity) {
    if identity.segment.is_none() && identity.rank == 0 {
        for notice in oxmpi_settings::notices(std::env::vars_os()) {
            eprintln!("oxmpi: {notice}");
        }
    }
}

/// Ranks that share the inherited segment.
fn ports(identity: &Identity) -> Result<u32, WireUpError> {
    let Some(fd) = &identity.segment else {
        return Ok(1);
    };
    let system = |error| WireUpError::System {
        rank: identity.rank,
        host: identity.host.clone(),
        what: "copy the segment's descriptor",
        error,
    };
    let fd = fd.try_clone().map_err(system)?;
    Ok(attach(identity, fd)?.ports())
}

fn attach(identity: &Identity, fd: OwnedFd) -> Result<Segment, WireUpError> {
    Segment::attach(fd).map_err(|error| WireUpError::Segment {
        rank: identity.rank,
        host: identity.host.clone(),
        error,
    })
}

/// Tells the others what they need to know, and learns the same from them.
fn wire_up(
    mut identity: Identity,
    mut client: Client,
    apart: bool,
    foreign: bool,
) -> Result<Membership, WireUpError> {
    let (rank, size) = (identity.rank, identity.size);
    let hosts = match client.hosts()? {
        Some(hosts) => in_order_of_appearance(hosts),
        None => ask_for_hosts(&mut client, &identity.host)?,
    };
    let here = hosts[rank as usize];
    let neighbours: Vec<u32> = (0..size)
        .filter(|other| hosts[*other as usize] == here)
        .collect();
    let leader = neighbours[0];
    let shares = foreign && neighbours.len() > 1;
    let mut own = None;
    if shares && leader == rank {
        let segment = Segment::create(neighbours.len() as u32, usable_cpus());
        let segment = segment.map_err(|error| WireUpError::Segment {
            rank,
            host: identity.host.clone(),
            error,
        })?;
        let number = segment.fd().as_raw_fd();
        client.put(SEGMENT, &format!("{}/{number}", std::process::id()))?;
        own = Some(segment);
    }
    let is_spread = hosts.iter().any(|host| *host != 0) || apart && size > 1;
    let mut equipment = match is_spread {
        true => {
            if leader == rank {
                cpu_sharing::announce(&mut client)?;
            }
            Some(network::announce(&mut client, &identity, apart)?)
        }
        false => None,
    };
    if is_spread || shares {
        client.fence()?;
    }
    if let Some(segment) = own {
        // Others may still be about to open it by its number.
        identity.segment = Some(segment.into_fd());
        client.fence()?;
    } else if shares {
        identity.segment = Some(open_neighbours_segment(&mut client, &identity, leader)?);
        client.fence()?;
    } else if foreign && size > 1 && has_sharers(&hosts) {
        client.fence()?;
    }
    let agreed = match &mut equipment {
        Some(equipment) => {
            let each_its_own: Vec<u32> = (0..size).collect();
            let ends = if apart { &each_its_own } else { &hosts };
            Some(network::agree(&mut client, &identity, ends, equipment)?)
        }
        None => None,
    };
    let oversubscribed = is_spread && cpu_sharing::is_oversubscribed(&mut client, rank, &hosts)?;
    let client = Arc::new(Mutex::new(client));
    let network = match (agreed, equipment) {
        (Some(agreed), Some(equipment)) => {
            let (transport, choice) = agreed.assemble(&identity, &client, equipment)?;
            Some(Network {
                transport,
                choice,
                hosts,
                apart,
                oversubscribed,
            })
        }
        _ => None,
    };
    let Identity {
        program,
        segment,
        host,
        ..
    } = identity;
    Ok(Membership {
        facts: JoinFacts {
            rank,
            size,
            host,
            segment,
            network,
        },
        program,
        launcher: LauncherLine {
            client: Some(client),
            foreign,
        },
    })
}

/// Whether some host has several ranks: then everybody fences twice, for a fence is everybody's.
fn has_sharers(hosts: &[u32]) -> bool {
    let mut seen = vec![false; hosts.len()];
    hosts
        .iter()
        .any(|host| std::mem::replace(&mut seen[*host as usize], true))
}

/// The memory that the lowest rank of this host has made.
fn open_neighbours_segment(
    client: &mut Client,
    identity: &Identity,
    leader: u32,
) -> Result<OwnedFd, WireUpError> {
    let told = client.get(leader, SEGMENT)?;
    let numbers = told
        .split_once('/')
        .and_then(|(pid, fd)| Some((pid.parse::<u32>().ok()?, fd.parse::<u32>().ok()?)));
    let Some((pid, fd)) = numbers else {
        return Err(WireUpError::Told {
            rank: leader,
            key: SEGMENT,
            value: told,
            why: "expected a process and a descriptor".into(),
        });
    };
    let path = format!("/proc/{pid}/fd/{fd}");
    match open_for_neighbours(&path) {
        Ok(file) => Ok(file.into()),
        Err(error) => Err(WireUpError::Neighbour {
            rank: identity.rank,
            host: identity.host.clone(),
            leader,
            what: path,
            error,
        }),
    }
}

/// A launcher is its caller's choice, and so is the name that it tells: a privileged process opens
/// none.
fn open_for_neighbours(path: &str) -> std::io::Result<File> {
    if oxmpi_trust::is_privileged() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            "this program has privileges that its caller does not have",
        ));
    }
    OpenOptions::new().read(true).write(true).open(path)
}

/// For launchers that do not say who is where: every rank tells, and reads what all others told.
fn ask_for_hosts(client: &mut Client, host: &str) -> Result<Vec<u32>, WireUpError> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // Two containers may have one name, and one machine several containers.
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = space
        .to_string_lossy()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let name: String = host.chars().filter(char::is_ascii_alphanumeric).collect();
    client.put(HOST, &format!("{name}-{}-{digits}", boot.trim()))?;
    client.fence()?;
    let mut names: Vec<String> = Vec::new();
    let mut hosts = Vec::new();
    for rank in 0..client.size() {
        let name = client.get(rank, HOST)?;
        let known = names.iter().position(|known| *known == name);
        hosts.push(known.unwrap_or(names.len()) as u32);
        if known.is_none() {
            names.push(name);
        }
    }
    Ok(hosts)
}

/// Host numbers as the engine wants them: the first rank's is 0, the next new one 1.
fn in_order_of_appearance(hosts: Vec<u32>) -> Vec<u32> {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    hosts
        .into_iter()
        .map(|host| {
            let next = numbers.len() as u32;
            *numbers.entry(host).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_as_they_appear() {
        assert_eq!(in_order_of_appearance(vec![7, 3, 7, 9]), [0, 1, 0, 2]);
        assert!(has_sharers(&[0, 1, 0]));
        assert!(!has_sharers(&[0, 1, 2]));
    }
}
