//! Where the members of a communicator live: the one place in which collectives ask the engine about hosts.
//!
//! Every member must come to the same answer, so only what is the same in all processes of the job counts: the number of each
//! process's host.

use crate::collectives::Hosts;
use crate::group::Group;
use crate::process::Process;

/// The hosts of a group's processes, by rank; `None` if they share one, which costs nothing in a job on one host.
pub(crate) fn hosts_of(process: &Process, group: &Group) -> Option<Box<Hosts>> {
    if hosts(process) == 1 {
        return None;
    }
    let numbers = group.processes().iter();
    Hosts::new(numbers.map(|&number| host_of(process, number))).map(Box::new)
}

/// Number of the job's hosts.
fn hosts(_process: &Process) -> u32 {
    1
}

/// The host of a process of the job, below the number of hosts.
fn host_of(_process: &Process, _number: u32) -> u32 {
    0
}
