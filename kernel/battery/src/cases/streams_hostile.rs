//! /dev/oxk-stream against peers that keep to nothing: strangers, peers that know the key and write
//! anything, on both sides of a stream, and connections that end at any moment.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::case;
use crate::packet::pattern;
use crate::random::Random;
use crate::raw_peer::{RawPeer, admit, offer};
use crate::runner::{Case, Outcome, equal, fail};
use crate::stream_device::{NAME, accept, connect, key, listen, pair, payload};
use crate::sys;

pub const CASES: &[Case] = &[
    case("streams-strangers", strangers),
    case("streams-crafted", crafted),
    case("streams-silent-peer", silent),
    case("streams-hello-flood", hello_flood),
    Case {
        name: "streams-raw-peer",
        time_s: 120,
        run: raw_peers,
    },
    Case {
        name: "streams-raw-listener",
        time_s: 120,
        run: raw_listeners,
    },
    Case {
        name: "streams-resets",
        time_s: 120,
        run: resets,
    },
];

/// What the upper 16 bits of a message say (`kernel/oxk/stream/stream.h`).
const HELLO: u64 = 1 << 48;
const WELCOME: u64 = 2 << 48;
const DATA: u64 = 4 << 48;
const FIN: u64 = 5 << 48;
const GONE: u64 = 6 << 48;
const ID: u64 = (1 << 48) - 1;
/// `OXKS_PIECE_BYTES`.
const PIECE: usize = 256 << 10;
/// More than a piece.
const LONG: u64 = PIECE as u64 + 1;

/// The next stream of a listener that does not wait, if one comes within some time.
fn accept_soon(listener: &File, time: Duration) -> Outcome<Option<File>> {
    let start = Instant::now();
    while !sys::is_readable(listener.as_fd())? {
        if start.elapsed() > time {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    accept(listener, 0).map(Some)
}

/// A stream of a raw peer, with the file that it was accepted as.
fn stream_of(listener: &File, place: SocketAddrV4, id: u64) -> Outcome<(RawPeer, File)> {
    let mut peer = RawPeer::dial(place, payload(NAME))?;
    peer.eager(HELLO | id, &[])?;
    equal("the answer", peer.hear()?.envelope.context, WELCOME | id)?;
    Ok((peer, accept(listener, 0)?))
}

/// A stream between proper ends goes on meanwhile.
fn still_good(ends: &mut (File, File), number: u64) -> Outcome {
    let bytes = pattern(number, 0, 3000);
    let mut found = vec![0; bytes.len()];
    ends.0.write_all(&bytes)?;
    ends.1.read_exact(&mut found)?;
    equal("bytes of another stream", found == bytes, true)
}

/// Bytes of any kind in place of a handshake.
fn strangers(random: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    for round in 0..30 {
        let mut stranger = TcpStream::connect(place)?;
        let n = 1 << random.below(14);
        let bytes: Vec<u8> = (0..n).map(|_| random.next() as u8).collect();
        // It may be cut off before it has written all.
        let _ = stranger.write_all(&bytes);
        if random.one_in(2) {
            sys::reset_on_close(&stranger)?;
        }
        drop(stranger);
        still_good(&mut good, round)?;
    }
    equal(
        "a stream of a stranger",
        sys::is_readable(listener.as_fd())?,
        false,
    )
}

fn errno<T>(result: io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

/// What a peer does wrong in the stream of a number.
type Wrong = dyn Fn(&mut RawPeer, u64) -> io::Result<()>;

/// Messages that no stream sends: an error for the reader of that stream, which stays.
fn crafted(_: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    let wrongs: [(&str, &Wrong); 4] = [
        ("an empty piece", &|peer, id| peer.eager(DATA | id, &[])),
        ("a piece that is too long", &|peer, id| {
            peer.write(DATA | id, LONG, offer(1), &[])
        }),
        ("a piece of 2^47 bytes", &|peer, id| {
            peer.write(DATA | id, 1 << 47, offer(1), &[])
        }),
        ("a piece behind the end", &|peer, id| {
            peer.eager(FIN | id, &[])?;
            peer.eager(DATA | id, b"late")
        }),
    ];
    for (number, (what, wrong)) in wrongs.iter().enumerate() {
        for posted in [false, true] {
            let id = 100 + number as u64;
            let (mut peer, stream) = stream_of(&listener, place, id)?;
            let read = std::thread::scope(|scope| -> Outcome<io::Result<usize>> {
                let read = scope.spawn(|| {
                    if !posted {
                        std::thread::sleep(Duration::from_millis(300));
                    }
                    (&stream).read(&mut [0; 1000])
                });
                if posted {
                    std::thread::sleep(Duration::from_millis(300));
                }
                wrong(&mut peer, id)?;
                // One that met a receive is sent after it is asked for.
                if posted && number == 1 {
                    let clear = peer.hear()?.kind;
                    let oxmpi_wire::Kind::ClearToSend { receive, .. } = clear else {
                        return fail(format!("{clear:?} in place of a clear to send"));
                    };
                    let bytes = vec![1; LONG as usize];
                    let data = oxmpi_wire::Kind::Data { receive, offset: 0 };
                    peer.write(DATA | id, LONG, data, &bytes)?;
                }
                if posted && number == 2 {
                    // The bytes never come, only the end of the connection.
                    peer.hear()?;
                    sys::reset_on_close(&peer.stream)?;
                    drop(peer);
                }
                Ok(read.join().expect("no panic"))
            })?;
            match (number, posted, read) {
                // The end comes first, and is read; a read that was waiting may get the piece.
                (3, _, Ok(0)) | (3, true, Ok(4)) => {}
                (2, true, read) => {
                    equal(what, errno(read), Some(libc::ECONNRESET))?;
                }
                (_, _, read) => equal(what, errno(read), Some(libc::EPROTO))?,
            }
            still_good(&mut good, id)?;
        }
    }
    // The same stream twice, words that belong to nothing, and words with bytes.
    let (mut peer, stream) = stream_of(&listener, place, 7)?;
    for word in [HELLO, WELCOME, WELCOME + (1 << 48), GONE, 77 << 48] {
        peer.eager(word | 7, b"more than nothing")?;
        peer.eager(word | 8, &[])?;
    }
    peer.eager(DATA | 7, b"in order")?;
    let mut found = [0; 8];
    (&stream).read_exact(&mut found)?;
    equal("after words of all kinds", &found, b"in order")?;
    still_good(&mut good, 9)
}

/// A peer that says nothing any more keeps nobody from closing: it is lost after OXK_CANCEL_MS.
fn silent(_: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    let limit = Duration::from_secs(20);
    // It offers a piece, is asked for it by the close, and does not send it.
    let (mut peer, stream) = stream_of(&listener, place, 1)?;
    peer.write(DATA | 1, 100_000, offer(1), &[])?;
    let start = Instant::now();
    while !sys::is_readable(stream.as_fd())? && start.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(2));
    }
    let start = Instant::now();
    drop(stream);
    equal("closed soon, receiving", start.elapsed() < limit, true)?;
    still_good(&mut good, 1)?;
    // It is offered a piece, and answers nothing, also when it is asked back.
    let (_peer, mut stream) = stream_of(&listener, place, 2)?;
    sys::set_nonblocking(stream.as_fd())?;
    equal("written behind", stream.write(&vec![1; 100_000])?, 100_000)?;
    let start = Instant::now();
    drop(stream);
    equal("closed soon, sending", start.elapsed() < limit, true)?;
    still_good(&mut good, 2)
}

/// A peer that begins streams for ever and takes no answer: the requests of the endpoint stay for
/// others. Its own window is not exceeded, because words are taken when they come.
fn hello_flood(_: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    let mut peer = RawPeer::dial(place, payload(NAME))?;
    let mut said = 0;
    for round in 0..60 {
        for _ in 0..40 {
            peer.eager(HELLO | said, &[])?;
            said += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
        still_good(&mut good, round)?;
    }
    Ok(())
}

/// Reads and writes until the stream ends, however it does.
fn use_up(stream: &File) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bytes = vec![3; 20_000];
            for _ in 0..100 {
                if (&*stream).write(&bytes).is_err() {
                    break;
                }
            }
        });
        let mut bytes = vec![0; 10_000];
        while matches!((&*stream).read(&mut bytes), Ok(1..)) {}
    });
}

/// Bits of a message about a stream, mostly pieces.
fn some_bits(random: &mut Random, id: u64) -> u64 {
    match random.below(8) {
        0..5 => DATA | id,
        _ => (random.below(9) << 48) | id,
    }
}

/// Peers that know the key and write anything.
fn raw_peers(random: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| -> Outcome {
        let (listener, over) = (&listener, &over);
        let acceptor = scope.spawn(move || -> Outcome<u32> {
            let mut streams = Vec::new();
            while !over.load(Ordering::Acquire) {
                if let Some(stream) = accept_soon(listener, Duration::from_millis(20))? {
                    streams.push(scope.spawn(move || use_up(&stream)));
                }
            }
            Ok(streams.len() as u32)
        });
        let mut tried = || -> Outcome {
            for round in 0..40 {
                let mut peer = RawPeer::dial(place, payload(NAME))?;
                let id = random.below(4);
                if !random.one_in(4) {
                    let _ = peer.eager(HELLO | id, &[]);
                    // Most streams begin properly, so that somebody reads what follows.
                    if !random.one_in(3) {
                        let _ = peer.hear();
                    }
                }
                for _ in 0..random.below(30) {
                    let bits = some_bits(random, id);
                    if peer.nonsense(random, bits).is_err() {
                        break;
                    }
                }
                if random.one_in(4) {
                    let noise: Vec<u8> = (0..300).map(|_| random.next() as u8).collect();
                    let _ = peer.stream.write_all(&noise);
                }
                if random.one_in(2) {
                    sys::reset_on_close(&peer.stream)?;
                }
                drop(peer);
                still_good(&mut good, round)?;
            }
            Ok(())
        };
        let outcome = tried();
        over.store(true, Ordering::Release);
        let streams = acceptor.join().expect("no panic")?;
        println!("count streams_of_raw_peers={streams}");
        outcome
    })
}

/// A stream that connects to one who knows the key and writes anything.
fn raw_listeners(random: &mut Random) -> Outcome {
    let key = key(NAME)?;
    let mut connected = 0;
    for round in 0..30 {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let std::net::SocketAddr::V4(place) = listener.local_addr()? else {
            return fail("an address that is not IPv4");
        };
        let seed = random.next();
        let welcomes = round % 3 != 0;
        std::thread::scope(|scope| -> Outcome {
            let peer = scope.spawn(move || -> Outcome {
                let mut random = Random::new(seed);
                let (mut stream, _) = listener.accept()?;
                if random.one_in(5) {
                    let noise: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
                    let _ = stream.write_all(&noise);
                    return Ok(());
                }
                let mut peer = RawPeer::of(admit(stream, payload(NAME))?)?;
                // It may end at any time from here on, which is no fault of the case.
                let Ok(hello) = peer.hear() else {
                    return Ok(());
                };
                let id = hello.envelope.context & ID;
                if welcomes {
                    let _ = peer.eager(WELCOME | id, &[]);
                }
                for _ in 0..random.below(30) {
                    let bits = some_bits(&mut random, id);
                    if peer.nonsense(&mut random, bits).is_err() {
                        break;
                    }
                }
                if random.one_in(2) {
                    let _ = sys::reset_on_close(&peer.stream);
                }
                Ok(())
            });
            if let Ok(stream) = connect(key, place) {
                connected += 1;
                use_up(&stream);
            }
            peer.join().expect("no panic")
        })?;
    }
    println!("count streams_to_raw_listeners={connected}");
    let mut good = pair()?;
    still_good(&mut good, 1)
}

/// Passes bytes on until so many have passed, then resets both connections.
fn pass_on(mut from: TcpStream, mut to: TcpStream, left: &AtomicI64) -> io::Result<()> {
    let mut bytes = vec![0; 4096];
    from.set_read_timeout(Some(Duration::from_millis(20)))?;
    for end in [&from, &to] {
        sys::reset_on_close(end)?;
    }
    while left.load(Ordering::Acquire) > 0 {
        let n = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => break,
        };
        let before = left.fetch_sub(n as i64, Ordering::AcqRel);
        let passed = n.min(before.max(0) as usize);
        if to.write_all(&bytes[..passed]).is_err() {
            break;
        }
    }
    // The other direction ends, too.
    left.store(0, Ordering::Release);
    Ok(())
}

/// Connections between proper ends that are reset at any moment: in the handshake, in the middle of
/// a piece, in the end. What was read is what was written, as far as it came.
fn resets(random: &mut Random) -> Outcome {
    const BYTES: usize = 1 << 20;
    let key = key(NAME)?;
    let (listener, place) = listen(key)?;
    let bytes = pattern(1, 0, BYTES);
    let (mut connected, mut read_in_all) = (0, 0);
    for _ in 0..25 {
        let between = TcpListener::bind("127.0.0.1:0")?;
        let std::net::SocketAddr::V4(entry) = between.local_addr()? else {
            return fail("an address that is not IPv4");
        };
        let most = 1 << (4 + random.below(18));
        let left = AtomicI64::new(1 + random.below(most) as i64);
        std::thread::scope(|scope| -> Outcome {
            let left = &left;
            let proxy = scope.spawn(move || -> io::Result<()> {
                let (near, _) = between.accept()?;
                let far = TcpStream::connect(place)?;
                let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
                let back = scope.spawn(move || pass_on(far_too, near_too, left));
                pass_on(near, far, left)?;
                back.join().expect("no panic")
            });
            let one = connect(key, entry).ok();
            connected += i32::from(one.is_some());
            let patience = if one.is_some() { 5000 } else { 50 };
            let two = accept_soon(&listener, Duration::from_millis(patience))?;
            if let (Some(one), Some(mut two)) = (one, two) {
                let writer = scope.spawn({
                    let bytes = &bytes;
                    move || (&one).write_all(bytes)
                });
                let (mut found, mut at) = (vec![0; BYTES], 0);
                while at < BYTES {
                    match two.read(&mut found[at..]) {
                        Ok(0) | Err(_) => break,
                        Ok(n) => at += n,
                    }
                }
                equal("what was read", found[..at] == bytes[..at], true)?;
                read_in_all += at;
                drop(two);
                // How it ends is the network's to say; that it ends is the case.
                let _ = writer.join().expect("no panic");
            }
            left.store(0, Ordering::Release);
            Ok(proxy.join().expect("no panic")?)
        })?;
        // A stream whose connection was reset before it was accepted.
        while accept_soon(&listener, Duration::ZERO)?.is_some() {}
    }
    println!("count streams_that_were_reset={connected} bytes_before={read_in_all}");
    let mut good = (connect(key, place)?, accept(&listener, 0)?);
    still_good(&mut good, 1)
}
