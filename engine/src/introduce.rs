//! Processes that become known while the job runs.
//!
//! A process is a [`ProcessId`] here: an index into tables that grow, known to this process alone.
//! Those of the job come first, by rank; [`Engine::introduce`] adds others.

use std::fmt;
use std::sync::PoisonError;

use oxmpi_net::Card;

use crate::engine::Engine;
use crate::error::{EngineError, Fault};

/// A process as this one knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(u32);

impl ProcessId {
    /// Its place in this process's tables: what calls of the engine name it by.
    pub fn index(self) -> u32 {
        self.0
    }
}

impl From<ProcessId> for u32 {
    fn from(process: ProcessId) -> u32 {
        process.0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Engine {
    /// Makes a process known by its card, so that messages can be exchanged with it. It must know
    /// this process too, by this one's number, and call itself by the number that it gets here:
    /// packets name their sender by it.
    pub fn introduce(&self, card: Card) -> Result<ProcessId, EngineError> {
        let refuse = |reason: String| Fault::Network {
            rank: self.rank(),
            host: self.host().into(),
            reason,
        };
        let mut handler = self.shared.enter();
        let handler = &mut *handler;
        let (Some(limits), Some(remote)) = (self.limits, &mut handler.ways.remote) else {
            let text =
                "its job is on one host and has no network; start it with a network (--net tcp)";
            return Err(refuse(text.into()).into());
        };
        let process = remote
            .introduce(card)
            .map_err(|error| refuse(error.to_string()))?;
        let peer = handler.protocol.add_peer(limits);
        let place = handler.ways.ports.places.add();
        assert_eq!(
            (peer, place),
            (process, process),
            "all tables grow together"
        );
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        hosts.push(handler.places().host(process));
        Ok(ProcessId(process))
    }
}
