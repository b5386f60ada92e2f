//! What goes wrong: failures of requests and of the engine, in words.

use oxmpi_ports::{PortState, SegmentError};

use super::handler::Handler;
use crate::error::{EngineError, Fault};
use crate::path::Carrier;
use crate::protocol::Failure;

impl Handler {
    /// A process has sent what no process sends: whatever needs it fails, and nothing else.
    #[cold]
    pub(super) fn part_with(&mut self, peer: u32, failure: Failure) {
        let reason = describe(failure);
        if self.places().port(peer).is_some() {
            self.ways.ports.expel(peer, &reason);
        } else if let Some(remote) = &mut self.ways.remote {
            remote.expel(peer, &reason);
        }
        if let Some(remote) = &mut self.ways.remote {
            remote.recall_for(&mut self.protocol, peer, true);
        }
        self.protocol.part_with(peer, failure);
    }

    /// The engine cannot go on. Who waits is told and has its memory back, so nobody may write
    /// there any more.
    #[cold]
    fn break_with(&mut self, error: EngineError) -> EngineError {
        self.close_driver();
        self.broken.get_or_insert(error).clone()
    }

    #[cold]
    pub fn break_for_memory(&mut self, error: &SegmentError) -> EngineError {
        let error = EngineError::memory(self.rank, &self.host, error);
        self.break_with(error)
    }

    /// The engine's words for a request's failure.
    #[cold]
    pub fn explain(&mut self, failure: Failure) -> EngineError {
        let fault = match failure {
            Failure::Truncated {
                source,
                tag,
                bytes,
                capacity,
            } => Fault::Truncated {
                rank: self.rank,
                source_rank: source,
                tag,
                bytes,
                capacity,
            },
            Failure::PeerDied { peer } => self.explain_departure(peer),
            Failure::PacketLost { peer, .. }
            | Failure::Malformed { peer, .. }
            | Failure::Unreadable { peer, .. }
            | Failure::UnexpectedFull { peer, .. } => self.explain_garbage(peer, failure),
        };
        fault.into()
    }

    /// Why nothing more can come from a process. If it was lost, the launcher is told that a
    /// failure of this process has its reason there.
    #[cold]
    fn explain_departure(&mut self, peer: u32) -> Fault {
        let fault = self.departure(peer);
        let finished = matches!(fault, Fault::PeerDied { death: None, .. });
        if !finished && !matches!(fault, Fault::UnknownRequest { .. }) {
            self.segment().note_loss(self.port().index());
        }
        fault
    }

    fn departure(&mut self, peer: u32) -> Fault {
        let rank = self.rank;
        if let Some(failure) = self.protocol.garbage_of(peer) {
            return self.explain_garbage(peer, failure);
        }
        let Some(port) = self.places().port(peer) else {
            let death = self.segment().death_of(peer);
            return match &mut self.ways.remote {
                Some(remote) => remote.explain(rank, peer, death),
                None => Fault::UnknownRequest { rank },
            };
        };
        let death = match self.segment().state(port) {
            PortState::Dead(death) => Some(death),
            _ => None,
        };
        Fault::PeerDied {
            rank,
            peer,
            host: self.host.clone(),
            death,
        }
    }

    /// Why this process has parted with another.
    fn explain_garbage(&self, peer: u32, failure: Failure) -> Fault {
        let (rank, host) = (self.rank, self.host.clone());
        match failure {
            Failure::UnexpectedFull { messages, .. } => Fault::UnexpectedFull {
                rank,
                host,
                peer,
                messages,
            },
            _ => Fault::Protocol {
                rank,
                host,
                peer,
                reason: describe(failure),
            },
        }
    }
}

/// What a process sent, in words.
fn describe(failure: Failure) -> String {
    match failure {
        Failure::PacketLost {
            expected, found, ..
        } => format!("packet {expected} is missing, {found} came"),
        Failure::Malformed { what, .. } => what.into(),
        Failure::Unreadable { error, .. } => error.to_string(),
        Failure::UnexpectedFull { messages, .. } => {
            format!("another message beside {messages} that nobody received")
        }
        Failure::Truncated { .. } | Failure::PeerDied { .. } => {
            unreachable!("{failure:?} is no fault of what came")
        }
    }
}
