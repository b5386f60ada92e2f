//! Looking for messages that no receive has been posted for: probing, and claiming what was found.

use oxmpi_matching::Pattern;
use oxmpi_wire::Envelope;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::progress::Handler;
use crate::protocol::{Claim, Failure};

impl Engine {
    /// The oldest message the pattern accepts that no receive has taken.
    pub fn probe(&self, pattern: Pattern) -> Result<Option<Envelope>, EngineError> {
        self.look(|handler| handler.protocol.probe(&pattern))
    }

    /// As [`Engine::probe`], waiting for one.
    pub fn probe_wait(&self, from: Option<u32>, pattern: Pattern) -> Result<Envelope, EngineError> {
        self.look_wait(from, pattern, |handler| handler.protocol.probe(&pattern))
    }

    /// As [`Engine::probe`]; the message is the caller's alone then.
    pub fn claim(&self, pattern: Pattern) -> Result<Option<Claim>, EngineError> {
        self.look(|handler| handler.protocol.claim(&pattern))
    }

    /// As [`Engine::claim`], among messages that were taken in before: the network is not asked
    /// again, which is a system call, and nothing fails.
    pub fn claim_taken(&self, pattern: Pattern) -> Option<Claim> {
        let mut handler = self.shared.enter();
        let found = handler.protocol.claim(&pattern);
        self.shared.leave(&mut handler);
        found
    }

    /// As [`Engine::claim`], waiting for one.
    pub fn claim_wait(&self, from: Option<u32>, pattern: Pattern) -> Result<Claim, EngineError> {
        self.look_wait(from, pattern, |handler| handler.protocol.claim(&pattern))
    }

    /// A call of the program has looked for something above the engine, and not found it: where
    /// ranks outnumber CPUs, a loop of such calls gives way to others.
    pub fn looked_in_vain(&self) {
        self.shared.vain.happened();
    }

    fn look<R>(
        &self,
        mut look: impl FnMut(&mut Handler) -> Option<R>,
    ) -> Result<Option<R>, EngineError> {
        let mut handler = self.shared.enter();
        handler.progress(None);
        let found = look(&mut handler);
        let result = match (&found, &handler.broken) {
            (None, Some(broken)) => Err(broken.clone()),
            _ => Ok(found),
        };
        self.shared.leave(&mut handler);
        drop(handler);
        self.shared.vain.told(result)
    }

    fn look_wait<R>(
        &self,
        from: Option<u32>,
        pattern: Pattern,
        mut look: impl FnMut(&mut Handler) -> Option<R>,
    ) -> Result<R, EngineError> {
        let mut found = None;
        let mut gone = None;
        let mut handler = self.shared.enter();
        // As with a receive from anybody: who was dead before this began will not be waited for.
        let known = handler.protocol.died().len();
        let waited = self
            .shared
            .wait(&mut handler, None, &mut |handler: &mut Handler| {
                found = look(handler);
                if found.is_none() {
                    let protocol = &handler.protocol;
                    gone = match from {
                        Some(peer) => Some(peer).filter(|&peer| protocol.is_gone(peer)),
                        None => protocol.died()[known..]
                            .iter()
                            .copied()
                            .find(|&peer| protocol.is_member(pattern.context, peer)),
                    };
                }
                found.is_some() || gone.is_some()
            });
        let gone = gone.map(|peer| handler.explain(Failure::PeerDied { peer }));
        self.shared.leave(&mut handler);
        waited?;
        match (found, gone) {
            (Some(found), _) => Ok(found),
            (None, Some(gone)) => Err(gone),
            (None, None) => {
                unreachable!("the wait ends when something is found or the peer is gone")
            }
        }
    }
}
