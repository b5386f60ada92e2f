//! The end that was dialled. It learns from the hello who claims to dial, and believes it after the
//! response.
//!
//! Its counterpart is [`super::Dialler`]; the messages are in [`super::message`]. Call order:
//! [`Answerer::handle`] for everything received until the step is `Proven` or `Refused`; after
//! `Proven`, [`Answerer::verdict`] gives the last bytes to send.

use super::message::{
    self, Challenge, HELLO_BYTES, Hello, Message, RESPONSE_BYTES, SealKeys, opening,
};
use super::{Inbox, Progress, Refusal, Step, Verdict, check_opening};
use crate::key::{JobKey, Nonce};

/// A handshake seen from the process that was dialled.
pub struct Answerer {
    key: JobKey,
    me: u32,
    nonce: Nonce,
    encrypted: bool,
    inbox: Inbox,
    state: State,
}

enum State {
    /// Nothing has been said.
    AwaitsHello,
    /// The challenge is sent, the dialler has to prove itself.
    AwaitsResponse(Hello, Challenge),
    /// The dialler is proven, the owner has to decide.
    Proven(Hello, Challenge),
    /// Nothing more is expected.
    Refused,
}

impl Answerer {
    /// Begins with a connection that has just been accepted. `nonce` is fresh for every handshake.
    pub fn new(key: &JobKey, me: u32, nonce: Nonce) -> Answerer {
        Answerer {
            key: key.clone(),
            me,
            nonce,
            encrypted: false,
            inbox: Inbox::EMPTY,
            state: State::AwaitsHello,
        }
    }

    /// Whether what follows is encrypted, to be said before the first bytes are handled.
    pub fn with_encryption(mut self, encrypted: bool) -> Answerer {
        self.encrypted = encrypted;
        self
    }

    /// The keys that encrypt the connection, if anything is to.
    ///
    /// # Panics
    /// When the dialler is not proven.
    pub fn seal_keys(&self) -> Option<SealKeys> {
        let State::Proven(hello, challenge) = &self.state else {
            panic!("a connection is encrypted with a dialler that is proven");
        };
        let key_of = |speaker| message::seal_key(&self.key, hello, challenge, speaker);
        self.encrypted.then(|| SealKeys {
            out: key_of(message::ANSWERER),
            into: key_of(message::DIALLER),
        })
    }

    /// Takes received bytes.
    ///
    /// # Panics
    /// When called after `Proven` or `Refused`.
    pub fn handle(&mut self, bytes: &[u8]) -> Step {
        let mut rest = bytes;
        let mut send = Message::NOTHING;
        let progress = match self.advance(&mut rest, &mut send) {
            Ok(None) => Progress::More,
            Ok(Some(peer)) => Progress::Proven { peer },
            Err(refusal) => {
                self.state = State::Refused;
                Progress::Refused(refusal)
            }
        };
        Step {
            consumed: bytes.len() - rest.len(),
            send,
            progress,
        }
    }

    /// The last message, after which the dialler knows what becomes of the connection.
    ///
    /// # Panics
    /// When the dialler is not proven.
    pub fn verdict(self, verdict: Verdict) -> Message {
        let State::Proven(hello, challenge) = &self.state else {
            panic!("a verdict is given about a dialler that is proven");
        };
        Message::new(&message::decision(
            &self.key,
            hello,
            challenge,
            verdict.code(),
        ))
    }

    fn advance(&mut self, rest: &mut &[u8], send: &mut Message) -> Result<Option<u32>, Refusal> {
        if let State::AwaitsHello = self.state {
            let whole = self.inbox.take::<HELLO_BYTES>(rest);
            let gathered = whole.as_ref().map_or(self.inbox.gathered(), |bytes| bytes);
            if let Err(refusal) = check_opening(gathered, self.encrypted) {
                if let Refusal::Version { .. } | Refusal::Encryption { .. } = refusal {
                    // A dialler of another version learns from ours why it is refused; its opening
                    // is the same in every version.
                    *send = Message::new(&opening(self.encrypted));
                }
                return Err(refusal);
            }
            let Some(bytes) = whole else {
                return Ok(None);
            };
            // Whom the dialler means is not compared yet: it learns from the challenge, which is
            // proven, whom it has reached.
            let hello = Hello(bytes);
            let challenge = Challenge::new(&self.key, &hello, &self.nonce, self.me);
            *send = Message::new(&challenge.0);
            self.state = State::AwaitsResponse(hello, challenge);
        }
        let State::AwaitsResponse(hello, challenge) = self.state else {
            panic!("a handshake that is over gets no more bytes");
        };
        let Some(bytes) = self.inbox.take::<RESPONSE_BYTES>(rest) else {
            return Ok(None);
        };
        if !message::response_is_proven(&self.key, &hello, &challenge, &bytes) {
            return Err(Refusal::OtherKey);
        }
        if hello.to() != self.me {
            return Err(Refusal::WrongRank {
                meant: hello.to(),
                reached: self.me,
            });
        }
        if hello.from() == self.me {
            return Err(Refusal::SameRank { rank: self.me });
        }
        self.state = State::Proven(hello, challenge);
        Ok(Some(hello.from()))
    }
}
