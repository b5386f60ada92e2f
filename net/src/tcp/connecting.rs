//! How two processes come to be connected: listening, dialling, proving each other, and who yields
//! when both dial.
//!
//! Nothing a stranger sends is looked at beyond the handshake's fixed fields, and a stranger holds
//! one of [`STRANGERS_MAX`] places for [`STRANGER_TIME`] at most; when the places are taken, the
//! one that came first goes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::epoll::Change;
use super::sealed::Sealed;
use super::socket::{Moved, Socket};
use super::{Link, Tcp};
use crate::address::{
    self, Candidate, InterfacesError, Local, NothingOffered, Policy, PolicyError, PortRange,
    PortRangeError, Reach,
};
use crate::card::Card;
use crate::handshake::{Answerer, Dialler, Progress, Step, Verdict, dial_wins};
use crate::key::random_nonce;
use crate::seal::Seals;

/// Epoll keys; ranks are below all of them.
pub(super) const LISTENER: u64 = 1 << 40;
const STRANGER: u64 = 1 << 41;
const DIAL: u64 = 1 << 42;

/// Connections that have not proven themselves yet.
const STRANGERS_MAX: usize = 64;
/// Time for that.
const STRANGER_TIME: Duration = Duration::from_secs(5);
/// Time for the network to connect to one address: a lost SYN is sent again after one and after
/// three seconds. The process that answers may take as long as it wants: it may be computing, or
/// stopped.
const ATTEMPT_TIME: Duration = Duration::from_secs(5);
/// How often to dial again a process that closes connections before they are made: it may have
/// found us slow.
const REDIALS_MAX: u32 = 5;
/// Time before that.
const REDIAL_TIME: Duration = Duration::from_millis(200);
/// Time for the connection of a process that dials us.
const AWAIT_TIME: Duration = Duration::from_secs(5);
/// How often to ask the kernel for another port when the one it gave does not serve.
const REBINDS_MAX: usize = 32;
/// Longer than any handshake message, shorter than what can follow the last one by surprise.
const TAKE_BYTES: usize = 512;

/// Where other processes of the job can dial this one.
pub struct Listener {
    socket: Socket,
    port: u16,
    pub(super) local: Local,
    pub(super) policy: Policy,
}

/// A process cannot be reached from outside.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A setting.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A setting.
    #[error(transparent)]
    PortRange(#[from] PortRangeError),
    /// The kernel does not tell.
    #[error(transparent)]
    Interfaces(#[from] InterfacesError),
    /// No address is left.
    #[error(transparent)]
    Nothing(#[from] NothingOffered),
    /// No port is left.
    #[error(
        "no port to listen on: all of {range} are taken or refused ({error}); widen OXMPI_PORT_RANGE (--port-range), every rank of a host needs one"
    )]
    Ports {
        /// The range.
        range: PortRange,
        /// The last answer.
        error: io::Error,
    },
}

impl Listener {
    /// Listens on a port of the range that the environment gives.
    pub fn bind(rank: u32) -> Result<Listener, BindError> {
        Listener::bind_with(rank, |_, _| Ok(())).map(|(listener, ())| listener)
    }

    /// As [`Listener::bind`], on a port for which `beside` works too: what else is to have the same
    /// number, at the same addresses.
    pub fn bind_with<T>(
        rank: u32,
        beside: impl FnMut(u16, &Reach) -> io::Result<T>,
    ) -> Result<(Listener, T), BindError> {
        Listener::bind_under(Policy::from_env()?, PortRange::from_env()?, rank, beside)
    }

    /// As [`Listener::bind_with`], with these settings.
    pub fn bind_under<T>(
        policy: Policy,
        range: PortRange,
        rank: u32,
        mut beside: impl FnMut(u16, &Reach) -> io::Result<T>,
    ) -> Result<(Listener, T), BindError> {
        let local = Local::read()?;
        let reach = Reach::new(&local.interfaces, &policy)?;
        let mut refused = None;
        // A port that the kernel chose may be taken for the other use: ask for another.
        let chosen = range.attempts(rank);
        let again = (range == PortRange::ANY)
            .then(|| std::iter::repeat_n(0, REBINDS_MAX))
            .into_iter()
            .flatten();
        for port in chosen.chain(again) {
            let bound = Socket::listen(port, &reach).and_then(|socket| {
                let port = socket.port()?;
                Ok((socket, port, beside(port, &reach)?))
            });
            match bound {
                Ok((socket, port, other)) => {
                    let listener = Listener {
                        socket,
                        port,
                        local,
                        policy,
                    };
                    return Ok((listener, other));
                }
                Err(error) => refused = Some(error),
            }
        }
        let error = refused.unwrap_or_else(|| io::ErrorKind::AddrInUse.into());
        Err(BindError::Ports { range, error })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// This host's addresses.
    pub fn local(&self) -> &Local {
        &self.local
    }

    /// Which of them are used.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the others need to know to reach this process.
    pub fn card(&self, host: &str) -> Result<Card, BindError> {
        let offered = address::offered(&self.local.interfaces, &self.policy)?;
        Ok(Card::new(host, self.local.machine, self.port, offered))
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.fd()
    }
}

/// A dial under way.
pub(super) struct Dial {
    socket: Socket,
    /// `None` until the network has connected.
    dialler: Option<Dialler>,
    address: Candidate,
    untried: VecDeque<Candidate>,
    /// What became of the addresses before.
    failed: Vec<String>,
    deadline: Instant,
    /// How often this has been tried before.
    redials: u32,
    /// Somebody has answered at one of the addresses: worth another try.
    answered: bool,
}

/// Connections that have not proven themselves yet.
#[derive(Default)]
pub(super) struct Strangers {
    places: Vec<Option<Stranger>>,
    /// Some wait to be accepted, and could not be.
    pub waiting: bool,
}

struct Stranger {
    socket: Socket,
    answerer: Answerer,
    deadline: Instant,
}

impl Strangers {
    /// A place for one more; when all are taken, that of the oldest.
    fn place(&mut self, most: usize) -> (usize, bool) {
        if let Some(free) = self.places.iter().position(Option::is_none) {
            return (free, false);
        }
        if self.places.len() < most {
            self.places.push(None);
            return (self.places.len() - 1, false);
        }
        let deadline = |place: &&usize| self.places[**place].as_ref().map(|one| one.deadline);
        let places: Vec<usize> = (0..self.places.len()).collect();
        let oldest = places.iter().min_by_key(deadline).copied().unwrap_or(0);
        (oldest, true)
    }
}

impl Tcp {
    /// Begins to connect to a process.
    #[cold]
    pub(super) fn dial(&mut self, peer: u32, redials: u32) {
        if self.closing {
            return;
        }
        let card = match (self.directory)(peer) {
            Ok(card) => card,
            Err(error) => {
                return self.lose(peer, format!("its address is not known: {error}"));
            }
        };
        if card.encrypted != self.encrypted {
            return self.lose(peer, crate::seal::differing("it", card.encrypted));
        }
        let candidates = address::order(&card, &self.listener.local, &self.listener.policy);
        if candidates.is_empty() {
            let why = address::explain(&card, &self.listener.local, &self.listener.policy);
            return self.lose(
                peer,
                format!("no address of it can be used from here: {why}"),
            );
        }
        self.attempt(peer, candidates.into(), Vec::new(), (redials, false));
    }

    /// Tries the next address.
    fn attempt(
        &mut self,
        peer: u32,
        mut untried: VecDeque<Candidate>,
        mut failed: Vec<String>,
        (redials, answered): (u32, bool),
    ) {
        while let Some(address) = untried.pop_front() {
            let socket = Socket::dial(&address.address).and_then(|socket| {
                self.epoll.watch(socket.fd(), DIAL | u64::from(peer))?;
                Ok(socket)
            });
            match socket {
                Ok(socket) => {
                    let dial = Dial {
                        socket,
                        dialler: None,
                        address,
                        untried,
                        failed,
                        deadline: Instant::now() + ATTEMPT_TIME,
                        redials,
                        answered,
                    };
                    return self.end(peer, Link::Dialling(Box::new(dial)));
                }
                Err(error) => failed.push(format!("{}: {error}", address.address)),
            }
        }
        if answered && redials < REDIALS_MAX {
            let until = Instant::now() + REDIAL_TIME;
            return self.end(peer, Link::Awaiting(until, redials + 1));
        }
        self.lose(
            peer,
            format!(
                "it cannot be reached: {}; is a firewall between the hosts (--port-range), or is another network meant (--net-include, oxmpi info --net)?",
                failed.join(", ")
            ),
        );
    }

    /// The current address came to nothing.
    fn attempt_next(&mut self, peer: u32, why: String) {
        let link = std::mem::replace(&mut self.links[peer as usize], Link::Idle);
        if let Link::Dialling(dial) = link {
            self.meetings -= 1;
            let Dial {
                address,
                untried,
                mut failed,
                dialler,
                redials,
                answered,
                ..
            } = *dial;
            failed.push(format!("{}: {why}", address.address));
            let answered = answered || dialler.is_some();
            self.attempt(peer, untried, failed, (redials, answered));
        } else {
            self.links[peer as usize] = link;
        }
    }

    /// News of a socket that is no connection yet.
    #[cold]
    pub(super) fn handle_meeting(&mut self, change: Change) {
        if change.key == LISTENER {
            self.accept();
        } else if change.key & STRANGER != 0 {
            self.hear_stranger((change.key ^ STRANGER) as usize);
        } else if change.key & DIAL != 0 {
            self.hear_dial((change.key ^ DIAL) as u32, change);
        }
    }

    fn accept(&mut self) {
        self.strangers.waiting = false;
        loop {
            let socket = match self.listener.socket.accept() {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                // The connection is gone that had it.
                Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => continue,
                // A shortage of descriptors or memory, which time may heal; nobody will tell us
                // again of who waits.
                Err(_) => {
                    self.strangers.waiting = true;
                    return;
                }
            };
            let Ok(nonce) = random_nonce() else {
                self.strangers.waiting = true;
                return;
            };
            // All processes of the job may dial at once, and some strangers besides.
            let (place, taken) = self.strangers.place(self.links.len() + STRANGERS_MAX);
            if taken {
                self.forget_stranger(place);
            }
            let key = STRANGER | place as u64;
            if self.epoll.watch(socket.fd(), key).is_err() {
                continue;
            }
            self.strangers.places[place] = Some(Stranger {
                socket,
                answerer: Answerer::new(&self.key, self.me, nonce).with_encryption(self.encrypted),
                deadline: Instant::now() + STRANGER_TIME,
            });
            self.meetings += 1;
        }
    }

    fn forget_stranger(&mut self, place: usize) {
        if self.strangers.places[place].take().is_some() {
            self.meetings -= 1;
            self.counters.refused += 1;
        }
    }

    fn hear_stranger(&mut self, place: usize) {
        loop {
            let Some(Some(stranger)) = self.strangers.places.get_mut(place) else {
                return;
            };
            let mut bytes = [0; TAKE_BYTES];
            let count = match stranger.socket.read(&mut bytes) {
                Ok(Moved::Bytes(count)) if count > 0 => count,
                Ok(Moved::Blocked) => return,
                _ => return self.forget_stranger(place),
            };
            let Step {
                consumed,
                send,
                progress,
            } = stranger.answerer.handle(&bytes[..count]);
            let sent = send.is_empty() || is_whole(stranger.socket.write(&send), send.len());
            match progress {
                Progress::More if sent => {}
                Progress::Proven { peer } if sent => {
                    return self.admit(place, peer, &bytes[consumed..count]);
                }
                _ => return self.forget_stranger(place),
            }
        }
    }

    /// A stranger has proven to be process `peer` of this job.
    fn admit(&mut self, place: usize, peer: u32, early: &[u8]) {
        let Some(stranger) = self.strangers.places[place].take() else {
            return;
        };
        self.meetings -= 1;
        if stranger.socket.is_over() {
            // It had dialled and given up for a dial of ours that crossed its own. That connection
            // may have ended meanwhile, so that the old dial looks like a new one.
            return;
        }
        let verdict = match self.links.get(peer as usize) {
            _ if self.closing || peer == self.me => Verdict::Stale,
            Some(Link::Idle | Link::Awaiting(..)) => Verdict::Keep,
            // It has given up a dial that we had accepted, and dials again. (Not if we had dialled:
            // then this is its own dial, which ours has crossed.)
            Some(Link::Open(connection)) if connection.accepted && !connection.used => {
                Verdict::Keep
            }
            // Ours stays if it wins, unless the network has not let it through yet: perhaps it
            // never will.
            Some(Link::Dialling(dial)) if dial_wins(peer, self.me) || dial.dialler.is_none() => {
                Verdict::Keep
            }
            Some(Link::Dialling(_)) => Verdict::Yield,
            // It has paused and is back before we have heard of it: it will dial again.
            Some(Link::Open(connection)) if connection.said => Verdict::Yield,
            _ => Verdict::Stale,
        };
        let seals = stranger.answerer.seal_keys().map(Seals::from);
        let decision = stranger.answerer.verdict(verdict);
        let told = is_whole(stranger.socket.write(&decision), decision.len());
        if verdict == Verdict::Keep && told {
            self.open(peer, stranger.socket, (seals, early), true);
        }
    }

    fn hear_dial(&mut self, peer: u32, change: Change) {
        let Some(Link::Dialling(dial)) = self.links.get_mut(peer as usize) else {
            return;
        };
        if dial.dialler.is_none() {
            if !change.writable {
                return;
            }
            if let Err(error) = dial.socket.error() {
                return self.attempt_next(peer, error.to_string());
            }
            let Ok(nonce) = random_nonce() else {
                return self.attempt_next(peer, "the kernel gives no random numbers".into());
            };
            let (dialler, hello) =
                Dialler::with_encryption(&self.key, self.me, peer, nonce, self.encrypted);
            if !is_whole(dial.socket.write(&hello), hello.len()) {
                return self.attempt_next(peer, "the connection broke at once".into());
            }
            dial.dialler = Some(dialler);
        }
        self.hear_answer(peer);
    }

    fn hear_answer(&mut self, peer: u32) {
        loop {
            let Some(Link::Dialling(dial)) = self.links.get_mut(peer as usize) else {
                return;
            };
            let Dial {
                socket,
                dialler: Some(dialler),
                ..
            } = &mut **dial
            else {
                return;
            };
            let mut bytes = [0; TAKE_BYTES];
            let count = match socket.read(&mut bytes) {
                Ok(Moved::Bytes(0)) => {
                    return self.attempt_next(peer, "it closed the connection".into());
                }
                Ok(Moved::Bytes(count)) => count,
                Ok(Moved::Blocked) => return,
                Err(error) => return self.attempt_next(peer, error.to_string()),
            };
            let step = dialler.handle(&bytes[..count]);
            if !step.send.is_empty() && !is_whole(socket.write(&step.send), step.send.len()) {
                return self.attempt_next(peer, "the connection broke at once".into());
            }
            match step.progress {
                Progress::More => {}
                Progress::Done(verdict) => {
                    return self.obey(peer, verdict, &bytes[step.consumed..count]);
                }
                Progress::Refused(refusal) => return self.attempt_next(peer, refusal.to_string()),
                Progress::Proven { .. } => return,
            }
        }
    }

    /// The process we dialled has decided.
    fn obey(&mut self, peer: u32, verdict: Verdict, early: &[u8]) {
        match verdict {
            Verdict::Keep => {
                let link = std::mem::replace(&mut self.links[peer as usize], Link::Idle);
                if let Link::Dialling(dial) = link {
                    self.meetings -= 1;
                    let seals = dial.dialler.as_ref().and_then(Dialler::seal_keys);
                    let seals = seals.map(Seals::from);
                    self.open(peer, dial.socket, (seals, early), false);
                }
            }
            Verdict::Yield => {
                self.end(peer, Link::Awaiting(Instant::now() + AWAIT_TIME, 0));
            }
            // It leaves the job: as good as a goodbye.
            Verdict::Stale => {
                self.end(peer, Link::Finished);
                self.events.push_back(super::Event::Finished(peer));
            }
        }
    }

    fn open(
        &mut self,
        peer: u32,
        socket: Socket,
        (seals, early): (Option<Seals>, &[u8]),
        accepted: bool,
    ) {
        // What may be sent in the clear is decided here and nowhere else.
        assert_eq!(seals.is_some(), self.encrypted);
        let key = u64::from(peer);
        let prepared = socket.prepare().and_then(|()| {
            match self.kernel_side.is_some() || self.ring_side.is_some() {
                false => self.epoll.rename(socket.fd(), key),
                true => self.epoll.rename_for_writing(socket.fd(), key),
            }
        });
        if let Err(error) = prepared {
            return self.lose(peer, format!("the connection cannot be used: {error}"));
        }
        let name = match self.register(peer, socket.as_fd(), early) {
            Ok(name) => name,
            Err(error) => return self.lose(peer, format!("the driver refuses it: {error}")),
        };
        let mut connection = Connection::new(socket);
        connection.name = name;
        // The connection before may still have a slot; both together need two.
        if let Some(side) = &mut self.bpf_side {
            connection.slot = side.admit(peer, connection.socket.fd());
        }
        match seals {
            Some(seals) => connection.sealed = Some(Box::new(Sealed::new(seals, early))),
            None if name.is_none() => connection.early = early.to_vec(),
            None => {}
        }
        connection.accepted = accepted;
        self.end(peer, Link::Open(Box::new(connection)));
    }

    /// Gives up on what has taken too long.
    #[cold]
    pub(super) fn expire_meetings(&mut self, now: Instant) {
        if self.strangers.waiting {
            self.accept();
        }
        for place in 0..self.strangers.places.len() {
            let late = |stranger: &Stranger| stranger.deadline < now;
            if self.strangers.places[place].as_ref().is_some_and(late) {
                self.forget_stranger(place);
            }
        }
        for peer in 0..self.links.len() as u32 {
            match &self.links[peer as usize] {
                Link::Dialling(dial) if dial.dialler.is_none() && dial.deadline < now => {
                    let seconds = ATTEMPT_TIME.as_secs();
                    self.attempt_next(peer, format!("no answer within {seconds} s"));
                }
                // Its dial has not come through: perhaps only ours can.
                Link::Awaiting(until, redials) if *until < now => {
                    let redials = *redials;
                    self.end(peer, Link::Idle);
                    self.dial(peer, redials);
                }
                _ => {}
            }
        }
    }
}

/// Whether a short write on a fresh socket took everything, as it does unless the connection is
/// broken.
fn is_whole(moved: io::Result<Moved>, bytes: usize) -> bool {
    matches!(moved, Ok(Moved::Bytes(moved)) if moved == bytes)
}
