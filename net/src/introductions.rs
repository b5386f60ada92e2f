//! Where a transport learns how to reach a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::card::Card;

/// Tells a process's card; asked when it is first talked to.
pub type Directory = Box<dyn FnMut(u32) -> Result<Card, String> + Send>;

/// Cards of processes that became known after the job was wired up. The directory of an assembled
/// transport looks here first.
#[derive(Debug, Clone, Default)]
pub struct Introductions(Arc<Mutex<HashMap<u32, Card>>>);

impl Introductions {
    /// A directory that knows them too.
    pub fn before(&self, mut directory: Directory) -> Directory {
        let known = self.clone();
        Box::new(move |process| match known.cards().get(&process) {
            Some(card) => Ok(card.clone()),
            None => directory(process),
        })
    }

    /// A process becomes known.
    pub(crate) fn add(&self, process: u32, card: Card) {
        self.cards().insert(process, card);
    }

    fn cards(&self) -> MutexGuard<'_, HashMap<u32, Card>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process cannot be introduced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntroduceError {
    /// The driver's table of connections has the size of the job.
    #[error(
        "the driver /dev/o2g has room for the processes that the job began with; run without --progress kernel"
    )]
    Driver,
}
