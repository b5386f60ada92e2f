//! What a peer sends: packets in the format of `oxmpi_wire::stream`, and payloads whose every byte
//! can be checked.

use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

/// The communicator that all cases use unless they try others.
pub const CONTEXT: u64 = 11 | 7 << 40;

/// A packet's head without payload; `payload` bytes are announced.
pub fn head(kind: Kind, source: u32, tag: i32, message_bytes: usize, payload: usize) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: CONTEXT,
            source,
            tag,
            content: Content::new(message_bytes as u64, 0),
        },
        sequence: 0,
        credit: 0,
        kind,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    let mut bytes = (payload as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&prefix[..used]);
    bytes
}

/// A whole packet.
pub fn whole(kind: Kind, source: u32, tag: i32, message_bytes: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head(kind, source, tag, message_bytes, payload.len());
    bytes.extend_from_slice(payload);
    bytes
}

/// A message in one packet.
pub fn eager(source: u32, tag: i32, payload: &[u8]) -> Vec<u8> {
    whole(Kind::Eager, source, tag, payload.len(), payload)
}

/// A message that waits for its receiver.
pub fn request(source: u32, tag: i32, message_bytes: usize, send: u64) -> Vec<u8> {
    let kind = Kind::RequestToSend {
        send,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    };
    head(kind, source, tag, message_bytes, 0)
}

/// A part of it.
pub fn data(receive: u64, offset: usize, message_bytes: usize, payload: &[u8]) -> Vec<u8> {
    let kind = Kind::Data {
        receive,
        offset: offset as u64,
    };
    whole(kind, 0, 0, message_bytes, payload)
}

/// Bytes `from..from + bytes` of the message that a number stands for; neighbours and pages differ.
/// Made by words, because emulated machines are slow.
pub fn pattern(number: u64, from: usize, bytes: usize) -> Vec<u8> {
    let word = |at: usize| {
        let mixed =
            (at as u64 ^ number.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        (mixed ^ mixed >> 29).to_le_bytes()
    };
    let (first, end) = (from / 8, (from + bytes).div_ceil(8));
    let mut made: Vec<u8> = (first..end).flat_map(word).collect();
    made.drain(..from % 8);
    made.truncate(bytes);
    made
}

/// A short message that carries its own number.
pub fn numbered(number: u64, bytes: usize) -> Vec<u8> {
    let mut payload = number.to_le_bytes().to_vec();
    payload.extend_from_slice(&pattern(number, 8, bytes.max(8) - 8));
    payload
}

/// The number of a [`numbered`] message, if it is intact.
pub fn number_of(payload: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(*payload.first_chunk()?);
    (numbered(number, payload.len()) == payload).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_pattern_are_parts_of_the_whole() {
        let whole = pattern(7, 0, 1000);
        for from in 0..40 {
            for bytes in 0..40 {
                assert_eq!(pattern(7, from, bytes), whole[from..from + bytes]);
            }
        }
        assert_ne!(pattern(7, 0, 64), pattern(8, 0, 64));
        assert_ne!(whole[..64], whole[64..128], "neighbours differ");
    }

    #[test]
    fn a_message_knows_its_number() {
        for bytes in [0, 8, 9, 100] {
            let mut message = numbered(42, bytes);
            assert_eq!(number_of(&message), Some(42));
            if let Some(last) = message.get_mut(8..).and_then(|rest| rest.last_mut()) {
                *last ^= 1;
                assert_eq!(number_of(&message), None);
            }
        }
    }
}
