//! What nodes are like: attributes, access, extended attributes, the file system below.

use super::{Answer, Call};
use crate::protocol::{NAME_MAX, Operation, Reply, XATTR_MAX, recall, set};
use crate::server::slots::Facts;
use crate::sys::{self, Errno, Sys};

impl Call<'_> {
    pub(super) fn getattr(&self) -> Sys<Reply> {
        let (server, node) = (self.server, self.request.node);
        if let Some(open) = self.open_or_none()? {
            return server.told(self.session, node, &open.file);
        }
        let look = server.look(self.session, node, &self.place()?)?;
        if look.stat.links == 0 && !server.nodes.is_open(node) {
            // Removed behind the server's back; only the place kept it.
            server.nodes.forget_place(node);
            return Err(libc::ESTALE as Errno);
        }
        Ok(server.about(node, &look))
    }

    pub(super) fn setattr(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let which = self.argument(0);
        let has = |bit: u64| which & bit != 0;
        let place = self.place()?;
        let open = self.open_or_none()?;
        let what = match has(set::SIZE) {
            true => recall::DATA | recall::ATTR,
            false => recall::ATTR,
        };
        self.recall(&[(request.node, what)]);
        self.intend(&Facts::NONE)?;
        // Who has opened a file for writing may cut it, which is a modification, too, and need not be
        // permitted to set times, or to open it again.
        let writable = |flags: u32| flags as i32 & libc::O_ACCMODE != libc::O_RDONLY;
        let cut = open.filter(|open| has(set::SIZE) && writable(open.flags));
        let now = match cut {
            Some(_) => set::ACCESS_NOW,
            None => set::ACCESS_NOW | set::MODIFIED_NOW,
        };
        if has(set::MODE | set::UID | set::GID | set::ACCESS | set::MODIFIED) {
            self.actor.may_own()?;
        } else if cut.is_none() && has(set::SIZE | now) {
            self.actor.may(&place, 2)?;
        }
        {
            let _user = self.user()?;
            if has(set::SIZE) {
                let size = self.argument(3);
                match &cut {
                    Some(open) => sys::truncate_open(&open.file, size)?,
                    None => sys::truncate(&place, size)?,
                }
            }
            if has(set::UID | set::GID) {
                let ids = self.argument(2);
                let uid = if has(set::UID) {
                    (ids >> 32) as u32
                } else {
                    u32::MAX
                };
                let gid = if has(set::GID) { ids as u32 } else { u32::MAX };
                sys::set_owner(&place, uid, gid)?;
            }
            if has(set::MODE) {
                sys::set_mode(&place, self.argument(1) as u32 & 0o7777)?;
            }
            if has(set::ACCESS | set::MODIFIED | now) {
                let time = |set: u64, set_now: u64, argument: usize| {
                    let nanoseconds = self.argument(argument) as i64;
                    let (tv_sec, tv_nsec) = match (has(set_now & now), has(set)) {
                        (true, _) => (0, libc::UTIME_NOW),
                        (false, true) => (
                            nanoseconds.div_euclid(1_000_000_000),
                            nanoseconds.rem_euclid(1_000_000_000),
                        ),
                        (false, false) => (0, libc::UTIME_OMIT),
                    };
                    libc::timespec { tv_sec, tv_nsec }
                };
                let access = time(set::ACCESS, set::ACCESS_NOW, 4);
                let modified = time(set::MODIFIED, set::MODIFIED_NOW, 5);
                sys::set_times(&place, [access, modified])?;
            }
        }
        server.nodes.changed(request.node);
        server.told(self.session, request.node, &place)
    }

    pub(super) fn access(&self) -> Sys<Reply> {
        let wanted = self.argument(0) as u32;
        if wanted & !7 != 0 {
            return Err(libc::EINVAL as Errno);
        }
        let place = self.place()?;
        self.actor.may(&place, wanted)?;
        {
            let _user = self.user()?;
            sys::access(&place, wanted)?;
        }
        self.server.told(self.session, self.request.node, &place)
    }

    pub(super) fn statfs(&self) -> Sys<Reply> {
        Ok(Reply {
            values: sys::file_system(&self.place()?)?,
            ..Reply::default()
        })
    }

    /// An attribute's name; those by which the kernel of the server's machine trusts a file are not
    /// for clients.
    fn xattr_name(&self) -> Sys<&[u8]> {
        let name = &self.request.name;
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(libc::ERANGE as Errno);
        }
        Ok(name)
    }

    fn room(&self) -> Sys<usize> {
        let room = usize::try_from(self.argument(0)).ok();
        let room = room.filter(|room| *room <= XATTR_MAX);
        room.ok_or(libc::E2BIG as Errno)
    }

    pub(super) fn getxattr(&self) -> Answer {
        let (name, room) = (self.xattr_name()?, self.room()?);
        let place = self.place()?;
        self.actor.may(&place, 4)?;
        let _user = self.user()?;
        let (length, value) = sys::get_xattr(&place, name, room)?;
        let mut reply = Reply::default();
        reply.values[0] = length as u64;
        Ok((reply, Some(value)))
    }

    pub(super) fn listxattr(&self) -> Answer {
        let room = self.room()?;
        let place = self.place()?;
        let _user = self.user()?;
        let (length, names) = sys::list_xattr(&place, room)?;
        let mut reply = Reply::default();
        reply.values[0] = length as u64;
        Ok((reply, Some(names)))
    }

    pub(super) fn change_xattr(&self) -> Sys<Reply> {
        let (request, server) = (self.request, self.server);
        let name = self.xattr_name()?;
        let place = self.place()?;
        self.recall(&[(request.node, recall::ATTR)]);
        let present = u64::from(sys::get_xattr(&place, name, 0).is_ok());
        self.intend(&Facts {
            present,
            ..Facts::NONE
        })?;
        self.actor.may_own()?;
        {
            let _user = self.user()?;
            match self.operation {
                Operation::Setxattr => {
                    sys::set_xattr(&place, name, &self.data, self.argument(1))?;
                }
                _ => sys::remove_xattr(&place, name)?,
            }
        }
        server.nodes.changed(request.node);
        server.told(self.session, request.node, &place)
    }
}
