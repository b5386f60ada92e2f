//! Calls on several requests that are nothing but messages. They stay in the table, and the engine
//! is asked about all of them at once.
//!
//! Calls that complete one request out of many (MPI_Waitany, MPI_Testany) hand messages out in the
//! order of their turns. A look at all of them finds the order of those that are over; what is not
//! handed out yet is remembered, so that the next call on the same list need not look again.

use std::cell::Cell;

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::{Listed, Report};
use oxmpi_core::process::Process;
use oxmpi_engine::RequestId;

use super::{Ended, SENT, failed_message, release};
use crate::constant::MPI_REQUEST_NULL;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request_table::table;
use crate::stage;

/// The requests of a call: messages, sends that were over when they were begun, and null ones.
#[derive(Debug)]
pub struct Messages {
    process: &'static Process,
    room: Room,
    /// The first send that was over when it was begun.
    sent: Option<usize>,
}

/// What the calls of a thread use one after the other, so that none has to make it.
#[derive(Debug, Default)]
struct Room {
    listed: Vec<Listed>,
    /// Turns and places of those that are to be handed out.
    ready: Vec<(u64, u32)>,
}

thread_local! {
    static ROOM: Cell<Room> = const { Cell::new(Room { listed: Vec::new(), ready: Vec::new() }) };
    static QUEUE: Cell<Queue> = const { Cell::new(Queue { list: (0, 0), next: Vec::new() }) };
}

/// Messages of a list that are over and not handed out yet.
#[derive(Debug, Default)]
struct Queue {
    /// Address and length of the program's list.
    list: (usize, usize),
    /// The last one is the first to be handed out.
    next: Vec<(Handle, u32, RequestId)>,
}

impl Queue {
    fn list_of(handles: &[Handle]) -> (usize, usize) {
        (handles.as_ptr().addr(), handles.len())
    }
}

/// Completes the message that a look by an earlier call on the same list put first; `None` if there
/// was no such look, or all that it found has been handed out.
pub fn complete_next(handles: &[Handle]) -> Option<(usize, Ended)> {
    let mut queue = QUEUE.take();
    let mut next = None;
    if queue.list == Queue::list_of(handles) {
        // A request that is gone, or was put elsewhere, is of no interest any more.
        let is_there = |&(handle, place, id): &(Handle, u32, RequestId)| {
            handles[place as usize] == handle && table().message(handle) == Some(id)
        };
        while let Some(entry) = queue.next.pop() {
            if is_there(&entry) {
                next = Some(entry);
                break;
            }
        }
    }
    QUEUE.set(queue);
    let (handle, place, id) = next?;
    let outcome = stage::current()?.wait_message(id);
    let outcome = release(handle, outcome);
    Some((place as usize, (outcome, MPI_REQUEST_NULL)))
}

/// How one of several requests ended.
pub struct EndedAt {
    /// Its place in the program's list.
    pub place: usize,
    /// How it ended.
    pub outcome: Result<Report, Failure>,
}

impl Messages {
    /// The requests of a call, if they are nothing but messages. If not, or if one is no request at
    /// all, the call takes the general way.
    #[inline]
    pub fn of(handles: &[Handle]) -> Option<Messages> {
        let mut messages = Messages {
            process: stage::current()?,
            room: ROOM.take(),
            sent: None,
        };
        messages.room.listed.reserve(handles.len());
        let table = table();
        for (place, &handle) in handles.iter().enumerate() {
            if handle == MPI_REQUEST_NULL {
                continue;
            }
            if handle == SENT {
                messages.sent = messages.sent.or(Some(place));
                continue;
            }
            let id = table.message(handle)?;
            let place = place as u32;
            messages.room.listed.push(Listed { place, id });
        }
        drop(table);
        Some(messages)
    }

    /// Whether there is one that a call can complete.
    pub fn is_any_active(&self) -> bool {
        self.sent.is_some() || !self.room.listed.is_empty()
    }

    /// Whether every request of the call is a message.
    pub fn is_every_one(&self, handles: &[Handle]) -> bool {
        self.room.listed.len() == handles.len()
    }

    /// Whether all are over.
    pub fn are_over(&self) -> bool {
        self.room.listed.is_empty() || self.process.are_over(&self.room.listed)
    }

    /// Waits for all messages and tells of each how it ended; all handles are null then. Nothing is
    /// told of requests that are no messages.
    #[inline]
    pub fn complete_all(
        &mut self,
        handles: &mut [Handle],
        mut succeeded: impl FnMut(usize, &Report),
    ) -> Vec<EndedAt> {
        let mut failed: Vec<(u32, ErrorKind)> = Vec::new();
        let listed = &self.room.listed;
        self.process.wait_messages(listed, |number, outcome| {
            let place = listed[number].place;
            match outcome {
                Ok(report) => succeeded(place as usize, &report),
                Err(kind) => failed.push((place, kind)),
            }
        });
        let failed = named(failed, handles);
        release_all(listed, handles);
        if self.sent.is_some() {
            handles.fill(MPI_REQUEST_NULL);
        }
        failed
    }

    /// Completes the request that comes first among those that are over; `None` if none is.
    pub fn complete_any(&mut self, handles: &[Handle]) -> Option<(usize, Ended)> {
        if let Some(place) = self.sent {
            return Some((place, (Ok(Report::EMPTY), MPI_REQUEST_NULL)));
        }
        if self.look(handles).0 == 0 {
            return None;
        }
        let number = self.room.ready[0].1 as usize;
        let Listed { place, id } = self.room.listed[number];
        let outcome = self.process.wait_message(id);
        let outcome = release(handles[place as usize], outcome);
        Some((place as usize, (outcome, MPI_REQUEST_NULL)))
    }

    /// Waits until one request is over and completes it as [`Messages::complete_any`] does; `None`
    /// if there is none to wait for.
    pub fn wait_any(&mut self, handles: &[Handle]) -> Result<Option<(usize, Ended)>, Failure> {
        self.wait_until_ready(handles)?;
        Ok(self.complete_any(handles))
    }

    /// Waits until one request is over, if there is any.
    pub fn wait_until_ready(&mut self, handles: &[Handle]) -> Result<(), Failure> {
        while self.sent.is_none() && !self.room.listed.is_empty() {
            match self.look(handles) {
                // Bytes are coming, or the engine will say soon that they are not.
                (0, true) => std::thread::yield_now(),
                (0, false) => self.process.wait_for_any(&self.room.listed)?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Completes all requests that are over and tells of each how it ended, in the order in which
    /// they are to be handed out; how many there were.
    pub fn complete_some(
        &mut self,
        handles: &mut [Handle],
        mut ended: impl FnMut(usize, EndedAt),
    ) -> usize {
        let mut count = 0;
        if let Some(first) = self.sent {
            for (place, handle) in handles.iter_mut().enumerate().skip(first) {
                if *handle == SENT {
                    *handle = MPI_REQUEST_NULL;
                    let outcome = Ok(Report::EMPTY);
                    ended(count, EndedAt { place, outcome });
                    count += 1;
                }
            }
        }
        let Room { listed, ready } = &mut self.room;
        ready.clear();
        self.process
            .look_at_messages(listed, |number, turn| ready.push((turn, number as u32)));
        ready.sort_unstable();
        let mut over = Vec::with_capacity(ready.len());
        over.extend(ready.iter().map(|&(_, number)| listed[number as usize]));
        let mut failed = Vec::new();
        self.process.wait_messages(&over, |number, outcome| {
            let place = over[number].place as usize;
            match outcome {
                Ok(report) => {
                    let outcome = Ok(report);
                    ended(count + number, EndedAt { place, outcome });
                }
                Err(kind) => failed.push((number, kind)),
            }
        });
        for (number, kind) in failed {
            let place = over[number].place as usize;
            let outcome = Err(failed_message(handles[place], kind));
            ended(count + number, EndedAt { place, outcome });
        }
        release_all(&over, handles);
        count + over.len()
    }

    /// Finds out which messages can be handed out now, the first of them first; how many there
    /// are, and whether one is held back.
    fn look(&mut self, handles: &[Handle]) -> (usize, bool) {
        let Room { listed, ready } = &mut self.room;
        ready.clear();
        let look = self
            .process
            .look_at_messages(listed, |number, turn| ready.push((turn, number as u32)));
        ready.sort_unstable();
        // What ends later comes later, unless it has been matched already.
        if !look.moves && ready.len() > 1 {
            let mut queue = QUEUE.take();
            queue.list = Queue::list_of(handles);
            queue.next.clear();
            queue
                .next
                .extend(ready[1..].iter().rev().map(|&(_, number)| {
                    let Listed { place, id } = listed[number as usize];
                    (handles[place as usize], place, id)
                }));
            QUEUE.set(queue);
        }
        (ready.len(), look.held_back)
    }
}

impl Drop for Messages {
    #[inline]
    fn drop(&mut self) {
        let mut room = std::mem::take(&mut self.room);
        room.listed.clear();
        ROOM.set(room);
    }
}

/// The failures of messages whose places still exist, with their places in the list.
fn named(failed: Vec<(u32, ErrorKind)>, handles: &[Handle]) -> Vec<EndedAt> {
    let name = |(place, kind)| EndedAt {
        place: place as usize,
        outcome: Err(failed_message(handles[place as usize], kind)),
    };
    failed.into_iter().map(name).collect()
}

/// Gives up the places of messages that are over.
#[inline]
fn release_all(messages: &[Listed], handles: &mut [Handle]) {
    let mut unused = Vec::new();
    let mut table = table();
    for message in messages {
        let handle = std::mem::replace(&mut handles[message.place as usize], MPI_REQUEST_NULL);
        unused.extend(table.release(handle));
    }
    drop(table);
    // Only now: a communicator may be much.
    drop(unused);
}
