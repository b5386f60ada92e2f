//! Opened files and folders: opened, closed, read, written, walked through.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::names::{OPEN_FLAGS, wider};
use super::{Answer, Call, identity_at};
use crate::protocol::{APPEND, DATA_MAX, ENTRY_BYTES, Entry, NAME_MAX, Reply, recall};
use crate::server::locked;
use crate::server::session::Open;
use crate::server::slots::Facts;
use crate::sys::{self, Errno, Sys, errno};

const EBADF: Errno = libc::EBADF as Errno;
/// What is written with RECALL_DATA.
const RECALL_CONTENT: u32 = recall::DATA | recall::ATTR;

impl Call<'_> {
    pub(super) fn open(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let reclaimed = self.argument(1);
        if reclaimed != 0 {
            return self.reclaim(reclaimed);
        }
        let place = self.place()?;
        let asked = self.argument(0) as i32;
        if asked & libc::O_TRUNC != 0 {
            self.recall(&[(request.node, RECALL_CONTENT)]);
        }
        let at = self.session.take_place()?;
        let opened = (|| {
            if asked & libc::O_TRUNC != 0 {
                self.intend(&Facts::NONE)?;
            }
            let file = {
                self.other_may_open(&sys::stat(&place)?, asked)?;
                let _user = self.user()?;
                open_place(&place, asked)?
            };
            if asked & libc::O_TRUNC != 0 {
                server.nodes.changed(request.node);
            }
            let mut reply = server.told(self.session, request.node, &file)?;
            let open = self.add_open(request.node, asked, file, at, 0)?;
            reply.open = open.id;
            Ok(reply)
        })();
        if opened.is_err() {
            self.session.give_place(at);
        }
        opened
    }

    /// An open of an earlier server is there again, as its record says.
    pub(super) fn reclaim(&self, id: u64) -> Sys<Reply> {
        let kept = self.session.lock().reclaimable.get(&id).copied();
        let Some(kept) = kept.filter(|kept| kept.node == self.request.node) else {
            // It may be there already: the reply was lost.
            let open = self.session.open(id, self.request.node)?;
            let mut reply = self.about_open(&open)?;
            reply.open = id;
            return Ok(reply);
        };
        let place = self.place()?;
        let asked = kept.flags as i32 & !libc::O_TRUNC;
        let file = open_place(&place, asked)?;
        let open = self.add_open(kept.node, asked, file, kept.place, id)?;
        self.server.reclaimed();
        // It was counted when the server was started.
        self.server.nodes.closed(kept.node);
        let mut reply = self.about_open(&open)?;
        reply.open = id;
        Ok(reply)
    }

    fn about_open(&self, open: &Open) -> Sys<Reply> {
        self.server.told(self.session, open.node, &open.file)
    }

    pub(super) fn close(&self) -> Sys<Reply> {
        let id = self.request.open;
        let open = self.session.lock().opens.remove(&id);
        let Some(open) = open else {
            // It need not be reclaimed to be closed.
            let kept = self.session.lock().reclaimable.remove(&id);
            let kept = kept.ok_or(EBADF)?;
            self.session.give_place(kept.place);
            self.server.node_closed(kept.node);
            return Ok(Reply::default());
        };
        self.session.give_place(open.place);
        let mut locks = locked(&self.server.locks);
        let session = self.session.id;
        let ended =
            locks.release(|owner| owner.session == session && owner.whole && owner.owner == id);
        let holds = locks.holds(session);
        drop(locks);
        self.session.hold_locks(holds);
        self.server.tell_waiting(ended);
        self.server.node_closed(open.node);
        Ok(Reply::default())
    }

    /// The file of the request: its open, or one that the user opens for this alone.
    pub(super) fn file(&self, access: i32) -> Sys<File> {
        if let Some(open) = self.open_or_none()? {
            return Ok(File::Open(open));
        }
        let place = self.place()?;
        self.other_may_open(&sys::stat(&place)?, access)?;
        let _user = self.user()?;
        open_place(&place, access).map(|fd| File::Alone(fd.into()))
    }

    pub(super) fn read(&self) -> Answer {
        let (offset, bytes) = (self.argument(0), self.argument(1));
        let most = usize::try_from(bytes).unwrap_or(usize::MAX).min(DATA_MAX);
        let (server, node) = (self.server, self.request.node);
        let file = self.file(libc::O_RDONLY)?;
        let file = file.as_file();
        let look = server.look(self.session, node, file)?;
        if look.stat.is_folder() {
            return Err(libc::EISDIR as Errno);
        }
        let left = look.stat.size.saturating_sub(offset);
        let room = most.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut data = vec![0; room];
        let mut had = 0;
        while had < room {
            match file.read_at(&mut data[had..], offset + had as u64) {
                Ok(0) => break,
                Ok(more) => had += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if had == 0 => return Err(errno(&error)),
                Err(_) => break,
            }
        }
        if room == 0 && most > 0 {
            // Not readable at all, rather than at its end.
            file.read_at(&mut [0], offset)
                .map_err(|error| errno(&error))?;
        }
        data.truncate(had);
        Ok((server.about(node, &look), Some(data)))
    }

    pub(super) fn write(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let [offset, bytes, stable, ..] = request.arguments;
        if bytes != self.data.len() as u64 {
            return Err(libc::EINVAL as Errno);
        }
        let file = self.file(libc::O_WRONLY)?;
        let file = file.as_file();
        self.recall(&[(request.node, RECALL_CONTENT)]);
        // Only appending has to be found out about: everything else can be written again.
        let appends = offset == APPEND;
        let _held = appends.then(|| self.hold_folders(request.node, request.node));
        if appends {
            let size = sys::stat(file)?.size;
            self.intend(&Facts {
                size,
                ..Facts::NONE
            })?;
        }
        let (wrote, ended_by) = {
            let _user = self.user()?;
            match appends {
                true => (sys::append(file, &self.data)?, 0),
                false => write_all(file, &self.data, offset)?,
            }
        };
        if stable == 1 {
            file.sync_data().map_err(|error| errno(&error))?;
        }
        server.nodes.changed(request.node);
        let mut reply = server.told(self.session, request.node, file)?;
        reply.values[0] = wrote as u64;
        reply.values[1] = ended_by.into();
        Ok(reply)
    }

    pub(super) fn fsync(&self) -> Sys<Reply> {
        let file = match self.open_or_none()? {
            Some(open) => File::Open(open),
            None => {
                let place = self.place()?;
                File::Alone(open_place(&place, libc::O_RDONLY)?.into())
            }
        };
        let file = file.as_file();
        let synced = match self.argument(0) {
            1 => file.sync_data(),
            _ => file.sync_all(),
        };
        synced.map_err(|error| errno(&error))?;
        self.server.nodes.sync().map_err(|error| errno(&error))?;
        self.server.told(self.session, self.request.node, file)
    }

    pub(super) fn fallocate(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let [flags, offset, bytes, ..] = request.arguments;
        let file = self.file(libc::O_WRONLY)?;
        let file = file.as_file();
        self.recall(&[(request.node, RECALL_CONTENT)]);
        let _held = self.hold_folders(request.node, request.node);
        let size = sys::stat(file)?.size;
        self.intend(&Facts {
            size,
            ..Facts::NONE
        })?;
        {
            let _user = self.user()?;
            sys::allocate(file, flags, offset, bytes)?;
        }
        server.nodes.changed(request.node);
        server.told(self.session, request.node, file)
    }

    pub(super) fn seek(&self) -> Sys<Reply> {
        let whence = self.argument(1);
        if whence != libc::SEEK_DATA as u64 && whence != libc::SEEK_HOLE as u64 {
            return Err(libc::EINVAL as Errno);
        }
        let file = self.file(libc::O_RDONLY)?;
        let mut reply = Reply::default();
        reply.values[0] = sys::seek(&file, self.argument(0), whence)?;
        Ok(reply)
    }

    pub(super) fn readdir(&self) -> Answer {
        let room = usize::try_from(self.argument(1)).unwrap_or(usize::MAX);
        let room = room.min(DATA_MAX);
        if room < (ENTRY_BYTES + NAME_MAX).next_multiple_of(8) {
            return Err(libc::EINVAL as Errno);
        }
        let folder = self.file(libc::O_RDONLY | libc::O_DIRECTORY)?;
        let _position = match &folder {
            File::Open(open) => Some(locked(&open.position)),
            File::Alone(_) => None,
        };
        let fd = folder.as_fd();
        let mut cookie = self.argument(0);
        // The position is the server's own business: SEEK_SET of what getdents has given.
        sys::seek(&fd, cookie, libc::SEEK_SET as u64)?;
        let mut out = Vec::with_capacity(room.min(64 << 10));
        let mut reply = Reply::default();
        'full: loop {
            let entries = sys::entries(&fd)?;
            if entries.is_empty() {
                reply.values[0] = 1;
                break;
            }
            for entry in entries {
                let entry = Entry {
                    node: 0,
                    inode: entry.inode,
                    cookie: entry.cookie,
                    kind: entry.kind,
                    name: entry.name,
                };
                if out.len() + entry.bytes() > room {
                    break 'full;
                }
                cookie = entry.cookie;
                let dots = entry.name == b"." || entry.name == b"..";
                let hidden = self.server.hidden.is_some_and(|hidden| {
                    hidden.inode == entry.inode && hidden == identity_at(&fd, &entry.name)
                });
                if !dots && !hidden {
                    entry.emit(&mut out);
                }
            }
        }
        // Where to go on, also when the last names were not shown.
        reply.values[1] = cookie;
        let told = self.server.told(self.session, self.request.node, &fd)?;
        reply = Reply {
            values: reply.values,
            ..told
        };
        Ok((reply, Some(out)))
    }
}

/// A file of a request.
pub(super) enum File {
    Open(Arc<Open>),
    Alone(std::fs::File),
}

impl File {
    pub(super) fn as_file(&self) -> &std::fs::File {
        match self {
            File::Open(open) => &open.file,
            File::Alone(file) => file,
        }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.as_file().as_fd()
    }
}

/// Opens a file or a folder. Anything else would do something on the server's machine.
pub(super) fn open_place(place: &OwnedFd, asked: i32) -> Sys<OwnedFd> {
    let stat = sys::stat(place)?;
    match stat.kind() {
        libc::S_IFREG | libc::S_IFDIR => {}
        libc::S_IFLNK => return Err(libc::ELOOP as Errno),
        _ => return Err(libc::ENXIO as Errno),
    }
    let kept = asked & OPEN_FLAGS & !libc::O_ACCMODE;
    wider(asked & libc::O_ACCMODE, |access| {
        sys::reopen(place, kept | access | libc::O_NONBLOCK)
    })
}

/// Writes as much as there is room for: how many bytes, and the error that ended it, or 0.
fn write_all(file: &std::fs::File, data: &[u8], offset: u64) -> Sys<(usize, Errno)> {
    if offset
        .checked_add(data.len() as u64)
        .is_none_or(|end| end > i64::MAX as u64)
    {
        return Err(libc::EFBIG as Errno);
    }
    let mut had = 0;
    while had < data.len() {
        match file.write_at(&data[had..], offset + had as u64) {
            Ok(0) => break,
            Ok(more) => had += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if had == 0 => return Err(errno(&error)),
            Err(error) => return Ok((had, errno(&error))),
        }
    }
    Ok((had, 0))
}
