//! Where ranks run: what the launcher reads.

use super::FOR_RANKS;
use crate::Kind;
use crate::setting::{Program, Setting, Topic, UsedWith, WhenUnset};

const HOSTS: Setting = Setting {
    layer: "launch",
    programs: &[Program::Launcher],
    topic: Topic::Hosts,
    ..FOR_RANKS
};

/// Hosts.
pub static HOST: Setting = Setting {
    name: "OXMPI_HOST",
    kind: Kind::List("hosts, and how many ranks each is meant for, such as a:2,b:2"),
    unset: WhenUnset::Words("this host"),
    option: Some("-host"),
    text: "The hosts of a job.",
    programs: &[Program::Launcher, Program::Tools],
    ..HOSTS
};

/// Hosts in a file.
pub static HOSTFILE: Setting = Setting {
    name: "OXMPI_HOSTFILE",
    kind: Kind::Path("a file"),
    unset: WhenUnset::Words("none"),
    option: Some("-hostfile"),
    text: "A file with a host of the job on every line.",
    used_with: Some(UsedWith {
        name: "OXMPI_HOST",
        values: &[],
    }),
    programs: &[Program::Launcher, Program::Tools],
    ..HOSTS
};

/// Hosts of a batch system.
pub static ALLOCATION: Setting = Setting {
    name: "OXMPI_ALLOCATION",
    kind: Kind::Switch,
    unset: WhenUnset::Value("on"),
    text: "Whether a job without hosts takes those that a batch system (Slurm, PBS, LSF, Grid \
           Engine, Flux) has given to the launcher.",
    programs: &[Program::Launcher, Program::Tools],
    ..HOSTS
};

/// Ranks per host.
pub static PPN: Setting = Setting {
    name: "OXMPI_PPN",
    kind: Kind::Number {
        min: 1,
        max: 65_535,
    },
    unset: WhenUnset::Words("the slots of each host"),
    option: Some("-ppn"),
    text: "Ranks for a host before the next has its turn.",
    ..HOSTS
};

/// The order of hosts.
pub static MAP_BY: Setting = Setting {
    name: "OXMPI_MAP_BY",
    kind: Kind::Text("node, slot, core or ppr:N:node"),
    unset: WhenUnset::Value("slot"),
    option: Some("-map-by"),
    text: "The order in which ranks go to hosts.",
    used_with: Some(UsedWith {
        name: "OXMPI_PPN",
        values: &[],
    }),
    ..HOSTS
};

/// The remote shell.
pub static LAUNCHER: Setting = Setting {
    name: "OXMPI_LAUNCHER",
    kind: Kind::Command("a command with {host} in it"),
    unset: WhenUnset::Words("ssh -o BatchMode=yes -x {host}"),
    option: Some("--launcher"),
    text: "How the launcher reaches other hosts.",
    ..HOSTS
};

/// Backtraces.
pub static BACKTRACE: Setting = Setting {
    name: "OXMPI_BACKTRACE",
    kind: Kind::Switch,
    unset: WhenUnset::Value("on"),
    option: Some("--no-backtrace"),
    text: "Whether the launcher prints the backtrace of a rank that crashes (SIGSEGV, SIGBUS, \
           SIGFPE, SIGILL, SIGABRT) and does not handle the signal itself.",
    layer: "join",
    topic: Topic::Hosts,
    ..FOR_RANKS
};

/// The error handler to begin with.
pub static INITIAL_ERRHANDLER: Setting = Setting {
    name: "OXMPI_INITIAL_ERRHANDLER",
    kind: Kind::Choice(&[
        "mpi_errors_are_fatal",
        "mpi_errors_abort",
        "mpi_errors_return",
    ]),
    unset: WhenUnset::Value("mpi_errors_are_fatal"),
    option: Some("--initial-errhandler"),
    text: "The error handler of MPI_COMM_WORLD and MPI_COMM_SELF until the program sets another, \
           and of errors before MPI_Init and after MPI_Finalize.",
    layer: "abi",
    topic: Topic::Hosts,
    ..FOR_RANKS
};

/// The program on other hosts.
pub static AGENT: Setting = Setting {
    name: "OXMPI_AGENT",
    kind: Kind::Path("a file on the other hosts"),
    unset: WhenUnset::Words("oxmpi at the path it has here"),
    option: Some("--agent"),
    text: "Where oxmpi is on the other hosts.",
    ..HOSTS
};

/// The width of the tree of agents.
pub static AGENT_FANOUT: Setting = Setting {
    name: "OXMPI_AGENT_FANOUT",
    kind: Kind::Number { min: 1, max: 32 },
    unset: WhenUnset::Value("32"),
    text: "Other hosts that one process of the launcher reaches itself; the others are reached \
           through these.",
    ..HOSTS
};
