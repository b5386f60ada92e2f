//! What becomes of requests whose other process has finalised: those that have not met their
//! partner can be tested and taken back, and fail only where a thread waits for them. On the pure
//! protocol, and on engines.

mod engines;

use std::thread;
use std::time::Duration;

use engines::{irecv, job, send as send_now, within};
use oxmpi_engine::protocol::{Failure, Limits, Mode, Protocol, RequestId, Source};
use oxmpi_engine::{Completion, Content, Envelope, Options, Pattern, Request, Threads};

const LIMIT: Duration = Duration::from_secs(60);

const LIMITS: Limits = Limits {
    eager_bytes_max: 1024,
    copied_bytes_max: u64::MAX,
    room_bytes: 6000,
    reserved_bytes: 0,
    kept_bytes_max: 6000,
    fragment_bytes: 400,
    fragment_bytes_short: 150,
    short_bytes_max: 600,
    fetch_bytes_min: u64::MAX,
    unexpected_max: 1000,
};

fn protocol() -> Protocol<()> {
    Protocol::new(0, 3, LIMITS)
}

fn post(protocol: &mut Protocol<()>, source: Option<u32>) -> RequestId {
    let pattern = Pattern {
        context: 1,
        source,
        tag: Some(5),
        signature: 0,
    };
    protocol.post(source, pattern, (), 100).0
}

fn send(protocol: &mut Protocol<()>, to: u32, bytes: u64, mode: Mode) -> RequestId {
    let envelope = Envelope {
        context: 1,
        source: 0,
        tag: 5,
        content: Content::new(bytes, 0),
    };
    let source = Source {
        buffer: (),
        address: 0,
        mapped: false,
        fetchable: false,
    };
    protocol.send(to, envelope, source, mode).unwrap()
}

fn transmit(protocol: &mut Protocol<()>, to: u32) {
    let packet = protocol.poll_transmit(to).expect("something is due");
    protocol.sent(&packet);
    protocol.settle();
}

fn was_cancelled(protocol: &mut Protocol<()>, id: RequestId) -> bool {
    let outcome = protocol.take(id).expect("it is over");
    matches!(
        outcome,
        Ok(Completion {
            cancelled: true,
            ..
        })
    )
}

#[test]
fn posted_receives_stay_and_can_be_taken_back() {
    let mut protocol = protocol();
    let before = post(&mut protocol, Some(1));
    let (anybody, other) = (post(&mut protocol, None), post(&mut protocol, Some(2)));
    assert!(!protocol.is_stranded(before));
    protocol.peer_finished(1);
    let after = post(&mut protocol, Some(1));
    for id in [before, after] {
        assert!(!protocol.is_complete(id) && protocol.is_stranded(id));
    }
    for id in [anybody, other] {
        assert!(!protocol.is_complete(id) && !protocol.is_stranded(id));
        protocol.fail_stranded(id);
        assert!(!protocol.is_complete(id), "it is not stranded");
    }
    protocol.cancel(before);
    assert!(was_cancelled(&mut protocol, before));
    protocol.fail_stranded(after);
    assert_eq!(
        protocol.take(after),
        Some(Err(Failure::PeerDied { peer: 1 }))
    );
    assert_eq!(protocol.pending(), 2);
}

#[test]
fn sends_that_await_an_answer_stay_and_can_be_taken_back() {
    let mut protocol = protocol();
    let offered = send(&mut protocol, 1, 10, Mode::Synchronous);
    transmit(&mut protocol, 1);
    let asked = send(&mut protocol, 1, 10, Mode::Synchronous);
    transmit(&mut protocol, 1);
    protocol.cancel(asked);
    let queued = send(&mut protocol, 1, 5000, Mode::Standard);
    assert!(!protocol.is_complete(asked));
    protocol.peer_finished(1);
    // It would have said so if it had received what it was asked to give back.
    assert!(was_cancelled(&mut protocol, asked));
    let after = send(&mut protocol, 1, 10, Mode::Synchronous);
    for id in [offered, queued, after] {
        assert!(!protocol.is_complete(id) && protocol.is_stranded(id));
    }
    assert!(protocol.busy().is_empty() && protocol.poll_transmit(1).is_none());
    for id in [offered, after] {
        protocol.cancel(id);
        assert!(was_cancelled(&mut protocol, id));
    }
    protocol.fail_stranded(queued);
    assert_eq!(
        protocol.take(queued),
        Some(Err(Failure::PeerDied { peer: 1 }))
    );
    assert_eq!(protocol.pending(), 0);
}

#[test]
fn sends_that_need_no_answer_are_over() {
    let mut protocol = protocol();
    let begun = send(&mut protocol, 1, 500, Mode::Standard);
    transmit(&mut protocol, 1);
    let queued = send(&mut protocol, 1, 500, Mode::Standard);
    protocol.peer_finished(1);
    let after = send(&mut protocol, 1, 500, Mode::Standard);
    for id in [begun, queued, after] {
        let outcome = protocol.take(id).expect("it is over");
        assert!(matches!(
            outcome,
            Ok(Completion {
                cancelled: false,
                ..
            })
        ));
    }
    assert!(protocol.busy().is_empty());
}

#[test]
fn a_death_after_that_ends_everything() {
    let mut protocol = protocol();
    let (receive, anybody) = (post(&mut protocol, Some(1)), post(&mut protocol, None));
    protocol.peer_finished(1);
    protocol.peer_died(1);
    for id in [receive, anybody] {
        assert_eq!(protocol.take(id), Some(Err(Failure::PeerDied { peer: 1 })));
    }
}

/// A wait for several is an error only when none of them can end.
#[test]
fn a_wait_for_several_ends_when_none_can() {
    let mut engines = job(3, &Options::default(), Threads::One).engines;
    let (late, early, me) = (
        engines.pop().unwrap(),
        engines.pop().unwrap(),
        engines.pop().unwrap(),
    );
    let leaver = thread::spawn(move || early.finalize());
    let sender = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        send_now(&late, 0, 7, &[9; 8]).unwrap();
        late.finalize();
    });
    within(LIMIT, "finalised peers", || {
        let (mut first, mut second) = (vec![0; 8], vec![0; 8]);
        let mut requests = vec![irecv(&me, 1, 7, &mut first), irecv(&me, 2, 7, &mut second)];
        let (at, outcome) = me.wait_any(&requests);
        assert_eq!((at, outcome.unwrap().bytes, second[0]), (1, 8, 9));
        requests.pop();
        let Request::Pending(stranded) = requests[0] else {
            panic!("{requests:?}");
        };
        assert!(me.test(requests[0]).unwrap().is_none());
        assert!(me.is_settled(requests[0]) && !me.is_complete(requests[0]));
        let mut asked = 0;
        let enough = || {
            asked += 1;
            // A wait that looks in vain for long sleeps, and nobody would wake this one.
            asked > 5
        };
        me.wait_for(&[stranded], enough, false).unwrap();
        assert!(
            !me.is_complete(requests[0]),
            "something else ended the wait"
        );
        let error = me.wait_any(&requests).1.unwrap_err();
        assert!(error.to_string().contains("has finalised"), "{error}");
        let taken_back = irecv(&me, 1, 7, &mut first);
        me.cancel(taken_back);
        assert!(me.wait(taken_back).unwrap().cancelled);
    });
    leaver.join().unwrap();
    sender.join().unwrap();
    me.finalize();
}
