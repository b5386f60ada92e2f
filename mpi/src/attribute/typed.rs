//! Attributes of Rust programs: values of any type, kept with a communicator.
//!
//! A [`Key`] has the type of its values, so nothing is cast; what another library keeps under its
//! own keys is out of reach. Values are shared, and dropped with the last who has them.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The name of an attribute whose values are `T`, mostly a static of the library that has it.
///
/// ```no_run
/// struct Plan { rounds: u32 }
/// static PLAN: oxmpi::attribute::Key<Plan> = oxmpi::attribute::Key::new();
///
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// // Made at the first call with this communicator, found at the others.
/// let plan = world.attribute_or_insert_with(&PLAN, || Plan { rounds: world.size().ilog2() });
/// println!("{} rounds", plan.rounds);
/// ```
#[derive(Debug)]
pub struct Key<T> {
    number: OnceLock<u64>,
    is_copied: bool,
    of: PhantomData<fn() -> T>,
}

/// Numbers that keys have taken.
static KEYS: AtomicU64 = AtomicU64::new(0);

impl<T> Key<T> {
    /// A key whose values stay with the communicator they were given to.
    pub const fn new() -> Key<T> {
        Key {
            number: OnceLock::new(),
            is_copied: false,
            of: PhantomData,
        }
    }

    /// A key whose values the duplicates of a communicator share.
    pub const fn copied() -> Key<T> {
        Key {
            number: OnceLock::new(),
            is_copied: true,
            of: PhantomData,
        }
    }

    fn number(&self) -> u64 {
        *self
            .number
            .get_or_init(|| KEYS.fetch_add(1, Ordering::Relaxed))
    }
}

impl<T> Default for Key<T> {
    fn default() -> Self {
        Key::new()
    }
}

/// What is kept with one communicator.
#[derive(Default)]
pub(crate) struct Cached(Mutex<BTreeMap<u64, Entry>>);

#[derive(Clone)]
struct Entry {
    value: Arc<dyn Any + Send + Sync>,
    is_copied: bool,
}

impl Cached {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        let entry = self.entries().get(&key.number()).cloned();
        entry.map(value)
    }

    /// The value that was there before is let go of by the caller, without the lock.
    pub(crate) fn set<T: Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        new: Option<Arc<T>>,
    ) -> Option<Arc<T>> {
        let mut entries = self.entries();
        let former = match new {
            None => entries.remove(&key.number()),
            Some(value) => {
                let is_copied = key.is_copied;
                entries.insert(key.number(), Entry { value, is_copied })
            }
        };
        drop(entries);
        former.map(value)
    }

    /// The value of whoever is first.
    pub(crate) fn get_or_set<T: Send + Sync + 'static>(&self, key: &Key<T>, new: Arc<T>) -> Arc<T> {
        let mut entries = self.entries();
        let entry = entries.entry(key.number()).or_insert_with(|| Entry {
            value: new,
            is_copied: key.is_copied,
        });
        value(entry.clone())
    }

    /// What a duplicate begins with.
    pub(crate) fn for_duplicate(&self) -> Cached {
        let entries = self.entries();
        let copied = entries.iter().filter(|(_, entry)| entry.is_copied);
        let copied = copied.map(|(&number, entry)| (number, entry.clone()));
        Cached(Mutex::new(copied.collect()))
    }
}

fn value<T: Send + Sync + 'static>(entry: Entry) -> Arc<T> {
    let value = entry.value.downcast();
    value.unwrap_or_else(|_| unreachable!("a key has values of its own type only"))
}
