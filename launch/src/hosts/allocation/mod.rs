//! The allocation that the launcher runs in: what a batch system has given to this job, read from
//! the variables and files by which it tells its jobs.
//!
//! An allocation counts where neither the command line nor OXMPI_HOST or OXMPI_HOSTFILE names
//! hosts, so that `mpiexec ./a.out` in a batch script starts a rank for every task, on the nodes of
//! the job. Other hosts are reached by the batch system's own command where it is installed,
//! because many sites do not permit ssh to their nodes.

mod slurm;

use std::path::Path;

use super::{Host, HostsError, Template, file, merged, number};

/// Hosts that a batch system has given to this job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The batch system and its job, as a person calls them.
    pub name: String,
    /// The variable that says so.
    pub variable: &'static str,
    /// The hosts with their slots.
    pub hosts: Vec<Host>,
    /// The batch system's own way to another host, if its command is installed.
    pub launcher: Option<Template>,
}

/// How the surroundings are asked: real ones, or those of a test.
pub(super) struct Surroundings<'a> {
    /// The value of a variable; an empty one is none.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a command is installed.
    pub(super) has_command: &'a dyn Fn(&str) -> bool,
    /// What a command prints, if it runs and succeeds.
    pub(super) output: &'a dyn Fn(&[&str]) -> Option<String>,
}

/// Variables that name files, which a privileged launcher does not follow.
const FILES: [&str; 4] = [
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
    "HYDRA_HOST_FILE",
];

impl Allocation {
    /// The allocation of this process, if it runs in one.
    pub fn here() -> Result<Option<Allocation>, HostsError> {
        for name in FILES {
            oxmpi_trust::variable(name)?;
        }
        Allocation::of(&Surroundings {
            variable: &|name| std::env::var(name).ok(),
            has_command: &is_installed,
            output: &output_of,
        })
    }

    fn of(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
        let systems = [slurm::find, pbs, lsf, grid_engine, flux, hydra];
        for find in systems {
            if let Some(found) = find(around)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The ranks that it is meant for.
    pub fn slots(&self) -> u64 {
        self.hosts.iter().map(|host| u64::from(host.slots)).sum()
    }
}

impl Surroundings<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }

    /// A job of a batch system, with its number where a variable holds it.
    fn job(&self, system: &str, number: &str) -> String {
        match self.get(number) {
            Some(number) => format!("{system} job {number}"),
            None => system.to_owned(),
        }
    }

    /// The template, if its command is installed.
    fn launcher(&self, template: &'static str) -> Option<Template> {
        let command = template.split(' ').next().unwrap_or_default();
        let is_there = (self.has_command)(command);
        is_there
            .then(|| Template::parse(template, command).ok())
            .flatten()
    }
}

/// PBS and Torque: a file with a line for each slot.
fn pbs(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let variable = "PBS_NODEFILE";
    let Some(path) = around.get(variable) else {
        return Ok(None);
    };
    Ok(Some(Allocation {
        name: around.job("PBS", "PBS_JOBID"),
        variable,
        hosts: file::read(Path::new(&path))?,
        launcher: None,
    }))
}

/// LSF: a file with a line for each slot, or a list of hosts and counts in turn.
fn lsf(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let name = around.job("LSF", "LSB_JOBID");
    let launcher = around.launcher("blaunch {host}");
    if let Some(path) = around.get("LSB_DJOB_HOSTFILE") {
        return Ok(Some(Allocation {
            name,
            variable: "LSB_DJOB_HOSTFILE",
            hosts: file::read(Path::new(&path))?,
            launcher,
        }));
    }
    let variable = "LSB_MCPU_HOSTS";
    let Some(list) = around.get(variable) else {
        return Ok(None);
    };
    let words: Vec<&str> = list.split_whitespace().collect();
    let hosts = words.chunks(2).map(|pair| match pair {
        [name, count] => counted(name, count, variable),
        _ => Err(not_understood(variable, &list, "a host has no count")),
    });
    Ok(Some(Allocation {
        name,
        variable,
        hosts: merged(hosts.collect::<Result<_, _>>()?, variable)?,
        launcher,
    }))
}

/// Grid Engine: a file with `host slots queue processors` on each line.
fn grid_engine(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let variable = "PE_HOSTFILE";
    let Some(path) = around.get(variable) else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(&path).map_err(|error| HostsError::File {
        path: path.clone().into(),
        why: error.to_string(),
    })?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let hosts = lines.map(|line| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some(name), Some(count)) => counted(name, count, variable),
            _ => Err(not_understood(variable, line, "a host has no count")),
        }
    });
    Ok(Some(Allocation {
        name: around.job("Grid Engine", "JOB_ID"),
        variable,
        hosts: merged(hosts.collect::<Result<_, _>>()?, variable)?,
        launcher: around.launcher("qrsh -inherit {host}"),
    }))
}

/// Flux: its commands know the hosts and cores of the instance that FLUX_URI leads to.
fn flux(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let variable = "FLUX_URI";
    if around.get(variable).is_none() || around.get("FLUX_ENCLOSING_ID").is_none() {
        return Ok(None);
    }
    let Some(list) = (around.output)(&["flux", "hostlist", "local"]) else {
        return Ok(None);
    };
    let cores = (around.output)(&["flux", "resource", "list", "-s", "all", "-no", "{ncores}"]);
    let names = slurm::expand(list.trim(), variable)?;
    let cores = cores.and_then(|text| text.trim().parse::<usize>().ok());
    let slots = cores.map_or(1, |cores| (cores / names.len().max(1)).max(1));
    let hosts = names
        .iter()
        .map(|name| counted(name, &slots.to_string(), variable));
    Ok(Some(Allocation {
        name: around.job("Flux", "FLUX_ENCLOSING_ID"),
        variable,
        hosts: merged(hosts.collect::<Result<_, _>>()?, variable)?,
        launcher: None,
    }))
}

/// The hostfile that MPICH's launcher takes from its environment.
fn hydra(around: &Surroundings<'_>) -> Result<Option<Allocation>, HostsError> {
    let variable = "HYDRA_HOST_FILE";
    let Some(path) = around.get(variable) else {
        return Ok(None);
    };
    Ok(Some(Allocation {
        name: format!("the hostfile {path}"),
        variable,
        hosts: file::read(Path::new(&path))?,
        launcher: None,
    }))
}

/// A host whose count stands in a word of its own.
fn counted(name: &str, count: &str, given: &str) -> Result<Host, HostsError> {
    Ok(Host {
        slots: number(count, "the count", name, given)?,
        ..Host::named(name, given)?
    })
}

fn not_understood(variable: &'static str, value: &str, why: &'static str) -> HostsError {
    HostsError::Allocation {
        variable,
        value: value
            .chars()
            .take(80)
            .flat_map(char::escape_debug)
            .collect(),
        why,
    }
}

/// Whether PATH has this command.
fn is_installed(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
}

fn output_of(words: &[&str]) -> Option<String> {
    let mut command = std::process::Command::new(words[0]);
    let output = command.args(&words[1..]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests;
