//! Connections that BPF programs read (`--progress bpf`): what is here although nobody called, what
//! the ring has no room for, and how a connection ends.

use std::os::fd::RawFd;
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::tcp::{Event, Progress, Tcp, find_bpf};
use tcp_pair::{LIMIT, content, pass_over, send};

mod tcp_pair;

/// Two processes, of which rank 0's connections are read by a BPF program; `None` where the kernel
/// does not permit it.
fn job() -> Option<[Tcp; 2]> {
    if let Err(error) = find_bpf() {
        pass_over(&error);
        return None;
    }
    Some(tcp_pair::job(Progress::Bpf))
}

/// Sends what has room. True when everything has left.
fn go_on(sender: &mut Tcp) -> bool {
    // It hears there that there is room.
    assert!(sender.poll().is_none());
    sender.resume(0)
}

/// Takes the next packet of rank 1: its payload, by copies and straight to its place in turns.
fn receive(job: &mut [Tcp; 2]) -> Vec<u8> {
    receive_placed(job, usize::MAX)
}

/// As [`receive`]; from so many bytes on, nothing goes straight to its place.
fn receive_placed(job: &mut [Tcp; 2], placed: usize) -> Vec<u8> {
    let begun = Instant::now();
    let mut buffer = Vec::new();
    let mut arrived = 0;
    let mut is_here = false;
    loop {
        let [receiver, sender] = job;
        go_on(sender);
        match receiver.poll() {
            Some(Event::Packet { payload, .. }) => {
                assert!(!is_here, "a packet began within another");
                is_here = true;
                buffer = vec![0; payload];
            }
            Some(Event::Payload { .. }) => assert!(is_here),
            Some(other) => panic!("{other:?}: {:?}", receiver.trouble(1)),
            None => assert!(begun.elapsed() < LIMIT, "{arrived} bytes came"),
        }
        if is_here {
            let at_hand = receiver.at_hand();
            let bytes = at_hand.len().min(buffer.len() - arrived);
            buffer[arrived..arrived + bytes].copy_from_slice(&at_hand[..bytes]);
            arrived += bytes;
            receiver.pass(bytes);
            if bytes == 0 && arrived >= placed {
                receiver.read_at_hand();
            } else if bytes == 0 && arrived < buffer.len() {
                let end = buffer.len().min(placed);
                let rest = &mut buffer[arrived..end];
                // SAFETY: all bytes come before the buffer goes.
                arrived += unsafe { receiver.read_into(rest.as_mut_ptr(), rest.len()) };
            }
        }
        if is_here && arrived == buffer.len() {
            return buffer;
        }
    }
}

fn is_readable(fd: RawFd, wait: Duration) -> bool {
    let mut asked = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the structure is a local.
    unsafe { libc::poll(&mut asked, 1, wait.as_millis() as i32) == 1 }
}

/// What was to be heard is heard.
fn settle(job: &mut [Tcp; 2]) {
    for _ in 0..1000 {
        assert!(job[0].poll().is_none());
    }
}

/// Messages are received without a system call: the connection is made, and from then on no read
/// is counted, and no question what has changed while looks find messages.
#[test]
fn messages_come_without_a_call() {
    let Some(mut job) = job() else { return };
    send(&mut job, &content(8));
    assert_eq!(receive(&mut job), content(8));
    settle(&mut job);
    let before = job[0].counters();
    for bytes in [0, 1, 8, 100, 4000, 5000, 60_000] {
        send(&mut job, &content(bytes));
        assert_eq!(receive(&mut job), content(bytes), "{bytes} bytes");
    }
    assert_eq!(job[0].counters().reads, before.reads);
    // Looks that find nothing may ask the kernel; so all of a window is sent first, and looks find
    // something. What a busy machine brings late is in the next window.
    let windows = (0..50).map(|_| {
        for _ in 0..16 {
            send(&mut job, &content(100));
        }
        while !go_on(&mut job[1]) {}
        thread::sleep(Duration::from_millis(1));
        let before = job[0].counters();
        for _ in 0..16 {
            assert_eq!(receive(&mut job), content(100));
        }
        let after = job[0].counters();
        assert_eq!(after.reads, before.reads);
        after.questions - before.questions
    });
    assert_eq!(windows.min(), Some(0));
}

/// Once a long payload goes to its place no more, the ring is used again, and so it is by what
/// comes behind.
#[test]
fn a_payload_that_is_placed_in_part_leaves_the_ring_in_use() {
    let Some(mut job) = job() else { return };
    for round in 0..5 {
        send(&mut job, &content(1 << 20));
        assert!(receive_placed(&mut job, 10_000) == content(1 << 20));
        // The first bytes after the change may have passed already.
        send(&mut job, &content(8));
        assert_eq!(receive(&mut job), content(8));
        settle(&mut job);
        let reads = job[0].counters().reads;
        for bytes in [8, 5000, 60_000] {
            send(&mut job, &content(bytes));
            assert_eq!(receive(&mut job), content(bytes), "{bytes} bytes");
        }
        assert_eq!(job[0].counters().reads, reads, "round {round}");
    }
}

/// What is sent while the receiver does something else is taken out of the socket: six hundred
/// kilobytes, more than a socket's first window.
#[test]
fn a_socket_is_drained_while_the_process_computes() {
    let Some(mut job) = job() else { return };
    send(&mut job, &content(1));
    assert_eq!(receive(&mut job), content(1));
    let payloads: Vec<_> = (0..10).map(|number| content(60_000 + number)).collect();
    for payload in &payloads {
        send(&mut job, payload);
        let begun = Instant::now();
        while !go_on(&mut job[1]) {
            assert!(begun.elapsed() < LIMIT, "a window has closed");
        }
    }
    let reads = job[0].counters().reads;
    for payload in &payloads {
        assert!(receive(&mut job) == *payload);
    }
    assert_eq!(job[0].counters().reads, reads);
}

/// More arrives than the ring has room for: the rest waits in the socket, in order.
#[test]
fn what_has_no_room_comes_behind() {
    let Some(mut job) = job() else { return };
    for round in 0..20 {
        let payloads: Vec<_> = (0..40)
            .map(|number| content([1 << 19, 10, 70_000, 4096, 0][(number + round) % 5] + round))
            .collect();
        let mut received = payloads.iter();
        for (number, payload) in payloads.iter().enumerate() {
            send(&mut job, payload);
            let begun = Instant::now();
            while !go_on(&mut job[1]) {
                // The socket is full, too: one message makes room.
                if begun.elapsed() > Duration::from_millis(1)
                    && let Some(next) = received.next()
                {
                    assert!(receive(&mut job) == *next, "round {round}, packet {number}");
                }
                assert!(begun.elapsed() < LIMIT);
            }
        }
        for next in received {
            assert!(receive(&mut job) == *next, "round {round}");
        }
    }
}

/// Who sleeps is woken.
#[test]
fn a_sleeper_is_woken() {
    let Some(mut job) = job() else { return };
    send(&mut job, &content(1));
    assert_eq!(receive(&mut job), content(1));
    for round in 0..50 {
        let begun = Instant::now();
        while !job[0].prepare_sleep() {
            assert!(job[0].poll().is_none());
            assert!(begun.elapsed() < LIMIT, "it never sleeps");
        }
        let fd = job[0].fd();
        let sending = thread::spawn(move || {
            thread::sleep(Duration::from_millis(round % 3));
            send(&mut job, &content(8));
            job
        });
        assert!(is_readable(fd, LIMIT), "round {round}: nobody woke it");
        job = sending.join().unwrap();
        job[0].handle_waking();
        assert_eq!(receive(&mut job), content(8));
    }
}

/// The other process ends: that is heard, behind all that it sent.
#[test]
fn an_end_comes_behind_everything() {
    for bytes in [8, 100_000, 1 << 20] {
        let Some(mut job) = job() else { return };
        send(&mut job, &content(1));
        assert_eq!(receive(&mut job), content(1));
        send(&mut job, &content(bytes));
        assert!(receive(&mut job) == content(bytes));
        send(&mut job, &content(7));
        while !go_on(&mut job[1]) {}
        let [mut receiver, sender] = job;
        drop(sender);
        let begun = Instant::now();
        let mut packets = 0;
        loop {
            match receiver.poll() {
                Some(Event::Packet { payload, .. }) => {
                    assert_eq!(receiver.at_hand(), content(payload));
                    receiver.pass(payload);
                    packets += 1;
                }
                Some(Event::Lost(1)) => break,
                Some(other) => panic!("{other:?}"),
                None => assert!(begun.elapsed() < LIMIT, "nobody heard of the end"),
            }
        }
        assert_eq!(packets, 1);
    }
}

/// What a user is told where BPF is not for us.
#[test]
fn a_process_without_capabilities_is_told_which() {
    let answer = thread::spawn(|| {
        // SAFETY: header and sets are locals; it concerns this thread, which ends soon.
        unsafe {
            let header = [0x2008_0522u32, 0];
            let sets = [0u32; 6];
            assert_eq!(libc::syscall(libc::SYS_capset, &header, &sets), 0);
        }
        find_bpf()
    });
    let text = answer.join().unwrap().unwrap_err().to_string();
    assert!(
        text.contains("lacks CAP_BPF, CAP_NET_ADMIN: become root, or grant them"),
        "{text}"
    );
}
