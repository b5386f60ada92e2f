//! What can go wrong on a channel.

use std::fmt;

use oxmpi_join::WireUpError;
use thiserror::Error;

/// Why a call on a [`super::Channel`] failed.
#[derive(Error)]
pub enum PmError {
    /// The process cannot join the others of its job.
    #[error(transparent)]
    WireUp(#[from] WireUpError),
    /// The job's network is another one.
    #[error(
        "node {node}: the job's hosts talk by {found}, and a channel needs the PM network: start the job with --net udp or --net ethernet; `oxmpi info --net` says what works here"
    )]
    OtherNetwork {
        /// This process.
        node: u32,
        /// What the hosts talk by.
        found: String,
    },
    /// The job has no network.
    #[error(
        "all {nodes} processes of the job are on one host and would share memory, and a channel leads through the network: start the job with -x OXMPI_SHARED_MEMORY=off"
    )]
    OneHost {
        /// How many there are.
        nodes: u32,
    },
    /// A process without others cannot even have an endpoint.
    #[error("a process without others cannot open a channel: {what}")]
    Alone {
        /// Why not.
        what: String,
    },
    /// There is no such node.
    #[error("node {node} does not exist: this job has nodes 0 to {}", .nodes.saturating_sub(1))]
    NoSuchNode {
        /// What was asked for.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// Too much waits already.
    #[error(
        "{waiting} messages wait until the network takes them: call receive() now and then, and try again"
    )]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// A node is gone.
    #[error("node {node} on host {host} cannot be reached any more: {what}")]
    Lost {
        /// Which.
        node: u32,
        /// Its host.
        host: String,
        /// What happened.
        what: String,
    },
    /// A node has closed its channel.
    #[error("node {node} has closed its channel and takes no more messages")]
    Closed {
        /// Which.
        node: u32,
    },
    /// A node has no such region, or a shorter one.
    #[error(
        "node {node} refuses {bytes} bytes of region {region}: it has not registered it, or a shorter one; regions are numbered in the order in which a node registers them"
    )]
    Refused {
        /// Which.
        node: u32,
        /// The region's number.
        region: u32,
        /// How many were to be written or read.
        bytes: u64,
    },
}

/// The text: what a `main` that returns the error shows.
impl fmt::Debug for PmError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
