//! Which bytes of a window several ranks' strips cover together: what is written of it, or read.

use crate::strip::Strip;
use crate::view::Piece;

/// The ranges that strips cover together, ascending; those with a gap of at most `gap` bytes between
/// them are joined.
///
/// Strips that reach into each other are looked at together. Those of ranks whose pieces take turns
/// cover all of their range, and that is seen without looking at a single piece: they have the same
/// stride, at different places of it, and as many bytes as the range. For all others there is a
/// bit for each piece.
pub(crate) fn ranges<'s>(strips: impl Iterator<Item = &'s Strip>, gap: u64) -> Vec<Piece> {
    let mut sorted: Vec<Strip> = strips.copied().collect();
    sorted.sort_unstable_by_key(|strip| strip.offset);
    let mut ranges = Vec::new();
    let mut left = &sorted[..];
    while let Some(first) = left.first() {
        let (mut count, mut end) = (1, first.end());
        while let Some(next) = left.get(count).filter(|next| next.offset < end) {
            end = end.max(next.end());
            count += 1;
        }
        let (group, rest) = left.split_at(count);
        left = rest;
        let whole = Piece {
            offset: first.offset,
            bytes: end - first.offset,
        };
        if is_whole(group, whole.bytes, gap) {
            join(&mut ranges, whole, gap);
            continue;
        }
        if let [strip] = group {
            for index in 0..strip.count {
                let piece = Piece {
                    offset: strip.offset + index * strip.stride,
                    bytes: strip.block,
                };
                join(&mut ranges, piece, gap);
            }
            continue;
        }
        let mut grain = 0;
        for strip in group {
            for length in [strip.offset - whole.offset, strip.block, strip.stride] {
                grain = common_divisor(grain, length);
            }
        }
        let mut covered = Coverage::new(whole.offset, whole.bytes, grain);
        group.iter().for_each(|strip| covered.add(strip));
        for piece in covered.ranges(gap) {
            join(&mut ranges, piece, gap);
        }
    }
    ranges
}

/// Whether strips are sure to leave no gap longer than `gap` in their range of so many bytes; where
/// there are several, no gap at all.
fn is_whole(group: &[Strip], bytes: u64, gap: u64) -> bool {
    if let [strip] = group {
        return strip.count == 1 || strip.stride - strip.block <= gap;
    }
    let stride = group[0].stride;
    if group.iter().any(|strip| strip.stride != stride)
        || group.iter().map(Strip::bytes).sum::<u64>() != bytes
    {
        return false;
    }
    let mut places: Vec<(u64, u64)> = group
        .iter()
        .map(|strip| (strip.offset % stride, strip.block))
        .collect();
    places.sort_unstable();
    let (first, last) = (places[0], places[places.len() - 1]);
    let is_apart = places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0);
    is_apart && last.0 + last.1 <= first.0 + stride
}

/// Adds a range behind all others.
fn join(ranges: &mut Vec<Piece>, piece: Piece, gap: u64) {
    match ranges.last_mut() {
        Some(last) if piece.offset - last.end() <= gap => {
            last.bytes = piece.end() - last.offset;
        }
        _ => ranges.push(piece),
    }
}

/// Which parts of a window are covered by strips, exactly; for windows in which several processes
/// have parts.
pub(crate) struct Coverage {
    base: u64,
    grain: u64,
    bits: Vec<u64>,
}

impl Coverage {
    /// An empty one. Offsets relative to `base` and lengths of all strips to come are multiples of
    /// `grain`.
    pub(crate) fn new(base: u64, bytes: u64, grain: u64) -> Coverage {
        let bits = vec![0; bytes.div_ceil(grain).div_ceil(64) as usize];
        Coverage { base, grain, bits }
    }

    pub(crate) fn add(&mut self, strip: &Strip) {
        for index in 0..strip.count {
            let first = (strip.offset + index * strip.stride - self.base) / self.grain;
            let mut bit = first;
            let end = first + strip.block / self.grain;
            while bit < end {
                let (word, low) = ((bit / 64) as usize, bit % 64);
                let some = (64 - low).min(end - bit);
                let mask = if some == 64 {
                    u64::MAX
                } else {
                    ((1 << some) - 1) << low
                };
                self.bits[word] |= mask;
                bit += some;
            }
        }
    }

    /// The covered ranges, ascending; those with a gap of at most `gap` bytes between them are
    /// joined.
    pub(crate) fn ranges(&self, gap: u64) -> Vec<Piece> {
        let mut ranges: Vec<Piece> = Vec::new();
        let total = self.bits.len() as u64 * 64;
        let mut bit = 0;
        while let Some(begin) = self.find(bit, true) {
            let end = self.find(begin, false).unwrap_or(total);
            let piece = Piece {
                offset: self.base + begin * self.grain,
                bytes: (end - begin) * self.grain,
            };
            join(&mut ranges, piece, gap);
            bit = end;
        }
        ranges
    }

    /// The first bit from `from` on that is set, or not set.
    fn find(&self, from: u64, set: bool) -> Option<u64> {
        let mut word = (from / 64) as usize;
        let mut low = u64::MAX << (from % 64);
        while word < self.bits.len() {
            let bits = if set {
                self.bits[word]
            } else {
                !self.bits[word]
            } & low;
            if bits != 0 {
                return Some(word as u64 * 64 + u64::from(bits.trailing_zeros()));
            }
            low = u64::MAX;
            word += 1;
        }
        None
    }
}

/// The largest number that divides both.
pub(crate) fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strip(offset: u64, block: u64, stride: u64, count: u64) -> Strip {
        Strip {
            offset,
            block,
            stride,
            count,
        }
    }

    /// What covers which byte, one by one.
    fn by_bytes(strips: &[Strip], gap: u64) -> Vec<Piece> {
        let end = strips.iter().map(Strip::end).max().unwrap_or(0);
        let mut bytes = vec![false; end as usize];
        for strip in strips {
            for index in 0..strip.count {
                let at = (strip.offset + index * strip.stride) as usize;
                bytes[at..at + strip.block as usize].fill(true);
            }
        }
        let mut ranges = Vec::new();
        for (offset, _) in bytes.iter().enumerate().filter(|(_, is)| **is) {
            let offset = offset as u64;
            join(&mut ranges, Piece { offset, bytes: 1 }, gap);
        }
        ranges
    }

    #[test]
    fn pieces_in_turn_are_one_range() {
        let strips: Vec<Strip> = (0..16).map(|rank| strip(rank * 8, 8, 128, 1000)).collect();
        let whole = Piece {
            offset: 0,
            bytes: 128_000,
        };
        assert_eq!(ranges(strips.iter(), 0), [whole]);
        assert!(is_whole(&strips, whole.bytes, 0));
        // As many bytes, but two ranks have the same ones and some nobody has.
        let mut wrong = strips.clone();
        wrong[3].offset = 16;
        assert!(!is_whole(&wrong, whole.bytes, 0));
        assert_eq!(ranges(wrong.iter(), 0), by_bytes(&wrong, 0));
    }

    proptest! {
        #[test]
        fn ranges_are_what_the_bytes_say(
            raw in prop::collection::vec((0_u64..300, 1_u64..20, 0_u64..30, 1_u64..12), 1..8),
            same in any::<bool>(),
            gap in 0_u64..20,
        ) {
            let strips: Vec<Strip> = raw
                .iter()
                .map(|&(offset, block, more, count)| match same {
                    true => strip(offset, block.min(8), 8 * (1 + more % 2), count),
                    false => strip(offset, block, block + more, count),
                })
                .collect();
            prop_assert_eq!(ranges(strips.iter(), gap), by_bytes(&strips, gap));
        }
    }
}
