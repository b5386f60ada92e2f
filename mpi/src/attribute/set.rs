//! The attributes of one object.
//!
//! A call that deletes marks the attribute, lets go of the lock, calls the program, and takes the
//! lock again to remove it or, if the callback refused, to unmark it. So an attribute is there
//! until its delete callback has agreed. Another thread that wants to change a marked attribute
//! waits for the outcome; the callback itself, which is the marking thread, is told that it cannot.

use super::{AttributeError, Keyval};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

/// How many attributes beyond those it found [`Attributes::delete_all`] deletes before it takes the
/// callbacks that add them for a loop. Tidy programs add none, and 1024 calls are over before
/// anybody notices.
const ADDED_MAX: usize = 1024;

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub struct Attributes {
    entries: Mutex<Entries>,
    /// A delete callback has returned.
    settled: Condvar,
}

#[derive(Default)]
struct Entries {
    /// By a serial number, which tells an attribute from a later one with the same key.
    list: BTreeMap<u64, Entry>,
    /// The serial numbers by the keys.
    serials: BTreeMap<i32, u64>,
    next: u64,
}

struct Entry {
    keyval: Keyval,
    value: usize,
    /// The thread that runs the delete callback.
    deleter: Option<ThreadId>,
}

impl Entries {
    fn find(&self, keyval: i32) -> Option<u64> {
        self.serials.get(&keyval).copied()
    }

    fn push(&mut self, keyval: &Keyval, value: usize) {
        let serial = self.next;
        self.next += 1;
        self.serials.insert(keyval.number(), serial);
        let entry = Entry {
            keyval: keyval.clone(),
            value,
            deleter: None,
        };
        self.list.insert(serial, entry);
    }

    fn remove(&mut self, serial: u64) -> Option<Entry> {
        let entry = self.list.remove(&serial)?;
        self.serials.remove(&entry.keyval.number());
        Some(entry)
    }
}

impl Attributes {
    /// No attributes.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// The value with this key, if there is one.
    pub fn get(&self, keyval: i32) -> Option<usize> {
        let entries = self.lock();
        let entry = entries.list.get(&entries.find(keyval)?)?;
        Some(entry.value)
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.lock().list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets a value, as if the one before had been deleted first; if its delete callback refuses,
    /// it stays. The key must be [usable](super::Keyvals::usable).
    pub fn set(&self, object: u64, keyval: &Keyval, value: usize) -> Result<(), AttributeError> {
        loop {
            let mut entries = self.lock();
            if entries.find(keyval.number()).is_none() {
                entries.push(keyval, value);
                return Ok(());
            }
            // Another thread may delete it while this one waits to mark it: then look again.
            if let Some(marked) = self.mark(entries, keyval.number())? {
                return marked.delete(object, Some((keyval, value)));
            }
        }
    }

    /// Deletes the attribute with this key, if its delete callback agrees.
    pub fn delete(&self, object: u64, keyval: i32) -> Result<(), AttributeError> {
        match self.mark(self.lock(), keyval)? {
            Some(marked) => marked.delete(object, None),
            None => Err(AttributeError::NotSet { keyval }),
        }
    }

    /// Copies these attributes, in the order in which they were set, onto the duplicate of their
    /// object, as the copy callbacks say. If one of these fails, so must the duplication: what was
    /// copied is deleted again from the duplicate, and whatever the delete callbacks say of that is
    /// lost.
    pub fn copy_to(
        &self,
        object: u64,
        duplicate: &Attributes,
        new_object: u64,
    ) -> Result<(), AttributeError> {
        let snapshot: Vec<(Keyval, usize)> = {
            let entries = self.lock();
            entries
                .list
                .values()
                .map(|entry| (entry.keyval.clone(), entry.value))
                .collect()
        };
        for (keyval, value) in snapshot {
            match keyval.call_copy(object, value) {
                Ok(None) => {}
                Ok(Some(value)) => duplicate.lock().push(&keyval, value),
                Err(error) => {
                    duplicate.abandon(new_object);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Deletes all attributes, the one set last first (what MPI 5.0 §11.2.4 asks of MPI_COMM_SELF),
    /// including those that callbacks add meanwhile. Stops at the first callback that refuses: its
    /// attribute and those set before it are still there, and so should the object be.
    pub fn delete_all(&self, object: u64) -> Result<(), AttributeError> {
        let bound = self.len().saturating_add(ADDED_MAX);
        let mut deleted = 0;
        while let Some(keyval) = self.last() {
            if deleted == bound {
                return Err(AttributeError::Endless { keyval, deleted });
            }
            // Another thread may have deleted it while this one waited.
            if let Some(marked) = self.mark(self.lock(), keyval)? {
                marked.delete(object, None)?;
                deleted += 1;
            }
        }
        Ok(())
    }

    /// Deletes all attributes whatever their callbacks say.
    fn abandon(&self, object: u64) {
        loop {
            let mut entries = self.lock();
            let last = entries.list.keys().next_back().copied();
            let Some(entry) = last.and_then(|serial| entries.remove(serial)) else {
                return;
            };
            drop(entries);
            let _refusal = entry.keyval.call_delete(object, entry.value);
        }
    }

    /// The key of the attribute to be deleted next: the last one that no thread is deleting, else
    /// the last.
    fn last(&self) -> Option<i32> {
        let entries = self.lock();
        let free = entries
            .list
            .values()
            .rev()
            .find(|entry| entry.deleter.is_none());
        free.or(entries.list.values().next_back())
            .map(|entry| entry.keyval.number())
    }

    /// Marks the attribute with this key, once no other thread is deleting it. `None` if there is
    /// none (any more).
    fn mark<'a>(
        &'a self,
        mut entries: MutexGuard<'a, Entries>,
        keyval: i32,
    ) -> Result<Option<Marked<'a>>, AttributeError> {
        let this = thread::current().id();
        loop {
            let Some(serial) = entries.find(keyval) else {
                return Ok(None);
            };
            let Some(entry) = entries.list.get_mut(&serial) else {
                return Ok(None);
            };
            match entry.deleter {
                None => {
                    entry.deleter = Some(this);
                    let (keyval, value) = (entry.keyval.clone(), entry.value);
                    return Ok(Some(Marked {
                        set: self,
                        keyval,
                        value,
                        serial,
                        outcome: Outcome::Keep,
                    }));
                }
                Some(deleter) if deleter == this => {
                    return Err(AttributeError::BeingDeleted { keyval });
                }
                Some(_) => {
                    entries = self
                        .settled
                        .wait(entries)
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // No callback runs under the lock, so nothing of the program's can poison it.
        self.entries
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// An attribute whose delete callback runs; nobody else changes it until this is dropped, which
/// settles it by the outcome. A callback that panics leaves the attribute as it was.
struct Marked<'a> {
    set: &'a Attributes,
    keyval: Keyval,
    value: usize,
    serial: u64,
    outcome: Outcome,
}

/// What becomes of a marked attribute.
enum Outcome {
    /// Its callback refused.
    Keep,
    /// Its callback agreed.
    Remove,
    /// Its callback agreed, and this is the new value, which counts as set last.
    Replace(Keyval, usize),
}

impl Marked<'_> {
    fn delete(
        mut self,
        object: u64,
        replacement: Option<(&Keyval, usize)>,
    ) -> Result<(), AttributeError> {
        self.keyval.call_delete(object, self.value)?;
        self.outcome = match replacement {
            Some((keyval, value)) => Outcome::Replace(keyval.clone(), value),
            None => Outcome::Remove,
        };
        Ok(())
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        let mut entries = self.set.lock();
        let mut removed = None;
        match &self.outcome {
            Outcome::Keep => {
                if let Some(entry) = entries.list.get_mut(&self.serial) {
                    entry.deleter = None;
                }
            }
            _ => removed = entries.remove(self.serial),
        }
        if let Outcome::Replace(keyval, value) = &self.outcome {
            entries.push(keyval, *value);
        }
        // The key may go with its last attribute, and the program's callbacks with the key: not
        // under the lock.
        drop(entries);
        drop(removed);
        self.set.settled.notify_all();
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.lock();
        f.debug_map()
            .entries(
                entries
                    .list
                    .values()
                    .map(|entry| (entry.keyval.number(), entry.value)),
            )
            .finish()
    }
}
