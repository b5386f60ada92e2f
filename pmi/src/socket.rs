//! The rank's end of the connection to its launcher: whole messages, waited for.
//!
//! The launcher leaves a connected socket in PMI_FD, or (Hydra with `-pmi-port`) an address in
//! PMI_PORT. Both are used as a stream socket, never as a file: a write to a launcher that has gone
//! must be an error here and not SIGPIPE in a program whose signals are not ours.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::error::PmiError;
use crate::message::{FormatError, Inbox, Message};
use crate::{sys, wire1, wire2};

#[derive(Debug)]
pub(crate) struct Socket {
    stream: UnixStream,
    inbox: Inbox,
}

impl Socket {
    /// Takes over the socket that the launcher left at descriptor `fd`.
    pub(crate) fn inherited(fd: i32) -> Result<Socket, PmiError> {
        let failed = |error| PmiError::Descriptor { fd, error };
        let socket = Socket::new(sys::adopt_inherited(fd).map_err(failed)?);
        socket.stream.set_nonblocking(false).map_err(failed)?;
        Ok(socket)
    }

    /// Connects to the launcher at `address`, a host and a port.
    pub(crate) fn connected(address: &str) -> Result<Socket, PmiError> {
        let stream = TcpStream::connect(address)
            .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
            .map_err(|error| PmiError::Unreachable {
                address: address.to_owned(),
                host: sys::host_name(),
                error,
            })?;
        Ok(Socket::new(stream.into()))
    }

    /// Any stream socket serves: what is called on it (send without signal, receive) does not
    /// depend on its family.
    pub(crate) fn new(socket: OwnedFd) -> Socket {
        Socket {
            stream: UnixStream::from(socket),
            inbox: Inbox::default(),
        }
    }

    /// Sends a message of PMI-1.
    pub(crate) fn send_line(
        &mut self,
        doing: &'static str,
        message: &Message,
    ) -> Result<(), PmiError> {
        self.send(doing, &wire1::emit(message))
    }

    /// Waits for a message of PMI-1.
    pub(crate) fn receive_line(&mut self, doing: &'static str) -> Result<Message, PmiError> {
        let line = self.receive(doing, Inbox::next_line)?;
        match wire1::parse(&line).map_err(PmiError::garbled(doing))? {
            wire1::Line::Message(message) => Ok(message),
            wire1::Line::Opens(command) => Err(PmiError::Unexpected {
                doing,
                expected: "a message of one line",
                answer: format!("mcmd={command}"),
            }),
        }
    }

    /// Sends a message of PMI-2.
    pub(crate) fn send_frame(
        &mut self,
        doing: &'static str,
        message: &Message,
    ) -> Result<(), PmiError> {
        self.send(doing, &wire2::emit(message))
    }

    /// Waits for a message of PMI-2.
    pub(crate) fn receive_frame(&mut self, doing: &'static str) -> Result<Message, PmiError> {
        let body = self.receive(doing, Inbox::next_frame)?;
        wire2::parse(&body).map_err(PmiError::garbled(doing))
    }

    fn send(&mut self, doing: &'static str, bytes: &[u8]) -> Result<(), PmiError> {
        self.stream
            .write_all(bytes)
            .map_err(|error| PmiError::Broken { doing, error })
    }

    fn receive(
        &mut self,
        doing: &'static str,
        next: impl Fn(&mut Inbox) -> Result<Option<Vec<u8>>, FormatError>,
    ) -> Result<Vec<u8>, PmiError> {
        loop {
            if let Some(message) = next(&mut self.inbox).map_err(PmiError::garbled(doing))? {
                return Ok(message);
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(PmiError::Closed { doing }),
                Ok(count) => self.inbox.push(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(PmiError::Broken { doing, error }),
            }
        }
    }
}
