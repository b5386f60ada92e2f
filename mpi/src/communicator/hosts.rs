//! Where the members of a communicator live: the one place in which collectives ask the engine
//! about hosts.
//!
//! Every member must come to the same answer, so only what is the same in all processes of the job
//! counts: the number of each process's host.

use crate::group::Group;
use crate::process::Process;
use oxmpi_schedules::Hosts;

/// The hosts of a group's processes, by rank; `None` if they share one, which costs nothing in a
/// job on one host.
pub(crate) fn hosts_of(process: &Process, group: &Group) -> Option<Box<Hosts>> {
    let engine = &process.engine;
    if engine.hosts() == 1 {
        return None;
    }
    let processes = group.processes().iter();
    Hosts::new(processes.map(|&process| engine.host_of(process))).map(Box::new)
}
