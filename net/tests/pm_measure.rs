//! What the endpoint adds to bare datagrams, for who wants to know: `cargo test --release -p
//! oxmpi-net --test pm_measure -- --ignored --nocapture --test-threads 1`.
//!
//! Two threads, the loopback interface with frames of Ethernet's size, a ratio in one run.

#[allow(dead_code, reason = "other tests use the rest")]
mod pm_world;

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Instant;

use oxmpi_net::device::udp::Families;
use oxmpi_net::device::{Address, Batch, Device, Udp};
use oxmpi_net::transport::{Event, Sent};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use pm_world::{Node, Plan, job};

const ROUNDS: u32 = 100_000;
const REPEATS: usize = 5;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds one way.
fn bare_ping_pong() -> f64 {
    let bind = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    let (one, two) = (bind(), bind());
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    let receive = |socket: &UdpSocket| {
        let mut buffer = [0; 128];
        while socket.recv(&mut buffer).is_err() {}
    };
    let other = thread::spawn(move || {
        for _ in 0..ROUNDS {
            receive(&two);
            two.send(&[0; 88]).unwrap();
        }
    });
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        one.send(&[0; 88]).unwrap();
        receive(&one);
    }
    let nanoseconds = begin.elapsed().as_nanos() as f64;
    other.join().unwrap();
    nanoseconds / f64::from(2 * ROUNDS)
}

fn receive(node: &mut Node) {
    while node.arrived.is_empty() {
        node.look();
    }
    node.arrived.pop_front();
}

fn pm_ping_pong() -> f64 {
    let mut nodes = job(&Plan::default());
    let (mut two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    let other = thread::spawn(move || {
        for _ in 0..ROUNDS {
            receive(&mut two);
            assert_eq!(two.send(0, 0, &[0; 8]), Sent::Left);
        }
        for _ in 0..100_000 {
            two.look();
        }
        two.pm.counters()
    });
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        assert_eq!(one.send(1, 0, &[0; 8]), Sent::Left);
        receive(&mut one);
    }
    let nanoseconds = begin.elapsed().as_nanos() as f64;
    for _ in 0..10_000 {
        one.look();
    }
    let counters = other.join().unwrap();
    println!("  {:?}", counters.link);
    nanoseconds / f64::from(2 * ROUNDS)
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test pm_measure -- --ignored --nocapture"]
fn ping_pong_of_8_bytes() {
    let mut ratios = Vec::new();
    for _ in 0..REPEATS {
        let (bare, pm) = (bare_ping_pong(), pm_ping_pong());
        println!("bare {bare:.0} ns, pm {pm:.0} ns one way: {:.2}", pm / bare);
        ratios.push(pm / bare);
    }
    println!("8 B: {:.2} x bare datagrams", median(ratios));
}

/// The least nanoseconds of many short series: what it costs when nobody else wants the CPU.
fn least(mut series: impl FnMut(u32)) -> f64 {
    const LENGTH: u32 = 200;
    let times = (0..2000).map(|_| {
        let begin = Instant::now();
        series(LENGTH);
        begin.elapsed().as_nanos() as f64 / f64::from(2 * LENGTH)
    });
    times.fold(f64::MAX, f64::min)
}

/// Both ends in one thread: the CPU time of a message, calls of the kernel and all, even on a busy
/// machine.
#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test pm_measure -- --ignored --nocapture"]
fn cost_of_8_bytes() {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (one, two) = (bind(), bind());
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    let bare = least(|rounds| {
        let mut buffer = [0; 128];
        for _ in 0..rounds {
            one.send(&[0; 88]).unwrap();
            two.recv(&mut buffer).unwrap();
            two.send(&[0; 88]).unwrap();
            one.recv(&mut buffer).unwrap();
        }
    });
    let mut nodes = job(&Plan::default());
    let (mut two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    let pm = least(|rounds| {
        for _ in 0..rounds {
            one.send(1, 0, &[0; 8]);
            take(&mut two);
            two.send(0, 0, &[0; 8]);
            take(&mut one);
        }
    });
    println!("bare {bare:.0} ns, pm {pm:.0} ns for a message sent and received");
    println!("{:?}", one.pm.counters());
}

/// Takes one message as the engine does, which stops looking when it has what it awaits.
fn take(node: &mut Node) {
    loop {
        if let Some(Event::Packet { payload, .. }) = node.pm.poll() {
            assert_eq!(node.pm.at_hand().len(), payload);
            return node.pm.pass(payload);
        }
    }
}

/// A batch of full frames out of `payload`, all with the same header, which outlives the batch.
fn bare_batch(header: &[u8; FRAME_HEADER_BYTES], payload: &[u8], frames: usize) -> Batch {
    let bytes = payload.len() / frames;
    let mut batch = Batch::new();
    for piece in payload.chunks_exact(bytes).take(frames) {
        // SAFETY: the callers keep both until the batch has been sent.
        unsafe {
            batch.push(header.as_ptr(), header.len());
            batch.push(piece.as_ptr(), bytes);
        }
        batch.end_frame();
    }
    batch
}

/// The header that devices tell the lengths of frames by.
fn bare_header(payload_bytes: usize) -> [u8; FRAME_HEADER_BYTES] {
    let frame = Frame {
        kind: Kind::Data,
        channel: 0,
        to: 0,
        name: 0,
        length: payload_bytes as u16,
        flags: 0,
        sequence: 0,
        ack: 0,
        serial: 0,
        crc: 0,
        tag: 0,
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    frame.emit(&mut header);
    header
}

/// The same for long messages: CPU time per byte, both ends together.
#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test pm_measure -- --ignored --nocapture"]
fn cost_of_long_messages() {
    bare_cost_of_long_messages();
    cost_of_messages_of(64 << 10, 3000);
    cost_of_messages_of(MESSAGE_BYTES, 300);
}

fn bare_cost_of_long_messages() {
    let mut one = Udp::bind(0, 1500, Families::V4).unwrap();
    let mut two = Udp::bind(0, 1500, Families::V4).unwrap();
    let to_two = Address::Udp(SocketAddr::from(([127, 0, 0, 1], two.port())));
    let frame_bytes = one.frame_bytes_max();
    let header = bare_header(frame_bytes - FRAME_HEADER_BYTES);
    let per_batch = one.batch_max().0.min(one.batch_max().1 / frame_bytes);
    let payload = vec![7u8; MESSAGE_BYTES];
    let mut landing = vec![0u8; MESSAGE_BYTES];
    let mut fastest = f64::MAX;
    for _ in 0..5000 {
        let begin = Instant::now();
        let carried = per_batch * (frame_bytes - FRAME_HEADER_BYTES);
        let batch = bare_batch(&header, &payload[..carried], per_batch);
        assert_eq!(one.send(&to_two, &batch).unwrap(), per_batch);
        let mut at = 0;
        while at < per_batch * frame_bytes {
            assert!(two.poll(), "loopback loses nothing");
            let frame = two.frame();
            landing[at..at + frame.len()].copy_from_slice(frame);
            at += frame.len();
        }
        fastest = fastest.min(begin.elapsed().as_nanos() as f64 / at as f64);
    }
    println!("bare {:.0} ns for 64 KiB", fastest * 65536.0);
}

fn cost_of_messages_of(bytes: usize, rounds: usize) {
    let payload = vec![7u8; bytes];
    let mut landing = vec![0u8; bytes];
    let mut nodes = job(&Plan::default());
    let (mut two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    let mut fastest = f64::MAX;
    for _ in 0..rounds {
        let begin = Instant::now();
        one.send_lasting(1, 0, &payload, 1);
        let mut at = 0;
        while at < bytes {
            while let Some(event) = two.pm.poll() {
                assert!(matches!(
                    event,
                    Event::Packet { .. } | Event::Payload { .. }
                ));
                let piece = two.pm.at_hand();
                let length = piece.len();
                landing[at..at + length].copy_from_slice(piece);
                at += length;
                two.pm.pass(length);
            }
            one.look();
        }
        fastest = fastest.min(begin.elapsed().as_nanos() as f64);
        while one.released.is_empty() {
            two.look();
            one.look();
        }
        one.released.clear();
    }
    let per_64k = fastest * 65536.0 / bytes as f64;
    println!("{bytes} B: pm {per_64k:.0} ns for 64 KiB");
    println!("  {:?}", one.pm.counters());
}

const STREAM_BYTES: usize = 1 << 30;
const MESSAGE_BYTES: usize = 1 << 20;

/// GB/s of frames in batches, with no protocol but a credit for each batch.
fn bare_stream() -> f64 {
    let mut one = Udp::bind(0, 1500, Families::V4).unwrap();
    let mut two = Udp::bind(0, 1500, Families::V4).unwrap();
    let at = |udp: &Udp| Address::Udp(SocketAddr::from(([127, 0, 0, 1], udp.port())));
    let (to_one, to_two) = (at(&one), at(&two));
    let frame_bytes = one.frame_bytes_max();
    let header = bare_header(frame_bytes - FRAME_HEADER_BYTES);
    let per_batch = one.batch_max().0.min(one.batch_max().1 / frame_bytes);
    let batches = STREAM_BYTES / (per_batch * frame_bytes);
    let payload = vec![7u8; MESSAGE_BYTES];
    let other = thread::spawn(move || {
        let mut landing = vec![0u8; frame_bytes];
        let (mut frames, mut credits) = (0, 0);
        while frames < batches * per_batch {
            if two.poll() {
                landing[..two.frame().len()].copy_from_slice(two.frame());
                frames += 1;
            } else if frames / per_batch > credits {
                credits = frames / per_batch;
                let word = credits.to_le_bytes();
                let header = bare_header(word.len());
                let batch = bare_batch(&header, &word, 1);
                two.send(&to_one, &batch).unwrap();
            }
        }
    });
    let begin = Instant::now();
    let (mut sent, mut credits) = (0, 0);
    while !other.is_finished() && begin.elapsed().as_secs() < 20 {
        if one.poll() {
            credits = usize::from_le_bytes(*one.frame().last_chunk().unwrap());
        } else if sent < batches && sent - credits < 3 {
            let carried = per_batch * (frame_bytes - FRAME_HEADER_BYTES);
            let batch = bare_batch(&header, &payload[..carried], per_batch);
            one.send(&to_two, &batch).unwrap();
            sent += 1;
        }
    }
    assert!(
        other.is_finished(),
        "a datagram was lost, and nobody repeats it"
    );
    STREAM_BYTES as f64 / begin.elapsed().as_nanos() as f64
}

fn pm_stream(message_bytes: usize) -> f64 {
    let mut nodes = job(&Plan::default());
    let (mut two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    let count = STREAM_BYTES / message_bytes;
    let other = thread::spawn(move || {
        for _ in 0..count {
            receive(&mut two);
        }
        while two.send(0, 0, &[]) != Sent::Left {}
        for _ in 0..100_000 {
            two.look();
        }
        println!("  receiver {:?}", two.pm.counters().device);
    });
    let payload = vec![7u8; message_bytes];
    let begin = Instant::now();
    let (mut sent, mut released) = (0, 0);
    while sent < count {
        if sent - released < 64 && one.send_lasting(1, 0, &payload, 1) != Sent::Later {
            sent += 1;
        } else {
            one.look();
            released += one.released.len();
            one.released.clear();
        }
    }
    receive(&mut one);
    let rate = STREAM_BYTES as f64 / begin.elapsed().as_nanos() as f64;
    println!("  sender {:?}", one.pm.counters());
    other.join().unwrap();
    rate
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test pm_measure -- --ignored --nocapture"]
fn stream_of_long_messages() {
    for bytes in [64 << 10, MESSAGE_BYTES] {
        let mut ratios = Vec::new();
        for _ in 0..REPEATS {
            let (bare, pm) = (bare_stream(), pm_stream(bytes));
            println!(
                "{bytes} B: bare {bare:.2} GB/s, pm {pm:.2} GB/s: {:.2}",
                pm / bare
            );
            ratios.push(pm / bare);
        }
        println!("{bytes} B: {:.2} x bare datagrams", median(ratios));
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test pm_measure -- --ignored --nocapture"]
fn rate_of_8_bytes() {
    const COUNT: usize = 2_000_000;
    for _ in 0..REPEATS {
        let mut nodes = job(&Plan::default());
        let (mut two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
        let other = thread::spawn(move || {
            for _ in 0..COUNT {
                receive(&mut two);
            }
            two.send(0, 0, &[]);
            for _ in 0..100_000 {
                two.look();
            }
        });
        let begin = Instant::now();
        let mut sent = 0;
        while sent < COUNT {
            match one.send(1, 0, &[0; 8]) {
                Sent::Left => sent += 1,
                _ => _ = one.look(),
            }
        }
        receive(&mut one);
        let rate = COUNT as f64 / begin.elapsed().as_micros() as f64;
        println!("{rate:.2} million messages/s; {:?}", one.pm.counters());
        other.join().unwrap();
    }
}
