//! Attributes of Rust programs on communicators (MPI 5.0 §7.7): what a library keeps with the
//! communicator it was given.

use std::sync::Arc;

use super::Communicator;
use crate::attribute::Key;
use crate::thread::Level;

impl<L: Level> Communicator<'_, L> {
    /// What was kept with this communicator under a key; see [`Key`].
    pub fn attribute<T: Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        self.comm.cached().get(key)
    }

    /// Keeps a value with this communicator; tells the one that was there before.
    pub fn set_attribute<T: Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        value: impl Into<Arc<T>>,
    ) -> Option<Arc<T>> {
        self.comm.cached().set(key, Some(value.into()))
    }

    /// What is kept under a key, or what `make` gives, which is kept from now on.
    pub fn attribute_or_insert_with<T: Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        match self.attribute(key) {
            Some(value) => value,
            // Another thread may have been quicker: both get the same.
            None => self.comm.cached().get_or_set(key, Arc::new(make())),
        }
    }

    /// Takes a value away.
    pub fn remove_attribute<T: Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        self.comm.cached().set(key, None)
    }
}
