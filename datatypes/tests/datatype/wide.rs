//! Large counts, and what does not fit in 64 bits: never a panic, never an expansion.

use oxmpi_datatypes::datatype::{
    Basic, CopyError, Cursor, DEPTH_MAX, Datatype, DatatypeError, Elements, Run, Shape,
};

#[test]
fn terabytes_are_described_and_sought_in_no_time() {
    let double = Datatype::named(Basic::Double);
    let rows = Datatype::vector(1 << 20, 3, 5, &double).unwrap();
    let pair = Datatype::structure(
        &[1, 1],
        &[0, rows.extent()],
        &[rows.clone(), Datatype::named(Basic::Char)],
    )
    .unwrap();
    let many = Datatype::contiguous(1 << 30, &pair).unwrap();
    let one = (3u64 << 23) + 1;
    assert_eq!(many.size(), one << 30);
    let layout = many.layout(16).unwrap();
    assert_eq!(layout.bytes(), one << 34);
    for (copy, row, byte) in [
        (0u64, 0u64, 0u64),
        (1 << 33, 77, 13),
        ((1 << 34) - 1, (1 << 20) - 1, 23),
    ] {
        let mut cursor = Cursor::at(&layout, copy * one + row * 24 + byte);
        let offset = copy as i64 * pair.extent() + row as i64 * 40 + byte as i64;
        assert_eq!(
            cursor.run(usize::MAX),
            Some(Run {
                offset,
                bytes: 24 - byte as usize
            })
        );
    }
    let elements = many.signature().elements_in(one * 5 + 20);
    assert_eq!(
        elements,
        Elements {
            whole: 5 * ((3 << 20) + 1) + 2,
            rest: 4
        }
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    let double = Datatype::named(Basic::Double);
    let overflow = |datatype: Result<Datatype, DatatypeError>| {
        assert!(
            matches!(datatype, Err(DatatypeError::Overflow { .. })),
            "{datatype:?}"
        );
    };
    overflow(Datatype::contiguous(i64::MAX, &double));
    overflow(Datatype::vector(2, 1, i64::MAX / 4, &double));
    overflow(Datatype::vector(
        4,
        1,
        i64::MIN / 8,
        &Datatype::contiguous(2, &double).unwrap(),
    ));
    overflow(Datatype::hvector(3, 1, i64::MAX / 2, &double));
    overflow(Datatype::hindexed(&[1], &[i64::MAX], &double));
    overflow(Datatype::hindexed(
        &[1, 1],
        &[i64::MIN, i64::MAX - 8],
        &double,
    ));
    overflow(Datatype::resized(&double, i64::MAX, 1));
    overflow(Datatype::hvector(1 << 40, 1 << 40, 0, &double));
    overflow(Datatype::subarray(
        &[i64::MAX, 2],
        &[1, 1],
        &[0, 0],
        oxmpi_datatypes::datatype::Order::C,
        &double,
    ));
    let half = Datatype::contiguous(1 << 59, &double).unwrap();
    assert!(half.layout(1).is_ok());
    assert_eq!(
        half.layout(2),
        Err(DatatypeError::Overflow { what: "extent" })
    );
    let still = Datatype::resized(&half, 0, 0).unwrap();
    assert_eq!(
        still.layout(2),
        Err(DatatypeError::Overflow { what: "size" })
    );
}

#[test]
fn wrong_arguments_are_named() {
    let int = Datatype::named(Basic::Int);
    let text = |result: Result<Datatype, DatatypeError>| result.unwrap_err().to_string();
    assert_eq!(
        text(Datatype::contiguous(-1, &int)),
        "count 0 is -1: it must not be negative"
    );
    let indexed = Datatype::indexed(&[1, -2], &[0, 0], &int);
    assert_eq!(
        text(indexed),
        "blocklength 1 is -2: it must not be negative"
    );
    let lengths = Datatype::hindexed(&[1, 2], &[0], &int);
    assert_eq!(
        text(lengths),
        "blocklengths has 2 entries but displacements has 1: they must be equal"
    );
}

#[test]
fn nesting_is_bounded() {
    let mut datatype = Datatype::named(Basic::Int);
    for _ in 1..DEPTH_MAX {
        datatype = Datatype::vector(1, 1, 1, &datatype).unwrap();
    }
    let deeper = datatype.dup();
    assert_eq!(
        deeper,
        Err(DatatypeError::TooDeep {
            depth: DEPTH_MAX + 1,
            limit: DEPTH_MAX
        })
    );
    assert_eq!(datatype.layout(7).unwrap().contiguous(), Some((0, 28)));
}

#[test]
fn copies_outside_the_memory_are_refused() {
    let int = Datatype::named(Basic::Int);
    let vector = Datatype::vector(3, 1, -2, &int).unwrap();
    let layout = vector.layout(1).unwrap();
    let (memory, mut out) = (vec![0; 20], vec![0; 12]);
    assert_eq!(layout.pack(&memory, 16, 0..12, &mut out), Ok(()));
    let low = layout.pack(&memory, 15, 0..12, &mut out);
    assert_eq!(
        low,
        Err(CopyError::Outside {
            first: -1,
            end: 19,
            bytes: 20
        })
    );
    let high = layout.pack(&memory, 17, 0..12, &mut out);
    assert_eq!(
        high,
        Err(CopyError::Outside {
            first: 1,
            end: 21,
            bytes: 20
        })
    );
    let range = layout.pack(&memory, 16, 4..16, &mut out).unwrap_err();
    assert_eq!(
        range.to_string(),
        "packed bytes 4..16 of a message of 12 do not fit a buffer of 12 bytes"
    );
    assert!(layout.pack(&memory, 16, 0..11, &mut out).is_err());
}

#[test]
fn common_patterns_become_the_fast_shapes() {
    let double = Datatype::named(Basic::Double);
    let shape = |datatype: &Datatype, count| datatype.layout(count).unwrap().shape().clone();
    // A struct without gaps, an array of them, and an even list of blocks.
    let dense = Datatype::structure(&[2, 1], &[0, 16], &[double.clone(), double.clone()]).unwrap();
    assert_eq!(
        shape(&Datatype::contiguous(9, &dense).unwrap(), 5),
        Shape::Block
    );
    let even = Datatype::indexed_block(1, &[0, 3, 6, 9], &double).unwrap();
    assert_eq!(
        shape(&even, 1),
        Shape::Vector {
            count: 4,
            stride: 24,
            block: 8
        }
    );
    // A column, and several: resized to one element, columns that follow each other.
    let column = Datatype::vector(4, 1, 4, &double).unwrap();
    let column = Datatype::resized(&column, 0, 8).unwrap();
    assert!(matches!(
        shape(&column, 4),
        Shape::Loop {
            count: 4,
            stride: 8,
            ..
        }
    ));
    // Rows whose vectors continue each other are one vector.
    let row = Datatype::resized(&Datatype::vector(4, 1, 2, &double).unwrap(), 0, 64).unwrap();
    assert_eq!(
        shape(&row, 3),
        Shape::Vector {
            count: 12,
            stride: 16,
            block: 8
        }
    );
    let uneven = Datatype::indexed_block(1, &[0, 3, 5], &double).unwrap();
    assert!(matches!(shape(&uneven, 1), Shape::Scatter { block: 8, .. }));
}
