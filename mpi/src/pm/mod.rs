//! The PM style of communication: channels instead of communicators, buffers instead of requests.
//!
//! A process of a job may open a [`Channel`] instead of initialising MPI. On it the processes are
//! nodes, and what they exchange are reliable, ordered datagrams of any length:
//! [`Channel::get_send_buffer`], fill it, [`Channel::send`]; [`Channel::receive`] shows what has
//! arrived, where it lies in the receive ring if the device has one. [`Channel::register`],
//! [`Channel::write`] and [`Channel::read`] are remote memory. Nothing ever blocks but
//! [`Channel::read`] and the end; who wants to sleep does so on the channel's descriptor, between
//! [`Channel::prepare_sleep`] and [`Channel::handle_waking`].
//!
//! The layer uses `net::pm` (one endpoint with a link to every node) and nothing of the engine:
//! there is no matching, no thread, no lock. `packet` says what nodes tell each other, `send` and
//! `receive` are the two directions, `region` is remote memory. docs/pm.md is the page for users.

mod error;
mod open;
mod packet;
mod receive;
mod region;
mod send;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use oxmpi_net::pm::{Counters, Pm};

pub use error::PmError;
pub use receive::Received;
pub use region::Region;
pub use send::SendBuffer;

use open::Opened;
use receive::Arrival;
use region::Answer;
use send::Flight;

/// How long the end of a channel waits until the other nodes have taken what was sent to them. A
/// node that computes takes nothing; it is the same time after which a host that gives no sign of
/// life counts as gone.
const CLOSING_MAX: Duration = Duration::from_secs(10);

/// Looks that find nothing before a call that must wait gives the CPU away.
const LOOKS_MAX: u32 = 2000;
/// For how long it does.
const NAP: Duration = Duration::from_micros(50);

/// A process's end of its job's channel.
///
/// Call order: [`Channel::open`] once; then [`Channel::receive`] as often as possible, for nothing
/// moves without it: it also repeats what was lost, tells others that theirs has arrived, and lets
/// them write to registered regions. Dropping the channel says goodbye to the other nodes.
pub struct Channel {
    node: u32,
    nodes: u32,
    pm: Pm,
    /// Says that the process has left, when everything else is over.
    leave: Option<Box<dyn FnOnce() + Send>>,
    /// Messages whose memory is still needed, by token, and those of them that the network has not
    /// taken, in order.
    flights: HashMap<u64, Flight>,
    outbox: VecDeque<u64>,
    token: u64,
    /// Buffers to be used again.
    pool: Vec<Vec<u8>>,
    /// What each node is sending us.
    arrivals: Vec<Arrival>,
    /// Messages that came while something else was awaited.
    inbox: VecDeque<(u32, Vec<u8>)>,
    /// Payload that [`Received`] has shown and that is over.
    shown: usize,
    regions: Vec<Option<Vec<u8>>>,
    answers: HashMap<u32, Answer>,
    /// What the next receive has to complain of.
    troubles: VecDeque<PmError>,
    /// Nodes that are gone, with or without a goodbye.
    gone: Vec<Option<Gone>>,
}

/// How a node went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// It said goodbye.
    Closed,
    /// It cannot be reached.
    Lost,
}

impl Channel {
    /// Joins the other processes of the job that this one was started in by `oxmpi run`, `mpiexec`
    /// or a foreign launcher. A process does this once, and instead of initialising MPI.
    pub fn open() -> Result<Channel, PmError> {
        let Opened {
            node,
            nodes,
            pm,
            launcher,
        } = open::open()?;
        let mut channel = Channel::over(node, nodes, pm);
        channel.leave = Some(Box::new(move || launcher.leave()));
        Ok(channel)
    }

    /// Over an endpoint that exists.
    pub(crate) fn over(node: u32, nodes: u32, pm: Pm) -> Channel {
        Channel {
            node,
            nodes,
            pm,
            leave: None,
            flights: HashMap::new(),
            outbox: VecDeque::new(),
            token: 0,
            pool: Vec::new(),
            arrivals: (0..nodes).map(|_| Arrival::default()).collect(),
            inbox: VecDeque::new(),
            shown: 0,
            regions: Vec::new(),
            answers: HashMap::new(),
            troubles: VecDeque::new(),
            gone: vec![None; nodes as usize],
        }
    }

    /// The number of this process.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// How many processes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// For people: what the messages travel by.
    pub fn describe(&self) -> String {
        self.pm.describe()
    }

    /// What has been counted: frames, repeats, refusals.
    pub fn counters(&self) -> Counters {
        self.pm.counters()
    }

    /// Makes it safe to sleep until the channel's descriptor ([`AsFd`]) is readable, for at most
    /// [`Channel::nap_max`]. False if there is something to do first: call [`Channel::receive`].
    pub fn prepare_sleep(&mut self) -> bool {
        self.release_shown();
        self.inbox.is_empty()
            && self.troubles.is_empty()
            && self.outbox.is_empty()
            && self.pm.prepare_sleep()
    }

    /// How long a sleeper may sleep: until something of this channel may have to be repeated.
    pub fn nap_max(&self) -> Option<Duration> {
        self.pm.nap_max()
    }

    /// After a sleep.
    pub fn handle_waking(&mut self) {
        self.pm.handle_waking();
    }

    fn check_node(&self, node: u32) -> Result<(), PmError> {
        match self.gone.get(node as usize) {
            None => Err(PmError::NoSuchNode {
                node,
                nodes: self.nodes,
            }),
            Some(Some(gone)) => Err(self.why_gone(node, *gone)),
            Some(None) => Ok(()),
        }
    }

    fn why_gone(&self, node: u32, gone: Gone) -> PmError {
        match (gone, self.pm.trouble(node)) {
            (Gone::Lost, Some(trouble)) => PmError::Lost {
                node,
                host: trouble.host.clone(),
                what: trouble.what.clone(),
            },
            _ => PmError::Closed { node },
        }
    }

    /// Between two looks of a call that waits: `looks` counts those that found nothing.
    fn idle(&mut self, looks: &mut u32) {
        *looks += 1;
        if *looks > LOOKS_MAX {
            self.pm.flush_unsent();
            std::thread::sleep(NAP);
            self.pm.handle_waking();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl AsFd for Channel {
    /// Readable when something may have arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the endpoint keeps the descriptor open as long as it lives, and the borrow is of
        // the channel that owns it.
        unsafe { BorrowedFd::borrow_raw(self.pm.fd()) }
    }
}

impl Drop for Channel {
    /// Waits until what was sent has arrived, and says goodbye. A process that panics does not: it
    /// must not look finished to the others.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let began = Instant::now();
        let mut looks = 0;
        let mut closing = false;
        while began.elapsed() < CLOSING_MAX {
            if !closing && self.outbox.is_empty() {
                self.pm.close(false);
                closing = true;
            }
            if closing && self.pm.is_closed() {
                break;
            }
            if !self.step_keeping() {
                self.idle(&mut looks);
            }
        }
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}
