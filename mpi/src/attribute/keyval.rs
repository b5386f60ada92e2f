//! Keys and the registry that numbers them.
//!
//! A freed key is alive as long as an attribute has it (MPI 5.0 §7.7.2, MPI_COMM_FREE_KEYVAL): the
//! registry then holds it weakly and the attributes strongly, so nobody counts references. Numbers
//! go up and are not given twice before all have been used once; even then a key that is alive
//! keeps its number to itself.

use super::AttributeError;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Keys of programs are numbered from here. Predefined ones lie below: 501 to 507 and 601 to 605.
pub const KEYVAL_MIN: i32 = 1000;

/// Kinds share the numbers out among them, so a key for one kind is never mistaken for one of
/// another.
const KINDS: i32 = 3;

/// How many freed keys are looked at when a key is made or freed. More than one, so that keys that
/// are gone are forgotten faster than they come.
const SWEEP: usize = 4;

/// Called when an object is duplicated, with the old object, the key's number and the value: yields
/// the value for the new object, `None` if it is to have none, or the error code that stops the
/// duplication.
pub type CopyCallback = Box<dyn Fn(u64, i32, usize) -> Result<Option<usize>, i32> + Send + Sync>;

/// Called when an attribute is deleted, with the object, the key's number and the value: yields the
/// error code that stops the deletion.
pub type DeleteCallback = Box<dyn Fn(u64, i32, usize) -> Result<(), i32> + Send + Sync>;

/// A copy callback that copies nothing: MPI_COMM_NULL_COPY_FN and its likes.
pub fn never_copied() -> CopyCallback {
    Box::new(|_, _, _| Ok(None))
}

/// A copy callback that hands the value on: MPI_COMM_DUP_FN and its likes.
pub fn always_copied() -> CopyCallback {
    Box::new(|_, _, value| Ok(Some(value)))
}

/// A delete callback that does nothing: MPI_COMM_NULL_DELETE_FN and its likes.
pub fn nothing_on_delete() -> DeleteCallback {
    Box::new(|_, _, _| Ok(()))
}

/// What attributes are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Communicators.
    Communicator,
    /// Datatypes.
    Datatype,
    /// Windows.
    Window,
}

impl Kind {
    /// The kind's name for messages.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Communicator => "communicators",
            Kind::Datatype => "datatypes",
            Kind::Window => "windows",
        }
    }

    fn first_number(self) -> i32 {
        KEYVAL_MIN + self as i32
    }
}

/// A key for attributes. Clones are the same key.
#[derive(Clone)]
pub struct Keyval {
    key: Arc<Key>,
}

struct Key {
    number: i32,
    copy: CopyCallback,
    delete: DeleteCallback,
}

impl Keyval {
    /// The number the program knows it by.
    pub fn number(&self) -> i32 {
        self.key.number
    }

    pub(super) fn call_copy(
        &self,
        object: u64,
        value: usize,
    ) -> Result<Option<usize>, AttributeError> {
        let keyval = self.key.number;
        (self.key.copy)(object, keyval, value)
            .map_err(|code| AttributeError::CopyFailed { keyval, code })
    }

    pub(super) fn call_delete(&self, object: u64, value: usize) -> Result<(), AttributeError> {
        let keyval = self.key.number;
        (self.key.delete)(object, keyval, value)
            .map_err(|code| AttributeError::DeleteFailed { keyval, code })
    }
}

impl fmt::Debug for Keyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyval({})", self.key.number)
    }
}

/// The keys of a process for one kind of object.
pub struct Keyvals {
    kind: Kind,
    state: Mutex<State>,
}

struct State {
    keys: HashMap<i32, Entry>,
    /// Freed keys, oldest first, that may or may not be gone.
    freed: VecDeque<i32>,
    next: i32,
}

enum Entry {
    /// Can be used for everything.
    Valid(Keyval),
    /// Freed by the program; alive while an attribute has it.
    Freed(Weak<Key>),
}

impl Keyvals {
    /// A registry without keys.
    pub fn new(kind: Kind) -> Keyvals {
        let state = State {
            keys: HashMap::new(),
            freed: VecDeque::new(),
            next: kind.first_number(),
        };
        Keyvals {
            kind,
            state: Mutex::new(state),
        }
    }

    /// Makes a key with these callbacks.
    pub fn create(
        &self,
        copy: CopyCallback,
        delete: DeleteCallback,
    ) -> Result<Keyval, AttributeError> {
        let mut state = self.state();
        state.forget_gone();
        let number = state
            .number(self.kind)
            .ok_or(AttributeError::NoNumberLeft { kind: self.kind })?;
        let keyval = Keyval {
            key: Arc::new(Key {
                number,
                copy,
                delete,
            }),
        };
        state.keys.insert(number, Entry::Valid(keyval.clone()));
        Ok(keyval)
    }

    /// Frees a key. Attributes that have it keep it, with its callbacks; new ones cannot be set. A
    /// key that was freed and is in use is still a key (MPI 5.0 §7.7.2), so freeing it once more
    /// does nothing.
    pub fn free(&self, number: i32) -> Result<(), AttributeError> {
        let mut state = self.state();
        let keyval = match state.keys.get(&number) {
            Some(Entry::Valid(keyval)) => keyval.clone(),
            Some(Entry::Freed(key)) if key.strong_count() > 0 => return Ok(()),
            _ => return Err(self.missing(&state, number)),
        };
        state
            .keys
            .insert(number, Entry::Freed(Arc::downgrade(&keyval.key)));
        state.freed.push_back(number);
        state.forget_gone();
        // The program's callbacks may be dropped with the last reference: not under the lock.
        drop(state);
        drop(keyval);
        Ok(())
    }

    /// The key with this number, for setting an attribute: it must not have been freed.
    pub fn usable(&self, number: i32) -> Result<Keyval, AttributeError> {
        let state = self.state();
        match state.keys.get(&number) {
            Some(Entry::Valid(keyval)) => Ok(keyval.clone()),
            _ => Err(self.missing(&state, number)),
        }
    }

    /// The key with this number, for reading or deleting an attribute: freed is fine, gone is not.
    pub fn alive(&self, number: i32) -> Result<Keyval, AttributeError> {
        let alive = match self.state().keys.get(&number) {
            Some(Entry::Valid(keyval)) => Some(keyval.clone()),
            Some(Entry::Freed(key)) => key.upgrade().map(|key| Keyval { key }),
            None => None,
        };
        alive.ok_or(AttributeError::NoSuchKeyval {
            keyval: number,
            kind: self.kind,
        })
    }

    /// How many keys are alive.
    pub fn count(&self) -> usize {
        let alive = |entry: &&Entry| match entry {
            Entry::Valid(_) => true,
            Entry::Freed(key) => key.strong_count() > 0,
        };
        self.state().keys.values().filter(alive).count()
    }

    fn missing(&self, state: &State, keyval: i32) -> AttributeError {
        match state.keys.get(&keyval) {
            Some(Entry::Freed(key)) if key.strong_count() > 0 => {
                AttributeError::KeyvalFreed { keyval }
            }
            _ => AttributeError::NoSuchKeyval {
                keyval,
                kind: self.kind,
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No callback runs under the lock, so nothing of the program's can poison it.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// A number that no key alive has.
    fn number(&mut self, kind: Kind) -> Option<i32> {
        let first = self.next;
        loop {
            let number = self.next;
            self.next = number.checked_add(KINDS).unwrap_or(kind.first_number());
            match self.keys.get(&number) {
                None => return Some(number),
                Some(Entry::Freed(key)) if key.strong_count() == 0 => {
                    self.freed.retain(|&freed| freed != number);
                    return Some(number);
                }
                Some(_) if self.next == first => return None,
                Some(_) => {}
            }
        }
    }

    /// Forgets a few of the freed keys whose last attribute is gone.
    fn forget_gone(&mut self) {
        for _ in 0..SWEEP.min(self.freed.len()) {
            let Some(number) = self.freed.pop_front() else {
                return;
            };
            match self.keys.get(&number) {
                Some(Entry::Freed(key)) if key.strong_count() == 0 => {
                    self.keys.remove(&number);
                }
                _ => self.freed.push_back(number),
            }
        }
    }
}

#[cfg(test)]
impl Keyvals {
    /// Goes on numbering from here, so that a test need not make two thousand million keys.
    pub(super) fn skip_to(&self, number: i32) {
        self.state().next = number;
    }

    /// How many entries the registry holds, gone ones included.
    pub(super) fn entries(&self) -> usize {
        self.state().keys.len()
    }
}

impl fmt::Debug for Keyvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyvals({}, {})", self.kind.plural(), self.count())
    }
}
