//! Which way a packet goes: this is where messages are matched.
//!
//! `reader.rs` asks when a head is complete and there is room for its record, and then does as the
//! route says. A message meets its entry here, in the order of its stream and under the context's
//! lock; a packet that continues one finds its entry by the socket (`More`) or by its token
//! (`Data`).

use oxmpi_wire::o2g::{Done, MATCHED};
use oxmpi_wire::{Envelope, Kind, PREFIX_BYTES, Repr};

use crate::context::Core;
use crate::entries::Arriving;

/// Where a packet's payload goes.
pub(crate) enum Route {
    /// To the memory of an entry, where its message has this offset.
    Place { slot: u32, offset: u64 },
    /// To the dump area. If the message met an entry: which, and how many bytes of the message are
    /// there for it afterwards.
    Dump { slot: Option<u32>, counts: u64 },
}

/// A packet whose head is complete.
pub(crate) struct Packet {
    pub repr: Repr,
    pub payload: usize,
    pub prefix: [u8; PREFIX_BYTES],
}

/// Why a packet goes nowhere.
pub(crate) enum Refusal {
    /// No OxMPI process sends it.
    Garbage,
    /// The unexpected queue is full; the head is read again when there is room.
    Stop,
}

impl Core {
    /// Decides about a packet for whose record there is room.
    pub(crate) fn route(&mut self, index: u32, packet: &Packet) -> Result<Route, Refusal> {
        let Packet { repr, payload, .. } = packet;
        let (envelope, payload) = (&repr.envelope, *payload as u64);
        let continues = self.sockets[index as usize].continues;
        let nobody = Route::Dump {
            slot: None,
            counts: 0,
        };
        match (repr.kind, continues) {
            // No message begins before all of the last eager one is sent, and none is longer than
            // it says.
            (Kind::Eager | Kind::RequestToSend { .. }, Some(_)) => Err(Refusal::Garbage),
            (Kind::Eager, None) if payload > envelope.bytes() => Err(Refusal::Garbage),
            (Kind::Eager, None) => {
                let met = self.meet(index, envelope, false)?;
                Ok(met.map_or(nobody, |slot| self.eager_route(index, slot, payload)))
            }
            (Kind::RequestToSend { .. }, None) => {
                let met = self.meet(index, envelope, true)?;
                let Some(slot) = met else { return Ok(nobody) };
                // Without a buffer the entry is over with its match: the data will come as packets
                // like any other.
                let buffered = self.entries.get(slot).buffered;
                self.owe_answer(index, slot, repr);
                Ok(Route::Dump {
                    slot: Some(slot),
                    counts: if buffered { 0 } else { envelope.bytes() },
                })
            }
            (Kind::More { offset }, Some(slot)) => {
                let arriving = self.entries.arriving(slot).expect(CONTINUES);
                if offset != arriving.arrived || payload > arriving.bytes - arriving.arrived {
                    return Err(Refusal::Garbage);
                }
                Ok(self.eager_route(index, slot, payload))
            }
            (Kind::Data { receive, offset }, _) => {
                let due = self.entries.promised(receive, index, offset, payload);
                Ok(due.map_or(nobody, |slot| Route::Place { slot, offset }))
            }
            _ => Ok(nobody),
        }
    }

    /// Matches a message with a posted entry, or remembers it.
    fn meet(
        &mut self,
        index: u32,
        envelope: &Envelope,
        promised: bool,
    ) -> Result<Option<u32>, Refusal> {
        let Some(matched) = self.queues.arrive(envelope) else {
            if self.must_stop(index, Core::has_unexpected_room) {
                return Err(Refusal::Stop);
            }
            let position = self.area_mut().head();
            let stored = self.queues.store(*envelope, position);
            assert!(stored.is_ok(), "there was room a line above");
            self.counters.unexpected += 1;
            return Ok(None);
        };
        let slot = matched.posted;
        self.counters.matched += 1;
        self.sockets[index as usize].arriving += 1;
        self.entries.meet(
            slot,
            Arriving {
                socket: index,
                promised,
                bytes: envelope.bytes(),
                arrived: 0,
                error: 0,
            },
        );
        let done = Done {
            state: MATCHED,
            source: envelope.source,
            tag: envelope.tag,
            error: 0,
            bytes: envelope.bytes(),
            cookie: self.entries.get(slot).cookie,
        };
        self.area_mut().flag(slot, done);
        Ok(Some(slot))
    }

    /// The way of the next packet of an eager message that met this entry.
    fn eager_route(&mut self, index: u32, slot: u32, payload: u64) -> Route {
        let arriving = self.entries.arriving(slot).expect(CONTINUES);
        let offset = arriving.arrived;
        let more = offset + payload < arriving.bytes;
        self.sockets[index as usize].continues = more.then_some(slot);
        if self.entries.get(slot).buffered {
            return Route::Place { slot, offset };
        }
        Route::Dump {
            slot: Some(slot),
            counts: payload,
        }
    }
}

/// Who keeps it: an entry stays in this state until `finish`, which also ends what names it.
pub(crate) const CONTINUES: &str = "the entry's message is arriving";
