//! What an earlier server had begun: was it done? The facts that it wrote before, and what is there
//! now, say so. Whatever can be done again without a difference counts as not done.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use super::Server;
use super::identity::Actor;
use super::nodes::Identity;
use super::operations::Call;
use super::session::{Begun, Session};
use super::slots::Facts;
use crate::protocol::{APPEND, Operation, Reply, Request};
use crate::sys::{self, Sys};

/// The name of a file that was removed while it was open.
pub(crate) fn aside_name(node: u64) -> String {
    format!("{node:016x}")
}

impl Server {
    /// Finds out about an operation of an earlier server; keeps the reply if it was done.
    pub(super) fn recover(self: &Arc<Server>, session: &Arc<Session>, begun: &Begun) {
        let Some(operation) = Operation::from_number(begun.operation) else {
            return;
        };
        let Ok(request) = Request::parse(&begun.request) else {
            return;
        };
        let call = Call {
            server: self,
            session,
            actor: Actor::Own,
            request: &request,
            operation,
            data: Vec::new(),
            recalled: RefCell::default(),
            recalls_until: Instant::now() + self.lease,
        };
        if let Ok(Some(reply)) = self.was_done(&call, &begun.facts) {
            session.was_done(begun, &reply);
        }
    }

    /// The reply of an operation that was done.
    fn was_done(self: &Arc<Server>, call: &Call, facts: &Facts) -> Sys<Option<Reply>> {
        let request = call.request;
        let now = |folder: u64, name: &[u8]| -> Sys<(Arc<OwnedFd>, Identity)> {
            let folder = self.nodes.place(folder)?;
            let stat = sys::stat_at(&folder, name);
            Ok((
                folder,
                stat.map_or(Identity::NONE, |stat| Identity::of(&stat)),
            ))
        };
        match call.operation {
            Operation::Create
            | Operation::Mkdir
            | Operation::Mknod
            | Operation::Symlink
            | Operation::Link => {
                let (_, found) = now(request.node, &request.name)?;
                let expected = match call.operation {
                    Operation::Link => found == facts.name2,
                    _ => found != Identity::NONE,
                };
                if facts.name != Identity::NONE || !expected {
                    return Ok(None);
                }
                call.made_before().map(Some)
            }
            Operation::Unlink | Operation::Rmdir => {
                let (_, found) = now(request.node, &request.name)?;
                if facts.name == Identity::NONE || found == facts.name {
                    return Ok(None);
                }
                if let Some(node) = self.nodes.find(facts.name) {
                    self.nodes.unnamed(node, request.node, &request.name);
                    self.find_aside(node);
                }
                Ok(Some(Reply::default()))
            }
            Operation::Rename => {
                let (_, found) = now(request.node, &request.name)?;
                let (_, found2) = now(request.arguments[0], &request.name2)?;
                let moved = found2 == facts.name && found != facts.name;
                if facts.name == Identity::NONE || !moved {
                    return Ok(None);
                }
                if let Some(node) = self.nodes.find(facts.name2) {
                    self.nodes
                        .unnamed(node, request.arguments[0], &request.name2);
                    if found == facts.name2 {
                        self.nodes.named(node, request.node, &request.name);
                    }
                    self.find_aside(node);
                }
                if let Some(node) = self.nodes.find(facts.name) {
                    self.nodes.named(node, request.arguments[0], &request.name2);
                    self.nodes.unnamed(node, request.node, &request.name);
                }
                Ok(Some(Reply::default()))
            }
            Operation::Write if request.arguments[0] == APPEND => {
                let look = self
                    .nodes
                    .look(request.node, &self.nodes.place(request.node)?)?;
                let wrote = look.stat.size.saturating_sub(facts.size);
                if wrote == 0 {
                    return Ok(None);
                }
                let mut reply = self.about(request.node, &look);
                reply.values[0] = wrote.min(request.arguments[1]);
                Ok(Some(reply))
            }
            Operation::Fallocate => {
                let moves = libc::FALLOC_FL_COLLAPSE_RANGE | libc::FALLOC_FL_INSERT_RANGE;
                let look = self
                    .nodes
                    .look(request.node, &self.nodes.place(request.node)?)?;
                if request.arguments[0] as i32 & moves == 0 || look.stat.size == facts.size {
                    return Ok(None);
                }
                Ok(Some(self.about(request.node, &look)))
            }
            Operation::Setxattr | Operation::Removexattr => {
                let place = self.nodes.place(request.node)?;
                let present = sys::get_xattr(&place, &request.name, 0).is_ok();
                let creates = call.operation == Operation::Setxattr
                    && request.arguments[1] as i32 & libc::XATTR_CREATE != 0;
                let done = match call.operation {
                    Operation::Removexattr => facts.present != 0 && !present,
                    _ => creates && facts.present == 0 && present,
                };
                let look = self.nodes.look(request.node, &place)?;
                Ok(done.then_some(self.about(request.node, &look)))
            }
            // Done again they make no difference.
            _ => Ok(None),
        }
    }

    /// A file that lost its name may have been put aside just before.
    fn find_aside(&self, node: u64) {
        let Some(aside) = &self.aside else {
            return;
        };
        let name = aside_name(node);
        if sys::stat_at(aside, name.as_bytes()).is_ok() {
            self.nodes.named(node, super::nodes::ASIDE, name.as_bytes());
        }
    }

    /// Removes files that were put aside and that nobody has open any more.
    pub(super) fn sweep_aside(&self) {
        let Some(aside) = &self.aside else {
            return;
        };
        let Ok(folder) = sys::reopen(aside, libc::O_RDONLY | libc::O_DIRECTORY) else {
            return;
        };
        while let Ok(entries) = sys::entries(&folder) {
            if entries.is_empty() {
                return;
            }
            for entry in entries {
                let name = String::from_utf8_lossy(&entry.name);
                let node = u64::from_str_radix(&name, 16).ok();
                let open = node.is_some_and(|node| self.nodes.is_open(node));
                if entry.kind != libc::DT_DIR && !open {
                    let _ = sys::unlink(aside, &entry.name, 0);
                    if let Some(node) = node {
                        self.nodes.unnamed(node, super::nodes::ASIDE, &entry.name);
                        self.nodes.gone(node);
                    }
                }
            }
        }
    }
}
