//! The bare exchange between two hosts: ping-pongs and windows of messages over any medium, without
//! a library.
//!
//! Unlike the other floors these do not make their second process: the two ends are ranks of a
//! benchmark job, because only they are on the hosts between which is measured. Each function has
//! its counterpart for the other end, and the first byte of a message tells that end whether it is
//! the last. What carries the bytes is a `Medium`: `tcp`, `udp` and `packet` have one each.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use super::median;

/// What the receiver of small messages asks for at once: everything that has come.
const SMALL_CALL: usize = 64 << 10;

/// Batches or windows thrown away while the medium's own windows grow.
const WARM: usize = 3;

/// A peer that says nothing for this long is taken for dead; the longest step is a window of
/// milliseconds.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Calls that found nothing between two looks at the clock.
const CALLS_PER_CLOCK: u32 = 1 << 16;

/// After so long an answer is there, unless something disturbed it.
const THERE_AND_BACK: Duration = Duration::from_micros(40);

/// First byte of a message after which there is another.
const GO_ON: u8 = 1;
/// First byte of the last message.
const LAST: u8 = 2;

/// Moves bytes from one end to the other, all of them, in order. One end sends at a time.
pub trait Medium {
    /// Sizes of a system call that a sensible author would try for a stream of messages of this
    /// length; not empty.
    fn calls(&self, bytes: usize) -> Vec<usize>;

    /// All of `bytes`, in calls of at most `call`.
    fn send(&mut self, bytes: &[u8], call: usize) -> io::Result<()>;

    /// Until `bytes` is full, in calls of at most `call`.
    fn receive(&mut self, bytes: &mut [u8], call: usize) -> io::Result<()>;
}

/// Round trips between two looks at the clock: about 100 µs, long against the clock, short against
/// a scheduler tick.
pub fn batch(bytes: usize) -> u64 {
    (100_000 / (6000 + bytes as u64 / 2)).max(4)
}

/// One way of a ping-pong, ns. The other end runs `pong`.
pub fn ping_ns(medium: &mut dyn Medium, bytes: usize, time: Duration) -> io::Result<f64> {
    let mut buffer = vec![GO_ON; bytes];
    let batch = batch(bytes);
    let mut one_way = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time || one_way.len() < 2 * WARM {
        let start = Instant::now();
        for _ in 0..batch {
            medium.send(&buffer, bytes)?;
            medium.receive(&mut buffer, bytes)?;
        }
        one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
    }
    buffer[0] = LAST;
    medium.send(&buffer, bytes)?;
    medium.receive(&mut buffer, bytes)?;
    Ok(median(&mut one_way[WARM..]))
}

/// The parts of a ping-pong of short messages, ns: one way, the call that sends, the call that
/// receives when the message is there. The other end runs `pong`.
pub fn ping_parts(medium: &mut dyn Medium, bytes: usize, time: Duration) -> io::Result<[f64; 3]> {
    let mut buffer = vec![GO_ON; bytes];
    let clock = clock_ns();
    let (mut one_way, mut send, mut receive) = (Vec::new(), Vec::new(), Vec::new());
    let batch = batch(bytes);
    let began = Instant::now();
    while began.elapsed() < time || one_way.len() < 2 * WARM {
        let start = Instant::now();
        for _ in 0..batch {
            medium.send(&buffer, bytes)?;
            medium.receive(&mut buffer, bytes)?;
        }
        one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
        for _ in 0..batch {
            let start = Instant::now();
            medium.send(&buffer, bytes)?;
            let sent = Instant::now();
            send.push((sent - start).as_nanos() as f64 - clock);
            while sent.elapsed() < THERE_AND_BACK {
                std::hint::spin_loop();
            }
            let start = Instant::now();
            medium.receive(&mut buffer, bytes)?;
            receive.push(start.elapsed().as_nanos() as f64 - clock);
        }
    }
    buffer[0] = LAST;
    medium.send(&buffer, bytes)?;
    medium.receive(&mut buffer, bytes)?;
    Ok([
        median(&mut one_way[WARM..]),
        median(&mut send),
        median(&mut receive),
    ])
}

/// What two looks at the clock take by themselves, ns.
fn clock_ns() -> f64 {
    const LOOKS: u32 = 1000;
    let start = Instant::now();
    for _ in 0..LOOKS {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_nanos() as f64 / f64::from(LOOKS)
}

/// Sends back what comes.
pub fn pong(medium: &mut dyn Medium, bytes: usize) -> io::Result<()> {
    let mut buffer = vec![0; bytes];
    while buffer[0] != LAST {
        medium.receive(&mut buffer, bytes)?;
        medium.send(&buffer, bytes)?;
    }
    Ok(())
}

/// Windows of messages, each window answered by a byte: messages per nanosecond with the best size
/// of a call. The other end runs `sink`.
pub fn stream(
    medium: &mut dyn Medium,
    bytes: usize,
    window: usize,
    time: Duration,
) -> io::Result<f64> {
    let calls = medium.calls(bytes);
    let mut best = (0.0, calls[0]);
    // The kernel enlarges a connection's buffers while it is used: whoever is tried first would
    // find them small.
    windows(medium, bytes, window, bytes, time / 4)?;
    if calls.len() > 1 {
        for call in calls {
            let rate = windows(medium, bytes, window, call, time / 4)?;
            if rate > best.0 {
                best = (rate, call);
            }
        }
    }
    let rate = windows(medium, bytes, window, best.1, time)?;
    medium.send(&0u64.to_le_bytes(), 8)?;
    Ok(rate)
}

fn windows(
    medium: &mut dyn Medium,
    bytes: usize,
    window: usize,
    call: usize,
    time: Duration,
) -> io::Result<f64> {
    medium.send(&(call as u64).to_le_bytes(), 8)?;
    // A medium of datagrams must not find the first message glued to the number.
    medium.receive(&mut [0], 1)?;
    let mut buffer = vec![GO_ON; bytes];
    let mut rates = Vec::new();
    let began = Instant::now();
    loop {
        let over = began.elapsed() >= time && rates.len() >= 2 * WARM;
        buffer[0] = if over { LAST } else { GO_ON };
        let start = Instant::now();
        for _ in 0..window {
            medium.send(&buffer, call)?;
        }
        medium.receive(&mut [0], 1)?;
        if over {
            return Ok(median(&mut rates[WARM..]));
        }
        rates.push(window as f64 / start.elapsed().as_nanos() as f64);
    }
}

/// Receives windows into an area with room for a whole one, as a receiver does that has posted all
/// of its receives.
pub fn sink(medium: &mut dyn Medium, bytes: usize, window: usize) -> io::Result<()> {
    let mut area = vec![0; bytes * window];
    loop {
        let mut call = [0; 8];
        medium.receive(&mut call, 8)?;
        let call = u64::from_le_bytes(call) as usize;
        if call == 0 {
            return Ok(());
        }
        medium.send(&[0], 1)?;
        let call = call.max(if bytes < SMALL_CALL { SMALL_CALL } else { 1 });
        area[0] = GO_ON;
        while area[0] != LAST {
            medium.receive(&mut area, call)?;
            medium.send(&[0], 1)?;
        }
    }
}

/// What a call that found nothing means: go on, until it has lasted too long.
pub(super) struct Patience {
    yields: bool,
    calls: u32,
    began: Option<Instant>,
}

impl Patience {
    /// Both ends on one CPU must yield to each other.
    pub(super) fn new(yields: bool) -> Patience {
        Patience {
            yields,
            calls: 0,
            began: None,
        }
    }

    /// Goes on after "nothing there" and interruptions; any other error is one.
    #[inline]
    pub(super) fn bear(&mut self, error: io::Error) -> io::Result<()> {
        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
            self.wait()
        } else {
            Err(error)
        }
    }

    /// Nothing there.
    #[inline]
    pub(super) fn wait(&mut self) -> io::Result<()> {
        if self.yields {
            std::thread::yield_now();
        }
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS_PER_CLOCK)
            && self.began.get_or_insert_with(Instant::now).elapsed() > SILENCE_MAX
        {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                format!(
                    "the other end of the bare exchange was silent for {} s: it ended, or something of it was lost on the way",
                    SILENCE_MAX.as_secs()
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Both ends of a medium in one process come to an end, and to figures.
    pub fn both_ends_agree_on_when_it_is_over(
        mut this: impl Medium,
        mut that: impl Medium + Send + 'static,
    ) {
        let time = Duration::from_millis(2);
        let other = std::thread::spawn(move || -> io::Result<()> {
            pong(&mut that, 8)?;
            pong(&mut that, 8)?;
            pong(&mut that, 100_000)?;
            sink(&mut that, 8, 64)?;
            sink(&mut that, 100_000, 4)
        });
        assert!(ping_ns(&mut this, 8, time).unwrap() > 100.0);
        let parts = ping_parts(&mut this, 8, time).unwrap();
        assert!(parts[0] > 100.0, "{parts:?}");
        assert!(ping_ns(&mut this, 100_000, time).unwrap() > 100.0);
        assert!(stream(&mut this, 8, 64, time).unwrap() > 0.0);
        assert!(stream(&mut this, 100_000, 4, time).unwrap() > 0.0);
        other.join().unwrap().unwrap();
    }
}
