//! What requests do. Each operation finds its nodes as the server, acts as the user of the request,
//! and answers with the errno that the kernel gave.

mod attributes;
mod files;
mod locking;
mod names;

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use super::identity::{Actor, Assumed};
use super::locks::Lock;
use super::nodes::{Identity, Look};
use super::session::{Open, Session};
use super::slots::Facts;
use super::{FOLDER_LOCKS, Server, locked};
use crate::protocol::{Attr, NAME_MAX, NO_SLOT, Operation, REPLY_ATTR, Reply, Request, Time};
use crate::sys::{self, Errno, Stat, Sys};

/// A request that is being done.
pub(crate) struct Call<'a> {
    pub server: &'a Arc<Server>,
    pub session: &'a Arc<Session>,
    pub actor: Actor,
    pub request: &'a Request,
    pub operation: Operation,
    pub data: Vec<u8>,
    /// What other clients were asked to forget.
    pub recalled: RefCell<Vec<(u64, u32)>>,
    /// Until when it is waited for their answers.
    pub recalls_until: Instant,
}

/// What came of it.
pub(crate) enum Performed {
    /// A reply, and its data.
    Answer(Reply, Option<Vec<u8>>),
    /// A lock is wanted, and waited for if need be.
    Lock(Lock, bool),
}

type Answer = Sys<(Reply, Option<Vec<u8>>)>;

fn plain(reply: Sys<Reply>) -> Answer {
    reply.map(|reply| (reply, None))
}

impl Call<'_> {
    pub(crate) fn perform(&self) -> Performed {
        if self.server.read_only && self.alters() {
            return Performed::Answer(Reply::failure(libc::EROFS as Errno), None);
        }
        let answer = match self.operation {
            Operation::Hello | Operation::Goodbye | Operation::Renew => {
                Ok((Reply::default(), None))
            }
            Operation::Lookup => plain(self.lookup()),
            Operation::Getattr => plain(self.getattr()),
            Operation::Setattr => plain(self.setattr()),
            Operation::Access => plain(self.access()),
            Operation::Create => plain(self.create()),
            Operation::Mkdir | Operation::Mknod | Operation::Symlink => plain(self.make()),
            Operation::Link => plain(self.link()),
            Operation::Unlink | Operation::Rmdir => plain(self.unlink()),
            Operation::Rename => plain(self.rename()),
            Operation::Readlink => self.readlink(),
            Operation::Open => plain(self.open()),
            Operation::Close => plain(self.close()),
            Operation::Read => self.read(),
            Operation::Write => plain(self.write()),
            Operation::Fsync => plain(self.fsync()),
            Operation::Readdir => self.readdir(),
            Operation::Statfs => plain(self.statfs()),
            Operation::Fallocate => plain(self.fallocate()),
            Operation::Seek => plain(self.seek()),
            Operation::Getxattr => self.getxattr(),
            Operation::Setxattr | Operation::Removexattr => plain(self.change_xattr()),
            Operation::Listxattr => self.listxattr(),
            Operation::Lock => match self.lock() {
                Ok(performed) => return performed,
                Err(error) => Err(error),
            },
            Operation::Testlock => plain(self.testlock()),
        };
        // Nobody keeps what it was told between that and the change. No lock is held here.
        let recalled = self.recalled.take();
        if !recalled.is_empty() {
            self.server
                .recall(self.session, &recalled, self.recalls_until);
        }
        match answer {
            Ok((reply, data)) => Performed::Answer(reply, data),
            Err(error) => Performed::Answer(Reply::failure(error), None),
        }
    }

    /// Whether it changes the exported folder.
    fn alters(&self) -> bool {
        let opens = matches!(self.operation, Operation::Open | Operation::Create);
        let flags = self.request.arguments[usize::from(self.operation == Operation::Create)] as i32;
        match self.operation {
            Operation::Close | Operation::Lock => false,
            _ if opens && self.operation == Operation::Open => {
                flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0
            }
            operation => operation.changes(),
        }
    }

    /// Has other clients forget what is about to change. Those that ask meanwhile are asked when it
    /// has changed.
    fn recall(&self, changes: &[(u64, u32)]) {
        self.recalled.borrow_mut().extend_from_slice(changes);
        self.server
            .recall(self.session, changes, self.recalls_until);
    }

    fn argument(&self, at: usize) -> u64 {
        self.request.arguments[at]
    }

    /// The place of the request's node.
    fn place(&self) -> Sys<Arc<OwnedFd>> {
        self.server.nodes.place(self.request.node)
    }

    /// The open of the request, if it names one.
    fn open_or_none(&self) -> Sys<Option<Arc<Open>>> {
        match self.request.open {
            0 => Ok(None),
            open => self.opened(open).map(Some),
        }
    }

    /// An open of the session. One of an earlier server is opened again: a client whose reply was
    /// kept for it could not reclaim what it did not know of.
    fn opened(&self, open: u64) -> Sys<Arc<Open>> {
        let node = self.request.node;
        match self.session.open(open, node) {
            Err(_) if self.session.lock().reclaimable.contains_key(&open) => {
                self.reclaim(open)?;
                self.session.open(open, node)
            }
            opened => opened,
        }
    }

    /// Acts as the user until the guard is dropped.
    fn user(&self) -> Sys<Assumed> {
        self.actor.assume()
    }

    /// Writes what was so before the change, if the request must not be done twice.
    fn intend(&self, facts: &Facts) -> Sys<()> {
        let request = self.request;
        if request.slot == NO_SLOT {
            return Ok(());
        }
        let operation = self.operation as u16;
        let bytes = request.emit();
        self.session
            .intend(request.slot, request.sequence, operation, facts, &bytes)
    }

    /// Changes of names in these folders are made one at a time.
    fn hold_folders(&self, first: u64, second: u64) -> [Option<MutexGuard<'_, ()>>; 2] {
        let group = |node: u64| (node % FOLDER_LOCKS as u64) as usize;
        let (low, high) = (
            group(first).min(group(second)),
            group(first).max(group(second)),
        );
        let low_guard = locked(&self.server.folders[low]);
        let high_guard = (high != low).then(|| locked(&self.server.folders[high]));
        [Some(low_guard), high_guard]
    }
}

impl Server {
    /// What a node is like.
    pub(super) fn about(&self, node: u64, look: &Look) -> Reply {
        let stat = &look.stat;
        let time = |(seconds, nanoseconds)| Time {
            seconds,
            nanoseconds,
        };
        // The name aside is none that anybody sees.
        let aside = u32::from(self.nodes.is_aside(node));
        let attr = Attr {
            inode: stat.inode,
            size: stat.size,
            blocks: stat.blocks,
            device: stat.special,
            change: look.change,
            mode: stat.mode,
            links: stat.links.saturating_sub(aside),
            uid: stat.uid,
            gid: stat.gid,
            access: time(stat.access),
            modified: time(stat.modified),
            changed: time(stat.changed),
        };
        Reply {
            flags: REPLY_ATTR,
            node,
            attr,
            ..Reply::default()
        }
    }

    /// Whether this is the state folder, which no client sees.
    fn is_hidden(&self, stat: &Stat) -> bool {
        self.hidden == Some(Identity::of(stat))
    }
}

/// A name directly in a folder.
fn check_name(name: &[u8]) -> Sys<()> {
    if name.len() > NAME_MAX {
        return Err(libc::ENAMETOOLONG as Errno);
    }
    let illegal = name.is_empty()
        || name == b"."
        || name == b".."
        || name.iter().any(|byte| matches!(byte, b'/' | 0));
    match illegal {
        true => Err(libc::EINVAL as Errno),
        false => Ok(()),
    }
}

/// What a name names, as far as it matters for facts.
fn identity_at(folder: &impl AsFd, name: &[u8]) -> Identity {
    sys::stat_at(folder, name).map_or(Identity::NONE, |stat| Identity::of(&stat))
}
