//! Looking at several operations, and waiting for one of them.

use std::cell::Cell;
use std::sync::Arc;

use oxmpi_engine::{Engine, RequestId, Several, keep_first};

use super::AnyRequest;
use crate::error::ErrorKind;
use crate::process::Process;

/// A list of operations, of which a call completes some.
pub trait RequestList {
    /// Calls the function with the place and the operation of each that is active.
    fn each(&self, visit: &mut dyn FnMut(usize, &AnyRequest));
    /// The same, to change them.
    fn each_mut(&mut self, visit: &mut dyn FnMut(usize, &mut AnyRequest));
}

impl RequestList for AnyRequest {
    fn each(&self, visit: &mut dyn FnMut(usize, &AnyRequest)) {
        if self.is_active() {
            visit(0, self);
        }
    }

    fn each_mut(&mut self, visit: &mut dyn FnMut(usize, &mut AnyRequest)) {
        if self.is_active() {
            visit(0, self);
        }
    }
}

/// The messages of a list, for the engine.
struct Messages<'l, L: ?Sized>(&'l L);

impl<L: RequestList + ?Sized> Several for Messages<'_, L> {
    fn each(&self, mut visit: impl FnMut(usize, RequestId)) {
        self.0.each(&mut |at, operation| {
            if let Some(id) = operation.message() {
                visit(at, id);
            }
        });
    }
}

/// Tells of every active operation that is ready, without waiting: its place in the list, and its
/// turn. They are to be handed out by turns, the smallest first; what is no message comes before
/// all messages. True: a message that is there is not told of yet, because an earlier one of the
/// same sender is still on its way to another operation of the list.
pub fn look_at(list: &mut (impl RequestList + ?Sized), mut found: impl FnMut(usize, u64)) -> bool {
    let mut process: Option<Arc<Process>> = None;
    list.each_mut(&mut |at, operation| {
        if operation.message().is_none() {
            if operation.is_ready() {
                found(at, 0);
            }
        } else if process.is_none() {
            process = operation.comm().map(|comm| comm.process.clone());
        }
    });
    let Some(process) = process else {
        return false;
    };
    process.background.step_if_active();
    process.engine.look_at(&Messages(list), found).held_back
}

/// The active operation that is ready and whose turn is first, without waiting.
pub fn first_ready(list: &mut (impl RequestList + ?Sized)) -> Option<usize> {
    look_for_first(list).0
}

fn look_for_first(list: &mut (impl RequestList + ?Sized)) -> (Option<usize>, bool) {
    let mut first = None;
    let held_back = look_at(list, |at, turn| keep_first(&mut first, at, turn));
    (first.map(|(_, at)| at), held_back)
}

thread_local! {
    /// Room for the requests that a thread waits for, so that none is made for each wait.
    static WATCHED: Cell<Vec<RequestId>> = const { Cell::new(Vec::new()) };
}

/// Waits until at least one active operation is ready and tells which comes first; none if none is
/// active.
pub fn wait_ready(list: &mut (impl RequestList + ?Sized)) -> Result<Option<usize>, ErrorKind> {
    let mut watched = WATCHED.take();
    let found = wait_with(list, &mut watched);
    watched.clear();
    WATCHED.set(watched);
    found
}

fn wait_with(
    list: &mut (impl RequestList + ?Sized),
    watched: &mut Vec<RequestId>,
) -> Result<Option<usize>, ErrorKind> {
    loop {
        let (first, held_back) = look_for_first(list);
        if first.is_some() {
            return Ok(first);
        }
        if held_back {
            // Bytes are coming, or the engine will say soon that they are not.
            std::thread::yield_now();
            continue;
        }
        let mut engine: Option<Arc<Engine>> = None;
        let mut active = false;
        // Whether nothing but the engine's requests can make one of them ready.
        let mut only = true;
        watched.clear();
        list.each(&mut |_, operation| {
            active = true;
            let others = watched.len();
            operation.watch(watched);
            only &= watched.len() > others;
            if engine.is_none() {
                engine = operation.engine().cloned();
            }
        });
        if !active {
            return Ok(None);
        }
        let Some(engine) = engine else {
            // Only another thread of the program can end these (generalized requests).
            std::thread::sleep(std::time::Duration::from_micros(20));
            continue;
        };
        let noted = || {
            let mut noted = false;
            list.each(&mut |_, operation| noted |= operation.is_noted());
            noted
        };
        engine.wait_for(watched, noted, only)?;
    }
}
