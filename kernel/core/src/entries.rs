//! The entries: receives that the process has put, by slot, each with what is known of its message.
//!
//! An entry waits in the posted queue (`Waiting`), then belongs to the socket whose message it met
//! (`Arriving`), and is over when all of the message is there, when it is cancelled, or when the
//! socket ends. Its memory may be let go from then on, and not before: the slot goes to the list of
//! released ones and can be used again when the shim has taken it from there.

use alloc::vec::Vec;

use oxmpi_matching::PostedId;
use oxmpi_wire::o2g;

use crate::error::PutError;

pub(crate) struct Entries {
    slots: Vec<Slot>,
    /// Slots whose memory can be let go; each at most once, so the capacity is never passed.
    released: Vec<u32>,
}

#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub cookie: u64,
    /// Length of the buffer.
    pub capacity_bytes: u64,
    /// There is a buffer.
    pub buffered: bool,
    /// The buffer can be written in a softirq.
    pub pinned: bool,
    /// A request to send that it meets is to be answered by the driver.
    pub answers: bool,
    /// It has met one, and that is not answered.
    pub unanswered: bool,
    /// Of those that wait for an answer to their socket: the next one.
    pub next_answer: Option<u32>,
    /// The sender's token of its request.
    pub send: u64,
    /// The shim may have memory for the slot.
    held: bool,
    pub state: State,
}

#[derive(Clone, Copy)]
pub(crate) enum State {
    /// There was never an entry, or it was cancelled.
    Free,
    /// In the posted queue.
    Waiting(PostedId),
    /// Matched with a message that is not all there.
    Arriving(Arriving),
    /// Its message is there, or will never be.
    Over,
}

/// A message on its way into an entry.
#[derive(Clone, Copy)]
pub(crate) struct Arriving {
    /// The index of the socket that brings it.
    pub socket: u32,
    /// Its bytes come as `Data`, once the process has asked for them.
    pub promised: bool,
    /// Length of the message.
    pub bytes: u64,
    /// How much of it has come.
    pub arrived: u64,
    /// 0, or the errno of the first copy that failed; nothing is copied after it.
    pub error: u32,
}

impl Entries {
    pub(crate) fn new(n_entries: u32) -> Entries {
        let blank = Slot {
            cookie: 0,
            capacity_bytes: 0,
            buffered: false,
            pinned: false,
            answers: false,
            unanswered: false,
            next_answer: None,
            send: 0,
            held: false,
            state: State::Free,
        };
        let count = n_entries as usize;
        let mut slots = Vec::with_capacity(count);
        slots.resize(count, blank);
        Entries {
            slots,
            released: Vec::with_capacity(count),
        }
    }

    /// Bytes that `new` allocates for one entry.
    pub(crate) const BYTES_PER_ENTRY: usize = size_of::<Slot>() + size_of::<u32>();

    pub(crate) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// The slot that a cookie names, if an entry may be put there.
    pub(crate) fn vacant(&self, cookie: u64) -> Result<u32, PutError> {
        let slot = cookie as u32;
        let n_entries = self.len();
        match self.slots.get(slot as usize) {
            None => Err(PutError::Slot { slot, n_entries }),
            Some(taken) if taken.held => Err(PutError::Busy { slot }),
            Some(_) => Ok(slot),
        }
    }

    /// Fills a vacant slot with an entry that waits.
    pub(crate) fn put(&mut self, entry: &o2g::Entry, pinned: bool, posted: PostedId) {
        let buffered = entry.flags & o2g::NO_BUFFER == 0;
        self.slots[entry.cookie as u32 as usize] = Slot {
            cookie: entry.cookie,
            capacity_bytes: if buffered { entry.bytes } else { 0 },
            buffered,
            pinned,
            answers: buffered && entry.flags & o2g::ANSWER != 0,
            unanswered: false,
            next_answer: None,
            send: 0,
            held: true,
            state: State::Waiting(posted),
        };
    }

    /// The slot of the entry that a cookie names.
    pub(crate) fn find(&self, cookie: u64) -> Option<u32> {
        let slot = self.slots.get(cookie as u32 as usize)?;
        let named = slot.cookie == cookie && !matches!(slot.state, State::Free);
        named.then_some(cookie as u32)
    }

    /// The entry, to be changed.
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// The posted entry has met a message.
    pub(crate) fn meet(&mut self, slot: u32, arriving: Arriving) {
        self.slots[slot as usize].state = State::Arriving(arriving);
    }

    /// The message that arrives in an entry.
    pub(crate) fn arriving(&mut self, slot: u32) -> Option<&mut Arriving> {
        match &mut self.slots[slot as usize].state {
            State::Arriving(arriving) => Some(arriving),
            _ => None,
        }
    }

    /// The slot that `Data` with this token belongs into: promised by this socket, and within the
    /// message.
    pub(crate) fn promised(
        &mut self,
        cookie: u64,
        socket: u32,
        offset: u64,
        payload: u64,
    ) -> Option<u32> {
        let slot = self.find(cookie)?;
        if self.get(slot).unanswered {
            return None;
        }
        let arriving = self.arriving(slot)?;
        let due = arriving.promised && arriving.socket == socket;
        let within = payload <= arriving.bytes - arriving.arrived
            && offset
                .checked_add(payload)
                .is_some_and(|end| end <= arriving.bytes);
        (due && within).then_some(slot)
    }

    /// The entry is over, and its memory can be let go.
    pub(crate) fn end(&mut self, slot: u32, state: State) {
        self.slots[slot as usize].state = state;
        self.released.push(slot);
    }

    /// Takes a slot whose memory can be let go; afterwards it is vacant.
    pub(crate) fn next_released(&mut self) -> Option<u32> {
        let slot = self.released.pop()?;
        self.slots[slot as usize].held = false;
        Some(slot)
    }

    /// A slot whose message was to come from this socket.
    pub(crate) fn any_of_socket(&self, from: u32, socket: u32) -> Option<u32> {
        (from..self.len()).find(|&slot| {
            matches!(self.get(slot).state, State::Arriving(arriving) if arriving.socket == socket)
        })
    }
}
