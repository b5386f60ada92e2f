//! A peer of oxk.ko that is a bare connection: it proves that it knows the key, or does not, and
//! then writes whatever a case wants.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use oxmpi_handshake::{Answerer, Dialler, JobKey, Progress, Verdict};
use oxmpi_wire::code::body_bytes;
use oxmpi_wire::stream::PAYLOAD_MAX;
use oxmpi_wire::{Content, Envelope, HEADER_BYTES, Kind, PREFIX_BYTES, Repr};

use crate::random::Random;
use crate::runner::{Outcome, fail};

/// What a peer lets the kernel send, in units of 64 bytes.
const CREDIT: u16 = 500;

/// What a packet of oxk says: bits, length of the message, and its place in the order.
fn packet(bits: u64, bytes: u64, sequence: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: bits,
            source: 0,
            tag: 0,
            content: Content::new(bytes, 0),
        },
        sequence,
        // Without any, the kernel would never say anything that has to be matched.
        credit: if kind == Kind::Credit { CREDIT } else { 0 },
        kind,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    let mut out = (payload.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&prefix[..used]);
    out.extend_from_slice(payload);
    out
}

/// An offer of a message.
pub fn offer(send: u64) -> Kind {
    Kind::RequestToSend {
        send,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    }
}

/// Has the connection come through the handshake as the side that dialled.
pub fn prove(mut stream: TcpStream, key: [u8; 16]) -> Outcome<TcpStream> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let (mut dialler, hello) = Dialler::new(&JobKey::from_bytes(key), 1, 0, [7; 16]);
    stream.write_all(&hello)?;
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        let step = dialler.handle(&byte);
        stream.write_all(&step.send)?;
        match step.progress {
            Progress::More => {}
            Progress::Done(Verdict::Keep) => return Ok(stream),
            other => return fail(format!("the handshake ended with {other:?}")),
        }
    }
}

/// The same as the side that was dialled.
pub fn admit(mut stream: TcpStream, key: [u8; 16]) -> Outcome<TcpStream> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut answerer = Answerer::new(&JobKey::from_bytes(key), 0, [9; 16]);
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        let step = answerer.handle(&byte);
        stream.write_all(&step.send)?;
        match step.progress {
            Progress::More => {}
            Progress::Proven { .. } => break,
            other => return fail(format!("the handshake ended with {other:?}")),
        }
    }
    stream.write_all(&answerer.verdict(Verdict::Keep))?;
    Ok(stream)
}

/// One that is proven, and counts its packets.
pub struct RawPeer {
    pub stream: TcpStream,
    sequence: u32,
}

impl RawPeer {
    pub fn dial(place: SocketAddrV4, key: [u8; 16]) -> Outcome<RawPeer> {
        Ok(RawPeer::of(prove(TcpStream::connect(place)?, key)?)?)
    }

    /// A connection that is proven already.
    pub fn of(stream: TcpStream) -> io::Result<RawPeer> {
        let mut peer = RawPeer {
            stream,
            sequence: 0,
        };
        peer.write(0, 0, Kind::Credit, &[])?;
        Ok(peer)
    }

    /// Writes a packet with the next number.
    pub fn write(&mut self, bits: u64, bytes: u64, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let packet = packet(bits, bytes, self.sequence, kind, payload);
        if kind.is_ordered() {
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.stream.write_all(&packet)
    }

    /// A whole message.
    pub fn eager(&mut self, bits: u64, payload: &[u8]) -> io::Result<()> {
        self.write(bits, payload.len() as u64, Kind::Eager, payload)
    }

    /// The next packet that arrives and is not a bare credit; its payload is skipped.
    pub fn hear(&mut self) -> Outcome<Repr> {
        loop {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            let payload = u32::from_le_bytes(length) as usize;
            if payload > PAYLOAD_MAX {
                return fail("the kernel said goodbye");
            }
            let mut head = [0; PREFIX_BYTES];
            self.stream.read_exact(&mut head[..HEADER_BYTES])?;
            let end = HEADER_BYTES + body_bytes(head[1]);
            self.stream.read_exact(&mut head[HEADER_BYTES..end])?;
            self.stream.read_exact(&mut vec![0; payload])?;
            match Repr::parse_prefix(&head) {
                Ok(repr) if repr.kind == Kind::Credit => {}
                Ok(repr) => return Ok(repr),
                Err(error) => return fail(format!("a packet of the kernel: {error:?}")),
            }
        }
    }

    /// A packet that could be one, or nearly, about messages with bits like `bits`.
    pub fn nonsense(&mut self, random: &mut Random, bits: u64) -> io::Result<()> {
        let token = |random: &mut Random| random.below(8) | random.below(3) << 32;
        let (send, receive) = (token(random), token(random));
        let payload = vec![7; random.below(3000) as usize];
        let bytes = match random.below(4) {
            0 => random.next() >> random.below(64),
            _ => payload.len() as u64,
        };
        let offset = if random.one_in(3) { random.next() } else { 0 };
        let kind = match random.below(10) {
            0..3 => Kind::Eager,
            3 | 4 => offer(send),
            5 => Kind::ClearToSend { send, receive },
            6 => Kind::Data { receive, offset },
            7 => Kind::Done { send },
            8 => Kind::Cancel { send },
            _ => Kind::CancelReply {
                send,
                cancelled: random.one_in(2),
            },
        };
        let has_payload = matches!(kind, Kind::Eager | Kind::Data { .. }) || random.one_in(20);
        let payload = if has_payload { &payload[..] } else { &[] };
        let bits = if random.one_in(5) {
            random.next()
        } else {
            bits
        };
        self.write(bits, bytes, kind, payload)
    }
}
