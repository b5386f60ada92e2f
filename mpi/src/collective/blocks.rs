//! Counts and displacements: from elements, as callers give them, to checked blocks of bytes.
//!
//! Everything that could make a schedule leave a buffer is refused here, with the rank whose entry
//! is wrong.

use crate::error::ErrorKind;
use oxmpi_schedules::Block;

/// Refuses a buffer that has not the length that the other arguments call for.
pub(super) fn check_length(
    buffer: &'static str,
    got: usize,
    needed: usize,
    rule: &'static str,
) -> Result<(), ErrorKind> {
    if got == needed {
        return Ok(());
    }
    Err(ErrorKind::Length {
        buffer,
        needed,
        got,
        rule,
    })
}

/// Length of the buffer that holds a block of that length for every rank.
pub(super) fn for_all(length: usize, size: u32) -> usize {
    length.saturating_mul(size as usize)
}

/// The blocks of all ranks in a buffer that is only read.
pub(super) fn blocks_to_send(
    length: usize,
    counts: &[usize],
    displacements: &[usize],
    size: u32,
    element_bytes: usize,
) -> Result<Vec<Block>, ErrorKind> {
    blocks("send", length, counts, displacements, size, element_bytes)
}

/// The blocks of all ranks in a buffer that is written: they must not overlap.
pub(super) fn blocks_to_receive(
    length: usize,
    counts: &[usize],
    displacements: &[usize],
    size: u32,
    element_bytes: usize,
) -> Result<Vec<Block>, ErrorKind> {
    let blocks = blocks(
        "receive",
        length,
        counts,
        displacements,
        size,
        element_bytes,
    )?;
    let mut order: Vec<u32> = (0..size)
        .filter(|&rank| blocks[rank as usize].bytes > 0)
        .collect();
    order.sort_by_key(|&rank| blocks[rank as usize].offset);
    for pair in order.windows(2) {
        let (first, second) = (blocks[pair[0] as usize], blocks[pair[1] as usize]);
        if first.offset + first.bytes > second.offset {
            return Err(ErrorKind::Overlap {
                first: pair[0],
                second: pair[1],
            });
        }
    }
    Ok(blocks)
}

fn blocks(
    buffer: &'static str,
    length: usize,
    counts: &[usize],
    displacements: &[usize],
    size: u32,
    element_bytes: usize,
) -> Result<Vec<Block>, ErrorKind> {
    for (list, got) in [
        ("counts", counts.len()),
        ("displacements", displacements.len()),
    ] {
        if got != size as usize {
            return Err(ErrorKind::PerRank { list, got, size });
        }
    }
    let block = |(rank, (&count, &offset)): (usize, (&usize, &usize))| {
        if offset.checked_add(count).is_none_or(|end| end > length) {
            let rank = rank as u32;
            return Err(ErrorKind::Block {
                buffer,
                rank,
                offset,
                count,
                length,
            });
        }
        // Within the buffer, whose bytes fit usize.
        Ok(Block {
            offset: offset * element_bytes,
            bytes: count * element_bytes,
        })
    };
    counts
        .iter()
        .zip(displacements)
        .enumerate()
        .map(block)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(counts: &[usize], displacements: &[usize]) -> Result<Vec<Block>, String> {
        blocks_to_receive(10, counts, displacements, 2, 8).map_err(|kind| kind.to_string())
    }

    #[test]
    fn elements_become_bytes() {
        let expected = [
            Block {
                offset: 40,
                bytes: 16,
            },
            Block {
                offset: 0,
                bytes: 40,
            },
        ];
        assert_eq!(receive(&[2, 5], &[5, 0]).unwrap(), expected);
        assert!(receive(&[0, 10], &[3, 0]).is_ok());
    }

    #[test]
    fn wrong_entries_are_named() {
        assert_eq!(
            receive(&[1], &[0, 1]).unwrap_err(),
            "counts has 1 entries but the communicator has 2 rank(s): one entry per rank is needed"
        );
        assert_eq!(
            receive(&[1, 4], &[0, 7]).unwrap_err(),
            "the block of rank 1 (elements 7 to 7 + 4) ends beyond the receive buffer of 10 element(s); \
             check counts[1] and displacements[1]"
        );
        assert_eq!(
            receive(&[3, 2], &[0, 2]).unwrap_err(),
            "the blocks of ranks 0 and 1 overlap in the receive buffer; check their displacements"
        );
        assert!(receive(&[1, 1], &[usize::MAX, 0]).is_err());
        assert!(blocks_to_send(10, &[3, 2], &[0, 2], 2, 8).is_ok());
    }
}
