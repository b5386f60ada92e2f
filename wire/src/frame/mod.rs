//! Frames of the PM protocol: what `link` says to its other side over UDP datagrams and Ethernet frames.
//!
//! A frame is a header of 40 bytes and a payload. All integers are little endian:
//!
//! | offset | field    | type | meaning                                                             |
//! |-------:|----------|------|---------------------------------------------------------------------|
//! |      0 | version  | u8   | [`FRAME_VERSION`]                                                   |
//! |      1 | kind     | u8   | [`Kind`]                                                            |
//! |      2 | channel  | u16  | the receiver's channel                                              |
//! |      4 | to       | u32  | destination node; with the channel it is what a socket filter reads |
//! |      8 | from     | u32  | source node                                                         |
//! |     12 | length   | u16  | bytes of payload                                                    |
//! |     14 | flags    | u16  | [`flag`]; a kind refuses flags it does not have                     |
//! |     16 | session  | u64  | secret of this direction in this session                            |
//! |     24 | sequence | u32  | number of a Data frame, else 0; wraps                               |
//! |     28 | ack      | u32  | number of the next Data frame expected from the other side          |
//! |     32 | crc      | u32  | CRC32C over header (this field 0) and payload if CHECKED, else 0    |
//! |     36 | reserved | u32  | 0                                                                   |
//!
//! The payload of a Data frame is a run of *pieces* ([`PieceHeader`]): a message too long for a frame is cut over several, short ones
//! that wait anyway share one. The payload of an Ack or Lose with SELECTIVE is a bitmap: bit `i` (lowest first) stands for frame
//! `ack + 1 + i`, which is there although `ack` is not. The checksum itself is computed in `link`.

mod error;
mod piece;

use core::fmt;

pub use error::FrameError;
pub use piece::{PIECE_HEADER_BYTES, PIECES_MAX, PieceHeader};

/// The layout version of frames this build speaks; any other one is refused.
pub const FRAME_VERSION: u8 = 1;

/// Bytes of the header that every frame starts with.
pub const FRAME_HEADER_BYTES: usize = 40;

/// Where the fields lie; nobody outside this folder knows.
mod field {
    pub const VERSION: usize = 0;
    pub const KIND: usize = 1;
    pub const CHANNEL: usize = 2;
    pub const TO: usize = 4;
    pub const FROM: usize = 8;
    pub const LENGTH: usize = 12;
    pub const FLAGS: usize = 14;
    pub const SESSION: usize = 16;
    pub const SEQUENCE: usize = 24;
    pub const ACK: usize = 28;
    pub const CRC: usize = 32;
    pub const RESERVED: usize = 36;
}

const _: () = assert!(field::RESERVED + 4 == FRAME_HEADER_BYTES);

/// Where channel and destination lie, in front of everything else: socket filters are programs over these offsets.
pub const CHANNEL_OFFSET: usize = field::CHANNEL;
/// See [`CHANNEL_OFFSET`].
pub const TO_OFFSET: usize = field::TO;
/// Where the length of the payload lies: devices that pad short frames cut them by it.
pub const LENGTH_OFFSET: usize = field::LENGTH;

/// The flag bits of the header.
pub mod flag {
    /// The header carries a checksum.
    pub const CHECKED: u16 = 1;
    /// The sender of this frame wants silence: STOP, on whatever frame leaves anyway.
    pub const STOPPED: u16 = 2;
    /// `Ack`, `Lose`: the payload is a bitmap of frames kept beyond `ack`.
    pub const SELECTIVE: u16 = 4;
    /// `Data`: the sender waits for the acknowledgement of this frame; it is not to be delayed.
    pub const ASKING: u16 = 8;
}

/// What a frame is for: the kind byte of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Pieces of messages.
    Data = 1,
    /// Nothing but what every header says: how far the other side's frames have come.
    Ack = 2,
    /// A frame is missing: later ones are there, `ack` is not.
    Lose = 3,
    /// The receiver's buffers run full: send nothing more.
    Stop = 4,
    /// The receiver has room again.
    Go = 5,
    /// Answer this by an acknowledgement, at once.
    Probe = 6,
    /// Wire-up, outside `link`: does this way lead to you?
    Hello = 7,
    /// Wire-up, outside `link`: it does.
    Welcome = 8,
}

impl Kind {
    /// The kind a kind byte names, if this version has it.
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Data,
            2 => Kind::Ack,
            3 => Kind::Lose,
            4 => Kind::Stop,
            5 => Kind::Go,
            6 => Kind::Probe,
            7 => Kind::Hello,
            8 => Kind::Welcome,
            _ => return None,
        })
    }

    /// The flags this kind may carry.
    #[inline]
    pub const fn flags_allowed(self) -> u16 {
        match self {
            Kind::Data => flag::CHECKED | flag::STOPPED | flag::ASKING,
            Kind::Ack | Kind::Lose => flag::CHECKED | flag::STOPPED | flag::SELECTIVE,
            Kind::Stop | Kind::Go | Kind::Probe => flag::CHECKED | flag::STOPPED,
            Kind::Hello | Kind::Welcome => flag::CHECKED,
        }
    }

    /// Whether a payload of this length makes sense under these flags, which the kind allows.
    #[inline]
    const fn may_carry(self, bytes: usize, flags: u16) -> bool {
        match self {
            Kind::Data => bytes >= PIECE_HEADER_BYTES,
            Kind::Ack | Kind::Lose => (bytes > 0) == (flags & flag::SELECTIVE != 0),
            Kind::Stop | Kind::Go | Kind::Probe => bytes == 0,
            Kind::Hello | Kind::Welcome => true,
        }
    }
}

/// A frame's header as a plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// The receiver's channel.
    pub channel: u16,
    /// Destination node.
    pub to: u32,
    /// Source node.
    pub from: u32,
    /// Bytes of payload.
    pub length: u16,
    /// The [`flag`]s; those the kind does not have may not be set.
    pub flags: u16,
    /// Secret of this direction in this session.
    pub session: u64,
    /// Number of a Data frame.
    pub sequence: u32,
    /// Next frame expected from the other side.
    pub ack: u32,
    /// Checksum, if CHECKED.
    pub crc: u32,
}

impl Frame {
    /// Whether a flag is set.
    #[inline]
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Writes the header.
    #[inline]
    pub fn emit(&self, out: &mut [u8; FRAME_HEADER_BYTES]) {
        debug_assert!(self.flags & !self.kind.flags_allowed() == 0);
        out[field::VERSION] = FRAME_VERSION;
        out[field::KIND] = self.kind as u8;
        put(out, field::CHANNEL, self.channel.to_le_bytes());
        put(out, field::TO, self.to.to_le_bytes());
        put(out, field::FROM, self.from.to_le_bytes());
        put(out, field::LENGTH, self.length.to_le_bytes());
        put(out, field::FLAGS, self.flags.to_le_bytes());
        put(out, field::SESSION, self.session.to_le_bytes());
        put(out, field::SEQUENCE, self.sequence.to_le_bytes());
        put(out, field::ACK, self.ack.to_le_bytes());
        put(out, field::CRC, self.crc.to_le_bytes());
        put(out, field::RESERVED, [0; 4]);
    }

    /// Reads the header of a whole frame, which is neither longer nor shorter than its header says, and the payload behind it.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Frame, &[u8]), FrameError> {
        let found = bytes.len();
        let Some((header, payload)) = bytes.split_first_chunk::<FRAME_HEADER_BYTES>() else {
            return Err(FrameError::Short { found });
        };
        if header[field::VERSION] != FRAME_VERSION {
            let found = header[field::VERSION];
            return Err(FrameError::Version { found });
        }
        let Some(kind) = Kind::from_byte(header[field::KIND]) else {
            let found = header[field::KIND];
            return Err(FrameError::Kind { found });
        };
        let frame = Frame {
            kind,
            channel: u16::from_le_bytes(get(header, field::CHANNEL)),
            to: u32::from_le_bytes(get(header, field::TO)),
            from: u32::from_le_bytes(get(header, field::FROM)),
            length: u16::from_le_bytes(get(header, field::LENGTH)),
            flags: u16::from_le_bytes(get(header, field::FLAGS)),
            session: u64::from_le_bytes(get(header, field::SESSION)),
            sequence: u32::from_le_bytes(get(header, field::SEQUENCE)),
            ack: u32::from_le_bytes(get(header, field::ACK)),
            crc: u32::from_le_bytes(get(header, field::CRC)),
        };
        frame.check(payload.len(), get(header, field::RESERVED))?;
        Ok((frame, payload))
    }

    #[inline]
    fn check(&self, payload_bytes: usize, reserved: [u8; 4]) -> Result<(), FrameError> {
        let kind = self.kind as u8;
        let allowed = self.kind.flags_allowed();
        if self.flags & !allowed != 0 {
            let found = self.flags;
            return Err(FrameError::Flags {
                kind,
                found,
                allowed,
            });
        }
        let said = usize::from(self.length);
        if said != payload_bytes {
            let found = payload_bytes;
            return Err(FrameError::Length { found, said });
        }
        if !self.kind.may_carry(payload_bytes, self.flags) {
            let bytes = payload_bytes;
            return Err(FrameError::Payload { kind, bytes });
        }
        let unused = [
            (reserved != [0; 4]),
            (self.crc != 0 && !self.has(flag::CHECKED)),
            (self.sequence != 0 && self.kind != Kind::Data),
        ];
        if unused != [false; 3] {
            return Err(FrameError::Unused { kind });
        }
        Ok(())
    }
}

/// Puts the checksum into a header that was written without one.
#[inline]
pub fn set_crc(header: &mut [u8; FRAME_HEADER_BYTES], crc: u32) {
    put(header, field::CRC, crc.to_le_bytes());
}

/// For traces: `3→1 data #17 1400 B ack 9 asking`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::Data => "data",
            Kind::Ack => "ack",
            Kind::Lose => "LOSE",
            Kind::Stop => "STOP",
            Kind::Go => "GO",
            Kind::Probe => "probe",
            Kind::Hello => "hello",
            Kind::Welcome => "welcome",
        };
        write!(f, "{}→{} {name}", self.from, self.to)?;
        if self.kind == Kind::Data {
            write!(f, " #{} {} B", self.sequence, self.length)?;
        }
        if self.kind == Kind::Ack {
            write!(f, " {}", self.ack)?;
        } else {
            write!(f, " ack {}", self.ack)?;
        }
        for (bit, text) in [
            (flag::ASKING, " asking"),
            (flag::STOPPED, " stopped"),
            (flag::SELECTIVE, " selective"),
        ] {
            if self.has(bit) {
                f.write_str(text)?;
            }
        }
        Ok(())
    }
}

/// Offsets are constants, so after inlining this is one load without a bounds check.
#[inline(always)]
fn get<const N: usize>(header: &[u8; FRAME_HEADER_BYTES], offset: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&header[offset..offset + N]);
    value
}

/// Offsets are constants, so after inlining this is one store without a bounds check.
#[inline(always)]
fn put<const N: usize>(out: &mut [u8; FRAME_HEADER_BYTES], offset: usize, value: [u8; N]) {
    out[offset..offset + N].copy_from_slice(&value);
}
