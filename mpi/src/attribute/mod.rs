//! Attributes: values that programs cache on communicators, datatypes and windows (MPI 5.0 §7.7).
//!
//! [`Keyvals`] is what a process knows of the keys for one [`Kind`] of object; each [`Keyval`]
//! carries the program's copy and delete callbacks. Every object has a set of [`Attributes`].
//! Values are words that only the program understands, objects are the numbers the program knows
//! them by.
//!
//! Invariant: no lock is held while a callback runs, so a callback may use any of these functions,
//! on the same object too. What it cannot do is delete the very attribute it is called for.
#![forbid(unsafe_code)]

mod keyval;
mod set;
#[cfg(test)]
mod tests;
mod typed;

pub use keyval::{
    CopyCallback, DeleteCallback, KEYVAL_MIN, Keyval, Keyvals, Kind, always_copied, never_copied,
    nothing_on_delete,
};
pub use set::Attributes;
pub(crate) use typed::Cached;
pub use typed::Key;

/// Why an attribute or a key cannot be used as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// A number that is no key, or none for this kind of object, or one that is gone.
    #[error("{keyval} is not a key for attributes of {}: create one first", .kind.plural())]
    NoSuchKeyval {
        /// The number given.
        keyval: i32,
        /// What the attribute should have been for.
        kind: Kind,
    },
    /// A key that was freed and lives on only in the attributes that have it.
    #[error("key {keyval} was freed: attributes with it can be read and deleted, not set")]
    KeyvalFreed {
        /// The key.
        keyval: i32,
    },
    /// More keys than there are numbers for them.
    #[error("all numbers for keys of {} are in use: free some", .kind.plural())]
    NoNumberLeft {
        /// The kind of object.
        kind: Kind,
    },
    /// The object has no attribute with this key.
    #[error("the object has no attribute with key {keyval} to delete")]
    NotSet {
        /// The key.
        keyval: i32,
    },
    /// A delete callback tried to delete or set the attribute it was called for.
    #[error(
        "the attribute with key {keyval} is being deleted: its delete callback cannot change it"
    )]
    BeingDeleted {
        /// The key.
        keyval: i32,
    },
    /// The copy callback failed.
    #[error("the copy callback of key {keyval} returned error code {code}")]
    CopyFailed {
        /// The key.
        keyval: i32,
        /// What the callback returned; the call that caused it returns the same.
        code: i32,
    },
    /// The delete callback failed.
    #[error("the delete callback of key {keyval} returned error code {code}")]
    DeleteFailed {
        /// The key.
        keyval: i32,
        /// What the callback returned; the call that caused it returns the same.
        code: i32,
    },
    /// Delete callbacks that put new attributes on the object as fast as old ones go.
    #[error(
        "after {deleted} attributes were deleted the callback of key {keyval} still adds new ones"
    )]
    Endless {
        /// The key that was to be deleted next.
        keyval: i32,
        /// How many were deleted.
        deleted: usize,
    },
}

impl AttributeError {
    /// The code a callback returned, if that is what went wrong.
    pub fn callback_code(&self) -> Option<i32> {
        match *self {
            AttributeError::CopyFailed { code, .. } | AttributeError::DeleteFailed { code, .. } => {
                Some(code)
            }
            _ => None,
        }
    }
}
