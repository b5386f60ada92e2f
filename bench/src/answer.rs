//! What a job of ranks gives back: rank 0's figures, or why there are none.

use oxmpi_launch::LaunchError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What rank 0 says at the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The figures, in the probe's order and unit.
    pub values: Vec<f64>,
    /// How the ranks talked.
    pub transport: String,
    /// What the rank has learned about copying, if the probe asks: name and value.
    #[serde(default)]
    pub learned: Vec<(String, String)>,
}

/// Why a job gave no figure.
#[derive(Debug, Error)]
pub enum JobError {
    /// It did not start.
    #[error("cannot start {ranks} ranks for a benchmark: {error}")]
    Start {
        /// How many.
        ranks: u32,
        /// Why not.
        error: LaunchError,
    },
    /// It failed.
    #[error("the benchmark {probe} on {ranks} ranks ended with status {code}: {said}")]
    Failed {
        /// What was being measured.
        probe: String,
        /// On how many ranks.
        ranks: u32,
        /// Exit status.
        code: u8,
        /// Its standard error.
        said: String,
    },
    /// It ended well and said nothing that can be read.
    #[error("the benchmark {probe} on {ranks} ranks printed no result: {error}")]
    Unreadable {
        /// What was being measured.
        probe: String,
        /// On how many ranks.
        ranks: u32,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}
