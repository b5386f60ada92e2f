//! As whom a thread acts on files.
//!
//! A server that runs as root acts as the user of each request: the thread takes the user's ids for
//! file access (setfsuid, setfsgid, setgroups), and the kernel takes the file capabilities away
//! with them, so the kernel's own checks decide. Other capabilities are given up when a worker
//! starts.
//!
//! A server of an ordinary user cannot do that. Requests of that user are done with the server's
//! rights; requests of every other user may do what the permission bits for "others" say
//! ([`Actor::may`]), and own nothing.

#![allow(unsafe_code, reason = "the ids of a thread are not in std")]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::fd::AsFd;

use crate::protocol::Request;
use crate::sys::{self, Errno, Stat, Sys};

/// The user that root of a client becomes, unless it is told otherwise.
pub(crate) const NOBODY: u32 = 65534;

/// What the server lets users be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// The server is root and can act as anybody.
    pub root: bool,
    /// Clients' root becomes [`NOBODY`].
    pub squash: bool,
    pub uid: u32,
}

/// As whom a request is done.
#[derive(Clone, Debug)]
pub(crate) enum Actor {
    /// As the server itself.
    Own,
    /// As this user.
    User {
        uid: u32,
        gid: u32,
        groups: Vec<u32>,
    },
    /// As the server, with what the bits for others permit.
    Other,
}

impl Policy {
    pub(crate) fn of_process(squash: bool) -> Policy {
        let uid = sys::user();
        Policy {
            root: uid == 0,
            squash,
            uid,
        }
    }

    pub(crate) fn actor(&self, request: &Request) -> Actor {
        if self.root {
            let map = |id| match id {
                0 if self.squash => NOBODY,
                id => id,
            };
            return Actor::User {
                uid: map(request.uid),
                gid: map(request.gid),
                groups: request.groups.iter().map(|&group| map(group)).collect(),
            };
        }
        match request.uid == self.uid {
            true => Actor::Own,
            false => Actor::Other,
        }
    }
}

impl Actor {
    /// The thread acts so until the guard is dropped.
    pub(crate) fn assume(&self) -> Sys<Assumed> {
        if let Actor::User { uid, gid, groups } = self {
            set_groups(groups)?;
            if (*uid, *gid) == (0, 0) {
                // The thread is root already.
                return Ok(Assumed(false, PhantomData));
            }
            // Also what goes wrong half-way is undone by it.
            let assumed = Assumed(true, PhantomData);
            // SAFETY: calls without pointers that concern this thread alone.
            let became = unsafe {
                libc::setfsgid(*gid);
                libc::setfsuid(*uid);
                // They give no error; asking for an impossible id shows what there is. A group that
                // the kernel did not take would leave that of root.
                let uid = libc::setfsuid(u32::MAX) as u32;
                (uid, libc::setfsgid(u32::MAX) as u32)
            };
            return match became == (*uid, *gid) {
                true => Ok(assumed),
                false => Err(libc::EPERM as Errno),
            };
        }
        Ok(Assumed(false, PhantomData))
    }

    /// For [`Actor::Other`]: whether the bits for others permit `wanted` (4 read, 2 write, 1 search).
    /// The kernel decides for all others.
    pub(crate) fn may(&self, place: &impl AsFd, wanted: u32) -> Sys<()> {
        match self {
            Actor::Other => self.may_stat(&sys::stat(place)?, wanted),
            _ => Ok(()),
        }
    }

    pub(crate) fn may_stat(&self, stat: &Stat, wanted: u32) -> Sys<()> {
        match self {
            Actor::Other if stat.mode & wanted != wanted => Err(libc::EACCES as Errno),
            _ => Ok(()),
        }
    }

    /// What only an owner may do.
    pub(crate) fn may_own(&self) -> Sys<()> {
        match self {
            Actor::Other => Err(libc::EPERM as Errno),
            _ => Ok(()),
        }
    }
}

/// The thread acts as somebody; dropping it ends that. It belongs to its thread.
pub(crate) struct Assumed(bool, PhantomData<*const ()>);

impl Drop for Assumed {
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: calls without pointers that concern this thread alone.
            unsafe {
                libc::setfsuid(0);
                libc::setfsgid(0);
            }
            // The groups of a user give root nothing that it has not.
        }
    }
}

thread_local! {
    /// The supplementary groups that this thread has been given; they stay when a user is left.
    static GROUPS: RefCell<Option<Vec<u32>>> = const { RefCell::new(None) };
}

/// This thread's supplementary groups; libc's call would set those of all threads.
fn set_groups(groups: &[u32]) -> Sys<()> {
    GROUPS.with_borrow_mut(|has| {
        if has.as_deref() != Some(groups) {
            *has = None;
            change_groups(groups)?;
            *has = Some(groups.to_vec());
        }
        Ok(())
    })
}

fn change_groups(groups: &[u32]) -> Sys<()> {
    // SAFETY: the kernel reads as many ids as it is told that there are.
    let result = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    match result {
        0 => Ok(()),
        _ => Err(sys::errno(&std::io::Error::last_os_error())),
    }
}

/// Capabilities that a worker of a root server keeps: those of file access, which come and go with
/// the user id, and those by which it changes ids. In the kernel's numbering.
const KEPT: u64 = {
    const CHOWN_TO_FSETID: u64 = 0b1_1111;
    const SETGID_SETUID: u64 = 1 << 6 | 1 << 7;
    const MKNOD: u64 = 1 << 27;
    CHOWN_TO_FSETID | SETGID_SETUID | MKNOD
};

/// Makes a thread a worker of a root server: files that it makes as root are of group 0, whatever
/// group the server is in, and it has few capabilities.
pub(crate) fn begin_worker() {
    // SAFETY: a call without pointers that concerns this thread alone.
    unsafe { libc::setfsgid(0) };
    give_up_capabilities();
}

/// Gives up what a worker does not need: with CAP_SYS_ADMIN, for one, every user could write
/// trusted attributes.
fn give_up_capabilities() {
    #[repr(C)]
    struct Header {
        version: u32,
        thread: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    // Version 3: two words of each set.
    let header = Header {
        version: 0x2008_0522,
        thread: 0,
    };
    let mut sets = [Sets::default(); 2];
    // SAFETY: header and sets have the layout of version 3 and live across the calls; thread 0 is
    // the calling thread.
    unsafe {
        if libc::syscall(libc::SYS_capget, &header, sets.as_mut_ptr()) != 0 {
            return;
        }
        for (word, set) in sets.iter_mut().enumerate() {
            let kept = (KEPT >> (32 * word)) as u32;
            set.permitted &= kept;
            set.effective &= kept;
        }
        libc::syscall(libc::SYS_capset, &header, sets.as_ptr());
    }
}
