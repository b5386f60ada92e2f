//! Pools of C functions that stand for Fortran procedures.
//!
//! C gives operations and error handlers no pointer of their own, so the C function itself must
//! know which Fortran procedure it stands for: there are [`SLOTS_MAX`] instances of it, each with
//! its number. A procedure gets one instance for ever, however often it is used.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

include!(concat!(env!("OUT_DIR"), "/slots.rs"));
pub(crate) use instances;

/// How many different procedures of one kind a program may have; each costs 8 bytes here and an
/// instance of about 100 bytes of code.
pub const SLOTS_MAX: usize = 256;

/// The procedures of one kind.
pub struct Pool(Mutex<Vec<usize>>);

impl Default for Pool {
    fn default() -> Self {
        Pool::new()
    }
}

impl Pool {
    /// Without procedures.
    pub const fn new() -> Pool {
        Pool(Mutex::new(Vec::new()))
    }

    /// The slot of a procedure; none if all are taken.
    pub fn slot(&self, procedure: *const c_void) -> Option<usize> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = procedure as usize;
        if let Some(slot) = taken.iter().position(|&known| known == address) {
            return Some(slot);
        }
        if taken.len() == SLOTS_MAX {
            return None;
        }
        taken.push(address);
        Some(taken.len() - 1)
    }

    /// The procedure in a slot.
    pub fn procedure(&self, slot: usize) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[slot]
    }
}
