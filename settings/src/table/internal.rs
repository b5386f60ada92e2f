//! What the launcher hands down to its ranks. A user does not set these.

use super::FOR_RANKS;
use crate::Kind;
use crate::setting::{SetBy, Setting, Topic, WhenUnset};

const HANDED_DOWN: Setting = Setting {
    layer: "launch",
    set_by: SetBy::Launcher,
    topic: Topic::Internal,
    unset: WhenUnset::Words("no launcher of OxMPI"),
    ..FOR_RANKS
};

/// A rank's number.
pub static RANK: Setting = Setting {
    name: "OXMPI_RANK",
    kind: Kind::Number {
        min: 0,
        max: 65_534,
    },
    text: "The number of this process in its job, from 0.",
    layer: "launch, pmi",
    ..HANDED_DOWN
};

/// A job's size.
pub static SIZE: Setting = Setting {
    name: "OXMPI_SIZE",
    kind: Kind::Number {
        min: 1,
        max: 65_535,
    },
    text: "The number of processes in the job.",
    ..HANDED_DOWN
};

/// A rank's number on its host.
pub static LOCAL_RANK: Setting = Setting {
    name: "OXMPI_LOCAL_RANK",
    kind: Kind::Number {
        min: 0,
        max: 65_534,
    },
    text: "The number of this process among those of the job on its host, from 0.",
    ..HANDED_DOWN
};

/// The ranks of a host.
pub static LOCAL_SIZE: Setting = Setting {
    name: "OXMPI_LOCAL_SIZE",
    kind: Kind::Number {
        min: 1,
        max: 65_535,
    },
    text: "The number of processes of the job on its host.",
    ..HANDED_DOWN
};

/// Which of the command line's programs.
pub static APPNUM: Setting = Setting {
    name: "OXMPI_APPNUM",
    kind: Kind::Number {
        min: 0,
        max: 65_534,
    },
    text: "The number of the command line's program that this process executes, from 0.",
    layer: "launch, join",
    ..HANDED_DOWN
};

/// A host's shared memory.
pub static SEGMENT: Setting = Setting {
    name: "OXMPI_SEGMENT",
    kind: Kind::Number {
        min: 0,
        max: i32::MAX as u64,
    },
    text: "The descriptor of the shared memory of the host's ranks.",
    ..HANDED_DOWN
};

/// Where a crash is told.
pub static CRASH_SOCKET: Setting = Setting {
    name: "OXMPI_CRASH_SOCKET",
    kind: Kind::Number {
        min: 0,
        max: i32::MAX as u64,
    },
    text: "The descriptor of the socket by which a rank that crashes sends its stack.",
    ..HANDED_DOWN
};

/// Who has joined.
pub static JOINED: Setting = Setting {
    name: "OXMPI_JOINED",
    kind: Kind::Text("a process, and what its launcher told it"),
    text: "A rank sets it when it joins its job; a program that it starts runs alone then.",
    layer: "join",
    unset: WhenUnset::Words("no rank has started this process"),
    ..HANDED_DOWN
};

/// Where settings came from.
pub static FROM_OPTIONS: Setting = Setting {
    name: "OXMPI_FROM_OPTIONS",
    kind: Kind::List("names of settings"),
    text: "The settings that options of the launcher gave, for `oxmpi info --settings`.",
    layer: "settings",
    ..HANDED_DOWN
};
