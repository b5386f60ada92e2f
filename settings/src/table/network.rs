//! The network between hosts, and how a rank finds the launcher that started it.

use super::FOR_RANKS;
use crate::Kind;
use crate::setting::{Setting, Topic, UsedWith, WhenUnset};

const NETWORK: Setting = Setting {
    layer: "net",
    topic: Topic::Network,
    ..FOR_RANKS
};

/// Frames exist on every network but TCP.
const WITH_FRAMES: Option<UsedWith> = Some(UsedWith {
    name: "OXMPI_NET",
    values: &["auto", "ethernet", "xdp", "pm-kernel", "udp"],
});

/// Raw Ethernet.
const WITH_ETHERNET: Option<UsedWith> = Some(UsedWith {
    name: "OXMPI_NET",
    values: &["auto", "ethernet", "xdp"],
});

/// The network between hosts.
pub static NET: Setting = Setting {
    name: "OXMPI_NET",
    kind: Kind::Choice(&["auto", "ethernet", "xdp", "pm-kernel", "udp", "tcp"]),
    unset: WhenUnset::Value("auto"),
    option: Some("--net"),
    text: "The network between hosts; `auto` is the fastest that works for all of them.",
    ..NETWORK
};

/// What is used.
pub static NET_INCLUDE: Setting = Setting {
    name: "OXMPI_NET_INCLUDE",
    kind: Kind::List("networks such as 10.1.0.0/16, addresses and interfaces such as eth0"),
    unset: WhenUnset::Words("all"),
    option: Some("--net-include"),
    text: "Only these are used between hosts.",
    ..NETWORK
};

/// What is not used.
pub static NET_EXCLUDE: Setting = Setting {
    name: "OXMPI_NET_EXCLUDE",
    kind: Kind::List("networks such as 10.1.0.0/16, addresses and interfaces such as eth0"),
    unset: WhenUnset::Words("none"),
    option: Some("--net-exclude"),
    text: "These are never used between hosts.",
    ..NETWORK
};

/// TCP and UDP ports.
pub static PORT_RANGE: Setting = Setting {
    name: "OXMPI_PORT_RANGE",
    kind: Kind::Text("two ports from 1 to 65535 such as 5000-5100, or one port"),
    unset: WhenUnset::Words("any free port"),
    option: Some("--port-range"),
    text: "TCP and UDP ports that ranks listen on, one for each rank of a host.",
    ..NETWORK
};

/// A second rail.
pub static NET_RAILS: Setting = Setting {
    name: "OXMPI_NET_RAILS",
    kind: Kind::Choice(&["on", "udp", "off"]),
    unset: WhenUnset::Value("on"),
    text: "Messages longer than a frame go by UDP beside raw Ethernet; with `on`, from 12 KiB on by TCP beside either.",
    used_with: WITH_FRAMES,
    ..NETWORK
};

/// Interfaces that are used as one.
pub static NET_TRUNK: Setting = Setting {
    name: "OXMPI_NET_TRUNK",
    kind: Kind::List("Ethernet interfaces such as eth0,eth1"),
    unset: WhenUnset::Words("the best interface"),
    text: "Interfaces that raw Ethernet uses as one; every host lists them in the same order.",
    used_with: WITH_ETHERNET,
    ..NETWORK
};

/// Checksums of frames.
pub static NET_CHECK: Setting = Setting {
    name: "OXMPI_NET_CHECK",
    unset: WhenUnset::Words("off, and on where frames are damaged on purpose"),
    text: "Every frame carries a checksum over header and payload.",
    used_with: WITH_FRAMES,
    ..NETWORK
};

/// Encryption.
pub static ENCRYPT: Setting = Setting {
    name: "OXMPI_ENCRYPT",
    unset: WhenUnset::Value("off"),
    option: Some("--encrypt"),
    text: "Everything that processes send to other hosts is encrypted and authenticated.",
    ..NETWORK
};

/// A bad network.
pub static NET_FAULT: Setting = Setting {
    name: "OXMPI_NET_FAULT",
    kind: Kind::List("faults such as loss=1%,duplicate=1%,reorder=1%,delay=200us,seed=7"),
    unset: WhenUnset::Words("none"),
    option: Some("--net-fault"),
    text: "Frames are treated as a bad network would.",
    used_with: WITH_FRAMES,
    ..NETWORK
};

/// Captures.
pub static NET_PCAP: Setting = Setting {
    name: "OXMPI_NET_PCAP",
    kind: Kind::Path("the beginning of a file's name"),
    unset: WhenUnset::Words("no captures"),
    option: Some("--net-pcap"),
    text: "The frames of rank R are recorded in PREFIX.R.DEVICE.pcapng.",
    used_with: WITH_FRAMES,
    ..NETWORK
};

/// Traces.
pub static NET_TRACE: Setting = Setting {
    name: "OXMPI_NET_TRACE",
    unset: WhenUnset::Value("off"),
    text: "Every frame is told on standard error.",
    used_with: WITH_FRAMES,
    ..NETWORK
};

/// A foreign launcher's protocol.
pub static PMI: Setting = Setting {
    name: "OXMPI_PMI",
    kind: Kind::Choice(&["auto", "pmi1", "pmi2", "pmix"]),
    unset: WhenUnset::Value("auto"),
    text: "The protocol to speak where another launcher offers several.",
    layer: "pmi",
    topic: Topic::Joining,
    ..FOR_RANKS
};

/// The PMIx library.
pub static LIBPMIX: Setting = Setting {
    name: "OXMPI_LIBPMIX",
    kind: Kind::Path("a file"),
    unset: WhenUnset::Words("libpmix.so.2 of the launcher, or of the system"),
    text: "The libpmix to load, and no other.",
    layer: "pmi",
    topic: Topic::Joining,
    ..FOR_RANKS
};
