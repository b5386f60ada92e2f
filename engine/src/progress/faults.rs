//! What goes wrong: failures of requests and of the engine, in words.

use oxmpi_ports::{PortState, SegmentError};

use super::handler::Handler;
use crate::error::{EngineError, Fault};
use crate::protocol::Failure;

impl Handler {
    /// A failure that concerns no single request ends the engine's work.
    #[cold]
    pub(super) fn fail(&mut self, from: u32, failure: Failure) {
        match failure {
            Failure::UnexpectedFull { peer, messages } => {
                let (rank, host) = (self.rank, self.host.clone());
                self.break_with(
                    Fault::UnexpectedFull {
                        rank,
                        host,
                        peer,
                        messages,
                    }
                    .into(),
                );
            }
            Failure::PacketLost {
                expected, found, ..
            } => {
                self.break_down(from, format!("packet {expected} is missing, {found} came"));
            }
            Failure::Malformed { what, .. } => self.break_down(from, what.into()),
            Failure::Unreadable { error, .. } => self.break_down(from, error.to_string()),
            Failure::Truncated { .. } | Failure::PeerDied { .. } => {
                unreachable!("{failure:?} concerns a request, not the engine")
            }
        }
    }

    #[cold]
    pub(super) fn break_down(&mut self, peer: u32, reason: String) {
        let (rank, host) = (self.rank, self.host.clone());
        self.break_with(
            Fault::Protocol {
                rank,
                host,
                peer,
                reason,
            }
            .into(),
        );
    }

    /// The engine cannot go on. Who waits is told and has its memory back, so nobody may write there any more.
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
            other => Fault::Protocol {
                rank: self.rank,
                host: self.host.clone(),
                peer: self.rank,
                reason: format!("{other:?}"),
            },
        };
        fault.into()
    }

    /// Why nothing more can come from a process. If it was lost, the launcher is told that a failure of
    /// this process has its reason there.
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
}
