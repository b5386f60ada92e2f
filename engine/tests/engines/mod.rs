//! Engines of one job inside one test process: each attaches to the same segment, as processes do.
#![allow(dead_code, reason = "each test file uses its share")]

use std::fmt::Display;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use oxmpi_engine::Progress;
use oxmpi_engine::{
    Completion, Content, Engine, EngineError, Envelope, Fault, JoinFacts, Mode, Network, Options,
    Pattern, Request, Threads,
};
use oxmpi_net::choice::{Equipment, Mode as NetMode, Report, Verdict, decide};
use oxmpi_net::transport::Transport;
use oxmpi_net::{Card, JobKey};
use oxmpi_ports::Segment;
use oxmpi_wire::{Kind, MESSAGE_BYTES_MAX, PREFIX_BYTES, Repr};

mod double;

/// One job: its engines, and the segment as a launcher sees it.
pub struct Job {
    /// By rank.
    pub engines: Vec<Arc<Engine>>,
    /// The launcher's view, of the first host.
    pub segment: Segment,
}

/// Whether this test program's engines are on several hosts, as far as they know, and how they
/// reach each other: the programs `tcp`, `kernel`, `uring`, `bpf`, `udp` and `both` run the other programs'
/// tests that way.
pub const APART: Option<NetMode> = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"tcp" | b"kernel" | b"uring" | b"bpf" => Some(NetMode::Tcp),
    b"udp" => Some(NetMode::Udp),
    b"both" => Some(NetMode::Auto),
    _ => None,
};

/// Whether a driver reads the connections, of which there is a double.
pub const KERNEL: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"kernel");

/// Whether io_uring reads the connections; where the kernel does not permit that, the library does.
pub const URING: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"uring");

/// Whether BPF programs read the connections; where the kernel does not permit that, the library
/// does.
pub const BPF: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"bpf");

/// Says once that this program shows less than it is there for, past libtest, which holds back what
/// passing tests print: `cargo xtask test` counts the line.
fn pass_over(why: &dyn Display) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let name = env!("CARGO_CRATE_NAME");
        let line = format!("tests of {name}: skipped, this host does not permit it: {why}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    });
}

/// A process of a job on one host.
pub fn facts(rank: u32, size: u32, segment: OwnedFd) -> JoinFacts {
    JoinFacts {
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
    let (all_facts, options, segment) = all_facts(hosts, options);
    let engine = |facts| {
        // SAFETY: tests that ask for one thread use each engine from one thread at a time.
        let engine = unsafe { Engine::attach(facts, &options, threads) };
        Arc::new(engine.unwrap())
    };
    Job {
        engines: all_facts.into_iter().map(engine).collect(),
        segment,
    }
}

/// The facts of all processes of a job on these hosts, with the options for them and the first
/// host's segment.
pub fn all_facts(hosts: Vec<u32>, options: &Options) -> (Vec<JoinFacts>, Options, Segment) {
    let known = vec![hosts.len(); hosts.len()];
    let (all_facts, _, options, segment) = seats_that_know(&known, hosts, options);
    (all_facts, options, segment)
}

/// As [`all_facts`], with cards; each process knows only so many of all at first.
pub fn seats_that_know(
    known: &[usize],
    hosts: Vec<u32>,
    options: &Options,
) -> (Vec<JoinFacts>, Vec<Card>, Options, Segment) {
    let mut options = *options;
    if KERNEL && options.progress == Progress::User {
        options.progress = Progress::Kernel;
    }
    if URING && options.progress == Progress::User {
        match oxmpi_net::tcp::find_ring() {
            Ok(()) => options.progress = Progress::Uring,
            Err(error) => pass_over(&error),
        }
    }
    if BPF && options.progress == Progress::User {
        match oxmpi_net::tcp::find_bpf() {
            Ok(()) => options.progress = Progress::Bpf,
            Err(error) => pass_over(&error),
        }
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
    let all_facts = equipments.into_iter().enumerate().map(|(rank, equipment)| {
        let segment = &segments[hosts[rank] as usize];
        let fd = segment.fd().try_clone_to_owned().unwrap();
        let hosts = hosts[..known[rank]].to_vec();
        let size = hosts.len() as u32;
        let mut facts = facts(rank as u32, size, fd);
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
            facts.network = Some(Network {
                choice,
                hosts,
                apart: false,
                oversubscribed: false,
                transport,
            });
        }
        facts
    });
    (
        all_facts.collect(),
        cards.clone(),
        options,
        segments.swap_remove(0),
    )
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
        signature: 0,
    }
}

/// The envelope of a message.
pub fn envelope(source: u32, tag: i32, bytes: usize) -> Envelope {
    Envelope {
        context: CONTEXT,
        source,
        tag,
        content: Content::new(bytes as u64, 0),
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

/// Runs `work` and fails the whole test process when it takes longer than `limit`: a lost wake-up
/// must not hang the suite.
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

/// Splitmix64: enough for tests, and repeatable.
pub struct Random(pub u64);

impl Random {
    /// Anything.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.any() % bound as u64) as usize
    }
}

/// A packet that no engine sends: a head in which everything is by chance but its form, and a
/// payload. Its context is not that of the tests' messages, so that it cannot pass for one. Says
/// how long the head is.
pub fn nonsense(random: &mut Random) -> ([u8; PREFIX_BYTES], usize, Vec<u8>) {
    let mut prefix = [0; PREFIX_BYTES];
    let payload = (0..random.below(3000)).map(|at| at as u8).collect();
    let (send, receive) = (random.any() >> random.below(64), random.any());
    let (offset, flag) = (random.any() >> random.below(64), random.below(2) == 0);
    let kinds = [
        Kind::Eager,
        Kind::More { offset },
        Kind::Data { receive, offset },
        Kind::RequestToSend {
            send,
            address: random.any(),
            mapped: flag,
            fetchable: !flag,
            sync: flag,
        },
        Kind::ClearToSend { send, receive },
        Kind::CancelReply {
            send,
            cancelled: flag,
        },
    ];
    let repr = Repr {
        envelope: Envelope {
            context: CONTEXT + 1000,
            source: random.any() as u32,
            tag: random.any() as i32,
            content: Content::new(
                random.any()
                    >> random
                        .below(64)
                        .max(MESSAGE_BYTES_MAX.leading_zeros() as usize),
                0,
            ),
        },
        // Not the number of the first packet, so that one of these is enough.
        sequence: 1 + random.below(100) as u32,
        credit: random.any() as u16,
        kind: kinds[random.below(kinds.len())],
    };
    let used = repr.emit_prefix(&mut prefix);
    (prefix, used, payload)
}

/// A context in which the rank that sends garbage is no member.
pub const WITHOUT: u64 = CONTEXT + 1;

/// What three engines do while rank 3 sends garbage: all that they send to each other arrives; what
/// concerns rank 3 fails and names it; a receive from anybody fails only where rank 3 is a member.
pub fn survive_garbage(engine: &Engine, turns: usize) {
    let me = engine.rank();
    engine.set_members(WITHOUT, [0, 1, 2].into());
    let mut words = [[0; 8]; 3];
    let [first, second, third] = &mut words;
    let named = irecv(engine, 3, 7, first);
    let anybody = irecv(engine, None, 8, second);
    let pattern = Pattern {
        context: WITHOUT,
        ..from(None, 9)
    };
    // SAFETY: the word is kept until the request is over.
    let among_us = unsafe { engine.irecv(None, pattern, third.as_mut_ptr(), 8) }.unwrap();
    for turn in 0..turns {
        for bytes in [8, 5000, 300_000] {
            let others: Vec<u32> = (0..3).filter(|&rank| rank != me).collect();
            let mut into = vec![vec![0; bytes]; others.len()];
            let out: Vec<u8> = data(turn + me as usize, bytes);
            let receives: Vec<Request> = others
                .iter()
                .zip(&mut into)
                .map(|(&rank, into)| irecv(engine, rank, 1, into))
                .collect();
            let sends: Vec<Request> = others
                .iter()
                .map(|&rank| isend(engine, rank, 1, &out, Mode::Standard))
                .collect();
            for request in receives.into_iter().chain(sends) {
                engine.wait(request).unwrap();
            }
            for (into, &rank) in into.iter().zip(&others) {
                assert!(*into == data(turn + rank as usize, bytes), "{rank} to {me}");
            }
        }
    }
    for request in [named, anybody] {
        let error = engine.wait(request).unwrap_err();
        let fault = error.fault();
        let names = |peer: &u32| *peer == 3;
        assert!(
            matches!(fault, Fault::Protocol { peer, .. } | Fault::Unreachable { peer, .. } if names(peer)),
            "{error}"
        );
    }
    // It goes on, and ends by a message of one of us.
    let word = u64::from(me).to_le_bytes();
    let envelope = Envelope {
        context: WITHOUT,
        ..envelope(me, 9, 8)
    };
    // SAFETY: the word lives until the call returns, and the call waits.
    unsafe { engine.send((me + 1) % 3, envelope, word.as_ptr(), Mode::Standard) }.unwrap();
    assert_eq!(engine.wait(among_us).unwrap().source, (me + 2) % 3);
    recv(engine, 3, 2, &mut [0; 8]).unwrap_err();
}
