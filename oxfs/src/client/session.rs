//! The client's half of a session: slots, the connection and its replacement, opens that are
//! reclaimed, recalls that are answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use oxmpi_oxk::{
    Bounds, Completed, Connection, DialError, Endpoint, FULL, Handlers, JobKey, OpenError,
    PeerToken,
};

use crate::protocol::{
    KIND_MASK, Kind, NO_SLOT, Operation, RECALL_BYTES, REPLY_BYTES, Recall, Reply, Request,
    SESSION_KNOWN, VERSION, named,
};

/// A client's endpoint: room for a READ that comes before its receive has been looked at.
const BOUNDS: Bounds = Bounds {
    requests: 1024,
    peers: 1,
    unexpected_bytes: 4 << 20,
    eager_bytes: 16 << 10,
    handler: false,
};
/// Recalls that are taken at once.
const RECALLS: usize = 8;
/// Between two attempts to reach a server.
const PAUSE: Duration = Duration::from_millis(50);

/// As whom requests are made.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its other groups.
    pub groups: Vec<u32>,
}

/// How a client is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Host and port.
    pub address: String,
    /// The key that it shares with the server.
    pub key: JobKey,
    /// How long a server may be away.
    pub patience: Duration,
    /// As whom.
    pub user: User,
}

/// Why a request has no reply.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// There is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] OpenError),
    /// The server refuses the session.
    #[error("the server at {address} gives no session: {}", std::io::Error::from_raw_os_error(*error as i32))]
    Hello {
        /// Which server.
        address: String,
        /// Its errno.
        error: u32,
    },
    /// It was away for too long.
    #[error("the server at {address} has not answered for {seconds} s; it may be stopped")]
    Away {
        /// Which server.
        address: String,
        /// How long.
        seconds: u64,
    },
    /// The session ended while the operation was under way.
    #[error(
        "the server at {address} has forgotten this session, and with it whether {operation:?} was \
         done; look before you try again"
    )]
    Unknown {
        /// Which server.
        address: String,
        /// What was asked for.
        operation: Operation,
    },
}

struct Slot {
    number: u32,
    sequence: u32,
    /// Of which session.
    epoch: u64,
}

/// An open, by the client's own number.
#[derive(Clone, Copy)]
struct Held {
    open: u64,
    node: u64,
    flags: u64,
}

/// A connection with its session.
struct Live {
    endpoint: Endpoint,
    peer: PeerToken,
    session: u64,
}

#[derive(Default)]
struct State {
    live: Option<Arc<Live>>,
    session: u64,
    slots: Vec<Slot>,
    opens: HashMap<u64, Held>,
    next_open: u64,
    lease: Duration,
    boot: u64,
    root: Reply,
    ended: bool,
    /// How often a session has begun anew, so that its slots mean something else.
    epoch: u64,
}

type OnRecall = Box<dyn Fn(Recall) + Send + Sync>;

struct Inner {
    settings: Settings,
    name: (u64, u64),
    state: Mutex<State>,
    /// A slot is free.
    freed: Condvar,
    transactions: AtomicU64,
    user: Mutex<User>,
    on_recall: OnceLock<OnRecall>,
}

/// A session with a server. Dropping it says goodbye.
pub struct Client(Arc<Inner>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a request brings and expects besides its structure.
pub struct Extra {
    /// DATA_OUT.
    pub data: Vec<u8>,
    /// Room for DATA_IN.
    pub room: usize,
}

impl Extra {
    /// Nothing.
    pub const NONE: Extra = Extra {
        data: Vec::new(),
        room: 0,
    };
}

impl Client {
    /// Begins a session.
    pub fn connect(settings: Settings) -> Result<Client, ClientError> {
        Client::connect_with(settings, None)
    }

    /// As [`Client::connect`]; `on_recall` is called before a recall is answered.
    pub fn connect_with(
        settings: Settings,
        on_recall: Option<OnRecall>,
    ) -> Result<Client, ClientError> {
        let random = || {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
            Ok::<u64, OpenError>(u64::from_le_bytes(bytes))
        };
        let user = Mutex::new(settings.user.clone());
        let inner = Arc::new(Inner {
            settings,
            name: (random()?, random()?),
            state: Mutex::default(),
            freed: Condvar::new(),
            transactions: AtomicU64::new(1),
            user,
            on_recall: OnceLock::new(),
        });
        if let Some(on_recall) = on_recall {
            let _ = inner.on_recall.set(on_recall);
        }
        let client = Client(inner.clone());
        let live = inner.live(Instant::now())?;
        drop(live);
        let renewed = Arc::downgrade(&inner);
        std::thread::spawn(move || renew(&renewed));
        Ok(client)
    }

    /// The node and the attributes of the exported folder.
    pub fn root(&self) -> Reply {
        locked(&self.0.state).root
    }

    /// The session's number at the server.
    pub fn session(&self) -> u64 {
        locked(&self.0.state).session
    }

    /// Requests are made as this user from now on.
    pub fn set_user(&self, user: User) {
        *locked(&self.0.user) = user;
    }

    /// Makes a request and waits for its reply, over as many connections as it takes. `open` of the
    /// request is a number that [`Client::keep_open`] gave.
    pub fn call(
        &self,
        operation: Operation,
        request: Request,
        extra: Extra,
    ) -> Result<(Reply, Vec<u8>), ClientError> {
        self.0.call(operation, request, extra)
    }

    /// Remembers an open, so that it is there again after a start of the server.
    pub fn keep_open(&self, open: u64, node: u64, flags: u64) -> u64 {
        let mut state = locked(&self.0.state);
        state.next_open += 1;
        let number = state.next_open;
        state.opens.insert(number, Held { open, node, flags });
        number
    }

    /// Closes an open.
    pub fn close(&self, number: u64) -> Result<Reply, ClientError> {
        let request = Request {
            open: number,
            ..Request::default()
        };
        let closed = self.call(Operation::Close, request, Extra::NONE);
        locked(&self.0.state).opens.remove(&number);
        closed.map(|(reply, _)| reply)
    }

    /// Loses the connection, as a network might.
    pub fn interrupt(&self) {
        let live = locked(&self.0.state).live.take();
        if let Some(live) = live {
            live.endpoint.close();
        }
    }

    /// Ends without a goodbye, as a killed client does.
    pub fn vanish(self) {
        locked(&self.0.state).ended = true;
        self.interrupt();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let live = {
            let mut state = locked(&self.0.state);
            if std::mem::replace(&mut state.ended, true) {
                return;
            }
            state.live.take()
        };
        if let Some(live) = live {
            let request = Request {
                session: live.session,
                slot: NO_SLOT,
                ..Request::default()
            };
            let second = Duration::from_secs(1);
            let (operation, mut extra) = (Operation::Goodbye, Extra::NONE);
            let _ = self
                .0
                .exchange(&live, operation, &request, &mut extra, second);
        }
    }
}

/// Keeps the session alive while the client is silent.
fn renew(client: &Weak<Inner>) {
    loop {
        let lease = match client.upgrade() {
            Some(inner) => locked(&inner.state).lease,
            None => return,
        };
        let mut left = (lease / 3).max(Duration::from_millis(10));
        while !left.is_zero() {
            let step = left.min(Duration::from_millis(100));
            std::thread::sleep(step);
            left -= step;
            if client.strong_count() == 0 {
                return;
            }
        }
        let Some(inner) = client.upgrade() else {
            return;
        };
        let (live, ended) = {
            let state = locked(&inner.state);
            (state.live.clone(), state.ended)
        };
        if ended {
            return;
        }
        if let Some(live) = live {
            let request = Request {
                session: live.session,
                slot: NO_SLOT,
                ..Request::default()
            };
            let (operation, mut extra) = (Operation::Renew, Extra::NONE);
            let _ = inner.exchange(&live, operation, &request, &mut extra, lease);
        }
    }
}

impl Inner {
    fn call(
        self: &Arc<Inner>,
        operation: Operation,
        mut request: Request,
        mut extra: Extra,
    ) -> Result<(Reply, Vec<u8>), ClientError> {
        {
            let user = locked(&self.user);
            (request.uid, request.gid) = (user.uid, user.gid);
            request.groups.clone_from(&user.groups);
        }
        let number = request.open;
        let mut slot = operation.changes().then(|| self.take_slot());
        let mut epoch = None;
        let mut since = Instant::now();
        let result = loop {
            let live = match self.live(since) {
                Ok(live) => live,
                Err(error) => break Err(error),
            };
            {
                let state = locked(&self.state);
                let other = |slot: &Slot| slot.epoch != state.epoch;
                if epoch.is_none() && slot.as_ref().is_some_and(other) {
                    // Nothing was asked in it yet.
                    drop(state);
                    slot = Some(self.take_slot());
                    continue;
                }
                request.slot = slot.as_ref().map_or(NO_SLOT, |slot| slot.number);
                request.sequence = slot.as_ref().map_or(0, |slot| slot.sequence);
                let before = epoch.replace(state.epoch);
                if slot.is_some() && before.is_some_and(|before| before != state.epoch) {
                    break Err(ClientError::Unknown {
                        address: self.settings.address.clone(),
                        operation,
                    });
                }
                request.open = match number {
                    0 => 0,
                    number => state.opens.get(&number).map_or(number, |held| held.open),
                };
                request.session = live.session;
            }
            let time = match operation {
                // The reply comes when the lock does.
                Operation::Lock => Duration::from_secs(3600),
                _ => self.settings.patience.max(Duration::from_secs(1)),
            };
            match self.exchange(&live, operation, &request, &mut extra, time) {
                Some((reply, _)) if reply.error == libc::EKEYEXPIRED as u32 => {
                    self.lose(&live);
                }
                Some(answer) => break Ok(answer),
                None => {
                    self.lose(&live);
                    since = Instant::now();
                }
            }
        };
        if let Some(mut slot) = slot {
            let mut state = locked(&self.state);
            // A slot whose operation may still be under way is not used again.
            if result.is_ok() && epoch == Some(state.epoch) {
                slot.sequence = slot.sequence.wrapping_add(1);
                state.slots.push(slot);
                self.freed.notify_one();
            }
        }
        result
    }

    fn take_slot(&self) -> Slot {
        let mut state = locked(&self.state);
        loop {
            if let Some(slot) = state.slots.pop() {
                return slot;
            }
            let waited = self.freed.wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lose(&self, lost: &Arc<Live>) {
        lost.endpoint.close();
        let mut state = locked(&self.state);
        if state
            .live
            .as_ref()
            .is_some_and(|live| Arc::ptr_eq(live, lost))
        {
            state.live = None;
        }
    }

    /// The connection, made again if need be; `since` is when the server was last heard of.
    fn live(self: &Arc<Inner>, since: Instant) -> Result<Arc<Live>, ClientError> {
        loop {
            let mut state = locked(&self.state);
            if let Some(live) = &state.live {
                return Ok(live.clone());
            }
            let patience = self.settings.patience;
            match self.attach(&mut state) {
                Ok(live) => return Ok(live),
                // It will not get better.
                Err(error @ ClientError::Dial(DialError::Refused { .. })) => return Err(error),
                Err(error @ (ClientError::Hello { .. } | ClientError::Endpoint(_))) => {
                    return Err(error);
                }
                Err(error) if state.session == 0 || since.elapsed() >= patience => {
                    return Err(match state.session {
                        0 => error,
                        _ => ClientError::Away {
                            address: self.settings.address.clone(),
                            seconds: patience.as_secs(),
                        },
                    });
                }
                Err(_) => {}
            }
            drop(state);
            std::thread::sleep(PAUSE);
        }
    }

    /// Connects and says hello.
    fn attach(self: &Arc<Inner>, state: &mut State) -> Result<Arc<Live>, ClientError> {
        let settings = &self.settings;
        let time = settings.patience.min(Duration::from_secs(5));
        let connection = Connection::dial(&settings.address, &settings.key, time)?;
        let slot: Arc<OnceLock<Weak<Live>>> = Arc::default();
        let told = slot.clone();
        let lost = move |_, _| {
            // Receives that wait for this server end with the endpoint.
            if let Some(live) = told.get().and_then(Weak::upgrade) {
                live.endpoint.close();
            }
        };
        let handlers = Handlers {
            lost: Some(Box::new(lost)),
            ..Handlers::default()
        };
        let endpoint = Endpoint::open(BOUNDS, handlers)?;
        let gone = || ClientError::Away {
            address: settings.address.clone(),
            seconds: 0,
        };
        let peer = endpoint.adopt(connection).map_err(|_| gone())?;
        let mut live = Live {
            endpoint,
            peer,
            session: 0,
        };
        let request = Request {
            session: state.session,
            slot: NO_SLOT,
            arguments: [VERSION, self.name.0, self.name.1, 0, 0, 0],
            ..Request::default()
        };
        let (operation, mut extra) = (Operation::Hello, Extra::NONE);
        let answer = self.exchange(&live, operation, &request, &mut extra, time);
        let (reply, _) = answer.ok_or_else(gone)?;
        if reply.error != 0 {
            return Err(ClientError::Hello {
                address: settings.address.clone(),
                error: reply.error,
            });
        }
        let [session, slots, _, lease, boot, flags] = reply.values;
        live.session = session;
        let live = Arc::new(live);
        let _ = slot.set(Arc::downgrade(&live));
        if !live.endpoint.is_there(peer) {
            return Err(gone());
        }
        for _ in 0..RECALLS {
            self.await_recall(&live);
        }
        if session != state.session {
            state.epoch += 1;
            let epoch = state.epoch;
            let fresh = |number| Slot {
                number,
                sequence: 1,
                epoch,
            };
            state.slots = (0..slots as u32).rev().map(fresh).collect();
        }
        let reclaim = state.session != 0 && flags & SESSION_KNOWN == 0;
        let same = session == state.session;
        (state.session, state.boot, state.root) = (session, boot, reply);
        state.lease = Duration::from_millis(lease);
        if reclaim {
            self.reclaim(&live, state, same);
        }
        state.live = Some(live.clone());
        Ok(live)
    }

    /// Opens again what was open, under its old number if the server knows it.
    fn reclaim(&self, live: &Live, state: &mut State, same: bool) {
        let user = locked(&self.user).clone();
        for held in state.opens.values_mut() {
            let truncates = libc::O_TRUNC | libc::O_EXCL | libc::O_CREAT;
            let flags = held.flags & !(truncates as u64);
            let request = Request {
                session: live.session,
                slot: NO_SLOT,
                node: held.node,
                uid: user.uid,
                gid: user.gid,
                groups: user.groups.clone(),
                arguments: [flags, if same { held.open } else { 0 }, 0, 0, 0, 0],
                ..Request::default()
            };
            let time = self.settings.patience;
            let (operation, mut extra) = (Operation::Open, Extra::NONE);
            if let Some((reply, _)) = self.exchange(live, operation, &request, &mut extra, time)
                && reply.error == 0
            {
                held.open = reply.open;
            }
        }
    }

    fn await_recall(self: &Arc<Inner>, live: &Arc<Live>) {
        let (inner, weak) = (Arc::downgrade(self), Arc::downgrade(live));
        let done = move |completed: Completed| {
            let (Some(inner), Some(live)) = (inner.upgrade(), weak.upgrade()) else {
                return;
            };
            let (_, number) = named(completed.status.bits);
            let Some(recall) = completed.received().ok().and_then(|b| Recall::parse(&b)) else {
                return;
            };
            // The handler may wait, which the endpoint's thread must not.
            let answer = move || {
                if let Some(on_recall) = inner.on_recall.get() {
                    on_recall(recall);
                }
                let bits = Kind::Recalled.bits(0, number);
                let _ = live.endpoint.send(live.peer, bits, Vec::new(), None);
                inner.await_recall(&live);
            };
            std::thread::spawn(answer);
        };
        let bits = Kind::Recall.bits(0, 0);
        let buffer = vec![0; RECALL_BYTES];
        let _ = live
            .endpoint
            .receive(bits, KIND_MASK, buffer, Box::new(done));
    }

    /// One request over one connection; `None` if the connection was lost. The data come back.
    fn exchange(
        &self,
        live: &Live,
        operation: Operation,
        request: &Request,
        extra: &mut Extra,
        time: Duration,
    ) -> Option<(Reply, Vec<u8>)> {
        let transaction = self.transactions.fetch_add(1, Ordering::Relaxed);
        let bits = |kind: Kind| kind.bits(operation as u16, transaction);
        let endpoint = &live.endpoint;
        let reply = endpoint.receive_pending(bits(Kind::Reply), FULL, vec![0; REPLY_BYTES]);
        let reply = reply.ok()?;
        let data_in = match extra.room {
            0 => None,
            room => Some(
                endpoint
                    .receive_pending(bits(Kind::DataIn), FULL, vec![0; room])
                    .ok()?,
            ),
        };
        endpoint
            .send(live.peer, bits(Kind::Request), request.emit(), None)
            .ok()?;
        let data_out = match extra.data.is_empty() {
            true => None,
            false => {
                let data = std::mem::take(&mut extra.data);
                let bits = bits(Kind::DataOut);
                match endpoint.send_pending(live.peer, bits, data, false) {
                    Ok(pending) => Some(pending),
                    Err(unsent) => {
                        extra.data = unsent.buffer;
                        return None;
                    }
                }
            }
        };
        let answered = reply.wait_for(time);
        if let Some(data_out) = data_out {
            if answered.is_err() {
                // It ends the sending, too.
                endpoint.close();
            }
            extra.data = data_out.wait().buffer;
        }
        let reply = Reply::parse(&answered.ok()?.received().ok()?)?;
        let data = match (data_in, reply.data_bytes) {
            (Some(data), 1..) => data.wait_for(time).ok()?.received().ok()?,
            (Some(data), 0) => {
                let _ = endpoint.cancel(data.token);
                Vec::new()
            }
            (None, _) => Vec::new(),
        };
        Some((reply, data))
    }
}

impl User {
    /// The user of this process.
    pub fn of_process() -> User {
        let (uid, gid, groups) = crate::sys::own_ids();
        User { uid, gid, groups }
    }
}
