//! Who knocks without the job's key: dropped, counted, and in nobody's way. Real sockets, one
//! device polled by the test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use oxmpi_net::handshake::{Dialler, Progress, Verdict};
use oxmpi_net::key::random_nonce;
use oxmpi_net::tcp::{Event, Listener, Sent, Tcp};
use oxmpi_net::{Card, JobKey};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

/// Two devices of one job that know each other's cards, and the port of the first.
fn two() -> (Tcp, Tcp, u16, JobKey) {
    let listeners = [0, 1].map(|rank| Listener::bind(rank).unwrap());
    let cards: Vec<Card> = listeners
        .iter()
        .map(|one| one.card("here").unwrap())
        .collect();
    let key = JobKey::random().unwrap();
    let port = cards[0].port;
    let mut ranks = 0..;
    let [first, second] = listeners.map(|listener| {
        let cards = cards.clone();
        let directory = Box::new(move |peer: u32| Ok(cards[peer as usize].clone()));
        Tcp::new(ranks.next().unwrap(), 2, key.clone(), listener, directory).unwrap()
    });
    (first, second, port, key)
}

fn head(bytes: u64, sequence: u32) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: 1,
            source: 1,
            tag: 2,
            content: Content::new(bytes, 0),
        },
        sequence,
        credit: 0,
        kind: Kind::Eager,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    prefix[..used].to_vec()
}

/// Sends from `from` to process 0 until it arrives.
fn message_arrives(from: &mut Tcp, at: &mut Tcp, sequence: u32) {
    let (payload, begun, mut sent) = ([sequence as u8; 64], Instant::now(), false);
    loop {
        if !sent {
            // SAFETY: the payload is a local that outlives the call, and what does not leave is
            // copied.
            let left = unsafe { from.send(0, &head(64, sequence), payload.as_ptr(), 64, false) };
            sent = left == Sent::Left;
        }
        from.poll();
        while let Some(event) = at.poll() {
            if let Event::Packet {
                from: 1,
                payload: 64,
                ..
            } = event
            {
                assert_eq!(at.at_hand(), payload);
                at.pass(64);
                return;
            }
        }
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "the message never came"
        );
    }
}

fn poll_for(device: &mut Tcp, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        assert!(device.poll().is_none(), "a stranger is no event");
    }
}

#[test]
fn strangers_are_dropped_and_counted_and_hold_nothing_up() {
    let (mut first, mut second, port, _) = two();
    let knock = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    // A browser, a port scanner that says nothing, one that floods, another job, and two hundred at
    // once.
    let mut browser = knock();
    browser
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    drop(knock());
    let mut flood = knock();
    flood.write_all(&[0xff; 4096]).unwrap();
    let mut other_job = knock();
    let (_, hello) = Dialler::new(&JobKey::random().unwrap(), 1, 0, random_nonce().unwrap());
    other_job.write_all(&hello).unwrap();
    let mut crowd: Vec<TcpStream> = (0..200).map(|_| knock()).collect();
    poll_for(&mut first, Duration::from_millis(300));

    let mut answer = [0; 16];
    browser
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert!(
        matches!(browser.read(&mut answer), Ok(0) | Err(_)),
        "a browser gets no answer"
    );
    let refused = first.counters().refused;
    assert!(refused >= 3 + 200 - 64 - 2, "{refused} were refused");
    // The rest sits there and says nothing; a member of the job comes through all the same.
    message_arrives(&mut second, &mut first, 0);
    assert_eq!(first.counters().connections, 1);
    crowd.clear();
}

/// The other job's process proves nothing: it does not get beyond the challenge.
#[test]
fn another_jobs_key_is_refused_at_its_proof() {
    let (mut first, _, port, _) = two();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_nonblocking(true).unwrap();
    let (mut dialler, hello) =
        Dialler::new(&JobKey::random().unwrap(), 1, 0, random_nonce().unwrap());
    stream.write_all(&hello).unwrap();
    let begun = Instant::now();
    let mut bytes = [0; 256];
    loop {
        assert!(first.poll().is_none());
        if let Ok(count) = stream.read(&mut bytes)
            && count > 0
        {
            let progress = dialler.handle(&bytes[..count]).progress;
            assert!(matches!(progress, Progress::More | Progress::Refused(_)));
            if progress != Progress::More {
                return;
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}

/// A process that has proven itself and then sends garbage is lost, with a reason, and takes
/// nothing with it.
#[test]
fn garbage_from_a_member_is_an_error_and_no_crash() {
    for garbage in [&[0xee; 64][..], b"\x00\x00\x00\x00\x01\x4d", &[0; 300]] {
        let (mut first, _, port, key) = two();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nonblocking(true).unwrap();
        let (mut dialler, hello) = Dialler::new(&key, 1, 0, random_nonce().unwrap());
        stream.write_all(&hello).unwrap();
        let (begun, mut proven) = (Instant::now(), false);
        let mut bytes = [0; 256];
        let lost = loop {
            match first.poll() {
                Some(Event::Lost(1)) => break true,
                // A head that `wire` refuses: the engine ends there.
                Some(Event::Packet { prefix, .. }) => break Repr::parse_prefix(&prefix).is_err(),
                other => assert!(other.is_none(), "{other:?}"),
            }
            if !proven && let Ok(count) = stream.read(&mut bytes) {
                let step = dialler.handle(&bytes[..count]);
                stream.write_all(&step.send).unwrap();
                if step.progress == Progress::Done(Verdict::Keep) {
                    proven = true;
                    stream.write_all(garbage).unwrap();
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(300));
        };
        assert!(lost);
    }
}
