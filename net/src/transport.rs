//! What every transport between hosts has in common: how the engine sends packets by it and hears
//! of what arrived.

use std::os::fd::RawFd;
use std::time::Duration;

use crate::both::Both;
use crate::card::Card;
pub use crate::event::{Event, Sent, Trouble};
pub use crate::introductions::{Directory, IntroduceError, Introductions};
use crate::pm::{COPIED_BYTES_MAX, Pm};
use crate::tcp::Tcp;
pub use crate::tcp::{
    Cancel, DriverError, ENTRIES, Match, Matcher, Progress, Put, PutError, Receive,
};

/// The way to processes of other hosts.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one per process, and a pointer more on every look would cost time"
)]
pub enum Transport {
    /// A connection for each pair.
    Tcp(Tcp),
    /// The PM protocol, over UDP or raw Ethernet.
    Pm(Pm),
    /// PM, and connections beside it for what is long.
    Both(Both),
}

/// Longest message that leaves unasked for.
const EAGER_BYTES: u64 = 64 << 10;

/// Sizes that suit a transport.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Longer messages are offered first.
    pub eager_bytes: u64,
    /// Longest message that is copied when it is sent; the memory of a longer one is read until it
    /// has left.
    pub copied_bytes_max: u64,
}

/// What the transports count; `oxmpi info` and reports show it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Processes that this one has talked to.
    pub peers: u64,
    /// Attempts of strangers and other jobs that were turned away.
    pub refused: u64,
    /// Looks that found something.
    pub reads: u64,
    /// Looks that found nothing.
    pub empty_reads: u64,
    /// Questions to the kernel what has changed.
    pub questions: u64,
    /// Receives given to a [`Matcher`] and taken back.
    pub requests: u64,
    /// Packets that have arrived.
    pub packets: u64,
    /// Bytes of the payload of those that came by TCP.
    pub payload_bytes: u64,
    /// Bytes of those that this process copies to where they belong.
    pub copied_bytes: u64,
}

/// The same call, whatever the transport.
macro_rules! each {
    ($self:ident, $it:ident => $call:expr) => {
        match $self {
            Transport::Tcp($it) => $call,
            Transport::Pm($it) => $call,
            Transport::Both($it) => $call,
        }
    };
}

impl Transport {
    /// How connections that have something are found, and who reads them; before the first poll.
    pub fn set_progress(&mut self, progress: Progress) -> Result<(), DriverError> {
        match self {
            Transport::Tcp(tcp) => tcp.set_progress(progress),
            Transport::Pm(_) | Transport::Both(_) => match progress {
                Progress::User | Progress::Sock => Ok(()),
                _ => Err(DriverError::Network(progress)),
            },
        }
    }

    /// What matches messages below this process, if the transport has such a thing.
    #[inline(always)]
    pub fn matcher(&mut self) -> Option<&mut dyn Matcher> {
        match self {
            Transport::Tcp(tcp) if tcp.has_driver() => Some(tcp),
            Transport::Tcp(_) | Transport::Pm(_) | Transport::Both(_) => None,
        }
    }

    /// What suits it.
    pub fn sizes(&self) -> Sizes {
        match self {
            Transport::Tcp(_) => Sizes {
                eager_bytes: EAGER_BYTES,
                copied_bytes_max: u64::MAX,
            },
            Transport::Pm(_) | Transport::Both(_) => Sizes {
                eager_bytes: EAGER_BYTES,
                copied_bytes_max: COPIED_BYTES_MAX as u64,
            },
        }
    }

    /// Whether a thread beside the application may look after it; false for the plain loop, which
    /// is a baseline that has none.
    pub fn may_have_driver_thread(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.progress() != Progress::Sock,
            Transport::Pm(_) | Transport::Both(_) => true,
        }
    }

    /// Whether packets of a message of so many bytes are to be sent from its own memory: all of
    /// them or none, because the last one tells that the message is free.
    #[inline(always)]
    pub fn holds(&self, message_bytes: u64) -> bool {
        match self {
            Transport::Tcp(_) => true,
            Transport::Pm(_) | Transport::Both(_) => message_bytes > COPIED_BYTES_MAX as u64,
        }
    }

    /// Sends a packet: its head (header and body) and `bytes` bytes at `payload`. `lasting`: that
    /// memory stays until the packet has left; the token comes back with [`Event::Released`] if it
    /// is not 0 and the answer is [`Sent::Held`].
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes; if it is lasting, until the packet has
    /// left as its answer says, or the process is lost or has finished.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub unsafe fn send(
        &mut self,
        to: u32,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        lasting: Option<u64>,
    ) -> Sent {
        match self {
            // SAFETY: the caller's promise.
            Transport::Tcp(tcp) => unsafe { tcp.send(to, head, payload, bytes, lasting.is_some()) },
            // SAFETY: the caller's promise.
            Transport::Pm(pm) => unsafe { pm.send(to, head, payload, bytes, lasting) },
            // SAFETY: the caller's promise.
            Transport::Both(both) => unsafe { both.send(to, head, payload, bytes, lasting) },
        }
    }

    /// The next thing that happened, if anything has. `None` ends a look.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Event> {
        each!(self, it => it.poll())
    }

    /// Whether there are two ways to each process, so that its packets may overtake each other.
    pub fn has_rails(&self) -> bool {
        match self {
            Transport::Tcp(_) => false,
            Transport::Pm(pm) => pm.has_bulk_rail(),
            Transport::Both(_) => true,
        }
    }

    /// Which of several ways the last event came: packets of one process arrive one after the other
    /// on each.
    #[inline(always)]
    pub fn rail(&self) -> usize {
        match self {
            Transport::Tcp(_) => 0,
            Transport::Pm(pm) => pm.rail(),
            Transport::Both(both) => both.rail(),
        }
    }

    /// Payload of the packet of the last event that has been read already; [`Transport::pass`]
    /// takes it.
    #[inline(always)]
    pub fn at_hand(&self) -> &[u8] {
        match self {
            Transport::Tcp(tcp) => tcp.at_hand(),
            Transport::Pm(pm) => pm.at_hand(),
            Transport::Both(both) if both.is_by_tcp() => both.tcp.at_hand(),
            Transport::Both(both) => both.pm.at_hand(),
        }
    }

    /// So many bytes at hand have been used.
    #[inline(always)]
    pub fn pass(&mut self, bytes: usize) {
        match self {
            Transport::Tcp(tcp) => tcp.pass(bytes),
            Transport::Pm(pm) => pm.pass(bytes),
            Transport::Both(both) if both.is_by_tcp() => both.tcp.pass(bytes),
            Transport::Both(both) => both.pm.pass(bytes),
        }
    }

    /// Whether [`Transport::read_into`] can be called now.
    #[inline(always)]
    pub fn reads_directly(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.at_hand().is_empty(),
            Transport::Pm(_) => true,
            Transport::Both(both) => !both.is_by_tcp() || both.tcp.at_hand().is_empty(),
        }
    }

    /// Reads payload of the current packet into `room` bytes at `into`, when it can be read
    /// directly; says how much came. What has to be copied for that is given to `write`, with its
    /// place behind `into`.
    ///
    /// # Safety
    /// `into` must be valid for writing `room` bytes; if less comes, until so many bytes have come
    /// by further calls with the same place, the process is lost, finished or expelled, or
    /// [`Transport::stop_placing`] was called.
    #[allow(unsafe_code)]
    pub unsafe fn read_into(
        &mut self,
        into: *mut u8,
        room: usize,
        write: impl FnMut(u64, &[u8]),
    ) -> usize {
        match self {
            // SAFETY: the caller's promise.
            Transport::Tcp(tcp) => unsafe { tcp.read_into(into, room) },
            Transport::Pm(pm) => pm.read(room, write),
            // SAFETY: the caller's promise.
            Transport::Both(both) if both.is_by_tcp() => unsafe { both.tcp.read_into(into, room) },
            Transport::Both(both) => both.pm.read(room, write),
        }
    }

    /// Nothing is written to anybody's memory any more, for good: connections that were in the
    /// middle of that bring nothing else.
    pub fn stop_placing(&mut self) {
        match self {
            Transport::Tcp(tcp) => tcp.stop_placing(),
            Transport::Both(both) => both.tcp.stop_placing(),
            Transport::Pm(_) => {}
        }
    }

    /// As [`Transport::read_into`] for payload that nobody awaits in a buffer: it is at hand
    /// afterwards, if any came.
    pub fn read_at_hand(&mut self) {
        match self {
            Transport::Tcp(tcp) => {
                tcp.read_at_hand();
            }
            Transport::Both(both) if both.is_by_tcp() => {
                both.tcp.read_at_hand();
            }
            Transport::Pm(_) | Transport::Both(_) => {}
        }
    }

    /// Goes on with a packet that was taken in part. True when it has left, or never will.
    pub fn resume(&mut self, to: u32) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.resume(to),
            Transport::Pm(_) => true,
            Transport::Both(both) => both.resume(to),
        }
    }

    /// Lets go what waits for messages that may follow.
    pub fn flush_unsent(&mut self) {
        each!(self, it => it.flush_unsent());
    }

    /// Whether something waits to be let go: progress must not stop for long.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.has_unsent(),
            Transport::Pm(pm) => pm.has_unsent(),
            Transport::Both(both) => both.pm.has_unsent() || both.tcp.has_unsent(),
        }
    }

    /// Whether somebody must look now and then even when this process awaits nothing: others expect
    /// answers that no kernel gives.
    #[inline(always)]
    pub fn needs_company(&self) -> bool {
        match self {
            Transport::Tcp(_) => false,
            Transport::Pm(pm) => pm.needs_company(),
            Transport::Both(both) => both.pm.needs_company(),
        }
    }

    /// Whether everything sent has been given to the network.
    pub fn is_flushed(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.is_flushed(),
            Transport::Pm(pm) => pm.is_flushed(),
            Transport::Both(both) => both.pm.is_flushed() && both.tcp.is_flushed(),
        }
    }

    /// Makes it safe to sleep until [`Transport::fd`] is readable. False if there is something to
    /// do first.
    pub fn prepare_sleep(&mut self) -> bool {
        each!(self, it => it.prepare_sleep())
    }

    /// How long a sleeper may sleep.
    pub fn nap_max(&self) -> Option<Duration> {
        each!(self, it => it.nap_max())
    }

    /// Somebody slept: time has passed.
    pub fn handle_waking(&mut self) {
        each!(self, it => it.handle_waking());
    }

    /// Readable when something has changed.
    pub fn fd(&self) -> RawFd {
        each!(self, it => it.fd())
    }

    /// Says goodbye to everybody. `pause`: this process may come back.
    pub fn close(&mut self, pause: bool) {
        each!(self, it => it.close(pause));
    }

    /// Whether everybody has heard it.
    pub fn is_closed(&self) -> bool {
        each!(self, it => it.is_closed())
    }

    /// A process sends what no process sends: nothing more is taken from it or sent to it. No event
    /// tells of that.
    pub fn expel(&mut self, peer: u32, what: &str) {
        each!(self, it => it.expel(peer, what));
    }

    /// The launcher says that a process has died. [`Event::Lost`] follows, after what can still
    /// come from it.
    pub fn handle_death(&mut self, peer: u32, what: String) {
        each!(self, it => it.handle_death(peer, what));
    }

    /// The launcher says that a process has finalised and ended. A process that has sent anything
    /// here has said goodbye behind it; one that has not, or has only paused, is finished now.
    pub fn handle_finish(&mut self, peer: u32) {
        each!(self, it => it.handle_finish(peer));
    }

    /// The job's number among all jobs, which all of its processes know.
    pub fn job_nonce(&self) -> u32 {
        match self {
            Transport::Tcp(tcp) => tcp.job_nonce(),
            Transport::Pm(pm) => pm.job_nonce(),
            Transport::Both(both) => both.pm.job_nonce(),
        }
    }

    /// Makes a process known that was not there when the job was wired up; its number here. That
    /// process must know this one by its number, and call itself by the number that this returns.
    pub fn introduce(&mut self, card: Card) -> Result<u32, IntroduceError> {
        match self {
            Transport::Tcp(tcp) if tcp.has_driver() => Err(IntroduceError::Driver),
            Transport::Tcp(tcp) => Ok(tcp.introduce(card)),
            Transport::Pm(pm) => Ok(pm.introduce(card)),
            Transport::Both(both) => Ok(both.introduce(card)),
        }
    }

    /// Why a process cannot be reached, if it cannot.
    pub fn trouble(&self, peer: u32) -> Option<&Trouble> {
        match self {
            Transport::Tcp(tcp) => tcp.trouble(peer),
            Transport::Pm(pm) => pm.trouble(peer),
            Transport::Both(both) => both.pm.trouble(peer),
        }
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        match self {
            Transport::Tcp(tcp) => by_tcp(tcp),
            Transport::Pm(pm) => by_pm(pm),
            Transport::Both(both) => {
                let (pm, tcp) = (by_pm(&both.pm), by_tcp(&both.tcp));
                Counters {
                    refused: pm.refused + tcp.refused,
                    reads: pm.reads + tcp.reads,
                    empty_reads: pm.empty_reads + tcp.empty_reads,
                    packets: pm.packets + tcp.packets,
                    peers: pm.peers,
                    ..tcp
                }
            }
        }
    }

    /// The host of a process, as its card says.
    pub fn host_of(&mut self, peer: u32) -> Option<String> {
        match self {
            Transport::Tcp(tcp) => tcp.host_of(peer),
            Transport::Pm(pm) => pm.host_of(peer),
            Transport::Both(both) => both.pm.host_of(peer),
        }
    }
}

fn by_tcp(tcp: &Tcp) -> Counters {
    let counters = tcp.counters();
    Counters {
        peers: counters.connections,
        refused: counters.refused,
        reads: counters.reads,
        empty_reads: counters.empty_reads,
        questions: counters.questions,
        requests: counters.requests,
        packets: counters.packets,
        payload_bytes: counters.payload_bytes,
        copied_bytes: counters.copied_bytes,
    }
}

fn by_pm(pm: &Pm) -> Counters {
    let counters = pm.counters();
    Counters {
        peers: counters.peers,
        refused: counters.forged + counters.replayed,
        reads: counters.device.receives,
        empty_reads: counters.device.receives_empty,
        packets: counters.link.messages_in,
        ..Counters::default()
    }
}
