//! Noticing hosts that vanish without a word: their cable is cut, their power gone, their network
//! moved away.
//!
//! An idle connection is watched by the kernel (keepalive, see `socket`). A connection with data
//! under way is not: the kernel retransmits for a quarter of an hour. So now and then a look at
//! each: bytes that nobody has acknowledged for a while, and no acknowledgement of anything since,
//! mean a host that is gone. A process that is merely stopped does not look like that, because its
//! kernel goes on acknowledging.

use std::time::{Duration, Instant};

use super::socket::Socket;

/// Between two looks.
const ROUND: Duration = Duration::from_secs(1);
/// Silence after which a host is taken for gone: several retransmissions of a network that is
/// merely slow.
const SILENCE_MS_MAX: u32 = 10_000;

pub(super) struct Liveness {
    last: Option<Instant>,
    /// Those that seemed gone at the last look: an acknowledgement may have been on its way.
    suspects: Vec<u32>,
}

impl Liveness {
    pub fn new() -> Liveness {
        Liveness {
            last: None,
            suspects: Vec::new(),
        }
    }

    /// Looks at all connections if it is time; gives those whose host is gone, with a text.
    pub fn look<'s, I: Iterator<Item = (u32, &'s Socket)>>(
        &mut self,
        now: Instant,
        connections: impl FnOnce() -> I,
    ) -> Vec<(u32, String)> {
        if self.last.is_some_and(|last| now - last < ROUND) {
            return Vec::new();
        }
        self.last = Some(now);
        let gone = |(rank, socket): (u32, &Socket)| {
            let silence = socket.silence().ok()?;
            (silence.unacknowledged && silence.since_ms > SILENCE_MS_MAX).then(|| {
                let seconds = silence.since_ms / 1000;
                let what = format!("its host has been silent for {seconds} s although it owes an acknowledgement: the host or the network is gone");
                (rank, what)
            })
        };
        let gone: Vec<(u32, String)> = connections().filter_map(gone).collect();
        let before = std::mem::replace(&mut self.suspects, gone.iter().map(|one| one.0).collect());
        gone.into_iter()
            .filter(|(rank, _)| before.contains(rank))
            .collect()
    }
}
