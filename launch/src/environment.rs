//! The environment of a rank: what its host gives it, what the head passes on, what the job says.
//!
//! On the launcher's own host ranks inherit the launcher's environment. On another host they get
//! what the remote shell gives, under what the head has, except for variables that describe a host
//! or a login and would be wrong elsewhere ([`is_of_a_host`]). Variables of other launchers never
//! reach a rank.

use std::ffi::{OsStr, OsString};

/// Variables, each name once.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// What belongs to one host or one login there. docs/hosts.md lists them.
const OF_A_HOST: [&str; 20] = [
    "HOSTNAME",
    "HOST",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "WINDOWID",
    "DBUS_SESSION_BUS_ADDRESS",
    "MAIL",
    "TTY",
    "_",
];
/// The same, by the beginning of their names.
const OF_A_LOGIN: [&str; 3] = ["SSH_", "XDG_", "SUDO_"];
/// What other launchers tell their ranks: the ranks of this job are none of theirs.
const OF_LAUNCHERS: [&str; 6] = [
    "PMI_",
    "PMI2_",
    "PMIX_",
    "HYDI_",
    "OMPI_COMM_WORLD_",
    "MPI_LOCAL",
];

/// What tells a rank the size of its job, and how many ranks of it this host has. Scripts choose
/// graphics cards and files by such variables, under the names that Open MPI and Hydra use.
pub(crate) fn of_a_job(size: u32, local: u32) -> [(&'static str, u32); 6] {
    [
        (oxmpi_settings::SIZE.name, size),
        (oxmpi_settings::LOCAL_SIZE.name, local),
        ("PMI_SIZE", size),
        ("OMPI_COMM_WORLD_SIZE", size),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local),
        ("MPI_LOCALNRANKS", local),
    ]
}

/// What tells a rank its number, in the job and on its host.
pub(crate) fn of_a_rank(rank: u32, local: u32) -> [(&'static str, u32); 7] {
    [
        (oxmpi_settings::RANK.name, rank),
        (oxmpi_settings::LOCAL_RANK.name, local),
        ("PMI_RANK", rank),
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local),
        ("OMPI_COMM_WORLD_NODE_RANK", local),
        ("MPI_LOCALRANKID", local),
    ]
}

/// What a rank on this host inherits: everything but the words of launchers.
pub(crate) fn own() -> Variables {
    std::env::vars_os()
        .filter(|(name, _)| !is_of_a_launcher(name))
        .collect()
}

/// What the head passes on to other hosts.
pub(crate) fn passed_on() -> Variables {
    let mut variables = own();
    variables.retain(|(name, _)| !is_of_a_host(name));
    variables
}

/// Puts `over` over `under`.
pub(crate) fn overlay<'a>(
    under: &mut Variables,
    over: impl IntoIterator<Item = &'a (OsString, OsString)>,
) {
    for (name, value) in over {
        match under.iter_mut().find(|known| known.0 == *name) {
            Some(known) => known.1.clone_from(value),
            None => under.push((name.clone(), value.clone())),
        }
    }
}

fn is_of_a_host(name: &OsStr) -> bool {
    OF_A_HOST.iter().any(|known| name == *known) || begins(name, &OF_A_LOGIN)
}

fn is_of_a_launcher(name: &OsStr) -> bool {
    name.to_str().is_some_and(oxmpi_settings::is_handed_down) || begins(name, &OF_LAUNCHERS)
}

fn begins(name: &OsStr, prefixes: &[&str]) -> bool {
    let bytes = name.as_encoded_bytes();
    prefixes
        .iter()
        .any(|prefix| bytes.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_a_host_stays_there() {
        for name in [
            "HOSTNAME",
            "TMPDIR",
            "SSH_AUTH_SOCK",
            "XDG_RUNTIME_DIR",
            "DISPLAY",
            "HOME",
        ] {
            assert!(is_of_a_host(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "LD_LIBRARY_PATH",
            "OMP_NUM_THREADS",
            "LANG",
            "OXMPI_WAIT",
            "HOSTNAMES",
        ] {
            assert!(!is_of_a_host(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn words_of_other_launchers_reach_nobody() {
        for name in ["PMI_RANK", "PMI_PORT", "PMIX_NAMESPACE", "OXMPI_RANK"] {
            assert!(is_of_a_launcher(OsStr::new(name)), "{name}");
        }
        assert!(!is_of_a_launcher(OsStr::new("OXMPI_PORT_RANGE")));
        assert!(!is_of_a_launcher(OsStr::new("PMI")));
    }

    #[test]
    fn the_last_word_counts() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut variables = vec![pair("A", "1"), pair("B", "2")];
        overlay(
            &mut variables,
            &[pair("B", "3"), pair("C", "4"), pair("C", "5")],
        );
        assert_eq!(variables, [pair("A", "1"), pair("B", "3"), pair("C", "5")]);
    }
}
