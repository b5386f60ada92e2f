//! What is tried. Each file has a list of its cases.

mod append;
mod consistency;
mod counts;
mod cut;
mod data;
mod ended;
mod ends;
mod failure;
mod groups;
mod hostile;
mod killed;
mod locks;
mod mounts;
mod names;
mod overtaken;
mod scarce;
mod squashed;

pub use counts::count_nfs;

pub use crate::check::{Outcome, equal, good, pattern, refused, same, skip};

/// One thing that is tried.
pub struct Case {
    pub name: &'static str,
    /// After so many seconds it hangs. Generous: software emulation is slow.
    pub time_s: u64,
    pub run: fn() -> Outcome,
}

/// All cases, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let lists: [&'static [Case]; 17] = [
        names::CASES,
        data::CASES,
        append::CASES,
        locks::CASES,
        consistency::CASES,
        overtaken::CASES,
        killed::CASES,
        ended::CASES,
        mounts::CASES,
        groups::CASES,
        squashed::CASES,
        failure::CASES,
        scarce::CASES,
        cut::CASES,
        ends::CASES,
        hostile::CASES,
        counts::CASES,
    ];
    lists.into_iter().flatten()
}
