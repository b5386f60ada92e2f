//! Advisory locks, as requests see them.

use std::time::Instant;

use super::{Call, Performed};
use crate::protocol::{Reply, lock};
use crate::server::locked;
use crate::server::locks::{Lock, Owner};
use crate::sys::{Errno, Sys};

/// How often a request that waits for the end of the grace period looks.
const GRACE_LOOK: std::time::Duration = std::time::Duration::from_millis(20);

impl Call<'_> {
    fn wanted(&self) -> Sys<Lock> {
        let [owner, kind, first, last, how, _] = self.request.arguments;
        let whole = how & lock::WHOLE != 0;
        // Locks are of files that the session has open.
        let open = self.opened(self.request.open)?;
        let (owner, first, last) = match whole {
            true => (open.id, 0, u64::MAX),
            false => (owner, first, last),
        };
        if first > last || kind > libc::F_UNLCK as u64 {
            return Err(libc::EINVAL as Errno);
        }
        let access = open.flags as i32 & libc::O_ACCMODE;
        let write = kind == libc::F_WRLCK as u64;
        let read = kind == libc::F_RDLCK as u64;
        let short = (write && access == libc::O_RDONLY) || (read && access == libc::O_WRONLY);
        if short && !whole {
            return Err(libc::EBADF as Errno);
        }
        let owner = Owner {
            session: self.session.id,
            owner,
            whole,
        };
        Ok(Lock {
            owner,
            write,
            first,
            last,
        })
    }

    pub(super) fn lock(&self) -> Sys<Performed> {
        let wanted = self.wanted()?;
        let how = self.argument(4);
        let wait = how & lock::WAIT != 0;
        if self.argument(1) == libc::F_UNLCK as u64 {
            let mut locks = locked(&self.server.locks);
            let Lock { first, last, .. } = wanted;
            let ended = locks.unlock(self.request.node, wanted.owner, first, last);
            let holds = locks.holds(self.session.id);
            drop(locks);
            self.session.hold_locks(holds);
            self.server.tell_waiting(ended);
            return Ok(Performed::Answer(Reply::default(), None));
        }
        if how & lock::RECLAIM != 0 {
            if !self.server.is_grace() {
                return Err(libc::ESTALE as Errno);
            }
            self.server.reclaimed();
        } else if self.server.is_grace() {
            if !wait {
                return Err(libc::EAGAIN as Errno);
            }
            self.server.pool.waiting(|| {
                while self.server.is_grace() {
                    std::thread::sleep(GRACE_LOOK);
                }
            });
        }
        Ok(Performed::Lock(wanted, wait))
    }

    pub(super) fn testlock(&self) -> Sys<Reply> {
        let wanted = self.wanted()?;
        let mut reply = Reply::default();
        let locks = locked(&self.server.locks);
        reply.values[0] = libc::F_UNLCK as u64;
        if let Some(held) = locks.test(self.request.node, &wanted) {
            let kind = if held.write {
                libc::F_WRLCK
            } else {
                libc::F_RDLCK
            };
            reply.values[..4].copy_from_slice(&[
                kind as u64,
                held.first,
                held.last,
                held.owner.owner,
            ]);
        }
        Ok(reply)
    }
}

impl crate::server::Server {
    /// Whether only locks of an earlier server's clients are given.
    fn is_grace(&self) -> bool {
        let mut until = locked(&self.grace_until);
        if until.is_some_and(|until| until <= Instant::now()) {
            *until = None;
        }
        until.is_some()
    }
}
