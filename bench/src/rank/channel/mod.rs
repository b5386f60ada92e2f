//! What runs in the two processes of `oxmpi pmtest`: a channel instead of MPI, and bare exchanges
//! beside it.
//!
//! Node 0 takes the time. A message that is one byte longer than the others is the last one, so
//! that messages of no bytes can be measured too.

pub mod protocol;

use std::error::Error;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use oxmpi::pm::{Channel, PmError};
use oxmpi_net::address::Local;
use oxmpi_net::pm::Counters;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answer::Answer;
use crate::floor::tcp::Connection;
use crate::floor::wire::{self, Medium, batch};
use crate::floor::{median, stream};
use crate::net::Net;
use crate::rank::wire::{Acquaintance, Meeting, connect, meet, spread_over_cpus};

/// Batches or windows thrown away while windows grow and caches settle.
const WARM: usize = 3;

/// MB/s in a byte per nanosecond.
const MEGA: f64 = 1e3;

/// A peer that says nothing for this long will not say anything any more.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Looks that found nothing between two looks at the clock.
const LOOKS_PER_CLOCK: u32 = 1 << 14;

/// How a process waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// It drains the ring or socket itself, again and again.
    Reaping,
    /// It sleeps until the kernel wakes it.
    Sleeping,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// Half a round trip on the channel, ns.
    OneWay {
        /// Of a message.
        bytes: usize,
        /// Of both.
        wait: Wait,
    },
    /// Windows of messages on the channel, MB/s.
    Stream {
        /// Of a message.
        bytes: usize,
        /// Of both.
        wait: Wait,
    },
    /// Half a round trip by bare TCP, ns.
    TcpOneWay {
        /// Of a message.
        bytes: usize,
    },
    /// Windows by bare TCP, MB/s.
    TcpStream {
        /// Of a message.
        bytes: usize,
    },
    /// Windows by the bare mechanism below the channel, MB/s.
    BareStream {
        /// Of a message.
        bytes: usize,
    },
    /// By the bare mechanism below the channel, ns: half a round trip, the call that sends, the
    /// call that receives.
    Mechanism {
        /// Of a message.
        bytes: usize,
    },
    /// By bare TCP, ns: half a round trip, the call that sends, the call that receives.
    TcpParts {
        /// Of a message.
        bytes: usize,
    },
    /// The protocol alone, in memory, ns for one way.
    Protocol {
        /// Of a message.
        bytes: usize,
    },
    /// What the channel has counted since the beginning, as `COUNTERS` names it.
    Counters,
}

impl Figure {
    /// How many numbers it gives.
    pub fn values(self) -> usize {
        match self {
            Figure::Mechanism { .. } | Figure::TcpParts { .. } => 3,
            Figure::Counters => COUNTERS.len(),
            _ => 1,
        }
    }
}

/// What one job measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// By which network; the environment names the same.
    pub net: Net,
    /// What, in this order.
    pub figures: Vec<Figure>,
    /// How long each.
    pub time: Duration,
}

/// A counter's name, and the counter.
type Named = (&'static str, fn(&Counters) -> u64);

/// The counters that are shown.
pub const COUNTERS: [Named; 16] = [
    ("messages sent", |all| all.link.messages_out),
    ("frames given to the device", |all| all.device.frames_out),
    ("frames taken from the device", |all| all.device.frames_in),
    ("calls that sent", |all| all.device.sends),
    ("calls that received", |all| all.device.receives),
    ("those of them that found nothing", |all| {
        all.device.receives_empty
    }),
    ("frames sent again", |all| all.link.repeats),
    ("time-outs", |all| all.link.timeouts),
    ("LOSE sent", |all| all.link.lose_out),
    ("LOSE received", |all| all.link.lose_in),
    ("STOP sent and received", |all| {
        all.link.stop_out + all.link.stop_in
    }),
    ("GO sent and received", |all| {
        all.link.go_out + all.link.go_in
    }),
    ("duplicates", |all| all.link.duplicates),
    ("frames with a wrong CRC", |all| all.link.refused_checksum),
    ("forged or foreign frames", |all| all.forged),
    ("frames that the kernel dropped", |all| all.device.overruns),
];

/// Why a process of the test gives up.
#[derive(Debug, Error)]
pub enum RankError {
    /// Not two.
    #[error("pmtest is between 2 processes, and this job has {nodes}")]
    NotTwo {
        /// How many there are.
        nodes: u32,
    },
    /// The channel is not what was asked for.
    #[error("--net {} was asked for, and the channel is {found}", .net.word())]
    OtherNetwork {
        /// What was asked for.
        net: Net,
        /// What the channel says.
        found: String,
    },
    /// A figure.
    #[error("node {node}, measuring {figure:?}: {error}")]
    Measuring {
        /// Who.
        node: u32,
        /// What.
        figure: Figure,
        /// What happened.
        error: Box<dyn Error>,
    },
    /// Nothing came.
    #[error(
        "node {node} waited {} s for a message of the other one: did it end, or does the network not let the channel's frames through?",
        SILENCE_MAX.as_secs()
    )]
    Silent {
        /// Who waited.
        node: u32,
    },
}

/// What measurements give.
type Found<T> = Result<T, Box<dyn Error>>;

/// A process of the test.
pub fn run(plan: &Plan) -> Found<()> {
    let mut channel = Channel::open()?;
    if channel.nodes() != 2 {
        let nodes = channel.nodes();
        return Err(RankError::NotTwo { nodes }.into());
    }
    let found = channel.describe();
    if !found.to_ascii_lowercase().contains(plan.net.word()) {
        let net = plan.net;
        return Err(RankError::OtherNetwork { net, found }.into());
    }
    let shared = spread_over_cpus(&mut channel)?;
    let stream = connect(&mut channel, &Local::read()?)?;
    let mut bare = meet(&mut channel, plan.net, shared)?;
    let mut ends = Ends {
        channel: &mut channel,
        tcp: Connection::new(stream, shared)?,
        time: plan.time,
    };
    let mut values = Vec::new();
    for figure in &plan.figures {
        ends.meet_again()?;
        let found = ends.measure(*figure, bare.as_mut());
        let found = found.map_err(|error| RankError::Measuring {
            node: ends.channel.node(),
            figure: *figure,
            error,
        })?;
        values.extend(found);
    }
    ends.meet_again()?;
    if channel.node() == 0 {
        let transport = found;
        println!(
            "{}",
            serde_json::to_string(&Answer {
                values,
                transport,
                learned: Vec::new(),
            })?
        );
    }
    Ok(())
}

impl Acquaintance for Channel {
    fn rank(&self) -> u32 {
        self.node()
    }

    fn host(&self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map_or_else(|_| "?".to_owned(), |name| name.trim().to_owned())
    }

    fn tell(&mut self, bytes: &[u8]) -> Meeting<()> {
        let mut buffer = self.get_send_buffer(1 - self.node(), bytes.len())?;
        buffer.copy_from_slice(bytes);
        self.send(buffer);
        // Who tells something may turn to something else than this channel next.
        self.flush();
        Ok(())
    }

    fn hear(&mut self) -> Meeting<Vec<u8>> {
        next(self, Wait::Reaping, |message| message.to_vec())
    }
}

/// The two processes at work.
struct Ends<'c> {
    channel: &'c mut Channel,
    /// For bare TCP, and to wait for each other.
    tcp: Connection,
    time: Duration,
}

impl Ends<'_> {
    /// Both are done with the figure before. They tell each other by TCP, which needs nobody to
    /// repeat what was lost, while this channel still does that for the other one.
    fn meet_again(&mut self) -> Found<()> {
        self.channel.flush();
        self.tcp.send(&[0], 1)?;
        while !self.tcp.take_byte()? {
            self.channel.progress();
        }
        Ok(())
    }

    fn measure(&mut self, figure: Figure, bare: &mut dyn Medium) -> Found<Vec<f64>> {
        let time = self.time;
        let tcp = &mut self.tcp;
        let first = self.channel.node() == 0;
        let value = match figure {
            Figure::OneWay { bytes, wait } => self.one_way(bytes, wait)?,
            Figure::Stream { bytes, wait } => self.stream(bytes, wait)?,
            Figure::TcpOneWay { bytes } if first => wire::ping_ns(tcp, bytes, time)?,
            Figure::TcpOneWay { bytes } => {
                wire::pong(tcp, bytes)?;
                0.0
            }
            Figure::TcpStream { bytes } if first => {
                let rate = wire::stream(tcp, bytes, stream::window(bytes), time)?;
                rate * bytes as f64 * MEGA
            }
            Figure::TcpStream { bytes } => {
                wire::sink(tcp, bytes, stream::window(bytes))?;
                0.0
            }
            Figure::BareStream { bytes } if first => {
                let rate = wire::stream(bare, bytes, stream::window(bytes), time)?;
                rate * bytes as f64 * MEGA
            }
            Figure::BareStream { bytes } => {
                wire::sink(bare, bytes, stream::window(bytes))?;
                0.0
            }
            Figure::Mechanism { bytes } if first => {
                return Ok(wire::ping_parts(bare, bytes, time)?.to_vec());
            }
            Figure::Mechanism { bytes } => {
                wire::pong(bare, bytes)?;
                0.0
            }
            Figure::TcpParts { bytes } if first => {
                return Ok(wire::ping_parts(tcp, bytes, time)?.to_vec());
            }
            Figure::TcpParts { bytes } => {
                wire::pong(tcp, bytes)?;
                0.0
            }
            Figure::Protocol { bytes } if first => protocol::one_way_ns(bytes, time)?,
            Figure::Protocol { .. } => 0.0,
            Figure::Counters => {
                let counters = self.channel.counters();
                let counted = COUNTERS.iter().map(|(_, count)| count(&counters) as f64);
                return Ok(counted.collect());
            }
        };
        Ok(vec![value])
    }

    fn one_way(&mut self, bytes: usize, wait: Wait) -> Found<f64> {
        if self.channel.node() == 1 {
            loop {
                let length = next(self.channel, wait, <[u8]>::len)?;
                post(self.channel, 0, length)?;
                if length > bytes {
                    return Ok(0.0);
                }
            }
        }
        let batch = batch(bytes);
        let mut one_way = Vec::new();
        let began = Instant::now();
        while began.elapsed() < self.time || one_way.len() < 2 * WARM {
            let start = Instant::now();
            for _ in 0..batch {
                post(self.channel, 1, bytes)?;
                next(self.channel, wait, |_| ())?;
            }
            one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
        }
        post(self.channel, 1, bytes + 1)?;
        next(self.channel, wait, |_| ())?;
        Ok(median(&mut one_way[WARM..]))
    }

    fn stream(&mut self, bytes: usize, wait: Wait) -> Found<f64> {
        let window = stream::window(bytes);
        if self.channel.node() == 1 {
            loop {
                let mut last = false;
                for _ in 0..window {
                    last |= next(self.channel, wait, <[u8]>::len)? > bytes;
                }
                post(self.channel, 0, 0)?;
                if last {
                    return Ok(0.0);
                }
            }
        }
        let mut rates = Vec::new();
        let began = Instant::now();
        loop {
            let over = began.elapsed() >= self.time && rates.len() >= 2 * WARM;
            let start = Instant::now();
            for _ in 0..window {
                post(self.channel, 1, bytes + usize::from(over))?;
            }
            next(self.channel, wait, |_| ())?;
            if over {
                return Ok(median(&mut rates[WARM..]));
            }
            let rate = (window * bytes) as f64 / start.elapsed().as_nanos() as f64;
            rates.push(rate * MEGA);
        }
    }
}

/// Sends a message of that length, as soon as the network has room.
fn post(channel: &mut Channel, to: u32, bytes: usize) -> Found<()> {
    let began = Instant::now();
    loop {
        match channel.get_send_buffer(to, bytes) {
            Ok(buffer) => {
                channel.send(buffer);
                return Ok(());
            }
            Err(PmError::Busy { .. }) if began.elapsed() < SILENCE_MAX => {
                // Answers come only when all have been sent.
                assert!(channel.receive()?.is_none(), "nobody sends to a sender");
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for the next message and looks at it.
fn next<T>(channel: &mut Channel, wait: Wait, look: impl FnOnce(&[u8]) -> T) -> Found<T> {
    let mut looks = 0u32;
    let mut began = None;
    loop {
        if let Some(message) = channel.receive()? {
            return Ok(look(&message));
        }
        looks = looks.wrapping_add(1);
        let slept = wait == Wait::Sleeping && sleep(channel);
        if (slept || looks.is_multiple_of(LOOKS_PER_CLOCK))
            && began.get_or_insert_with(Instant::now).elapsed() > SILENCE_MAX
        {
            let node = channel.node();
            return Err(RankError::Silent { node }.into());
        }
    }
}

/// Sleeps until something may have come, as long as the channel allows. False if it had something
/// to do first.
fn sleep(channel: &mut Channel) -> bool {
    if !channel.prepare_sleep() {
        return false;
    }
    let nap = channel.nap_max().unwrap_or(SILENCE_MAX).min(SILENCE_MAX);
    let nap = libc::timespec {
        tv_sec: nap.as_secs() as _,
        tv_nsec: nap.subsec_nanos().into(),
    };
    let mut asked = libc::pollfd {
        fd: channel.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry and the time live on this stack; the descriptor is the channel's.
    unsafe { libc::ppoll(&mut asked, 1, &nap, std::ptr::null()) };
    channel.handle_waking();
    true
}
