//! A session: a client that may lose its connection, and the server its process, without anything
//! being done twice.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use oxmpi_oxk::{PeerToken, Pending};

use super::link::Link;
use super::slots::{Facts, Head, Kept, KeptOpen, OPENS_MAX, SlotFile};
use crate::protocol::{Reply, SLOTS_MAX};
use crate::sys::{Errno, Sys, errno};

/// A file or folder that a client has open.
pub(crate) struct Open {
    pub id: u64,
    pub node: u64,
    pub flags: u32,
    pub file: File,
    /// Where the session's file has it.
    pub place: u32,
    /// The position of a folder is used by one thread at a time.
    pub position: Mutex<()>,
}

/// What a slot has.
#[derive(Clone)]
enum Slot {
    /// The last operation is over; its reply, if there was one.
    Over { sequence: u32, reply: Box<Reply> },
    /// It is being done; where the reply goes.
    Busy { sequence: u32, to: Address },
}

/// Where a reply goes.
#[derive(Clone)]
pub(crate) struct Address {
    pub link: Weak<Link>,
    pub peer: PeerToken,
    pub operation: u16,
    pub transaction: u64,
}

/// What is to be done about a request in a slot.
pub(crate) enum Admitted {
    /// It is new.
    New,
    /// It was done; this was the reply.
    Done(Box<Reply>),
    /// It is being done; the reply goes to whoever asked last.
    UnderWay,
    /// No client asks for that.
    Never,
}

pub(crate) struct State {
    slots: Vec<Slot>,
    pub opens: HashMap<u64, Arc<Open>>,
    /// Opens of an earlier server, until they are reclaimed.
    pub reclaimable: HashMap<u64, KeptOpen>,
    places: Vec<u32>,
    pub link: Weak<Link>,
    /// Taken up since this server was started.
    pub known: bool,
    pub ended: bool,
    locks: bool,
}

pub(crate) struct Session {
    pub id: u64,
    pub name: (u64, u64),
    file: SlotFile,
    state: Mutex<State>,
    /// When the client was last heard of. Apart from the state, which is held while a disk writes.
    seen: Mutex<Instant>,
    recalls: Mutex<Recalls>,
}

/// Whether changes of others wait for this client's answers to recalls.
#[derive(Default)]
enum Recalls {
    #[default]
    WaitedFor,
    /// It let one lapse, so what it cached then was its own affair. It is told of changes, and none
    /// waits for it, until it has answered this one.
    Lapsed(Option<Pending>),
}

/// What an earlier server had begun in a slot.
pub(crate) struct Begun {
    pub slot: u32,
    pub sequence: u32,
    pub operation: u16,
    pub facts: Facts,
    pub request: Vec<u8>,
}

impl Session {
    pub(crate) fn create(folder: &Path, id: u64, name: (u64, u64)) -> Sys<Session> {
        let locks = false;
        let head = Head {
            session: id,
            name,
            locks,
        };
        let file = SlotFile::create(folder, head).map_err(|error| errno(&error))?;
        let mut state = State::fresh();
        state.known = true;
        let state = Mutex::new(state);
        Ok(Session {
            id,
            name,
            file,
            state,
            seen: Mutex::new(Instant::now()),
            recalls: Mutex::default(),
        })
    }

    /// A session of an earlier server; what it had begun, and whether it held locks.
    pub(crate) fn recover(file: SlotFile, head: Head) -> (Session, Vec<Begun>, bool) {
        let mut state = State::fresh();
        let mut begun = Vec::new();
        for slot in 0..SLOTS_MAX as u32 {
            match file.read_slot(slot) {
                None => {}
                Some(Kept::Result { sequence, reply }) => {
                    state.slots[slot as usize] = Slot::Over { sequence, reply };
                }
                Some(Kept::Intent {
                    sequence,
                    operation,
                    facts,
                    request,
                }) => {
                    // Not done, as long as nobody finds that it was.
                    state.slots[slot as usize] = Slot::Over {
                        sequence: sequence.wrapping_sub(1),
                        reply: Box::default(),
                    };
                    begun.push(Begun {
                        slot,
                        sequence,
                        operation,
                        facts,
                        request,
                    });
                }
            }
        }
        let kept = file.read_opens();
        state
            .places
            .retain(|place| kept.iter().all(|kept| kept.place != *place));
        state.reclaimable = kept.into_iter().map(|kept| (kept.open, kept)).collect();
        let session = Session {
            id: head.session,
            name: head.name,
            file,
            state: Mutex::new(state),
            seen: Mutex::new(Instant::now()),
            recalls: Mutex::default(),
        };
        (session, begun, head.locks)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client was heard of.
    pub(crate) fn hear(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// For how long the client was silent. A time in which the server itself stood still, and could
    /// not hear anybody, is none of the client's: that much ends now.
    pub(crate) fn silence(&self, deaf: Duration) -> Duration {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (*seen + deaf).min(now);
        now.duration_since(*seen)
    }

    fn recalls(&self) -> MutexGuard<'_, Recalls> {
        self.recalls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who waits for the answer to a recall has waited for too long.
    pub(crate) fn let_lapse(&self, unanswered: Pending) {
        *self.recalls() = Recalls::Lapsed(Some(unanswered));
    }

    /// The client is asked to forget something: the answer, if it is to be waited for.
    pub(crate) fn awaited(&self, asked: Pending) -> Option<Pending> {
        let mut recalls = self.recalls();
        let Recalls::Lapsed(one) = &mut *recalls else {
            return Some(asked);
        };
        match one.take().map(|one| one.wait_for(Duration::ZERO)) {
            Some(Ok(answer)) if answer.status.error == 0 => {
                *recalls = Recalls::WaitedFor;
                return Some(asked);
            }
            Some(Err(pending)) => *one = Some(pending),
            // Its connection was lost before the answer: now this one is to be answered.
            _ => *one = Some(asked),
        }
        None
    }

    /// A request comes in a slot.
    pub(crate) fn admit(&self, slot: u32, sequence: u32, to: &Address) -> Admitted {
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(slot as usize) else {
            return Admitted::Never;
        };
        match slot {
            Slot::Busy {
                sequence: same,
                to: asker,
            } if *same == sequence => {
                *asker = to.clone();
                Admitted::UnderWay
            }
            Slot::Over {
                sequence: same,
                reply,
            } if *same == sequence && sequence != 0 => Admitted::Done(reply.clone()),
            Slot::Over { sequence: last, .. } if last.wrapping_add(1) == sequence => {
                *slot = Slot::Busy {
                    sequence,
                    to: to.clone(),
                };
                Admitted::New
            }
            _ => Admitted::Never,
        }
    }

    /// The facts are written before the change is made.
    pub(crate) fn intend(
        &self,
        slot: u32,
        sequence: u32,
        operation: u16,
        facts: &Facts,
        request: &[u8],
    ) -> Sys<()> {
        let written = self
            .file
            .write_intent(slot, sequence, operation, facts, request);
        written.map_err(|error| errno(&error))
    }

    /// The operation of a slot is over; where the reply goes.
    pub(crate) fn finish(&self, slot: u32, reply: &Reply) -> Option<Address> {
        let mut state = self.lock();
        let slots = state.slots.get_mut(slot as usize)?;
        let Slot::Busy { sequence, to } = slots.clone() else {
            return None;
        };
        // Without the record a next server would find out by the facts.
        let _ = self.file.write_result(slot, sequence, reply);
        let reply = Box::new(*reply);
        *slots = Slot::Over { sequence, reply };
        Some(to)
    }

    /// What an earlier server had begun was done.
    pub(crate) fn was_done(&self, begun: &Begun, reply: &Reply) {
        let _ = self.file.write_result(begun.slot, begun.sequence, reply);
        let mut state = self.lock();
        if let Some(slot) = state.slots.get_mut(begun.slot as usize) {
            *slot = Slot::Over {
                sequence: begun.sequence,
                reply: Box::new(*reply),
            };
        }
    }

    /// A place for one more open.
    pub(crate) fn take_place(&self) -> Sys<u32> {
        let place = self.lock().places.pop();
        place.ok_or(libc::ENFILE as Errno)
    }

    pub(crate) fn add_open(&self, open: Open) -> Sys<Arc<Open>> {
        let kept = KeptOpen {
            open: open.id,
            node: open.node,
            flags: open.flags,
            place: open.place,
        };
        let mut state = self.lock();
        if state.ended {
            return Err(libc::EKEYEXPIRED as Errno);
        }
        self.file.write_open(&kept).map_err(|error| errno(&error))?;
        let open = Arc::new(open);
        state.reclaimable.remove(&open.id);
        state.opens.insert(open.id, open.clone());
        Ok(open)
    }

    pub(crate) fn give_place(&self, place: u32) {
        let _ = self.file.clear_open(place);
        self.lock().places.push(place);
    }

    /// The open, if the session has it and it is of this node (0: of any).
    pub(crate) fn open(&self, open: u64, node: u64) -> Sys<Arc<Open>> {
        let state = self.lock();
        let found = state.opens.get(&open).ok_or(libc::EBADF as Errno)?;
        match node == 0 || found.node == node {
            true => Ok(found.clone()),
            false => Err(libc::EBADF as Errno),
        }
    }

    /// Notes on disk whether the session holds locks, when that changes.
    pub(crate) fn hold_locks(&self, locks: bool) {
        let mut state = self.lock();
        if state.locks != locks {
            state.locks = locks;
            let head = Head {
                session: self.id,
                name: self.name,
                locks,
            };
            let _ = self.file.write_head(head);
        }
    }

    pub(crate) fn remove_file(&self) {
        self.file.remove();
    }
}

impl State {
    fn fresh() -> State {
        let fresh = Slot::Over {
            sequence: 0,
            reply: Box::default(),
        };
        State {
            slots: vec![fresh; SLOTS_MAX],
            opens: HashMap::new(),
            reclaimable: HashMap::new(),
            places: (0..OPENS_MAX as u32).rev().collect(),
            link: Weak::new(),
            known: false,
            ended: false,
            locks: false,
        }
    }
}
