//! Everything a job says about its hosts, with the environment for what it does not say.
//!
//! OXMPI_HOST, OXMPI_HOSTFILE, OXMPI_ALLOCATION, OXMPI_MAP_BY, OXMPI_PPN, OXMPI_LAUNCHER, OXMPI_AGENT and
//! OXMPI_AGENT_FANOUT are read here and nowhere else, so that any program that starts jobs can be
//! spread over hosts from outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use oxmpi_settings::{
    AGENT, AGENT_FANOUT, ALLOCATION, Given, HOST, HOSTFILE, LAUNCHER, MAP_BY, PPN, Setting,
};

use super::{Allocation, Host, HostsError, MapBy, Template, place, template};

/// Agents one process starts: a tree of depth 2 reaches 1 056 hosts, of depth 3 more than 33 000.
/// More at once would be more remote shells than sshd admits in one go elsewhere and memory here.
const FANOUT_MAX: usize = 32;
/// How long hosts may take to answer: name look-ups and slow logins included.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the ranks of a job run. What is None comes from the environment, and is this host without
/// that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The hosts.
    pub hosts: Option<Vec<Host>>,
    /// In which order ranks go to them.
    pub map_by: Option<MapBy>,
    /// How other hosts are reached.
    pub launcher: Option<Template>,
    /// The program `oxmpi` there; the same path as here without it.
    pub agent: Option<PathBuf>,
    /// How long hosts may take to answer.
    pub launch_timeout: Option<Duration>,
}

/// A placement: which hosts, and the host of every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The hosts that have ranks.
    pub(crate) hosts: Vec<String>,
    /// Index into `hosts` of the one the launcher itself runs on.
    pub(crate) here: Option<u32>,
    /// Index into `hosts`, by rank.
    pub(crate) host_of: Vec<u32>,
}

impl Placement {
    /// Whether there is a host besides the launcher's own.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.hosts.len() > 1 || self.here.is_none()
    }
}

impl Spread {
    /// Completes what is not given from the environment.
    pub fn or_env(&self) -> Result<Spread, HostsError> {
        for setting in [&HOSTFILE, &LAUNCHER, &AGENT] {
            oxmpi_trust::variable(setting.name)?;
        }
        let spread = self.or(Setting::read)?;
        if ALLOCATION.read().switch()? == Some(false) {
            return Ok(spread);
        }
        match Allocation::here()? {
            Some(allocation) => Ok(spread.or_allocation(allocation)),
            None => Ok(spread),
        }
    }

    /// Completes hosts, and the way to them, by those of a batch system. Its way leads to its own
    /// hosts alone.
    fn or_allocation(mut self, allocation: Allocation) -> Spread {
        let hosts = self.hosts.get_or_insert_with(|| allocation.hosts.clone());
        let is_given = |host: &Host| allocation.hosts.iter().any(|own| own.name == host.name);
        if hosts.iter().all(is_given) {
            self.launcher = self.launcher.or(allocation.launcher);
        }
        self
    }

    fn or(&self, given: impl Fn(&'static Setting) -> Given) -> Result<Spread, HostsError> {
        let text = |setting| {
            given(setting)
                .raw()
                .map(|value| value.to_string_lossy().into_owned())
        };
        let path = |setting| given(setting).raw().map(PathBuf::from);
        let mut spread = self.clone();
        if spread.hosts.is_none() {
            spread.hosts = match (text(&HOST), path(&HOSTFILE)) {
                (Some(list), _) => Some(Host::list(&list, HOST.name)?),
                (None, Some(file)) => Some(Host::file(&file)?),
                (None, None) => None,
            };
        }
        if spread.map_by.is_none() {
            spread.map_by = match (given(&PPN).number()?, text(&MAP_BY)) {
                // The table bounds it by RANKS_MAX.
                (Some(count), _) => Some(MapBy::PerHost(count as u32)),
                (None, Some(map_by)) => Some(MapBy::parse(&map_by, MAP_BY.name)?),
                (None, None) => None,
            };
        }
        if let (None, Some(launcher)) = (&spread.launcher, text(&LAUNCHER)) {
            spread.launcher = Some(Template::parse(&launcher, LAUNCHER.name)?);
        }
        if spread.agent.is_none() {
            spread.agent = path(&AGENT);
        }
        Ok(spread)
    }

    /// The ranks that fill all slots once; None when no hosts are named.
    pub fn slots(&self) -> Option<u64> {
        let hosts = self.hosts.as_deref()?;
        Some(place::slots(hosts, self.map_by.unwrap_or_default()))
    }

    /// Where `ranks` ranks go. `own` is this host's name.
    pub(crate) fn place(&self, ranks: u32, own: &str) -> Result<Placement, HostsError> {
        let here = [Host {
            name: own.to_owned(),
            slots: ranks,
            slots_max: None,
        }];
        let hosts = self.hosts.as_deref().unwrap_or(&here);
        let map_by = self.map_by.unwrap_or_default();
        let placed = place::place(hosts, map_by, ranks)?;
        // Hosts are numbered in the order in which they are first used; those without ranks go.
        let mut numbers = vec![None; hosts.len()];
        let mut used = Vec::new();
        let mut host_of = Vec::with_capacity(placed.len());
        for host in placed {
            let number = *numbers[host as usize].get_or_insert_with(|| {
                used.push(&hosts[host as usize]);
                used.len() as u32 - 1
            });
            host_of.push(number);
        }
        let here = used.iter().position(|host| host.is_here(own));
        Ok(Placement {
            hosts: used.iter().map(|host| host.name.clone()).collect(),
            here: here.map(|index| index as u32),
            host_of,
        })
    }

    /// The words that execute `oxmpi WORD` on another host.
    pub fn command(&self, host: &str, word: &str) -> Result<Vec<String>, HostsError> {
        Ok(self.template().reach(host, [&self.agent_path()?, word]))
    }

    pub(crate) fn template(&self) -> Template {
        self.launcher.clone().unwrap_or_default()
    }

    pub(crate) fn patience(&self) -> Duration {
        self.launch_timeout.unwrap_or(LAUNCH_TIMEOUT)
    }

    /// The path of `oxmpi` on the other hosts, as a word of a command.
    pub(crate) fn agent_path(&self) -> Result<String, HostsError> {
        let path = match &self.agent {
            Some(path) => path.clone(),
            None => agent_beside(&std::env::current_exe().unwrap_or_default())?,
        };
        let text = path.to_string_lossy().into_owned();
        match template::shell_character(&text) {
            Some(character) => Err(HostsError::AgentPath { path, character }),
            None => Ok(text),
        }
    }
}

/// Agents that one process starts at most; tests make the tree deep with OXMPI_AGENT_FANOUT.
pub(crate) fn fanout() -> usize {
    // The launcher has checked the value before it starts anything.
    let asked = AGENT_FANOUT.read().number().ok().flatten();
    asked.map_or(FANOUT_MAX, |fanout| (fanout as usize).min(FANOUT_MAX))
}

/// `oxmpi` beside the running program, or one folder up, where cargo puts it seen from a test.
fn agent_beside(program: &Path) -> Result<PathBuf, HostsError> {
    let folders = program.ancestors().skip(1).take(2);
    let mut candidates = folders.map(|folder| folder.join("oxmpi"));
    let found = candidates.find(|candidate| candidate.is_file());
    found.ok_or_else(|| HostsError::NoAgent {
        beside: program.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Spread, String> {
        let value = |name: &str| {
            let found = variables.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1)
        };
        Spread::default()
            .or(|setting| setting.read_from(value))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_fills_what_is_not_said() {
        let spread = with(&[
            ("OXMPI_HOST", "a:2,b:2"),
            ("OXMPI_MAP_BY", "node"),
            ("OXMPI_LAUNCHER", "rsh"),
        ])
        .unwrap();
        assert_eq!(spread.slots(), Some(4));
        assert_eq!(spread.map_by, Some(MapBy::Node));
        assert_eq!(spread.template().command("b", "x")[..2], ["rsh", "b"]);
        let said = Spread {
            hosts: Some(Host::list("c", "-host").unwrap()),
            ..Spread::default()
        };
        let hosts = said
            .or(|setting| setting.read_from(|_| Some("a")))
            .map_err(|error| error.to_string());
        assert_eq!(
            hosts.unwrap_err(),
            "OXMPI_PPN=\"a\" (-ppn) makes no sense: expected a number from 1 to 65535"
        );
        assert_eq!(
            with(&[("OXMPI_MAP_BY", "ring")]).unwrap_err(),
            "OXMPI_MAP_BY ring: expected node, slot, core, socket or ppr:N:node; --bind-to and --cpus-per-rank say which CPUs a rank has"
        );
    }

    #[test]
    fn a_batch_systems_way_leads_to_its_hosts() {
        let allocation = Allocation {
            name: "Slurm".to_owned(),
            variable: "SLURM_JOB_NODELIST",
            hosts: Host::list("a:2,b:2", "").unwrap(),
            launcher: Some(Template::parse("srun {host}", "").unwrap()),
        };
        for (given, slots, command) in [
            (None, 4, "srun"),
            (Some("b"), 1, "srun"),
            (Some("c"), 1, "ssh"),
        ] {
            let said = Spread {
                hosts: given.map(|given| Host::list(given, "-host").unwrap()),
                ..Spread::default()
            };
            let spread = said.or_allocation(allocation.clone());
            assert_eq!(spread.slots(), Some(slots), "{given:?}");
            assert_eq!(spread.template().words()[0], command, "{given:?}");
        }
    }

    #[test]
    fn only_hosts_with_ranks_are_part_of_the_job() {
        let spread = with(&[("OXMPI_HOST", "a:2,vm,c")]).unwrap();
        let placement = spread.place(3, "vm").unwrap();
        assert_eq!(placement.hosts, ["a", "vm"]);
        assert_eq!(placement.here, Some(1));
        assert_eq!(placement.host_of, [0, 0, 1]);
        let placement = Spread::default().place(2, "vm").unwrap();
        assert_eq!(
            (placement.hosts.as_slice(), placement.here),
            (&["vm".to_owned()][..], Some(0))
        );
    }
}
