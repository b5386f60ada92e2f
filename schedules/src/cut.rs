//! Blocks of a buffer, and the even cutting of a vector into parts.
//!
//! Every rank computes the same cut from the same numbers, so nobody has to tell anybody a size.

/// A rank's block in the buffer of a gatherv, scatterv, allgatherv or alltoallv.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First byte.
    pub offset: usize,
    /// Length.
    pub bytes: usize,
}

/// A vector cut into parts that differ by at most one unit.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    bytes: usize,
    unit: usize,
    base: usize,
    longer: usize,
}

/// Parts begin at cache lines where the elements allow it: copies of aligned parts are faster, and
/// two ranks of one host never write to one line.
const UNIT_BYTES: usize = 64;

impl Cut {
    /// Cuts plain bytes.
    #[inline]
    pub fn bytes(bytes: usize, parts: u32) -> Cut {
        Cut::elements(bytes, 1, parts)
    }

    /// Cuts between elements.
    #[inline]
    pub fn elements(bytes: usize, element_bytes: usize, parts: u32) -> Cut {
        let element = element_bytes.max(1);
        let unit = element * (UNIT_BYTES / element).max(1);
        let (units, parts) = (bytes.div_ceil(unit), parts as usize);
        Cut {
            bytes,
            unit,
            base: units / parts,
            longer: units % parts,
        }
    }

    /// Where part `index` begins; for `index` = parts, where the last one ends.
    #[inline]
    pub fn start(&self, index: u32) -> usize {
        let index = index as usize;
        ((self.base * index + index.min(self.longer)) * self.unit).min(self.bytes)
    }

    /// The bytes of parts `first..end`.
    #[inline]
    pub fn span(&self, first: u32, end: u32) -> Block {
        let offset = self.start(first);
        Block {
            offset,
            bytes: self.start(end) - offset,
        }
    }

    /// The bytes of one part.
    #[inline]
    pub fn part(&self, index: u32) -> Block {
        self.span(index, index + 1)
    }
}

/// Segments of a pipeline: how many, each at most `segment_bytes` rounded down to whole elements.
#[inline]
pub(crate) fn segments(
    bytes: usize,
    element_bytes: usize,
    segment_bytes: usize,
) -> impl Iterator<Item = Block> + Clone {
    let element = element_bytes.max(1);
    let segment = (segment_bytes / element).max(1) * element;
    (0..bytes.div_ceil(segment)).map(move |number| {
        let offset = number * segment;
        Block {
            offset,
            bytes: segment.min(bytes - offset),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_vector_between_elements() {
        for (bytes, element, parts) in [
            (0, 8, 3),
            (8, 8, 3),
            (3000, 3, 7),
            (4096, 1, 5),
            (1000, 100, 4),
            (240, 24, 16),
        ] {
            let cut = Cut::elements(bytes, element, parts);
            let mut next = 0;
            for index in 0..parts {
                let part = cut.part(index);
                assert_eq!(
                    (part.offset, part.offset % element, part.bytes % element),
                    (next, 0, 0)
                );
                next += part.bytes;
            }
            assert_eq!(next, bytes);
        }
    }

    #[test]
    fn segments_are_whole_elements() {
        let all: Vec<Block> = segments(30, 3, 8).collect();
        assert_eq!(all.len(), 5);
        assert!(all.iter().all(|segment| segment.bytes == 6));
        assert_eq!(segments(5, 100, 8).count(), 1);
        assert_eq!(segments(0, 1, 8).count(), 0);
    }
}
