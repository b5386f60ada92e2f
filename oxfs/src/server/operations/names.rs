//! Names in folders: looked up, made, removed, moved.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::{Answer, Call, check_name, identity_at};
use crate::protocol::{Operation, REPLY_FOLDER, Reply, recall};
use crate::server::nodes::{ASIDE, Identity};
use crate::server::recover::aside_name;
use crate::server::session::Open;
use crate::server::slots::Facts;
use crate::sys::{self, Errno, Stat, Sys};

/// Flags of CREATE and OPEN that reach the server's own open. Appending is done by WRITE.
pub(super) const OPEN_FLAGS: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_DIRECTORY;

const ENOENT: Errno = libc::ENOENT as Errno;

impl Call<'_> {
    pub(super) fn lookup(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        check_name(&request.name)?;
        let folder = self.place()?;
        let place = {
            self.actor.may(&folder, 1)?;
            let _user = self.user()?;
            sys::place_at(&folder, &request.name)?
        };
        let stat = sys::stat(&place)?;
        if server.is_hidden(&stat) {
            return Err(ENOENT);
        }
        let (node, place) = server
            .nodes
            .known_at(&stat, request.node, &request.name, place)?;
        server.told(self.session, node, &place)
    }

    /// The folder's change number.
    fn folder_change(&self, node: u64, folder: &OwnedFd) -> Sys<u64> {
        Ok(self.server.nodes.look(node, folder)?.change)
    }

    /// Adds the folder's change numbers to a reply, after a change of its names.
    fn with_folder(&self, mut reply: Reply, before: u64, folder: &OwnedFd) -> Sys<Reply> {
        let node = self.request.node;
        self.server.nodes.changed(node);
        reply.flags |= REPLY_FOLDER;
        reply.values[4] = before;
        reply.values[5] = self.folder_change(node, folder)?;
        Ok(reply)
    }

    /// What a folder has is nobody's business who may not search it.
    fn may_search(&self, folder: &OwnedFd) -> Sys<()> {
        if !sys::stat(folder)?.is_folder() {
            return Err(libc::ENOTDIR as Errno);
        }
        self.actor.may(folder, 1)?;
        let _user = self.user()?;
        sys::access(folder, 1)
    }

    /// Names that belong to the server cannot be made or removed.
    fn refuse_hidden(&self, folder: &OwnedFd, name: &[u8]) -> Sys<()> {
        match sys::stat_at(folder, name) {
            Ok(stat) if self.server.is_hidden(&stat) => Err(libc::EACCES as Errno),
            _ => Ok(()),
        }
    }

    /// What was made under the request's name.
    fn made(&self, folder: &OwnedFd) -> Sys<Reply> {
        let place = sys::place_at(folder, &self.request.name)?;
        let stat = sys::stat(&place)?;
        let (nodes, request) = (&self.server.nodes, self.request);
        let (node, place) = nodes.known_at(&stat, request.node, &request.name, place)?;
        self.server.told(self.session, node, &place)
    }

    /// What an earlier server made for this request, as its reply would have said.
    pub(in crate::server) fn made_before(&self) -> Sys<Reply> {
        let folder = self.place()?;
        let mut reply = self.made(&folder)?;
        if self.operation == Operation::Create {
            let at = self.session.take_place()?;
            let place = self.server.nodes.place(reply.node)?;
            let asked = self.argument(1) as i32 & !libc::O_TRUNC;
            let file = super::files::open_place(&place, asked)?;
            reply.open = self.add_open(reply.node, asked, file, at, 0)?.id;
        }
        Ok(reply)
    }

    pub(super) fn create(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        check_name(&request.name)?;
        let folder = self.place()?;
        let asked = self.argument(1) as i32;
        self.may_search(&folder)?;
        self.refuse_hidden(&folder, &request.name)?;
        let was = sys::stat_at(&folder, &request.name);
        match &was {
            Ok(_) if asked & libc::O_EXCL != 0 => return Err(libc::EEXIST as Errno),
            Ok(stat) if stat.is_folder() => return Err(libc::EISDIR as Errno),
            // Opening a special file would do something on the server's machine.
            Ok(stat) if !stat.is_file() && stat.kind() != libc::S_IFLNK => {
                return Err(libc::ENXIO as Errno);
            }
            _ => {}
        }
        match &was {
            Ok(stat) => {
                if let Some(node) = server.nodes.find(Identity::of(stat))
                    && asked & libc::O_TRUNC != 0
                {
                    self.recall(&[(node, recall::DATA | recall::ATTR)]);
                }
            }
            Err(_) => self.recall(&[(request.node, RECALL_NAMES)]),
        }
        let place = self.session.take_place()?;
        let created = self.create_in(&folder, asked, place);
        if created.is_err() {
            self.session.give_place(place);
        }
        created
    }

    fn create_in(&self, folder: &Arc<OwnedFd>, asked: i32, place: u32) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let _held = self.hold_folders(request.node, request.node);
        let before = self.folder_change(request.node, folder)?;
        let facts = Facts {
            name: identity_at(folder, &request.name),
            ..Facts::NONE
        };
        let fresh = facts.name == Identity::NONE;
        self.intend(&facts)?;
        let mode = self.argument(0) as u32 & 0o7777;
        let exclusive = asked & libc::O_EXCL;
        let flags = |access: i32| {
            let kept = asked & OPEN_FLAGS & !libc::O_ACCMODE & !libc::O_DIRECTORY;
            kept | access | exclusive | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK
        };
        let file = {
            match fresh {
                true => self.actor.may(folder, 3)?,
                false => self.other_may_open(&sys::stat_at(folder, &request.name)?, asked)?,
            }
            let _user = self.user()?;
            wider(asked & libc::O_ACCMODE, |access| {
                sys::open_at(folder, &request.name, flags(access), mode)
            })?
        };
        let stat = sys::stat(&file)?;
        if !stat.is_file() {
            return Err(libc::ENXIO as Errno);
        }
        let node = server.nodes.known(&stat, request.node, &request.name)?;
        if asked & libc::O_TRUNC != 0 {
            server.nodes.changed(node);
        }
        let mut reply = server.told(self.session, node, &file)?;
        let open = self.add_open(node, asked, file, place, 0)?;
        reply.open = open.id;
        match fresh {
            true => self.with_folder(reply, before, folder),
            false => Ok(reply),
        }
    }

    /// For users that the server cannot act as: what the bits for others permit.
    pub(super) fn other_may_open(&self, stat: &Stat, asked: i32) -> Sys<()> {
        let wanted = match asked & libc::O_ACCMODE {
            libc::O_RDONLY => 4,
            libc::O_WRONLY => 2,
            _ => 6,
        };
        let cut = if asked & libc::O_TRUNC != 0 { 2 } else { 0 };
        self.actor.may_stat(stat, wanted | cut)
    }

    pub(super) fn make(&self) -> Sys<Reply> {
        let request = self.request;
        check_name(&request.name)?;
        let folder = self.place()?;
        self.refuse_hidden(&folder, &request.name)?;
        self.recall(&[(request.node, RECALL_NAMES)]);
        let _held = self.hold_folders(request.node, request.node);
        let before = self.folder_change(request.node, &folder)?;
        let name = identity_at(&folder, &request.name);
        self.intend(&Facts {
            name,
            ..Facts::NONE
        })?;
        {
            self.actor.may(&folder, 3)?;
            let _user = self.user()?;
            let mode = self.argument(0) as u32;
            match self.operation {
                Operation::Mkdir => sys::make_folder(&folder, &request.name, mode & 0o7777)?,
                Operation::Symlink => sys::make_symlink(&folder, &request.name, &self.data)?,
                _ => sys::make_special(&folder, &request.name, mode, self.argument(1))?,
            }
        }
        let reply = self.made(&folder)?;
        self.with_folder(reply, before, &folder)
    }

    pub(super) fn link(&self) -> Sys<Reply> {
        let request = self.request;
        check_name(&request.name)?;
        let folder = self.place()?;
        let node = self.argument(0);
        let place = self.server.nodes.place(node)?;
        self.refuse_hidden(&folder, &request.name)?;
        let changes = [(request.node, RECALL_NAMES), (node, recall::ATTR)];
        self.recall(&changes);
        let _held = self.hold_folders(request.node, request.node);
        let before = self.folder_change(request.node, &folder)?;
        let name = identity_at(&folder, &request.name);
        let name2 = Identity::of(&sys::stat(&place)?);
        self.intend(&Facts {
            name,
            name2,
            ..Facts::NONE
        })?;
        {
            self.actor.may(&folder, 3)?;
            let _user = self.user()?;
            sys::link(&place, &folder, &request.name)?;
        }
        self.server.nodes.changed(node);
        let reply = self.made(&folder)?;
        self.with_folder(reply, before, &folder)
    }

    /// Keeps a file that is open under another name, if it is about to lose its last. Whether it
    /// has that name now.
    fn put_aside(&self, folder: &OwnedFd, parent: u64, name: &[u8]) -> Sys<Option<u64>> {
        let (nodes, server) = (&self.server.nodes, self.server);
        let Ok(place) = sys::place_at(folder, name) else {
            return Ok(None);
        };
        let stat = sys::stat(&place)?;
        let Some(node) = nodes.find(Identity::of(&stat)) else {
            return Ok(None);
        };
        let Some(aside) = &server.aside else {
            return Ok(None);
        };
        let left_over = identity_at(aside, aside_name(node).as_bytes()) == Identity::of(&stat);
        let names = stat.links.saturating_sub(u32::from(left_over));
        let last = names == 1 || !nodes.has_other_name(node, parent, name);
        if stat.is_folder() || !nodes.is_open(node) || !last || nodes.is_aside(node) {
            return Ok(None);
        }
        let new_name = aside_name(node);
        // Without hard links the file lives as long as the server's descriptor of it.
        // A name that is there is that of a server that was killed before it removed the other.
        match sys::link(&place, aside, new_name.as_bytes()) {
            Ok(()) => Ok(Some(node)),
            Err(error) if error == libc::EEXIST as Errno => {
                let same = identity_at(aside, new_name.as_bytes()) == Identity::of(&stat);
                Ok(same.then_some(node))
            }
            Err(_) => Ok(None),
        }
    }

    /// The change was made, or not: the name aside stays, or goes.
    fn settle_aside(&self, aside: Option<u64>, made: &Sys<()>) {
        let (Some(node), Some(folder)) = (aside, &self.server.aside) else {
            return;
        };
        let name = aside_name(node);
        match made {
            Ok(()) => self.server.nodes.named(node, ASIDE, name.as_bytes()),
            Err(_) => drop(sys::unlink(folder, name.as_bytes(), 0)),
        }
    }

    /// A name is gone: the node forgets it, and is forgotten if it was the last.
    fn forget_name(&self, identity: Identity, parent: u64, name: &[u8], last: bool) {
        let nodes = &self.server.nodes;
        if let Some(node) = nodes.find(identity) {
            nodes.unnamed(node, parent, name);
            nodes.changed(node);
            if last && !nodes.is_open(node) {
                nodes.gone(node);
            }
        }
    }

    pub(super) fn unlink(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        check_name(&request.name)?;
        let folder = self.place()?;
        self.refuse_hidden(&folder, &request.name)?;
        let mut changes = vec![(request.node, RECALL_NAMES)];
        if let Some(node) = server.nodes.find(identity_at(&folder, &request.name)) {
            changes.push((node, recall::ATTR | recall::ENTRIES));
        }
        self.recall(&changes);
        let _held = self.hold_folders(request.node, request.node);
        let before = self.folder_change(request.node, &folder)?;
        let was = sys::stat_at(&folder, &request.name);
        let name = was.as_ref().map_or(Identity::NONE, Identity::of);
        self.intend(&Facts {
            name,
            ..Facts::NONE
        })?;
        let flags = match self.operation {
            Operation::Rmdir => libc::AT_REMOVEDIR,
            _ => 0,
        };
        let aside = match flags {
            0 => self.put_aside(&folder, request.node, &request.name)?,
            _ => None,
        };
        let removed = (|| {
            self.actor.may(&folder, 3)?;
            let _user = self.user()?;
            sys::unlink(&folder, &request.name, flags)
        })();
        self.settle_aside(aside, &removed);
        removed?;
        let last = was.is_ok_and(|stat| stat.links <= 1 || stat.is_folder());
        self.forget_name(name, request.node, &request.name, last && aside.is_none());
        self.with_folder(Reply::default(), before, &folder)
    }

    pub(super) fn rename(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        check_name(&request.name)?;
        check_name(&request.name2)?;
        let (node2, flags) = (self.argument(0), self.argument(1));
        let known = u64::from(libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE);
        if flags & !known != 0 {
            return Err(libc::EINVAL as Errno);
        }
        let (folder, folder2) = (self.place()?, server.nodes.place(node2)?);
        self.refuse_hidden(&folder, &request.name)?;
        self.refuse_hidden(&folder2, &request.name2)?;
        let mut changes = vec![(request.node, RECALL_NAMES), (node2, RECALL_NAMES)];
        for identity in [
            identity_at(&folder, &request.name),
            identity_at(&folder2, &request.name2),
        ] {
            let found = server.nodes.find(identity);
            changes.extend(found.map(|node| (node, recall::ATTR)));
        }
        self.recall(&changes);
        let _held = self.hold_folders(request.node, node2);
        let before = self.folder_change(request.node, &folder)?;
        let target = sys::stat_at(&folder2, &request.name2);
        let facts = Facts {
            name: identity_at(&folder, &request.name),
            name2: target.as_ref().map_or(Identity::NONE, Identity::of),
            ..Facts::NONE
        };
        self.intend(&facts)?;
        let exchanges = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
        // Two names of one file: the kernel does nothing.
        let same = facts.name == facts.name2 && !exchanges;
        let aside = match exchanges || same || target.is_err() {
            true => None,
            false => self.put_aside(&folder2, node2, &request.name2)?,
        };
        let moved = (|| {
            self.actor.may(&folder, 3)?;
            self.actor.may(&folder2, 3)?;
            let _user = self.user()?;
            let (from, to) = (&request.name, &request.name2);
            sys::rename(&folder, from, &folder2, to, flags as u32)
        })();
        self.settle_aside(aside, &moved);
        moved?;
        if !same {
            self.renamed(&facts, &target, exchanges, aside.is_some());
        }
        if node2 != request.node {
            server.nodes.changed(node2);
        }
        self.with_folder(Reply::default(), before, &folder)
    }

    /// The table of nodes follows a rename.
    fn renamed(&self, facts: &Facts, target: &Sys<Stat>, exchanged: bool, aside: bool) {
        let (request, nodes) = (self.request, &self.server.nodes);
        let node2 = self.argument(0);
        if let Ok(stat) = target {
            let last = !exchanged && (stat.links <= 1 || stat.is_folder()) && !aside;
            self.forget_name(facts.name2, node2, &request.name2, last);
            if exchanged && let Some(other) = nodes.find(facts.name2) {
                nodes.named(other, request.node, &request.name);
            }
        }
        if let Some(node) = nodes.find(facts.name) {
            nodes.named(node, node2, &request.name2);
            nodes.unnamed(node, request.node, &request.name);
            nodes.changed(node);
        }
    }

    pub(super) fn readlink(&self) -> Answer {
        let place = self.place()?;
        let target = sys::read_link(&place).map_err(|error| match error {
            // readlinkat with an empty name says so of what is no link.
            ENOENT => libc::EINVAL as Errno,
            error => error,
        })?;
        Ok((Reply::default(), Some(target)))
    }

    /// Gives the session an open; `id` is one to reclaim, or 0.
    pub(super) fn add_open(
        &self,
        node: u64,
        flags: i32,
        file: OwnedFd,
        place: u32,
        id: u64,
    ) -> Sys<Arc<Open>> {
        use std::sync::atomic::Ordering;
        let id = match id {
            0 => self.server.open_numbers.fetch_add(1, Ordering::Relaxed),
            id => id,
        };
        let open = Open {
            id,
            node,
            flags: flags as u32,
            file: file.into(),
            place,
            position: std::sync::Mutex::new(()),
        };
        self.server.nodes.opened(node);
        self.session.add_open(open).inspect_err(|_| {
            self.server.node_closed(node);
        })
    }
}

/// What other clients forget of a folder when its names change.
const RECALL_NAMES: u32 = recall::ENTRIES | recall::ATTR;

/// Opens for reading, too, what is to be written, if that is permitted: a client that caches pages
/// has to read the rest of those that it writes to.
pub(super) fn wider(access: i32, mut open: impl FnMut(i32) -> Sys<OwnedFd>) -> Sys<OwnedFd> {
    if access != libc::O_WRONLY {
        return open(access);
    }
    match open(libc::O_RDWR) {
        Err(error) if error == libc::EACCES as Errno => open(libc::O_WRONLY),
        opened => opened,
    }
}
