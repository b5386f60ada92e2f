//! A device that writes a line for each frame that passes, for people who want to see the protocol
//! at work: `OXMPI_NET_TRACE=on`.
//!
//! ```text
//! 13:15:22.104711 0 > UDP 10.0.0.2:5000 0→1 data #17 1400 B ack 9
//! 13:15:22.104790 0 < UDP 10.0.0.2:5000 1→0 ack 18
//! ```
//!
//! Time of day (UTC), the node that writes, out or in, the other side's address, the frame. A line
//! is written in one piece, so that lines of processes that share an output do not mix. Frames that
//! left are written after they have been taken, so that the writing delays none.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxmpi_wire::frame::Frame;

use super::{Address, Batch, Counters, Device};

/// A trace around a device.
pub struct Trace {
    device: Box<dyn Device>,
    node: u32,
    output: Box<dyn Write + Send>,
    line: String,
    frame: Vec<u8>,
}

impl Trace {
    /// Writes the frames of node `node` to stderr.
    pub fn new(device: Box<dyn Device>, node: u32) -> Trace {
        Trace::to(device, node, Box::new(io::stderr()))
    }

    /// Writes them elsewhere.
    pub fn to(device: Box<dyn Device>, node: u32, output: Box<dyn Write + Send>) -> Trace {
        Trace {
            device,
            node,
            output,
            line: String::new(),
            frame: Vec::new(),
        }
    }

    fn write(&mut self, direction: char, address: Address, what: Result<(), &io::Error>) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = Clock(time.unwrap_or_default());
        self.line.clear();
        let begin = format_args!("{time} {} {direction} {address} ", self.node);
        // Writing to a string does not fail.
        let _ = match (what, Frame::parse(&self.frame)) {
            (Err(error), _) => writeln!(self.line, "{begin}failed: {error}"),
            (_, Ok((frame, _))) => writeln!(self.line, "{begin}{frame}"),
            (_, Err(error)) => writeln!(self.line, "{begin}{error}"),
        };
        // A trace that nobody can read any more is no reason to stop.
        let _ = self.output.write_all(self.line.as_bytes());
    }
}

/// A time since 1970, shown as the time of its day.
struct Clock(Duration);

impl std::fmt::Display for Clock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs() % (24 * 3600);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let (seconds, micros) = (seconds % 60, self.0.subsec_micros());
        write!(
            formatter,
            "{hours:02}:{minutes:02}:{seconds:02}.{micros:06}"
        )
    }
}

impl Device for Trace {
    fn describe(&self) -> String {
        format!("{} with a trace", self.device.describe())
    }

    fn frame_bytes_max(&self) -> usize {
        self.device.frame_bytes_max()
    }

    fn batch_max(&self) -> (usize, usize) {
        self.device.batch_max()
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let outcome = self.device.send(to, batch);
        match &outcome {
            Ok(taken) => {
                for frame in 0..*taken {
                    batch.copy_frame(frame, &mut self.frame);
                    self.write('>', *to, Ok(()));
                }
            }
            Err(error) => self.write('>', *to, Err(error)),
        }
        outcome
    }

    fn poll(&mut self) -> bool {
        if !self.device.poll() {
            return false;
        }
        self.frame.clear();
        self.frame.extend_from_slice(self.device.frame());
        self.write('<', self.device.sender(), Ok(()));
        true
    }

    fn frame(&self) -> &[u8] {
        self.device.frame()
    }

    fn sender(&self) -> Address {
        self.device.sender()
    }

    fn backlog(&self, high: usize) -> usize {
        self.device.backlog(high)
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn fd(&self) -> RawFd {
        self.device.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.device.prepare_sleep()
    }

    fn nap_max(&self) -> Option<Duration> {
        self.device.nap_max()
    }

    fn learn(&mut self, addresses: &[Address]) {
        self.device.learn(addresses);
    }

    fn refused(&mut self) -> Option<Address> {
        self.device.refused()
    }

    fn counters(&self) -> Counters {
        self.device.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Recorder, batch_of};
    use super::*;
    use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Kind};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_for_each_frame() {
        let to = Address::Udp("10.0.0.2:5000".parse().unwrap());
        let (device, record) = Recorder::pair();
        let lines = Lines::default();
        let mut trace = Trace::to(device, 3, Box::new(lines.clone()));
        let mut header = [0; FRAME_HEADER_BYTES];
        Frame {
            kind: Kind::Ack,
            channel: 1,
            to: 1,
            name: 3,
            length: 0,
            flags: 0,
            sequence: 0,
            ack: 9,
            serial: 0,
            crc: 0,
            tag: 0,
        }
        .emit(&mut header);
        let batch = batch_of([header.to_vec()]);
        assert_eq!(trace.send(&to, &batch).unwrap(), 1);
        record.lock().unwrap().arriving.push_back((to, vec![7; 3]));
        assert!(trace.poll() && !trace.poll());
        record.lock().unwrap().broken = Some(io::ErrorKind::NetworkDown);
        assert!(trace.send(&to, &batch).is_err());
        let written = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let without_time: Vec<_> = written.lines().map(|line| &line[16..]).collect();
        assert_eq!(
            without_time,
            [
                "3 > UDP 10.0.0.2:5000 3→1 ack 9",
                "3 < UDP 10.0.0.2:5000 3 bytes are too few for a frame, whose header alone takes 40",
                "3 > UDP 10.0.0.2:5000 failed: network down",
            ]
        );
    }

    #[test]
    fn the_time_of_day() {
        let clock = Clock(Duration::from_micros(86_400_000_000 * 3 + 3_661_000_042));
        assert_eq!(clock.to_string(), "01:01:01.000042");
    }
}
