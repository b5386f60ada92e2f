//! What the devices themselves cost: a bare ping-pong and a bare stream through `dyn Device`,
//! without `link`, beside plain sockets in the same run.
//!
//! `cargo test --release -p oxmpi-net --test device_measure -- --ignored --nocapture`

mod pair;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::device::ethernet::Interface;
use oxmpi_net::device::udp::Families;
use oxmpi_net::device::{Address, Batch, Channel, Device, Ethernet, Udp};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use pair::{INTERFACE, Pair};

const ROUNDS: usize = 30_000;
const STREAM_FRAMES: usize = 200_000;
/// Frames on their way at once: as many as no buffer minds.
const AHEAD_MAX: usize = 512;

fn pin(core: usize) {
    // SAFETY: an empty set, one bit set in it, and its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn header(channel: u16, to: u32, payload: usize) -> [u8; FRAME_HEADER_BYTES] {
    let frame = Frame {
        kind: Kind::Data,
        channel,
        to,
        name: 0,
        length: payload as u16,
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

/// Half of the median round trip, and of the best, in ns.
fn half(mut trips: Vec<Duration>) -> (u128, u128) {
    trips.sort_unstable();
    (
        trips[trips.len() / 2].as_nanos() / 2,
        trips[trips.len() / 100].as_nanos() / 2,
    )
}

/// Plays ping-pong between two threads on two cores; a side waits for the ball and hits it back.
fn ping_pong(
    pair: &Pair,
    mut hit: impl FnMut() + Send,
    mut wait: impl FnMut() + Send,
    mut hit_back: impl FnMut() + Send,
    mut wait_there: impl FnMut() + Send,
) -> (u128, u128) {
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(1);
            pair.enter(1);
            for _ in 0..ROUNDS {
                wait_there();
                hit_back();
            }
        });
        let trips = scope.spawn(move || {
            pin(0);
            pair.enter(0);
            let mut trips = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                let begun = Instant::now();
                hit();
                wait();
                trips.push(begun.elapsed());
            }
            trips
        });
        half(trips.join().unwrap())
    })
}

/// A device, and where its frames go.
struct Side {
    device: std::cell::UnsafeCell<Box<dyn Device>>,
    to: Address,
    frame: Vec<u8>,
    /// One frame, made beforehand: what is measured is the device.
    ball: Batch,
}

// SAFETY: hit and wait of one side are called by one thread, in turn.
unsafe impl Sync for Side {}

impl Side {
    fn new(device: impl Device + 'static, to: Address, channel: u16, payload: usize) -> Side {
        let mut frame = header(channel, 1, payload).to_vec();
        frame.resize(FRAME_HEADER_BYTES + payload, 7);
        let mut side = Side {
            device: std::cell::UnsafeCell::new(Box::new(device)),
            to,
            frame,
            ball: Batch::new(),
        };
        side.ball = side.batch(1);
        side
    }

    #[allow(clippy::mut_from_ref)]
    fn device(&self) -> &mut dyn Device {
        // SAFETY: a side belongs to one thread, which holds one such reference at a time.
        unsafe { (*self.device.get()).as_mut() }
    }

    /// Header and payload are pieces of their own, as they are in use.
    fn batch(&self, frames: usize) -> Batch {
        let mut batch = Batch::new();
        let (header, payload) = self.frame.split_at(FRAME_HEADER_BYTES);
        for _ in 0..frames {
            for piece in [header, payload] {
                // SAFETY: the frame lives as long as the side, and is not changed.
                unsafe { batch.push(piece.as_ptr(), piece.len()) };
            }
            batch.end_frame();
        }
        batch
    }

    fn hit(&self) {
        assert_eq!(self.device().send(&self.to, &self.ball).unwrap(), 1);
    }

    fn wait(&self) {
        while !self.device().poll() {
            std::hint::spin_loop();
        }
        assert_eq!(self.device().frame().len(), self.frame.len());
    }
}

fn measure(pair: &Pair, name: &str, one: &Side, other: &Side) {
    let (median, best) = ping_pong(
        pair,
        || one.hit(),
        || one.wait(),
        || other.hit(),
        || other.wait(),
    );
    println!(
        "{name}, {} bytes of frame: half round trip {median} ns (best hundredth {best})",
        one.frame.len()
    );
}

/// Frames of full length one way; credits through memory, as if acknowledgements cost nothing.
fn stream(pair: &Pair, name: &str, one: &Side, other: &Side) {
    let taken = AtomicUsize::new(0);
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            pair.enter(1);
            let mut count = 0;
            let mut silent = Instant::now();
            while count < STREAM_FRAMES {
                if other.device().poll() {
                    std::hint::black_box(other.device().frame());
                    count += 1;
                    taken.store(count, Ordering::Release);
                    silent = Instant::now();
                } else if silent.elapsed() > Duration::from_secs(1) {
                    println!("{name}: {} frames lost", STREAM_FRAMES - count);
                    taken.store(STREAM_FRAMES, Ordering::Release);
                    break;
                }
            }
        });
        scope.spawn(|| {
            pin(0);
            pair.enter(0);
            let (frames, bytes) = one.device().batch_max();
            let batch = one.batch(frames.min(bytes / one.frame.len()));
            let mut sent = 0;
            while sent < STREAM_FRAMES {
                if sent < taken.load(Ordering::Acquire) + AHEAD_MAX {
                    sent += one.device().send(&one.to, &batch).unwrap();
                }
            }
        });
    });
    let bytes = STREAM_FRAMES * one.frame.len();
    let rate = bytes as f64 / begun.elapsed().as_secs_f64() / 1e9;
    println!("{name}, {} bytes of frame: {rate:.2} GB/s", one.frame.len());
}

fn ethernet(pair: &Pair, payload: usize) -> [Side; 2] {
    let [one, other] = [0, 1].map(|host| {
        pair.on(host, || {
            let channel = Channel::claim(Interface::named(INTERFACE).unwrap().index).unwrap();
            let device = Ethernet::open(INTERFACE, &channel, 1).unwrap();
            (device, channel.number())
        })
    });
    let addresses = [&one, &other].map(|end| Address::Ethernet(end.0.interface().mac));
    let channels = [one.1, other.1];
    [
        Side::new(one.0, addresses[1], channels[1], payload),
        Side::new(other.0, addresses[0], channels[0], payload),
    ]
}

fn udp(pair: &Pair, families: Families, payload: usize) -> [Side; 2] {
    let [one, other] =
        [0, 1].map(|host| pair.on(host, move || Udp::bind(0, 1500, families).unwrap()));
    let address = |host: u8, device: &Udp| Address::Udp(([10, 77, 0, host], device.port()).into());
    let (to_one, to_other) = (address(1, &one), address(2, &other));
    [
        Side::new(one, to_other, 1, payload),
        Side::new(other, to_one, 1, payload),
    ]
}

/// Plain connected sockets that look again and again: the floor.
fn bare_udp(pair: &Pair, bytes: usize) {
    let sockets = [0, 1].map(|host| {
        pair.on(host, move || {
            UdpSocket::bind(format!("10.77.0.{}:5000", host + 1)).unwrap()
        })
    });
    sockets[0].connect("10.77.0.2:5000").unwrap();
    sockets[1].connect("10.77.0.1:5000").unwrap();
    let hit = |socket: &UdpSocket| assert_eq!(socket.send(&[7; 2048][..bytes]).unwrap(), bytes);
    let wait = |socket: &UdpSocket| while socket.recv(&mut [0; 2048]).is_err() {};
    for socket in &sockets {
        socket.set_nonblocking(true).unwrap();
    }
    let (median, best) = ping_pong(
        pair,
        || hit(&sockets[0]),
        || wait(&sockets[0]),
        || hit(&sockets[1]),
        || wait(&sockets[1]),
    );
    println!(
        "bare connected UDP, {bytes} bytes: half round trip {median} ns (best hundredth {best})"
    );
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-net --test device_measure -- --ignored --nocapture"]
fn what_devices_cost() {
    let Some(pair) = Pair::new(1500) else { return };
    for payload in [8, 1024] {
        bare_udp(&pair, FRAME_HEADER_BYTES + payload);
        let [one, other] = udp(&pair, Families::V4, payload);
        measure(&pair, "UDP (IPv4)", &one, &other);
        let [one, other] = udp(&pair, Families::Both, payload);
        measure(&pair, "UDP (both)", &one, &other);
        let [one, other] = ethernet(&pair, payload);
        measure(&pair, "Ethernet", &one, &other);
    }
    let [one, other] = udp(&pair, Families::V4, 1472 - FRAME_HEADER_BYTES);
    stream(&pair, "UDP", &one, &other);
    let [one, other] = ethernet(&pair, 1500 - FRAME_HEADER_BYTES);
    stream(&pair, "Ethernet", &one, &other);
    let Some(jumbo) = Pair::new(9000) else { return };
    let [one, other] = ethernet(&jumbo, 9000 - FRAME_HEADER_BYTES);
    stream(&jumbo, "Ethernet, jumbo", &one, &other);
}
