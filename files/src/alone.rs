//! An access that a process makes by itself, without the others of the file.

use std::sync::atomic::Ordering;

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::Report;

use crate::access::Way;
use crate::apart::Guard;
use crate::job::{Data, Direction, Job, lock};

type Result<T> = std::result::Result<T, ErrorKind>;

impl Job {
    /// Makes the access.
    pub(crate) fn run(&self) -> Result<Report> {
        self.run_with(&self.data()?)
    }

    /// The same with the data in the file's form.
    pub(crate) fn run_with(&self, data: &Data) -> Result<Report> {
        let _region = self.atomic.then(|| lock(&self.file.region));
        let guard = self.guard()?;
        let bytes = match self.direction {
            Direction::Write => {
                let is_locked = guard.as_ref().is_none_or(Guard::is_locked);
                let way = Way {
                    is_guarded: guard.is_some() || self.atomic,
                    may_sieve: is_locked && self.file.sieves.load(Ordering::Relaxed),
                    ..self.way()
                };
                way.write(self.from, &data.buffer)?;
                self.bytes
            }
            Direction::Read => {
                let bytes = self.way().read(self.from, &data.buffer)?;
                self.deliver(data, bytes)?;
                bytes
            }
        };
        Ok(self.report(bytes))
    }

    fn way(&self) -> Way<'_> {
        Way {
            file: &self.file,
            view: &self.view,
            hints: &self.hints,
            atomic: self.atomic,
            is_guarded: self.atomic,
            may_sieve: false,
        }
    }

    /// Keeps the bytes of other hosts as they are during a write; in atomic mode a lock does that.
    fn guard(&self) -> Result<Option<Guard<'_>>> {
        let writes = self.direction == Direction::Write && self.bytes > 0;
        if self.atomic || !writes || !self.file.is_apart {
            return Ok(None);
        }
        let range = || self.view.reach(self.from, self.bytes);
        Ok(self.file.guard(range)?)
    }
}
