//! An endpoint of oxk in a process: the core of oxk.ko over one stream that is proven already.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use oxmpi_oxk_core::{Bounds, Completion, Endpoint, FULL, PeerToken, Seed, Status, Step, Token};

/// One connection, read and written by whoever waits.
pub struct UserEndpoint {
    stream: TcpStream,
    core: Endpoint,
    peer: PeerToken,
    memory: HashMap<Token, Vec<u8>>,
    over: HashMap<Token, (Completion, Vec<u8>)>,
}

const BOUNDS: Bounds = Bounds {
    requests: 16,
    peers: 1,
    unexpected_bytes: 64 << 10,
    eager_bytes: 8 << 10,
    handler: false,
};

impl UserEndpoint {
    pub fn new(stream: TcpStream) -> io::Result<UserEndpoint> {
        let mut core = Endpoint::open(BOUNDS, Seed::new([3, 4])).expect("bounds in range");
        let peer = core.accepted().expect("room for one");
        Ok(UserEndpoint {
            stream,
            core,
            peer,
            memory: HashMap::new(),
            over: HashMap::new(),
        })
    }

    pub fn send(&mut self, bits: u64, bytes: Vec<u8>) -> io::Result<Token> {
        let made = self
            .core
            .send(self.peer, bits, bytes.len() as u64, false, 0);
        let token = made.map_err(|error| io::Error::other(format!("{error:?}")))?;
        self.memory.insert(token, bytes);
        self.push()?;
        Ok(token)
    }

    pub fn receive(&mut self, bits: u64, capacity: usize) -> io::Result<Token> {
        let made = self.core.receive(bits, FULL, capacity as u64, 0);
        let token = made.map_err(|error| io::Error::other(format!("{error:?}")))?;
        self.memory.insert(token, vec![0; capacity]);
        self.push()?;
        Ok(token)
    }

    /// Reads and writes until the request is over.
    pub fn wait(&mut self, token: Token) -> io::Result<(Status, Vec<u8>)> {
        let mut bytes = vec![0; 64 << 10];
        loop {
            if let Some((completion, memory)) = self.over.remove(&token) {
                return Ok((completion.status, memory));
            }
            let read = self.stream.read(&mut bytes)?;
            if read == 0 {
                return Err(io::Error::other("the endpoint has closed the connection"));
            }
            self.feed(&bytes[..read])?;
            self.push()?;
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let fed = self.core.feed(self.peer, bytes);
            bytes = &bytes[fed.consumed..];
            match fed.step {
                Step::Done => return Ok(()),
                Step::Place {
                    token,
                    offset,
                    bytes: n,
                } => {
                    let memory = self.memory.get_mut(&token).expect("held until it is over");
                    memory[offset as usize..][..n].copy_from_slice(&bytes[..n]);
                    bytes = &bytes[n..];
                    self.core.placed(self.peer, 0);
                }
                Step::Stop => self.push()?,
                other => return Err(io::Error::other(format!("the stream ended: {other:?}"))),
            }
        }
    }

    /// Writes all there is to write, and takes what is over.
    fn push(&mut self) -> io::Result<()> {
        while let Some(token) = self.core.next_copy() {
            while let Some(piece) = self.core.next_piece(token) {
                let memory = self.memory.get_mut(&token).expect("held until it is over");
                memory[piece.offset as usize..][..piece.bytes.len()].copy_from_slice(piece.bytes);
            }
            self.core.copied(token, 0);
        }
        while let Some(transmit) = self.core.poll_send(self.peer) {
            self.stream.write_all(transmit.head())?;
            if let Some(payload) = transmit.payload {
                let memory = &self.memory[&payload.token];
                let (from, bytes) = (payload.offset as usize, payload.bytes as usize);
                self.stream.write_all(&memory[from..from + bytes])?;
                self.core.sent(payload.token);
            }
        }
        while let Some(completion) = self.core.next_completed() {
            let memory = self.memory.remove(&completion.token).unwrap_or_default();
            self.over.insert(completion.token, (completion, memory));
        }
        Ok(())
    }
}
