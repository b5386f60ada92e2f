//! How a library's ranks are started: its own defaults, and what its users know to be better.
//!
//! A library that assumes a core for every rank loses scheduler ticks as soon as that is not true,
//! unless it is told. Every setting below is run in the same rounds, and the best one counts: the
//! comparison is with what a library can do. OxMPI has no such settings and runs with its defaults.

use super::hosts::INTERFACE;
use super::installation::Family;
use crate::net::{self, Net};

/// Options and variables under which a job is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// In tables; empty for the only one.
    pub name: &'static str,
    /// Words after the launcher's name.
    pub options: &'static [&'static str],
    /// Environment variables.
    pub environment: &'static [(&'static str, &'static str)],
    /// Run only when those before it were refused.
    pub last_resort: bool,
}

const fn setting(
    name: &'static str,
    options: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
) -> Setting {
    Setting {
        name,
        options,
        environment,
        last_resort: false,
    }
}

/// Nothing said.
const DEFAULT: Setting = setting("default", &[], &[]);

/// Every rank, and every thread of it, has a core.
const ROOMY_OXMPI: [Setting; 1] = [setting("bound", &["--bind-to", "core"], &[])];
/// Hydra leaves ranks unbound unless asked.
const ROOMY_MPICH: [Setting; 2] = [DEFAULT, setting("bound", &["-bind-to", "core"], &[])];
/// Pins by itself. Without a network in play its shared memory alone may be quicker.
const ROOMY_INTEL: [Setting; 2] = [DEFAULT, setting("shm", &[], &[("I_MPI_FABRICS", "shm")])];
/// Binds by itself. It counts cores, not hardware threads, and refuses a second rank on a core that
/// has two.
const ROOMY_OPEN: [Setting; 2] = [
    DEFAULT,
    Setting {
        last_resort: true,
        ..setting("hwthreads", &["--use-hwthread-cpus"], &[])
    },
];
const ROOMY_OTHER: [Setting; 1] = [DEFAULT];

/// Cores are shared.
const CROWDED_OXMPI: [Setting; 1] = [DEFAULT];
/// Progress that found nothing gives the core away: MPICH 5 does so only when throttled.
/// MPIR_CVAR_POLLS_BEFORE_YIELD and MPIR_CVAR_ENABLE_HEAVY_YIELD were tried and did not help ranks
/// of one thread.
const CROWDED_MPICH: [Setting; 2] = [
    DEFAULT,
    setting("throttle", &[], &[THROTTLE[0], THROTTLE[1]]),
];
const THROTTLE: [(&str, &str); 2] = [
    ("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1"),
    ("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "1"),
];
/// Its mode for many ranks per core, and its yielding by sleep, each unpinned.
const CROWDED_INTEL: [Setting; 3] = [
    DEFAULT,
    setting(
        "wait mode",
        &[],
        &[("I_MPI_WAIT_MODE", "1"), ("I_MPI_PIN", "0")],
    ),
    setting(
        "yield",
        &[],
        &[
            ("I_MPI_THREAD_YIELD", "3"),
            ("I_MPI_THREAD_SLEEP", "0"),
            ("I_MPI_PIN", "0"),
        ],
    ),
];
/// More ranks than cores are refused without the option, which also makes them yield when idle.
const CROWDED_OPEN: [Setting; 2] = [
    setting("default", &["--oversubscribe"], &[]),
    setting(
        "unbound",
        &[
            "--oversubscribe",
            "--bind-to",
            "none",
            "--mca",
            "mpi_yield_when_idle",
            "1",
        ],
        &[],
    ),
];

/// Between hosts OxMPI, too, runs with its defaults: binding would put the first ranks of hosts
/// that are parts of one machine on one core.
const FAR_OXMPI: [Setting; 1] = [DEFAULT];
/// By UCX and by libfabric, both told to use TCP and the interface: left alone, UCX takes hosts
/// that are parts of one machine for one host, and goes through memory. Ranks of one host use
/// MPICH's own shared memory in any case.
const FAR_MPICH: [Setting; 2] = [
    setting("ucx", &[], &[UCX[0], UCX[1], UCX[2]]),
    setting("ofi", &[], &[OFI[0], OFI[1], OFI[2]]),
];
const UCX: [(&str, &str); 3] = [
    ("MPIR_CVAR_CH4_NETMOD", "ucx"),
    ("UCX_TLS", "tcp,self"),
    ("UCX_NET_DEVICES", INTERFACE),
];
const OFI: [(&str, &str); 3] = [
    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
    ("FI_PROVIDER", "tcp"),
    ("FI_TCP_IFACE", INTERFACE),
];
/// The same, giving the core away when there is nothing to do.
const FAR_CROWDED_MPICH: [Setting; 3] = [
    FAR_MPICH[0],
    setting(
        "ucx, throttle",
        &[],
        &[UCX[0], UCX[1], UCX[2], THROTTLE[0], THROTTLE[1]],
    ),
    setting(
        "ofi, throttle",
        &[],
        &[OFI[0], OFI[1], OFI[2], THROTTLE[0], THROTTLE[1]],
    ),
];
/// By libfabric's TCP.
const FAR_INTEL: [Setting; 2] = [
    setting("tcp", &[], &[OFI[1], OFI[2], ("I_MPI_PIN", "0")]),
    setting(
        "wait mode",
        &[],
        &[OFI[1], OFI[2], ("I_MPI_PIN", "0"), ("I_MPI_WAIT_MODE", "1")],
    ),
];
/// Its TCP on the interface, its shared memory between ranks of one host. Unbound, because it would
/// bind the first rank of every host to the first core, which for hosts that are parts of one
/// machine is the same one.
const FAR_OPEN: [Setting; 1] = [setting("tcp", OPEN_TCP, &[])];
const OPEN_TCP: &[&str] = &[
    "--oversubscribe",
    "--bind-to",
    "none",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "tcp,sm,self",
    "--mca",
    "btl_tcp_if_include",
    INTERFACE,
];
/// The same, and giving the core away when there is nothing to do.
const FAR_CROWDED_OPEN: [Setting; 2] = [
    setting("tcp", OPEN_TCP, &[]),
    setting(
        "yield",
        OPEN_TCP,
        // What --mca mpi_yield_when_idle 1 would say.
        &[("OMPI_MCA_mpi_yield_when_idle", "1")],
    ),
];

/// What to run a library with between hosts or on this one, when its ranks have a core each, or
/// share cores.
pub fn settings(family: Family, far: bool, crowded: bool) -> &'static [Setting] {
    match (family, crowded) {
        (Family::Oxmpi, _) if far => &FAR_OXMPI,
        (Family::Mpich, false) if far => &FAR_MPICH,
        (Family::Mpich, true) if far => &FAR_CROWDED_MPICH,
        (Family::Intel, _) if far => &FAR_INTEL,
        (Family::OpenMpi, false) if far => &FAR_OPEN,
        (Family::OpenMpi, true) if far => &FAR_CROWDED_OPEN,
        (Family::Oxmpi, false) => &ROOMY_OXMPI,
        (Family::Mpich, false) => &ROOMY_MPICH,
        (Family::Intel, false) => &ROOMY_INTEL,
        (Family::OpenMpi, false) => &ROOMY_OPEN,
        (Family::Unknown, false) => &ROOMY_OTHER,
        (Family::Oxmpi, true) => &CROWDED_OXMPI,
        (Family::Mpich, true) => &CROWDED_MPICH,
        (Family::Intel, true) => &CROWDED_INTEL,
        (Family::OpenMpi, true) => &CROWDED_OPEN,
        (Family::Unknown, true) => &ROOMY_OTHER,
    }
}

/// Of the settings on this host those that are probably best, for jobs that are too slow to try
/// all: where cores are shared, the first after the defaults, and the defaults where they are not.
pub fn likely(family: Family, crowded: bool) -> &'static [Setting] {
    let all = settings(family, false, crowded);
    match all {
        [_, better, ..] if crowded && !better.last_resort => &all[1..2],
        [_, better, ..] if !better.last_resort => &all[..1],
        _ => all,
    }
}

/// OxMPI by one of its networks.
pub fn by_net(net: Net) -> Setting {
    match net {
        Net::Tcp => setting("tcp", &[], &[(net::VARIABLE, "tcp")]),
        Net::Udp => setting("udp", &[], &[(net::VARIABLE, "udp")]),
        Net::Ethernet => setting("ethernet", &[], &[(net::VARIABLE, "ethernet")]),
    }
}

/// Words that a family's launcher wants in any case.
pub fn always(family: Family, root: bool) -> &'static [&'static str] {
    match family {
        Family::OpenMpi if root => &["--allow-run-as-root"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_that_share_cores_are_also_run_with_better_settings_than_their_defaults() {
        for family in [Family::Mpich, Family::Intel, Family::OpenMpi] {
            let found = settings(family, false, true);
            assert!(found.len() > 1 && found[0].name == "default", "{family:?}");
            assert!(settings(family, true, true).len() > 1, "{family:?}");
        }
        assert_eq!(settings(Family::Oxmpi, false, true), [DEFAULT]);
        let names = |family, crowded| -> Vec<&str> {
            let found = likely(family, crowded).iter();
            found.map(|setting| setting.name).collect()
        };
        assert_eq!(names(Family::Oxmpi, true), ["default"]);
        assert_eq!(names(Family::Intel, true), ["wait mode"]);
        assert_eq!(names(Family::Mpich, false), ["default"]);
        // A setting for machines that refuse the defaults is needed in any case.
        assert_eq!(names(Family::OpenMpi, false), ["default", "hwthreads"]);
        assert_eq!(settings(Family::Oxmpi, true, false), [DEFAULT]);
    }

    #[test]
    fn a_network_is_named_to_the_ranks_as_it_is_in_the_table() {
        for net in Net::ALL {
            let found = by_net(net);
            assert_eq!(found.name, net.word());
            assert_eq!(found.environment, net.environment());
        }
    }
}
