//! Endpoints of the PM network over real UDP sockets: messages of all sizes, goodbyes, processes
//! that vanish, memory that is held until it has arrived.

#[path = "../../xtask/limit.rs"]
mod limit;
mod pm_world;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use limit::limit;
use oxmpi_net::device::udp::Families;
use oxmpi_net::device::{Address, Device, Udp};
use oxmpi_net::pm::{COPIED_BYTES_MAX, Options, Peer, RailKind};
use oxmpi_net::transport::{Event, Sent};
use pm_world::{Node, PATIENCE, Plan, Random, job, node_of, until};

const LONGEST: usize = 1 << 20;

/// Every node sends `count` messages of all sizes to every other, all at once; each must arrive
/// once, intact and in order.
fn exchange(nodes: &mut [Node], count: i32, longest: usize, seed: u64) {
    let mut random = Random(seed);
    let size = nodes.len();
    let mut contents = vec![0; longest + 256];
    contents.fill_with(|| random.next() as u8);
    // What each sends to each: begin and length within the contents.
    let mut plans = vec![Vec::new(); size * size];
    for plan in &mut plans {
        plan.extend((0..count).map(|_| ((random.next() % 256) as usize, random.length(longest))));
    }
    let mut sent = vec![0; size * size];
    let mut taken = vec![0; size * size];
    let total = count as usize * size * (size - 1);
    let mut sum = 0;
    until(nodes, "all messages", |nodes| {
        for from in 0..size {
            for to in (0..size).filter(|&to| to != from) {
                let next = &mut sent[from * size + to];
                let Some(&(begin, length)) = plans[from * size + to].get(*next) else {
                    continue;
                };
                let payload = &contents[begin..begin + length];
                let number = *next as i32;
                let lasting = random.next().is_multiple_of(2);
                let answer = match lasting {
                    true => nodes[from].send_lasting(to as u32, number, payload, 0),
                    false => nodes[from].send(to as u32, number, payload),
                };
                assert_ne!(answer, Sent::Partly);
                *next += usize::from(answer != Sent::Later);
            }
        }
        for to in 0..size {
            while let Some((from, number, bytes)) = nodes[to].arrived.pop_front() {
                let from = from as usize;
                let next = &mut taken[from * size + to];
                assert_eq!(
                    number as usize, *next,
                    "order from {from} to {to}, seed {seed}"
                );
                let (begin, length) = plans[from * size + to][*next];
                assert!(
                    bytes == contents[begin..begin + length],
                    "contents of {number} from {from} to {to}, seed {seed}"
                );
                *next += 1;
                sum += 1;
            }
            assert!(
                nodes[to].lost.is_empty(),
                "seed {seed}: {:?}",
                nodes[to].lost
            );
        }
        sum == total
    });
}

fn close_all(nodes: &mut [Node], pause: bool) {
    for node in nodes.iter_mut() {
        node.pm.close(pause);
    }
    until(nodes, "goodbyes", |nodes| {
        nodes.iter().all(|node| node.pm.is_closed())
    });
}

#[test]
fn messages_of_all_sizes_arrive_in_order() {
    let mut nodes = job(&Plan {
        nodes: 3,
        ..Plan::default()
    });
    exchange(&mut nodes, 60, LONGEST, 1);
    close_all(&mut nodes, false);
    for node in &nodes {
        assert_eq!(node.finished.len(), 2);
        assert!(node.lost.is_empty());
    }
}

#[test]
fn a_lossy_network_delays_and_does_not_harm() {
    for (seed, kind) in [(2, RailKind::Udp), (3, RailKind::Ethernet)] {
        let mut nodes = job(&Plan {
            nodes: 2,
            kind,
            faults: Some("loss=5%,duplicate=2%,reorder=2%,seed=7"),
            ..Plan::default()
        });
        exchange(&mut nodes, 60, LONGEST / 8, seed);
        let counters = nodes[0].pm.counters();
        assert!(counters.device.faults > 0 && counters.link.repeats > 0);
        close_all(&mut nodes, false);
    }
}

#[test]
fn damaged_frames_are_noticed_when_frames_are_checked() {
    let mut nodes = job(&Plan {
        options: Options {
            checked: true,
            ..Options::default()
        },
        faults: Some("corrupt=3%,seed=9"),
        ..Plan::default()
    });
    exchange(&mut nodes, 100, LONGEST / 8, 4);
    let counters = nodes[0].pm.counters();
    assert!(
        counters.forged + counters.link.refused() > 0,
        "{counters:?}"
    );
}

/// Encrypted frames on good and bad networks, on two rails, and by devices that often have no room.
/// Damage is found without checksums.
#[test]
fn encrypted_messages_arrive_as_all_others_do() {
    let options = Options {
        encrypted: true,
        ..Options::default()
    };
    let plain = || Plan {
        options,
        ..Plan::default()
    };
    let plans = [
        Plan {
            nodes: 3,
            ..plain()
        },
        Plan {
            rails: 2,
            ..plain()
        },
        Plan {
            narrow: true,
            ..plain()
        },
        Plan {
            faults: Some("loss=5%,duplicate=2%,reorder=2%,corrupt=3%,seed=7"),
            ..plain()
        },
        Plan {
            faults: Some("loss=2%,corrupt=3%,seed=8"),
            kind: RailKind::Ethernet,
            ..plain()
        },
    ];
    for (seed, plan) in plans.iter().enumerate() {
        let mut nodes = job(plan);
        match plan.rails {
            1 => exchange(&mut nodes, 40, LONGEST / 4, 30 + seed as u64),
            _ => two_rails_at_once(&mut nodes),
        }
        if plan.faults.is_some() {
            assert!(nodes[0].pm.counters().forged > 0);
        }
        close_all(&mut nodes, false);
        for node in &nodes {
            assert!(node.lost.is_empty(), "{seed}");
        }
    }
}

/// One of the two encrypts: nothing that either says is believed by the other.
#[test]
fn clear_and_encrypted_frames_do_not_mix() {
    let mut nodes = job(&Plan {
        first_encrypts: true,
        ..Plan::default()
    });
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(nodes[from].send(to, 0, b"hello"), Sent::Left);
    }
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(300) {
        for node in &mut nodes {
            node.look();
        }
    }
    for node in &nodes {
        assert!(node.arrived.is_empty());
    }
    assert!(nodes[0].pm.counters().forged > 0);
    assert!(nodes[1].pm.counters().link.refused_checksum > 0);
}

#[test]
fn what_a_device_does_not_take_leaves_later() {
    let mut nodes = job(&Plan {
        nodes: 3,
        narrow: true,
        ..Plan::default()
    });
    exchange(&mut nodes, 60, LONGEST / 8, 15);
    let counters = nodes[0].pm.counters();
    assert!(counters.blocked > 0);
    close_all(&mut nodes, false);
}

#[test]
fn two_rails_carry_one_conversation() {
    let mut nodes = job(&Plan {
        rails: 2,
        ..Plan::default()
    });
    two_rails_at_once(&mut nodes);
    close_all(&mut nodes, false);
}

/// Long and short messages from the first node to the second: each rail is in order, and both
/// together have everything.
fn two_rails_at_once(nodes: &mut [Node]) {
    let payload = vec![3; 300_000];
    for number in 0..20 {
        assert_eq!(
            nodes[0].send_lasting(1, 2 * number, &payload, 0),
            Sent::Held
        );
        assert_eq!(nodes[0].send(1, 2 * number + 1, &payload[..10]), Sent::Left);
        nodes[1].look();
    }
    until(nodes, "both rails", |nodes| nodes[1].arrived.len() == 40);
    let numbers: Vec<i32> = nodes[1].arrived.iter().map(|arrived| arrived.1).collect();
    let of_rail = |odd: i32| {
        let numbers = numbers.iter().copied();
        numbers
            .filter(move |number| number % 2 == odd)
            .collect::<Vec<_>>()
    };
    assert!(of_rail(0).is_sorted() && of_rail(1).is_sorted());
}

#[test]
fn what_is_longer_than_a_frame_takes_the_second_rail() {
    let mut nodes = job(&Plan {
        rails: 2,
        ..Plan::default()
    });
    let payload = vec![3; 60_000];
    let lengths = [10, 1000, 2000, 60_000];
    for (number, length) in lengths.into_iter().enumerate() {
        nodes[0].send(1, number as i32, &payload[..length]);
    }
    let mut found = Vec::new();
    let begin = Instant::now();
    while found.len() < lengths.len() {
        nodes[0].look();
        let pm = &mut nodes[1].pm;
        while let Some(event) = pm.poll() {
            if let Event::Packet { payload, .. } = event {
                found.push((payload, pm.rail()));
            }
            pm.pass(pm.at_hand().len());
        }
        assert!(begin.elapsed() < PATIENCE, "only {found:?} have come");
    }
    found.sort_unstable();
    assert_eq!(found, [(10, 0), (1000, 0), (2000, 1), (60_000, 1)]);
}

/// A message whose memory is given back before it has arrived is repeated out of the copy.
#[test]
fn a_message_of_an_idle_sender_needs_no_acknowledgement() {
    let mut nodes = job(&Plan {
        faults: Some("loss=20%,seed=5"),
        ..Plan::default()
    });
    for number in 0..20 {
        let mut payload = vec![number as u8; 30_000];
        let sent = nodes[0].send_unasked(1, number, &payload, 5);
        if sent == Sent::Left {
            payload.fill(99);
        }
        assert!(
            number > 0 || sent == Sent::Left,
            "nothing else was on its way"
        );
        until(&mut nodes, "the message", |nodes| {
            let held = sent == Sent::Held && nodes[0].released.is_empty();
            nodes[1].arrived.len() == number as usize + 1 && !held
        });
        nodes[0].released.clear();
        let (_, _, bytes) = nodes[1].arrived.back().expect("it has arrived");
        assert!(bytes.len() == 30_000 && bytes.iter().all(|&byte| byte == number as u8));
    }
    assert!(nodes[0].released.is_empty());
    close_all(&mut nodes, false);
}

#[test]
fn forged_datagrams_change_nothing() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 5, 1000, 5);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut random = Random(6);
    let (mut flood, mut sent) = (0, 0);
    let payload = [8; 5000];
    until(&mut nodes, "messages beside a flood", |nodes| {
        let mut frame = [0u8; 60];
        frame.fill_with(|| random.next() as u8);
        if flood % 2 == 0 {
            // All but the proof is right: version, data, channel, destination, name, length.
            frame[..16].copy_from_slice(&[2, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0]);
        }
        let _ = stranger.send_to(&frame, nodes[1].addresses[0]);
        flood += 1;
        sent += i32::from(sent < 200 && nodes[0].send(1, sent, &payload) == Sent::Left);
        nodes[1].arrived.len() == 200 && flood > 1000
    });
    assert!(nodes[1].pm.counters().forged > 500);
    assert!(
        nodes[1]
            .arrived
            .iter()
            .all(|(_, _, bytes)| bytes == &payload)
    );
}

#[test]
fn memory_is_held_until_it_has_arrived() {
    let mut nodes = job(&Plan::default());
    let payload = vec![4; COPIED_BYTES_MAX + 1];
    assert_eq!(nodes[0].send_lasting(1, 0, &payload, 0), Sent::Held);
    // However short the end of a message is, it tells when all of it has arrived.
    assert_eq!(nodes[0].send_lasting(1, 1, &payload[..1], 77), Sent::Held);
    for _ in 0..1000 {
        nodes[0].look();
    }
    assert!(nodes[0].released.is_empty(), "nobody has received it");
    until(&mut nodes, "the release", |nodes| nodes[0].released == [77]);
    assert_eq!(nodes[1].arrived.len(), 2);
}

#[test]
fn a_pause_is_no_goodbye() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 10, 10_000, 7);
    close_all(&mut nodes, true);
    assert!(nodes[0].finished.is_empty() && nodes[1].finished.is_empty());
    exchange(&mut nodes, 10, 10_000, 8);
    close_all(&mut nodes, false);
    assert_eq!(
        (&nodes[0].finished, &nodes[1].finished),
        (&vec![1], &vec![0])
    );
}

#[test]
fn who_ends_after_a_pause_is_not_lost() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 3, 1000, 16);
    nodes[1].pm.close(true);
    until(&mut nodes, "the pause", |nodes| nodes[1].pm.is_closed());
    drop(nodes.pop());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(400) {
        nodes[0].look();
    }
    assert!(nodes[0].lost.is_empty());
    // It is noticed when something is sent to it.
    nodes[0].send(1, 0, &[1]);
    until(&mut nodes, "the loss", |nodes| nodes[0].lost == [1]);
}

#[test]
fn goodbyes_survive_a_lossy_network() {
    let mut nodes = job(&Plan {
        nodes: 4,
        faults: Some("loss=20%,seed=3"),
        ..Plan::default()
    });
    exchange(&mut nodes, 5, 5000, 9);
    close_all(&mut nodes, false);
    assert!(nodes.iter().all(|node| node.finished.len() == 3));
}

#[test]
fn a_finished_process_is_sent_nothing() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 1, 100, 10);
    let payload = vec![1; 500_000];
    // It says goodbye while a long message is on its way to it.
    nodes[1].pm.close(false);
    assert_eq!(nodes[0].send_lasting(1, 5, &payload, 9), Sent::Held);
    until(&mut nodes, "the goodbye", |nodes| nodes[0].finished == [1]);
    drop(payload);
    assert_eq!(nodes[0].send(1, 6, &[1]), Sent::Left);
    until(&mut nodes, "the end", |nodes| nodes[1].pm.is_closed());
    nodes[0].pm.close(false);
    until(&mut nodes, "our end", |nodes| nodes[0].pm.is_closed());
    assert!(nodes[0].lost.is_empty() && nodes[0].released.is_empty());
}

#[test]
fn a_process_that_vanished_is_noticed_at_once() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 3, 1000, 11);
    drop(nodes.pop());
    let begin = Instant::now();
    nodes[0].send(1, 0, &[1]);
    until(&mut nodes, "the loss", |nodes| nodes[0].lost == [1]);
    assert!(
        begin.elapsed() < limit(Duration::from_secs(3)),
        "{:?}",
        begin.elapsed()
    );
    let trouble = nodes[0].pm.trouble(1).unwrap();
    assert_eq!(trouble.host, "host1");
    assert!(
        trouble.what.contains("the process is gone"),
        "{}",
        trouble.what
    );
    assert!(trouble.what.contains("UDP 127.0.0.1:"), "{}", trouble.what);
    // What is sent to it goes nowhere.
    assert_eq!(nodes[0].send(1, 1, &[1]), Sent::Left);
}

#[test]
fn a_process_that_does_not_look_is_waited_for() {
    let mut nodes = job(&Plan {
        options: Options {
            suspect_after: Duration::from_millis(20),
            dead_after: Duration::from_millis(100),
            ..Options::default()
        },
        ..Plan::default()
    });
    exchange(&mut nodes, 3, 1000, 12);
    nodes[0].send(1, 0, &[1]);
    let begin = Instant::now();
    // Much longer than a host may be silent, and long enough to be asked after however busy the
    // machine is.
    while begin.elapsed() < Duration::from_millis(600) || nodes[0].pm.counters().liveness == 0 {
        nodes[0].look();
        assert!(nodes[0].lost.is_empty(), "{:?}", nodes[0].pm.trouble(1));
        assert!(begin.elapsed() < PATIENCE, "nobody asked after it");
    }
    until(&mut nodes, "the message", |nodes| {
        nodes[1].arrived.len() == 1
    });
}

/// Nodes 0 and 1, where node 0 was told these addresses of node 1 and no listener.
fn told(options: Options, addresses: impl Fn(Address) -> Vec<Address>) -> Vec<Node> {
    let plan = Plan {
        options,
        ..Plan::default()
    };
    let bind = || Udp::bind(0, plan.mtu, Families::V4).unwrap();
    let at = |udp: &Udp| Address::Udp(([127, 0, 0, 1], udp.port()).into());
    let devices = [bind(), bind()];
    let places = [vec![at(&devices[0])], addresses(at(&devices[1]))];
    let nodes = devices.into_iter().enumerate().map(|(rank, udp)| {
        let places = places.clone();
        let finder = move |node: u32, _| {
            Ok(Peer {
                addresses: places[node as usize].clone(),
                channel: node as u16,
                name: rank as u32,
                salt: 0,
                frame_bytes_max: None,
                host: "elsewhere".into(),
                probe: Vec::new(),
            })
        };
        let device: Box<dyn Device> = Box::new(udp);
        node_of(&plan, rank as u32, vec![device], Box::new(finder))
    });
    nodes.collect()
}

#[test]
fn the_next_address_is_tried_when_one_is_silent_or_refuses() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let refusing = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let silent = Address::Udp(silent.local_addr().unwrap());
    let mut nodes = told(Options::default(), |right| {
        vec![silent, Address::Udp(refusing), right]
    });
    assert_eq!(nodes[0].send(1, 0, &[1]), Sent::Left);
    until(&mut nodes, "an answer", |nodes| nodes[1].arrived.len() == 1);
    nodes[1].arrived.clear();
    exchange(&mut nodes, 5, 1000, 13);
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = Address::Udp(silent.local_addr().unwrap());
    let options = Options {
        suspect_after: Duration::from_millis(50),
        dead_after: Duration::from_secs(1),
        ..Options::default()
    };
    let mut nodes = told(options, |_| vec![silent]);
    nodes[0].send(1, 0, &[1]);
    until(&mut nodes, "the loss", |nodes| nodes[0].lost == [1]);
    let what = &nodes[0].pm.trouble(1).unwrap().what;
    assert!(what.contains("the host or the network is gone"), "{what}");
    assert!(what.contains(&silent.to_string()), "{what}");
}

#[test]
fn a_sleeper_is_woken_and_looks_after_its_timers() {
    let mut nodes = job(&Plan::default());
    exchange(&mut nodes, 3, 1000, 14);
    while !nodes[1].pm.prepare_sleep() {
        nodes[1].look();
    }
    assert!(
        nodes[1]
            .pm
            .nap_max()
            .is_some_and(|nap| nap <= Duration::from_secs(1))
    );
    let readable = |node: &Node| {
        let mut entry = libc::pollfd {
            fd: node.pm.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, a local.
        unsafe { libc::poll(&mut entry, 1, 0) == 1 }
    };
    assert!(!readable(&nodes[1]));
    nodes[0].send(1, 0, &[1]);
    assert!(
        nodes[0]
            .pm
            .nap_max()
            .is_some_and(|nap| nap < Duration::from_secs(1))
    );
    assert!(readable(&nodes[1]));
    nodes[1].pm.handle_waking();
    nodes[1].look();
    assert_eq!(nodes[1].arrived.len(), 1);
}
