//! TCP without a library: one connection, non-blocking calls in a loop, no delay.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::wire::{Medium, Patience};

/// Sizes of a call that a sensible author would try for a stream; the whole message is another.
const CALLS: [usize; 2] = [32 << 10, 64 << 10];

/// One end of the connection.
pub struct Connection {
    stream: TcpStream,
    yields: bool,
}

impl Connection {
    /// Both ends on one CPU must yield to each other.
    pub fn new(stream: TcpStream, yields: bool) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, yields })
    }

    /// Takes a byte if one is there.
    pub fn take_byte(&mut self) -> io::Result<bool> {
        match self.stream.read(&mut [0]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Medium for Connection {
    fn calls(&self, bytes: usize) -> Vec<usize> {
        let smaller = CALLS.into_iter().filter(|call| *call < bytes);
        smaller.chain([bytes]).collect()
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::wire;
    use std::net::TcpListener;
    use std::time::Duration;

    /// Both ends in one process; they yield, so that one CPU is enough.
    fn ends() -> (Connection, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (that, _) = listener.accept().unwrap();
        (
            Connection::new(this, true).unwrap(),
            Connection::new(that, true).unwrap(),
        )
    }

    #[test]
    fn both_ends_agree_on_when_it_is_over() {
        let (this, that) = ends();
        wire::tests::both_ends_agree_on_when_it_is_over(this, that);
    }

    #[test]
    fn an_end_that_is_gone_is_an_error() {
        let (mut this, that) = ends();
        drop(that);
        let error = wire::ping_ns(&mut this, 8, Duration::ZERO).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}
