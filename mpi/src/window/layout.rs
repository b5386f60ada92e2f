//! A target's layout as it travels: the loops and blocks of a datatype, without its types.
//!
//! | shape    | words after the shape's own                                             |
//! |----------|-------------------------------------------------------------------------|
//! | block    | offset, bytes                                                           |
//! | vector   | offset, count, stride, bytes of a block                                 |
//! | scatter  | offset, bytes of a block, number of blocks, their offsets               |
//! | loop     | offset, count, stride, then the body                                    |
//! | sequence | offset, number of parts, then the parts                                 |
//!
//! Every word has 8 bytes, little endian. The receiver rebuilds a datatype of bytes by the
//! constructors of every program, which check all sums: what a garbled message describes is an
//! error, never memory outside of what is checked afterwards.

use oxmpi_datatypes::datatype::{Basic, Datatype, Layout, Shape};

const BLOCK: i64 = 0;
const VECTOR: i64 = 1;
const SCATTER: i64 = 2;
const LOOP: i64 = 3;
const SEQUENCE: i64 = 4;

/// As deep as a datatype that a program can build.
const DEPTH_MAX: u32 = oxmpi_datatypes::datatype::DEPTH_MAX;

/// Writes a layout.
pub(super) fn encode(layout: &Layout, out: &mut Vec<u8>) {
    let mut put = |words: &[i64]| {
        words
            .iter()
            .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    };
    let offset = layout.offset();
    match layout.shape() {
        Shape::Block => put(&[BLOCK, offset, layout.bytes() as i64]),
        Shape::Vector {
            count,
            stride,
            block,
        } => put(&[VECTOR, offset, *count as i64, *stride, *block as i64]),
        Shape::Scatter { block, offsets } => {
            put(&[SCATTER, offset, *block as i64, offsets.len() as i64]);
            put(offsets);
        }
        Shape::Loop {
            count,
            stride,
            body,
        } => {
            put(&[LOOP, offset, *count as i64, *stride]);
            encode(body, out);
        }
        Shape::Sequence(parts) => {
            put(&[SEQUENCE, offset, parts.len() as i64]);
            parts.iter().for_each(|part| encode(&part.layout, out));
        }
    }
}

/// The datatype of bytes that has the layout; none if the words describe none.
pub(super) fn decode(bytes: &[u8]) -> Option<Datatype> {
    let mut words = Words(bytes);
    let (offset, datatype) = shape(&mut words, DEPTH_MAX)?;
    if !words.0.is_empty() {
        return None;
    }
    let whole = Datatype::hindexed(&[1], &[offset], &datatype).ok()?;
    whole.commit();
    Some(whole)
}

/// What is left of the words.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<i64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_le_bytes(*word))
    }

    /// The number of things that follow, of at least a word each.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.next()?).ok()?;
        (count <= self.0.len() / 8).then_some(count)
    }
}

/// A layout's offset and its datatype without it.
fn shape(words: &mut Words<'_>, depth: u32) -> Option<(i64, Datatype)> {
    let depth = depth.checked_sub(1)?;
    let byte = Datatype::named(Basic::Byte);
    let (kind, offset) = (words.next()?, words.next()?);
    let (inner, built) = match kind {
        BLOCK => (0, Datatype::contiguous(words.next()?, &byte)),
        VECTOR => {
            let (count, stride, block) = (words.next()?, words.next()?, words.next()?);
            (0, Datatype::hvector(count, block, stride, &byte))
        }
        SCATTER => {
            let block = words.next()?;
            let count = words.count()?;
            let offsets: Option<Vec<i64>> = (0..count).map(|_| words.next()).collect();
            (0, Datatype::hindexed_block(block, &offsets?, &byte))
        }
        LOOP => {
            let (count, stride) = (words.next()?, words.next()?);
            let (inner, body) = shape(words, depth)?;
            (inner, Datatype::hvector(count, 1, stride, &body))
        }
        SEQUENCE => {
            let count = words.count()?;
            let parts: Option<Vec<_>> = (0..count).map(|_| shape(words, depth)).collect();
            let (offsets, parts): (Vec<i64>, Vec<Datatype>) = parts?.into_iter().unzip();
            (0, Datatype::structure(&vec![1; count], &offsets, &parts))
        }
        _ => return None,
    };
    Some((offset.checked_add(inner)?, built.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_datatypes::datatype::Cursor;

    fn travelled(datatype: &Datatype, count: u64) {
        let layout = datatype.layout(count).unwrap();
        let mut words = Vec::new();
        encode(&layout, &mut words);
        let arrived = decode(&words).unwrap();
        assert_eq!(arrived.size(), layout.bytes());
        let (sent, arrived) = (Cursor::new(&layout), arrived.layout(1).unwrap());
        let joined = |cursor: Cursor<'_>| {
            let mut runs: Vec<(i64, usize)> = Vec::new();
            for run in cursor.runs() {
                match runs.last_mut() {
                    Some(last) if last.0 + last.1 as i64 == run.offset => last.1 += run.bytes,
                    _ => runs.push((run.offset, run.bytes)),
                }
            }
            runs
        };
        assert_eq!(joined(sent), joined(Cursor::new(&arrived)));
        // What is cut off describes nothing.
        for length in 0..words.len() {
            assert!(decode(&words[..length]).is_none());
        }
    }

    #[test]
    fn layouts_arrive_as_they_were() {
        let int = Datatype::named(Basic::Int);
        let double = Datatype::named(Basic::Double);
        let vector = Datatype::vector(3, 2, 5, &int).unwrap();
        let listed = Datatype::indexed_block(2, &[7, 0, 3], &double).unwrap();
        let mixed = Datatype::structure(
            &[2, 1, 3],
            &[-8, 100, 40],
            &[int.clone(), vector.clone(), double],
        );
        let mixed = mixed.unwrap();
        let nested = Datatype::hvector(4, 1, 1000, &mixed).unwrap();
        for datatype in [&int, &vector, &listed, &mixed, &nested] {
            for count in [1, 2, 5] {
                travelled(datatype, count);
            }
        }
    }

    #[test]
    fn words_that_describe_nothing_are_refused() {
        for words in [
            &[9, 0, 8][..],
            &[BLOCK, 0, -1],
            &[VECTOR, 0, 3, i64::MAX, 8],
            &[SCATTER, 0, 8, i64::MAX],
            &[SEQUENCE, 0, 1 << 40],
            &[BLOCK, i64::MAX, 8],
        ] {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(decode(&bytes).is_none(), "{words:?}");
        }
        let deep: Vec<u8> = [LOOP, 0, 2, 8]
            .repeat(100_000)
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert!(decode(&deep).is_none());
    }
}
