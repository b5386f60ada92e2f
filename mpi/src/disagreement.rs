//! A message that its receiver takes for something else than its sender did.
//!
//! The standard wants the type signatures of both sides to match (MPI 5.0 §3.3.1), and a program
//! that breaks the rule usually gets nonsense. But some do it on purpose, and other libraries let
//! them, so the message is delivered and people are told, once per job and host. Only what is
//! certain to be a mistake is told: elements of different sizes, in a message that has any.

use std::sync::Arc;

use oxmpi_datatypes::ElementMark;
use oxmpi_engine::{Disagreement, Engine, Notice};

/// Set in the signatures of collectives' messages, which are no marks of elements.
pub(crate) const COLLECTIVE_SIGNATURE: u8 = 0x80;

/// The number of this remark among those that a host makes once.
const REMARK: u32 = 0;

/// Who tells, for the process of this engine.
pub(crate) fn notice(engine: &Engine) -> Notice {
    let (rank, is_first) = (engine.rank(), engine.remarks());
    Arc::new(move |found| {
        if let Some(text) = text(found, rank)
            && is_first(REMARK)
        {
            eprint!("{text}");
        }
    })
}

/// What to tell, if it is worth telling.
fn text(found: &Disagreement, rank: u32) -> Option<String> {
    let Disagreement {
        from,
        envelope,
        expected,
    } = found;
    // Collectives compare for themselves.
    if (expected | envelope.signature()) & COLLECTIVE_SIGNATURE != 0 || envelope.bytes() == 0 {
        return None;
    }
    let sent = ElementMark::from_byte(envelope.signature());
    let taken = ElementMark::from_byte(*expected);
    if sent.bytes() == taken.bytes() {
        return None;
    }
    let (bytes, tag) = (envelope.bytes(), envelope.tag);
    Some(format!(
        "oxmpi: warning: process {rank} receives a message of process {from} as {taken}, and it \
         was sent as {sent} ({bytes} bytes, tag {tag})\n\
         oxmpi:   the bytes are delivered as they are; use the same datatype on both sides, or \
         MPI_BYTE (in Rust u8) on one of them if that is what you mean\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_engine::{Content, Envelope};

    fn told(sent: u8, taken: u8, bytes: u64) -> Option<String> {
        let envelope = Envelope {
            context: 4,
            source: 0,
            tag: 5,
            content: Content::new(bytes, sent),
        };
        let found = Disagreement {
            from: 0,
            envelope,
            expected: taken,
        };
        text(&found, 1)
    }

    const REAL: u8 = ElementMark::floating(8).byte();
    const CHARACTER: u8 = ElementMark::integer(1).byte();

    #[test]
    fn elements_of_other_sizes_are_told_with_their_values() {
        assert_eq!(
            told(REAL, CHARACTER, 24).expect("a mistake"),
            "oxmpi: warning: process 1 receives a message of process 0 as 1-byte integers or \
             characters, and it was sent as 8-byte reals (24 bytes, tag 5)\n\
             oxmpi:   the bytes are delivered as they are; use the same datatype on both sides, or \
             MPI_BYTE (in Rust u8) on one of them if that is what you mean\n"
        );
    }

    #[test]
    fn what_may_be_meant_is_not_told() {
        assert_eq!(told(REAL, ElementMark::integer(8).byte(), 24), None);
        assert_eq!(told(REAL, CHARACTER, 0), None, "no element is of any type");
        assert_eq!(
            told(0x80 | REAL, 0x80 | CHARACTER, 24),
            None,
            "a collective"
        );
    }
}
