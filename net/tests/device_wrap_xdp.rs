//! AF_XDP between two hosts made for the test: frames to and fro, others' traffic beside it, and an
//! interface that is as before when the process is gone.

mod pair;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::device::ethernet::Interface;
use oxmpi_net::device::xdp::{self, XdpError};
use oxmpi_net::device::{Address, Batch, Channel, Device, Ethernet, Xdp};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use pair::{INTERFACE, Pair};

/// An end of a conversation: the device, and what others must know to reach it.
struct End {
    device: Xdp,
    channel: Channel,
    node: u32,
}

impl End {
    fn open(pair: &Pair, host: usize, node: u32) -> End {
        pair.on(host, move || {
            let channel = claim();
            let device = Xdp::open(INTERFACE, &channel, node).unwrap();
            End {
                device,
                channel,
                node,
            }
        })
    }

    fn address(&self) -> Address {
        Address::Ethernet(self.device.interface().mac)
    }

    fn frame(&self, number: usize, payload: usize) -> Vec<u8> {
        frame(self.channel.number(), self.node, number, payload)
    }

    /// The next frame, waited for.
    fn next(&mut self) -> &[u8] {
        let begun = Instant::now();
        while !self.device.poll() {
            let late = begun.elapsed() > Duration::from_secs(300);
            assert!(!late, "no frame came to {}", self.device.describe());
        }
        self.device.frame()
    }

    /// Whether a sleeper is woken within the time.
    fn is_woken(&self, milliseconds: i32) -> bool {
        let mut poll = libc::pollfd {
            fd: self.device.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one local.
        unsafe { libc::poll(&mut poll, 1, milliseconds) > 0 }
    }
}

fn claim() -> Channel {
    Channel::claim(Interface::named(INTERFACE).unwrap().index).unwrap()
}

fn frame(channel: u16, to: u32, number: usize, payload: usize) -> Vec<u8> {
    let frame = Frame {
        kind: Kind::Data,
        channel,
        to,
        name: 77,
        length: payload as u16,
        flags: 0,
        sequence: number as u32,
        ack: 0,
        serial: 0,
        crc: 0,
        tag: 0,
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    frame.emit(&mut header);
    let payload = (0..payload).map(|place| (number * 31 + place) as u8);
    header.into_iter().chain(payload).collect()
}

fn batch(frames: &[Vec<u8>]) -> Batch {
    let mut batch = Batch::new();
    for frame in frames {
        for piece in frame.chunks(700) {
            // SAFETY: the frames outlive the batch in every test.
            unsafe { batch.push(piece.as_ptr(), piece.len()) };
        }
        batch.end_frame();
    }
    batch
}

/// Sends all frames, as many at a time as there is room for, and takes them on the other side.
fn carry(from: &mut End, to: &mut End, frames: &[Vec<u8>]) {
    let address = to.address();
    let mut begin = 0;
    let mut came = 0;
    while came < frames.len() {
        let end = frames.len().min(begin + 64);
        if begin < end {
            let rest = batch(&frames[begin..end]);
            begin += from.device.send(&address, &rest).unwrap();
        }
        while came < begin {
            assert!(to.next() == frames[came], "frame {came} differs");
            assert_eq!(to.device.sender(), from.address());
            came += 1;
        }
    }
    assert!(!to.device.poll());
}

/// Whether a program is attached to the interface of this thread's network.
fn has_program() -> bool {
    let mut ip = Command::new("ip");
    let output = ip.args(["link", "show", INTERFACE]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("xdp")
}

/// Hosts on which AF_XDP can be had at all.
fn hosts(mtu: usize) -> Option<Pair> {
    match xdp::permitted() {
        Err(error @ (XdpError::NotPermitted { .. } | XdpError::NoXdpSockets { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        other => {
            other.unwrap();
            Pair::new(mtu)
        }
    }
}

#[test]
fn frames_of_all_lengths_go_to_and_fro() {
    let Some(pair) = hosts(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 3), End::open(&pair, 1, 0x8000_0001));
    assert_eq!(one.device.frame_bytes_max(), 1500);
    assert!(!one.device.is_zero_copy(), "a veth copies");
    for round in 0..300 {
        let payloads = [0, 1, 8, 1460, round, 1000 + round];
        let frames: Vec<Vec<u8>> = payloads
            .iter()
            .enumerate()
            .map(|(number, bytes)| other.frame(number + round, *bytes))
            .collect();
        carry(&mut one, &mut other, &frames[..1 + round % 6]);
        let answer = [one.frame(round, round)];
        carry(&mut other, &mut one, &answer);
    }
    // More than there are chunks, so that each is used again and again.
    let frames: Vec<Vec<u8>> = (0..20_000)
        .map(|number| other.frame(number, 1460))
        .collect();
    carry(&mut one, &mut other, &frames);
    let counters = other.device.counters();
    assert_eq!(counters.overruns, 0);
    assert!(counters.frames_in > 20_000);
    assert!(one.device.counters().sends < counters.frames_in);
    let longer = [other.frame(0, 1461)];
    let error = one.device.send(&other.address(), &batch(&longer));
    assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
}

#[test]
fn frames_on_wires_with_jumbo_frames_are_a_page_at_most() {
    let Some(pair) = hosts(9000) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let longest = one.device.frame_bytes_max();
    assert!((3000..4096).contains(&longest));
    let frames: Vec<Vec<u8>> = (0..200)
        .map(|number| other.frame(number, longest - FRAME_HEADER_BYTES - number % 3))
        .collect();
    carry(&mut one, &mut other, &frames);
}

#[test]
fn who_waits_is_woken_and_what_nobody_takes_is_counted() {
    let Some(pair) = hosts(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    assert!(other.device.prepare_sleep() && !other.is_woken(0));
    let address = other.address();
    let frames = [other.frame(7, 100)];
    one.device.send(&address, &batch(&frames)).unwrap();
    assert!(other.is_woken(5000));
    assert!(!other.device.prepare_sleep());
    assert_eq!(other.device.backlog(9), 1);
    assert_eq!(other.next(), frames[0]);
    assert!(!other.device.poll() && other.device.prepare_sleep());

    let many: Vec<Vec<u8>> = (0..64).map(|number| other.frame(number, 8)).collect();
    for _ in 0..other.device.room() / 64 + 4 {
        while one.device.send(&address, &batch(&many)).unwrap() < 64 {}
    }
    assert_eq!(other.device.backlog(usize::MAX), other.device.room());
    assert!(other.device.counters().overruns > 0);
}

/// IP on the same interface, and frames of other channels and nodes, which a packet socket on the
/// same interface still gets.
#[test]
fn everything_else_passes() {
    let Some(pair) = hosts(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let mut beside = pair.on(1, || {
        let channel = claim();
        let device = Ethernet::open(INTERFACE, &channel, 2).unwrap();
        (device, channel)
    });
    let listener = pair.on(1, || TcpListener::bind("10.77.0.2:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let sender = pair.on(0, move || TcpStream::connect(("10.77.0.2", port)).unwrap());
    let (mut receiver, _) = listener.accept().unwrap();
    const STREAM_BYTES: usize = 20 << 20;
    let stream = thread::spawn(move || {
        let mut sender = sender;
        sender.write_all(&vec![0xA5; STREAM_BYTES]).unwrap();
    });
    let reader = thread::spawn(move || {
        let mut content = Vec::new();
        receiver.read_to_end(&mut content).unwrap();
        content
    });
    let address = other.address();
    let mut rounds = 0;
    while !stream.is_finished() || rounds < 200 {
        let strangers = [
            frame(beside.1.number(), 2, rounds, 20),
            frame(other.channel.number(), 9, 0, 20),
            frame(77, 1, 0, 20),
        ];
        one.device.send(&address, &batch(&strangers)).unwrap();
        let ours = [other.frame(rounds, 1000)];
        carry(&mut one, &mut other, &ours);
        while !beside.0.poll() {}
        assert_eq!(beside.0.frame(), strangers[0]);
        rounds += 1;
    }
    stream.join().unwrap();
    let content = reader.join().unwrap();
    assert!(content.len() == STREAM_BYTES && content.iter().all(|byte| *byte == 0xA5));
}

#[test]
fn an_interface_has_one_owner_and_is_free_when_that_is_gone() {
    let Some(pair) = hosts(1500) else { return };
    let first = End::open(&pair, 0, 0);
    assert!(pair.on(0, has_program));
    let error = pair.on(0, || Xdp::open(INTERFACE, &claim(), 1).err().unwrap());
    assert!(matches!(error, XdpError::Busy { .. }), "{error}");
    drop(first);
    assert!(!pair.on(0, has_program));
    drop(End::open(&pair, 0, 0));

    let missing = pair.on(0, || {
        let channel = claim();
        Xdp::open("oxnone0", &channel, 1).err().unwrap()
    });
    assert!(
        missing
            .to_string()
            .starts_with("there is no network interface")
    );
}

/// Run by the next test in a process of its own, which is then killed.
const HOLDER: &str = "OXMPI_TEST_XDP_HOLDER";

#[test]
fn hold_an_interface() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    let channel = claim();
    let _device = Xdp::open(INTERFACE, &channel, 1).unwrap();
    println!("\nholding");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let Some(pair) = hosts(1500) else { return };
    // A process belongs to the network of the thread that starts it.
    let mut holder = pair.on(0, || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hold_an_interface", "--nocapture"])
            .env(HOLDER, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let output = BufReader::new(holder.stdout.take().unwrap());
    let holds = output.lines().any(|line| line.unwrap() == "holding");
    assert!(holds && pair.on(0, has_program));
    holder.kill().unwrap();
    holder.wait().unwrap();
    // The kernel detaches a moment later; opening waits for that.
    let mut next = End::open(&pair, 0, 0);
    let mut other = End::open(&pair, 1, 1);
    let frames = [next.frame(1, 10)];
    carry(&mut other, &mut next, &frames);
    drop(next);
    assert!(!pair.on(0, has_program));
}

/// Not a test of speed; what is printed says whether the way is as short as it should be, beside
/// that of a packet socket.
#[test]
fn ping_pong() {
    let Some(pair) = hosts(1500) else { return };
    let ends = [End::open(&pair, 0, 0), End::open(&pair, 1, 1)];
    let channels = [0, 1].map(|end| ends[end].channel.number());
    let addresses = [0, 1].map(|end| ends[end].address());
    let xdp = one_way(ends.map(|end| end.device), addresses, channels);
    let ends = [0, 1].map(|host| {
        pair.on(host, move || {
            let channel = claim();
            let device = Ethernet::open(INTERFACE, &channel, host as u32).unwrap();
            (device, channel)
        })
    });
    let channels = [0, 1].map(|end| ends[end].1.number());
    let packets = one_way(ends.map(|end| end.0), addresses, channels);
    println!("one way, both sides by one thread: AF_XDP {xdp:?}, packet socket {packets:?}");
}

/// The median half round trip between nodes 0 and 1.
fn one_way(mut devices: [impl Device; 2], addresses: [Address; 2], channels: [u16; 2]) -> Duration {
    let frames = [0, 1].map(|node| [frame(channels[node], node as u32, 0, 8)]);
    let mut halves: Vec<Duration> = (0..5000)
        .map(|_| {
            let begun = Instant::now();
            for (from, to) in [(0, 1), (1, 0)] {
                let sent = devices[from].send(&addresses[to], &batch(&frames[to]));
                assert_eq!(sent.unwrap(), 1);
                while !devices[to].poll() {}
            }
            begun.elapsed() / 2
        })
        .collect();
    halves.sort_unstable();
    halves[halves.len() / 2]
}
