//! What is tried, by subject. A case takes numbers by seed and returns why it did not pass; each
//! file lists its own.

mod answers;
mod area;
mod counts;
mod endings;
mod exhaustion;
mod hostile;
mod matching;
mod memory;
mod misuse;
mod model;
mod oxk;
mod oxk_ends;
mod oxk_pm;
mod pins;
mod pm_user;
pub mod processes;
mod progress;
mod races;
mod rendezvous;
mod sockets;
mod stream;
mod streams;
mod streams_hostile;
mod streams_user;

use crate::runner::Case;

/// All of them, the simple ones first.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        matching::CASES,
        rendezvous::CASES,
        answers::CASES,
        stream::CASES,
        endings::CASES,
        area::CASES,
        progress::CASES,
        model::CASES,
        races::CASES,
        memory::CASES,
        pins::CASES,
        misuse::CASES,
        sockets::CASES,
        hostile::CASES,
        exhaustion::CASES,
        processes::CASES,
        counts::CASES,
        streams::CASES,
        streams_hostile::CASES,
        streams_user::CASES,
        oxk::CASES,
        oxk_ends::CASES,
        oxk_pm::CASES,
        pm_user::CASES,
    ]
    .into_iter()
    .flatten()
}

/// A case of a minute at most.
const fn case(
    name: &'static str,
    run: fn(&mut crate::random::Random) -> crate::runner::Outcome,
) -> Case {
    Case {
        name,
        time_s: 60,
        run,
    }
}
