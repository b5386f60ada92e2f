//! The benchmarks by name: the launcher side, where figures meet their floors.
//!
//! A suite is a function from a `Session` to rows. It decides what to measure, which bare mechanism
//! stands beside it and what it should reach; the measuring itself is in `rank` (with OxMPI) and
//! `floor` (without).

mod collectives;
mod driver;
mod floors;
mod idle;
mod matching;
mod neighbour;
mod network;
mod onesided;
mod point;
pub(crate) mod progress;
mod startup;
mod typed;

use crate::figure::Row;
use crate::session::{BenchError, Session};

/// A benchmark that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Suite {
    /// On the command line.
    pub name: &'static str,
    /// In the help.
    pub about: &'static str,
    /// Runs only when it is asked for by name: it needs hosts, or hundreds of processes.
    pub by_name: bool,
    /// Measures.
    pub run: fn(&mut Session) -> Result<Vec<Row>, BenchError>,
}

/// All of them, in the order in which they run.
pub const SUITES: [Suite; 16] = [
    Suite {
        name: "floor",
        about: "the bare mechanisms of this machine",
        by_name: false,
        run: floors::run,
    },
    Suite {
        name: "latency",
        about: "one way of a ping-pong, 2 ranks",
        by_name: false,
        run: point::latency,
    },
    Suite {
        name: "bandwidth",
        about: "windows of messages one way, 2 ranks",
        by_name: false,
        run: point::bandwidth,
    },
    Suite {
        name: "zerocopy",
        about: "the same out of port buffers: one copy, or none",
        by_name: false,
        run: point::zero_copy,
    },
    Suite {
        name: "bidirectional",
        about: "windows of messages both ways at once",
        by_name: false,
        run: point::bidirectional,
    },
    Suite {
        name: "rate",
        about: "small messages per second, windows of 64",
        by_name: false,
        run: point::rate,
    },
    Suite {
        name: "typed",
        about: "one way of scattered doubles, beside packing by hand",
        by_name: false,
        run: typed::run,
    },
    Suite {
        name: "driver",
        about: "ping-pong with the driver on and off",
        by_name: false,
        run: driver::run,
    },
    Suite {
        name: "matching",
        about: "cost of entries that do not match",
        by_name: false,
        run: matching::run,
    },
    Suite {
        name: "collectives",
        about: "barrier, bcast, allreduce, alltoall … on 2 to 16 ranks",
        by_name: false,
        run: collectives::run,
    },
    Suite {
        name: "onesided",
        about: "windows: put, get, fetch, lock, fence beside bare memory and messages (by name only)",
        by_name: true,
        run: onesided::run,
    },
    Suite {
        name: "overlap",
        about: "how much of a transfer happens while a rank computes",
        by_name: false,
        run: idle::overlap,
    },
    Suite {
        name: "wait",
        about: "CPU used while blocked, ranks that share a core",
        by_name: false,
        run: idle::wait,
    },
    Suite {
        name: "startup",
        about: "start and end of 2, 16 and 64 ranks",
        by_name: false,
        run: startup::run,
    },
    Suite {
        name: "network",
        about: "2 ranks on two hosts, beside a bare connection between them (by name only)",
        by_name: true,
        run: network::run,
    },
    Suite {
        name: "progress",
        about: "the network's handler beside a plain loop over all sockets (by name only)",
        by_name: true,
        run: progress::run,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Net;

    #[test]
    fn the_steps_of_every_benchmark_are_known_before_it_runs() {
        let session = Session::new(true, Net::ALL.to_vec());
        for suite in SUITES {
            assert!(session.rehearse(suite.run) > 0, "{}", suite.name);
        }
        let latency = SUITES.iter().find(|suite| suite.name == "latency").unwrap();
        let sizes = 7;
        assert_eq!(
            session.rehearse(latency.run),
            (sizes * session.repetitions) as u64
        );
        assert!(
            session
                .notes
                .iter()
                .all(|note| note.contains("CPU") || note.contains("idle"))
        );
    }
}
