//! Engines of one job inside one test process: each attaches to the same segment, as processes do.
#![allow(dead_code, reason = "each test file uses its share")]

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_engine::Progress;
use oxmpi_engine::{
    Completion, Engine, EngineError, Envelope, Mode, Network, Options, Pattern, Request, Seat,
    Threads,
};
use oxmpi_net::choice::{Equipment, Mode as NetMode, Report, Verdict, decide};
use oxmpi_net::transport::Transport;
use oxmpi_net::{Card, JobKey};
use oxmpi_ports::Segment;

mod double;

/// One job: its engines, and the segment as a launcher sees it.
pub struct Job {
    /// By rank.
    pub engines: Vec<Arc<Engine>>,
    /// The launcher's view, of the first host.
    pub segment: Segment,
}

/// Whether this test program's engines are on several hosts, as far as they know, and how they reach each other: the programs `tcp`, `kernel` and `udp` run the other programs' tests that way.
pub const APART: Option<NetMode> = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"tcp" | b"kernel" => Some(NetMode::Tcp),
    b"udp" => Some(NetMode::Udp),
    _ => None,
};

/// Whether a driver reads the connections, of which there is a double.
pub const KERNEL: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"kernel");

/// A process of a job on one host.
pub fn seat(rank: u32, size: u32, segment: OwnedFd) -> Seat {
    Seat {
        rank,
        size,
        host: "testhost".to_string(),
        segment: Some(segment),
        network: None,
    }
}

/// A job of `size` engines.
pub fn job(size: u32, options: &Options, threads: Threads) -> Job {
    let hosts = match size {
        _ if APART.is_none() => vec![0; size as usize],
        0..=3 => (0..size).collect(),
        // Some pairs through ports, some by the network.
        _ => (0..size).map(|rank| rank / 2).collect(),
    };
    job_on(hosts, options, threads)
}

/// A job of engines on these hosts.
pub fn job_on(hosts: Vec<u32>, options: &Options, threads: Threads) -> Job {
    let mut options = *options;
    if KERNEL && options.progress == Progress::User {
        options.progress = Progress::Kernel;
    }
    let size = hosts.len() as u32;
    let host_count = hosts.iter().max().unwrap() + 1;
    let ranks = |host: u32| hosts.iter().filter(|other| **other == host).count() as u32;
    let mut segments: Vec<Segment> = (0..host_count)
        .map(|host| Segment::create(ranks(host), 2).unwrap())
        .collect();
    let mode = APART.unwrap_or(NetMode::Tcp);
    let equipments: Vec<Equipment> = (0..size)
        .map(|rank| Equipment::open(mode, rank, true).unwrap())
        .collect();
    let cards: Vec<Card> = equipments
        .iter()
        .map(|equipment| equipment.card("testhost").unwrap())
        .collect();
    let tried = Report {
        frames: Verdict::Off,
        udp: Verdict::Works,
    };
    let choice = decide(mode, std::iter::once((0, tried))).unwrap();
    let key = JobKey::random().unwrap();
    let engines = equipments.into_iter().enumerate().map(|(rank, equipment)| {
        let segment = &segments[hosts[rank] as usize];
        let fd = segment.fd().try_clone_to_owned().unwrap();
        let mut seat = seat(rank as u32, size, fd);
        if host_count > 1 {
            let cards = cards.clone();
            let directory = Box::new(move |peer: u32| Ok(cards[peer as usize].clone()));
            let mut transport = equipment
                .assemble(rank as u32, size, key.clone(), &choice, directory)
                .unwrap();
            if let Transport::Tcp(tcp) = &mut transport
                && options.progress == Progress::Kernel
            {
                tcp.set_driver(Box::new(double::Double::new(size))).unwrap();
            }
            let hosts = hosts.clone();
            seat.network = Some(Network {
                choice,
                hosts,
                apart: false,
                crowded: false,
                transport,
            });
        }
        // SAFETY: tests that ask for one thread use each engine from one thread at a time.
        let engine = unsafe { Engine::attach(seat, &options, threads) };
        Arc::new(engine.unwrap())
    });
    Job {
        engines: engines.collect(),
        segment: segments.swap_remove(0),
    }
}

/// Two engines.
pub fn pair(options: &Options, threads: Threads) -> (Arc<Engine>, Arc<Engine>) {
    let mut engines = job(2, options, threads).engines.into_iter();
    (engines.next().unwrap(), engines.next().unwrap())
}

/// Context of all test messages.
pub const CONTEXT: u64 = 5;

/// A pattern for messages from `source` with `tag`.
pub fn from(source: impl Into<Option<u32>>, tag: impl Into<Option<i32>>) -> Pattern {
    Pattern {
        context: CONTEXT,
        source: source.into(),
        tag: tag.into(),
    }
}

/// The envelope of a message.
pub fn envelope(source: u32, tag: i32, bytes: usize) -> Envelope {
    Envelope {
        context: CONTEXT,
        source,
        tag,
        bytes: bytes as u64,
    }
}

/// Bytes that tell which message they belong to and where in it.
pub fn data(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at.wrapping_mul(7) ^ (at >> 8) ^ seed.wrapping_mul(31)) as u8)
        .collect()
}

/// Sends and waits.
pub fn send(engine: &Engine, to: u32, tag: i32, bytes: &[u8]) -> Result<(), EngineError> {
    let envelope = envelope(engine.rank(), tag, bytes.len());
    // SAFETY: the slice lives until the call returns, and the call waits.
    unsafe { engine.send(to, envelope, bytes.as_ptr(), Mode::Standard) }
}

/// Begins a send.
///
/// The caller keeps `bytes` until the request is over.
pub fn isend(engine: &Engine, to: u32, tag: i32, bytes: &[u8], mode: Mode) -> Request {
    let envelope = envelope(engine.rank(), tag, bytes.len());
    // SAFETY: tests keep the slice until they have waited.
    unsafe { engine.isend(to, envelope, bytes.as_ptr(), mode) }.unwrap()
}

/// Receives and waits.
pub fn recv(
    engine: &Engine,
    source: impl Into<Option<u32>>,
    tag: impl Into<Option<i32>>,
    into: &mut [u8],
) -> Result<Completion, EngineError> {
    let source = source.into();
    // SAFETY: the slice lives until the call returns, and the call waits.
    unsafe {
        engine.recv(
            source,
            from(source, tag),
            into.as_mut_ptr(),
            into.len() as u64,
        )
    }
}

/// Begins a receive.
///
/// The caller keeps `into` until the request is over.
pub fn irecv(
    engine: &Engine,
    source: impl Into<Option<u32>>,
    tag: impl Into<Option<i32>>,
    into: &mut [u8],
) -> Request {
    let source = source.into();
    // SAFETY: tests keep the slice until they have waited.
    unsafe {
        engine.irecv(
            source,
            from(source, tag),
            into.as_mut_ptr(),
            into.len() as u64,
        )
    }
    .unwrap()
}

/// Runs `work` and fails the whole test process when it takes longer than `limit`: a lost wake-up must not hang the suite.
pub fn within<R>(limit: Duration, what: &str, work: impl FnOnce() -> R) -> R {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let what = what.to_string();
    let watch = std::thread::spawn(move || {
        if waiting.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what}: not done after {limit:?}");
            std::process::abort();
        }
    });
    let started = Instant::now();
    let result = work();
    let _ = done.send(());
    watch.join().unwrap();
    assert!(started.elapsed() <= limit);
    result
}
