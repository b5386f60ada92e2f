//! Random nested types: every property and every way of copying against the oracle.

use oxmpi_datatypes::datatype::{Basic, Cursor, Datatype, Elements, Order, Run, Signature};
use proptest::prelude::*;

use crate::oracle::{Recipe, Typemap};

/// Largest packed size that is looked at byte by byte.
const BYTES_MAX: u64 = 3000;

fn basic() -> impl Strategy<Value = Basic> {
    use Basic::*;
    prop::sample::select(vec![
        Char,
        Short,
        Int,
        Double,
        LongDouble,
        Byte,
        ShortInt,
        DoubleInt,
        Real,
        DoubleComplex,
    ])
}

pub fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = basic().prop_map(Recipe::Named);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let of = || inner.clone().prop_map(Box::new);
        let (n, step, shift) = (0..4i64, -5..6i64, -40..60i64);
        let blocks = prop::collection::vec((n.clone(), step.clone()), 0..5);
        let byte_blocks = prop::collection::vec((n.clone(), shift.clone()), 0..5);
        let dimension = (1..5i64).prop_flat_map(|size| {
            (1..=size).prop_flat_map(move |sub| (Just(size), Just(sub), 0..=size - sub))
        });
        let order = prop::sample::select(vec![Order::C, Order::Fortran]);
        prop_oneof![
            of().prop_map(Recipe::Dup),
            (n.clone(), of()).prop_map(|(n, of)| Recipe::Contiguous(n, of)),
            (n.clone(), n.clone(), step.clone(), of())
                .prop_map(|(a, b, c, of)| Recipe::Vector(a, b, c, of)),
            (n.clone(), n.clone(), shift.clone(), of())
                .prop_map(|(a, b, c, of)| Recipe::Hvector(a, b, c, of)),
            (blocks, of()).prop_map(|(blocks, of)| Recipe::Indexed(blocks, of)),
            (byte_blocks, of()).prop_map(|(blocks, of)| Recipe::Hindexed(blocks, of)),
            (n.clone(), prop::collection::vec(step, 0..5), of())
                .prop_map(|(n, at, of)| Recipe::IndexedBlock(n, at, of)),
            (n.clone(), prop::collection::vec(shift.clone(), 0..5), of())
                .prop_map(|(n, at, of)| Recipe::HindexedBlock(n, at, of)),
            prop::collection::vec((n, shift.clone(), inner.clone()), 0..4).prop_map(Recipe::Struct),
            (shift.clone(), shift, of())
                .prop_map(|(lb, extent, of)| Recipe::Resized(lb, extent, of)),
            (prop::collection::vec(dimension, 1..3), order, of())
                .prop_map(|(d, order, of)| Recipe::Subarray(d, order, of)),
        ]
    })
}

fn check_properties(datatype: &Datatype, map: &Typemap) {
    assert_eq!(datatype.size(), map.size(), "size");
    assert_eq!(datatype.lb(), map.lb(), "lb");
    assert_eq!(datatype.ub(), map.ub(), "ub");
    assert_eq!(datatype.extent(), map.extent(), "extent");
    assert_eq!(datatype.true_lb(), map.true_lb(), "true lb");
    assert_eq!(datatype.true_ub(), map.true_ub(), "true ub");
    let data = map.data();
    let signature = datatype.signature();
    assert_eq!(signature.elements(), data.len() as u64, "elements");
    let mut expanded = Vec::new();
    let visited: Result<(), ()> = signature.try_for_each(&mut |basic, count| {
        expanded.extend(std::iter::repeat_n(basic, count as usize));
        Ok(())
    });
    assert_eq!(visited, Ok(()));
    let expected: Vec<Basic> = data.iter().map(|(basic, _)| *basic).collect();
    assert_eq!(expanded, expected, "signature");
    let uniform = expected
        .first()
        .copied()
        .filter(|first| expected.iter().all(|basic| basic == first));
    assert_eq!(signature.uniform(), uniform, "uniform");
}

/// The hash is that of the sequence, however it was built; prefixes are accepted and changes are
/// not.
fn check_matching(datatype: &Datatype, map: &Typemap) {
    let data = map.data();
    let types: Vec<Datatype> = data
        .iter()
        .map(|(basic, _)| Datatype::named(*basic))
        .collect();
    let flat = |types: &[Datatype]| {
        let ones = vec![1; types.len()];
        let places: Vec<i64> = (0..types.len() as i64).map(|index| index * 64).collect();
        Datatype::structure(&ones, &places, types)
            .unwrap()
            .signature()
            .clone()
    };
    let whole: Signature = flat(&types);
    assert_eq!(*datatype.signature(), whole);
    for length in [0, data.len() / 3, data.len() / 2, data.len()] {
        assert!(
            datatype.signature().accepts(&flat(&types[..length])),
            "prefix of {length}"
        );
    }
    // The order counts, not only which types there are.
    if let Some(index) = data.windows(2).position(|pair| pair[0].0 != pair[1].0) {
        let mut swapped = types.clone();
        swapped.swap(index, index + 1);
        assert!(!datatype.signature().accepts(&flat(&swapped)));
    }
    if let Some((last, before)) = types.split_last() {
        let other = if last.basic() == Some(Basic::Int) {
            Basic::Float
        } else {
            Basic::Int
        };
        let mut changed = before.to_vec();
        changed.push(Datatype::named(other));
        assert!(!datatype.signature().accepts(&flat(&changed)));
        let longer = [&types[..], &types[..1]].concat();
        assert!(!datatype.signature().accepts(&flat(&longer)));
    }
}

fn check_elements(datatype: &Datatype, map: &Typemap) {
    let data = map.data();
    if data.is_empty() {
        return;
    }
    let (mut bytes, mut whole) = (0, 0);
    for (basic, _) in data.iter().cycle().take(2 * data.len().min(200)) {
        for rest in 0..u64::from(basic.size()) {
            assert_eq!(
                datatype.signature().elements_in(bytes + rest),
                Elements { whole, rest }
            );
            let exact = (rest == 0).then_some(whole);
            assert_eq!(datatype.elements_in(bytes + rest), exact);
            let total = bytes + rest;
            let count = (total % map.size() == 0).then(|| total / map.size());
            assert_eq!(datatype.count_in(total), count);
        }
        assert_eq!(datatype.signature().bytes_of(whole), Some(bytes));
        bytes += u64::from(basic.size());
        whole += 1;
    }
}

/// Memory of just the bytes that are reached, with a different value in (almost) every one, and
/// where the origin is from its begin: before it if all offsets are positive.
fn memory(offsets: &[i64]) -> (Vec<u8>, i64) {
    let low = offsets.iter().copied().min().unwrap_or(0);
    let high = offsets.iter().copied().max().unwrap_or(0) + 1;
    let bytes = (0..high - low).map(|index| (index * 7 + index / 256) as u8);
    (bytes.collect(), -low)
}

fn check_copies(datatype: &Datatype, map: &Typemap, count: u64, splits: &[u64]) {
    let offsets = map.bytes(count);
    let total = offsets.len() as u64;
    let layout = datatype.layout(count).unwrap();
    assert_eq!(layout.bytes(), total);
    let (source, origin) = memory(&offsets);
    let expected: Vec<u8> = offsets
        .iter()
        .map(|at| source[(origin + at) as usize])
        .collect();

    // In pieces cut at random points.
    let mut cuts: Vec<u64> = splits
        .iter()
        .map(|split| if total == 0 { 0 } else { split % (total + 1) })
        .collect();
    cuts.extend([0, total]);
    cuts.sort_unstable();
    let mut packed = vec![0; total as usize];
    for pair in cuts.windows(2) {
        let piece = &mut packed[pair[0] as usize..pair[1] as usize];
        layout
            .pack(&source, origin, pair[0]..pair[1], piece)
            .unwrap();
    }
    assert_eq!(packed, expected, "pack");

    // Later copies win where the type overlaps itself, as they do in one pass over the offsets.
    let (mut target, mut wanted) = (vec![0xee; source.len()], vec![0xee; source.len()]);
    for pair in cuts.windows(2) {
        let piece = &packed[pair[0] as usize..pair[1] as usize];
        layout
            .unpack(piece, pair[0]..pair[1], &mut target, origin)
            .unwrap();
    }
    for (at, byte) in offsets.iter().zip(&expected) {
        wanted[(origin + at) as usize] = *byte;
    }
    assert_eq!(target, wanted, "unpack");

    // All of it at once, which has a way of its own.
    let mut whole = vec![0; total as usize];
    layout.pack(&source, origin, 0..total, &mut whole).unwrap();
    assert_eq!(whole, expected, "whole pack");
    target.fill(0xee);
    layout
        .unpack(&whole, 0..total, &mut target, origin)
        .unwrap();
    assert_eq!(target, wanted, "whole unpack");

    // One cursor that is handed odd amounts.
    let (mut cursor, mut streamed) = (Cursor::new(&layout), Vec::new());
    for amount in (1..).step_by(3) {
        let mut piece = vec![0; amount];
        let got = cursor.pack(&source, origin, &mut piece).unwrap();
        streamed.extend_from_slice(&piece[..got]);
        if got < amount {
            break;
        }
    }
    assert_eq!(streamed, expected, "one cursor");

    // From every byte on: the next run begins where the oracle says, and iovecs cover the rest.
    for position in 0..=total {
        let mut cursor = Cursor::at(&layout, position);
        assert_eq!(cursor.position(), position);
        let run = cursor.run(usize::MAX);
        assert_eq!(
            run.map(|run| run.offset),
            offsets.get(position as usize).copied(),
            "resumed at {position}"
        );
        assert_eq!(
            cursor.position(),
            position + run.map_or(0, |run| run.bytes as u64)
        );
    }
    let mut cursor = Cursor::new(&layout);
    let (mut iovec, mut covered) = ([Run::default(); 3], Vec::new());
    loop {
        let before = cursor.position();
        let filled = cursor.fill(&mut iovec, 61);
        let bytes: usize = iovec[..filled].iter().map(|run| run.bytes).sum();
        assert!(bytes <= 61);
        assert_eq!(cursor.position(), before + bytes as u64);
        if filled == 0 {
            break;
        }
        for run in &iovec[..filled] {
            covered.extend((0..run.bytes as i64).map(|byte| run.offset + byte));
        }
    }
    assert_eq!(covered, offsets, "iovec");
    let ran: Vec<i64> = Cursor::new(&layout)
        .runs()
        .flat_map(|run| (0..run.bytes as i64).map(move |b| run.offset + b))
        .collect();
    assert_eq!(ran, offsets, "runs");

    if datatype.is_contiguous() && total > 0 {
        assert_eq!(layout.contiguous(), Some((datatype.true_lb(), total)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn random_types_agree_with_their_typemaps(recipe in recipe(), count in 0u64..4, splits in prop::collection::vec(any::<u64>(), 0..6)) {
        let map = recipe.expand();
        let datatype = recipe.build();
        check_properties(&datatype, &map);
        check_elements(&datatype, &map);
        if map.size() * count <= BYTES_MAX && map.0.len() < 2000 {
            check_matching(&datatype, &map);
            let spread = map.bytes(count);
            let reach = spread.iter().max().unwrap_or(&0) - spread.iter().min().unwrap_or(&0);
            if reach < 1 << 20 {
                check_copies(&datatype, &map, count, &splits);
            }
        }
    }
}
