//! Memory for the layouts of scattered messages under way.
//!
//! The engine reads a layout where it is until the message is over, so each has an address of its
//! own; the memory is used again, because programs send such messages by the million.

use std::sync::{Mutex, PoisonError};

use oxmpi_engine::Spread;

/// Layouts of scattered messages under way stay where they are, and their memory is used again.
#[allow(
    clippy::vec_box,
    reason = "the engine knows a spread's address, so a spread must not move while it is used"
)]
#[derive(Default)]
pub(crate) struct Spreads(Mutex<Vec<Box<Spread>>>);

/// Spreads that are kept for further messages; 100 bytes each.
const SPREADS_MAX: usize = 1024;

impl Spreads {
    /// The spread at an address of its own.
    pub(crate) fn keep(&self, spread: Spread) -> Box<Spread> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept {
            Some(mut kept) => {
                *kept = spread;
                kept
            }
            None => Box::new(spread),
        }
    }

    /// No message uses it any more.
    pub(crate) fn give_back(&self, spread: Box<Spread>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < SPREADS_MAX {
            kept.push(spread);
        }
    }
}
