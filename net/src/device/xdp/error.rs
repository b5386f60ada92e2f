//! Why AF_XDP cannot be had, in words that say what to do about it; and whether it can be had at
//! all.

use std::io;

use super::QUEUE;
use super::socket::XdpSocket;
use crate::bpf::capabilities::{self, CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW};
use crate::device::ethernet::EthernetError;

/// Why there is no XDP device.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// Too few capabilities.
    #[error(
        "AF_XDP needs the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, of which this process lacks {missing}: grant them with `sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep {program}`, \
         or use OXMPI_NET=ethernet, which needs CAP_NET_RAW only, or OXMPI_NET=udp, which needs none"
    )]
    NotPermitted {
        /// Their names.
        missing: String,
        /// The file that is being executed.
        program: String,
    },
    /// The kernel has no such sockets, or a sandbox hides them.
    #[error("this system has no XDP sockets (AF_XDP: {source}); use OXMPI_NET=ethernet or udp")]
    NoXdpSockets {
        /// The kernel's answer.
        source: io::Error,
    },
    /// No such interface, or one of another kind.
    #[error(transparent)]
    Interface(#[from] EthernetError),
    /// Somebody else has it.
    #[error(
        "interface {interface} is taken: another process receives by AF_XDP from its queue {QUEUE} or has an XDP program on it (`ip link show {interface}` names it); \
         one process of a host can have it, several ranks per host use OXMPI_NET=ethernet"
    )]
    Busy {
        /// Its name.
        interface: String,
    },
    /// No memory to be had.
    #[error(
        "the kernel does not let this process have {bytes} bytes for packets of interface {interface}: {source}; raise the limit on locked memory (`ulimit -l`)"
    )]
    Memory {
        /// The interface's name.
        interface: String,
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refuses something else.
    #[error(
        "cannot {what} of {interface} for AF_XDP: {source}; OXMPI_NET=ethernet needs none of it"
    )]
    System {
        /// What was to be done.
        what: &'static str,
        /// The interface's name.
        interface: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Whether this process may use AF_XDP at all; if not, the error says what is missing.
pub fn permitted() -> Result<(), XdpError> {
    match capabilities::missing(&[CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF])[..] {
        [] => XdpSocket::open().map(drop).map_err(no_socket),
        ref missing => Err(not_permitted(missing)),
    }
}

fn not_permitted(missing: &[&str]) -> XdpError {
    XdpError::NotPermitted {
        missing: missing.join(", "),
        program: std::env::current_exe()
            .map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string()),
    }
}

pub(super) fn no_socket(source: io::Error) -> XdpError {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => not_permitted(&["CAP_NET_RAW"]),
        _ => XdpError::NoXdpSockets { source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let error = XdpError::NotPermitted {
            missing: "CAP_NET_ADMIN, CAP_BPF".to_owned(),
            program: "/home/me/is".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "AF_XDP needs the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, of which this process lacks CAP_NET_ADMIN, CAP_BPF: grant them with \
             `sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep /home/me/is`, or use OXMPI_NET=ethernet, which needs CAP_NET_RAW only, or OXMPI_NET=udp, which needs none"
        );
        let error = XdpError::Busy {
            interface: "eth0".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "interface eth0 is taken: another process receives by AF_XDP from its queue 0 or has an XDP program on it (`ip link show eth0` names it); \
             one process of a host can have it, several ranks per host use OXMPI_NET=ethernet"
        );
    }
}
