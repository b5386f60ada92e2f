//! A whole job in one process, one thread and one seed: the real protocol and matching code of up
//! to a thousand ranks on simulated links.
//!
//! What is real: `engine::protocol` with `matching` behind it, every header through `wire` as
//! bytes, the collectives' schedules with their executor, and the batches, services and lock words
//! of windows. What is simulated: the links between
//! ranks ([`fabric`]), the memory of the ranks, time, when each rank runs ([`world`]), and death.
//! What runs on it: random point-to-point programs ([`point`]), collectives ([`collective`]) and
//! programs with windows ([`window`]), all held to an oracle.
//!
//! Below that, and apart from it, the PM protocol runs on a network that loses, doubles, reorders
//! and damages frames: [`link`].
//!
//! A run is a pure function of its [`Config`]. A run that fails is a [`Failed`], whose text ends
//! with the command that repeats it: `cargo run -p oxmpi-sim -- --seed N --ranks M …`.
#![forbid(unsafe_code)]

pub mod collective;
pub mod config;
pub mod fabric;
pub mod link;
pub mod node;
pub mod point;
pub mod random;
pub mod window;
pub mod world;

pub use config::{Config, Failed, Kind, Report, run};
