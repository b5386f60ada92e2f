//! Views against an oracle that lists every byte of the tiled filetype.

use super::*;
use crate::coverage::Coverage;
use crate::strip::{Strip, StripWalk, Strips, gather, spread};
use oxmpi_datatypes::datatype::Basic;

/// Numbers that follow from a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A filetype of ascending blocks of etypes, nested or not, and a copy of its bytes' offsets.
fn random_filetype(random: &mut Random, etype: &Datatype) -> Datatype {
    let blocks = 1 + random.below(4);
    let (mut lengths, mut places, mut at) = (Vec::new(), Vec::new(), random.below(3) as i64);
    for _ in 0..blocks {
        let length = 1 + random.below(4) as i64;
        lengths.push(length);
        places.push(at);
        at += length + random.below(4) as i64;
    }
    let extent = (at + random.below(3) as i64) * etype.extent();
    let indexed = Datatype::indexed(&lengths, &places, etype).unwrap();
    let resized = Datatype::resized(&indexed, 0, extent.max(etype.extent())).unwrap();
    let filetype = match random.below(3) {
        0 => Datatype::contiguous(1 + random.below(3) as i64, &resized).unwrap(),
        1 => {
            let vector = Datatype::vector(2, 1, 3, &resized).unwrap();
            Datatype::resized(&vector, 0, 6 * resized.extent()).unwrap()
        }
        _ => resized,
    };
    // The data of a tile may begin several extents behind it.
    let extent = filetype.extent();
    let shift = random.below(4) as i64 * random.below(2) as i64 * extent;
    let shifted = Datatype::hindexed(&[1], &[shift], &filetype).unwrap();
    let filetype = Datatype::resized(&shifted, 0, extent).unwrap();
    filetype.commit();
    filetype
}

/// The file offsets of the first `bytes` data bytes.
fn oracle(view: &View, bytes: u64) -> Vec<u64> {
    let mut offsets = Vec::new();
    let layout = view.filetype.layout(1).unwrap();
    for tile in 0.. {
        for run in Cursor::new(&layout).runs() {
            for byte in 0..run.bytes as u64 {
                if offsets.len() as u64 == bytes {
                    return offsets;
                }
                let at = tile * view.filetype.extent() as u64 + run.offset as u64 + byte;
                offsets.push(view.disp + at);
            }
        }
    }
    unreachable!("tiles go on for ever")
}

#[test]
fn pieces_positions_strips_and_coverage_are_those_of_the_oracle() {
    for seed in 1..400 {
        let mut random = Random(seed * 0x9e37_79b9);
        let etype = Datatype::named([Basic::Byte, Basic::Int, Basic::Double][(seed % 3) as usize]);
        let filetype = random_filetype(&mut random, &etype);
        let disp = random.below(50);
        let view = View::new(disp, &etype, &filetype, Representation::Native).unwrap();
        let offsets = oracle(&view, 600);
        let from = random.below(300);
        let bytes = random.below(300);
        let wanted = &offsets[from as usize..(from + bytes) as usize];
        let mut strips = Strips::default();
        let mut listed = Vec::new();
        for piece in view.pieces(from, bytes) {
            strips.push(piece);
            listed.extend(piece.offset..piece.end());
        }
        assert_eq!(listed, wanted, "seed {seed}");
        let mut listed = Vec::new();
        let mut joined = Strips::default();
        view.blocks(from, bytes, |blocks| joined.push_strip(Strip::of(blocks)));
        StripWalk::new(&joined.0).up_to(u64::MAX, |strip| {
            for index in 0..strip.count {
                let begin = strip.offset + index * strip.stride;
                listed.extend(begin..begin + strip.block);
            }
        });
        assert_eq!(listed, wanted, "blocks, seed {seed}");
        assert_eq!(view.byte_of(from), offsets[from as usize], "seed {seed}");
        let end = random.below(400);
        let before = offsets.iter().filter(|at| **at < end).count() as u64;
        if offsets[599] >= end {
            assert_eq!(view.data_before(end), before, "seed {seed}, end {end}");
        }
        // Strips in windows of any length give the same bytes, and copying finds its way.
        let mut file = vec![0; 1 << 16];
        let packed: Vec<u8> = (0..bytes).map(|at| 1 + (at % 250) as u8).collect();
        let mut back = vec![0; bytes as usize];
        let (mut walk, mut done, mut window) = (StripWalk::new(&strips.0), 0, 0);
        let mut covered = Coverage::new(0, 1 << 16, 1);
        while done < bytes {
            window += 1 + random.below(64);
            done += walk.clone().up_to(window, |_| ());
            let mut at = (done - walk.clone().up_to(window, |_| ())) as usize;
            walk.up_to(window, |strip| {
                spread(&strip, 0, &mut file, &packed[at..]);
                gather(&strip, 0, &file, &mut back[at..]);
                covered.add(&strip);
                at += strip.bytes() as usize;
            });
        }
        assert_eq!(back, packed, "seed {seed}");
        for (at, value) in wanted.iter().zip(&packed) {
            assert_eq!(file[*at as usize], *value, "seed {seed}, byte {at}");
        }
        let ranges = covered.ranges(0);
        let listed: Vec<u64> = ranges.iter().flat_map(|r| r.offset..r.end()).collect();
        assert_eq!(listed, wanted, "seed {seed}");
    }
}

/// Blocks that may overlap, in copies that may reach into each other.
#[test]
fn order_overlap_and_end_are_those_of_the_oracle() {
    for seed in 1..600 {
        let mut random = Random(seed * 0x9e37_79b9);
        let etype = Datatype::named(Basic::Int);
        let blocks = 1 + random.below(4);
        let (mut lengths, mut places, mut at) = (Vec::new(), Vec::new(), 0);
        for _ in 0..blocks {
            lengths.push(1 + random.below(3) as i64);
            places.push(at);
            at += 1 + random.below(5) as i64;
        }
        let raw = Datatype::indexed(&lengths, &places, &etype).unwrap();
        let extent = 4 * (1 + random.below(12) as i64);
        let filetype = Datatype::resized(&raw, 0, extent).unwrap();
        filetype.commit();
        let disp = random.below(9);
        let view = View::new(disp, &etype, &filetype, Representation::Native).unwrap();
        // Far more copies than a block can reach over.
        let offsets = oracle(&view, 100 * view.data);
        let ascending = offsets.windows(2).all(|two| two[0] < two[1]);
        assert_eq!(view.is_ascending(), ascending, "seed {seed}");
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let overlaps = view.overlaps() || view.is_single;
        assert_eq!(overlaps, sorted.len() < offsets.len(), "seed {seed}");
        let listed: Vec<u64> = view
            .pieces(0, offsets.len() as u64)
            .flat_map(|piece| piece.offset..piece.end())
            .collect();
        assert_eq!(listed, offsets, "seed {seed}");
        let end = random.below(300);
        let etypes = offsets.chunks(4).position(|bytes| bytes[0] >= end);
        assert_eq!(
            view.etype_from(end),
            etypes.map(|at| at as u64),
            "seed {seed}, end {end}"
        );
        let (from, bytes) = (random.below(50), 1 + random.below(100));
        let part = &offsets[from as usize..(from + bytes) as usize];
        let reach = view.reach(from, bytes);
        assert_eq!(Some(&reach.offset), part.iter().min(), "seed {seed}");
        assert_eq!(reach.end(), part.iter().max().unwrap() + 1, "seed {seed}");
    }
}

#[test]
fn an_empty_filetype_has_a_beginning_and_nothing_else() {
    let int = Datatype::named(Basic::Int);
    let none = Datatype::indexed(&[], &[], &int).unwrap();
    none.commit();
    let view = View::new(12, &int, &none, Representation::Native).unwrap();
    assert!(view.is_empty() && view.is_ascending() && !view.overlaps());
    assert_eq!((view.byte_of(0), view.etype_from(100)), (12, Some(0)));
    assert_eq!(view.pieces(0, 0).next(), None);
}

#[test]
fn of_copies_that_overlap_the_first_can_be_written() {
    let byte = Datatype::named(Basic::Byte);
    let array = Datatype::contiguous(40, &byte).unwrap();
    // A header and an array behind it, with the bounds of the array alone.
    let parts = Datatype::indexed(&[8, 40], &[0, 100], &byte).unwrap();
    let filetype = Datatype::resized(&parts, 100, array.extent()).unwrap();
    filetype.commit();
    let view = View::new(5, &byte, &filetype, Representation::Native).unwrap();
    let pieces: Vec<(u64, u64)> = view.pieces(0, 48).map(|p| (p.offset, p.bytes)).collect();
    assert_eq!(pieces, [(5, 8), (105, 40)]);
    assert_eq!(view.check_range(8, 40), Ok(()));
    let text = view.check_range(8, 41).unwrap_err();
    assert!(
        text.contains("ends at byte 49") && text.contains("extent of 40"),
        "{text}"
    );
    for (end, before) in [(0, 0), (9, 4), (60, 8), (110, 13), (1000, 48)] {
        assert_eq!(view.data_before(end), before, "end {end}");
    }
}

#[test]
fn a_view_without_data_takes_part_in_nothing() {
    let byte = Datatype::named(Basic::Byte);
    for filetype in [
        Datatype::contiguous(0, &byte).unwrap(),
        Datatype::indexed(&[0], &[64], &byte).unwrap(),
    ] {
        filetype.commit();
        let view = View::new(7, &byte, &filetype, Representation::Native).unwrap();
        assert_eq!(view.pieces(0, 0).next(), None);
        view.blocks(0, 0, |blocks| panic!("{blocks:?}"));
        assert_eq!((view.byte_of(0), view.data_before(1000)), (7, 0));
        assert_eq!(view.check_range(0, 0), Ok(()));
    }
}

#[test]
fn views_that_cannot_be_say_why() {
    let (byte, int) = (Datatype::named(Basic::Byte), Datatype::named(Basic::Int));
    let back = Datatype::indexed(&[1, 1], &[4, 0], &int).unwrap();
    back.commit();
    let text = View::new(0, &int, &back, Representation::Native)
        .err()
        .unwrap()
        .to_string();
    assert!(text.contains("must not decrease"), "{text}");
    let odd = Datatype::contiguous(3, &byte).unwrap();
    odd.commit();
    let text = View::new(0, &int, &odd, Representation::Native)
        .err()
        .unwrap()
        .to_string();
    assert!(text.contains("no whole number of etypes"), "{text}");
    let open = Datatype::contiguous(2, &int).unwrap();
    let text = View::new(0, &int, &open, Representation::Native)
        .err()
        .unwrap()
        .to_string();
    assert!(text.contains("not committed"), "{text}");
}

#[test]
fn what_no_offset_can_tell_is_refused() {
    let byte = Datatype::named(Basic::Byte);
    let far = i64::MAX as u64;
    let bytes = View::new(10, &byte, &byte, Representation::Native).unwrap();
    assert_eq!(bytes.byte_of_etype(far - 10), Some(far));
    assert_eq!(bytes.byte_of_etype(far - 9), None);
    assert!(bytes.holds(far - 20, 10) && !bytes.holds(far - 20, 11));
    // A piece every 2 to the power of 40 bytes: the tile 2 to the power of 23 is the first that
    // does not fit, and 2 to the power of 24 would wrap around.
    let sparse = Datatype::resized(&byte, 0, 1 << 40).unwrap();
    sparse.commit();
    let view = View::new(0, &byte, &sparse, Representation::Native).unwrap();
    let last = (1 << 23) - 1;
    assert_eq!(view.byte_of_etype(last), Some(last << 40));
    for etype in [1 << 23, 1 << 24, far, u64::MAX] {
        assert_eq!(view.byte_of_etype(etype), None, "{etype}");
        assert!(!view.holds(etype, 1), "{etype}");
    }
    assert!(view.holds(last, 1) && !view.holds(last, 2));
    // Copies that lie on each other are never far.
    let same = Datatype::resized(&byte, 0, 0).unwrap();
    same.commit();
    let view = View::new(5, &byte, &same, Representation::Native).unwrap();
    assert_eq!(view.byte_of_etype(1 << 50), Some(5));
}
