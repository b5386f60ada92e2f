//! New communicators: duplicates, parts, intercommunicators, topologies.
//!
//! `create` has what every new communicator is founded on; most are made by a collective of an old
//! one (`create`, `idup`, `split`, `inter`, `topologies`, for Rust `typed` and `groups`), some by a few
//! processes that talk for that purpose alone (`makers`). This module stands above `communicator`, which is the object, and
//! `collective`, by which its members agree.

mod create;
mod groups;
mod idup;
mod inter;
mod makers;
mod split;
#[cfg(test)]
mod tests;
mod topologies;
mod typed;

use create::Foundation;
pub use inter::{create_from_groups, intercomm_create};
pub use makers::create_from_group;
pub use split::SplitType;
