//! Stands in for the shim: has the memory of requests, copies as it is told, keeps what has left
//! and is not acknowledged.
#![allow(
    dead_code,
    reason = "each test of this folder compiles it and uses its own part"
)]

use std::collections::HashMap;

use oxmpi_oxk_core::{
    Bounds, Completion, Endpoint, PeerToken, RequestError, Seed, Step, Token, Verdict,
};

pub const BOUNDS: Bounds = Bounds {
    requests: 64,
    peers: 4,
    unexpected_bytes: 4 * 4096,
    eager_bytes: 1000,
    handler: false,
};

/// What a message holds: by its name, so that any mixture shows.
pub fn content(name: u64, bytes: u64) -> Vec<u8> {
    let byte = |at: u64| {
        (name
            .wrapping_mul(31)
            .wrapping_add(at)
            .wrapping_mul(0x9e37_79b9)
            >> 13) as u8
    };
    (0..bytes).map(byte).collect()
}

pub struct Shim {
    pub core: Endpoint,
    /// By what was given as `user`.
    pub memory: HashMap<u64, Vec<u8>>,
    pub users: HashMap<Token, u64>,
    /// What has left and is not acknowledged.
    pub unsent: Vec<(PeerToken, Token)>,
    pub completed: HashMap<u64, (Completion, Vec<u8>)>,
}

/// What a handler sees.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub bits: u64,
    pub bytes: u64,
    pub offered: bool,
    /// How much of the stream has been used.
    pub consumed: usize,
}

impl Shim {
    pub fn new(bounds: Bounds) -> Shim {
        Shim {
            core: Endpoint::open(bounds, Seed::new([7, 8])).expect("bounds in range"),
            memory: HashMap::new(),
            users: HashMap::new(),
            unsent: Vec::new(),
            completed: HashMap::new(),
        }
    }

    pub fn send(
        &mut self,
        peer: PeerToken,
        bits: u64,
        memory: Vec<u8>,
        sync: bool,
        user: u64,
    ) -> Result<Token, RequestError> {
        let token = self
            .core
            .send(peer, bits, memory.len() as u64, sync, user)?;
        self.remember(token, user, memory);
        self.settle();
        Ok(token)
    }

    pub fn receive(
        &mut self,
        bits: u64,
        mask: u64,
        capacity: u64,
        user: u64,
    ) -> Result<Token, RequestError> {
        let token = self.core.receive(bits, mask, capacity, user)?;
        self.remember(token, user, vec![0xee; capacity as usize]);
        self.settle();
        Ok(token)
    }

    pub fn remember(&mut self, token: Token, user: u64, memory: Vec<u8>) {
        assert!(
            self.memory.insert(user, memory).is_none(),
            "names are used once"
        );
        assert!(
            self.users.insert(token, user).is_none(),
            "tokens are used once"
        );
    }

    /// Writes the next packet for a peer.
    pub fn pump(&mut self, peer: PeerToken, out: &mut Vec<u8>) -> bool {
        let announced = self.core.has_to_send(peer);
        let Some(transmit) = self.core.poll_send(peer) else {
            assert!(!announced, "a packet was announced, and there is none");
            return false;
        };
        assert!(announced, "there is a packet that was not announced");
        out.extend_from_slice(transmit.head());
        if let Some(payload) = transmit.payload {
            let memory = &self.memory[&self.users[&payload.token]];
            let (from, bytes) = (payload.offset as usize, payload.bytes as usize);
            out.extend_from_slice(&memory[from..from + bytes]);
            self.unsent.push((peer, payload.token));
        }
        self.settle();
        true
    }

    pub fn pump_all(&mut self, peer: PeerToken) -> Vec<u8> {
        let mut out = Vec::new();
        while self.pump(peer, &mut out) {}
        out
    }

    /// What has left is acknowledged.
    pub fn acknowledge(&mut self, at: usize) {
        let (_, token) = self.unsent.swap_remove(at);
        self.core.sent(token);
        self.settle();
    }

    pub fn acknowledge_all(&mut self) {
        while !self.unsent.is_empty() {
            self.acknowledge(0);
        }
    }

    /// Feeds bytes as far as they are taken, asking the handler.
    pub fn feed(
        &mut self,
        peer: PeerToken,
        data: &[u8],
        handler: &mut dyn FnMut(Shown) -> Verdict,
    ) -> (usize, Step) {
        let mut consumed = 0;
        loop {
            let fed = self.core.feed(peer, &data[consumed..]);
            consumed += fed.consumed;
            assert!(consumed <= data.len());
            match fed.step {
                Step::Place {
                    token,
                    offset,
                    bytes,
                } => {
                    let from = &data[consumed..consumed + bytes];
                    let memory = self.memory.get_mut(&self.users[&token]).expect("held");
                    memory[offset as usize..][..bytes].copy_from_slice(from);
                    consumed += bytes;
                    self.core.placed(peer, 0);
                }
                Step::Unexpected {
                    bits,
                    bytes,
                    offered,
                } => {
                    let shown = Shown {
                        bits,
                        bytes,
                        offered,
                        consumed,
                    };
                    self.judge(peer, handler(shown));
                }
                step => {
                    self.settle();
                    return (consumed, step);
                }
            }
        }
    }

    fn judge(&mut self, peer: PeerToken, verdict: Verdict) {
        let token = self.core.verdict(peer, verdict).expect("asked, and room");
        if let (Some(token), Verdict::Into { user, capacity }) = (token, verdict) {
            self.remember(token, user, vec![0xee; capacity as usize]);
        }
    }

    /// Copies what has come before its receive, and takes what is over.
    pub fn settle(&mut self) {
        while let Some(token) = self.core.next_copy() {
            let user = self.users[&token];
            while let Some(piece) = self.core.next_piece(token) {
                let memory = self.memory.get_mut(&user).expect("held");
                memory[piece.offset as usize..][..piece.bytes.len()].copy_from_slice(piece.bytes);
            }
            self.core.copied(token, 0);
        }
        while let Some(completion) = self.core.next_completed() {
            let user = self.users.remove(&completion.token).expect("told once");
            assert_eq!(user, completion.user);
            let using = |&(_, token): &(PeerToken, Token)| token == completion.token;
            assert!(
                !self.unsent.iter().any(using),
                "over while its memory is read"
            );
            let memory = self.memory.remove(&user).expect("held");
            let before = self.completed.insert(user, (completion, memory));
            assert!(before.is_none(), "told once");
        }
    }

    /// The caller has taken a request back.
    pub fn forget_request(&mut self, token: Token) {
        let user = self.users.remove(&token).expect("there was one");
        self.memory.remove(&user);
    }
}

pub fn no_handler(shown: Shown) -> Verdict {
    panic!("there is no handler to ask about {shown:?}")
}
