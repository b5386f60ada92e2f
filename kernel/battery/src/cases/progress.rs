//! Receives that complete while the process does something else, and processes that sleep.

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_wire::o2g::DONE;

use super::case;
use crate::ground::{Ground, PATIENCE, Receive, connection};
use crate::packet::{eager, pattern};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Buffer, Child, Ended, cpu_us, epoll, stop_self};

pub const CASES: &[Case] = &[
    case("done-while-computing", computing),
    case("done-while-stopped", stopped),
    case("poll-sleeps", poll_sleeps),
    case("poll-is-woken", poll_is_woken),
    case("poll-knows-what-is-there", poll_level),
    case("poll-by-epoll", by_epoll),
];

/// The process makes no call at all from before the send until its flag is set.
fn computing(_: &mut Random) -> Outcome {
    for bytes in [100, 100_000, 1 << 20] {
        let mut ground = Ground::new(1)?;
        let buffer = Buffer::new(bytes);
        let receive = Receive::new(0, Some(0), Some(1), buffer);
        ground.post(&receive)?;
        let message = eager(0, 1, &pattern(1, 0, bytes));
        let mut peer = ground.peers[0].try_clone()?;
        let sender = Child::fork(move || {
            thread::sleep(Duration::from_millis(50));
            match std::io::Write::write_all(&mut peer, &message) {
                Ok(()) => 0,
                Err(_) => 1,
            }
        })?;
        let mut looks = 0u64;
        // The case's time ends it if this does not.
        while ground.device.state(0) != DONE {
            looks += 1;
            std::hint::spin_loop();
        }
        equal("bytes", buffer.copy() == pattern(1, 0, bytes), true)?;
        equal("the process computed meanwhile", looks > 1000, true)?;
        equal("sender", sender.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    }
    Ok(())
}

/// A process that is stopped receives all the same.
fn stopped(_: &mut Random) -> Outcome {
    for bytes in [4000, 1 << 20] {
        let (mut peer, ours) = connection()?;
        let message = eager(0, 1, &pattern(2, 0, bytes));
        let spare = peer.try_clone()?;
        let receiver = Child::fork(move || match receive_stopped(spare, ours, bytes) {
            Ok(()) => 0,
            Err(_) => 1,
        })?;
        equal("stopped", receiver.wait(PATIENCE)?, Some(Ended::Stopped))?;
        peer.set_write_timeout(Some(PATIENCE))?;
        std::io::Write::write_all(&mut peer, &message)?;
        thread::sleep(Duration::from_millis(500));
        receiver.kill(libc::SIGCONT);
        let ended = receiver.wait(PATIENCE)?;
        if ended != Some(Ended::Exit(0)) {
            receiver.kill(libc::SIGKILL);
            return fail(format!(
                "{bytes} bytes were not there when the process went on: {ended:?}"
            ));
        }
    }
    Ok(())
}

fn receive_stopped(peer: std::net::TcpStream, ours: std::net::TcpStream, bytes: usize) -> Outcome {
    let mut ground = Ground::over(vec![(peer, ours)], 8, 64 << 10)?;
    let buffer = Buffer::new(bytes);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    stop_self();
    // The first thing that it does is this one load.
    equal("state", ground.device.state(0), DONE)?;
    equal("bytes", buffer.copy() == pattern(2, 0, bytes), true)
}

fn poll_sleeps(_: &mut Random) -> Outcome {
    let ground = Ground::new(1)?;
    let (start, cpu) = (Instant::now(), cpu_us());
    let found = ground.device.wait(Some(Duration::from_millis(500)))?;
    equal("something to read", found, false)?;
    let (time, cpu) = (start.elapsed(), cpu_us() - cpu);
    equal("half a second", time >= Duration::from_millis(499), true)?;
    if cpu > 100_000 {
        return fail(format!("{cpu} µs of processor time in a sleep of {time:?}"));
    }
    Ok(())
}

/// Woken by an unexpected message, by a placed one, and by an end.
fn poll_is_woken(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let receive = Receive::new(0, Some(0), Some(2), Buffer::new(1 << 20));
    ground.post(&receive)?;
    let messages = [
        Some(eager(0, 1, b"unexpected")),
        Some(eager(0, 2, &pattern(1, 0, 1 << 20))),
        None,
    ];
    let mut peer = Some(ground.peers.remove(0));
    for message in messages {
        let mut to = peer.as_ref().expect("kept until the last").try_clone()?;
        let last = message.is_none().then(|| peer.take());
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            match message {
                Some(message) => std::io::Write::write_all(&mut to, &message),
                None => to.shutdown(std::net::Shutdown::Both),
            }
        });
        let start = Instant::now();
        let found = ground.device.wait(Some(PATIENCE))?;
        equal("woken", found, true)?;
        equal(
            "it slept",
            start.elapsed() > Duration::from_millis(50),
            true,
        )?;
        sender.join().expect("the sender does not panic")?;
        ground.next()?;
        drop(last);
    }
    let wakeups = ground.device.counters()?.wakeups;
    equal("three times at least", wakeups >= 3, true)
}

/// A record that was there before is seen at once, again and again until it is taken.
fn poll_level(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"there"))?;
    for _ in 0..3 {
        equal("there", ground.device.wait(Some(PATIENCE))?, true)?;
    }
    ground.next_packet()?;
    let found = ground.device.wait(Some(Duration::from_millis(50)))?;
    equal("taken", found, false)
}

fn by_epoll(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    equal("nothing", epoll(ground.device.as_fd(), 20), Ok(0))?;
    let mut peer = ground.peers[0].try_clone()?;
    let sender = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        std::io::Write::write_all(&mut peer, &eager(0, 1, b"wake"))
    });
    equal("woken", epoll(ground.device.as_fd(), 10_000), Ok(1))?;
    sender.join().expect("the sender does not panic")?;
    ground.next_packet()?;
    equal("taken", epoll(ground.device.as_fd(), 20), Ok(0))
}
