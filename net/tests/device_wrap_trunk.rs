//! Two cables between two hosts, used as one channel: spread evenly, one of them pulled at either
//! end, plugged in again.

mod pair;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use oxmpi_net::device::ethernet::Interface;
use oxmpi_net::device::{Address, Batch, Channel, Device, Ethernet, Trunk};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use pair::{INTERFACE, Pair, ip};

const SECOND: &str = "eth1";

/// A host's end of both cables.
struct End {
    trunk: Trunk,
    channel: u16,
    addresses: Vec<Address>,
    _channels: Vec<Channel>,
}

impl End {
    fn open(pair: &Pair, host: usize) -> End {
        pair.on(host, move || {
            let cards = [INTERFACE, SECOND].map(|name| Interface::named(name).unwrap());
            let channels = Channel::claim_all(&[cards[0].index, cards[1].index]).unwrap();
            let members = cards.iter().zip(&channels).map(|(card, channel)| {
                let device = Ethernet::open(&card.name, channel, host as u32).unwrap();
                Box::new(device) as Box<dyn Device>
            });
            End {
                trunk: Trunk::new(members.collect()).unwrap(),
                channel: channels[0].number(),
                addresses: cards
                    .iter()
                    .map(|card| Address::Ethernet(card.mac))
                    .collect(),
                _channels: channels,
            }
        })
    }

    /// Is woken, and takes what is there.
    fn take(&mut self, into: &mut HashSet<u32>, from: Address) {
        while self.trunk.poll() {
            let (frame, _) = Frame::parse(self.trunk.frame()).unwrap();
            assert!(into.insert(frame.sequence), "{frame} came twice");
            assert_eq!(self.trunk.sender(), from);
        }
    }

    fn is_woken(&mut self) -> bool {
        let mut poll = libc::pollfd {
            fd: self.trunk.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one local.
        !self.trunk.prepare_sleep() || unsafe { libc::poll(&mut poll, 1, 2000) > 0 }
    }
}

/// Two hosts with two cables, and both ends of the trunk.
fn ends() -> Option<(Pair, End, End)> {
    let pair = Pair::new(1500)?;
    // SAFETY: no arguments, no memory.
    let other = pair.on(1, || unsafe { libc::gettid() });
    let cable = format!("link add {SECOND} type veth peer name {SECOND} netns {other}");
    pair.on(0, move || ip(&[&cable])).unwrap();
    for host in 0..2 {
        let up = format!("link set {SECOND} up");
        pair.on(host, move || ip(&[&up])).unwrap();
    }
    let (mut one, mut two) = (End::open(&pair, 0), End::open(&pair, 1));
    one.trunk.learn(two.addresses[0], two.addresses.clone());
    two.trunk.learn(one.addresses[0], one.addresses.clone());
    Some((pair, one, two))
}

fn frames(channel: u16, numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    let frame = |sequence| {
        let frame = Frame {
            kind: Kind::Data,
            channel,
            to: 1,
            name: 0,
            length: 100,
            flags: 0,
            sequence,
            ack: 0,
            serial: 0,
            crc: 0,
            tag: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        [&header[..], &[7; 100]].concat()
    };
    numbers.map(frame).collect()
}

/// Sends frames in batches of so many; none may be refused while one cable works.
fn send(one: &mut End, two: &End, numbers: std::ops::Range<u32>, at_once: usize) {
    let frames = frames(two.channel, numbers);
    for some in frames.chunks(at_once) {
        let mut batch = Batch::new();
        for frame in some {
            // SAFETY: the frames outlive the batch.
            unsafe { batch.push(frame.as_ptr(), frame.len()) };
            batch.end_frame();
        }
        let sent = one.trunk.send(&two.addresses[0], &batch).unwrap();
        assert_eq!(sent, some.len());
    }
}

/// Frames that the other side's cards have received, by card.
fn received(pair: &Pair) -> [u64; 2] {
    [INTERFACE, SECOND].map(|name| {
        let read = move || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let table = pair.on(1, read);
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let word = line.unwrap().split_whitespace().nth(2).unwrap();
        word.parse().unwrap()
    })
}

#[test]
fn frames_take_both_cables_in_equal_parts() {
    let Some((pair, mut one, mut two)) = ends() else {
        return;
    };
    let before = received(&pair);
    let from = one.addresses[0];
    let mut came = HashSet::new();
    assert_eq!(two.trunk.room(), 2 * 4096);
    send(&mut one, &two, 0..1000, 1);
    assert!(two.is_woken());
    two.take(&mut came, from);
    send(&mut one, &two, 1000..3000, 100);
    assert_eq!(two.trunk.backlog(100), 100);
    assert!(two.is_woken());
    two.take(&mut came, from);
    assert_eq!(came.len(), 3000);
    // Beside ours there is what the kernel itself says on new cables.
    for (before, after) in before.into_iter().zip(received(&pair)) {
        assert!((1500..1600).contains(&(after - before)), "{before} {after}");
    }
}

/// A pulled cable must not cost frames that the other can take, whichever end it was pulled at, and
/// must be used again afterwards.
#[test]
fn a_pulled_cable_is_left_out_until_it_is_back() {
    let Some((pair, mut one, mut two)) = ends() else {
        return;
    };
    let from = one.addresses[0];
    let mut came = HashSet::new();
    let mut next = 0;
    for pulled_at in [0, 1] {
        pair.on(pulled_at, || ip(&[&format!("link set {SECOND} down")]))
            .unwrap();
        let begun = came.len();
        for _ in 0..50 {
            send(&mut one, &two, next..next + 40, 40);
            send(&mut one, &two, next + 40..next + 45, 1);
            next += 45;
            two.take(&mut came, from);
        }
        let lost = begun + 50 * 45 - came.len();
        assert_eq!(lost, 0, "the cable was pulled at host {pulled_at}");
        pair.on(pulled_at, || ip(&[&format!("link set {SECOND} up")]))
            .unwrap();
        // The member rests for 100 ms after it failed.
        let begun = Instant::now();
        let before = received(&pair)[1];
        while received(&pair)[1] < before + 1000 {
            send(&mut one, &two, next..next + 100, 100);
            next += 100;
            two.take(&mut came, from);
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "never used again"
            );
        }
    }
}
