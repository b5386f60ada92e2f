//! How the sender of a partitioned message cuts it into parcels, and how it says so to the
//! receiver.

use std::ops::Range;

/// Parcels of one message. More are cheaper for the threads that fill it, and cost both sides a
/// message each: threads of a process seldom outnumber this.
const PARCELS_MAX: u64 = 256;

/// Bytes of an introduction: channel, parcels, partitions, bytes of data.
pub(super) const INTRODUCTION_BYTES: usize = 4 + 4 + 8 + 8;

/// A message's parcels: neighbouring partitions, as equal in number as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parcels {
    count: u32,
    partitions: u64,
    bytes: u64,
}

impl Parcels {
    pub(super) fn new(partitions: u64, bytes: u64) -> Parcels {
        Parcels {
            count: partitions.min(PARCELS_MAX) as u32,
            partitions,
            bytes,
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn partitions(&self) -> u64 {
        self.partitions
    }

    /// Whose part a partition is.
    pub(super) fn parcel_of(&self, partition: u64) -> u32 {
        let count = u128::from(self.count);
        let parcel = ((u128::from(partition) + 1) * count - 1) / u128::from(self.partitions);
        parcel as u32
    }

    /// The partitions of a parcel.
    pub(super) fn partitions_of(&self, parcel: u32) -> Range<u64> {
        let cut = |parcel: u32| {
            let whole = u128::from(parcel) * u128::from(self.partitions);
            (whole / u128::from(self.count)) as u64
        };
        cut(parcel)..cut(parcel + 1)
    }

    /// Its bytes of the packed data.
    pub(super) fn bytes_of(&self, parcel: u32) -> Range<u64> {
        let each = self.bytes / self.partitions;
        let Range { start, end } = self.partitions_of(parcel);
        start * each..end * each
    }

    /// The parcels that have some of these bytes; `None` if the data ends before.
    pub(super) fn with_bytes(&self, bytes: &Range<u64>) -> Option<Range<u32>> {
        if bytes.is_empty() || bytes.end > self.bytes {
            return None;
        }
        let each = self.bytes / self.partitions;
        let parcel = |byte: u64| self.parcel_of(byte / each);
        Some(parcel(bytes.start)..parcel(bytes.end - 1) + 1)
    }

    /// What the sender says of itself.
    pub(super) fn introduce(&self, channel: u32) -> [u8; INTRODUCTION_BYTES] {
        let mut said = [0; INTRODUCTION_BYTES];
        said[..4].copy_from_slice(&channel.to_le_bytes());
        said[4..8].copy_from_slice(&self.count.to_le_bytes());
        said[8..16].copy_from_slice(&self.partitions.to_le_bytes());
        said[16..].copy_from_slice(&self.bytes.to_le_bytes());
        said
    }

    /// What the receiver hears: the channel and the parcels. `None`: no sender says that.
    pub(super) fn hear(said: &[u8; INTRODUCTION_BYTES]) -> Option<(u32, Parcels)> {
        let (head, tail) = said.split_at(8);
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let long =
            |at: usize| u64::from_le_bytes(tail[at..at + 8].try_into().expect("eight bytes"));
        let parcels = Parcels::new(long(0), long(8));
        let is_whole = parcels.partitions > 0 || parcels.bytes == 0;
        (parcels.count == word(4) && is_whole).then(|| (word(0), parcels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_cover_the_partitions_in_order() {
        for partitions in [1, 2, 7, 255, 256, 257, 1000, 100_000] {
            let parcels = Parcels::new(partitions, partitions * 24);
            let mut next = 0;
            for parcel in 0..parcels.count() {
                let own = parcels.partitions_of(parcel);
                assert!(own.start == next && !own.is_empty());
                assert!(
                    own.clone()
                        .all(|partition| parcels.parcel_of(partition) == parcel)
                );
                assert_eq!(parcels.bytes_of(parcel), own.start * 24..own.end * 24);
                next = own.end;
            }
            assert_eq!(next, partitions);
        }
    }

    #[test]
    fn bytes_tell_their_parcels() {
        let parcels = Parcels::new(8, 24);
        assert_eq!(parcels.with_bytes(&(0..6)), Some(0..2));
        assert_eq!(parcels.with_bytes(&(5..7)), Some(1..3));
        assert_eq!(parcels.with_bytes(&(23..24)), Some(7..8));
        assert_eq!(parcels.with_bytes(&(20..25)), None, "more than was sent");
        assert_eq!(parcels.with_bytes(&(3..3)), None);
        assert_eq!(Parcels::new(8, 0).with_bytes(&(0..0)), None);
    }

    #[test]
    fn an_introduction_is_heard_as_it_was_said() {
        let parcels = Parcels::new(1000, 1 << 40);
        assert_eq!(Parcels::hear(&parcels.introduce(77)), Some((77, parcels)));
        let mut said = parcels.introduce(77);
        said[4] ^= 1;
        assert_eq!(Parcels::hear(&said), None);
    }
}
