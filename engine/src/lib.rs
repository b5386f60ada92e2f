//! Skeleton.
pub mod protocol;
