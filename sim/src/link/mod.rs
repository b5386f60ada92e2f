//! The PM protocol on a simulated network: the real `oxmpi_link::Link` at both ends of every
//! conversation, frames as bytes through `oxmpi_wire`.
//!
//! [`scenario`] draws a small network and its conversations from a seed, [`network`] carries the
//! frames and harms them, [`world`] lets it all happen, [`end`] and [`content`] hold each end to
//! the truth: every message delivered once, intact and in order, or the link gives up after the
//! dead-peer time and never before; bounded memory, bounded time, bounded repeats. [`bulk`]
//! measures long transfers: the share of flows at a bottleneck, and the table of throughput over
//! loss in `docs/link.md` ([`table`]).
//!
//! A run is a pure function of its [`Config`]; one that fails says how to repeat it: `cargo run -p
//! oxmpi-sim -- link --seed N`.

pub mod agenda;
pub mod bulk;
pub mod content;
pub mod end;
pub mod network;
pub mod report;
pub mod scenario;
pub mod table;
mod verdict;
pub mod world;

use crate::config::caught;
use report::Report;
use scenario::Scenario;
use world::World;

/// Everything that determines a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Where all chance comes from.
    pub seed: u64,
    /// Number of nodes, 2 to 256; drawn from the seed if none is given.
    pub nodes: Option<u32>,
    /// Shows the scenario and every frame on standard error.
    pub trace: bool,
}

impl Config {
    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let nodes = self
            .nodes
            .map_or(String::new(), |nodes| format!(" --nodes {nodes}"));
        format!("cargo run -p oxmpi-sim -- link --seed {}{nodes}", self.seed)
    }
}

/// A run that found something.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}\n  seed {}; to repeat: {}", config.seed, config.command())]
pub struct Failed {
    /// The run.
    pub config: Config,
    /// What was found.
    pub what: String,
}

/// Runs once. Panics inside the protocol become failures, so that they too tell their seed.
pub fn run(config: Config) -> Result<Report, Failed> {
    let outcome = caught(|| {
        let scenario = Scenario::draw(config.seed, config.nodes);
        if config.trace {
            eprintln!("{scenario:#?}");
        }
        let mut world = World::new(scenario);
        world.trace = config.trace;
        world.run()
    });
    outcome.map_err(|what| Failed { config, what })
}
