//! What the messages of a run contain, and the check of what arrives.
//!
//! Each byte is a function of the run's seed, the sending end, the message's number and the byte's
//! offset, so a byte that comes from another message, another place or another conversation does
//! not pass. Nothing is stored: both sides compute.

/// The messages of one direction of a conversation, as their sender made them.
#[derive(Debug, Clone, Copy)]
pub struct Content {
    key: u64,
}

impl Content {
    /// The messages that `end` sends in a run.
    pub fn new(seed: u64, end: u32) -> Content {
        Content {
            key: mix(seed ^ mix(u64::from(end) + 1)),
        }
    }

    /// Writes the message's bytes from `offset` on.
    pub fn fill(&self, message: u32, offset: usize, into: &mut [u8]) {
        let key = mix(self.key ^ u64::from(message));
        let mut at = offset;
        let mut rest = into;
        while !rest.is_empty() {
            let word = mix(key ^ (at / 8) as u64).to_le_bytes();
            let bytes = (8 - at % 8).min(rest.len());
            let (now, later) = rest.split_at_mut(bytes);
            now.copy_from_slice(&word[at % 8..at % 8 + bytes]);
            (at, rest) = (at + bytes, later);
        }
    }

    /// The first place at which the bytes are not the message's from `offset` on.
    fn differs(
        &self,
        message: u32,
        offset: usize,
        bytes: &[u8],
        expected: &mut Vec<u8>,
    ) -> Option<usize> {
        expected.resize(bytes.len(), 0);
        self.fill(message, offset, expected);
        let same = |(got, expected): (&u8, &u8)| got == expected;
        (expected != bytes).then(|| {
            offset
                + bytes
                    .iter()
                    .zip(&*expected)
                    .take_while(|pair| same(*pair))
                    .count()
        })
    }
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// What one end has received, held against what the other end sends.
#[derive(Debug)]
pub struct Arrived {
    content: Content,
    /// Messages that are here wholly.
    pub messages: u32,
    /// Bytes of all messages, also of the one that is not whole yet.
    pub bytes: u64,
    /// Bytes of the message that is not whole yet; none when it has not begun.
    partial: Option<usize>,
    expected: Vec<u8>,
}

impl Arrived {
    /// Nothing yet of what the other end sends.
    pub fn new(content: Content) -> Arrived {
        Arrived {
            content,
            messages: 0,
            bytes: 0,
            partial: None,
            expected: Vec::new(),
        }
    }

    /// Takes a piece in. `length` tells how long a message is, and none when there is no such
    /// message.
    pub fn take(
        &mut self,
        piece: &[u8],
        first: bool,
        last: bool,
        length: impl Fn(u32) -> Option<usize>,
    ) -> Result<(), String> {
        let message = self.messages;
        let length = length(message).ok_or_else(|| format!("message {message} was never sent"))?;
        let offset = match (first, self.partial) {
            (true, None) => 0,
            (false, Some(offset)) => offset,
            (true, Some(offset)) => {
                return Err(format!(
                    "message {message} begins again after {offset} bytes"
                ));
            }
            (false, None) => return Err(format!("message {message} goes on without having begun")),
        };
        let end = offset + piece.len();
        if end > length || last != (end == length) {
            let ends = if last { "ends" } else { "goes on" };
            return Err(format!(
                "message {message} of {length} bytes {ends} at byte {end}"
            ));
        }
        if let Some(at) = self
            .content
            .differs(message, offset, piece, &mut self.expected)
        {
            return Err(format!(
                "message {message} of {length} bytes is wrong from byte {at} on"
            ));
        }
        self.bytes += piece.len() as u64;
        self.partial = (!last).then_some(end);
        self.messages += u32::from(last);
        Ok(())
    }

    /// Whether a message has begun to arrive and has not ended.
    pub fn is_partial(&self) -> bool {
        self.partial.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(message: u32) -> Option<usize> {
        [20, 0, 5].get(message as usize).copied()
    }

    fn piece(message: u32, offset: usize, bytes: usize) -> Vec<u8> {
        let mut piece = vec![0; bytes];
        Content::new(7, 1).fill(message, offset, &mut piece);
        piece
    }

    #[test]
    fn what_was_sent_passes_in_any_pieces() {
        let mut arrived = Arrived::new(Content::new(7, 1));
        for (offset, bytes) in [(0, 3), (3, 9), (12, 8)] {
            let (first, last) = (offset == 0, offset + bytes == 20);
            assert_eq!(
                arrived.take(&piece(0, offset, bytes), first, last, lengths),
                Ok(())
            );
        }
        assert_eq!(arrived.take(&[], true, true, lengths), Ok(()));
        assert_eq!(arrived.take(&piece(2, 0, 5), true, true, lengths), Ok(()));
        assert_eq!((arrived.messages, arrived.bytes), (3, 25));
    }

    #[test]
    fn twice_out_of_order_short_and_damaged_do_not_pass() {
        let fresh = || Arrived::new(Content::new(7, 1));
        let mut wrong = piece(0, 0, 20);
        wrong[13] ^= 1;
        assert_eq!(
            fresh().take(&wrong, true, true, lengths),
            Err("message 0 of 20 bytes is wrong from byte 13 on".into())
        );
        assert_eq!(
            fresh().take(&piece(0, 0, 19), true, true, lengths),
            Err("message 0 of 20 bytes ends at byte 19".into())
        );
        let mut twice = fresh();
        twice
            .take(&piece(0, 0, 20), true, true, lengths)
            .expect("it is the first");
        assert!(twice.take(&piece(0, 0, 20), true, true, lengths).is_err());
        assert!(fresh().take(&piece(2, 0, 5), true, true, lengths).is_err());
    }
}
