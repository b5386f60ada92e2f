//! The end that dialled. It knows whom it wants to reach and says hello first.
//!
//! Its counterpart is [`super::Answerer`]; the messages are in [`super::message`]. Call order:
//! [`Dialler::new`] and send its bytes, then [`Dialler::handle`] for everything received until the
//! step is `Done` or `Refused`.

use super::message::{self, CHALLENGE_BYTES, Challenge, DECISION_BYTES, Hello, Message, SealKeys};
use super::{Inbox, Progress, Refusal, Step, Verdict, check_opening};
use crate::key::{JobKey, Nonce};

/// A handshake seen from the process that dialled.
pub struct Dialler {
    key: JobKey,
    peer: u32,
    encrypted: bool,
    hello: Hello,
    inbox: Inbox,
    state: State,
}

enum State {
    /// Hello is sent, the answerer has to prove itself.
    AwaitsChallenge,
    /// The response is sent, the answerer has to decide.
    AwaitsDecision(Challenge),
    /// Nothing more is expected; the answerer was proven, or not.
    Over(Option<Challenge>),
}

impl Dialler {
    /// Begins: the bytes go out first. `nonce` is fresh for every handshake.
    ///
    /// # Panics
    /// When a rank dials itself.
    pub fn new(key: &JobKey, me: u32, peer: u32, nonce: Nonce) -> (Dialler, Message) {
        Dialler::with_encryption(key, me, peer, nonce, false)
    }

    /// As [`Dialler::new`]; what follows may be encrypted.
    ///
    /// # Panics
    /// When a rank dials itself.
    pub fn with_encryption(
        key: &JobKey,
        me: u32,
        peer: u32,
        nonce: Nonce,
        encrypted: bool,
    ) -> (Dialler, Message) {
        assert_ne!(me, peer, "a rank does not dial itself");
        let hello = Hello::new(&nonce, me, peer, encrypted);
        let dialler = Dialler {
            key: key.clone(),
            peer,
            encrypted,
            hello,
            inbox: Inbox::EMPTY,
            state: State::AwaitsChallenge,
        };
        (dialler, Message::new(&hello.0))
    }

    /// Takes received bytes.
    ///
    /// # Panics
    /// When called after `Done` or `Refused`.
    pub fn handle(&mut self, bytes: &[u8]) -> Step {
        let mut rest = bytes;
        let mut send = Message::NOTHING;
        let progress = match self.advance(&mut rest, &mut send) {
            Ok(None) => Progress::More,
            Ok(Some(verdict)) => Progress::Done(verdict),
            Err(refusal) => Progress::Refused(refusal),
        };
        if progress != Progress::More {
            self.state = match (&self.state, &progress) {
                (State::AwaitsDecision(challenge), Progress::Done(_)) => {
                    State::Over(Some(*challenge))
                }
                _ => State::Over(None),
            };
        }
        Step {
            consumed: bytes.len() - rest.len(),
            send,
            progress,
        }
    }

    /// The keys that encrypt the connection, if anything is to.
    ///
    /// # Panics
    /// When the answerer has not decided.
    pub fn seal_keys(&self) -> Option<SealKeys> {
        let State::Over(Some(challenge)) = &self.state else {
            panic!("a connection is encrypted with an answerer that is proven");
        };
        let key_of = |speaker| message::seal_key(&self.key, &self.hello, challenge, speaker);
        self.encrypted.then(|| SealKeys {
            out: key_of(message::DIALLER),
            into: key_of(message::ANSWERER),
        })
    }

    fn advance(
        &mut self,
        rest: &mut &[u8],
        send: &mut Message,
    ) -> Result<Option<Verdict>, Refusal> {
        if let State::AwaitsChallenge = self.state {
            let Some(bytes) = self.inbox.take::<CHALLENGE_BYTES>(rest) else {
                check_opening(self.inbox.gathered(), self.encrypted)?;
                return Ok(None);
            };
            check_opening(&bytes, self.encrypted)?;
            let challenge = Challenge(bytes);
            if !challenge.is_proven(&self.key, &self.hello) {
                return Err(Refusal::OtherKey);
            }
            if challenge.rank() != self.peer {
                return Err(Refusal::WrongRank {
                    meant: self.peer,
                    reached: challenge.rank(),
                });
            }
            *send = Message::new(&message::response(&self.key, &self.hello, &challenge));
            self.state = State::AwaitsDecision(challenge);
        }
        let State::AwaitsDecision(challenge) = &self.state else {
            panic!("a handshake that is over gets no more bytes");
        };
        let Some(bytes) = self.inbox.take::<DECISION_BYTES>(rest) else {
            return Ok(None);
        };
        let code = message::proven_decision(&self.key, &self.hello, challenge, &bytes)
            .ok_or(Refusal::OtherKey)?;
        Verdict::from_code(code)
            .map(Some)
            .ok_or(Refusal::Verdict { code })
    }
}
