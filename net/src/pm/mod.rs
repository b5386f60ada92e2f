//! The PM network's endpoint: one process's conversations with all others, over one device or two.
//!
//! It has the interface of the TCP transport and none of its connections: the first message to a
//! process is simply sent. `link` makes each conversation reliable and ordered, the devices carry
//! frames, and this module is what lies between them: a table of links, the memory of messages
//! under way, timers, and the question whether a silent process is slow or gone. With two rails,
//! what is longer than a frame goes by the second and everything else by the first; each is in
//! order, and messages that may overtake each other have numbers in their heads.
//!
//! Call order: [`Pm::new`] after cards are exchanged; [`Pm::poll`] until `None`, taking each
//! packet's payload by [`Pm::at_hand`] and [`Pm::pass`]; [`Pm::send`]; before a sleep on
//! [`Pm::fd`], [`Pm::prepare_sleep`], and after it [`Pm::handle_waking`]. `conversation` holds one
//! link, `transmit` sends, `receive` takes in, `memory` keeps what is on its way, `time` looks at
//! timers, `liveness` tells slow processes from gone ones, `goodbye` ends conversations.

mod conversation;
mod counters;
mod goodbye;
#[allow(unsafe_code)]
mod line;
mod liveness;
#[allow(unsafe_code)]
mod memory;
mod names;
mod receive;
pub(crate) mod secret;
#[allow(unsafe_code)]
mod sys;
mod time;
#[allow(unsafe_code)]
mod transmit;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::card::Card;
use crate::device::{Address, Device};
use crate::event::{Event, Trouble};
use crate::introductions::Introductions;
use crate::key::JobKey;
use conversation::{Common, Conversation, Way};
pub use counters::Counters;
use line::Line;
use liveness::Liveness;
use memory::Memory;
use names::Names;
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PIECE_HEADER_BYTES, SEAL_BYTES};
use oxmpi_wire::stream::HEAD_MAX;
use receive::{Current, Unhandled};
use secret::Party;
pub(crate) use sys::watch;
use time::Clock;
pub use transmit::COPIED_BYTES_MAX;
pub(crate) use transmit::is_part;

/// Rails of one process at most: one for everything, one for bulk.
pub const RAILS_MAX: usize = 2;

/// What kind of network a rail is; it chooses how losses are made up for and whether the window
/// obeys congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailKind {
    /// Datagrams through networks that others use too: selective repeat, and windows that obey
    /// congestion.
    Udp,
    /// Frames on one segment, in order and seldom lost: go-back-N.
    Ethernet,
    /// Several interfaces as one, which reorders: selective repeat.
    Trunk,
    /// PM in the kernel, which keeps order and makes up for losses: go-back-N for what is left.
    Kernel,
}

/// One way to other hosts.
pub struct Rail {
    /// What carries frames.
    pub device: Box<dyn Device>,
    /// Over what.
    pub kind: RailKind,
}

/// Where another process is, on one rail.
pub struct Peer {
    /// Its addresses in the device's words, best first.
    pub addresses: Vec<Address>,
    /// Its channel.
    pub channel: u16,
    /// The name that it has given this process.
    pub name: u32,
    /// What it drew when its endpoint was opened.
    pub salt: u64,
    /// Longest frame that it takes, where that is known.
    pub frame_bytes_max: Option<usize>,
    /// Its host, for people.
    pub host: String,
    /// Its TCP listener, dialled only to find out whether it exists.
    pub probe: Vec<SocketAddr>,
}

/// Tells where a process (the first number) is on a rail (the second); asked when it is first
/// talked to.
pub type Finder = Box<dyn FnMut(u32, usize) -> Result<Peer, String> + Send>;

/// What may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What was drawn for this endpoint, and told others in its card: part of the keys of its
    /// conversations.
    pub salt: u64,
    /// Every frame carries a checksum over all of it.
    pub checked: bool,
    /// Every frame is encrypted, and no other is taken.
    pub encrypted: bool,
    /// With two rails, the payload of matched messages of at least so many bytes goes by the
    /// second.
    pub bulk_bytes_min: u64,
    /// A process that owes an answer is asked after elsewhere when it has been silent for so long.
    pub suspect_after: Duration,
    /// Its host is taken for gone when nothing of it has answered for so long.
    pub dead_after: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            salt: 0,
            checked: false,
            encrypted: false,
            bulk_bytes_min: 8 << 10,
            suspect_after: Duration::from_secs(1),
            dead_after: Duration::from_secs(10),
        }
    }
}

/// Longest message that one frame carries, head included.
fn one_frame_bytes(frame_bytes_max: usize) -> usize {
    frame_bytes_max - FRAME_HEADER_BYTES - PIECE_HEADER_BYTES - SEAL_BYTES - HEAD_MAX
}

/// What there is between this process and another.
enum Standing {
    /// Nothing yet.
    Unknown,
    /// They talk.
    Open(Box<Partner>),
    /// It has finalised.
    Finished,
    /// It cannot be reached.
    Lost(Box<Trouble>),
}

/// A process that this one talks to.
struct Partner {
    host: String,
    probe: Vec<SocketAddr>,
    ways: [Option<Conversation>; RAILS_MAX],
    /// The second rail does not lead to it.
    no_bulk: bool,
    /// The last word to be said, and whether it has been.
    goodbye: Option<u32>,
    said: bool,
    /// It has said goodbye, at that time.
    heard: Option<u64>,
    /// It has said that it may be silent for long.
    paused: bool,
    /// The launcher says that it has ended: a pause is a goodbye.
    ended: bool,
    /// Its host said that nobody takes its frames.
    refused: bool,
    liveness: Option<Liveness>,
}

/// The endpoint of one process.
pub struct Pm {
    me: u32,
    names: Names,
    key: JobKey,
    finder: Finder,
    introductions: Introductions,
    options: Options,
    lines: Vec<Line>,
    /// With two rails, unasked messages of more bytes go by the second: there a run of frames is
    /// one call, and on the first each frame costs nearly as much as one.
    one_frame_bytes: usize,
    /// Stands for all devices, if there are several.
    watch: Option<OwnedFd>,
    partners: Vec<Standing>,
    /// Processes that this one talks to.
    open: usize,
    memory: Memory,
    clock: Clock,
    /// The time when the clock was last looked at, and when that was because of a frame.
    now: u64,
    frame_at: u64,
    /// Conversations that have something to send.
    active: VecDeque<Way>,
    /// Conversations with timers, and when the first of these may be due.
    timed: Vec<Way>,
    nearest: u64,
    /// Conversations that may owe acknowledgements.
    owing: Vec<Way>,
    /// Whose frame the device shows, and whether it acknowledged anything.
    shown: Option<Way>,
    /// A device shows a frame that nobody has taken yet.
    unhandled: Option<Unhandled>,
    advanced: bool,
    current: Option<Current>,
    events: VecDeque<Event>,
    /// Looks that found nothing.
    looks: u32,
    /// Looks at the second rail that are likely to find something.
    bulk_looks: u32,
    /// Frames since the last look that found nothing.
    frames: u32,
    /// When to look after silent processes next, and whether there are any.
    round_at: u64,
    watchful: bool,
    /// Goodbyes are being said, and for ever.
    says_goodbye: bool,
    closing: bool,
    counters: Counters,
}

impl Pm {
    /// The endpoint of process `me` of `size`, whose channel on each rail is given.
    pub fn new(
        me: u32,
        size: u32,
        key: JobKey,
        rails: Vec<Rail>,
        own_channels: Vec<u16>,
        finder: Finder,
        options: Options,
    ) -> io::Result<Pm> {
        assert!(!rails.is_empty() && rails.len() <= RAILS_MAX && rails.len() == own_channels.len());
        let fds = rails.iter().map(|rail| rail.device.fd());
        let watch = match rails.len() {
            1 => None,
            _ => Some(sys::watch(fds)?),
        };
        let lines = rails.into_iter().zip(own_channels);
        let lines = lines.map(|(rail, channel)| Line::new(rail, channel, size, options.encrypted));
        let lines: Vec<Line> = lines.collect();
        let clock = Clock::new();
        Ok(Pm {
            one_frame_bytes: one_frame_bytes(lines[0].device.frame_bytes_max()),
            me,
            names: Names::of_job(size),
            key,
            finder,
            introductions: Introductions::default(),
            options,
            lines,
            watch,
            partners: (0..size).map(|_| Standing::Unknown).collect(),
            open: 0,
            memory: Memory::default(),
            now: clock.now(),
            frame_at: 0,
            clock,
            active: VecDeque::new(),
            timed: Vec::new(),
            nearest: u64::MAX,
            owing: Vec::new(),
            shown: None,
            unhandled: None,
            advanced: false,
            current: None,
            events: VecDeque::new(),
            looks: 0,
            bulk_looks: 0,
            frames: 0,
            round_at: 0,
            watchful: false,
            says_goodbye: false,
            closing: false,
            counters: Counters::default(),
        })
    }

    /// Processes may be introduced: the finder asks there first.
    pub fn with_introductions(mut self, introductions: Introductions) -> Pm {
        self.introductions = introductions;
        self
    }

    /// A process becomes known; its number.
    pub(crate) fn introduce(&mut self, card: Card) -> u32 {
        let process = self.partners.len() as u32;
        self.introductions.add(process, card);
        self.partners.push(Standing::Unknown);
        self.names.give(process);
        for line in &mut self.lines {
            line.expected.push(None);
        }
        process
    }

    /// The conversation on a way, if there is one.
    #[inline(always)]
    fn conversation(&mut self, way: Way) -> Option<&mut Conversation> {
        match &mut self.partners[way.peer as usize] {
            Standing::Open(partner) => partner.ways[way.rail].as_mut(),
            _ => None,
        }
    }

    /// Begins to talk to a process, or to use another rail to one. False if it cannot be found;
    /// then it is lost, unless another rail leads to it.
    #[cold]
    fn open(&mut self, way: Way) -> bool {
        let first = Way { rail: 0, ..way };
        if way.rail > 0 && self.conversation(first).is_none() && !self.open(first) {
            return false;
        }
        let found = (self.finder)(way.peer, way.rail);
        let found = found.and_then(|peer| match peer.addresses.is_empty() {
            true => Err("its card has no address that this network could use".into()),
            false => Ok(peer),
        });
        let mut peer = match (found, way.rail) {
            (Ok(peer), _) => peer,
            (Err(what), 0) => {
                self.lose(way.peer, what);
                return false;
            }
            (Err(_), _) => {
                if let Standing::Open(partner) = &mut self.partners[way.peer as usize] {
                    partner.no_bulk = true;
                }
                return false;
            }
        };
        let line = &mut self.lines[way.rail];
        if line.kind == RailKind::Trunk {
            // Not candidates: all of them are used.
            line.device.learn(&peer.addresses);
            peer.addresses.truncate(1);
        }
        let common = Common {
            me: Party {
                process: self.me,
                salt: self.options.salt,
            },
            key: &self.key,
            kind: line.kind,
            options: &self.options,
            own_channel: line.channel,
            frame_bytes_max: {
                let ours = line.device.frame_bytes_max();
                peer.frame_bytes_max.map_or(ours, |theirs| theirs.min(ours))
            },
            room: line.device.room(),
            size: self.partners.len(),
        };
        let now = self.clock.now();
        let name_in = self.names.name(way.peer).expect("partners have names");
        let conversation = Conversation::new(&common, way, &peer, name_in, now);
        if let Standing::Open(partner) = &mut self.partners[way.peer as usize] {
            partner.ways[way.rail] = Some(conversation);
            return true;
        }
        let mut ways = [const { None }; RAILS_MAX];
        ways[0] = Some(conversation);
        self.partners[way.peer as usize] = Standing::Open(Box::new(Partner {
            host: peer.host,
            probe: peer.probe,
            ways,
            no_bulk: false,
            goodbye: self.closing.then_some(oxmpi_wire::stream::GOODBYE),
            said: false,
            heard: None,
            paused: false,
            ended: false,
            refused: false,
            liveness: None,
        }));
        self.open += 1;
        self.counters.peers += 1;
        true
    }

    /// Whether bulk has a rail of its own.
    pub fn has_bulk_rail(&self) -> bool {
        self.lines.len() > 1
    }

    /// Whether something waits to be let go: progress must not stop for long.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        !self.active.is_empty()
    }

    /// Whether somebody must look now and then even when this process awaits nothing: others expect
    /// acknowledgements.
    #[inline(always)]
    pub fn needs_company(&self) -> bool {
        self.open > 0
    }

    /// Whether everything sent has been given to the network at least once.
    pub fn is_flushed(&self) -> bool {
        let flushed = |conversation: &Conversation| conversation.unsent_bytes == 0;
        let stuck = self.lines.iter().any(Line::is_stuck);
        !stuck && self.conversations().all(flushed)
    }

    fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        let partners = self.partners.iter().filter_map(|standing| match standing {
            Standing::Open(partner) => Some(partner),
            _ => None,
        });
        partners.flat_map(|partner| partner.ways.iter().flatten())
    }

    /// Readable when something has arrived.
    pub fn fd(&self) -> RawFd {
        match &self.watch {
            Some(watch) => watch.as_raw_fd(),
            None => self.lines[0].device.fd(),
        }
    }

    /// For people: what frames travel by.
    pub fn describe(&self) -> String {
        let rails = self.lines.iter().map(|line| line.device.describe());
        rails.collect::<Vec<_>>().join(", bulk by ")
    }

    /// The job's number among all jobs.
    pub fn job_nonce(&self) -> u32 {
        self.key.job_nonce()
    }

    /// Why a process cannot be reached, if it cannot.
    pub fn trouble(&self, peer: u32) -> Option<&Trouble> {
        match &self.partners[peer as usize] {
            Standing::Lost(trouble) => Some(trouble),
            _ => None,
        }
    }

    /// The host of a process.
    pub fn host_of(&mut self, peer: u32) -> Option<String> {
        match &self.partners[peer as usize] {
            Standing::Open(partner) => Some(partner.host.clone()),
            Standing::Lost(trouble) => Some(trouble.host.clone()),
            _ => (self.finder)(peer, 0).ok().map(|peer| peer.host),
        }
    }
}
