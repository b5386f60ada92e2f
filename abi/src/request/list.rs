//! Calls on several requests of any kind: their operations are taken out of the table together.

use std::cell::Cell;

use oxmpi_core::any_request::{AnyRequest, RequestList, look_at};

use super::{Taken, take_by};
use crate::caller::Entry;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request_table::table;

/// The requests of a call on several, taken out: they go back when this is dropped, except those
/// that were concluded for good.
#[derive(Debug)]
pub struct All {
    taken: Vec<Option<Taken>>,
    /// Turns and places of those that are ready.
    ready: Vec<(u64, usize)>,
}

/// What an [`All`] leaves for the next one of its thread, so that no call has to make it.
type Room = (Vec<Option<Taken>>, Vec<(u64, usize)>);

thread_local! {
    static ROOM: Cell<Room> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// Takes out all of them; an error names the first that is none, and then nothing is taken.
pub fn take_all(handles: &[Handle]) -> Result<All, Failure> {
    let (taken, ready) = ROOM.take();
    let mut all = All { taken, ready };
    match all.take(handles) {
        None => Ok(all),
        Some((index, failure)) => {
            let entry = Entry("array_of_requests", index);
            let text = format!("{entry}: {}", failure.text());
            Err(Failure::new(failure.code(), text))
        }
    }
}

impl All {
    /// Takes them out under one hold of the lock; which one is none, and why.
    fn take(&mut self, handles: &[Handle]) -> Option<(usize, Failure)> {
        let mut table = table();
        for (index, &handle) in handles.iter().enumerate() {
            match take_by(handle, |handle| table.take(handle)) {
                Ok(taken) => self.taken.push(taken),
                Err(failure) => return Some((index, failure)),
            }
        }
        None
    }

    /// Whether there is one that a call can complete.
    pub fn is_any_active(&self) -> bool {
        self.taken.iter().any(is_active)
    }

    /// Those that a call can complete, with their places.
    pub fn active(&mut self) -> impl Iterator<Item = (usize, &mut Taken)> {
        let taken = self.taken.iter_mut().enumerate();
        taken
            .filter(|(_, taken)| is_active(taken))
            .filter_map(|(index, taken)| Some((index, taken.as_mut()?)))
    }

    /// The places of null and inactive ones, which are complete at once and have an empty status.
    pub fn inactive(&self) -> impl Iterator<Item = usize> {
        let taken = self.taken.iter().enumerate();
        taken.filter_map(|(index, taken)| (!is_active(taken)).then_some(index))
    }

    /// The request at a place that is active.
    pub fn at(&mut self, index: usize) -> &mut Taken {
        self.taken[index]
            .as_mut()
            .expect("a place that a look found has a request")
    }

    /// Looks which are ready now and puts their places in the order in which they are to be handed
    /// out; tells how many.
    pub fn find_ready(&mut self) -> usize {
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        look_at(self, |index, turn| ready.push((turn, index)));
        ready.sort_unstable();
        self.ready = ready;
        self.ready.len()
    }

    /// The places that [`All::find_ready`] found, by their number.
    pub fn ready(&self, number: usize) -> usize {
        self.ready[number].1
    }
}

fn is_active(taken: &Option<Taken>) -> bool {
    taken.as_ref().is_some_and(Taken::is_active)
}

impl RequestList for All {
    fn each(&self, visit: &mut dyn FnMut(usize, &AnyRequest)) {
        for (index, taken) in self.taken.iter().enumerate() {
            if let Some(operation) = taken.as_ref().and_then(|taken| taken.operation.as_ref())
                && operation.is_active()
            {
                visit(index, operation);
            }
        }
    }

    fn each_mut(&mut self, visit: &mut dyn FnMut(usize, &mut AnyRequest)) {
        self.active()
            .for_each(|(index, taken)| visit(index, taken.operation()));
    }
}

impl Drop for All {
    fn drop(&mut self) {
        let mut unused = Vec::new();
        let mut table = table();
        for taken in self.taken.iter_mut().flatten() {
            unused.extend(taken.settle(&mut table));
        }
        drop(table);
        // Only now: what the operations held may be much.
        drop(unused);
        self.taken.clear();
        let taken = std::mem::take(&mut self.taken);
        ROOM.set((taken, std::mem::take(&mut self.ready)));
    }
}
