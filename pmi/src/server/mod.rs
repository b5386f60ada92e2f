//! The launcher's side of PMI-1 and PMI-2, for the ranks of one host.
//!
//! Pure: [`Server::handle`] takes what a rank wrote, [`Server::poll`] yields what to do next, until
//! None. A fence that all local ranks have entered is an [`Event::Fence`] with what they put since
//! the last one; whoever carries it brings back what all servers of the job said, by
//! [`Server::fence_over`], and the ranks go on. On a single host that is the same list.
//!
//! `request` reads what a rank asks for, in either protocol; `answer` writes what it gets; `store`
//! holds the values. Nothing a rank writes can do more than end its own job: input is bounded by
//! [`MESSAGE_BYTES_MAX`](crate::message::MESSAGE_BYTES_MAX), values by [`store::STORE_BYTES_MAX`],
//! waiting questions by [`WAITING_MAX`].

mod answer;
mod request;
mod store;

use std::collections::{BTreeMap, VecDeque};

use crate::message::{FormatError, Inbox};
use crate::{mapping, wire1, wire2};
use answer::{Asked, Dialect};
use request::Request;
use store::{Store, VALUE_BYTES_MAX};

/// Questions of one rank that wait for another rank of its host to say something. A thread waits
/// for one, and a process with more threads than this inside its initialisation is none that we
/// know.
const WAITING_MAX: usize = 64;

/// The longest host map that is offered as one value. MPICH reads lines of 1023 bytes, and
/// `cmd=get_result rc=0 value=` and a newline take 27 of them.
const MAP_BYTES_MAX: usize = 1023 - 27;

/// What a server knows about its job from the start.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The job's name, the same on all servers and unlike any other job's: MPICH names its shared
    /// memory after it, and two jobs of one name on a host would meet there.
    pub job: String,
    /// Ranks in the job.
    pub size: u32,
    /// The host number of every rank.
    pub hosts: Vec<u32>,
    /// The ranks this server serves, rising.
    pub local: Vec<u32>,
    /// Which of the job's programs each of them executes, from 0.
    pub programs: Vec<u32>,
}

/// What the launcher does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Write these bytes to the rank.
    Reply {
        /// The rank.
        rank: u32,
        /// A whole message.
        bytes: Vec<u8>,
    },
    /// All local ranks that have not ended wait in a fence: collect these from all servers and call
    /// [`Server::fence_over`].
    Fence {
        /// What local ranks put since the last fence.
        puts: Vec<(String, String)>,
    },
    /// All local ranks have ended: the others' fences go on without this server.
    Deserted {
        /// What local ranks put since the last fence.
        puts: Vec<(String, String)>,
    },
    /// A rank asks for the end of the job, or has broken the protocol; nothing more is read from
    /// it.
    Abort {
        /// The rank.
        rank: u32,
        /// The exit code it wants.
        code: i32,
        /// Why, for people.
        text: String,
    },
}

/// How far a rank has come; what its end means depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It has never spoken PMI: a program without MPI, or of a library with other means.
    NeverSpoke,
    /// It has initialised and not finalised: if it ends now, it has failed.
    Initialised,
    /// It has finalised.
    Finalised,
}

/// The launcher's side of PMI for the ranks of one host. Call [`poll`](Server::poll) until None
/// after every [`handle`](Server::handle) and [`fence_over`](Server::fence_over).
#[derive(Debug)]
pub struct Server {
    facts: Facts,
    mapping: String,
    sessions: BTreeMap<u32, Session>,
    store: Store,
    /// Values of this host only (PMI-2 node attributes).
    node: Store,
    events: VecDeque<Event>,
    /// A fence has been announced by [`Event::Fence`] and is not over.
    announced: bool,
}

/// The conversation with one rank.
#[derive(Debug)]
struct Session {
    inbox: Inbox,
    dialect: Dialect,
    left: Left,
    /// The command of several lines whose end has not come.
    opened: Option<String>,
    /// Where to answer when the fence is over.
    fenced: Option<Asked>,
    /// Questions for values of this host that nobody has put.
    waiting: Vec<(String, Asked)>,
    /// The rank has asked for the end or broken the protocol: nothing more is read.
    deaf: bool,
    /// The rank's process has ended: fences go on without it.
    ended: bool,
}

impl Server {
    /// A server for the ranks `facts.local` of a job.
    pub fn new(facts: Facts) -> Server {
        let hosts = mapping::in_order_of_ranks(facts.hosts.iter().copied());
        let mapping = mapping::emit(&hosts);
        let mut store = Store::default();
        store.preset_pieces(mapping::KEY_OF_PIECES, &mapping);
        let sessions = facts
            .local
            .iter()
            .map(|&rank| (rank, Session::new()))
            .collect();
        Server {
            facts: Facts {
                job: answer::word(&facts.job),
                ..facts
            },
            mapping,
            sessions,
            store,
            node: Store::default(),
            events: VecDeque::new(),
            announced: false,
        }
    }

    /// Takes what a rank wrote, in any pieces. Panics if the rank is not one of this server's.
    pub fn handle(&mut self, rank: u32, bytes: &[u8]) {
        self.session(rank).inbox.push(bytes);
        loop {
            match self.session(rank).next_request() {
                Ok(None) => return,
                Ok(Some((request, asked))) => self.serve(rank, request, asked),
                Err(error) => {
                    let text = format!("rank {rank} does not keep to the PMI protocol: {error}");
                    self.end(rank, 1, text);
                    return;
                }
            }
        }
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Ends the fence: `all` is everything that was put anywhere in the job. The local ranks go on.
    pub fn fence_over(&mut self, all: &[(String, String)]) {
        self.announced = false;
        for (key, value) in all {
            self.store.preset(key, value);
        }
        let waiting: Vec<_> = self
            .sessions
            .iter_mut()
            .filter_map(|(&rank, session)| Some((rank, session.fenced.take()?)))
            .collect();
        let lives = |rank: &u32| !self.sessions[rank].ended;
        let waiting: Vec<_> = waiting
            .into_iter()
            .filter(|(rank, _)| lives(rank))
            .collect();
        for (rank, asked) in waiting {
            self.reply(rank, asked.yes([]));
        }
    }

    /// A rank's process has ended, and everything it wrote has been handled: nobody waits for it in
    /// a fence any more. What it put stays. Panics if the rank is not one of this server's.
    pub fn handle_end(&mut self, rank: u32) {
        let session = self.session(rank);
        if std::mem::replace(&mut session.ended, true) {
            return;
        }
        session.waiting.clear();
        if self.sessions.values().all(|session| session.ended) {
            let puts = self.store.take_new();
            self.events.push_back(Event::Deserted { puts });
        } else {
            self.check_fence();
        }
    }

    /// How far a rank has come. Panics if the rank is not one of this server's.
    pub fn has_left(&self, rank: u32) -> Left {
        self.sessions[&rank].left
    }

    fn serve(&mut self, rank: u32, request: Request, asked: Asked) {
        let reply = match request {
            Request::Init { version } => self.init(rank, version, &asked),
            Request::FullInit => asked.yes([
                ("pmi-version", "2".to_owned()),
                ("pmi-subversion", "0".to_owned()),
                ("rank", rank.to_string()),
                ("size", self.facts.size.to_string()),
                ("appnum", self.program_of(rank).to_string()),
                ("debugged", "FALSE".to_owned()),
                ("pmiverbose", "FALSE".to_owned()),
            ]),
            Request::Maxes => asked.yes([
                ("kvsname_max", answer::WORD_BYTES_MAX.to_string()),
                ("keylen_max", store::KEY_BYTES_MAX.to_string()),
                ("vallen_max", VALUE_BYTES_MAX.to_string()),
            ]),
            Request::AppNum => asked.yes([("appnum", self.program_of(rank).to_string())]),
            Request::UniverseSize => asked.yes([("size", self.facts.size.to_string())]),
            Request::Job { field } => asked.yes([(field, self.facts.job.clone())]),
            Request::Put { key, value } => match self.store.put(&key, &value) {
                Ok(()) => asked.yes([]),
                Err(error) => asked.no(&error.to_string()),
            },
            Request::Get { key } => {
                asked.value(&key, self.job_attribute(&key).or(self.store.get(&key)))
            }
            Request::JobAttribute { key } => asked.value(&key, self.job_attribute(&key)),
            Request::NodePut { key, value } => match self.node.put(&key, &value) {
                Ok(()) => {
                    self.reply(rank, asked.yes([]));
                    return self.answer_waiting(&key, &value);
                }
                Err(error) => asked.no(&error.to_string()),
            },
            Request::NodeGet { key, wait } => match self.node.get(&key) {
                None if wait => return self.wait_for(rank, key, asked),
                value => asked.value(&key, value),
            },
            Request::Fence => return self.enter_fence(rank, asked),
            Request::Finalize => {
                self.session(rank).left = Left::Finalised;
                asked.yes([])
            }
            Request::Abort { code, text } => return self.end(rank, code, text),
            Request::NotServed { why } => asked.no(why),
        };
        self.reply(rank, reply);
    }

    fn program_of(&self, rank: u32) -> u32 {
        let place = self.facts.local.iter().position(|local| *local == rank);
        let program = place.and_then(|place| self.facts.programs.get(place));
        program.copied().unwrap_or(0)
    }

    fn init(&mut self, rank: u32, version: Option<u32>, asked: &Asked) -> Vec<u8> {
        let (dialect, subversion) = match version {
            Some(1) => (Dialect::Lines, 1),
            Some(2) => (Dialect::Frames, 0),
            _ => return asked.no("only versions 1 and 2 of PMI are served"),
        };
        let session = self.session(rank);
        session.dialect = dialect;
        session.left = Left::Initialised;
        asked.yes([
            ("pmi_version", version.unwrap_or(1).to_string()),
            ("pmi_subversion", subversion.to_string()),
        ])
    }

    /// What the launcher itself says about the job. A map that is too long for a value is left out:
    /// MPICH then finds out by itself, our own client reads it in pieces.
    fn job_attribute(&self, key: &str) -> Option<String> {
        match key {
            mapping::KEY => Some(self.mapping.clone()).filter(|map| map.len() <= MAP_BYTES_MAX),
            "universeSize" => Some(self.facts.size.to_string()),
            _ => None,
        }
    }

    fn enter_fence(&mut self, rank: u32, asked: Asked) {
        if self.session(rank).fenced.replace(asked).is_some() {
            return self.end(rank, 1, format!("rank {rank} entered a PMI fence twice"));
        }
        self.check_fence();
    }

    /// Announces a fence when all local ranks that are left wait in it.
    fn check_fence(&mut self) {
        let mut left = self.sessions.values().filter(|session| !session.ended);
        if !self.announced && left.all(|session| session.fenced.is_some()) {
            self.announced = true;
            let puts = self.store.take_new();
            self.events.push_back(Event::Fence { puts });
        }
    }

    fn wait_for(&mut self, rank: u32, key: String, asked: Asked) {
        let waiting = &mut self.session(rank).waiting;
        if waiting.len() < WAITING_MAX {
            waiting.push((key, asked));
        } else {
            let reply = asked.no(&format!(
                "{WAITING_MAX} questions of this rank are waiting already"
            ));
            self.reply(rank, reply);
        }
    }

    fn answer_waiting(&mut self, key: &str, value: &str) {
        for (&rank, session) in &mut self.sessions {
            for (_, asked) in session.waiting.extract_if(.., |(wanted, _)| wanted == key) {
                let bytes = asked.value(key, Some(value.to_owned()));
                self.events.push_back(Event::Reply { rank, bytes });
            }
        }
    }

    fn end(&mut self, rank: u32, code: i32, text: String) {
        self.session(rank).deaf = true;
        self.events.push_back(Event::Abort { rank, code, text });
    }

    fn reply(&mut self, rank: u32, bytes: Vec<u8>) {
        self.events.push_back(Event::Reply { rank, bytes });
    }

    fn session(&mut self, rank: u32) -> &mut Session {
        self.sessions
            .get_mut(&rank)
            .unwrap_or_else(|| panic!("rank {rank} is served by another agent"))
    }
}

impl Session {
    fn new() -> Session {
        Session {
            inbox: Inbox::default(),
            dialect: Dialect::Lines,
            left: Left::NeverSpoke,
            opened: None,
            fenced: None,
            waiting: Vec::new(),
            deaf: false,
            ended: false,
        }
    }

    fn next_request(&mut self) -> Result<Option<(Request, Asked)>, FormatError> {
        if self.deaf {
            self.inbox = Inbox::default();
            return Ok(None);
        }
        loop {
            if self.dialect == Dialect::Frames {
                let Some(body) = self.inbox.next_frame()? else {
                    return Ok(None);
                };
                return Ok(Some(request::of_frame(&wire2::parse(&body)?)));
            }
            let Some(line) = self.inbox.next_line()? else {
                return Ok(None);
            };
            match self.opened.take() {
                Some(command) if line == wire1::CLOSING => {
                    return Ok(Some(request::of_lines(&command)));
                }
                Some(command) => self.opened = Some(command),
                None => match wire1::parse(&line)? {
                    wire1::Line::Message(message) => return Ok(Some(request::of_line(&message))),
                    wire1::Line::Opens(command) => self.opened = Some(command),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
