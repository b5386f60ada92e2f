//! Two engines that talk, each in a thread of its own, and the paths and sizes worth talking about.
#![allow(dead_code, reason = "each test file uses its share")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxmpi_engine::{Engine, Options, Threads};

use super::engines::{pair, recv, send, within};

/// How long a test may take.
pub const LIMIT: Duration = Duration::from_secs(600);
/// Around every limit: the slot, the short fragment, the fragment, the eager limit.
pub const SIZES: [usize; 16] = [
    0,
    1,
    23,
    24,
    25,
    57,
    1000,
    8191,
    8192,
    8193,
    65_535,
    65_536,
    65_537,
    100_000,
    1 << 20,
    3_145_733,
];

/// The ways a long message can take.
pub fn paths() -> [(&'static str, Options); 4] {
    let plain = Options::default();
    [
        ("as it comes", plain),
        (
            "streamed",
            Options {
                single_copy: false,
                ..plain
            },
        ),
        (
            "always offered",
            Options {
                eager_bytes: Some(0),
                ..plain
            },
        ),
        (
            "eager to the room's end",
            Options {
                eager_bytes: Some(1 << 19),
                single_copy: false,
                ..plain
            },
        ),
    ]
}

/// Runs both sides of a conversation, each in a thread of its own.
pub fn talk(
    what: &str,
    options: &Options,
    left: impl FnOnce(&Arc<Engine>) + Send,
    right: impl FnOnce(&Arc<Engine>) + Send,
) {
    let (one, two) = pair(options, Threads::One);
    within(LIMIT, what, || {
        thread::scope(|scope| {
            let (one, two) = (&one, &two);
            scope.spawn(move || {
                left(one);
                one.finalize();
            });
            scope.spawn(move || {
                right(two);
                two.finalize();
            });
        });
    });
}

/// Tells the other side to go on.
pub fn tell(engine: &Engine, to: u32) {
    send(engine, to, 1000, &[]).unwrap();
}

/// Waits for the other side; what it has sent before has then arrived.
pub fn listen(engine: &Engine, source: u32) {
    recv(engine, source, 1000, &mut []).unwrap();
}
