//! Two engines on one segment exchange messages on every path the protocol has: whole and in pieces
//! eager, offered and fetched, offered and streamed, to oneself; matched before and after they
//! arrive, truncated, in floods and in order.

mod conversation;
pub mod engines;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use conversation::{LIMIT, SIZES, listen, paths, talk, tell};
use engines::{data, from, irecv, isend, pair, recv, send, within};
use oxmpi_engine::{Engine, Fault, Mode, Options, Threads, WaitMode};

#[test]
fn every_size_arrives_expected_and_unexpected() {
    for (path, options) in paths() {
        talk(
            path,
            &options,
            |left| {
                // Unexpected: everything is on its way before the other side receives.
                let messages: Vec<_> = SIZES.map(|bytes| data(bytes, bytes)).into();
                let requests: Vec<_> = messages
                    .iter()
                    .map(|message| isend(left, 1, 4, message, Mode::Standard))
                    .collect();
                tell(left, 1);
                for request in requests {
                    left.wait(request).unwrap();
                }
                // Expected: the other side has posted before we send.
                listen(left, 1);
                for message in &messages {
                    send(left, 1, 5, message).unwrap();
                }
            },
            |right| {
                listen(right, 0);
                for bytes in SIZES {
                    let mut into = vec![0; bytes + 3];
                    let got = recv(right, 0, 4, &mut into).unwrap();
                    assert_eq!((got.source, got.tag, got.bytes), (0, 4, bytes as u64));
                    assert!(into[..bytes] == data(bytes, bytes), "{bytes} bytes, {path}");
                    assert_eq!(into[bytes..], [0; 3], "beyond {bytes} bytes, {path}");
                }
                let mut buffers = SIZES.map(|bytes| vec![0; bytes]);
                let requests: Vec<_> = buffers
                    .iter_mut()
                    .map(|into| irecv(right, 0, 5, into))
                    .collect();
                tell(right, 0);
                for (request, bytes) in requests.into_iter().zip(SIZES) {
                    assert_eq!(right.wait(request).unwrap().bytes, bytes as u64);
                }
                for (into, bytes) in buffers.iter().zip(SIZES) {
                    assert!(*into == data(bytes, bytes), "{bytes} bytes posted, {path}");
                }
            },
        );
    }
}

#[test]
fn synchronous_sends_end_with_their_match() {
    for (path, options) in paths() {
        talk(
            path,
            &options,
            |left| {
                for bytes in SIZES {
                    let message = data(1, bytes);
                    let request = isend(left, 1, 1, &message, Mode::Synchronous);
                    tell(left, 1);
                    thread::sleep(Duration::from_millis(1));
                    assert!(
                        left.test(request).unwrap().is_none(),
                        "{bytes} bytes unmatched, {path}"
                    );
                    tell(left, 1);
                    left.wait(request).unwrap();
                }
            },
            |right| {
                for bytes in SIZES {
                    listen(right, 0);
                    listen(right, 0);
                    let mut into = vec![0; bytes];
                    recv(right, 0, 1, &mut into).unwrap();
                    assert!(into == data(1, bytes));
                }
            },
        );
    }
}

#[test]
fn a_message_too_long_is_cut_and_named_on_every_path() {
    for (path, options) in paths() {
        for expected in [false, true] {
            talk(
                path,
                &options,
                |left| {
                    for bytes in SIZES.into_iter().filter(|&bytes| bytes > 0) {
                        if expected {
                            listen(left, 1);
                        }
                        let message = data(2, bytes);
                        let request = isend(left, 1, 6, &message, Mode::Standard);
                        tell(left, 1);
                        left.wait(request).unwrap();
                    }
                },
                |right| {
                    for bytes in SIZES.into_iter().filter(|&bytes| bytes > 0) {
                        let capacity = bytes / 2;
                        let mut into = vec![0xee; bytes];
                        let outcome = if expected {
                            let request = irecv(right, 0, 6, &mut into[..capacity]);
                            tell(right, 0);
                            listen(right, 0);
                            right.wait(request)
                        } else {
                            listen(right, 0);
                            recv(right, 0, 6, &mut into[..capacity])
                        };
                        let error = outcome.unwrap_err();
                        let text = format!(
                            "rank 1 received a message of {bytes} bytes from rank 0 with tag 6 into a buffer of {capacity} bytes"
                        );
                        assert!(error.to_string().starts_with(&text), "{error}");
                        assert!(
                            into[..capacity] == data(2, bytes)[..capacity],
                            "{bytes} bytes, {path}"
                        );
                        assert!(into[capacity..].iter().all(|&byte| byte == 0xee));
                    }
                },
            );
        }
    }
}

#[test]
fn messages_to_oneself() {
    for (path, options) in paths() {
        let engine = Arc::clone(&engines::job(1, &options, Threads::One).engines[0]);
        within(LIMIT, path, || {
            for bytes in SIZES {
                for mode in [Mode::Standard, Mode::Synchronous] {
                    let message = data(3, bytes);
                    let mut into = vec![0; bytes];
                    let receiving = irecv(&engine, 0, 1, &mut into);
                    engine.wait(isend(&engine, 0, 1, &message, mode)).unwrap();
                    engine.wait(receiving).unwrap();
                    assert!(into == message, "posted first, {bytes} bytes, {path}");

                    let mut into = vec![0; bytes];
                    let sending = isend(&engine, 0, 1, &message, mode);
                    assert_eq!(
                        engine.probe(from(0, 1)).unwrap().unwrap().bytes(),
                        bytes as u64
                    );
                    recv(&engine, 0, 1, &mut into).unwrap();
                    engine.wait(sending).unwrap();
                    assert!(into == message, "sent first, {bytes} bytes, {path}");

                    let sending = isend(&engine, 0, 1, &message, mode);
                    let cut = recv(&engine, 0, 1, &mut vec![0; bytes / 2]);
                    engine.wait(sending).unwrap();
                    assert_eq!(cut.is_err(), bytes > 0, "{bytes} bytes cut, {path}");
                }
            }
        });
        engine.finalize();
    }
}

/// Unexpected eager bytes one peer may leave here (`Limits::room_bytes`).
const ROOM: u64 = if engines::APART.is_some() {
    8 << 20
} else {
    1 << 20
};

#[test]
fn a_flood_of_unexpected_messages_stays_within_the_room() {
    const COUNT: usize = 3000;
    talk(
        "a flood",
        &Options::default(),
        |left| {
            let messages: Vec<_> = (0..COUNT).map(|number| data(number, 4000)).collect();
            let requests: Vec<_> = messages
                .iter()
                .map(|message| isend(left, 1, 2, message, Mode::Standard))
                .collect();
            tell(left, 1);
            for request in requests {
                left.wait(request).unwrap();
            }
            assert!(
                left.counters().out_of_room > 0,
                "the flood was eager to the end"
            );
        },
        |right| {
            listen(right, 0);
            let counters = right.counters();
            assert!(counters.stashed > 100, "{counters:?}");
            assert!(counters.stashed_bytes_high <= ROOM, "{counters:?}");
            for number in 0..COUNT {
                let mut into = [0; 4000];
                recv(right, 0, 2, &mut into).unwrap();
                assert!(into[..] == data(number, 4000), "message {number}");
            }
            let counters = right.counters();
            assert_eq!(counters.stashed_bytes, 0);
            assert!(counters.stashed_bytes_high <= ROOM, "{counters:?}");
        },
    );
}

/// A flood of messages of a few bytes is kept, long messages that come after it are offered, and
/// receives find what is theirs beside it.
#[test]
fn little_messages_are_kept_beside_others() {
    // The rooms of sockets are others.
    if engines::APART.is_some() {
        return;
    }
    const COUNT: usize = 50_000;
    talk(
        "a flood of little ones",
        &Options::default(),
        |left| {
            for number in 0..COUNT {
                send(left, 1, 2, &data(number, 8)).unwrap();
            }
            assert_eq!(left.counters().out_of_room, 0);
            let messages: Vec<_> = (0..100).map(|number| data(number, 5000)).collect();
            let requests: Vec<_> = messages
                .iter()
                .map(|message| isend(left, 1, 3, message, Mode::Standard))
                .collect();
            assert_eq!(left.counters().out_of_room, 100);
            tell(left, 1);
            for request in requests {
                left.wait(request).unwrap();
            }
        },
        |right| {
            listen(right, 0);
            assert_eq!(right.counters().stashed as usize, COUNT);
            for number in 0..100 {
                let mut into = [0; 5000];
                recv(right, 0, 3, &mut into).unwrap();
                assert!(into[..] == data(number, 5000), "long message {number}");
            }
            for number in 0..COUNT {
                let mut into = [0; 8];
                recv(right, 0, 2, &mut into).unwrap();
                assert!(into[..] == data(number, 8), "message {number}");
            }
            assert_eq!(right.counters().stashed_bytes, 0);
        },
    );
}

#[test]
fn messages_of_all_sizes_do_not_overtake() {
    const COUNT: usize = 180;
    let size = |number: usize| [8, 20_000, 3, 90_000, 400, 700_000][number * 7 % 6];
    for (path, options) in paths() {
        talk(
            path,
            &options,
            |left| {
                let messages: Vec<_> = (0..COUNT)
                    .map(|number| data(number, size(number)))
                    .collect();
                let mut requests = std::collections::VecDeque::new();
                for (number, message) in messages.iter().enumerate() {
                    requests.push_back(isend(
                        left,
                        1,
                        (number % 3) as i32,
                        message,
                        Mode::Standard,
                    ));
                    if requests.len() == 50 {
                        left.wait(requests.pop_front().unwrap()).unwrap();
                    }
                }
                for request in requests {
                    left.wait(request).unwrap();
                }
            },
            |right| {
                let mut into = vec![0; 700_000];
                for number in 0..COUNT {
                    let got = recv(right, None, None, &mut into).unwrap();
                    assert_eq!(
                        (got.bytes, got.tag),
                        (size(number) as u64, (number % 3) as i32)
                    );
                    assert!(
                        into[..size(number)] == data(number, size(number)),
                        "{number}, {path}"
                    );
                }
            },
        );
    }
}

#[test]
fn every_way_to_wait_works() {
    for wait in [
        WaitMode::Auto,
        WaitMode::Spin,
        WaitMode::Yield,
        WaitMode::Sleep,
    ] {
        for driver in [true, false] {
            let options = Options {
                wait,
                driver,
                ..Options::default()
            };
            let turns = if wait == WaitMode::Spin { 20 } else { 200 };
            let volley = |engine: &Engine, other: u32, first: bool| {
                for turn in 0..turns {
                    let bytes = [8, 9000, 200_000][turn % 3];
                    let mut into = vec![0; bytes];
                    if first {
                        send(engine, other, 1, &data(turn, bytes)).unwrap();
                    }
                    recv(engine, other, 1, &mut into).unwrap();
                    assert!(into == data(turn, bytes));
                    if !first {
                        send(engine, other, 1, &into).unwrap();
                    }
                }
            };
            talk(
                &format!("{wait:?}, driver {driver}"),
                &options,
                |left| volley(left, 1, true),
                |right| volley(right, 0, false),
            );
        }
    }
}

/// A long send goes on while its process does nothing but receive short messages from somebody
/// else.
#[test]
fn a_stream_of_receives_does_not_hold_up_a_send() {
    let options = Options {
        single_copy: false,
        driver: false,
        ..Options::default()
    };
    let engines = engines::job(3, &options, Threads::One).engines;
    let (busy, flood, other) = (&engines[0], &engines[1], &engines[2]);
    within(LIMIT, "a send beside a stream of receives", || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let message = data(1, 4 << 20);
                let sending = isend(busy, 2, 1, &message, Mode::Standard);
                while recv(busy, 1, None, &mut [0; 8]).unwrap().tag == 1 {}
                if engines::APART == Some(oxmpi_net::choice::Mode::Udp) {
                    // The last acknowledgement may be behind short messages that wait to be taken.
                    busy.wait(sending).unwrap();
                } else {
                    assert!(
                        busy.test(sending).unwrap().is_some(),
                        "the other has received it all"
                    );
                }
                busy.finalize();
            });
            scope.spawn(|| {
                let mut word = [0; 8];
                let stop = irecv(flood, 2, 2, &mut word);
                while flood.test(stop).unwrap().is_none() {
                    send(flood, 0, 1, &[1; 8]).unwrap();
                }
                send(flood, 0, 3, &[1; 8]).unwrap();
                // Without a driver, what waits leaves only inside calls.
                flood.finalize();
            });
            let mut into = vec![0; 4 << 20];
            recv(other, 0, 1, &mut into).unwrap();
            assert!(into == data(1, 4 << 20));
            send(other, 1, 2, &[1; 8]).unwrap();
            other.finalize();
        });
    });
}

#[test]
fn who_waits_for_a_process_that_has_finalised_is_told() {
    let (left, right) = pair(&Options::default(), Threads::One);
    let leaver = thread::spawn(move || {
        send(&right, 0, 1, &[1; 8]).unwrap();
        right.finalize();
    });
    within(LIMIT, "a process that has finalised", || {
        let mut into = [0; 8];
        recv(&left, 1, 1, &mut into).expect("what it sent before counts");
        let error = recv(&left, 1, 1, &mut into).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 0 waits for rank 1 on host testhost, which has finalised"
        );
        let error = left.probe_wait(Some(1), from(1, 1)).unwrap_err();
        assert!(
            matches!(
                error.fault(),
                Fault::PeerDied {
                    peer: 1,
                    death: None,
                    ..
                }
            ),
            "{error}"
        );
    });
    leaver.join().unwrap();
    left.finalize();
}
