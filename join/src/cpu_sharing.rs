//! Whether a job's ranks outnumber the CPUs of the machine below its hosts.
//!
//! Containers and namespaces on one machine are hosts of their own to the launcher, and each may
//! have as few ranks as the machine has CPUs; together they have not. Who waits has to know: a rank
//! that spins on a CPU which others need costs them whole time slices. All of them run on one
//! kernel, and a kernel that was booted has a random name. What this cannot see (other jobs,
//! virtual machines) the engine notices while it waits.

use std::collections::HashMap;

use oxmpi_net::address::boot_id;
use oxmpi_pmi::Client;

use crate::cpus::usable_cpus;
use crate::error::WireUpError;
use crate::network::get_unless_gone;

const KERNEL: &str = "oxmpi-kernel";
/// Hosts that are asked for their kernel at most: a question costs a rank some ten microseconds,
/// and a machine below more hosts is noticed soon enough.
const HOSTS_MAX: usize = 32;

/// Tells the others which kernel this process's host runs on; the first process of each host does.
/// They may be asked after the next fence.
pub(crate) fn announce(client: &mut Client) -> Result<(), WireUpError> {
    client.put(KERNEL, &kernel())?;
    Ok(())
}

/// Whether the ranks on this process's kernel, on whatever hosts, are more than its CPUs. `hosts`:
/// that of each rank.
pub(crate) fn is_oversubscribed(
    client: &mut Client,
    rank: u32,
    hosts: &[u32],
) -> Result<bool, WireUpError> {
    let here = hosts[rank as usize];
    let mut ranks_of: HashMap<u32, (u32, u32)> = HashMap::new();
    for (other, host) in hosts.iter().enumerate() {
        ranks_of.entry(*host).or_insert((other as u32, 0)).1 += 1;
    }
    let cpus = machine_cpus();
    if ranks_of.len() > HOSTS_MAX || hosts.len() <= cpus as usize {
        return Ok(false);
    }
    let own = kernel();
    let mut sharers = 0;
    for (host, (first, ranks)) in ranks_of {
        let shares = host == here
            || own != UNKNOWN && get_unless_gone(client, first, KERNEL)?.as_ref() == Some(&own);
        if shares {
            sharers += ranks;
        }
    }
    Ok(sharers > cpus)
}

/// What a kernel is called that does not say.
const UNKNOWN: &str = "unknown";

/// The name of this process's kernel.
fn kernel() -> String {
    boot_id().unwrap_or_else(|| UNKNOWN.into())
}

/// CPUs of the machine, whichever of them this process may use; those it may use where the machine
/// does not say.
fn machine_cpus() -> u32 {
    let told = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    count(told.trim()).unwrap_or(0).max(usable_cpus())
}

/// How many numbers a list such as `0-3,6` names.
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0, |sum: u32, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,6,8-9"), Some(7));
        for nonsense in ["", "3-1", "a", "0-", "0-4294967295"] {
            assert_eq!(count(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn a_kernel_has_one_name() {
        assert_eq!(kernel(), kernel());
        assert!(machine_cpus() >= usable_cpus());
    }
}
