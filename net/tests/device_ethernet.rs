//! The Ethernet device between two hosts made for the test: frames of all lengths, the filter, full
//! rings, sleeping, a pulled cable, IP beside it.

mod pair;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::device::ethernet::{self, EthernetError, Interface};
use oxmpi_net::device::{Address, Batch, Channel, Device, Ethernet};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind, LENGTH_OFFSET};
use pair::{INTERFACE, Pair, ip};

/// An end of a conversation: the device, and what others must know to reach it.
struct End {
    device: Ethernet,
    channel: Channel,
    node: u32,
}

impl End {
    fn open(pair: &Pair, host: usize, node: u32) -> End {
        pair.on(host, move || {
            let index = Interface::named(INTERFACE).unwrap().index;
            let channel = Channel::claim(index).unwrap();
            let device = Ethernet::open(INTERFACE, &channel, node).unwrap();
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

    /// A frame for this end, whose payload tells its number and place.
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

/// The frames as a batch, each in pieces of at most `piece` bytes.
fn batch(frames: &[Vec<u8>], piece: usize) -> Batch {
    let mut batch = Batch::new();
    for frame in frames {
        for piece in frame.chunks(piece) {
            // SAFETY: the frames outlive the batch in every test.
            unsafe { batch.push(piece.as_ptr(), piece.len()) };
        }
        batch.end_frame();
    }
    batch
}

fn send(from: &mut End, to: Address, frames: &[Vec<u8>], piece: usize) {
    let sent = from.device.send(&to, &batch(frames, piece)).unwrap();
    assert_eq!(sent, frames.len());
}

/// Sends all frames and takes them on the other side.
fn carry(from: &mut End, to: &mut End, frames: &[Vec<u8>], piece: usize) {
    let address = to.address();
    send(from, address, frames, piece);
    for (number, expected) in frames.iter().enumerate() {
        assert!(to.next() == *expected, "frame {number} differs");
        assert_eq!(to.device.sender(), from.address());
    }
    assert!(!to.device.poll());
}

#[test]
fn frames_of_all_lengths_go_to_and_fro() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 3), End::open(&pair, 1, 500_000));
    assert_eq!(one.device.frame_bytes_max(), 1500);
    assert_eq!(one.device.room(), 4096);
    for round in 0..300 {
        let payloads = [0, 1, 8, 1460, round, 1000 + round];
        let frames: Vec<Vec<u8>> = payloads
            .iter()
            .enumerate()
            .map(|(number, bytes)| other.frame(number + round, *bytes))
            .collect();
        carry(
            &mut one,
            &mut other,
            &frames[..1 + round % 6],
            1 + 7 * round,
        );
        let answer = [one.frame(round, round)];
        carry(&mut other, &mut one, &answer, usize::MAX);
    }
}

#[test]
fn batches_leave_in_few_calls() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let frames: Vec<Vec<u8>> = (0..130).map(|number| other.frame(number, 1460)).collect();
    carry(&mut one, &mut other, &frames, 700);
    assert_eq!(one.device.counters().sends, 3);
    let counters = other.device.counters();
    assert_eq!((counters.frames_in, counters.bytes_in), (130, 130 * 1500));
    assert_eq!(counters.receives, 0);
    // More pieces than the kernel takes, first, in the middle and last.
    let longest = other.frame(0, 1460);
    let frames = [longest.clone(), other.frame(1, 30), longest];
    carry(&mut one, &mut other, &frames, 1);
}

#[test]
fn jumbo_frames_are_used_where_the_interface_has_them() {
    let Some(pair) = Pair::new(9000) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    assert_eq!(one.device.frame_bytes_max(), 9000);
    let frames: Vec<Vec<u8>> = (0..200)
        .map(|number| other.frame(number, 8960 - number % 3))
        .collect();
    carry(&mut one, &mut other, &frames, 4096);
    let longer = [other.frame(0, 8961 + 4)];
    let error = one.device.send(&other.address(), &batch(&longer, 9999));
    assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
}

/// Cards pad frames to 60 bytes: what lies behind a frame's own end is not part of it, and a frame
/// that claims more than there is stays as it came.
#[test]
fn frames_end_where_they_say() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let mut padded = other.frame(0, 3);
    padded.resize(46, 0xee);
    let mut cut = other.frame(1, 500);
    cut.truncate(100);
    let mut nonsense = other.frame(2, 0);
    nonsense[LENGTH_OFFSET..LENGTH_OFFSET + 2].fill(0xff);
    let short = other.frame(3, 0)[..8].to_vec();
    let address = other.address();
    let frames = [padded, cut, nonsense, short];
    send(&mut one, address, &frames, usize::MAX);
    assert_eq!(other.next(), &frames[0][..43]);
    for frame in &frames[1..] {
        assert_eq!(other.next(), frame);
    }
}

#[test]
fn frames_of_others_never_show_up() {
    let Some(pair) = Pair::new(1500) else { return };
    let mut one = End::open(&pair, 0, 0);
    // Two ranks of one host, and a rank of another job with the same number.
    let mut others = [1, 2, 1].map(|node| End::open(&pair, 1, node));
    let channels: Vec<u16> = others.iter().map(|end| end.channel.number()).collect();
    assert_eq!(channels, [1, 2, 3]);
    let address = others[0].address();
    let strange = |channel, node| frame(channel, node, 0, 10);
    for _ in 0..100 {
        let strangers = [
            strange(1, 2),
            strange(2, 1),
            strange(7, 1),
            strange(0x0100, 1),
        ];
        send(&mut one, address, &strangers, usize::MAX);
    }
    // Frames for another card, as a promiscuous one would show them, and for all.
    let ours = [others[0].frame(0, 10)];
    send(&mut one, Address::Ethernet([2, 0, 0, 0, 0, 9]), &ours, 99);
    send(&mut one, Address::Ethernet([0xff; 6]), &ours, 99);
    for (number, end) in others.iter_mut().enumerate() {
        let frames: Vec<Vec<u8>> = (0..5)
            .map(|place| end.frame(place + 10 * number, 30))
            .collect();
        carry(&mut one, end, &frames, usize::MAX);
    }
    for end in &mut others {
        assert!(!end.device.poll());
        assert_eq!(end.device.counters().frames_in, 5);
    }
}

#[test]
fn what_waits_is_seen_and_what_overflows_is_counted() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    assert_eq!(other.device.backlog(64), 0);
    let address = other.address();
    let mut sent = 0;
    let mut send_more = |other: &End| {
        let frames: Vec<Vec<u8>> = (sent..sent + 100).map(|n| other.frame(n, 100)).collect();
        send(&mut one, address, &frames, usize::MAX);
        sent += 100;
        thread::sleep(Duration::from_millis(1));
    };
    send_more(&other);
    let begun = Instant::now();
    while other.device.backlog(100) < 100 {
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
    assert_eq!(other.device.backlog(64), 64);
    let about = other.device.backlog(1000);
    assert!((50..=100).contains(&about), "{about}");
    while other.device.counters().overruns == 0 {
        assert!(begun.elapsed() < Duration::from_secs(300));
        send_more(&other);
    }
    assert_eq!(other.device.backlog(usize::MAX), 4096);
    // The kernel's own queues may have lost some before the ring did, but none twice and none out
    // of order.
    let mut last = None;
    for _ in 0..4096 {
        let (frame, _) = Frame::parse(other.next()).unwrap();
        assert!(last < Some(frame.sequence), "{last:?}, {frame:?}");
        last = Some(frame.sequence);
    }
    assert!(!other.device.poll());
    assert_eq!(other.device.backlog(1000), 0);
    // The ring goes on where it stopped, and its losses are counted once.
    let overruns = other.device.counters().overruns;
    let more = [other.frame(1, 7)];
    carry(&mut one, &mut other, &more, usize::MAX);
    assert_eq!(other.device.counters().overruns, overruns);
}

#[test]
fn the_descriptor_wakes_a_sleeper() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let mut look = libc::pollfd {
        fd: other.device.fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut readable = |milliseconds| {
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut look, 1, milliseconds) == 1 }
    };
    let frames = [other.frame(0, 8), other.frame(1, 8)];
    let address = other.address();
    for _ in 0..3 {
        assert!(!other.device.poll() && other.device.prepare_sleep());
        assert!(!readable(0));
        send(&mut one, address, &frames, usize::MAX);
        assert!(readable(5000));
        other.next();
        assert!(!other.device.prepare_sleep(), "a second frame waits");
        other.next();
        // The frame shown is given back, or the kernel would say that there is one.
        assert!(other.device.prepare_sleep());
        assert!(other.device.frame().is_empty());
    }
}

#[test]
fn a_cable_pulled_and_put_back() {
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let frames = [other.frame(0, 8)];
    carry(&mut one, &mut other, &frames, usize::MAX);
    let set = |state: &str| {
        let line = format!("link set {INTERFACE} {state}");
        pair.on(0, move || ip(&[&line])).unwrap();
    };
    set("down");
    let gone = one.device.send(&other.address(), &batch(&frames, 99));
    assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ENETDOWN));
    // Whoever sleeps is not woken over and over by the error that this leaves behind.
    assert!(one.device.prepare_sleep());
    let mut look = libc::pollfd {
        fd: one.device.fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, as said.
    assert_eq!(unsafe { libc::poll(&mut look, 1, 0) }, 0);
    set("up");
    carry(&mut one, &mut other, &frames, usize::MAX);
    let back = [one.frame(1, 8)];
    carry(&mut other, &mut one, &back, usize::MAX);
}

/// Sends a frame until it arrives, and says how often it had to be repeated: a host's queues may
/// overflow when there is so much else.
fn get_through(from: &mut End, to: &mut End, address: Address, frame: &[Vec<u8>; 1]) -> u64 {
    for repeats in 0..100 {
        send(from, address, frame, usize::MAX);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            if to.device.poll() {
                assert!(to.device.frame() == frame[0]);
                return repeats;
            }
            thread::yield_now();
        }
    }
    panic!("no frame gets through beside IP");
}

/// A TCP stream and a flood of datagrams run beside frames on the same interface: every byte of the
/// stream arrives, datagrams are echoed, frames are answered, and nothing but frames has entered
/// the ring.
#[test]
fn ip_beside_it_is_undisturbed() {
    const STREAM_BYTES: usize = 64 << 20;
    let Some(pair) = Pair::new(1500) else { return };
    let (mut one, mut other) = (End::open(&pair, 0, 0), End::open(&pair, 1, 1));
    let listener = pair.on(1, || TcpListener::bind("10.77.0.2:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let mut stream = pair.on(0, move || TcpStream::connect(("10.77.0.2", port)).unwrap());
    let flood = [0, 1].map(|host| {
        pair.on(host, move || {
            let socket = UdpSocket::bind(format!("10.77.0.{}:7", host + 1)).unwrap();
            let pause = Some(Duration::from_millis(50));
            socket.set_read_timeout(pause).unwrap();
            socket
        })
    });
    let done = AtomicBool::new(false);
    let byte = |place: usize| (place * 7 / 5) as u8;
    thread::scope(|scope| {
        let [pinger, echoer] = flood;
        scope.spawn(move || {
            let bytes: Vec<u8> = (0..STREAM_BYTES).map(byte).collect();
            stream.write_all(&bytes).unwrap();
        });
        let reader = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::with_capacity(STREAM_BYTES);
            stream.read_to_end(&mut bytes).unwrap();
            done.store(true, Ordering::Release);
            bytes
        });
        let finished = || done.load(Ordering::Acquire);
        scope.spawn(move || {
            let mut bytes = [0; 64];
            while !finished() {
                if let Ok((length, from)) = echoer.recv_from(&mut bytes) {
                    echoer.send_to(&bytes[..length], from).unwrap();
                }
            }
        });
        let pings = scope.spawn(move || {
            let mut echoes = 0;
            while !finished() {
                pinger.send_to(&[1; 56], "10.77.0.2:7").unwrap();
                echoes += usize::from(pinger.recv(&mut [0; 64]).is_ok());
            }
            echoes
        });
        let (there, back) = (other.address(), one.address());
        let (question, answer) = ([other.frame(1, 1000)], [one.frame(2, 1000)]);
        let (mut rounds, mut repeats) = (0, 0);
        while !finished() || rounds < 10 {
            repeats += get_through(&mut one, &mut other, there, &question);
            repeats += get_through(&mut other, &mut one, back, &answer);
            rounds += 1;
        }
        let bytes = reader.join().unwrap();
        assert_eq!(bytes.len(), STREAM_BYTES);
        assert!((0..STREAM_BYTES).all(|place| bytes[place] == byte(place)));
        for end in [&one, &other] {
            let frames_in = end.device.counters().frames_in;
            assert!((rounds..=rounds + repeats).contains(&frames_in));
        }
        let echoes = pings.join().unwrap();
        assert!(echoes > 0);
        println!(
            "beside {STREAM_BYTES} bytes by TCP: {rounds} frames and {echoes} datagrams to and fro"
        );
    });
}

#[test]
fn interfaces_that_cannot_are_refused_by_name() {
    let Some(pair) = Pair::new(1400) else { return };
    pair.on(0, || {
        let eth0 = Interface::named(INTERFACE).unwrap();
        assert!(eth0.is_suitable() && eth0.mtu == 1400, "{eth0:?}");
        let lo = Interface::named("lo").unwrap();
        assert_eq!(ethernet::interfaces().unwrap(), [lo.clone(), eth0.clone()]);
        let open = |name: &str, index| {
            let channel = Channel::claim(index).unwrap();
            let error = Ethernet::open(name, &channel, 0).err();
            error.expect("an error").to_string()
        };
        assert_eq!(
            open("lo", lo.index),
            "interface lo carries no Ethernet frames (it is a loopback, a tunnel or a device of another kind); name an Ethernet card or use OXMPI_NET=udp"
        );
        assert_eq!(
            open("eth1", 99),
            "there is no network interface \"eth1\" here (there is lo, eth0)"
        );
        ip(&[&format!("link set {INTERFACE} down")]).unwrap();
        assert_eq!(
            open(INTERFACE, eth0.index),
            "interface eth0 is down or has no carrier; `ip link set eth0 up` may help"
        );
    });
}

/// A thread may give up its capabilities for itself; the rest of the test keeps them.
#[test]
fn without_the_capability_it_is_named() {
    #[repr(C)]
    struct Header(u32, i32);
    const VERSION_3: u32 = 0x2008_0522;
    let refused = thread::spawn(|| {
        let (header, none) = (Header(VERSION_3, 0), [0u32; 6]);
        // SAFETY: both are as capset(2) wants them, and the kernel only reads the second.
        let outcome =
            unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
        assert_eq!(outcome, 0);
        ethernet::permitted()
    });
    let Err(error @ EthernetError::NotPermitted { .. }) = refused.join().unwrap() else {
        panic!("a packet socket without any capability");
    };
    let text = error.to_string();
    assert!(
        text.contains("CAP_NET_RAW") && text.contains("sudo setcap cap_net_raw+ep /"),
        "{text}"
    );
}
