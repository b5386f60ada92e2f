//! Copies of equal blocks from one distance to another: the loops that packing and unpacking spend
//! their time in.
//!
//! A gather is a copy whose target has no gaps, a scatter one whose source has none, and an array
//! of structures has gaps on both sides. Blocks of the lengths that basic types have get loops in
//! which the compiler knows the length: a copy is then a load and a store, not a call. Single bytes
//! go eight at a time.

/// Copies the first `block` bytes of each stretch of `from_stride` bytes to the beginning of each
/// stretch of `to_stride` bytes. Behind its last block a side ends; no stride is less than a block.
pub(super) fn copy_blocks(
    block: usize,
    (from, from_stride): (&[u8], usize),
    (to, to_stride): (&mut [u8], usize),
) {
    let (from, to) = ((from, from_stride), (to, to_stride));
    match block {
        1 => copy_bytes(from, to),
        2 => copy_exact::<2>(from, to),
        4 => copy_exact::<4>(from, to),
        8 => copy_exact::<8>(from, to),
        12 => copy_exact::<12>(from, to),
        16 => copy_exact::<16>(from, to),
        32 => copy_exact::<32>(from, to),
        _ => {
            for (to, from) in to.0.chunks_mut(to.1).zip(from.0.chunks(from.1)) {
                to[..block].copy_from_slice(&from[..block]);
            }
        }
    }
}

/// Blocks of a length that the compiler knows.
#[inline]
fn copy_exact<const N: usize>(
    (from, from_stride): (&[u8], usize),
    (to, to_stride): (&mut [u8], usize),
) {
    // The memory may end behind the last block, so that one is copied apart.
    let (Some(from_end), Some(to_end)) = (from.len().checked_sub(N), to.len().checked_sub(N))
    else {
        return;
    };
    let (firsts, last) = from.split_at(from_end);
    let (to_firsts, to_last) = to.split_at_mut(to_end);
    to_last.copy_from_slice(last);
    // Where one side has no gaps, its blocks are an array.
    if to_stride == N {
        let (blocks, _) = to_firsts.as_chunks_mut::<N>();
        for (to, from) in blocks.iter_mut().zip(firsts.chunks_exact(from_stride)) {
            if let Some(from) = from.first_chunk::<N>() {
                *to = *from;
            }
        }
        return;
    }
    let stretches = to_firsts.chunks_exact_mut(to_stride);
    if from_stride == N {
        let (blocks, _) = firsts.as_chunks::<N>();
        for (to, from) in stretches.zip(blocks) {
            if let Some(to) = to.first_chunk_mut::<N>() {
                *to = *from;
            }
        }
        return;
    }
    for (to, from) in stretches.zip(firsts.chunks_exact(from_stride)) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
}

/// Blocks of one byte.
fn copy_bytes((from, from_stride): (&[u8], usize), (to, to_stride): (&mut [u8], usize)) {
    match (from_stride, to_stride) {
        (_, 1) => {
            let (eights, rest) = to.as_chunks_mut::<8>();
            let (all, done) = (from.chunks_exact(8 * from_stride), eights.len());
            // Behind the last of eight bytes the memory may end: the rest begins with them then.
            let whole = all.len().min(done);
            for (to, from) in eights.iter_mut().zip(all) {
                // One store instead of eight.
                let word = (0..8).fold(0, |word, index| {
                    word | u64::from(from[index * from_stride]) << (8 * index)
                });
                *to = word.to_le_bytes();
            }
            let behind = from[whole * 8 * from_stride..].iter().step_by(from_stride);
            let left = eights[whole..].as_flattened_mut().iter_mut().chain(rest);
            left.zip(behind).for_each(|(to, from)| *to = *from);
        }
        (1, _) => {
            let (eights, _) = from.as_chunks::<8>();
            let all = to.chunks_exact_mut(8 * to_stride);
            let whole = all.len().min(eights.len());
            for (to, from) in all.zip(eights) {
                for (index, byte) in from.iter().enumerate() {
                    to[index * to_stride] = *byte;
                }
            }
            let behind = to[whole * 8 * to_stride..].iter_mut().step_by(to_stride);
            behind
                .zip(&from[whole * 8..])
                .for_each(|(to, from)| *to = *from);
        }
        _ => copy_exact::<1>((from, from_stride), (to, to_stride)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_length_go_from_every_distance_to_every_other() {
        for block in [1, 2, 3, 4, 7, 8, 12, 16, 32, 33] {
            for (from_gap, to_gap) in [
                (0, 1),
                (1, 0),
                (2, 0),
                (3, 0),
                (7, 0),
                (9, 0),
                (0, 9),
                (5, 3),
            ] {
                for count in [1, 2, 7, 8, 9, 17, 64] {
                    let (from_stride, to_stride) = (block + from_gap, block + to_gap);
                    let reach = |stride| (count - 1) * stride + block;
                    let from: Vec<u8> = (0..reach(from_stride)).map(|at| at as u8 | 1).collect();
                    let mut to = vec![0; reach(to_stride)];
                    let mut wanted = to.clone();
                    for index in 0..count {
                        wanted[index * to_stride..][..block]
                            .copy_from_slice(&from[index * from_stride..][..block]);
                    }
                    copy_blocks(block, (&from, from_stride), (&mut to, to_stride));
                    assert_eq!(
                        to, wanted,
                        "{count} x {block}: {from_stride} -> {to_stride}"
                    );
                }
            }
        }
    }
}
