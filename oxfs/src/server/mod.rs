//! The server: sessions of clients, nodes below the exported folder, and what is done to them.
//!
//! `link` has the connections, `session` and `slots` what must survive them, `nodes` the numbers of
//! files, `operations` what requests do, `recover` what a killed server had begun, `locks` and
//! `recalls` what clients want of each other, `identity` as whom it is done.

mod identity;
mod link;
mod locks;
mod node_log;
mod nodes;
mod operations;
mod options;
mod pool;
mod recalls;
mod recover;
mod serve;
mod session;
mod slots;

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxmpi_oxk::{FULL, PeerToken, Pending};

use crate::protocol::{
    DATA_MAX, Kind, NO_SLOT, Operation, Reply, Request, SESSION_KNOWN, SLOTS_MAX, VERSION,
    XATTR_MAX, recall,
};
use crate::sys::{Errno, Sys};
use identity::Policy;
use link::{Asker, Link, Ticket};
use locks::{Ended, Locks};
use nodes::{Identity, Look, Nodes, ROOT};
use operations::{Call, Performed};
use pool::Pool;
use recalls::Interests;
use session::{Address, Admitted, Session};

pub use options::Options;
pub use serve::{ServeError, serve};

/// Changes of names are made one at a time in each of so many groups of folders.
const FOLDER_LOCKS: usize = 64;
/// For so many leases at most an earlier server's clients may take back what they had.
const RECLAIM_LEASES_MAX: u32 = 4;
/// Sessions at most.
const SESSIONS_MAX: usize = 1024;

/// The error of a request without a session, or with one that has ended: say HELLO again.
pub(crate) const NO_SESSION: Errno = libc::EKEYEXPIRED as Errno;

pub(crate) struct Server {
    policy: Policy,
    read_only: bool,
    lease: Duration,
    pub(crate) pool: Arc<Pool>,
    nodes: Nodes,
    /// The state folder, if it is below the export: no client sees it.
    hidden: Option<Identity>,
    aside: Option<Arc<OwnedFd>>,
    sessions_folder: PathBuf,
    sessions: Mutex<HashMap<u64, Arc<Session>>>,
    links: Mutex<HashMap<u64, Arc<Link>>>,
    folders: [Mutex<()>; FOLDER_LOCKS],
    locks: Mutex<Locks>,
    /// Who waits for a lock, by the number that `locks` gave.
    waiting: Mutex<HashMap<u64, Asker>>,
    interests: Mutex<Interests>,
    recall_numbers: AtomicU64,
    open_numbers: AtomicU64,
    boot: u64,
    /// Until then locks of an earlier server's clients are reclaimed, and no others given.
    grace_until: Mutex<Option<Instant>>,
    /// Until then opens may be reclaimed.
    reclaim_until: Mutex<Instant>,
    /// And never after this.
    reclaim_end: Instant,
    /// Keeps the path of the state folder, which is its descriptor.
    _state: OwnedFd,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    fn keep_link(&self, link: Arc<Link>) {
        locked(&self.links).insert(link.number, link);
    }

    fn link_lost(&self, number: u64) {
        let link = locked(&self.links).remove(&number);
        if let Some(link) = link {
            link.end();
            // Not while a HELLO gives the session to another link: that one's interests stay.
            let session = link.session.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(session) = session.as_ref() {
                // It may ask again; its cache is no longer what recalls keep true.
                locked(&self.interests).end(session.id);
            }
        }
    }

    /// Bytes of data that come with a request; `None`: more than there may be.
    fn data_bytes(operation: Operation, request: &Request) -> Option<usize> {
        let (bytes, most) = match operation {
            Operation::Write => (request.arguments[1], DATA_MAX),
            Operation::Symlink => (request.arguments[0], crate::protocol::TARGET_MAX),
            Operation::Setxattr => (request.arguments[0], XATTR_MAX),
            _ => return Some(0),
        };
        usize::try_from(bytes).ok().filter(|bytes| *bytes <= most)
    }

    /// A request has come.
    fn request(
        self: &Arc<Server>,
        link: &Arc<Link>,
        peer: PeerToken,
        bits: u64,
        bytes: &[u8],
        ticket: Ticket,
    ) {
        let (number, transaction) = crate::protocol::named(bits);
        let Ok(request) = Request::parse(bytes) else {
            return link.endpoint.disconnect(peer);
        };
        let to = Address {
            link: Arc::downgrade(link),
            peer,
            operation: number,
            transaction,
        };
        let asker = Asker {
            to,
            slot: None,
            session: None,
            ticket: Some(ticket),
        };
        let Some(operation) = Operation::from_number(number) else {
            return self.answer(asker, &Reply::failure(libc::EOPNOTSUPP as Errno), None);
        };
        let Some(data) = Server::data_bytes(operation, &request) else {
            // Its data could not be received, and nothing behind it would be understood.
            return link.endpoint.disconnect(peer);
        };
        if data == 0 {
            return self.admit(link, asker, operation, request, Vec::new());
        }
        let (bits, link2) = (Kind::DataOut.bits(number, transaction), link.clone());
        link.take_data(bits, data, move |server, data| {
            server.admit(&link2, asker, operation, request, data);
        });
    }

    /// A request is there with its data.
    fn admit(
        self: &Arc<Server>,
        link: &Arc<Link>,
        mut asker: Asker,
        operation: Operation,
        request: Request,
        data: Vec<u8>,
    ) {
        if operation == Operation::Hello {
            let reply = self.hello(link, &request).unwrap_or_else(Reply::failure);
            return self.answer(asker, &reply, None);
        }
        let session = link
            .session()
            .filter(|session| session.id == request.session);
        let Some(session) = session else {
            return self.answer(asker, &Reply::failure(NO_SESSION), None);
        };
        if operation == Operation::Goodbye {
            self.end_session(&session);
            return self.answer(asker, &Reply::default(), None);
        }
        if operation.changes() && request.slot != NO_SLOT {
            match session.admit(request.slot, request.sequence, &asker.to) {
                Admitted::New => asker.slot = Some(request.slot),
                Admitted::Done(reply) => return self.answer(asker, &reply, None),
                // The first asker's thread answers to this address.
                Admitted::UnderWay => return,
                Admitted::Never => {
                    let reply = Reply::failure(libc::EPROTO as Errno);
                    return self.answer(asker, &reply, None);
                }
            }
        }
        asker.session = Some(session.clone());
        let call = Call {
            server: self,
            session: &session,
            actor: self.policy.actor(&request),
            request: &request,
            operation,
            data,
            recalled: RefCell::default(),
            recalls_until: Instant::now() + self.lease,
        };
        match performed(|| call.perform()) {
            Performed::Answer(reply, data) => self.answer(asker, &reply, data),
            Performed::Lock(wanted, wait) => {
                self.lock_or_wait(asker, &session, request.node, wanted, wait);
            }
        }
    }

    /// Answers a request; its slot keeps the reply.
    fn answer(&self, asker: Asker, reply: &Reply, data: Option<Vec<u8>>) {
        let mut reply = *reply;
        reply.data_bytes = data.as_ref().map_or(0, |data| data.len() as u64);
        let mut to = asker.to;
        if let (Some(slot), Some(session)) = (asker.slot, &asker.session) {
            match session.finish(slot, &reply) {
                Some(latest) => to = latest,
                None => return,
            }
        }
        if let Some(link) = to.link.upgrade() {
            link.reply(&to, &reply, data, asker.ticket);
        }
    }

    fn hello(self: &Arc<Server>, link: &Arc<Link>, request: &Request) -> Sys<Reply> {
        let [version, low, high, ..] = request.arguments;
        if version != VERSION {
            return Err(libc::EPROTONOSUPPORT as Errno);
        }
        let name = (low, high);
        let mut sessions = locked(&self.sessions);
        let same = sessions.values().find(|session| {
            session.name == name && (request.session == 0 || session.id == request.session)
        });
        let (session, known) = match same.cloned() {
            Some(session) => {
                let mut state = session.lock();
                let known = state.known;
                state.known = true;
                drop(state);
                (session, known)
            }
            None => {
                if sessions.len() >= SESSIONS_MAX {
                    return Err(libc::EUSERS as Errno);
                }
                let id = random()?;
                let session = Arc::new(Session::create(&self.sessions_folder, id, name)?);
                sessions.insert(id, session.clone());
                (session, false)
            }
        };
        drop(sessions);
        session.hear();
        let earlier = std::mem::replace(&mut session.lock().link, Arc::downgrade(link)).upgrade();
        if let Some(earlier) = earlier
            && !Arc::ptr_eq(&earlier, link)
        {
            earlier.set_session(None);
            earlier.end();
        }
        link.set_session(Some(session.clone()));
        locked(&self.interests).end(session.id);
        let place = self.nodes.place(ROOT)?;
        let mut reply = self.told(&session, ROOT, &place)?;
        reply.values = [
            session.id,
            SLOTS_MAX as u64,
            DATA_MAX as u64,
            self.lease.as_millis() as u64,
            self.boot,
            if known { SESSION_KNOWN } else { 0 },
        ];
        Ok(reply)
    }

    /// A session is over: its client said so, or was silent for a lease.
    fn end_session(&self, session: &Arc<Session>) {
        locked(&self.sessions).remove(&session.id);
        let (opens, left, link) = {
            let mut state = session.lock();
            state.ended = true;
            let opens = std::mem::take(&mut state.opens);
            (
                opens,
                std::mem::take(&mut state.reclaimable),
                state.link.upgrade(),
            )
        };
        if let Some(link) = link {
            link.set_session(None);
        }
        let ended = locked(&self.locks).release(|owner| owner.session == session.id);
        self.tell_waiting(ended);
        locked(&self.interests).end(session.id);
        session.remove_file();
        for open in opens.into_values() {
            self.node_closed(open.node);
        }
        for open in left.into_values() {
            self.node_closed(open.node);
        }
    }

    /// An open of a node is gone; a file that was removed while it was open goes with the last.
    fn node_closed(&self, node: u64) {
        if self.nodes.closed(node) == 0
            && self.nodes.is_aside(node)
            && let Some(aside) = &self.aside
        {
            let name = recover::aside_name(node);
            let _ = crate::sys::unlink(aside, name.as_bytes(), 0);
            self.nodes.unnamed(node, nodes::ASIDE, name.as_bytes());
            self.nodes.gone(node);
        }
    }

    /// The reply that tells a session about a node, by a descriptor of it.
    fn told(&self, session: &Session, node: u64, fd: &impl AsFd) -> Sys<Reply> {
        Ok(self.about(node, &self.look(session, node, fd)?))
    }

    /// What a session is told about a node. It is interested from before the look, so that a change
    /// after it is recalled.
    fn look(&self, session: &Session, node: u64, fd: &impl AsFd) -> Sys<Look> {
        let evicted = locked(&self.interests).note(session.id, node);
        if let Some(evicted) = evicted {
            let all = recall::DATA | recall::ATTR | recall::ENTRIES;
            self.send_recall(session.id, evicted, all);
        }
        self.nodes.look(node, fd)
    }

    /// Asks every other session to forget what it has of these nodes, and waits until they have, or
    /// until then.
    fn recall(&self, session: &Session, changes: &[(u64, u32)], until: Instant) {
        let mut asked = Vec::new();
        for &(node, what) in changes {
            let (others, hasty) = {
                let mut interests = locked(&self.interests);
                let hasty = interests.is_asked(session.id, node);
                let others = interests.take_others(session.id, node);
                for &other in &others {
                    interests.ask(other, node);
                }
                (others, hasty)
            };
            for other in others {
                let sent = self.send_recall(other, node, what);
                let awaited = sent.and_then(|(other, sent)| Some((other.awaited(sent)?, other)));
                match awaited.filter(|_| !hasty) {
                    Some((pending, session)) => asked.push((session, node, pending)),
                    // Who writes because it is asked to does not wait: it might be for the writer.
                    None => locked(&self.interests).answered(other, node),
                }
            }
        }
        if asked.is_empty() {
            return;
        }
        let begun = Instant::now();
        self.pool.waiting(|| {
            for (other, node, pending) in asked {
                let left = until.saturating_duration_since(Instant::now());
                // Without an answer its lease is over, and so is its cache. The time may have been
                // another's, to whom a recall went before.
                match pending.wait_for(left) {
                    Err(pending) if begun.elapsed() >= self.lease / 2 => other.let_lapse(pending),
                    _ => {}
                }
                locked(&self.interests).answered(other.id, node);
            }
        });
    }

    fn send_recall(&self, session: u64, node: u64, what: u32) -> Option<(Arc<Session>, Pending)> {
        let session = locked(&self.sessions).get(&session).cloned()?;
        let link = session.lock().link.upgrade()?;
        let peer = link.endpoint.peers().first().copied()?;
        let number = self.recall_numbers.fetch_add(1, Ordering::Relaxed);
        let answer = Kind::Recalled.bits(0, number);
        let pending = link.endpoint.receive_pending(answer, FULL, vec![0; 16]);
        let message = crate::protocol::Recall { node, what }.emit();
        let bits = Kind::Recall.bits(0, number);
        link.endpoint.send(peer, bits, message, None).ok()?;
        Some((session, pending.ok()?))
    }

    fn lock_or_wait(
        self: &Arc<Server>,
        mut asker: Asker,
        session: &Session,
        node: u64,
        wanted: locks::Lock,
        wait: bool,
    ) {
        use locks::Outcome;
        // Under the table's lock, so that the number is known here before it is granted.
        let mut waiting = locked(&self.waiting);
        let outcome = {
            let mut locks = locked(&self.locks);
            // The end of a session lets go of what it has by then, and of nothing that comes later.
            match session.lock().ended {
                true => Outcome::Ended,
                false => locks.lock(node, wanted, wait),
            }
        };
        let error = match outcome {
            Outcome::Granted => {
                drop(waiting);
                session.hold_locks(true);
                0
            }
            Outcome::Waiting(number) => {
                // A request that waits takes no room of the connection's.
                asker.ticket = None;
                waiting.insert(number, asker);
                return;
            }
            Outcome::Hindered(_) => libc::EAGAIN as Errno,
            Outcome::Deadlock => libc::EDEADLK as Errno,
            Outcome::TooMany => libc::ENOLCK as Errno,
            Outcome::Ended => NO_SESSION,
        };
        self.answer(asker, &Reply::failure(error), None);
    }

    /// Answers requests that waited for locks.
    fn tell_waiting(&self, ended: Ended) {
        let granted = ended.granted.into_iter().map(|number| (number, 0));
        let interrupted = ended.interrupted.into_iter();
        let interrupted = interrupted.map(|number| (number, libc::EINTR as Errno));
        for (number, error) in granted.chain(interrupted) {
            let Some(asker) = locked(&self.waiting).remove(&number) else {
                continue;
            };
            if error == 0
                && let Some(session) = &asker.session
            {
                session.hold_locks(true);
            }
            self.answer(asker, &Reply::failure(error), None);
        }
    }
}

/// What came of a request; of one that ends in a panic an error. Without an answer its slot would be
/// taken for ever, and nobody knows whether it may be done again.
fn performed(perform: impl FnOnce() -> Performed) -> Performed {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(perform));
    done.unwrap_or_else(|_| Performed::Answer(Reply::failure(libc::EIO as Errno), None))
}

/// A random number that is not 0.
fn random() -> Sys<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| libc::EIO as Errno)?;
    Ok(u64::from_le_bytes(bytes).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_panics_has_an_answer() {
        let Performed::Answer(reply, data) = performed(|| panic!("on purpose")) else {
            panic!("it is answered");
        };
        assert_eq!((reply.error, data), (libc::EIO as u32, None));
    }
}
