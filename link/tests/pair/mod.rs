//! What the tests share: frames put together as an endpoint would, and messages whose content is a
//! function of their number.
#![allow(dead_code)]

use oxmpi_link::{Checksum, Config, Link, Transmit};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, flag};

/// A message is known by its number.
pub type Number = u32;

/// What byte `offset` of a message is.
pub fn content(number: Number, offset: usize) -> u8 {
    (number as usize * 31 + offset * 7 + (offset >> 8)) as u8
}

/// Two ends of one conversation; the second has what the first has, mirrored.
pub fn mirrored(config: &Config) -> Config {
    Config {
        me: config.peer,
        peer: config.me,
        name_out: config.name_in,
        name_in: config.name_out,
        channel_out: config.channel_in,
        channel_in: config.channel_out,
        ..config.clone()
    }
}

/// The bytes of a frame that is to leave.
pub fn gather(link: &Link<Number>, transmit: &Transmit) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_HEADER_BYTES];
    transmit
        .frame
        .emit(bytes.first_chunk_mut().expect("room for a header"));
    for piece in link.pieces(transmit) {
        bytes.extend(piece.header().emit());
        let run = piece.offset..piece.offset + piece.bytes;
        bytes.extend(run.map(|offset| content(piece.message, offset)));
    }
    bytes.extend(link.control_payload(transmit));
    assert_eq!(
        bytes.len(),
        FRAME_HEADER_BYTES + usize::from(transmit.frame.length)
    );
    if transmit.frame.has(flag::CHECKED) {
        let (header, payload) = bytes.split_first_chunk_mut().expect("a header");
        let mut checksum = Checksum::of_header(header);
        checksum.update(payload);
        checksum.seal(header);
    }
    bytes
}

/// What one end has received: whole messages in order, and the one that is arriving.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inbox {
    /// Lengths of whole messages.
    pub whole: Vec<usize>,
    arriving: Option<usize>,
}

impl Inbox {
    /// Takes all that was delivered; the content of message `n` must be that of the `n`th message.
    pub fn drain(&mut self, link: &mut Link<Number>, frame: &[u8]) {
        while let Some(delivered) = link.poll_delivered() {
            let offset = match (delivered.first, self.arriving) {
                (true, None) => 0,
                (false, Some(offset)) => offset,
                (first, arriving) => panic!("first is {first} while {arriving:?} bytes arrived"),
            };
            let number = self.whole.len() as Number;
            let bytes = link.bytes(&delivered, frame);
            for (index, &byte) in bytes.iter().enumerate() {
                assert_eq!(
                    byte,
                    content(number, offset + index),
                    "message {number} at {}",
                    offset + index
                );
            }
            let length = offset + bytes.len();
            if delivered.last {
                self.whole.push(length);
                self.arriving = None;
            } else {
                self.arriving = Some(length);
            }
        }
    }
}
