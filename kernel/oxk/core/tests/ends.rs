//! How peers and requests end: a lost peer, a closed endpoint, cancels, stale names.

mod random;
mod shim;

use oxmpi_oxk_core::{
    Bounds, CancelError, ECANCELED, ECONNRESET, ESHUTDOWN, FULL, PeerError, PeerToken,
    RequestError, Step, Token, Verdict, VerdictError,
};
use oxmpi_wire::stream::GOODBYE;
use random::for_seeds;
use shim::{BOUNDS, Shim, content, no_handler};

/// Two ends that have told each other their windows; `(end, its peer)` each.
fn pair() -> [(Shim, PeerToken); 2] {
    let mut ends = [Shim::new(BOUNDS), Shim::new(BOUNDS)].map(|mut end| {
        let peer = end.core.accepted().expect("room");
        (end, peer)
    });
    let [left, right] = &mut ends;
    carry(left, right);
    carry(right, left);
    ends
}

fn carry(from: &mut (Shim, PeerToken), to: &mut (Shim, PeerToken)) {
    let bytes = from.0.pump_all(from.1);
    let fed = to.0.feed(to.1, &bytes, &mut no_handler);
    assert_eq!(fed, (bytes.len(), Step::Done));
}

fn error(end: &Shim, user: u64) -> Option<u32> {
    let (completion, _) = end.completed.get(&user)?;
    Some(completion.status.error)
}

#[test]
fn a_lost_peer_fails_what_it_was_concerned_in_and_nothing_else() {
    let [mut left, mut right] = pair();
    let other = right.0.core.accepted().expect("room");
    // Whole, offered and half there, in this order.
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    left.0
        .send(left.1, 2, content(2, 2000), false, 2)
        .expect("room");
    left.0
        .send(left.1, 3, content(3, 500), false, 3)
        .expect("room");
    let bytes = left.0.pump_all(left.1);
    right
        .0
        .feed(right.1, &bytes[..bytes.len() - 1], &mut no_handler);
    right.0.receive(3, FULL, 500, 10).expect("room");
    right.0.receive(9, FULL, 500, 11).expect("room");
    right
        .0
        .send(right.1, 7, content(7, 10), true, 12)
        .expect("room");
    right
        .0
        .send(other, 7, content(8, 10), true, 13)
        .expect("room");
    right.0.core.lost(right.1, ECONNRESET);
    right.0.settle();
    assert_eq!(
        error(&right.0, 10),
        Some(ECONNRESET),
        "its message was arriving"
    );
    assert_eq!(error(&right.0, 11), None, "it waits for anybody");
    assert_eq!(error(&right.0, 12), Some(ECONNRESET), "it was for the peer");
    assert_eq!(error(&right.0, 13), None, "it is for another");
    assert_eq!(
        right.0.core.probe(2, FULL),
        None,
        "an offer that nobody can serve"
    );
    let answer = right.0.send(right.1, 1, Vec::new(), false, 14);
    assert_eq!(answer, Err(RequestError::Peer));
    right.0.receive(1, FULL, 500, 15).expect("room");
    assert_eq!(error(&right.0, 15), Some(0), "it had come whole");
    assert_eq!(right.0.completed[&15].1[..100], content(1, 100));
}

#[test]
fn memory_that_is_being_sent_stays_with_its_request() {
    let [mut left, _] = pair();
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    left.0.pump_all(left.1);
    left.0.core.lost(left.1, ECONNRESET);
    left.0.settle();
    assert_eq!(error(&left.0, 1), None);
    left.0.core.forget(left.1).expect("lost");
    // Another peer in the same place is lost, too; the send is no business of it.
    let next = left.0.core.accepted().expect("room");
    assert_ne!(next, left.1);
    left.0.core.lost(next, 5);
    left.0.acknowledge_all();
    assert_eq!(error(&left.0, 1), Some(ECONNRESET));
}

#[test]
fn memory_that_is_being_written_stays_with_its_request() {
    let [mut left, mut right] = pair();
    right.0.receive(1, FULL, 100, 1).expect("room");
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    let bytes = left.0.pump_all(left.1);
    let head = bytes.len() - 100;
    let fed = right.0.core.feed(right.1, &bytes[..head + 50]);
    let step = Step::Place {
        token: *right.0.users.keys().next().expect("one"),
        offset: 0,
        bytes: 50,
    };
    assert_eq!((fed.consumed, fed.step), (head, step));
    let again = right.0.core.feed(right.1, &bytes[head..]);
    assert_eq!((again.consumed, again.step), (0, step), "asked again");
    right.0.core.lost(right.1, ECONNRESET);
    right.0.settle();
    assert_eq!(error(&right.0, 1), None, "the copy still runs");
    assert_eq!(right.0.core.forget(right.1), Err(PeerError::Busy));
    right.0.core.placed(right.1, 0);
    right.0.settle();
    assert_eq!(error(&right.0, 1), Some(ECONNRESET));
    assert_eq!(right.0.completed[&1].0.status.placed, 50);
    right
        .0
        .core
        .forget(right.1)
        .expect("lost, and nothing runs");
}

#[test]
fn a_copy_that_fails_ends_the_receive_and_not_the_stream() {
    const EFAULT: u32 = 14;
    let [mut left, mut right] = pair();
    right.0.receive(1, FULL, 100, 1).expect("room");
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    left.0
        .send(left.1, 2, content(2, 5), false, 2)
        .expect("room");
    let bytes = left.0.pump_all(left.1);
    let fed = right.0.core.feed(right.1, &bytes[..60]);
    right.0.core.placed(right.1, EFAULT);
    right.0.receive(2, FULL, 100, 2).expect("room");
    let fed = right
        .0
        .feed(right.1, &bytes[60.max(fed.consumed)..], &mut no_handler);
    assert_eq!(fed.1, Step::Done);
    assert_eq!(
        (error(&right.0, 1), error(&right.0, 2)),
        (Some(EFAULT), Some(0))
    );
}

#[test]
fn cancels_three_answers() {
    let [mut left, mut right] = pair();
    let waits = right.0.receive(1, FULL, 100, 1).expect("room");
    assert_eq!(right.0.core.cancel(waits), Ok(()));
    assert_eq!(
        right.0.core.cancel(waits),
        Err(CancelError::Unknown),
        "it is gone"
    );
    right.0.forget_request(waits);
    let arrives = right.0.receive(1, FULL, 100, 2).expect("room");
    assert_ne!(waits, arrives, "the place is the same, the name is not");
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    let bytes = left.0.pump_all(left.1);
    let (half, rest) = bytes.split_at(bytes.len() - 10);
    right.0.feed(right.1, half, &mut no_handler);
    assert_eq!(right.0.core.cancel(arrives), Err(CancelError::Again));
    right.0.feed(right.1, rest, &mut no_handler);
    assert_eq!(
        right.0.core.cancel(arrives),
        Err(CancelError::Unknown),
        "it is over"
    );
    assert_eq!(
        right.0.core.cancel(Token(u64::MAX)),
        Err(CancelError::Unknown)
    );
}

#[test]
fn sends_are_taken_back_until_they_are_matched() {
    let [mut left, mut right] = pair();
    let queued = left
        .0
        .send(left.1, 1, content(1, 10), false, 1)
        .expect("room");
    assert_eq!(left.0.core.cancel(queued), Ok(()), "nothing of it has left");
    left.0.forget_request(queued);
    let offered = left
        .0
        .send(left.1, 2, content(2, 10), true, 2)
        .expect("room");
    let matched = left
        .0
        .send(left.1, 3, content(3, 10), true, 3)
        .expect("room");
    carry(&mut left, &mut right);
    assert!(right.0.core.probe(2, FULL).is_some());
    right.0.receive(3, FULL, 10, 3).expect("room");
    assert_eq!(left.0.core.cancel(offered), Err(CancelError::Again));
    assert_eq!(left.0.core.cancel(matched), Err(CancelError::Again));
    for _ in 0..3 {
        carry(&mut left, &mut right);
        carry(&mut right, &mut left);
        left.0.acknowledge_all();
    }
    assert_eq!(error(&left.0, 2), Some(ECANCELED));
    assert_eq!(right.0.core.probe(2, FULL), None);
    assert_eq!((error(&left.0, 3), error(&right.0, 3)), (Some(0), Some(0)));
}

#[test]
fn a_synchronous_send_waits_for_its_match_even_without_bytes() {
    let [mut left, mut right] = pair();
    left.0.send(left.1, 1, Vec::new(), true, 1).expect("room");
    left.0.send(left.1, 2, Vec::new(), false, 2).expect("room");
    carry(&mut left, &mut right);
    carry(&mut right, &mut left);
    assert_eq!((error(&left.0, 1), error(&left.0, 2)), (None, Some(0)));
    right.0.receive(1, FULL, 0, 1).expect("room");
    carry(&mut right, &mut left);
    assert_eq!((error(&left.0, 1), error(&right.0, 1)), (Some(0), Some(0)));
}

#[test]
fn sends_wait_for_the_connection() {
    let mut end = Shim::new(BOUNDS);
    let peer = end.core.connect().expect("room");
    end.send(peer, 1, content(1, 10), false, 1).expect("queued");
    assert!(end.pump_all(peer).is_empty());
    end.core.connected(peer).expect("it was asked for");
    assert!(!end.pump_all(peer).is_empty(), "its window");
    assert_eq!(end.core.connected(PeerToken(99)), Err(PeerError::Unknown));
}

#[test]
fn goodbye_and_close() {
    let [mut left, mut right] = pair();
    right
        .0
        .send(right.1, 1, content(1, 10), true, 1)
        .expect("room");
    let fed = right
        .0
        .feed(right.1, &GOODBYE.to_le_bytes(), &mut no_handler);
    assert_eq!(fed.1, Step::Left);
    assert_eq!(error(&right.0, 1), Some(ECONNRESET));
    left.0.receive(1, FULL, 10, 2).expect("room");
    left.0
        .send(left.1, 1, content(1, 10), true, 3)
        .expect("room");
    left.0.core.close();
    left.0.settle();
    assert_eq!(
        (error(&left.0, 2), error(&left.0, 3)),
        (Some(ECANCELED), Some(ESHUTDOWN))
    );
    assert_eq!(left.0.receive(1, FULL, 10, 4), Err(RequestError::Closed));
    assert_eq!(left.0.core.accepted(), Err(PeerError::Closed));
}

#[test]
fn bounds_are_kept_and_named() {
    let mut end = Shim::new(Bounds {
        requests: 2,
        peers: 1,
        ..BOUNDS
    });
    let peer = end.core.accepted().expect("room");
    assert_eq!(end.core.accepted(), Err(PeerError::Full));
    end.send(peer, 1, Vec::new(), false, 1).expect("room");
    end.receive(1, FULL, 1, 2).expect("room");
    assert_eq!(end.receive(1, FULL, 1, 3), Err(RequestError::Full));
    let long = end.core.send(peer, 1, 1 << 60, false, 4);
    assert_eq!(long, Err(RequestError::Long { bytes: 1 << 60 }));
}

/// Whenever a peer is lost, every request that was its own ends, and each of them once.
#[test]
fn at_any_moment_everything_ends_once() {
    for_seeds(300, |random| {
        let [mut left, mut right] = pair();
        for user in 0..20 {
            let bytes = random.pick(&[0, 10, 500, 3000]);
            left.0
                .send(
                    left.1,
                    user % 4,
                    content(user, bytes),
                    random.one_in(3),
                    user,
                )
                .expect("room");
            let mask = random.pick(&[FULL, 1]);
            if random.one_in(2) {
                right.0.receive(user % 4, mask, 5000, user).expect("room");
            }
        }
        for _ in 0..random.below(8) {
            let mut bytes = Vec::new();
            left.0.pump(left.1, &mut bytes);
            right.0.feed(right.1, &bytes, &mut no_handler);
            let answers = right.0.pump_all(right.1);
            left.0.feed(left.1, &answers, &mut no_handler);
        }
        let mut bytes = left.0.pump_all(left.1);
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        right.0.feed(right.1, &bytes, &mut no_handler);
        left.0.core.lost(left.1, ECONNRESET);
        right.0.core.lost(right.1, ECONNRESET);
        left.0.acknowledge_all();
        left.0.settle();
        right.0.settle();
        assert_eq!(left.0.completed.len(), 20);
        while right.0.core.probe(0, 0).is_some() {
            right
                .0
                .receive(0, 0, 5000, 1000 + right.0.completed.len() as u64)
                .expect("room");
        }
        right.0.core.close();
        right.0.settle();
        assert!(right.0.users.is_empty() && right.0.memory.is_empty());
    });
}

/// Five windows' worth of messages, received late, or lost when they are half there.
#[test]
fn memory_of_unexpected_messages_is_used_again() {
    let [mut left, mut right] = pair();
    for user in 0..100 {
        let bytes = 1 + user * 10;
        left.0
            .send(left.1, 1, content(user, bytes), false, user)
            .expect("room");
        carry(&mut left, &mut right);
        right.0.receive(1, FULL, bytes, user).expect("room");
        for _ in 0..2 {
            carry(&mut right, &mut left);
            left.0.acknowledge_all();
            carry(&mut left, &mut right);
        }
        assert_eq!(
            (error(&left.0, user), error(&right.0, user)),
            (Some(0), Some(0))
        );
        assert_eq!(right.0.completed[&user].1, content(user, bytes));
    }
    for _ in 0..100 {
        let peer = right.0.core.accepted().expect("room");
        right.0.pump_all(peer);
        let mut sender = (Shim::new(BOUNDS), PeerToken(0));
        sender.1 = sender.0.core.accepted().expect("room");
        let mut window = (Shim::new(BOUNDS), PeerToken(0));
        window.1 = window.0.core.accepted().expect("room");
        carry(&mut window, &mut sender);
        sender
            .0
            .send(sender.1, 1, content(1, 900), false, 1)
            .expect("room");
        let bytes = sender.0.pump_all(sender.1);
        let fed = right
            .0
            .feed(peer, &bytes[..bytes.len() - 1], &mut no_handler);
        assert_eq!(fed.1, Step::Done);
        right.0.core.lost(peer, ECONNRESET);
        right.0.core.forget(peer).expect("lost");
    }
}

/// A receive that was posted after the handler was asked is not missed.
#[test]
fn a_message_that_is_left_looks_for_a_receive_again() {
    let mut end = Shim::new(Bounds {
        handler: true,
        ..BOUNDS
    });
    let peer = end.core.accepted().expect("room");
    let first = end.pump_all(peer);
    end.core.feed(peer, &first);
    end.send(peer, 1, content(1, 10), false, 1).expect("room");
    let bytes = end.pump_all(peer);
    let fed = end.core.feed(peer, &bytes);
    assert!(matches!(fed.step, Step::Unexpected { bytes: 10, .. }));
    end.receive(1, FULL, 10, 2).expect("room");
    assert_eq!(end.core.verdict(peer, Verdict::Leave), Ok(None));
    let rest = end.feed(peer, &bytes[fed.consumed..], &mut no_handler);
    assert_eq!(rest.1, Step::Done);
    assert_eq!(end.completed[&2].1, content(1, 10));
    assert_eq!(
        end.core.verdict(peer, Verdict::Leave),
        Err(VerdictError::Unasked)
    );
}

/// Who names memory and has no request left is told, and can leave the message.
#[test]
fn a_verdict_without_a_request_can_be_changed() {
    let mut end = Shim::new(Bounds {
        handler: true,
        requests: 1,
        ..BOUNDS
    });
    let peer = end.core.accepted().expect("room");
    let first = end.pump_all(peer);
    end.core.feed(peer, &first);
    end.send(peer, 1, content(1, 10), false, 1).expect("room");
    let bytes = end.pump_all(peer);
    let head = end.core.feed(peer, &bytes).consumed;
    let into = Verdict::Into {
        user: 2,
        capacity: 10,
    };
    assert_eq!(end.core.verdict(peer, into), Err(VerdictError::Full));
    assert_eq!(end.core.verdict(peer, Verdict::Leave), Ok(None));
    assert_eq!(
        end.feed(peer, &bytes[head..], &mut no_handler).1,
        Step::Done
    );
    assert!(end.core.probe(1, FULL).is_some());
}

/// A message that has come whole is copied to its receive even if its sender is lost before.
#[test]
fn a_claimed_message_outlives_its_sender() {
    let [mut left, mut right] = pair();
    left.0
        .send(left.1, 1, content(1, 100), false, 1)
        .expect("room");
    carry(&mut left, &mut right);
    let token = right.0.core.receive(1, FULL, 100, 1).expect("room");
    right.0.remember(token, 1, vec![0; 100]);
    assert_eq!(right.0.core.cancel(token), Err(CancelError::Again));
    right.0.core.lost(right.1, ECONNRESET);
    right.0.core.forget(right.1).expect("lost");
    right.0.settle();
    assert_eq!(error(&right.0, 1), Some(0));
    assert_eq!(right.0.completed[&1].1, content(1, 100));
}

/// A long message does not keep short ones waiting until all of it has left.
#[test]
fn short_messages_take_turns_with_a_long_one() {
    let [mut left, mut right] = pair();
    left.0
        .send(left.1, 1, content(1, 1 << 20), false, 1)
        .expect("room");
    carry(&mut left, &mut right);
    right.0.receive(1, FULL, 1 << 20, 1).expect("room");
    carry(&mut right, &mut left);
    for user in 2..5 {
        left.0
            .send(left.1, 2, content(user, 10), false, user)
            .expect("room");
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        let before = left.0.unsent.len();
        left.0.pump(left.1, &mut Vec::new());
        let (_, token) = left.0.unsent[before];
        order.push(left.0.users[&token]);
    }
    assert!(order[..4].contains(&2) && order.contains(&4), "{order:?}");
    assert_eq!(
        order.iter().filter(|&&user| user == 1).count(),
        3,
        "{order:?}"
    );
}
