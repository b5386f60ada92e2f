//! Frames of the PM protocol: what `link` says to its other side over UDP datagrams and Ethernet
//! frames.
//!
//! A frame is a header of 40 bytes, a payload and, if it is sealed, a trailer. All integers are
//! little endian:
//!
//! | offset | field    | type | meaning                                                              |
//! |-------:|----------|------|----------------------------------------------------------------------|
//! |      0 | version  | u8   | [`FRAME_VERSION`]                                                    |
//! |      1 | kind     | u8   | [`Kind`]                                                             |
//! |      2 | channel  | u16  | the receiver's channel                                               |
//! |      4 | to       | u32  | destination node; with the channel it is what a socket filter reads  |
//! |      8 | name     | u32  | the sender, by the name that the receiver has given it               |
//! |     12 | length   | u16  | bytes of payload                                                     |
//! |     14 | flags    | u16  | [`flag`]; a kind refuses flags it does not have                      |
//! |     16 | sequence | u32  | number of a Data frame, else 0; wraps                                |
//! |     20 | ack      | u32  | number of the next Data frame expected from the other side           |
//! |     24 | serial   | u32  | lower half of the number of this transmission                        |
//! |     28 | crc      | u32  | CRC32C over the header up to serial and the payload if CHECKED, else 0 |
//! |     32 | tag      | u64  | proof of all fields before it, and of the whole number of the transmission |
//!
//! Every transmission has a number of its own, repeats included; a receiver takes each number once.
//! The tag is a keyed hash that only the two ends of a direction can compute (in `link`). The
//! payload of a Data frame is a run of *pieces* ([`PieceHeader`]): a message too long for a frame
//! is cut over several, short ones that wait anyway share one. The payload of an Ack or Lose with
//! SELECTIVE is a bitmap: bit `i` (lowest first) stands for frame `ack + 1 + i`, which is there
//! although `ack` is not. The payload of a frame with SEALED is encrypted, and a trailer of
//! [`SEAL_BYTES`] proves payload and header.

mod error;
mod piece;

use core::fmt;

pub use error::FrameError;
pub use piece::{PIECE_HEADER_BYTES, PIECES_MAX, PieceHeader};

/// The layout version of frames this build speaks; any other one is refused.
pub const FRAME_VERSION: u8 = 2;

/// Bytes of the header that every frame starts with.
pub const FRAME_HEADER_BYTES: usize = 40;

/// Where the fields lie; nobody outside this folder knows.
mod field {
    pub const VERSION: usize = 0;
    pub const KIND: usize = 1;
    pub const CHANNEL: usize = 2;
    pub const TO: usize = 4;
    pub const NAME: usize = 8;
    pub const LENGTH: usize = 12;
    pub const FLAGS: usize = 14;
    pub const SEQUENCE: usize = 16;
    pub const ACK: usize = 20;
    pub const SERIAL: usize = 24;
    pub const CRC: usize = 28;
    pub const TAG: usize = 32;
}

const _: () = assert!(field::TAG + 8 == FRAME_HEADER_BYTES);

/// Bytes of the header that the tag proves: everything before it.
pub const PROVEN_BYTES: usize = field::TAG;

/// Bytes of the header that a checksum covers: what is known before a frame gets its number.
pub const CHECKED_BYTES: usize = field::SERIAL;

/// Bytes behind the payload of a sealed frame.
pub const SEAL_BYTES: usize = 16;

/// Where channel and destination lie, in front of everything else: socket filters are programs over
/// these offsets.
pub const CHANNEL_OFFSET: usize = field::CHANNEL;
/// See [`CHANNEL_OFFSET`].
pub const TO_OFFSET: usize = field::TO;
/// Where the length of the payload lies.
pub const LENGTH_OFFSET: usize = field::LENGTH;

/// Bytes of the whole frame that begins with these, as its header says: devices that pad short
/// frames cut them by it. `None`: too few to tell.
#[inline]
pub fn frame_bytes(begin: &[u8]) -> Option<usize> {
    let &[a, b, c, d] = begin.get(field::LENGTH..)?.first_chunk()?;
    let sealed = u16::from_le_bytes([c, d]) & flag::SEALED != 0;
    let length = usize::from(u16::from_le_bytes([a, b]));
    Some(FRAME_HEADER_BYTES + length + if sealed { SEAL_BYTES } else { 0 })
}

/// Whether these bytes can be a sealed frame: header and trailer fit, and the header says so.
#[inline]
pub fn is_sealed(frame: &[u8]) -> bool {
    let flags = frame.get(field::FLAGS..).and_then(<[u8]>::first_chunk);
    let sealed = |flags: &[u8; 2]| u16::from_le_bytes(*flags) & flag::SEALED != 0;
    frame.len() >= FRAME_HEADER_BYTES + SEAL_BYTES && flags.is_some_and(sealed)
}

/// The sender's name in these first bytes of a frame, before anything else of it is looked at.
#[inline]
pub fn name(begin: &[u8]) -> Option<u32> {
    let bytes = begin.get(field::NAME..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

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
    /// The payload is encrypted, and a trailer follows it.
    pub const SEALED: u16 = 16;
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
            Kind::Data => flag::CHECKED | flag::STOPPED | flag::SEALED | flag::ASKING,
            Kind::Ack | Kind::Lose => {
                flag::CHECKED | flag::STOPPED | flag::SEALED | flag::SELECTIVE
            }
            Kind::Stop | Kind::Go | Kind::Probe => flag::CHECKED | flag::STOPPED | flag::SEALED,
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
    /// The sender, by the name that the receiver has given it.
    pub name: u32,
    /// Bytes of payload.
    pub length: u16,
    /// The [`flag`]s; those the kind does not have may not be set.
    pub flags: u16,
    /// Number of a Data frame.
    pub sequence: u32,
    /// Next frame expected from the other side.
    pub ack: u32,
    /// Lower half of the number of this transmission; 0 until it has one.
    pub serial: u32,
    /// Checksum, if CHECKED.
    pub crc: u32,
    /// Proof of everything else; 0 until there is one.
    pub tag: u64,
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
        put(out, field::NAME, self.name.to_le_bytes());
        put(out, field::LENGTH, self.length.to_le_bytes());
        put(out, field::FLAGS, self.flags.to_le_bytes());
        put(out, field::SEQUENCE, self.sequence.to_le_bytes());
        put(out, field::ACK, self.ack.to_le_bytes());
        put(out, field::SERIAL, self.serial.to_le_bytes());
        put(out, field::CRC, self.crc.to_le_bytes());
        put(out, field::TAG, self.tag.to_le_bytes());
    }

    /// Reads the header of a whole frame, which is neither longer nor shorter than its header says,
    /// and the payload behind it, without the trailer of a sealed one.
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
            name: u32::from_le_bytes(get(header, field::NAME)),
            length: u16::from_le_bytes(get(header, field::LENGTH)),
            flags: u16::from_le_bytes(get(header, field::FLAGS)),
            sequence: u32::from_le_bytes(get(header, field::SEQUENCE)),
            ack: u32::from_le_bytes(get(header, field::ACK)),
            serial: u32::from_le_bytes(get(header, field::SERIAL)),
            crc: u32::from_le_bytes(get(header, field::CRC)),
            tag: u64::from_le_bytes(get(header, field::TAG)),
        };
        let trailer = if frame.has(flag::SEALED) {
            SEAL_BYTES
        } else {
            0
        };
        let Some(payload_bytes) = payload.len().checked_sub(trailer) else {
            return Err(FrameError::Short { found });
        };
        frame.check(payload_bytes)?;
        Ok((frame, &payload[..payload_bytes]))
    }

    #[inline]
    fn check(&self, payload_bytes: usize) -> Result<(), FrameError> {
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
            (self.crc != 0 && !self.has(flag::CHECKED)),
            (self.sequence != 0 && self.kind != Kind::Data),
        ];
        if unused != [false; 2] {
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

/// Puts the number of its transmission into a header; the lower half of it has room.
#[inline]
pub fn set_serial(header: &mut [u8; FRAME_HEADER_BYTES], serial: u64) {
    put(header, field::SERIAL, (serial as u32).to_le_bytes());
}

/// The lower half of the number of a frame's transmission.
#[inline]
pub fn serial(header: &[u8; FRAME_HEADER_BYTES]) -> u32 {
    u32::from_le_bytes(get(header, field::SERIAL))
}

/// Puts the proof into a header that is complete but for it.
#[inline]
pub fn set_tag(header: &mut [u8; FRAME_HEADER_BYTES], tag: u64) {
    put(header, field::TAG, tag.to_le_bytes());
}

/// The proof in a header.
#[inline]
pub fn tag(header: &[u8; FRAME_HEADER_BYTES]) -> u64 {
    u64::from_le_bytes(get(header, field::TAG))
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
        write!(f, "{}→{} {name}", self.name, self.to)?;
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
            (flag::SEALED, " sealed"),
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
