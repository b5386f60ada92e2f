//! The UDP device on real sockets: loopback, both families, runs of frames, refusals, garbage, full
//! buffers.

mod pair;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use oxmpi_net::device::udp::{BindError, Families};
use oxmpi_net::device::{Address, Batch, Device, Udp};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, LENGTH_OFFSET};
use pair::Pair;

const MTU: usize = 1500;

fn device(families: Families) -> Udp {
    Udp::bind(0, MTU, families).unwrap()
}

fn at_four(device: &Udp) -> Address {
    Address::Udp((Ipv4Addr::LOCALHOST, device.port()).into())
}

fn at_six(device: &Udp) -> Address {
    Address::Udp((Ipv6Addr::LOCALHOST, device.port()).into())
}

/// A frame whose header says its length and whose other bytes tell its number and place.
fn frame(number: usize, bytes: usize) -> Vec<u8> {
    let mut frame = garbage(number, bytes);
    let payload = (bytes - FRAME_HEADER_BYTES) as u16;
    frame[LENGTH_OFFSET..LENGTH_OFFSET + 2].copy_from_slice(&payload.to_le_bytes());
    // No flag: one of them would make the frame longer.
    frame[LENGTH_OFFSET + 2..LENGTH_OFFSET + 4].fill(0);
    frame
}

fn garbage(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|place| (number * 31 + place) as u8)
        .collect()
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

/// The next frame, waited for.
fn next(device: &mut Udp) -> Vec<u8> {
    let begun = Instant::now();
    while !device.poll() {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "no frame came to {}",
            device.describe()
        );
    }
    device.frame().to_vec()
}

/// Sends all frames and takes them on the other side, in between so that nothing overflows.
fn carry(from: &mut Udp, to: &mut Udp, address: Address, frames: &[Vec<u8>], piece: usize) {
    let batch = batch(frames, piece);
    assert_eq!(from.send(&address, &batch).unwrap(), frames.len());
    for (number, expected) in frames.iter().enumerate() {
        assert!(next(to) == *expected, "frame {number} differs");
    }
    assert!(!to.poll());
}

#[test]
fn frames_go_to_and_fro_in_both_families() {
    let mut families = vec![(Families::V4, Families::V4), (Families::V4, Families::Both)];
    if UdpSocket::bind("[::1]:0").is_ok() {
        families.push((Families::Both, Families::Both));
    } else {
        eprintln!("skipped in part: this host has no IPv6");
    }
    for (one, other) in families {
        let (mut one, mut other) = (device(one), device(other));
        let mut addresses = vec![(at_four(&one), at_four(&other))];
        if one.frame_bytes_max() == MTU - 48 {
            addresses.push((at_six(&one), at_six(&other)));
        }
        for (address_of_one, address_of_other) in addresses {
            carry(
                &mut one,
                &mut other,
                address_of_other,
                &[frame(1, 48)],
                usize::MAX,
            );
            assert_eq!(other.sender(), address_of_one);
            let answer = other.sender();
            carry(&mut other, &mut one, answer, &[frame(2, 40)], 7);
            assert_eq!(one.sender(), address_of_other);
        }
    }
}

#[test]
fn runs_of_equal_frames_leave_and_arrive_in_few_calls() {
    let (mut one, mut other) = (device(Families::V4), device(Families::V4));
    let to = at_four(&other);
    let longest = one.frame_bytes_max();
    assert_eq!(longest, MTU - 28);
    // 130 of full length: 44 fit into 65 507 bytes, so three calls; a last short one rides along.
    let mut frames: Vec<Vec<u8>> = (0..130).map(|number| frame(number, longest)).collect();
    frames.push(frame(130, 60));
    carry(&mut one, &mut other, to, &frames, 1000);
    assert_eq!(one.counters().sends, 3);
    assert_eq!(one.counters().frames_out, 131);
    let received = other.counters();
    assert_eq!(received.frames_in, 131);
    assert_eq!(received.bytes_in, (130 * longest + 60) as u64);
    // Loopback keeps runs together; the looks that found nothing come on top.
    assert_eq!(received.receives - received.receives_empty, 3);
}

#[test]
fn batches_of_unequal_lengths_arrive_as_they_were() {
    let (mut one, mut other) = (device(Families::Both), device(Families::Both));
    let to = at_four(&other);
    for lengths in [
        &[100, 100, 100, 50, 100, 100, 200, 200, 40][..],
        &[40, 41, 42, 43],
        &[43, 42, 41, 40],
        &[1452, 40, 1452, 1452, 1451, 1452],
        &[41; 200],
    ] {
        let frames: Vec<Vec<u8>> = lengths
            .iter()
            .enumerate()
            .map(|(number, bytes)| frame(number, *bytes))
            .collect();
        for piece in [1, 13, usize::MAX] {
            carry(&mut one, &mut other, to, &frames, piece);
        }
    }
}

/// The kernel takes 1024 pieces of memory in one call; more are copied together.
#[test]
fn frames_of_very_many_pieces_leave() {
    let (mut one, mut other) = (device(Families::V4), device(Families::V4));
    let to = at_four(&other);
    let frames = vec![frame(0, 1472), frame(1, 1472), frame(2, 44)];
    carry(&mut one, &mut other, to, &frames, 1);
}

#[test]
fn a_lone_frame_costs_one_call_on_either_side() {
    let (mut one, mut other) = (device(Families::V4), device(Families::V4));
    let to = at_four(&other);
    let frames = [frame(0, 48)];
    let batch = batch(&frames, usize::MAX);
    one.send(&to, &batch).unwrap();
    assert!(other.poll());
    assert_eq!(one.counters().sends, 1);
    assert_eq!(other.counters().receives, 1);
    assert!(!other.poll());
    assert_eq!(other.counters().receives, 2);
    assert_eq!(other.counters().receives_empty, 1);
}

/// Whose socket is closed is named, for either family, and everybody else is still reached.
#[test]
fn a_closed_port_refuses() {
    let (mut one, mut other) = (device(Families::Both), device(Families::Both));
    let mut gone = vec![at_four(&device(Families::V4))];
    if one.frame_bytes_max() == MTU - 48 {
        gone.push(at_six(&device(Families::Both)));
    }
    for gone in gone {
        let frames = [frame(0, 48), frame(1, 48)];
        let both = batch(&frames, usize::MAX);
        // The first answer may be there before the second send; that must not stop it.
        for _ in 0..3 {
            assert_eq!(one.send(&gone, &both).unwrap(), 2);
        }
        let begun = Instant::now();
        let refused = loop {
            assert!(!one.poll());
            if let Some(refused) = one.refused() {
                break refused;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "no refusal came"
            );
        };
        assert_eq!(refused, gone);
        let to = at_four(&other);
        carry(&mut one, &mut other, to, &frames, usize::MAX);
        while one.refused().is_some() {}
        assert!(one.prepare_sleep());
    }
}

/// What is no frame may come in parts, but it comes, and does no harm to what follows.
#[test]
fn garbage_and_empty_datagrams_come_too() {
    let (mut one, mut other) = (device(Families::Both), device(Families::Both));
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = at_four(&other);
    let to_socket: SocketAddr = (Ipv4Addr::LOCALHOST, other.port()).into();
    for bytes in [0, 1, 13, 39, 40, 41, 1473, 9000, 65_507] {
        let sent = garbage(bytes, bytes);
        stranger.send_to(&sent, to_socket).unwrap();
        let mut came = next(&mut other);
        let sender = Address::Udp(stranger.local_addr().unwrap());
        assert_eq!(other.sender(), sender);
        while other.poll() {
            came.extend(other.frame());
        }
        assert!(came == sent, "{bytes} bytes");
        let frames = [frame(1, 100), frame(2, 100), frame(3, 60)];
        carry(&mut one, &mut other, to, &frames, usize::MAX);
    }
}

#[test]
fn what_waits_is_seen_and_what_overflows_is_counted() {
    let (mut one, mut other) = (device(Families::V4), device(Families::V4));
    let to = at_four(&other);
    let room = other.room();
    assert!(room > 50, "{room}");
    let frames: Vec<Vec<u8>> = (0..40).map(|number| frame(number, 1472)).collect();
    let batch = batch(&frames, usize::MAX);
    let mut sent = 0;
    while sent < 3 * room {
        sent += one.send(&to, &batch).unwrap();
    }
    assert!(other.poll());
    assert_eq!(other.backlog(10), 10);
    let mut taken = 1;
    let mut most = 0;
    while other.poll() {
        taken += 1;
        most = most.max(other.backlog(usize::MAX));
    }
    assert!(most > room / 2, "{most} of {room}");
    assert_eq!(other.backlog(10), 0);
    assert!(other.prepare_sleep());
    assert!(taken < sent, "{taken} of {sent}");
    assert!(other.counters().overruns > 0);
}

#[test]
fn a_port_has_one_owner() {
    let one = device(Families::Both);
    for families in [Families::Both, Families::V4] {
        let error = Udp::bind(one.port(), MTU, families).err().unwrap();
        assert!(matches!(error, BindError::PortTaken { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!("UDP port {} of this host is taken; try another", one.port())
        );
    }
}

#[test]
fn the_descriptor_wakes_a_sleeper() {
    let (mut one, mut other) = (device(Families::Both), device(Families::Both));
    assert!(!other.poll() && other.prepare_sleep());
    let mut look = libc::pollfd {
        fd: other.fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, as said.
    assert_eq!(unsafe { libc::poll(&mut look, 1, 0) }, 0);
    let frames = [frame(0, 40), frame(1, 40)];
    let to = at_four(&other);
    one.send(&to, &batch(&frames, usize::MAX)).unwrap();
    // SAFETY: one entry, as said.
    assert_eq!(unsafe { libc::poll(&mut look, 1, 5000) }, 1);
    assert!(other.poll());
    assert!(!other.prepare_sleep(), "a second frame waits in the device");
    assert!(other.poll() && other.prepare_sleep());
}

/// A device that was told of wider paths than there are: frames already cut arrive all the same, in
/// fragments, and later ones are shorter.
#[test]
fn a_narrow_path_makes_frames_shorter() {
    let Some(pair) = Pair::new(1400) else { return };
    let [mut one, mut other] =
        [0, 1].map(|host| pair.on(host, || Udp::bind(0, MTU, Families::V4).unwrap()));
    assert_eq!(one.frame_bytes_max(), 1472);
    let to = Address::Udp((Ipv4Addr::new(10, 77, 0, 2), other.port()).into());
    let frames: Vec<Vec<u8>> = (0..10).map(|number| frame(number, 1472)).collect();
    carry(&mut one, &mut other, to, &frames, usize::MAX);
    assert_eq!(one.frame_bytes_max(), 1372);
    assert_eq!(one.refused(), None);
    // Runs of frames that fit still leave in one call.
    let before = one.counters().sends;
    let frames: Vec<Vec<u8>> = (0..10).map(|number| frame(number, 1372)).collect();
    carry(&mut one, &mut other, to, &frames, usize::MAX);
    assert_eq!(one.counters().sends, before + 1);
}

/// How many sockets on a port of ours are connected, as the kernel sees it.
fn connected(port: u16, six: bool) -> usize {
    let table = if six {
        "/proc/net/udp6"
    } else {
        "/proc/net/udp"
    };
    let table = std::fs::read_to_string(table).unwrap();
    let is_ours = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().unwrap_or_default();
        local.ends_with(&format!(":{port:04X}")) && words.nth(1) == Some("01")
    };
    table.lines().filter(is_ours).count()
}

/// Who is talked to again and again gets a socket of its own on the same port; nobody notices,
/// neither the others nor the one who is talked to next.
#[test]
fn talking_to_one_peer_does_not_make_deaf_for_others() {
    let mut lanes = vec![(Families::V4, false), (Families::Both, false)];
    if device(Families::Both).frame_bytes_max() == MTU - 48 {
        lanes.push((Families::Both, true));
    }
    for (families, six) in lanes {
        let at = |device: &Udp| match six {
            true => at_six(device),
            false => at_four(device),
        };
        let mut one = device(families);
        let address = at(&one);
        let mut others = [(); 3].map(|()| device(families));
        // The streak that earns a lane becomes longer: 64, 128, 256 sends.
        for favourite in [0, 1, 2, 0] {
            for round in 0..600 {
                let frames = [frame(round, 48), frame(round + 1, 48), frame(round, 44)];
                let to = at(&others[favourite]);
                let count = 1 + round % 3;
                carry(&mut one, &mut others[favourite], to, &frames[..count], 99);
                assert_eq!(others[favourite].sender(), address);
                if round % 7 > 0 {
                    carry(&mut others[favourite], &mut one, address, &frames, 99);
                    assert_eq!(one.sender(), to);
                }
            }
            for other in &mut others {
                let question = [frame(1, 60)];
                other.send(&address, &batch(&question, 99)).unwrap();
                assert!(next(&mut one) == question[0]);
                assert_eq!(one.sender(), at(other));
                let mut look = libc::pollfd {
                    fd: one.fd(),
                    events: libc::POLLIN,
                    revents: 0,
                };
                // SAFETY: one entry, as said.
                assert_eq!(unsafe { libc::poll(&mut look, 1, 0) }, 0);
                other.send(&address, &batch(&question, 99)).unwrap();
                // SAFETY: one entry, as said.
                assert_eq!(unsafe { libc::poll(&mut look, 1, 5000) }, 1);
                assert!(next(&mut one) == question[0]);
            }
        }
        assert_eq!(connected(one.port(), six), 1);
        // The port is still ours alone.
        assert!(Udp::bind(one.port(), MTU, families).is_err());
        let [favourite, mut other, _] = others;
        let gone = at(&favourite);
        drop(favourite);
        let frames = [frame(0, 48), frame(1, 48)];
        let begun = Instant::now();
        let refused = loop {
            assert_eq!(one.send(&gone, &batch(&frames, 99)).unwrap(), 2);
            assert!(!one.poll());
            if let Some(refused) = one.refused() {
                break refused;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "no refusal came"
            );
        };
        assert_eq!(refused, gone);
        let to = at(&other);
        carry(&mut one, &mut other, to, &frames, 99);
        carry(&mut other, &mut one, address, &frames, 99);
    }
}
