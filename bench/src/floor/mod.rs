//! The bare mechanisms of this machine, without any library: what a message could cost at best.
//!
//! Every figure of `oxmpi bench` is shown as a ratio to one of these, measured alternately with it in the same run,
//! because numbers of different machines, or of one machine at different hours, cannot be compared.
//! `pair` makes two pinned processes; `hop` holds the small-message mechanisms, `stream` the large-message ones.

pub mod hop;
pub mod pair;
pub mod stream;

use std::time::Duration;

pub use pair::{Cpus, FloorError};

/// How long a single repetition of a measurement lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Enough to notice that the machine has changed.
    Look,
    /// Enough to see an order of magnitude.
    Quick,
    /// Enough for a figure.
    Full,
}

impl Effort {
    /// Time of one repetition.
    pub fn repetition(self) -> Duration {
        match self {
            Effort::Look => Duration::from_millis(3),
            Effort::Quick => Duration::from_millis(15),
            Effort::Full => Duration::from_millis(100),
        }
    }
}

/// The middle of `values`, which must not be empty; sorts them.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    assert!(!values.is_empty(), "a median needs at least one value");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}
