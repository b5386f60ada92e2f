//! The benchmarks by name: the launcher side, where figures meet their floors.
//!
//! A suite is a function from a `Session` to rows. It decides what to measure, which bare mechanism stands beside it and
//! what it should reach; the measuring itself is in `rank` (with OxMPI) and `floor` (without).

mod collectives;
mod driver;
mod floors;
mod idle;
mod matching;
mod point;
mod startup;

use crate::figure::Row;
use crate::session::{BenchError, Session};

/// A benchmark that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Suite {
    /// On the command line.
    pub name: &'static str,
    /// In the help.
    pub about: &'static str,
    /// Measures.
    pub run: fn(&mut Session) -> Result<Vec<Row>, BenchError>,
}

/// All of them, in the order in which they run.
pub const SUITES: [Suite; 12] = [
    Suite {
        name: "floor",
        about: "the bare mechanisms of this machine",
        run: floors::run,
    },
    Suite {
        name: "latency",
        about: "one way of a ping-pong, 2 ranks",
        run: point::latency,
    },
    Suite {
        name: "bandwidth",
        about: "windows of messages one way, 2 ranks",
        run: point::bandwidth,
    },
    Suite {
        name: "zerocopy",
        about: "the same out of port buffers: one copy, or none",
        run: point::zero_copy,
    },
    Suite {
        name: "bidirectional",
        about: "windows of messages both ways at once",
        run: point::bidirectional,
    },
    Suite {
        name: "rate",
        about: "small messages per second, windows of 64",
        run: point::rate,
    },
    Suite {
        name: "driver",
        about: "ping-pong with the driver on and off",
        run: driver::run,
    },
    Suite {
        name: "matching",
        about: "cost of entries that do not match",
        run: matching::run,
    },
    Suite {
        name: "collectives",
        about: "barrier, bcast, allreduce, alltoall … on 2 to 16 ranks",
        run: collectives::run,
    },
    Suite {
        name: "overlap",
        about: "how much of a transfer happens while a rank computes",
        run: idle::overlap,
    },
    Suite {
        name: "wait",
        about: "CPU used while blocked, ranks that share a core",
        run: idle::wait,
    },
    Suite {
        name: "startup",
        about: "start and end of 2, 16 and 64 ranks",
        run: startup::run,
    },
];
