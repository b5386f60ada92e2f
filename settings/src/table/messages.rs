//! How ranks wait and move messages.

use super::FOR_RANKS;
use crate::Kind;
use crate::setting::{Setting, UsedWith, WhenUnset};

/// How a thread waits.
pub static WAIT: Setting = Setting {
    name: "OXMPI_WAIT",
    kind: Kind::Choice(&["auto", "spin", "yield", "sleep"]),
    unset: WhenUnset::Value("auto"),
    text: "How a thread waits for a message; `auto` decides by ranks and CPUs.",
    layer: "engine",
    ..FOR_RANKS
};

/// How long a thread spins or yields before it sleeps.
pub static SPIN_US: Setting = Setting {
    name: "OXMPI_SPIN_US",
    kind: Kind::Duration,
    unset: WhenUnset::Value("500"),
    text: "How long a waiting thread spins or yields before it sleeps.",
    used_with: Some(UsedWith {
        name: "OXMPI_WAIT",
        values: &["auto"],
    }),
    layer: "engine",
    ..FOR_RANKS
};

/// A thread that moves messages while the application computes.
pub static DRIVER: Setting = Setting {
    name: "OXMPI_DRIVER",
    text: "A thread of the library moves messages while the application computes.",
    layer: "engine",
    ..FOR_RANKS
};

/// How TCP connections are read.
pub static PROGRESS: Setting = Setting {
    name: "OXMPI_PROGRESS",
    kind: Kind::Choice(&["auto", "user", "sock", "kernel", "uring", "bpf"]),
    unset: WhenUnset::Value("auto"),
    option: Some("--progress"),
    text: "Who reads TCP connections: the library (`user`, what `auto` takes), a plain loop to \
           compare with, the driver /dev/o2g, io_uring, or BPF programs on the sockets.",
    layer: "net, engine",
    ..FOR_RANKS
};

/// The driver's room for messages that no receive awaits.
pub static DUMP_BYTES: Setting = Setting {
    name: "OXMPI_DUMP_BYTES",
    kind: Kind::Size {
        min: 64 << 10,
        max: 1 << 30,
        power_of_two: true,
    },
    unset: WhenUnset::Value("8388608"),
    text: "The driver's room for messages that no receive awaits yet, and that of BPF programs.",
    used_with: Some(UsedWith {
        name: "OXMPI_PROGRESS",
        values: &["kernel", "bpf"],
    }),
    layer: "net",
    ..FOR_RANKS
};

/// Shared memory between ranks of one host.
pub static SHARED_MEMORY: Setting = Setting {
    name: "OXMPI_SHARED_MEMORY",
    former: &["OXMPI_PORTS"],
    text: "Ranks of one host talk through shared memory; `off`: by the network, as if each were on \
           a host of its own.",
    layer: "launch",
    ..FOR_RANKS
};

/// Long messages in one copy.
pub static SINGLE_COPY: Setting = Setting {
    name: "OXMPI_SINGLE_COPY",
    text: "Long messages may be read out of the sender's memory, where the kernel permits it and \
           it measures faster.",
    layer: "engine",
    ..FOR_RANKS
};

/// The longest eager message.
pub static EAGER_BYTES: Setting = Setting {
    name: "OXMPI_EAGER_BYTES",
    kind: Kind::Size {
        min: 0,
        max: u64::MAX,
        power_of_two: false,
    },
    unset: WhenUnset::Words("64K in shared memory, and as the network likes it between hosts"),
    text: "The longest message that is sent before a receive asks for it.",
    layer: "engine",
    ..FOR_RANKS
};

/// Boards for small collectives.
pub static BOARDS: Setting = Setting {
    name: "OXMPI_BOARDS",
    text: "Small collectives of one host meet on a board in shared memory instead of sending \
           messages.",
    layer: "engine",
    ..FOR_RANKS
};
