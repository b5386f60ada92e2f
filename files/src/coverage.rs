//! Which bytes of a window several ranks' strips cover together: what is written of it, or read.

use crate::strip::Strip;
use crate::view::Piece;

/// The ranges that strips cover together.
pub(crate) fn ranges<'s>(strips: impl Iterator<Item = &'s Strip> + Clone, gap: u64) -> Vec<Piece> {
    let (mut low, mut high, mut count) = (u64::MAX, 0, 0);
    for strip in strips.clone() {
        low = low.min(strip.offset);
        high = high.max(strip.end());
        count += strip.count;
    }
    if count == 1 {
        return vec![Piece {
            offset: low,
            bytes: high - low,
        }];
    }
    let mut grain = 0;
    for strip in strips.clone() {
        for length in [strip.offset - low, strip.block, strip.stride] {
            grain = common_divisor(grain, length);
        }
    }
    let mut covered = Coverage::new(low, high - low, grain);
    strips.for_each(|strip| covered.add(strip));
    covered.ranges(gap)
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
            match ranges.last_mut() {
                Some(last) if piece.offset - last.end() <= gap => {
                    last.bytes = piece.end() - last.offset;
                }
                _ => ranges.push(piece),
            }
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
