//! One conversation: the link to a process on one rail, where its frames go, and how much of a
//! packet has arrived.

use std::net::IpAddr;

use oxmpi_link::{Config, Link, Recovery, Session};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, SEAL_BYTES};

use super::memory::Slot;
use super::secret::{self, Party, Purpose};
use super::{Options, Peer, RailKind};
use crate::device::Address;
use crate::key::JobKey;
use crate::seal::Seals;
use oxmpi_wire::stream::HEAD_MAX;

/// Frames on their way at once, on UDP: what a process that waits for its turn on a CPU finds when
/// it gets it. Some two hundred full ones fit the receive buffer that every user gets, more the one
/// of who may have more; a window that finds the buffer smaller shrinks.
const WINDOW_FRAMES_UDP: usize = 512;
/// On Ethernet, whose rings of 4096 slots are half for windows, half for what arrives after STOP;
/// both sides must come to the same figure, so it depends on nothing but the number of processes.
const WINDOWS_FRAMES_ETHERNET: usize = 2048;
const WINDOW_FRAMES_ETHERNET_MAX: usize = 256;
/// However many processes there are, a conversation that waits for an acknowledgement after each
/// few frames gets nowhere.
const WINDOW_FRAMES_ETHERNET_MIN: usize = 64;
/// On PM in the kernel, whose frames are long: a quarter of the slots on either side.
const WINDOW_FRAMES_KERNEL: usize = 64;
/// Messages that wait or are unacknowledged: more than a window of frames, each full of short
/// messages, has at its best.
const MESSAGES_MAX: usize = 4096;
/// Losses in the middle are noticed by what follows; only the end of a burst waits for this, and a
/// process that is not running for a moment must not be flooded.
const REPEAT_NS_MIN: u64 = 1_000_000;
/// A link that was down for long is in use again this soon.
const REPEAT_NS_MAX: u64 = 250_000_000;
/// An acknowledgement that nobody forces waits this long for a message to go with.
const ACK_DELAY_NS: u64 = 50_000;
/// Repeats go to the next of a process's addresses after this time without an answer.
const CANDIDATE_NS: u64 = 250_000_000;

/// A process and a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub peer: u32,
    pub rail: usize,
}

/// What a rail gives each of its conversations.
pub(super) struct Common<'a> {
    pub me: Party,
    pub key: &'a JobKey,
    pub kind: RailKind,
    pub options: &'a Options,
    pub own_channel: u16,
    pub frame_bytes_max: usize,
    /// Frames that may wait in this process.
    pub room: usize,
    /// Processes of the job.
    pub size: usize,
}

pub(super) struct Conversation {
    pub link: Link<Slot>,
    /// The proofs of its frames.
    pub session: Session,
    /// With these its frames are encrypted, if they are.
    pub seals: Option<Box<Seals>>,
    addresses: Vec<Address>,
    candidate: usize,
    candidate_since: u64,
    /// Something came from there.
    pub confirmed: bool,
    /// Bytes of messages that no frame has carried yet.
    pub unsent_bytes: usize,
    /// Messages that the other side does not have wholly.
    pub outstanding: usize,
    /// When a message was last sent, unless something came since: then it was no succession.
    pub last_sent: u64,
    /// Whether it is in the lists of those that have something to send, that have timers, and whose
    /// acknowledgements may wait.
    pub is_active: bool,
    pub is_timed: bool,
    pub is_owing: bool,
    /// A head that has arrived in part.
    pub partial: [u8; HEAD_MAX],
    pub partial_bytes: usize,
    /// Payload bytes of the packet that is arriving that have not been taken.
    pub left: usize,
    /// When something last came, or was asked for.
    pub heard_at: u64,
    /// What a frame carries at most, for messages that wait for each other.
    pub payload_bytes_max: usize,
}

impl Conversation {
    pub fn new(common: &Common<'_>, way: Way, peer: &Peer, name_in: u32, now: u64) -> Conversation {
        let payload_bytes_max = payload_bytes_max(common);
        Conversation {
            link: Link::new(config(common, way, peer, name_in), now),
            session: session(common.key, way, common.me, peer.salt),
            seals: common.options.encrypted.then(|| {
                let process = way.peer;
                let peer = Party {
                    process,
                    salt: peer.salt,
                };
                Box::new(secret::seals(common.key, way.rail, common.me, peer))
            }),
            addresses: peer.addresses.clone(),
            candidate: 0,
            candidate_since: 0,
            confirmed: false,
            unsent_bytes: 0,
            outstanding: 0,
            last_sent: 0,
            is_active: false,
            is_timed: false,
            is_owing: false,
            partial: [0; HEAD_MAX],
            partial_bytes: 0,
            left: 0,
            heard_at: now,
            payload_bytes_max,
        }
    }

    /// Where frames go now.
    #[inline(always)]
    pub fn address(&self) -> &Address {
        &self.addresses[self.candidate]
    }

    /// The network address that frames came from, if they did and have one.
    pub fn confirmed_ip(&self) -> Option<IpAddr> {
        match self.address() {
            Address::Udp(address) | Address::Oxk(address) if self.confirmed => Some(address.ip()),
            _ => None,
        }
    }

    /// A frame that only the process itself can have sent came from there.
    #[cold]
    pub fn confirm(&mut self, sender: Address) {
        self.confirmed = true;
        match self.addresses.iter().position(|known| *known == sender) {
            Some(known) => self.candidate = known,
            None => {
                self.addresses.push(sender);
                self.candidate = self.addresses.len() - 1;
            }
        }
    }

    /// Nothing came from anywhere for long, or `refused`: the next candidate's turn. False if there
    /// is no other.
    #[cold]
    pub fn try_next_address(&mut self, now: u64, refused: bool) -> bool {
        if self.confirmed || self.addresses.len() < 2 {
            return false;
        }
        if self.candidate_since == 0 {
            self.candidate_since = now;
        }
        if !refused && now - self.candidate_since < CANDIDATE_NS {
            return true;
        }
        self.candidate = (self.candidate + 1) % self.addresses.len();
        self.candidate_since = now;
        // Who was refused everywhere is gone.
        !refused || self.candidate != 0
    }

    /// For people: where it was tried.
    pub fn describe_addresses(&self) -> String {
        if self.confirmed {
            return self.address().to_string();
        }
        let addresses = self.addresses.iter().map(Address::to_string);
        addresses.collect::<Vec<_>>().join(", ")
    }
}

/// The session of a process with the one at the other end of a way.
pub(super) fn session(key: &JobKey, way: Way, me: Party, salt: u64) -> Session {
    let peer = Party {
        process: way.peer,
        salt,
    };
    secret::session(key, Purpose::Talk, way.rail, me, peer)
}

/// What a frame has room for besides its header, and its seal if it has one.
fn payload_bytes_max(common: &Common<'_>) -> usize {
    let seal = usize::from(common.options.encrypted) * SEAL_BYTES;
    common.frame_bytes_max - FRAME_HEADER_BYTES - seal
}

fn config(common: &Common<'_>, way: Way, peer: &Peer, name_in: u32) -> Config {
    let share = WINDOWS_FRAMES_ETHERNET / common.size.max(1);
    let share = share.clamp(WINDOW_FRAMES_ETHERNET_MIN, WINDOW_FRAMES_ETHERNET_MAX);
    let (window, recovery, congestion) = match common.kind {
        RailKind::Udp => (WINDOW_FRAMES_UDP, Recovery::Selective, true),
        RailKind::Ethernet => (share, Recovery::GoBackN, false),
        RailKind::Trunk => (share, Recovery::Selective, false),
        RailKind::Kernel => (WINDOW_FRAMES_KERNEL, Recovery::GoBackN, false),
    };
    Config {
        me: common.me.process,
        peer: way.peer,
        name_out: peer.name,
        name_in,
        channel_out: peer.channel,
        channel_in: common.own_channel,
        payload_bytes_max: payload_bytes_max(common),
        window_frames_max: window as u32,
        recovery,
        congestion,
        // A seal finds all damage; a checksum of the contents beside it would only tell something
        // about them.
        checked: common.options.checked && !common.options.encrypted,
        sealed: common.options.encrypted,
        backlog_high: backlog_high(common.room),
        backlog_low: backlog_high(common.room) / 2,
        rto_ns_min: REPEAT_NS_MIN,
        rto_ns_max: REPEAT_NS_MAX,
        ack_delay_ns: ACK_DELAY_NS,
        first_sequence: 0,
        dead_after_ns: common.options.dead_after.as_nanos() as u64,
        messages_max: MESSAGES_MAX,
    }
}

/// Frames that wait in this process when it says STOP.
pub(super) fn backlog_high(room: usize) -> usize {
    (room / 2).max(2)
}
