//! Where a message goes: to the receive that waited for it, to the handler, or to a record until a
//! receive comes.

use crate::bits::NONE;
use crate::endpoint::Endpoint;
use crate::error::{EMSGSIZE, VerdictError};
use crate::peer::{Arrival, Phase, Place};
use crate::pool::Chain;
use crate::records::{Answer, Record, What};
use crate::requests::{Claimed, PeerToken, Receiving, State, Status, Token};

/// What the handler says about a message that no receive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for a receive.
    Leave,
    /// The handler has seen enough of it; its bytes are thrown away, or never sent if they were
    /// offered.
    Take,
    /// It goes into memory of so many bytes, as a request with this name of the caller's.
    Into {
        /// What [`Completion::user`](crate::Completion::user) will be.
        user: u64,
        /// Bytes of the memory.
        capacity: u64,
    },
}

/// Bytes of an unexpected message, to be copied to its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where they belong.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// The credits that a message holds leave room for its record and its bytes.
pub(crate) struct NoRoom;

impl Endpoint {
    /// A message's head is there, and its units are charged. Sets what its payload is.
    pub(crate) fn arrive(&mut self, slot: u32, arrival: Arrival) -> Result<(), NoRoom> {
        if let Some(number) = self.queues.arrive(arrival.bits) {
            let State::Waiting { capacity, .. } = *self.requests.state(number) else {
                return Err(NoRoom);
            };
            self.meet(slot, arrival, number, capacity);
            return Ok(());
        }
        if self.bounds.handler {
            self.peers[slot as usize].phase = Phase::Judge(arrival);
            return Ok(());
        }
        self.keep(slot, arrival)
    }

    /// The message goes straight to a request.
    fn meet(&mut self, slot: u32, arrival: Arrival, number: u32, capacity: u64) {
        let peer = &mut self.peers[slot as usize];
        peer.credit.release(arrival.units());
        let receiving = Receiving {
            peer: slot,
            offer: arrival.offer,
            bits: arrival.bits,
            bytes: arrival.bytes,
            capacity,
            arrived: 0,
            placed: 0,
            error: 0,
        };
        self.requests.set(number, State::Receiving(receiving));
        peer.phase = Phase::Head;
        if arrival.offer.is_some() {
            self.requests.links.push(&mut peer.urgent, number);
        } else if arrival.bytes == 0 {
            self.end_receiving(number, receiving, 0);
        } else {
            peer.phase = Phase::Place(Place {
                request: number,
                left: arrival.bytes as usize,
                pending: 0,
            });
        }
    }

    /// The message waits for a receive.
    fn keep(&mut self, slot: u32, arrival: Arrival) -> Result<(), NoRoom> {
        let number = self.records.vacant().ok_or(NoRoom)?;
        let queued = self.queues.store(arrival.bits, number);
        let queued = queued.map_err(|_| NoRoom)?;
        let what = match arrival.offer {
            Some(send) => What::Offer { send, queued },
            None => What::Eager {
                chain: Chain::EMPTY,
                queued: Some(queued),
                claimed: None,
            },
        };
        self.fill_record(number, slot, &arrival, what);
        self.peers[slot as usize].phase = match arrival.offer {
            None if arrival.bytes > 0 => Phase::Store {
                record: number,
                left: arrival.bytes as usize,
            },
            _ => Phase::Head,
        };
        Ok(())
    }

    fn fill_record(&mut self, number: u32, slot: u32, arrival: &Arrival, what: What) {
        let record = Record {
            slot,
            peer: self.peer_token(slot),
            bits: arrival.bits,
            bytes: arrival.bytes,
            units: arrival.units(),
            what,
        };
        self.records.fill(number, record);
    }

    /// The handler's answer to [`Step::Unexpected`](crate::Step::Unexpected). The token is that of
    /// the request which was made for the memory.
    pub fn verdict(
        &mut self,
        peer: PeerToken,
        verdict: Verdict,
    ) -> Result<Option<Token>, VerdictError> {
        let slot = self.slot(peer).ok_or(VerdictError::Unasked)?;
        let Phase::Judge(arrival) = self.peers[slot as usize].phase else {
            return Err(VerdictError::Unasked);
        };
        match verdict {
            Verdict::Leave => {
                // A receive may have been posted since the handler was asked.
                let waiting = self.queues.arrive(arrival.bits);
                if let Some(number) = waiting
                    && let State::Waiting { capacity, .. } = *self.requests.state(number)
                {
                    self.meet(slot, arrival, number, capacity);
                    return Ok(None);
                }
                let kept = self.keep(slot, arrival);
                kept.map(|()| None).map_err(|NoRoom| VerdictError::Full)
            }
            Verdict::Take => {
                self.take(slot, arrival)?;
                Ok(None)
            }
            Verdict::Into { user, capacity } => {
                let number = self.requests.vacant().ok_or(VerdictError::Full)?;
                let token = self.requests.fill(number, user, State::Free);
                self.meet(slot, arrival, number, capacity);
                Ok(Some(token))
            }
        }
    }

    fn take(&mut self, slot: u32, arrival: Arrival) -> Result<(), VerdictError> {
        let Some(send) = arrival.offer else {
            let peer = &mut self.peers[slot as usize];
            peer.credit.release(arrival.units());
            peer.phase = Phase::Discard {
                left: arrival.bytes as usize,
            };
            return Ok(());
        };
        // The record holds the units until the answer has left: answers are bounded as offers are.
        let number = self.records.vacant().ok_or(VerdictError::Full)?;
        let answer = Answer::Taken;
        self.fill_record(number, slot, &arrival, What::Reply { send, answer });
        let peer = &mut self.peers[slot as usize];
        self.records.links.push(&mut peer.replies, number);
        peer.phase = Phase::Head;
        Ok(())
    }

    /// A new request gets a message that waited.
    pub(crate) fn meet_record(&mut self, number: u32, record: u32, capacity: u64) {
        let kept = *self.records.get(record);
        match kept.what {
            What::Eager { chain, .. } => {
                let claimed = Claimed {
                    record,
                    capacity,
                    block: NONE,
                    offset: 0,
                };
                self.requests.set(number, State::Claimed(claimed));
                self.records.get_mut(record).what = What::Eager {
                    chain,
                    queued: None,
                    claimed: Some(number),
                };
                if chain.bytes == kept.bytes {
                    self.ready_to_copy(number, chain);
                }
            }
            What::Offer { send, .. } => {
                self.free_record(record);
                let receiving = Receiving {
                    peer: kept.slot,
                    offer: Some(send),
                    bits: kept.bits,
                    bytes: kept.bytes,
                    capacity,
                    arrived: 0,
                    placed: 0,
                    error: 0,
                };
                self.requests.set(number, State::Receiving(receiving));
                let list = &mut self.peers[kept.slot as usize].urgent;
                self.requests.links.push(list, number);
            }
            // Only messages are in the queue.
            What::Free | What::Reply { .. } => {}
        }
    }

    /// Bytes of a message that is kept. How many were used: all, or the message is over.
    pub(crate) fn store(&mut self, record: u32, data: &[u8]) -> Result<(), NoRoom> {
        let kept = self.records.get_mut(record);
        let What::Eager { chain, claimed, .. } = &mut kept.what else {
            return Err(NoRoom);
        };
        if !self.pool.append(chain, data) {
            return Err(NoRoom);
        }
        let (chain, claimed, whole) = (*chain, *claimed, chain.bytes == kept.bytes);
        if whole && let Some(number) = claimed {
            self.ready_to_copy(number, chain);
        }
        Ok(())
    }

    fn ready_to_copy(&mut self, number: u32, chain: Chain) {
        if let Some(claimed) = self.requests.claimed(number) {
            claimed.block = chain.first;
        }
        let copies = &mut self.requests.copies;
        self.requests.links.push(copies, number);
    }

    /// The next receive whose unexpected message is all there: copy its [pieces](Self::next_piece)
    /// and call [`Endpoint::copied`].
    pub fn next_copy(&mut self) -> Option<Token> {
        let copies = &mut self.requests.copies;
        let number = self.requests.links.pop(copies)?;
        Some(self.requests.token(number))
    }

    /// The next bytes of a receive that [`Endpoint::next_copy`] has named.
    pub fn next_piece(&mut self, request: Token) -> Option<Piece<'_>> {
        let number = self.requests.find(request.0)?;
        let claimed = self.requests.claimed(number)?;
        let record = self.records.get(claimed.record);
        let bytes = record.bytes.min(claimed.capacity);
        let offset = claimed.offset;
        let (run, next) = self.pool.run(claimed.block, bytes.checked_sub(offset)?);
        if run.is_empty() {
            return None;
        }
        claimed.block = next;
        claimed.offset += run.len() as u64;
        Some(Piece { offset, bytes: run })
    }

    /// All pieces have been copied, or could not be: `error` is an errno. The receive is over.
    pub fn copied(&mut self, request: Token, error: u32) {
        let Some(number) = self.requests.find(request.0) else {
            return;
        };
        let Some(&mut claimed) = self.requests.claimed(number) else {
            return;
        };
        let record = *self.records.get(claimed.record);
        if !matches!(record.what, What::Eager { chain, .. } if chain.bytes == record.bytes) {
            return;
        }
        let copies = &mut self.requests.copies;
        self.requests.links.remove(copies, number);
        self.free_record(claimed.record);
        let truncated = record.bytes > claimed.capacity;
        let status = Status {
            error: if error == 0 && truncated {
                EMSGSIZE
            } else {
                error
            },
            bits: record.bits,
            bytes: record.bytes,
            placed: claimed.offset,
            peer: Some(record.peer),
        };
        self.requests.end(number, status);
    }

    /// The sender takes an offer back. One that is not there has been answered already.
    pub(crate) fn take_back(&mut self, slot: u32, send: u64) {
        let Some(number) = self.records.offer(slot, send) else {
            return;
        };
        let mut record = *self.records.get(number);
        if let What::Offer { queued, .. } = record.what {
            self.queues.withdraw(queued);
        }
        let answer = Answer::Cancelled;
        record.what = What::Reply { send, answer };
        self.records.set(number, record);
        let peer = &mut self.peers[slot as usize];
        self.records.links.push(&mut peer.replies, number);
    }

    /// Frees a record, its blocks and its units.
    pub(crate) fn free_record(&mut self, number: u32) {
        let record = *self.records.get(number);
        match record.what {
            What::Free => return,
            What::Eager { chain, queued, .. } => {
                if let Some(queued) = queued {
                    self.queues.withdraw(queued);
                }
                self.pool.free(chain);
            }
            What::Offer { queued, .. } => {
                self.queues.withdraw(queued);
            }
            What::Reply { .. } => {}
        }
        self.records.release(number);
        let credit = &mut self.peers[record.slot as usize].credit;
        credit.release(record.units);
    }

    /// Frees a record of a peer that is lost, unless it is a message that is all there.
    pub(crate) fn drop_record_of(&mut self, number: u32, slot: u32) {
        let record = self.records.get(number);
        let whole = matches!(record.what, What::Eager { chain, .. } if chain.bytes == record.bytes);
        if record.slot == slot && !whole {
            self.free_record(number);
        }
    }
}
