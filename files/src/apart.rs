//! Files whose data every host caches by itself, which is NFS: what ranks of several hosts need so
//! that they do not lose each other's data and see them after MPI_File_sync.
//!
//! A client of NFS writes whole pages if it knows all of a page, so old bytes would go over new ones
//! of another host. While a part of the file is locked it writes what was written and no more; it
//! forgets what it knows when it gets a lock, and sends what it has before it gives one back. That
//! is what every client does (nfs(5), "Using file locks with NFS"), so no mount option is needed.
//!
//! A file that one process has opened alone counts, too, if its job has other hosts: these may have
//! opened the same file (MPI 5.0 §14.6.1 lets them write beside each other).
//!
//! The server's own host may have the file on a disk while others mount it: each rank decides for
//! itself, and no message depends on it.
//!
//! The same locks keep a rank's bytes where another rank sieves: it writes back what it has read
//! between its own pieces (`access`).

use std::sync::atomic::Ordering;

use oxmpi_core::FileError;

use crate::job::{Inner, lock};
use crate::sys::Lock;
use crate::view::Piece;

/// A byte that no file has: locking it hinders nobody.
const NOWHERE: u64 = i64::MAX as u64 - 1;

/// A write of this process, which changes no other bytes than its own.
pub(crate) struct Guard<'f> {
    range: Option<Lock<'f>>,
    _region: std::sync::MutexGuard<'f, ()>,
}

impl Guard<'_> {
    /// Whether other processes are kept out; some file systems have no locks.
    pub(crate) fn is_locked(&self) -> bool {
        self.range.is_some()
    }
}

impl Inner {
    /// Begins a write of some bytes, to be held until it is over. Where data are neither apart nor
    /// sieved by any rank, nobody has to be kept out.
    pub(crate) fn guard(
        &self,
        range: impl FnOnce() -> Piece,
    ) -> Result<Option<Guard<'_>>, Box<FileError>> {
        if !self.is_apart && !self.sieves.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let range = range();
        let region = lock(&self.region);
        let range = match self.disk.lock(range.offset, range.bytes, true) {
            Ok(range) => Some(range),
            Err(error) if is_without_locks(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(Some(Guard {
            range,
            _region: region,
        }))
    }

    /// Forgets what this host knows of the file, so that it sees what others have sent to the
    /// server.
    pub(crate) fn look_again(&self) -> Result<(), Box<FileError>> {
        if !self.is_apart {
            return Ok(());
        }
        let is_writable_only = self.disk.unreadable;
        match self.disk.lock(NOWHERE, 1, is_writable_only) {
            Ok(_) => Ok(()),
            Err(error) if is_without_locks(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A server, or a mount, without locks: then noac is needed, as docs/files.md says.
fn is_without_locks(error: &FileError) -> bool {
    matches!(
        error.errno,
        libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL
    )
}
