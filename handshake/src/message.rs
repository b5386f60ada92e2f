//! The four messages of a handshake: field tables, and what their proofs cover.
//!
//! Nothing else knows an offset. Integers are little-endian. A proof covers everything that was
//! said before it: the whole hello, the challenge up to its proof, and a word for who speaks, so
//! that no proof can serve in another place, direction or conversation.
//!
//! | message | from | field | bytes |
//! |---|---|---|---|
//! | hello | dialler | magic 0..7, version 7 ([`SEALED`] added if it encrypts), nonce 8..24, from 24..28, to 28..32 | 32 |
//! | challenge | answerer | magic 0..7, version 7, nonce 8..24, rank 24..28, proof 28..60 | 60 |
//! | response | dialler | proof 0..32 | 32 |
//! | decision | answerer | verdict 0, proof 1..33 | 33 |

use core::ops::{Deref, Range};

use crate::key::{JobKey, Nonce, PROOF_BYTES, Proof};

/// What every conversation opens with, in both directions and in every version. The first byte is
/// no text and the last would be changed by anything that treats the stream as lines, so that
/// neither a stranger's protocol nor a mangling proxy passes for a process of OxMPI.
pub const MAGIC: [u8; 7] = *b"\xd6OxMPI\n";
/// The version of these messages and of what follows them on the stream.
pub const VERSION: u8 = 1;
/// Added to the version by a process that encrypts what follows. Hello and challenge are proven
/// from their first byte on, so nobody on the way can take it off.
pub const SEALED: u8 = 0x80;

/// Bytes of magic and version: the part that is the same in every version.
pub const OPENING_BYTES: usize = 8;
/// Bytes of the dialler's first message.
pub const HELLO_BYTES: usize = 32;
/// Bytes of the answerer's first message.
pub const CHALLENGE_BYTES: usize = 60;
/// Bytes of the dialler's second message.
pub const RESPONSE_BYTES: usize = PROOF_BYTES;
/// Bytes of the answerer's second message.
pub const DECISION_BYTES: usize = 1 + PROOF_BYTES;
/// Bytes of the longest message: a half-open conversation holds no more of what the other side
/// sent.
pub const MESSAGE_MAX: usize = CHALLENGE_BYTES;

const NONCE: Range<usize> = 8..24;
const FROM: Range<usize> = 24..28;
const TO: Range<usize> = 28..32;
const RANK: Range<usize> = 24..28;
const CHALLENGE_PROOF: Range<usize> = 28..60;
const DECISION_PROOF: Range<usize> = 1..33;

const _: () = assert!(TO.end == HELLO_BYTES && CHALLENGE_PROOF.end == CHALLENGE_BYTES);
const _: () = assert!(DECISION_PROOF.end == DECISION_BYTES && MAGIC.len() + 1 == OPENING_BYTES);

/// Bytes of a key that encrypts.
pub const SEAL_KEY_BYTES: usize = 16;

/// The keys of what follows the handshake, one for each direction. Not `Debug`: texts reach logs.
pub struct SealKeys {
    /// Of what this side sends.
    pub out: [u8; SEAL_KEY_BYTES],
    /// Of what the other side sends.
    pub into: [u8; SEAL_KEY_BYTES],
}

/// Bytes to send: at most one message, kept without allocating.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    bytes: [u8; MESSAGE_MAX],
    length: usize,
}

impl Message {
    /// Nothing to send.
    pub(super) const NOTHING: Message = Message {
        bytes: [0; MESSAGE_MAX],
        length: 0,
    };

    pub(super) fn new(text: &[u8]) -> Message {
        let mut message = Message::NOTHING;
        message.bytes[..text.len()].copy_from_slice(text);
        message.length = text.len();
        message
    }
}

impl Deref for Message {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Magic and version, as this build writes them.
pub(super) fn opening(encrypted: bool) -> [u8; OPENING_BYTES] {
    let version = VERSION | if encrypted { SEALED } else { 0 };
    let mut opening = [version; OPENING_BYTES];
    opening[..MAGIC.len()].copy_from_slice(&MAGIC);
    opening
}

/// The dialler's first message: who speaks to whom.
#[derive(Clone, Copy)]
pub(super) struct Hello(pub(super) [u8; HELLO_BYTES]);

impl Hello {
    pub(super) fn new(nonce: &Nonce, from: u32, to: u32, encrypted: bool) -> Hello {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..OPENING_BYTES].copy_from_slice(&opening(encrypted));
        bytes[NONCE].copy_from_slice(nonce);
        bytes[FROM].copy_from_slice(&from.to_le_bytes());
        bytes[TO].copy_from_slice(&to.to_le_bytes());
        Hello(bytes)
    }

    pub(super) fn from(&self) -> u32 {
        number(&self.0[FROM])
    }

    pub(super) fn to(&self) -> u32 {
        number(&self.0[TO])
    }
}

/// The answerer's first message: who it is, proven.
#[derive(Clone, Copy)]
pub(super) struct Challenge(pub(super) [u8; CHALLENGE_BYTES]);

impl Challenge {
    pub(super) fn new(key: &JobKey, hello: &Hello, nonce: &Nonce, rank: u32) -> Challenge {
        let mut challenge = Challenge([0; CHALLENGE_BYTES]);
        // The answerer refuses a hello that encrypts otherwise than itself.
        challenge.0[..OPENING_BYTES].copy_from_slice(&hello.0[..OPENING_BYTES]);
        challenge.0[NONCE].copy_from_slice(nonce);
        challenge.0[RANK].copy_from_slice(&rank.to_le_bytes());
        let proof = key.proof(&[ANSWERER, &hello.0, challenge.claims()]);
        challenge.0[CHALLENGE_PROOF].copy_from_slice(&proof);
        challenge
    }

    pub(super) fn is_proven(&self, key: &JobKey, hello: &Hello) -> bool {
        let proof = proof(&self.0[CHALLENGE_PROOF]);
        key.verifies(&[ANSWERER, &hello.0, self.claims()], &proof)
    }

    pub(super) fn rank(&self) -> u32 {
        number(&self.0[RANK])
    }

    /// Everything before the proof.
    fn claims(&self) -> &[u8] {
        &self.0[..CHALLENGE_PROOF.start]
    }
}

/// The dialler's second message: it knows the key, too.
pub(super) fn response(key: &JobKey, hello: &Hello, challenge: &Challenge) -> Proof {
    key.proof(&[DIALLER, &hello.0, challenge.claims()])
}

pub(super) fn response_is_proven(
    key: &JobKey,
    hello: &Hello,
    challenge: &Challenge,
    bytes: &[u8],
) -> bool {
    key.verifies(&[DIALLER, &hello.0, challenge.claims()], &proof(bytes))
}

/// The answerer's second message: what becomes of the connection.
pub(super) fn decision(
    key: &JobKey,
    hello: &Hello,
    challenge: &Challenge,
    code: u8,
) -> [u8; DECISION_BYTES] {
    let mut bytes = [code; DECISION_BYTES];
    let proof = key.proof(&[DECISION, &hello.0, challenge.claims(), &[code]]);
    bytes[DECISION_PROOF].copy_from_slice(&proof);
    bytes
}

/// The code of a decision, if it is the answerer's own.
pub(super) fn proven_decision(
    key: &JobKey,
    hello: &Hello,
    challenge: &Challenge,
    bytes: &[u8],
) -> Option<u8> {
    let code = bytes[0];
    let parts: [&[u8]; 4] = [DECISION, &hello.0, challenge.claims(), &[code]];
    key.verifies(&parts, &proof(&bytes[DECISION_PROOF]))
        .then_some(code)
}

/// The key of one direction of what follows the handshake: of the dialler's or the answerer's
/// records. Both nonces are in it, so no two connections have the same, and neither end can make an
/// old one come again.
pub(super) fn seal_key(
    key: &JobKey,
    hello: &Hello,
    challenge: &Challenge,
    speaker: &[u8],
) -> [u8; SEAL_KEY_BYTES] {
    let derived = key.proof(&[SEAL, speaker, &hello.0, challenge.claims()]);
    let first = derived.first_chunk::<SEAL_KEY_BYTES>();
    *first.expect("a proof has 32 bytes")
}

pub(super) const ANSWERER: &[u8] = b"oxmpi answerer";
pub(super) const DIALLER: &[u8] = b"oxmpi dialler";
const DECISION: &[u8] = b"oxmpi decision";
const SEAL: &[u8] = b"oxmpi stream seal";

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("a field of four bytes"))
}

fn proof(bytes: &[u8]) -> Proof {
    bytes.try_into().expect("a field of a proof's length")
}
