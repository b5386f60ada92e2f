//! Which CPUs a rank is bound to.
//!
//! Topology is read from /sys only when binding to cores was asked for: start-up scans no hardware.

use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// What a rank is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bind {
    /// Ranks run wherever the launcher may run.
    #[default]
    None,
    /// The r-th rank of a host runs on its r-th usable core (all hardware threads of it), round and
    /// round.
    Core,
}

/// The usable cores, each as the list of its usable CPUs.
pub(crate) fn cores() -> io::Result<Vec<Vec<u32>>> {
    let usable = sys::cpus_of(&sys::affinity()?);
    Ok(group(&usable, |cpu| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        // A kernel that does not tell has one thread per core, as far as we can know.
        std::fs::read_to_string(file).unwrap_or_else(|_| cpu.to_string())
    }))
}

/// CPUs with the same siblings are one core; the order is that of each core's first CPU.
fn group(cpus: &[u32], siblings: impl Fn(u32) -> String) -> Vec<Vec<u32>> {
    let mut cores: Vec<(String, Vec<u32>)> = Vec::new();
    for &cpu in cpus {
        let key = siblings(cpu);
        match cores.iter_mut().find(|core| core.0 == key) {
            Some(core) => core.1.push(cpu),
            None => cores.push((key, vec![cpu])),
        }
    }
    cores.into_iter().map(|core| core.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_threads_of_a_core_stay_together() {
        let cores = group(&[0, 1, 2, 3], |cpu| format!("{},{}", cpu % 2, cpu % 2 + 2));
        assert_eq!(cores, [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn there_is_a_core() {
        assert!(!cores().unwrap().is_empty());
    }
}
