//! What the arithmetic, logical and bitwise operations compute on every type that they take, at
//! every alignment.

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

use super::encoding::*;
use super::legality::is_legal;

/// Exact in every format, as are their sums and products.
const VALUES: [i128; 8] = [-7, -3, -1, 0, 1, 2, 5, 100];

/// The operation by its definition in MPI 5.0 §6.9.2.
fn oracle(op: Predefined, a: i128, b: i128) -> i128 {
    match op {
        Predefined::Sum => a.wrapping_add(b),
        Predefined::Product => a.wrapping_mul(b),
        Predefined::Min => a.min(b),
        Predefined::Max => a.max(b),
        Predefined::BitAnd => a & b,
        Predefined::BitOr => a | b,
        Predefined::BitXor => a ^ b,
        Predefined::LogicalAnd => i128::from(a != 0 && b != 0),
        Predefined::LogicalOr => i128::from(a != 0 || b != 0),
        Predefined::LogicalXor => i128::from((a != 0) != (b != 0)),
        other => panic!("{other} is not an operation on numbers"),
    }
}

/// `left ∘ right`, computed at these distances from an aligned address.
pub fn combined(
    op: Predefined,
    datatype: &Datatype,
    left: &[u8],
    right: &[u8],
    skews: [usize; 2],
) -> Vec<u8> {
    let combiner = Op::from(op).combine_for(datatype).unwrap();
    let length = left.len();
    let mut memory = [vec![0u128; length / 16 + 3], vec![0u128; length / 16 + 3]];
    let [input, inout] = &mut memory;
    let begin = |memory: &[u128], skew: usize| {
        let bytes = memory.as_ptr().cast::<u8>();
        (bytes.addr().next_multiple_of(16) - bytes.addr()) + skew
    };
    let (from, to) = (begin(input, skews[0]), begin(inout, skews[1]));
    let input = bytes_of(input);
    let inout = bytes_of(inout);
    input[from..][..length].copy_from_slice(left);
    inout[to..][..length].copy_from_slice(right);
    combiner.combine(&input[from..][..length], &mut inout[to..][..length]);
    assert!(
        inout[..to]
            .iter()
            .chain(&inout[to + length..])
            .all(|byte| *byte == 0)
    );
    inout[to..][..length].to_vec()
}

fn bytes_of(words: &mut [u128]) -> &mut [u8] {
    // SAFETY: the memory of a slice of integers, still borrowed; every byte is a value and may
    // become any other.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

const SKEWS: [[usize; 2]; 4] = [[0, 0], [1, 0], [0, 3], [5, 5]];

#[test]
fn numbers() {
    let pairs = || {
        VALUES
            .iter()
            .flat_map(|a| VALUES.iter().map(move |b| (*a, *b)))
    };
    let mut tried = 0;
    for &op in Predefined::ALL {
        for &basic in Basic::ALL {
            if !is_legal(op, basic) || PAIRS.contains(&basic) || COMPLEX.contains(&basic) {
                continue;
            }
            let format = format(basic);
            let number = |value| seen(format, value);
            let encoded = |values: &mut dyn Iterator<Item = i128>| -> Vec<u8> {
                values.flat_map(|value| encode(format, value)).collect()
            };
            let left = encoded(&mut pairs().map(|(a, _)| a));
            let right = encoded(&mut pairs().map(|(_, b)| b));
            let expected = encoded(&mut pairs().map(|(a, b)| oracle(op, number(a), number(b))));
            for skews in SKEWS {
                let mut result = combined(op, &Datatype::named(basic), &left, &right, skews);
                for value in result.chunks_mut(basic.size() as usize) {
                    without_minus_zero(format, value);
                }
                assert_eq!(result, expected, "{op} on {} at {skews:?}", basic.name());
            }
            tried += 1;
        }
    }
    // Integers of C, of Fortran and of all languages, floating point, logical and byte, by the
    // standard's table; MPI_CHAR is one more of C's.
    let (c, fortran, shared, floating, logical) = (18 + 1, 6, 3, 9, 8);
    let ordered = c + fortran + shared + floating;
    assert_eq!(
        tried,
        4 * ordered + 3 * (c + logical + shared) + 3 * (c + fortran + shared + 1)
    );
}

#[test]
fn complex_numbers() {
    const PARTS: [i128; 5] = [-7, -3, 0, 2, 5];
    let complex = || {
        PARTS
            .iter()
            .flat_map(|re| PARTS.iter().map(move |im| (*re, *im)))
    };
    for &basic in COMPLEX {
        let format = format(basic);
        let encoded = |(re, im): (i128, i128)| [encode(format, re), encode(format, im)].concat();
        for op in [Predefined::Sum, Predefined::Product] {
            for (a, b) in complex() {
                let left: Vec<u8> = complex().flat_map(|_| encoded((a, b))).collect();
                let right: Vec<u8> = complex().flat_map(encoded).collect();
                let expected: Vec<u8> = complex()
                    .flat_map(|(c, d)| match op {
                        Predefined::Sum => encoded((a + c, b + d)),
                        _ => encoded((a * c - b * d, a * d + b * c)),
                    })
                    .collect();
                for skews in SKEWS {
                    let mut result = combined(op, &Datatype::named(basic), &left, &right, skews);
                    for part in result.chunks_mut(basic.size() as usize / 2) {
                        without_minus_zero(format, part);
                    }
                    assert_eq!(result, expected, "{op} on {}", basic.name());
                }
            }
        }
    }
}

#[test]
fn integers_wrap_around() {
    for &basic in C_INTEGER
        .iter()
        .chain(FORTRAN_INTEGER)
        .chain(MULTI_LANGUAGE)
    {
        let bytes = basic.size() as usize;
        let ones = vec![0xff; bytes];
        let mut two = vec![0; bytes];
        two[0] = 2;
        let mut one = vec![0; bytes];
        one[0] = 1;
        let datatype = Datatype::named(basic);
        assert_eq!(
            combined(Predefined::Sum, &datatype, &ones, &two, [0, 0]),
            one
        );
        assert_eq!(
            combined(Predefined::Product, &datatype, &ones, &ones, [0, 0]),
            one
        );
    }
}

#[test]
fn a_number_wins_over_nan() {
    for &basic in FLOATING {
        let format = format(basic);
        let one = encode(format, 1);
        let mut nan = one.clone();
        let end = if format == Format::Extended {
            10
        } else {
            nan.len()
        };
        // All ones in the exponent and in the top of the fraction is NaN in all formats.
        nan[end - 4.min(end)..end].fill(0xff);
        let datatype = Datatype::named(basic);
        for op in [Predefined::Min, Predefined::Max] {
            assert_eq!(
                combined(op, &datatype, &nan, &one, [0, 0]),
                one,
                "{op} {}",
                basic.name()
            );
            assert_eq!(
                combined(op, &datatype, &one, &nan, [0, 0]),
                one,
                "{op} {}",
                basic.name()
            );
        }
    }
}

/// 2^63 + 1 and 2^112 + 1 need all bits of their formats.
#[test]
fn wide_formats_keep_all_bits() {
    for (basic, large) in [(Basic::LongDouble, 1 << 63), (Basic::Real16, 1 << 112)] {
        let number = |value| encode(format(basic), value);
        let datatype = Datatype::named(basic);
        let sum = combined(
            Predefined::Sum,
            &datatype,
            &number(large),
            &number(1),
            [0, 0],
        );
        assert_eq!(sum, number(large + 1));
        let largest = combined(Predefined::Max, &datatype, &number(large), &sum, [0, 0]);
        assert_eq!(largest, sum);
    }
    let long_double = Datatype::named(Basic::LongDouble);
    let number = |value| encode(Format::Extended, value);
    let (a, b) = ((1 << 32) - 1, (1 << 32) + 1);
    let product = combined(
        Predefined::Product,
        &long_double,
        &number(a),
        &number(b),
        [0, 0],
    );
    assert_eq!(product, number(a * b));
}

#[test]
fn no_elements_are_nothing_to_do() {
    let combiner = Op::from(Predefined::Sum)
        .combine_for(&Datatype::named(Basic::Double))
        .unwrap();
    combiner.combine(&[], &mut []);
}

#[test]
#[should_panic(expected = "a reduction cuts an element in two")]
fn half_an_element_is_a_mistake() {
    let combiner = Op::from(Predefined::Sum)
        .combine_for(&Datatype::named(Basic::Double))
        .unwrap();
    combiner.combine(&[0; 12], &mut [0; 12]);
}
