//! A peer that writes anything: never a panic, never more than its window, never somebody else's
//! memory.

mod random;
mod shim;

use oxmpi_oxk_core::{Bounds, FULL, RECORD_UNITS, Step, Verdict, eager_units};
use oxmpi_wire::{
    CREDIT_UNIT, Code, Content, Envelope, HEADER_BYTES, Kind, MESSAGE_BYTES_MAX, PREFIX_BYTES,
    Repr, VERSION,
};
use random::{Random, for_seeds};
use shim::{BOUNDS, Shim, content, no_handler};

fn packet(bits: u64, bytes: u64, sequence: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: bits,
            source: 0,
            tag: 0,
            content: Content::new(bytes, 0),
        },
        sequence,
        credit: 0,
        kind,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    let mut out = (payload.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&prefix[..used]);
    out.extend_from_slice(payload);
    out
}

fn offer(send: u64) -> Kind {
    Kind::RequestToSend {
        send,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    }
}

/// Tokens that are likely to name something, or nearly.
fn token(random: &mut Random) -> u64 {
    random.below(8) | random.below(3) << 32
}

/// A packet that could be one.
fn likely(random: &mut Random, sequence: u32) -> Vec<u8> {
    let (send, receive) = (token(random), token(random));
    let payload = content(1, random.below(200));
    let bytes = if random.one_in(4) {
        random.next() & MESSAGE_BYTES_MAX
    } else {
        payload.len() as u64
    };
    let offset = if random.one_in(3) { random.next() } else { 0 };
    let kind = match random.below(12) {
        0..3 => Kind::Eager,
        3 | 4 => offer(send),
        5 => Kind::ClearToSend { send, receive },
        6 | 7 => Kind::Data { receive, offset },
        8 => Kind::Done { send },
        9 => Kind::Cancel { send },
        10 => Kind::CancelReply {
            send,
            cancelled: random.one_in(2),
        },
        _ => Kind::Lock {
            token: send,
            exclusive: true,
        },
    };
    let has_payload = matches!(kind, Kind::Eager | Kind::Data { .. }) || random.one_in(10);
    let payload = if has_payload { &payload[..] } else { &[] };
    let mut bytes = packet(random.below(4), bytes, sequence, kind, payload);
    if random.one_in(10) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    }
    bytes
}

fn noise(random: &mut Random) -> Vec<u8> {
    let mut bytes = (random.below(3000) as u32).to_le_bytes().to_vec();
    let known = Code::ALL[random.below(Code::ALL.len() as u64) as usize] as u8;
    let kind = if random.one_in(3) {
        random.next() as u8
    } else {
        known
    };
    bytes.extend([VERSION, kind, 0, 0]);
    for _ in 0..random.below(300) + HEADER_BYTES as u64 {
        bytes.push(if random.one_in(2) {
            0
        } else {
            random.next() as u8
        });
    }
    bytes
}

#[test]
fn arbitrary_bytes_never_panic_and_everything_is_let_go() {
    for_seeds(1500, |random| {
        let handler = random.one_in(2);
        let mut end = Shim::new(Bounds {
            requests: 1000,
            handler,
            ..BOUNDS
        });
        let other = end.core.accepted().expect("room");
        end.send(other, 1, content(9, 10), true, 1).expect("room");
        let mut user = 1;
        for _ in 0..3 {
            let peer = end.core.accepted().expect("room");
            end.pump_all(peer);
            for sequence in 0..30 {
                user += 1;
                let _ = end.receive(random.below(4), FULL, random.below(300), user);
                user += 1;
                let memory = content(user, random.below(3000));
                let _ = end.send(peer, 1, memory, random.one_in(2), user);
                end.pump_all(peer);
                let bytes = match random.below(30) {
                    0 => (0..random.below(99)).map(|_| random.next() as u8).collect(),
                    1 => noise(random),
                    _ => likely(random, sequence),
                };
                let mut into = |_: shim::Shown| {
                    user += 1;
                    let capacity = 100;
                    let into = Verdict::Into { user, capacity };
                    random.pick(&[Verdict::Leave, Verdict::Take, into])
                };
                let mut broken = false;
                for piece in bytes.chunks(50) {
                    let (_, step) = end.feed(peer, piece, &mut into);
                    broken |= matches!(step, Step::Broken | Step::Left);
                }
                if broken {
                    break;
                }
            }
            end.core.lost(peer, 5);
            end.acknowledge_all();
            end.settle();
            end.core.forget(peer).expect("lost");
        }
        assert!(end.core.is_there(other) && !end.completed.contains_key(&1));
        end.core.close();
        end.settle();
        assert!(end.users.is_empty(), "all requests are over");
    });
}

/// Messages up to the window are kept; one unit more ends the stream. A peer that comes back has
/// only what its earlier messages leave.
#[test]
fn the_window_holds_however_often_a_peer_comes_back() {
    let window = (BOUNDS.unexpected_bytes / u64::from(BOUNDS.peers) / CREDIT_UNIT) as u32;
    let mut end = Shim::new(Bounds {
        peers: 1,
        unexpected_bytes: 4096,
        ..BOUNDS
    });
    let mut kept = 0;
    for _ in 0..5 {
        let peer = end.core.accepted().expect("room");
        end.pump_all(peer);
        let mut sequence = 0;
        let broken = loop {
            let bytes = packet(7, 100, sequence, Kind::Eager, &content(1, 100));
            let (_, step) = end.feed(peer, &bytes, &mut no_handler);
            if step != Step::Done {
                break step;
            }
            kept += 1;
            sequence += 1;
        };
        assert_eq!(broken, Step::Broken);
        assert_eq!(kept, window / eager_units(100));
        end.core.forget(peer).expect("lost by what it wrote");
    }
    // What is received makes room for whoever is there.
    let peer = end.core.accepted().expect("room");
    for user in 0..u64::from(kept) {
        end.receive(7, FULL, 100, user).expect("room");
    }
    assert_eq!(end.completed.len() as u32, kept);
    end.pump_all(peer);
    for sequence in 0..window / RECORD_UNITS {
        let bytes = packet(7, 100, sequence, offer(u64::from(sequence)), &[]);
        assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Done);
    }
    let bytes = packet(7, 100, window / RECORD_UNITS, offer(0), &[]);
    assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Broken);
}

/// Before it is told its window a peer may send nothing.
#[test]
fn nothing_is_taken_before_the_window_is_told() {
    let mut end = Shim::new(BOUNDS);
    let peer = end.core.accepted().expect("room");
    let bytes = packet(7, 0, 0, Kind::Eager, &[]);
    assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Broken);
}

/// Answers are bounded: who asks without reading is not read.
#[test]
fn questions_wait_for_their_answers() {
    let mut end = Shim::new(BOUNDS);
    let peer = end.core.accepted().expect("room");
    let lock = |sequence| {
        let kind = Kind::Lock {
            token: 5,
            exclusive: true,
        };
        packet(0, 0, sequence, kind, &[])
    };
    assert_eq!(end.feed(peer, &lock(0), &mut no_handler).1, Step::Done);
    assert_eq!(end.feed(peer, &lock(1), &mut no_handler), (0, Step::Stop));
    assert_eq!(end.feed(peer, &lock(1), &mut no_handler), (0, Step::Stop));
    end.pump_all(peer);
    assert_eq!(end.feed(peer, &lock(1), &mut no_handler).1, Step::Done);
}

/// A token that was given to one peer means nothing from another, nor twice.
#[test]
fn tokens_are_believed_only_from_the_peer_that_was_given_them() {
    let mut end = Shim::new(BOUNDS);
    let (given, stranger) = (
        end.core.accepted().expect("room"),
        end.core.accepted().expect("room"),
    );
    end.pump_all(given);
    let token = end.receive(7, FULL, 100, 1).expect("room");
    end.feed(given, &packet(7, 100, 0, offer(3), &[]), &mut no_handler);
    let receive = token.0;
    let data = |offset, bytes| {
        let kind = Kind::Data { receive, offset };
        packet(7, 100, 0, kind, &content(1, bytes))
    };
    end.pump_all(given);
    assert_eq!(
        end.feed(stranger, &data(0, 100), &mut no_handler).1,
        Step::Broken
    );
    assert_eq!(end.feed(given, &data(0, 40), &mut no_handler).1, Step::Done);
    assert_eq!(
        end.feed(given, &data(0, 60), &mut no_handler).1,
        Step::Broken,
        "again"
    );
    assert_eq!(end.completed[&1].0.status.placed, 40);
}

/// Answers to an offer count only from the peer to which it was made.
#[test]
fn offers_are_answered_only_by_the_peer_that_has_them() {
    let answers: [fn(u64) -> Kind; 3] = [
        |send| Kind::ClearToSend { send, receive: 1 },
        |send| Kind::Done { send },
        |send| Kind::CancelReply {
            send,
            cancelled: true,
        },
    ];
    for answer in answers {
        let mut end = Shim::new(BOUNDS);
        let (to, stranger) = (
            end.core.accepted().expect("room"),
            end.core.accepted().expect("room"),
        );
        let mut window = Shim::new(BOUNDS);
        let told = window.core.accepted().expect("room");
        end.feed(to, &window.pump_all(told), &mut no_handler);
        let token = end.send(to, 1, content(1, 10), true, 1).expect("room");
        end.pump_all(to);
        end.core.cancel(token).expect_err("it is offered");
        let bytes = packet(1, 10, 0, answer(token.0), &[]);
        assert_eq!(end.feed(stranger, &bytes, &mut no_handler).1, Step::Broken);
        assert!(!end.completed.contains_key(&1));
        let bytes = packet(1, 10, 1, answer(token.0), &[]);
        assert_eq!(end.feed(to, &bytes, &mut no_handler).1, Step::Done);
    }
}

/// A peer that is lost while the handler is asked about its message leaves nothing behind.
#[test]
fn a_message_that_was_never_judged_holds_no_window() {
    let mut end = Shim::new(Bounds {
        handler: true,
        ..BOUNDS
    });
    let mut first = Vec::new();
    for _ in 0..20 {
        let peer = end.core.accepted().expect("room");
        let told = end.pump_all(peer);
        assert!(first.is_empty() || first == told, "the whole window");
        first = told;
        let bytes = packet(7, 500, 0, Kind::Eager, &content(1, 500));
        let fed = end.core.feed(peer, &bytes);
        assert!(matches!(fed.step, Step::Unexpected { .. }));
        end.core.lost(peer, 5);
        end.core.forget(peer).expect("lost");
    }
}

/// What earlier messages leave of a window is told at once, however little it is.
#[test]
fn a_small_rest_of_a_window_is_told() {
    let mut end = Shim::new(Bounds {
        peers: 1,
        unexpected_bytes: 4096,
        ..BOUNDS
    });
    let peer = end.core.accepted().expect("room");
    end.pump_all(peer);
    for sequence in 0..15 {
        let bytes = packet(7, 9, sequence, offer(0), &[]);
        assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Done);
    }
    // 15 offers are withdrawn with their peer; eager messages stay.
    end.core.lost(peer, 5);
    end.core.forget(peer).expect("lost");
    let peer = end.core.accepted().expect("room");
    end.pump_all(peer);
    for sequence in 0..12 {
        let bytes = packet(7, 9, sequence, Kind::Eager, &content(1, 9));
        assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Done);
    }
    end.core.lost(peer, 5);
    end.core.forget(peer).expect("lost");
    let peer = end.core.accepted().expect("room");
    assert!(!end.pump_all(peer).is_empty(), "4 units of 64");
    let bytes = packet(7, 9, 0, offer(0), &[]);
    assert_eq!(end.feed(peer, &bytes, &mut no_handler).1, Step::Done);
}

/// Packets have their numbers, and bytes are not believed before they were asked for.
#[test]
fn what_comes_out_of_turn_ends_the_stream() {
    let mut end = Shim::new(BOUNDS);
    let peer = end.core.accepted().expect("room");
    end.pump_all(peer);
    let bytes = packet(7, 0, 1, Kind::Eager, &[]);
    assert_eq!(
        end.feed(peer, &bytes, &mut no_handler).1,
        Step::Broken,
        "number 0 is missing"
    );

    let peer = end.core.accepted().expect("room");
    end.pump_all(peer);
    let token = end.receive(7, FULL, 100, 1).expect("room");
    let kind = Kind::Data {
        receive: token.0,
        offset: 0,
    };
    let offered = packet(7, 100, 0, offer(3), &[]);
    assert_eq!(end.feed(peer, &offered, &mut no_handler).1, Step::Done);
    let guessed = packet(7, 100, 0, kind, &content(1, 100));
    assert_eq!(
        end.feed(peer, &guessed, &mut no_handler).1,
        Step::Broken,
        "a token guessed"
    );
    assert_eq!(end.completed[&1].0.status.placed, 0);
}
