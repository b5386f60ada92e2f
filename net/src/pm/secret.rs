//! The keys of a conversation: derived from the job's key, for each direction and each rail its
//! own.
//!
//! Into a key goes what the conversation is: both processes, the rail, and the salts that both
//! endpoints drew when they were opened and told in their cards. So no two conversations, not even
//! those of a process that comes again, share a key, and numbers of transmissions may begin at 0 in
//! each.

use oxmpi_link::{FRAME_KEY_BYTES, FrameKey, Session};

use crate::key::{JobKey, Proof};
use crate::seal::{SEAL_KEY_BYTES, Sealer, Seals};

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Frames of conversations.
    Talk,
    /// Greetings, before a device is relied on.
    Trial,
}

/// An end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    /// Its number in the job.
    pub process: u32,
    /// What it drew when it was opened.
    pub salt: u64,
}

/// The session of `me` with `peer`.
pub(crate) fn session(
    key: &JobKey,
    purpose: Purpose,
    rail: usize,
    me: Party,
    peer: Party,
) -> Session {
    Session::new(
        frame_key(key, purpose, rail, me, peer),
        frame_key(key, purpose, rail, peer, me),
    )
}

/// The seals of the frames of `me` and `peer`. A key is used by one [`Session`], whose numbers are
/// never used twice: a process opens one conversation with each other on each rail, and one that
/// was closed is not opened again.
pub(crate) fn seals(key: &JobKey, rail: usize, me: Party, peer: Party) -> Seals {
    let sealer = |from, to| {
        let derived = derive(key, b"oxmpi frame seal", Purpose::Talk, rail, from, to);
        let first = derived.first_chunk::<SEAL_KEY_BYTES>();
        Sealer::new(first.expect("a proof has 32 bytes"))
    };
    Seals {
        out: sealer(me, peer),
        into: sealer(peer, me),
    }
}

/// The key of the proofs of frames in one direction.
fn frame_key(key: &JobKey, purpose: Purpose, rail: usize, from: Party, to: Party) -> FrameKey {
    let proof = derive(key, b"oxmpi frame proof", purpose, rail, from, to);
    let first = proof.first_chunk::<FRAME_KEY_BYTES>();
    FrameKey::new(*first.expect("a proof has 32 bytes"))
}

/// HMAC-SHA-256 under the job's key, as the second half of HKDF (RFC 5869) has it. The first half,
/// which makes a key of what is only nearly random, is not needed: the job's key comes from the
/// kernel's generator.
fn derive(
    key: &JobKey,
    use_for: &[u8],
    purpose: Purpose,
    rail: usize,
    from: Party,
    to: Party,
) -> Proof {
    key.proof(&[
        use_for,
        match purpose {
            Purpose::Talk => b"talk",
            Purpose::Trial => b"trial",
        },
        &(rail as u32).to_le_bytes(),
        &from.process.to_le_bytes(),
        &from.salt.to_le_bytes(),
        &to.process.to_le_bytes(),
        &to.salt.to_le_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_wire::frame::FRAME_HEADER_BYTES;

    #[test]
    fn every_conversation_has_keys_of_its_own() {
        let key = JobKey::from_bytes([7; 16]);
        let party = |process, salt| Party { process, salt };
        let (me, peer) = (party(0, 5), party(1, 6));
        let talk = |rail, me, peer| session(&key, Purpose::Talk, rail, me, peer);
        let mut header = [9; FRAME_HEADER_BYTES];
        talk(0, me, peer).sign(&mut header);
        assert_eq!(talk(0, peer, me).verify(&header), Ok(0));
        for mut other in [
            talk(1, peer, me),
            talk(0, me, peer),
            talk(0, party(2, 6), me),
            talk(0, party(1, 7), me),
            talk(0, peer, party(0, 6)),
            session(&key, Purpose::Trial, 0, peer, me),
            session(&JobKey::from_bytes([8; 16]), Purpose::Talk, 0, peer, me),
        ] {
            assert!(other.verify(&header).is_err());
        }
    }

    #[test]
    fn every_direction_and_rail_has_seals_of_its_own() {
        let key = JobKey::from_bytes([7; 16]);
        let (me, peer) = (
            Party {
                process: 0,
                salt: 5,
            },
            Party {
                process: 1,
                salt: 6,
            },
        );
        let again = Party { salt: 7, ..peer };
        let mut sealed = [1; 20];
        let seal = seals(&key, 0, me, peer).out.seal(9, b"header", &mut sealed);
        let opens = |seals: Seals| {
            seals
                .into
                .open(9, b"header", &mut sealed.clone(), &seal)
                .is_ok()
        };
        assert!(opens(seals(&key, 0, peer, me)));
        assert!(!opens(seals(&key, 0, me, peer)));
        assert!(!opens(seals(&key, 1, peer, me)));
        assert!(!opens(seals(&key, 0, again, me)));
        assert!(!opens(seals(&JobKey::from_bytes([8; 16]), 0, peer, me)));
    }
}
