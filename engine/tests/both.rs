//! Engines that reach each other by UDP with TCP beside it; the name of this program decides.

mod network;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use network::messages::engines::{Random, data, pair, recv, send, within};
use oxmpi_engine::{Engine, Options, Threads};

const LIMIT: Duration = Duration::from_secs(600);
const MORE: i32 = 1;
const END: i32 = 2;

/// Long messages take the connection as soon as there is one, and keep their order among short
/// ones, which take the other way.
#[test]
fn long_messages_take_the_connection_in_order() {
    const ENOUGH: u64 = 40 << 20;
    let (left, right) = pair(&Options::default(), Threads::One);
    let done = AtomicBool::new(false);
    let size = |random: &mut Random| match random.below(4) {
        0 => random.below(64),
        1 => random.below(12 << 10),
        2 => (12 << 10) + random.below(100 << 10),
        _ => random.below(2 << 20),
    };
    let by_tcp = |engine: &Engine| engine.network_counters().unwrap().payload_bytes;
    within(LIMIT, "messages of all lengths", || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(7);
                while !done.load(Ordering::Relaxed) {
                    let bytes = size(&mut random);
                    send(&left, 1, MORE, &data(bytes, bytes)).unwrap();
                }
                send(&left, 1, END, &[]).unwrap();
                left.finalize();
            });
            scope.spawn(|| {
                let mut random = Random(7);
                let mut into = vec![0; 2 << 20];
                loop {
                    let got = recv(&right, 0, None, &mut into).unwrap();
                    if got.tag == END {
                        break;
                    }
                    let bytes = size(&mut random);
                    assert_eq!(got.bytes, bytes as u64);
                    assert!(into[..bytes] == data(bytes, bytes), "{bytes} bytes");
                    done.store(by_tcp(&right) > ENOUGH, Ordering::Relaxed);
                }
                right.finalize();
            });
        });
    });
    assert!(by_tcp(&right) > ENOUGH);
}
