//! Both ends of a new connection prove that they know the job's key before a byte of anything else
//! is parsed.
//!
//! [`Dialler`] and [`Answerer`] are state machines without I/O: bytes in, bytes out, nonces from
//! the caller. The owner (`net`'s tcp, oxk.ko) feeds whatever the stream gives,
//! cut anywhere, sends what a [`Step`] asks for, and bounds the time. Until the other side is
//! proven only fixed offsets of at most 60 bytes are looked at, nothing is allocated, and what does
//! not open like a process of OxMPI is refused at its first wrong byte.
//!
//! 1. dialler: hello (nonce, from which rank, to which)
//! 2. answerer: challenge (nonce, its rank, proof)
//! 3. dialler: response (proof)
//! 4. answerer: decision (verdict, proof); on [`Verdict::Keep`] packets follow, in both directions
//!
//! What it gives: strangers, other jobs, replayed and reflected messages are refused, and a dialler
//! learns which rank of its job it has reached. With `--encrypt` it also gives the keys of what
//! follows, which both ends derive from the job's key and the nonces. Without it what follows on
//! the stream is neither encrypted nor signed, so whoever can change packets in flight between two
//! hosts can change messages. A process that encrypts and one that does not refuse each other, and
//! say why. This crate only derives the keys ([`SealKeys`]); `net` encrypts.
//!
//! It uses no other layer, does no I/O and is compiled into oxk.ko too: there with SHA-256 in plain
//! Rust (`--cfg sha2_backend="soft"`), because vector registers belong to processes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answerer;
mod dialler;
pub mod key;
pub mod message;
#[cfg(test)]
mod tests;

pub use answerer::Answerer;
pub use dialler::Dialler;
pub use key::{JobKey, Nonce};
pub use message::{Message, SealKeys};

use core::fmt;

use message::{MAGIC, MESSAGE_MAX, OPENING_BYTES, SEALED, VERSION};

/// What the answerer makes of a proven connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is the connection between the two ranks.
    Keep,
    /// "You dialled while I dial you, and my dial wins": the dialler closes this one and awaits
    /// mine. See [`dial_wins`].
    Yield,
    /// The answerer has no use for it: the two are connected already, or the answerer is leaving
    /// the job.
    Stale,
}

impl Verdict {
    fn code(self) -> u8 {
        match self {
            Verdict::Keep => 1,
            Verdict::Yield => 2,
            Verdict::Stale => 3,
        }
    }

    fn from_code(code: u8) -> Option<Verdict> {
        [Verdict::Keep, Verdict::Yield, Verdict::Stale]
            .into_iter()
            .find(|verdict| verdict.code() == code)
    }
}

/// Whether, of two ranks that dial each other at once, the connection dialled by `dialler` is the
/// one that stays.
///
/// The lower rank's does. Both sides must come to the same answer from what both know without
/// another message, and the two ranks are all that both know for certain: arrival times differ at
/// the two ends, nonces are known to one side first. Lower rather than higher because low ranks are
/// dialled most (roots, leaders) and so can settle most of their collisions by themselves, as
/// answerers.
///
/// An answerer says [`Verdict::Yield`] only while its own dial is under way; if that has failed or
/// fails later, the other's must be accepted (the network may permit only one direction), so a
/// dialler that has been told to yield dials again when nothing comes.
pub fn dial_wins(dialler: u32, answerer: u32) -> bool {
    dialler < answerer
}

/// What came of the bytes handed to [`Dialler::handle`] or [`Answerer::handle`].
#[derive(Debug)]
pub struct Step {
    /// Bytes taken. After [`Progress::More`] all of them; after the end of the handshake the rest
    /// belongs to the next layer.
    pub consumed: usize,
    /// What to send before anything else, often nothing.
    pub send: Message,
    /// How far it has come.
    pub progress: Progress,
}

/// How far a handshake has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// At the answerer: `peer` knows the key. The owner decides and sends [`Answerer::verdict`].
    Proven {
        /// The rank that dialled. It knows the key, but whether the job has such a rank is for the
        /// owner to check.
        peer: u32,
    },
    /// At the dialler: the answerer has decided.
    Done(Verdict),
    /// The connection is to be closed, after `send`.
    Refused(Refusal),
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not open like OxMPI.
    Stranger {
        /// What it said instead, up to the length of an opening; zeros where it had said nothing
        /// yet.
        first: First,
    },
    /// Another version of the handshake.
    Version {
        /// What it speaks.
        theirs: u8,
        /// What this build speaks.
        ours: u8,
    },
    /// One of the two encrypts.
    Encryption {
        /// Whether it is the other one.
        theirs: bool,
    },
    /// It is OxMPI but does not know the key.
    OtherKey,
    /// It is of this job, but not the rank that was meant.
    WrongRank {
        /// The rank that was dialled.
        meant: u32,
        /// The rank that answered.
        reached: u32,
    },
    /// It is of this job and claims the rank of the process it talks to.
    SameRank {
        /// The rank.
        rank: u32,
    },
    /// A decision that is proven and means nothing.
    Verdict {
        /// The code.
        code: u8,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Stranger { first } => {
                let first = first.escape_ascii();
                write!(to, "not a process of OxMPI: it says \"{first}\"")
            }
            Refusal::Version { theirs, ours } => write!(
                to,
                "it speaks version {theirs} of the connection protocol and this process version {ours}: install the same OxMPI on all hosts"
            ),
            Refusal::Encryption { theirs } => {
                let theirs = *theirs;
                Differing {
                    other: "it",
                    theirs,
                }
                .fmt(to)
            }
            Refusal::OtherKey => {
                to.write_str("a process of another job: it does not know this job's key")
            }
            Refusal::WrongRank { meant, reached } => write!(
                to,
                "rank {meant} was meant and rank {reached} answers: the same address exists on several hosts; exclude it with OXMPI_NET_EXCLUDE"
            ),
            Refusal::SameRank { rank } => write!(
                to,
                "it claims to be rank {rank}, which is this process: two processes were given one rank"
            ),
            Refusal::Verdict { code } => write!(
                to,
                "its verdict {code} is none that this version knows: install the same OxMPI on all hosts"
            ),
        }
    }
}

impl core::error::Error for Refusal {}

/// Says that one of two processes encrypts.
pub struct Differing<'a> {
    /// How the other process is called.
    pub other: &'a str,
    /// Whether it is the other one that does.
    pub theirs: bool,
}

/// The setting that must be the same for both, which `settings` has.
pub const ENCRYPT_NAME: &str = "OXMPI_ENCRYPT";

impl fmt::Display for Differing<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (it, this) = match self.theirs {
            true => ("with", "without"),
            false => ("without", "with"),
        };
        let other = self.other;
        write!(
            to,
            "{other} runs {it} --encrypt and this process {this}: {ENCRYPT_NAME} must be the same for all processes of a job"
        )
    }
}

/// The first bytes of a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    bytes: [u8; OPENING_BYTES],
    length: usize,
}

impl core::ops::Deref for First {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Gathers one message out of pieces.
struct Inbox {
    bytes: [u8; MESSAGE_MAX],
    length: usize,
}

impl Inbox {
    const EMPTY: Inbox = Inbox {
        bytes: [0; MESSAGE_MAX],
        length: 0,
    };

    /// Takes what is missing of a message of `N` bytes from the front of `input`. Gives the message
    /// when it is whole, and is empty then.
    fn take<const N: usize>(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        let (piece, rest) = input.split_at(input.len().min(N - self.length));
        self.bytes[self.length..][..piece.len()].copy_from_slice(piece);
        self.length += piece.len();
        *input = rest;
        if self.length < N {
            return None;
        }
        self.length = 0;
        Some(
            *self
                .bytes
                .first_chunk()
                .expect("no message is longer than MESSAGE_MAX"),
        )
    }

    /// What has been gathered of a message that is not whole yet.
    fn gathered(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Whether what has come so far can be the beginning of a message that opens with magic and
/// version.
fn check_opening(bytes: &[u8], encrypted: bool) -> Result<(), Refusal> {
    let compared = bytes.len().min(MAGIC.len());
    if bytes[..compared] != MAGIC[..compared] {
        let mut first = First {
            bytes: [0; OPENING_BYTES],
            length: bytes.len().min(OPENING_BYTES),
        };
        first.bytes[..first.length].copy_from_slice(&bytes[..first.length]);
        return Err(Refusal::Stranger { first });
    }
    match bytes.get(MAGIC.len()) {
        Some(&theirs) if theirs & !SEALED != VERSION => Err(Refusal::Version {
            theirs,
            ours: VERSION,
        }),
        Some(&theirs) if (theirs & SEALED != 0) != encrypted => {
            Err(Refusal::Encryption { theirs: !encrypted })
        }
        _ => Ok(()),
    }
}
