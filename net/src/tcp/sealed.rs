//! A connection's stream in sealed records, for `--encrypt`; `oxmpi_wire::stream` has their format,
//! [`crate::seal`] the cipher.
//!
//! A record's number is its place in its direction of the connection, and is not sent: a record
//! that is missing, repeated or in another place does not open, and neither does one of another
//! connection, because keys are made of what both ends drew in the handshake.

use std::io;
use std::ops::Range;

use oxmpi_wire::frame::SEAL_BYTES;
use oxmpi_wire::stream::{RECORD_BYTES_MAX, RECORD_HEADER_BYTES, record_bytes, record_header};

use super::socket::{Moved, Socket};
use crate::seal::Seals;

/// What is read at once: several records, and the beginning of one more. Long enough for one call
/// to bring what the kernel has while a stream arrives, short enough to have one for each of some
/// hundred connections.
const INBOX_BYTES: usize = 64 << 10;
const RECORD_WHOLE_MAX: usize = RECORD_HEADER_BYTES + RECORD_BYTES_MAX + SEAL_BYTES;

const _: () = assert!(INBOX_BYTES > 2 * RECORD_WHOLE_MAX);

/// Both directions of one connection.
pub(super) struct Sealed {
    seals: Seals,
    /// Numbers of the next records.
    next_out: u64,
    next_in: u64,
    inbox: Box<[u8]>,
    /// What of the inbox has not been opened.
    begin: usize,
    end: usize,
    /// The last read filled the inbox: the socket may have more.
    full: bool,
}

/// What a look for the next record came to.
pub(super) enum Opened {
    /// Contents of a record, at this place of the inbox.
    Contents(Range<usize>),
    /// No whole record is there.
    Nothing,
    /// The other side has closed the connection.
    End,
    /// The stream cannot be believed, in words.
    Broken(String),
}

impl Sealed {
    pub fn new(seals: Seals, early: &[u8]) -> Sealed {
        let mut inbox = vec![0; INBOX_BYTES].into_boxed_slice();
        // What came together with the end of the handshake, in one short read.
        inbox[..early.len()].copy_from_slice(early);
        Sealed {
            seals,
            next_out: 0,
            next_in: 0,
            inbox,
            begin: 0,
            end: early.len(),
            full: false,
        }
    }

    /// Appends a record to `out`. Its contents are put there by `write`, at most
    /// [`RECORD_BYTES_MAX`] bytes; if there are none, there is no record. Says whether there is
    /// one.
    pub fn seal(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let begin = out.len();
        out.extend_from_slice(&[0; RECORD_HEADER_BYTES]);
        write(out);
        let bytes = out.len() - begin - RECORD_HEADER_BYTES;
        assert!(bytes <= RECORD_BYTES_MAX, "a record of {bytes} bytes");
        if bytes == 0 {
            out.truncate(begin);
            return false;
        }
        let (header, contents) = out[begin..].split_at_mut(RECORD_HEADER_BYTES);
        header.copy_from_slice(&record_header(bytes));
        let seal = self.seals.out.seal(self.next_out, header, contents);
        self.next_out += 1;
        out.extend_from_slice(&seal);
        true
    }

    /// Opens the next record; reads from the socket if none is at hand.
    pub fn next(&mut self, socket: &Socket) -> io::Result<Opened> {
        let opened = self.open();
        if !matches!(opened, Opened::Nothing) {
            return Ok(opened);
        }
        self.inbox.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        self.full = false;
        match socket.read(&mut self.inbox[self.end..])? {
            Moved::Blocked => Ok(Opened::Nothing),
            Moved::Bytes(0) => Ok(Opened::End),
            Moved::Bytes(bytes) => {
                self.end += bytes;
                self.full = self.end == INBOX_BYTES;
                Ok(self.open())
            }
        }
    }

    /// Whether another look could find a record although the kernel tells of nothing new.
    pub fn has_more(&self) -> bool {
        self.full || self.is_whole()
    }

    /// Contents that were opened.
    pub fn contents(&self, range: Range<usize>) -> &[u8] {
        &self.inbox[range]
    }

    /// Whether the next record is there, without a look at the socket.
    pub fn is_whole(&self) -> bool {
        let waiting = &self.inbox[self.begin..self.end];
        waiting.first_chunk().is_some_and(|header| {
            let bytes = record_bytes(header).unwrap_or(0);
            waiting.len() >= RECORD_HEADER_BYTES + bytes + SEAL_BYTES
        })
    }

    fn open(&mut self) -> Opened {
        let waiting = &mut self.inbox[self.begin..self.end];
        let Some((header, rest)) = waiting.split_first_chunk_mut() else {
            return Opened::Nothing;
        };
        let bytes = match record_bytes(header) {
            Ok(bytes) => bytes,
            Err(length) => {
                return Opened::Broken(format!("a sealed record of {length} bytes"));
            }
        };
        let Some((contents, rest)) = rest.split_at_mut_checked(bytes) else {
            return Opened::Nothing;
        };
        let Some(seal) = rest.first_chunk() else {
            return Opened::Nothing;
        };
        let number = self.next_in;
        if let Err(broken) = self.seals.into.open(number, header, contents, seal) {
            return Opened::Broken(format!("record {number} of its stream: {broken}"));
        }
        self.next_in += 1;
        let begin = self.begin + RECORD_HEADER_BYTES;
        self.begin = begin + bytes + SEAL_BYTES;
        Opened::Contents(begin..begin + bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Sealer;

    fn ends() -> [Sealed; 2] {
        let (one, other) = ([1; 16], [2; 16]);
        [(one, other), (other, one)].map(|(out, into)| {
            let seals = Seals {
                out: Sealer::new(&out),
                into: Sealer::new(&into),
            };
            Sealed::new(seals, &[])
        })
    }

    /// Puts bytes into the inbox as a read would.
    fn arrive(end: &mut Sealed, bytes: &[u8]) {
        end.inbox[end.end..end.end + bytes.len()].copy_from_slice(bytes);
        end.end += bytes.len();
    }

    fn record(end: &mut Sealed, contents: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        assert!(end.seal(&mut record, |out| out.extend_from_slice(contents)));
        record
    }

    fn taken(end: &mut Sealed) -> Result<Option<Vec<u8>>, String> {
        match end.open() {
            Opened::Contents(range) => Ok(Some(end.contents(range).to_vec())),
            Opened::Nothing => Ok(None),
            Opened::End => Err("the end".into()),
            Opened::Broken(what) => Err(what),
        }
    }

    #[test]
    fn records_open_in_their_order_wherever_they_are_cut() {
        let [mut here, mut there] = ends();
        let contents: Vec<Vec<u8>> = (1..60)
            .map(|number| vec![number; number as usize * 7])
            .collect();
        let mut stream = Vec::new();
        for contents in &contents {
            stream.extend(record(&mut here, contents));
        }
        assert!(!here.seal(&mut stream, |_| {}), "nothing is no record");
        assert!(!stream.windows(7).any(|part| part == [5; 7]));
        let mut found = Vec::new();
        for piece in stream.chunks(11) {
            arrive(&mut there, piece);
            while let Some(contents) = taken(&mut there).unwrap() {
                found.push(contents);
            }
        }
        assert_eq!(found, contents);
    }

    #[test]
    fn an_altered_bit_anywhere_is_refused() {
        let [mut here, _] = ends();
        let record = record(&mut here, b"contents");
        for bit in 0..8 * record.len() {
            let [_, mut there] = ends();
            let mut altered = record.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            arrive(&mut there, &altered);
            // A length that grew waits for bytes that do not belong to it, and then the seal is
            // wrong.
            arrive(&mut there, &[0; 40_000]);
            assert!(taken(&mut there).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn repeated_missing_and_reflected_records_are_refused() {
        let [mut here, mut there] = ends();
        let (one, two) = (record(&mut here, b"one"), record(&mut here, b"two"));
        arrive(&mut there, &one);
        arrive(&mut there, &one);
        assert_eq!(taken(&mut there), Ok(Some(b"one".to_vec())));
        let text = "record 1 of its stream: the seal is broken: altered on the way, or forged";
        assert_eq!(taken(&mut there), Err(text.to_owned()));
        let [_, mut there] = ends();
        arrive(&mut there, &two);
        assert!(taken(&mut there).is_err());
        arrive(&mut here, &one);
        assert!(taken(&mut here).is_err());
    }
}
