//! Who does not know the key, who knows it and writes nonsense, and who is killed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use oxmpi_handshake::{Dialler, Progress};
use oxmpi_oxk::{
    Bounds, Connection, ECONNRESET, EPROTO, Endpoint, FULL, Handlers, JobKey, Listener, PeerToken,
};

const WAIT: Duration = Duration::from_secs(20);
const ADDRESS: &str = "OXK_TEST_ADDRESS";
const BOUNDS: Bounds = Bounds {
    requests: 64,
    peers: 8,
    unexpected_bytes: 64 << 10,
    eager_bytes: 4 << 10,
    handler: false,
};

fn key() -> JobKey {
    JobKey::from_bytes([9; 16])
}

/// An endpoint that takes every proven connection, and who is lost with what.
fn open() -> (
    std::sync::Arc<Endpoint>,
    Listener,
    mpsc::Receiver<(PeerToken, u32)>,
) {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let lost = move |peer, error| {
        let _ = tell.lock().expect("nobody panics").send((peer, error));
    };
    let handlers = Handlers {
        lost: Some(Box::new(lost)),
        ..Handlers::default()
    };
    let endpoint = std::sync::Arc::new(Endpoint::open(BOUNDS, handlers).expect("bounds in range"));
    let adopter = endpoint.clone();
    let accepted = move |connection| {
        let _ = adopter.adopt(connection);
    };
    let listener = Listener::start("127.0.0.1:0", &key(), accepted).expect("a port");
    (endpoint, listener, told)
}

/// A proven stream without an endpoint behind it.
fn proven(address: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let (mut dialler, hello) = Dialler::new(&key(), 1, 0, [3; 16]);
    stream.write_all(&hello).expect("it reads");
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).expect("it answers");
        let step = dialler.handle(&byte);
        stream.write_all(&step.send).expect("it reads");
        if step.progress != Progress::More {
            return stream;
        }
    }
}

#[test]
fn nonsense_ends_its_own_connection_alone() {
    let (endpoint, listener, told) = open();
    let honest = Endpoint::open(BOUNDS, Handlers::default()).expect("bounds in range");
    let address = listener.address().to_string();
    let connection = Connection::dial(&address, &key(), WAIT).expect("proven");
    let peer = honest.adopt(connection).expect("the first peer");
    for seed in 1..=30u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as u8
        };
        let bytes: Vec<u8> = (0..400).map(|_| next()).collect();
        let mut stream = proven(listener.address());
        let _ = stream.write_all(&bytes);
        drop(stream);
        let (_, error) = told.recv_timeout(WAIT).expect("it is lost");
        assert!(matches!(error, EPROTO | ECONNRESET), "seed {seed}: {error}");
        let receive = endpoint.receive_pending(seed, FULL, vec![0; 100]);
        let sent = honest.send(peer, seed, vec![seed as u8; 100], None);
        sent.expect("the honest peer is there");
        let got = receive.expect("there is room").wait_for(WAIT);
        let got = got.ok().expect("it arrives");
        assert_eq!(got.received(), Ok(vec![seed as u8; 100]), "seed {seed}");
    }
}

#[test]
fn another_key_is_refused_on_both_sides() {
    let (_endpoint, listener, _told) = open();
    let other = JobKey::from_bytes([8; 16]);
    let address = listener.address().to_string();
    let refused = Connection::dial(&address, &other, WAIT).expect_err("another key");
    assert!(refused.to_string().contains("same key file"), "{refused}");
    let nobody = Connection::dial("127.0.0.1:1", &key(), WAIT).expect_err("nobody listens");
    assert!(nobody.to_string().contains("127.0.0.1:1"), "{nobody}");
}

/// The other process of the next test; by itself it does nothing.
#[test]
fn other_process() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let endpoint = Endpoint::open(BOUNDS, Handlers::default()).expect("bounds in range");
    let connection = Connection::dial(&address, &key(), WAIT).expect("proven");
    let peer = endpoint.adopt(connection).expect("the first peer");
    // Sends back what it gets until it is killed.
    loop {
        let receive = endpoint.receive_pending(0, 0, vec![0; 1 << 20]);
        let got = receive.expect("there is room").wait();
        let bits = got.status.bits;
        let data = got.received().expect("it fits");
        endpoint
            .send(peer, bits | 1 << 63, data, None)
            .expect("there is room");
    }
}

#[test]
fn another_process_answers_until_it_is_killed() {
    let (endpoint, listener, told) = open();
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "other_process"])
        .env(ADDRESS, listener.address().to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let peer = loop {
        if let Some(&peer) = endpoint.peers().first() {
            break peer;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    for bytes in [0, 1, 5000, 700_000] {
        let data: Vec<u8> = (0..bytes).map(|at| (at * 11) as u8).collect();
        let answer = endpoint.receive_pending(1 << 63 | 6, FULL, vec![0; 1 << 20]);
        endpoint
            .send(peer, 6, data.clone(), None)
            .expect("there is room");
        let answer = answer.expect("there is room").wait_for(WAIT);
        assert_eq!(answer.ok().expect("it answers").received(), Ok(data));
    }
    child.kill().expect("it runs");
    child.wait().expect("it has run");
    let offer = endpoint.send_pending(peer, 7, vec![0; 1 << 20], true);
    let (lost, _) = told.recv_timeout(WAIT).expect("it is lost");
    assert_eq!(lost, peer);
    if let Ok(offer) = offer {
        let ended = offer.wait_for(WAIT).ok().expect("it ends");
        assert_ne!(ended.status.error, 0);
    }
}
