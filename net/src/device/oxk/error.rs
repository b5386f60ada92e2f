//! Why PM in the kernel cannot be had, in words that say what to do about it.

use std::io;

use super::PATH;

/// Why there is no device of /dev/oxk-pm.
#[derive(Debug, thiserror::Error)]
pub enum OxkError {
    /// The modules are not loaded.
    #[error(
        "{PATH} does not exist: load the modules oxk.ko and oxk_pm.ko on this host (`insmod oxk.ko; insmod oxk_pm.ko mode=0666`, see docs/oxk.md), \
         or use OXMPI_NET=ethernet or udp, which need no module"
    )]
    Missing,
    /// Somebody else's device.
    #[error(
        "this process may not open {PATH} ({source}): `sudo chmod 666 {PATH}` lets every user, as does loading the module with `mode=0666`"
    )]
    NotPermitted {
        /// The kernel's answer.
        source: io::Error,
    },
    /// No key can be given to the kernel.
    #[error(
        "the kernel does not take the job's key (add_key: {source}); sandboxes such as those of container engines forbid the call unless they are told otherwise"
    )]
    Key {
        /// The kernel's answer.
        source: io::Error,
    },
    /// No card.
    #[error("interface {interface} is no Ethernet card that is up, which PM in the kernel needs")]
    NotEthernet {
        /// Its name.
        interface: String,
    },
    /// No port.
    #[error(
        "no TCP port to meet other kernels at {ip}: {source}; with --net pm-kernel every rank of a host needs two ports of OXMPI_PORT_RANGE (--port-range)"
    )]
    Port {
        /// Where.
        ip: std::net::IpAddr,
        /// The last answer.
        source: io::Error,
    },
    /// The user has enough of them.
    #[error(
        "the user of this process has as many open {PATH} as a user may have (64); fewer ranks per host, or CAP_SYS_RESOURCE, help"
    )]
    TooMany,
    /// More processes than a port has peers.
    #[error(
        "--net pm-kernel reaches {most} processes of other hosts, and this job has {others}; use OXMPI_NET=ethernet or udp"
    )]
    TooLarge {
        /// Of other processes.
        others: usize,
        /// How many there may be.
        most: usize,
    },
    /// The kernel refuses something else.
    #[error("cannot {what} {PATH} for interface {interface}: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The interface's name.
        interface: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl OxkError {
    pub(super) fn of_opening(source: io::Error) -> OxkError {
        match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => OxkError::Missing,
            _ => OxkError::NotPermitted { source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let text = |number| OxkError::of_opening(io::Error::from_raw_os_error(number)).to_string();
        assert_eq!(
            text(libc::ENOENT),
            "/dev/oxk-pm does not exist: load the modules oxk.ko and oxk_pm.ko on this host (`insmod oxk.ko; insmod oxk_pm.ko mode=0666`, see docs/oxk.md), \
             or use OXMPI_NET=ethernet or udp, which need no module"
        );
        assert_eq!(
            text(libc::EACCES),
            "this process may not open /dev/oxk-pm (Permission denied (os error 13)): `sudo chmod 666 /dev/oxk-pm` lets every user, as does loading the module with `mode=0666`"
        );
    }
}
