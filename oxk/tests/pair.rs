//! Two endpoints in one process, over real sockets: what the core promises holds for them, too.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use oxmpi_oxk::{
    Answer, Bounds, CancelError, Connection, ECANCELED, ECONNRESET, EMSGSIZE, Endpoint, FULL,
    Handlers, JobKey, Listener, PeerToken, Pending, RequestError,
};

const WAIT: Duration = Duration::from_secs(20);
const BOUNDS: Bounds = Bounds {
    requests: 256,
    peers: 2,
    unexpected_bytes: 64 << 10,
    eager_bytes: 8 << 10,
    handler: false,
};

fn key() -> JobKey {
    JobKey::from_bytes([7; 16])
}

struct End {
    endpoint: Endpoint,
    peer: PeerToken,
    lost: Arc<AtomicU32>,
}

fn end(connection: Connection, mut handlers: Handlers) -> End {
    let lost = Arc::new(AtomicU32::new(0));
    let told = lost.clone();
    handlers.lost = Some(Box::new(move |_, error| {
        told.store(error, Ordering::SeqCst)
    }));
    let endpoint = Endpoint::open(BOUNDS, handlers).expect("bounds in range");
    let peer = endpoint.adopt(connection).expect("the first peer");
    End {
        endpoint,
        peer,
        lost,
    }
}

/// A listener that gives the first connection it accepts.
fn listening() -> (Listener, mpsc::Receiver<Connection>) {
    let (give, given) = mpsc::channel();
    let give = Mutex::new(give);
    let accepted = move |connection| {
        let _ = give.lock().expect("nobody panics").send(connection);
    };
    let listener = Listener::start("127.0.0.1:0", &key(), accepted).expect("a port");
    (listener, given)
}

fn pair_with(handlers: Handlers) -> (End, End) {
    let (listener, given) = listening();
    let address = listener.address().to_string();
    let dialled = Connection::dial(&address, &key(), WAIT).expect("proven");
    let answered = given.recv_timeout(WAIT).expect("proven");
    (end(dialled, Handlers::default()), end(answered, handlers))
}

fn pair() -> (End, End) {
    pair_with(Handlers::default())
}

/// What a message holds: by its number, so that any mixture shows.
fn content(number: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| {
            (number
                .wrapping_mul(31)
                .wrapping_add(at)
                .wrapping_mul(0x9e37_79b9)
                >> 13) as u8
        })
        .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

fn wait(pending: Pending) -> oxmpi_oxk::Completed {
    pending.wait_for(WAIT).ok().expect("it ends")
}

/// On each of some channels the n-th receive that is not taken back gets the n-th message.
#[test]
fn every_channel_keeps_its_order() {
    let seeds: Vec<u64> = match std::env::var("OXK_SEED") {
        Ok(seed) => vec![seed.parse().expect("OXK_SEED is a number")],
        Err(_) => (1..=12).collect(),
    };
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (one, two) = pair();
        const CHANNELS: usize = 3;
        let mut sent: [Vec<(u64, usize)>; CHANNELS] = Default::default();
        let mut posted: [Vec<Pending>; CHANNELS] = Default::default();
        let mut sends = Vec::new();
        let post = |channel: u64| {
            // The low bits are the message's own.
            let (bits, mask) = (channel << 56, 0xff << 56);
            let buffer = vec![0; 300_000];
            two.endpoint
                .receive_pending(bits, mask, buffer)
                .expect("there is room")
        };
        for number in 0..120u64 {
            let channel = random.below(CHANNELS as u64);
            let list = &mut posted[channel as usize];
            match random.below(5) {
                0 | 1 => list.push(post(channel)),
                2 if !list.is_empty() => {
                    let at = random.below(list.len() as u64) as usize;
                    if two.endpoint.cancel(list[at].token).is_ok() {
                        list.remove(at);
                    }
                }
                _ => {
                    let bytes = match random.below(4) {
                        0 => 0,
                        1 => random.below(200) as usize,
                        2 => random.below(10_000) as usize,
                        _ => random.below(300_000) as usize,
                    };
                    let bits = channel << 56 | number;
                    let (data, sync) = (content(number, bytes), random.below(4) == 0);
                    let send = one.endpoint.send_pending(one.peer, bits, data, sync);
                    sends.push(send.expect("there is room"));
                    sent[channel as usize].push((number, bytes));
                }
            }
        }
        for (channel, list) in posted.iter_mut().enumerate() {
            while list.len() < sent[channel].len() {
                list.push(post(channel as u64));
            }
        }
        for (channel, (list, sent)) in posted.into_iter().zip(&sent).enumerate() {
            let mut list = list.into_iter();
            for &(number, bytes) in sent {
                let got = wait(list.next().expect("as many"));
                let place = format!("seed {seed}, channel {channel}, message {number}");
                assert_eq!(got.status.bits & 0xff_ffff, number, "{place}");
                assert_eq!(got.status.error, 0, "{place}");
                assert_eq!(got.received(), Ok(content(number, bytes)), "{place}");
            }
            for left in list {
                two.endpoint.cancel(left.token).expect("it still waits");
            }
        }
        for send in sends {
            assert_eq!(wait(send).status.error, 0, "seed {seed}");
        }
    }
}

#[test]
fn a_synchronous_send_is_over_when_it_is_matched() {
    let (one, two) = pair();
    let send = |sync| one.endpoint.send_pending(one.peer, 5, vec![1; 10], sync);
    let plain = send(false).expect("there is room");
    assert_eq!(wait(plain).status.error, 0);
    let sync = send(true).expect("there is room");
    std::thread::sleep(Duration::from_millis(50));
    assert!(!sync.is_over());
    for _ in 0..2 {
        let receive = two.endpoint.receive_pending(5, FULL, vec![0; 10]);
        assert_eq!(wait(receive.expect("there is room")).status.error, 0);
    }
    assert_eq!(wait(sync).status.error, 0);
}

#[test]
fn an_offer_can_be_taken_back_and_a_long_message_is_cut() {
    let (one, two) = pair();
    let offer = one
        .endpoint
        .send_pending(one.peer, 9, vec![1; 100_000], false);
    let offer = offer.expect("there is room");
    let found = loop {
        if let Some(found) = two.endpoint.probe(9, FULL) {
            break found;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!((found.bits, found.bytes), (9, 100_000));
    assert_eq!(one.endpoint.cancel(offer.token), Err(CancelError::Again));
    assert_eq!(wait(offer).status.error, ECANCELED);
    assert_eq!(two.endpoint.probe(9, FULL), None);
    let receive = two.endpoint.receive_pending(10, FULL, vec![0; 50]);
    let long = one
        .endpoint
        .send_pending(one.peer, 10, vec![3; 100_000], false);
    let got = wait(receive.expect("there is room"));
    assert_eq!((got.status.error, got.status.placed), (EMSGSIZE, 50));
    assert_eq!(got.buffer, [3; 50]);
    assert_eq!(wait(long.expect("there is room")).status.error, 0);
}

#[test]
fn the_handler_leaves_takes_and_places() {
    let (give, given) = mpsc::channel();
    let give = Mutex::new(give);
    let unexpected = move |arrival: oxmpi_oxk::Arrival<'_>| match arrival.bits {
        1 => Answer::Take,
        2 => {
            let give = give.lock().expect("nobody panics").clone();
            let done = move |completed: oxmpi_oxk::Completed| {
                let _ = give.send(completed);
            };
            Answer::Into(vec![0; arrival.bytes as usize], Box::new(done))
        }
        _ => Answer::Leave,
    };
    let handlers = Handlers {
        unexpected: Some(Box::new(unexpected)),
        ..Handlers::default()
    };
    let (one, two) = pair_with(handlers);
    for bytes in [0usize, 100, 200_000] {
        for bits in [1u64, 2, 3] {
            let data = content(bits, bytes);
            let send = one.endpoint.send_pending(one.peer, bits, data, true);
            let send = send.expect("there is room");
            if bits == 3 {
                let receive = two.endpoint.receive_pending(3, FULL, vec![0; bytes]);
                let got = wait(receive.expect("there is room"));
                assert_eq!(got.received(), Ok(content(3, bytes)));
            }
            assert_eq!(wait(send).status.error, 0, "bits {bits}, {bytes} bytes");
        }
        let placed = given.recv_timeout(WAIT).expect("it was placed");
        assert_eq!(placed.received(), Ok(content(2, bytes)));
    }
}

#[test]
fn a_lost_peer_fails_what_concerns_it_and_nothing_else() {
    let (one, two) = pair();
    let waiting = one.endpoint.receive_pending(1, FULL, vec![0; 8]);
    let waiting = waiting.expect("there is room");
    let offer = one
        .endpoint
        .send_pending(one.peer, 2, vec![0; 100_000], false);
    drop(two);
    assert_eq!(wait(offer.expect("there is room")).status.error, ECONNRESET);
    while one.lost.load(Ordering::SeqCst) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!waiting.is_over());
    let refused = one.endpoint.send_pending(one.peer, 2, vec![4; 4], false);
    let refused = refused.err().expect("it is gone");
    assert_eq!(
        (refused.error, refused.buffer),
        (RequestError::Peer, vec![4; 4])
    );
    // Another peer may meet the receive.
    let (listener, given) = listening();
    let address = listener.address().to_string();
    let dialled = Connection::dial(&address, &key(), WAIT).expect("proven");
    let other = end(dialled, Handlers::default());
    let answered = given.recv_timeout(WAIT).expect("proven");
    one.endpoint.adopt(answered).expect("there is room");
    let sent = other.endpoint.send(other.peer, 1, vec![5; 8], None);
    sent.expect("there is room");
    assert_eq!(wait(waiting).received(), Ok(vec![5; 8]));
}

#[test]
fn many_threads_send_at_once() {
    let (one, two) = pair();
    let (threads, each) = (4u64, 200u64);
    let sum = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let one = &one;
            scope.spawn(move || {
                for number in 0..each {
                    let data = content(number, (number * 37 % 9000) as usize);
                    let send =
                        one.endpoint
                            .send_pending(one.peer, thread << 32 | number, data, false);
                    wait(send.expect("there is room"));
                }
            });
            let (two, sum) = (&two, sum.clone());
            scope.spawn(move || {
                for number in 0..each {
                    let (bits, mask) = (thread << 32, 0xffff_ffff << 32);
                    let receive = two.endpoint.receive_pending(bits, mask, vec![0; 9000]);
                    let got = wait(receive.expect("there is room"));
                    assert_eq!(got.status.bits, thread << 32 | number);
                    let bytes = (number * 37 % 9000) as usize;
                    assert_eq!(got.received(), Ok(content(number, bytes)));
                    sum.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), threads * each);
}
