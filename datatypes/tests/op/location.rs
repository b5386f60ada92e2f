//! MINLOC and MAXLOC on named pairs and on those of MPI_Type_get_value_index.

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

use super::encoding::*;
use super::values::combined;

/// (value, index) with equal values, so that the index decides, and with different ones, so that it
/// does not.
const CASES: [(i128, i128); 6] = [(3, 1), (3, 2), (3, 0), (1, 9), (5, 9), (5, 4)];

/// The definition in MPI 5.0 §6.9.4.
fn oracle(op: Predefined, (u, i): (i128, i128), (v, j): (i128, i128)) -> (i128, i128) {
    match op {
        _ if u == v => (u, i.min(j)),
        Predefined::MinLoc if u < v => (u, i),
        Predefined::MaxLoc if u > v => (u, i),
        _ => (v, j),
    }
}

fn check(datatype: &Datatype, value: Basic, index: Basic) {
    let (of_value, of_index) = (format(value), format(index));
    let encoded = |(v, i)| [encode(of_value, v), encode(of_index, i)].concat();
    let pair = encoded((0, 0)).len();
    for op in [Predefined::MinLoc, Predefined::MaxLoc] {
        let combiner = Op::from(op).combine_for(datatype).unwrap();
        assert_eq!(combiner.element_bytes(), pair, "packed pairs have no gap");
        assert_eq!(datatype.size(), pair as u64);
        for left in CASES {
            let input: Vec<u8> = CASES.iter().flat_map(|_| encoded(left)).collect();
            let inout: Vec<u8> = CASES.iter().copied().flat_map(encoded).collect();
            let best = |right: &(i128, i128)| encoded(oracle(op, left, *right));
            let expected: Vec<u8> = CASES.iter().flat_map(best).collect();
            for skews in [[0, 0], [1, 2]] {
                let result = combined(op, datatype, &input, &inout, skews);
                assert_eq!(
                    result,
                    expected,
                    "{op} of {} and {}",
                    value.name(),
                    index.name()
                );
            }
        }
    }
}

#[test]
fn named_pairs() {
    use Basic::*;
    let parts = [
        (FloatInt, Float, Int),
        (DoubleInt, Double, Int),
        (LongInt, Long, Int),
        (TwoInt, Int, Int),
        (ShortInt, Short, Int),
        (LongDoubleInt, LongDouble, Int),
        (TwoReal, Real, Real),
        (TwoDoublePrecision, DoublePrecision, DoublePrecision),
        (TwoInteger, Integer, Integer),
    ];
    assert_eq!(parts.len(), PAIRS.len());
    for (pair, value, index) in parts {
        check(&Datatype::named(pair), value, index);
    }
}

#[test]
fn pairs_by_value_and_index() {
    let integers = || {
        C_INTEGER
            .iter()
            .chain(FORTRAN_INTEGER)
            .chain(MULTI_LANGUAGE)
    };
    for &value in integers().chain(FLOATING) {
        for &index in integers() {
            let datatype = Datatype::value_index(value, index).unwrap();
            check(&datatype, value, index);
        }
    }
}

#[test]
fn signs_count() {
    let datatype = Datatype::value_index(Basic::Int8, Basic::Uint8).unwrap();
    let least = |left: [u8; 2], right: [u8; 2]| {
        combined(Predefined::MinLoc, &datatype, &left, &right, [0, 0])
    };
    assert_eq!(least([0xff, 7], [1, 3]), [0xff, 7], "-1 is less than 1");
    assert_eq!(least([1, 0xff], [1, 3]), [1, 3], "index 255 is more than 3");
}

#[test]
fn a_number_wins_over_nan() {
    let datatype = Datatype::named(Basic::DoubleInt);
    let pair =
        |value: f64, index: i32| [value.to_le_bytes().as_slice(), &index.to_le_bytes()].concat();
    for op in [Predefined::MinLoc, Predefined::MaxLoc] {
        let best = |left: &[u8], right: &[u8]| combined(op, &datatype, left, right, [0, 0]);
        assert_eq!(best(&pair(f64::NAN, 0), &pair(1.0, 1)), pair(1.0, 1));
        assert_eq!(best(&pair(1.0, 1), &pair(f64::NAN, 0)), pair(1.0, 1));
        assert_eq!(
            best(&pair(f64::NAN, 4), &pair(f64::NAN, 2)),
            pair(f64::NAN, 2)
        );
    }
}
