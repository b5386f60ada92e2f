//! Two processes that talk by TCP inside one test process, and packets from rank 1 to rank 0.

use std::fmt::Display;
use std::io::Write as _;
use std::time::{Duration, Instant};

use oxmpi_net::tcp::{Listener, Progress, Sent, Tcp};
use oxmpi_net::{Card, JobKey};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

pub const LIMIT: Duration = Duration::from_secs(600);

/// Says that the test passes without showing anything, past libtest, which holds back what passing
/// tests print: `cargo xtask test` counts the line.
pub fn pass_over(why: &dyn Display) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{name}: skipped, this host does not permit it: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Two processes, of which rank 0's connections are read so.
pub fn job(progress: Progress) -> [Tcp; 2] {
    let listeners = [0, 1].map(|rank| Listener::bind(rank).unwrap());
    let cards: Vec<Card> = listeners
        .iter()
        .map(|one| one.card("here").unwrap())
        .collect();
    let key = JobKey::random().unwrap();
    let mut ranks = 0..;
    let mut job = listeners.map(|listener| {
        let cards = cards.clone();
        let directory = Box::new(move |peer: u32| Ok(cards[peer as usize].clone()));
        Tcp::new(ranks.next().unwrap(), 2, key.clone(), listener, directory).unwrap()
    });
    job[0].set_progress(progress).unwrap();
    job
}

fn head(bytes: usize) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: 3,
            source: 1,
            tag: 4,
            content: Content::new(bytes as u64, 0),
        },
        sequence: 0,
        credit: 0,
        kind: Kind::Eager,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    prefix[..used].to_vec()
}

/// Bytes of which none is 0.
pub fn content(bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at as u8).wrapping_mul(7) ^ (at >> 8) as u8 | 1)
        .collect()
}

/// Rank 1 sends a packet, as far as the kernel takes it.
pub fn send(job: &mut [Tcp; 2], payload: &[u8]) {
    let begun = Instant::now();
    loop {
        // SAFETY: the payload outlives the packet's way, which `resume` goes on with below.
        let sent = unsafe {
            job[1].send(
                0,
                &head(payload.len()),
                payload.as_ptr(),
                payload.len(),
                true,
            )
        };
        match sent {
            Sent::Later => {
                assert!(begun.elapsed() < LIMIT, "no connection is made");
                assert!(job[0].poll().is_none());
                assert!(job[1].poll().is_none());
            }
            _ => return,
        }
    }
}
