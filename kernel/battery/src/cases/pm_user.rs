//! /dev/oxk-pm: messages between processes by PM in the kernel, what they cost, and programs that
//! keep to nothing.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::case;
use super::counts::fail_slab;
use super::oxk::{soon, with_cable};
use crate::failslab::failing;
use crate::ground::PATIENCE;
use crate::packet::pattern;
use crate::pm_device::{
    AREA_BYTES, CONNECT, CONTROL_BYTES, COUNTS, NEWS, OPEN, PATH, Port, SLOT_BYTES, SLOTS, TURN,
    WAIT, how, index, open_device,
};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::stream_device::{NAME, key, place};
use crate::sys::{self, Buffer, Child};

pub const CASES: &[Case] = &[
    case("pm-talk", talk),
    case("pm-full", full),
    case("pm-ends", ends),
    case("pm-cable", cable),
    case("pm-wrong-words", wrong_words),
    case("pm-hostile-user", hostile),
    Case {
        name: "pm-out-of-memory",
        time_s: 300,
        run: out_of_memory,
    },
    Case {
        name: "pm-of-a-user",
        time_s: 120,
        run: of_a_user,
    },
];

/// What a user may have (`kernel/oxk/pm/port.c`).
const PORTS: usize = 64;

/// Two ports over loopback in a namespace of their own.
fn pair() -> Outcome<(Port, Port, u64)> {
    sys::new_network_namespace()?;
    sys::bring_up_loopback()?;
    ports()
}

/// The second's name of the first comes with its first message.
fn ports() -> Outcome<(Port, Port, u64)> {
    let (here, there) = (place(), place());
    let key = key(NAME)?;
    let one = Port::open(how(key, index(c"lo"), here))?;
    let two = Port::open(how(key, index(c"lo"), there))?;
    match one.connect(there) {
        Ok(peer) => Ok((one, two, peer)),
        Err(errno) => fail(format!("OXKP_CONNECT: errno {errno}")),
    }
}

/// A slot that is not busy.
fn free(port: &Port) -> Outcome<u32> {
    let mut found = None;
    let is_found = soon(|| {
        found = (0..SLOTS).find(|slot| !port.is_busy(*slot));
        found.is_some()
    });
    match found.filter(|_| is_found) {
        Some(slot) => Ok(slot),
        None => fail("all slots are busy for half a minute"),
    }
}

fn send(port: &mut Port, peer: u64, bytes: &[u8]) -> Outcome {
    let slot = free(port)?;
    port.queue(slot, peer, bytes);
    port.turn()
}

/// Messages of all lengths there and back, several rounds of the rings: they come whole and in
/// order. The module cannot be unloaded meanwhile.
fn talk(random: &mut Random) -> Outcome {
    let (mut one, mut two, peer) = pair()?;
    for number in 0..3 * u64::from(SLOTS) {
        let length = match random.below(4) {
            0 => SLOT_BYTES,
            1 => 1 + random.below(40) as usize,
            _ => 1 + random.below(SLOT_BYTES as u64) as usize,
        };
        let bytes = pattern(number, 0, length);
        send(&mut one, peer, &bytes)?;
        let there = two.wait_next()?;
        equal("error", there.error, 0)?;
        equal("there", there.bytes == bytes, true)?;
        send(&mut two, there.peer, &there.bytes)?;
        let back = one.wait_next()?;
        equal("back", (back.error, back.bytes == bytes), (0, true))?;
        equal("from", back.peer, peer)?;
    }
    let errno = sys::unload_module(c"oxk_pm").err();
    equal("unloading it meanwhile", errno, Some(libc::EWOULDBLOCK))?;
    let counts = one.counts()?;
    equal("sent", counts.messages_sent, 3 * u64::from(SLOTS))?;
    one.close();
    two.close();
    Ok(())
}

/// Nobody takes what is sent: the rings and the window fill up, and nothing is lost or out of order
/// when somebody does.
fn full(random: &mut Random) -> Outcome {
    let (mut one, mut two, peer) = pair()?;
    let lengths: Vec<usize> = (0..2 * SLOTS)
        .map(|_| 1 + random.below(SLOT_BYTES as u64) as usize)
        .collect();
    let mut sent = 0;
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_secs(2) && sent < lengths.len() {
        match (0..SLOTS).find(|slot| !one.is_busy(*slot)) {
            Some(slot) => {
                one.queue(slot, peer, &pattern(sent as u64, 0, lengths[sent]));
                one.turn()?;
                sent += 1;
                last = Instant::now();
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    equal("the ring filled up", sent >= SLOTS as usize, true)?;
    // A sleeper is woken when slots are free again.
    one.want_slots();
    for (number, length) in lengths.iter().enumerate() {
        while sent <= number {
            send(&mut one, peer, &pattern(sent as u64, 0, lengths[sent]))?;
            sent += 1;
        }
        let message = two.wait_next()?;
        let right = message.bytes == pattern(number as u64, 0, *length);
        equal("a message", (message.error, right), (0, true))?;
    }
    one.close();
    two.close();
    Ok(())
}

/// A process goes: what it sent before comes, and then news of it. A peer that is not there is
/// news, too.
fn ends(_: &mut Random) -> Outcome {
    let (mut one, mut two, peer) = pair()?;
    send(&mut one, peer, b"first")?;
    let first = two.wait_next()?;
    send(&mut one, peer, b"last")?;
    one.close();
    equal("last", two.wait_next()?.bytes, b"last".to_vec())?;
    let readable = soon(|| sys::is_readable(two.file.as_fd()).unwrap_or(false));
    equal("readable", readable, true)?;
    equal("news", two.news().map(|news| news.peer), Ok(first.peer))?;
    equal(
        "no more",
        two.news().map(|news| news.peer),
        Err(libc::EAGAIN),
    )?;
    // To a peer that is lost: its slot is free at once.
    two.queue(7, first.peer, b"nobody");
    two.turn()?;
    equal("busy", two.is_busy(7), false)?;
    let nobody = two.connect(place()).map_err(|errno| format!("{errno}"));
    let lost = soon(|| two.news().is_ok_and(|news| Ok(news.peer) == nobody));
    equal("nobody answers", lost, true)?;
    two.close();
    Ok(())
}

/// Ports and messages whose allocations fail, in the caller and in the kernel's workers: requests
/// may fail, messages come whole or not at all, and afterwards all is well.
fn out_of_memory(_: &mut Random) -> Outcome {
    sys::new_network_namespace()?;
    sys::bring_up_loopback()?;
    let fail_slab = fail_slab(1)?;
    let mut worked = [0; 2];
    for (kind, workers) in [false, true].into_iter().enumerate() {
        for _ in 0..20 {
            match failing(workers, exchange)? {
                Ok(()) => worked[kind] += 1,
                Err(Trouble::Fail(why)) if why.contains(OTHER) => return fail(why),
                Err(_) => {}
            }
        }
    }
    drop(fail_slab);
    println!(
        "count pm_under_failslab={} with_failing_workers={}",
        worked[0], worked[1]
    );
    exchange()
}

/// What is said of a message that came and was not the one that was sent.
const OTHER: &str = "another message";

fn exchange() -> Outcome {
    let (mut one, mut two, peer) = ports()?;
    for number in 0..20 {
        let bytes = pattern(number, 0, 1 + number as usize * 400);
        send(&mut one, peer, &bytes)?;
        let mut message = None;
        for _ in 0..100 {
            message = two.next();
            // The peer may be lost for want of memory.
            if message.is_some() || one.news().is_ok() {
                break;
            }
            let _ = two.ask(WAIT, 20);
        }
        match message {
            None => return fail("it did not come"),
            Some(message) if message.bytes != bytes => return fail(OTHER),
            Some(_) => {}
        }
    }
    one.close();
    two.close();
    Ok(())
}

/// Round trips that are counted.
const ROUND_TRIPS: u64 = 100;

/// Two processes in two namespaces with a cable: what a round trip of each length costs.
fn cable(_: &mut Random) -> Outcome {
    const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 88, 0, 1), 19_100);
    with_cable(|pid| {
        let child = Child::fork(|| match echo(pid, HERE) {
            Ok(()) => 0,
            Err(Trouble::Fail(why) | Trouble::Skip(why)) => {
                println!("the far process: {why}");
                1
            }
        })?;
        let mut port = Port::open(how(key(NAME)?, index(c"cable"), HERE))?;
        let begun = port.wait_next()?;
        for length in [16, 256, 1 << 10, 4 << 10, SLOT_BYTES] {
            let bytes = pattern(length as u64, 0, length);
            let before = port.counts()?;
            let switches = sys::switches();
            for _ in 0..ROUND_TRIPS {
                send(&mut port, begun.peer, &bytes)?;
                equal("back", port.wait_next()?.bytes == bytes, true)?;
            }
            let (after, switches) = (port.counts()?, sys::switches() - switches);
            let name = format!("pm_user_{length}");
            println!("count {name}_round_trips={ROUND_TRIPS}");
            println!("count {name}_switches={switches}");
            for (what, count) in [
                ("calls", after.turns - before.turns),
                ("sleeps", after.sleeps - before.sleeps),
                ("frames", after.frames_sent - before.frames_sent),
                ("repeats", after.frames_repeated - before.frames_repeated),
                ("bytes_lent", after.bytes_lent - before.bytes_lent),
                ("bytes_copied", after.bytes_copied - before.bytes_copied),
                ("bytes_placed", after.bytes_placed - before.bytes_placed),
            ] {
                println!("count {name}_{what}={count}");
            }
        }
        send(&mut port, begun.peer, b"!")?;
        port.close();
        equal("the far process", child.wait(PATIENCE)?.is_some(), true)
    })
}

/// The far end of the cable: sends each message back until one of a byte comes.
fn echo(pid: i32, to: SocketAddrV4) -> Outcome {
    sys::enter_network_namespace(pid)?;
    let listen = SocketAddrV4::new(Ipv4Addr::new(10, 88, 0, 2), 19_100);
    let mut port = Port::open(how(key(NAME)?, index(c"veth0"), listen))?;
    // The other's port may not be open yet.
    let begin = Instant::now();
    let peer = loop {
        let Ok(peer) = port.connect(to) else {
            return fail("OXKP_CONNECT");
        };
        std::thread::sleep(Duration::from_millis(500));
        match port.news() {
            Err(_) => break peer,
            Ok(news) if begin.elapsed() > Duration::from_secs(20) => {
                return fail(format!("connecting: {news:?}"));
            }
            Ok(_) => {}
        }
    };
    send(&mut port, peer, b"here")?;
    loop {
        let message = port.wait_next()?;
        if message.bytes.len() == 1 {
            return Ok(());
        }
        send(&mut port, peer, &message.bytes)?;
    }
}

/// Nonsense in each word is refused, and the port is as it was when it is taken back.
fn wrong_words(_: &mut Random) -> Outcome {
    const BYTES: usize = 64 + 4 * SLOTS as usize + 8;
    const QUEUE: usize = 64;
    let refused = |port: &Port| equal("nonsense", port.ask(TURN, 0), Err(libc::EINVAL));
    // Longer than a slot, nothing, a slot that there is not.
    for (at, value) in [(BYTES, 9000), (BYTES, 0), (QUEUE, SLOTS), (QUEUE, u32::MAX)] {
        let (mut one, mut two, peer) = pair()?;
        one.queue(0, peer, b"x");
        one.scribble(at, value);
        refused(&one)?;
        one.scribble(BYTES, 1);
        one.scribble(QUEUE, 0);
        one.turn()?;
        equal("it came", two.wait_next()?.bytes, b"x".to_vec())?;
        one.close();
        two.close();
    }
    let (one, two, _) = pair()?;
    // More queued and more consumed than there are slots; consumed what has not come.
    for (at, value) in [(0, SLOTS + 1), (4, SLOTS + 1), (4, 1)] {
        one.scribble(at, value);
        refused(&one)?;
        one.scribble(at, 0);
        one.turn()?;
    }
    let farther = Buffer::of_device(one.file.as_fd(), AREA_BYTES + 4096, libc::PROT_READ);
    equal("mapped too far", farther.is_err(), true)?;
    one.close();
    two.close();
    Ok(())
}

/// What a child does until it is killed: requests of all kinds and words of all values.
fn misbehave(random: &mut Random, port: Port, others: [SocketAddrV4; 2]) -> Outcome {
    // A child has no keys of its own.
    let key = key(NAME)?;
    let mut port = port;
    let own = Buffer::new(4096);
    let mut files = vec![];
    loop {
        match random.below(12) {
            0..3 => {
                let value = match random.below(3) {
                    0 => random.next() as u32,
                    1 => random.below(600) as u32,
                    _ => 0,
                };
                let at = match random.below(2) {
                    0 => random.below(16) as usize,
                    _ => random.below(CONTROL_BYTES as u64) as usize,
                };
                port.scribble(at, value);
            }
            3..6 => {
                let length = random.below(2 * SLOT_BYTES as u64) as usize;
                let (slot, peer) = (random.below(u64::from(SLOTS)) as u32, random.below(16));
                port.queue(slot, peer | random.below(3) << 32, &vec![1; length]);
            }
            6..8 => {
                let _ = port.ask(TURN, 0);
            }
            8 => {
                let _ = port.ask(WAIT, random.below(20));
            }
            9 => {
                let _ = port.connect(others[random.below(2) as usize]);
            }
            10 => {
                let requests = [OPEN, CONNECT, NEWS, COUNTS, random.next() as u32];
                let memory = match random.below(3) {
                    0 => own.address(),
                    1 => random.next(),
                    _ => port.area.address(),
                };
                let _ = port.ask(requests[random.below(5) as usize], memory);
            }
            _ => {
                files.truncate(2);
                let mut what = how(key, index(c"lo"), place());
                what.peers = random.below(300) as u32;
                what.bytes = random.below(40) as u32;
                let file = open_device()?;
                let _ = sys::ioctl_with(file.as_raw_fd(), OPEN, &mut what);
                files.push(file);
            }
        }
    }
}

/// Children that misbehave are killed and replaced, while two others talk; afterwards all is well.
fn hostile(random: &mut Random) -> Outcome {
    let (mut one, mut two, peer) = pair()?;
    let begin = |random: &mut Random| {
        let mut random = Random::new(random.next());
        Child::fork(move || {
            let (here, there) = (place(), place());
            let opened = key(NAME).and_then(|key| Port::open(how(key, index(c"lo"), here)));
            let outcome = opened.and_then(|port| misbehave(&mut random, port, [here, there]));
            i32::from(outcome.is_err())
        })
    };
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(begin(random)?);
    }
    let start = Instant::now();
    let mut killed = 0;
    while start.elapsed() < Duration::from_secs(8) {
        for number in 0..random.below(40) {
            let bytes = pattern(number, 0, 3000);
            send(&mut one, peer, &bytes)?;
            equal("those beside", two.wait_next()?.bytes == bytes, true)?;
        }
        std::thread::sleep(Duration::from_millis(random.below(200)));
        let at = random.below(3) as usize;
        let old = std::mem::replace(&mut children[at], begin(random)?);
        old.kill(libc::SIGKILL);
        equal(
            "a child that was killed",
            old.wait(PATIENCE)?.is_some(),
            true,
        )?;
        killed += 1;
    }
    for child in &children {
        child.kill(libc::SIGKILL);
        equal(
            "a child that was killed",
            child.wait(PATIENCE)?.is_some(),
            true,
        )?;
    }
    println!("count pm_hostile_users={killed}");
    one.close();
    two.close();
    Ok(())
}

/// A user who may open the device has so many ports, and no more; what was closed counts no longer.
fn of_a_user(_: &mut Random) -> Outcome {
    sys::new_network_namespace()?;
    sys::bring_up_loopback()?;
    open_device()?;
    fs::set_permissions(PATH, fs::Permissions::from_mode(0o666))?;
    sys::become_nobody()?;
    let key = key(NAME)?;
    for _ in 0..2 {
        let mut ports = Vec::new();
        let refused = loop {
            let file = open_device()?;
            let mut what = how(key, index(c"lo"), place());
            match sys::ioctl_with(file.as_raw_fd(), OPEN, &mut what) {
                Ok(_) => ports.push(file),
                Err(errno) => break errno,
            }
        };
        equal("ports", (ports.len(), refused), (PORTS, libc::EDQUOT))?;
    }
    Ok(())
}
