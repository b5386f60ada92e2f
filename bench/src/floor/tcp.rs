//! TCP without a library: two processes, one connection, non-blocking calls in a loop, no delay.
//!
//! Unlike the other floors this one does not make its second process: the two ends are ranks of a benchmark job, because only
//! they are on the hosts between which is measured. Each function has its counterpart for the other end, and the first byte of
//! a message tells that end whether it is the last.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::median;

/// Sizes of a call that a sensible author would try for a stream; the whole message is another.
const CALLS: [usize; 2] = [32 << 10, 64 << 10];

/// What the receiver of small messages asks for at once: everything that has come.
const SMALL_CALL: usize = 64 << 10;

/// Batches or windows thrown away while the connection's own windows grow.
const WARM: usize = 3;

/// A peer that says nothing for this long is taken for dead; the longest step is a window of milliseconds.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Calls that found nothing between two looks at the clock.
const CALLS_PER_CLOCK: u32 = 1 << 16;

/// First byte of a message after which there is another.
const GO_ON: u8 = 1;
/// First byte of the last message.
const LAST: u8 = 2;

/// Round trips between two looks at the clock: about 100 µs, long against the clock, short against a scheduler tick.
pub fn batch(bytes: usize) -> u64 {
    (100_000 / (6000 + bytes as u64 / 2)).max(4)
}

/// One end of the connection.
pub struct Wire {
    stream: TcpStream,
    yields: bool,
}

impl Wire {
    /// Both ends on one CPU must yield to each other.
    pub fn new(stream: TcpStream, yields: bool) -> io::Result<Wire> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Wire { stream, yields })
    }

    /// One way of a ping-pong, ns. The other end runs `pong`.
    pub fn ping_ns(&mut self, bytes: usize, time: Duration) -> io::Result<f64> {
        let mut buffer = vec![GO_ON; bytes];
        let batch = batch(bytes);
        let mut one_way = Vec::new();
        let began = Instant::now();
        while began.elapsed() < time || one_way.len() < 2 * WARM {
            let start = Instant::now();
            for _ in 0..batch {
                self.send(&buffer, bytes)?;
                self.receive(&mut buffer, bytes)?;
            }
            one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
        }
        buffer[0] = LAST;
        self.send(&buffer, bytes)?;
        self.receive(&mut buffer, bytes)?;
        Ok(median(&mut one_way[WARM..]))
    }

    /// Sends back what comes.
    pub fn pong(&mut self, bytes: usize) -> io::Result<()> {
        let mut buffer = vec![0; bytes];
        while buffer[0] != LAST {
            self.receive(&mut buffer, bytes)?;
            self.send(&buffer, bytes)?;
        }
        Ok(())
    }

    /// Windows of messages, each window answered by a byte: messages per nanosecond with the best size of a call. The other end
    /// runs `sink`.
    pub fn stream(&mut self, bytes: usize, window: usize, time: Duration) -> io::Result<f64> {
        let mut best = (0.0, bytes);
        // The kernel enlarges a connection's buffers while it is used: whoever is tried first would find them small.
        self.windows(bytes, window, bytes, time / 4)?;
        for call in CALLS.into_iter().filter(|call| *call < bytes) {
            best = larger(best, (self.windows(bytes, window, call, time / 4)?, call));
        }
        if best.1 < bytes {
            let whole = self.windows(bytes, window, bytes, time / 4)?;
            best = larger(best, (whole, bytes));
        }
        let rate = self.windows(bytes, window, best.1, time)?;
        self.send(&0u64.to_le_bytes(), 8)?;
        Ok(rate)
    }

    fn windows(
        &mut self,
        bytes: usize,
        window: usize,
        call: usize,
        time: Duration,
    ) -> io::Result<f64> {
        self.send(&(call as u64).to_le_bytes(), 8)?;
        let mut buffer = vec![GO_ON; bytes];
        let mut rates = Vec::new();
        let began = Instant::now();
        loop {
            let over = began.elapsed() >= time && rates.len() >= 2 * WARM;
            buffer[0] = if over { LAST } else { GO_ON };
            let start = Instant::now();
            for _ in 0..window {
                self.send(&buffer, call)?;
            }
            self.receive(&mut [0], 1)?;
            if over {
                return Ok(median(&mut rates[WARM..]));
            }
            rates.push(window as f64 / start.elapsed().as_nanos() as f64);
        }
    }

    /// Receives windows into an area with room for a whole one, as a receiver does that has posted all of its receives.
    pub fn sink(&mut self, bytes: usize, window: usize) -> io::Result<()> {
        let mut area = vec![0; bytes * window];
        loop {
            let mut call = [0; 8];
            self.receive(&mut call, 8)?;
            let call = u64::from_le_bytes(call) as usize;
            if call == 0 {
                return Ok(());
            }
            let call = call.max(if bytes < SMALL_CALL { SMALL_CALL } else { 1 });
            area[0] = GO_ON;
            while area[0] != LAST {
                self.receive(&mut area, call)?;
                self.send(&[0], 1)?;
            }
        }
    }

    /// All of `bytes`, in calls of at most `call`.
    fn send(&mut self, bytes: &[u8], call: usize) -> io::Result<()> {
        let mut sent = 0;
        let mut patience = Patience::new(self.yields);
        while sent < bytes.len() {
            let end = bytes.len().min(sent + call);
            match self.stream.write(&bytes[sent..end]) {
                Ok(count) => sent += count,
                Err(error) => patience.bear(error)?,
            }
        }
        Ok(())
    }

    /// Until `bytes` is full, in calls of at most `call`.
    fn receive(&mut self, bytes: &mut [u8], call: usize) -> io::Result<()> {
        let mut received = 0;
        let mut patience = Patience::new(self.yields);
        while received < bytes.len() {
            let end = bytes.len().min(received + call);
            match self.stream.read(&mut bytes[received..end]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => received += count,
                Err(error) => patience.bear(error)?,
            }
        }
        Ok(())
    }
}

fn larger(left: (f64, usize), right: (f64, usize)) -> (f64, usize) {
    if right.0 > left.0 { right } else { left }
}

/// What a call that found nothing means.
struct Patience {
    yields: bool,
    calls: u32,
    began: Option<Instant>,
}

impl Patience {
    fn new(yields: bool) -> Patience {
        Patience {
            yields,
            calls: 0,
            began: None,
        }
    }

    /// Goes on after "nothing there" and interruptions, until it has lasted too long.
    #[inline]
    fn bear(&mut self, error: io::Error) -> io::Result<()> {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
            return Err(error);
        }
        if self.yields {
            std::thread::yield_now();
        }
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS_PER_CLOCK)
            && self.began.get_or_insert_with(Instant::now).elapsed() > SILENCE_MAX
        {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Both ends in one process; they yield, so that one CPU is enough.
    fn ends() -> (Wire, Wire) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (that, _) = listener.accept().unwrap();
        (
            Wire::new(this, true).unwrap(),
            Wire::new(that, true).unwrap(),
        )
    }

    #[test]
    fn both_ends_agree_on_when_it_is_over() {
        let (mut this, mut that) = ends();
        let time = Duration::from_millis(2);
        let other = std::thread::spawn(move || -> io::Result<()> {
            that.pong(8)?;
            that.pong(100_000)?;
            that.sink(8, 64)?;
            that.sink(100_000, 4)
        });
        assert!(this.ping_ns(8, time).unwrap() > 100.0);
        assert!(this.ping_ns(100_000, time).unwrap() > 100.0);
        assert!(this.stream(8, 64, time).unwrap() > 0.0);
        assert!(this.stream(100_000, 4, time).unwrap() > 0.0);
        other.join().unwrap().unwrap();
    }

    #[test]
    fn an_end_that_is_gone_is_an_error() {
        let (mut this, that) = ends();
        drop(that);
        let error = this.ping_ns(8, Duration::ZERO).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}
