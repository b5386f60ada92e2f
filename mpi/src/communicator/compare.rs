//! How two communicators compare (MPI 5.0 §7.4.1).

use super::Comm;
use crate::group;

/// What two communicators have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are the same.
    Identical,
    /// The same members in the same order, in contexts of their own.
    Congruent,
    /// The same members in another order.
    Similar,
    /// Anything else.
    Unequal,
}

impl Comm {
    /// Compares two communicators. An intercommunicator never resembles an intracommunicator.
    pub fn compare(&self, other: &Comm) -> Comparison {
        if std::ptr::eq(self, other) {
            return Comparison::Identical;
        }
        let own = self.group().compare(other.group());
        let remote = match (self.remote_group(), other.remote_group()) {
            (None, None) => group::Comparison::Identical,
            (Some(one), Some(two)) => one.compare(two),
            _ => group::Comparison::Unequal,
        };
        match (own, remote) {
            (group::Comparison::Identical, group::Comparison::Identical) => Comparison::Congruent,
            (group::Comparison::Unequal, _) | (_, group::Comparison::Unequal) => {
                Comparison::Unequal
            }
            _ => Comparison::Similar,
        }
    }
}
