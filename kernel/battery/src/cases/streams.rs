//! /dev/oxk-stream: streams of bytes between processes, beside a TCP socket.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use super::case;
use crate::ground::PATIENCE;
use crate::packet::pattern;
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::stream_device::{
    ACCEPT, Address, Counts, LISTEN, NAME, SHUTDOWN, accept, address, ask, connect, counts, key,
    listen, open, pair, place,
};
use crate::sys::{self, Buffer, Child, Ended, ioctl, ioctl_with, switches};

pub const CASES: &[Case] = &[
    case("streams-same-bytes", same_bytes),
    case("streams-short-reads", short_reads),
    case("streams-without-waiting", without_waiting),
    case("streams-endings", endings),
    case("streams-many", many),
    case("streams-and-signals", signals),
    case("streams-misuse", misuse),
    Case {
        name: "streams-beside-tcp",
        time_s: 180,
        run: beside_tcp,
    },
];

/// Reads so many bytes; how many calls it took.
fn read_all(from: &mut impl Read, into: &mut [u8]) -> Outcome<u64> {
    let (mut at, mut calls) = (0, 0);
    while at < into.len() {
        calls += 1;
        match from.read(&mut into[at..])? {
            0 => return fail(format!("the end after {at} of {} bytes", into.len())),
            n => at += n,
        }
    }
    Ok(calls)
}

/// A length up to 1 MiB, the short ones as likely as the long ones.
fn length(random: &mut Random) -> usize {
    let most = 1 << random.below(21);
    1 + random.below(most) as usize
}

/// Both ways at once, in blocks of all sizes; then the end.
fn same_bytes(random: &mut Random) -> Outcome {
    const BYTES: usize = 3 << 20;
    let (one, two) = pair()?;
    let seeds = [random.next(), random.next()];
    let speak = |stream: &File, number: u64, seed: u64| -> Outcome {
        let (mut stream, mut random) = (stream, Random::new(seed));
        let (bytes, mut at) = (pattern(number, 0, BYTES), 0);
        while at < BYTES {
            let n = length(&mut random).min(BYTES - at);
            stream.write_all(&bytes[at..at + n])?;
            at += n;
        }
        ask(stream, SHUTDOWN, &mut 0u64).map(drop)
    };
    let hear = |stream: &File, number: u64, seed: u64| -> Outcome {
        let (mut stream, mut random) = (stream, Random::new(seed ^ 1));
        let (mut bytes, mut at) = (vec![0; BYTES + 1], 0);
        loop {
            let n = length(&mut random).min(bytes.len() - at);
            match stream.read(&mut bytes[at..at + n])? {
                0 => break,
                n => at += n,
            }
        }
        equal("length", at, BYTES)?;
        equal("bytes", bytes[..BYTES] == pattern(number, 0, BYTES), true)
    };
    std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| speak(&one, 1, seeds[0])),
            scope.spawn(|| speak(&two, 2, seeds[1])),
            scope.spawn(|| hear(&one, 2, seeds[0])),
            scope.spawn(|| hear(&two, 1, seeds[1])),
        ];
        for thread in threads {
            thread.join().expect("no panic")?;
        }
        Ok(())
    })
}

/// A message that is longer than a read goes on in the next; what fits is not copied.
fn short_reads(_: &mut Random) -> Outcome {
    let (mut one, mut two) = pair()?;
    let bytes = pattern(1, 0, 1 << 20);
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || -> Outcome<File> {
        one.write_all(&sent)?;
        Ok(one)
    });
    let mut found = vec![0; bytes.len()];
    let mut at = 0;
    for size in [1, 4095, 4096, 4097, 65_536, 100_000, 262_144, 1 << 20]
        .iter()
        .cycle()
    {
        let n = (*size).min(found.len() - at);
        at += two.read(&mut found[at..at + n])?;
        if at == found.len() {
            break;
        }
    }
    let one = writer.join().expect("no panic")?;
    equal("bytes", found == bytes, true)?;
    let (writer, reader) = (counts(&one)?, counts(&two)?);
    equal("written straight", writer.bytes_written, 1 << 20)?;
    let read = reader.bytes_read + reader.bytes_copied;
    equal("read", read, 1 << 20)?;
    equal("some of it straight", reader.bytes_read > 0, true)
}

/// Calls that must not wait, and poll.
fn without_waiting(_: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let would_block = |errno| equal("errno", errno, Err(libc::EAGAIN));
    sys::set_nonblocking(listener.as_fd())?;
    would_block(ioctl(listener.as_raw_fd(), ACCEPT, 0))?;
    let mut one = connect(key, place)?;
    equal(
        "poll of a listener",
        sys::is_readable(listener.as_fd())?,
        true,
    )?;
    let mut two = accept(&listener, libc::O_NONBLOCK)?;
    let mut byte = [0; 100];
    let read = two.read(&mut byte).map_err(|error| error.kind());
    equal("nothing yet", read, Err(ErrorKind::WouldBlock))?;
    one.write_all(b"short")?;
    let start = Instant::now();
    while !sys::is_readable(two.as_fd())? && start.elapsed() < PATIENCE {}
    equal("read", two.read(&mut byte)?, 5)?;
    equal("bytes", &byte[..5], b"short")?;
    // Until nothing is taken any more, then all of it is read.
    let bytes = pattern(1, 0, 4 << 20);
    let mut written = 0;
    while written < bytes.len() {
        match two.write(&bytes[written..]) {
            Ok(n) => written += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error.into()),
        }
    }
    equal("taken before it stops", written < bytes.len(), true)?;
    let mut found = vec![0; written];
    read_all(&mut one, &mut found)?;
    equal("bytes", found == bytes[..written], true)?;
    equal("copied", counts(&two)?.bytes_copied >= written as u64, true)
}

/// What was written before a close is read, then the end; who writes to nobody is told.
fn endings(_: &mut Random) -> Outcome {
    for round in 0..10 {
        let (mut one, mut two) = pair()?;
        let bytes = pattern(round, 0, 5000);
        one.write_all(&bytes)?;
        drop(one);
        let mut found = Vec::new();
        two.read_to_end(&mut found)?;
        equal("bytes before the close", found == bytes, true)?;
        let start = Instant::now();
        loop {
            match two.write(&bytes) {
                Err(error) => {
                    let broken = matches!(
                        error.raw_os_error(),
                        Some(libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN)
                    );
                    equal("an error of a broken pipe", broken, true)?;
                    break;
                }
                Ok(_) if start.elapsed() > PATIENCE => return fail("nobody reads it"),
                Ok(_) => {}
            }
        }
    }
    // With data under way in both directions, and a reader that does not read.
    for _ in 0..10 {
        let (one, two) = pair()?;
        std::thread::scope(|scope| {
            scope.spawn(|| (&one).write_all(&pattern(1, 0, 1 << 20)));
            std::thread::sleep(Duration::from_millis(20));
            drop(two);
        });
    }
    Ok(())
}

/// Streams of one listener do not meet.
fn many(_: &mut Random) -> Outcome {
    const STREAMS: u64 = 24;
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..STREAMS {
            threads.push(scope.spawn(move || -> Outcome {
                let mut stream = connect(key, place)?;
                stream.write_all(&number.to_le_bytes())?;
                stream.write_all(&pattern(number, 0, 100_000))?;
                let mut found = vec![0; 100_000];
                read_all(&mut stream, &mut found)?;
                equal("echo", found == pattern(number, 0, 100_000), true)?;
                // Who closes before the other side knows that all was read may have it told so.
                equal("the end", stream.read(&mut [0])?, 0)
            }));
        }
        for _ in 0..STREAMS {
            let mut stream = accept(&listener, 0)?;
            threads.push(scope.spawn(move || -> Outcome {
                let (mut number, mut found) = ([0; 8], vec![0; 100_000]);
                read_all(&mut stream, &mut number)?;
                read_all(&mut stream, &mut found)?;
                stream.write_all(&found)?;
                let number = u64::from_le_bytes(number);
                equal("bytes", found == pattern(number, 0, 100_000), true)
            }));
        }
        for thread in threads {
            thread.join().expect("no panic")?;
        }
        Ok(())
    })
}

/// A process that is killed while it waits lets go, and its peer is told.
fn signals(_: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    for writes in [true, false] {
        let child = Child::fork(move || {
            // A child has no keys of its own.
            let stream = crate::stream_device::key(NAME).and_then(|key| connect(key, place));
            let Ok(mut stream) = stream else {
                return 1;
            };
            match writes {
                true => i32::from(stream.write_all(&vec![7; 1 << 20]).is_err()),
                false => i32::from(stream.read(&mut [0; 100]).is_err()),
            }
        })?;
        let mut stream = accept(&listener, 0)?;
        std::thread::sleep(Duration::from_millis(100));
        child.kill(libc::SIGKILL);
        let ended = child.wait(PATIENCE)?;
        equal("killed", ended, Some(Ended::Signal(libc::SIGKILL)))?;
        let mut found = Vec::new();
        // The end, or an error: not for ever.
        let _ = stream.read_to_end(&mut found);
        let intact = found.iter().all(|byte| *byte == 7);
        equal("bytes", intact, true)?;
    }
    Ok(())
}

/// Requests in the wrong order, keys and memory that are none.
fn misuse(_: &mut Random) -> Outcome {
    let mut stream = open()?;
    let errno = |result: std::io::Result<usize>| result.err().and_then(|it| it.raw_os_error());
    equal("read", errno(stream.read(&mut [0])), Some(libc::ENOTCONN))?;
    equal("write", errno(stream.write(&[0])), Some(libc::ENOTCONN))?;
    let fd = stream.as_raw_fd();
    equal("accept", ioctl(fd, ACCEPT, 0), Err(libc::EINVAL))?;
    equal("another", ioctl(fd, 0x1234, 0), Err(libc::ENOTTY))?;
    let right = key(NAME)?;
    let good = address(right, 8, place());
    for (what, wrong) in [
        ("no key", Address { key: -99, ..good }),
        ("no backlog", Address { backlog: 0, ..good }),
        (
            "a long backlog",
            Address {
                backlog: 33,
                ..good
            },
        ),
        ("a long address", Address { bytes: 29, ..good }),
        ("no address", Address { bytes: 0, ..good }),
        ("half an address", Address { bytes: 15, ..good }),
    ] {
        if ioctl_with(fd, LISTEN, &mut { wrong }).is_ok() {
            return fail(format!("listening with {what}"));
        }
    }
    // Of other protocols there are no sockets here.
    for family in (0..50).filter(|family| ![libc::AF_INET, libc::AF_INET6].contains(family)) {
        let mut other = good;
        other.address[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        let answer = ioctl_with(fd, LISTEN, &mut other);
        equal(&format!("family {family}"), answer, Err(libc::EINVAL))?;
    }
    ask(&stream, LISTEN, &mut { good })?;
    equal(
        "twice",
        ioctl_with(fd, LISTEN, &mut { good }),
        Err(libc::EISCONN),
    )?;
    // Somebody with another key, and nobody at all.
    let place = SocketAddrV4::new(
        Ipv4Addr::LOCALHOST,
        u16::from_be_bytes([good.address[2], good.address[3]]),
    );
    let other = key("oxk-other")?;
    equal("another key", connect(other, place).is_err(), true)?;
    equal(
        "nobody there",
        connect(right, crate::stream_device::place()).is_err(),
        true,
    )?;
    let mut one = connect(right, place)?;
    let two = accept(&stream, 0)?;
    let gone = Buffer::new(8192);
    gone.unmap();
    let read_only = Buffer::read_only(8192)?;
    one.write_all(b"x")?;
    for memory in [gone, read_only] {
        let answer = sys::read_to(two.as_fd(), memory);
        equal("read into nothing", answer, Err(libc::EFAULT))?;
    }
    let mut byte = [0];
    equal("still there", (&two).read(&mut byte)?, 1)?;
    Ok(())
}

/// What moving a MiB costs, in blocks of this size.
fn cost(name: &str, block: usize, mut writer: impl Write + Send, mut reader: impl Read) -> Outcome {
    const BYTES: usize = 4 << 20;
    let bytes = pattern(1, 0, BYTES);
    let mut found = vec![0; BYTES];
    let before = switches();
    let calls = std::thread::scope(|scope| -> Outcome<u64> {
        let sent = scope.spawn(|| -> std::io::Result<u64> {
            for piece in bytes.chunks(block) {
                writer.write_all(piece)?;
            }
            Ok((BYTES / block) as u64)
        });
        let mut calls = 0;
        for piece in found.chunks_mut(block) {
            calls += read_all(&mut reader, piece)?;
        }
        Ok(calls + sent.join().expect("no panic")?)
    })?;
    let waits = switches() - before;
    equal("bytes", found == bytes, true)?;
    println!(
        "count {name}_{}_KiB_calls_per_MiB={} waits_per_MiB={}",
        block >> 10,
        calls / (BYTES >> 20) as u64,
        waits / (BYTES >> 20) as u64
    );
    Ok(())
}

/// The same program over a TCP socket and over a stream.
fn beside_tcp(_: &mut Random) -> Outcome {
    for block in [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        let (two, _) = listener.accept()?;
        cost("tcp", block, one, two)?;
        // A socket copies every byte on both sides.
        println!("count tcp_{}_KiB_copied_per_MiB={}", block >> 10, 2 << 20);
        let (one, two) = pair()?;
        cost("stream", block, &one, &two)?;
        let (writer, reader) = (counts(&one)?, counts(&two)?);
        let both = |of: fn(&Counts) -> u64| (of(&writer) + of(&reader)) / 4;
        println!(
            "count stream_{}_KiB_copied_per_MiB={} pages_pinned_per_MiB={} wakeups_per_MiB={} \
             straight_per_MiB={}",
            block >> 10,
            both(|it| it.bytes_copied),
            both(|it| it.pages_pinned),
            both(|it| it.wakeups),
            both(|it| it.bytes_read + it.bytes_written)
        );
    }
    Ok(())
}
