//! external32: golden bytes from the standard's definition, round trips, values that do not fit.

use oxmpi_datatypes::datatype::{Basic, Datatype, ExternalError, Form};
use proptest::prelude::*;

use crate::random::recipe;

fn external(basic: Basic, native: &[u8]) -> Result<Vec<u8>, ExternalError> {
    let mut out = vec![0; basic.external_size() as usize];
    let written = Datatype::named(basic).pack_external(1, native, 0, &mut out)?;
    assert_eq!(written, out.len());
    Ok(out)
}

fn native(basic: Basic, external: &[u8]) -> Vec<u8> {
    let mut memory = vec![0; Datatype::named(basic).extent() as usize];
    Datatype::named(basic)
        .unpack_external(external, 1, &mut memory, 0)
        .unwrap();
    memory
}

#[test]
fn golden_bytes() {
    let bytes = |basic, native: &[u8]| external(basic, native).unwrap();
    assert_eq!(
        bytes(Basic::Int, &(-2i32).to_le_bytes()),
        [0xff, 0xff, 0xff, 0xfe]
    );
    assert_eq!(bytes(Basic::Short, &0x0102i16.to_le_bytes()), [1, 2]);
    assert_eq!(
        bytes(Basic::Double, &1.0f64.to_le_bytes()),
        [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        bytes(Basic::Long, &(-3i64).to_le_bytes()),
        [0xff, 0xff, 0xff, 0xfd]
    );
    assert_eq!(
        bytes(Basic::UnsignedLong, &0xffff_fffeu64.to_le_bytes()),
        [0xff, 0xff, 0xff, 0xfe]
    );
    assert_eq!(bytes(Basic::Wchar, &0x20acu32.to_le_bytes()), [0x20, 0xac]);
    assert_eq!(
        bytes(Basic::Aint, &1i64.to_le_bytes()),
        [0, 0, 0, 0, 0, 0, 0, 1]
    );
    let complex = [1.0f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat();
    assert_eq!(
        bytes(Basic::Complex, &complex),
        [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]
    );
    // A struct of double and int, with the gap left out.
    let pair = [&1.0f64.to_le_bytes()[..], &7i32.to_le_bytes(), &[0xaa; 4]].concat();
    assert_eq!(
        bytes(Basic::DoubleInt, &pair),
        [0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]
    );
    assert_eq!(
        native(Basic::Long, &[0xff, 0xff, 0xff, 0xfd]),
        (-3i64).to_le_bytes()
    );
    assert_eq!(
        native(Basic::UnsignedLong, &[0xff; 4]),
        0xffff_ffffu64.to_le_bytes()
    );
}

/// Sign and exponent, then the significand with its leading digit, as the processor stores them.
fn extended(sign_exponent: u16, significand: u64) -> [u8; 16] {
    (u128::from(sign_exponent) << 64 | u128::from(significand)).to_le_bytes()
}

fn quadruple(sign_exponent: u16, fraction: u128) -> [u8; 16] {
    (u128::from(sign_exponent) << 112 | fraction).to_be_bytes()
}

#[test]
fn long_double_becomes_binary128_and_back() {
    let top = 1u64 << 63;
    let exact = [
        (extended(0x3fff, top), quadruple(0x3fff, 0)), // 1.0
        (
            extended(0xc000, top | top >> 1),
            quadruple(0xc000, 1 << 111),
        ), // -3.0
        (extended(0, 0), quadruple(0, 0)),             // 0.0
        (extended(0x8000, 0), quadruple(0x8000, 0)),   // -0.0
        (extended(0x7fff, top), quadruple(0x7fff, 0)), // infinity
        (extended(0, 1), quadruple(0, 1 << 49)),       // the smallest denormal
        (
            extended(0x7ffe, u64::MAX),
            quadruple(0x7ffe, ((1 << 63) - 1) << 49),
        ), // the largest
    ];
    for (here, outside) in exact {
        assert_eq!(external(Basic::LongDouble, &here).unwrap(), outside);
        assert_eq!(native(Basic::LongDouble, &outside), here);
    }
    // Rounded to nearest, ties to even; carries reach the exponent, also from denormals and to
    // infinity.
    let rounded = [
        (quadruple(0x3fff, 1 << 48), extended(0x3fff, top)),
        (quadruple(0x3fff, (1 << 48) | 1), extended(0x3fff, top | 1)),
        (quadruple(0x3fff, 3 << 48), extended(0x3fff, top | 2)),
        (quadruple(0x3fff, (1 << 112) - 1), extended(0x4000, top)),
        (quadruple(0, (1 << 112) - 1), extended(1, top)),
        (quadruple(0x7ffe, (1 << 112) - 1), extended(0x7fff, top)),
    ];
    for (outside, here) in rounded {
        assert_eq!(native(Basic::LongDouble, &outside), here);
    }
    // A NaN whose payload lies in the bits that are cut is still a NaN.
    let nan = native(Basic::LongDouble, &quadruple(0x7fff, 1));
    assert_eq!(nan, extended(0x7fff, top | top >> 1));
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let error = external(Basic::Long, &(1i64 << 31).to_le_bytes()).unwrap_err();
    let expected = "2147483648 does not fit in the 4 bytes that external32 gives MPI_LONG: use a type of fixed size";
    assert_eq!(error.to_string(), expected);
    assert!(external(Basic::UnsignedLong, &(1u64 << 32).to_le_bytes()).is_err());
    assert!(external(Basic::Wchar, &0x1f600u32.to_le_bytes()).is_err());
    let short = Datatype::named(Basic::Int).pack_external(3, &[0; 12], 0, &mut [0; 11]);
    assert_eq!(
        short,
        Err(ExternalError::Short {
            elements: 3,
            needed: 12,
            buffer: 11
        })
    );
}

#[test]
fn sizes_are_the_standards() {
    for &basic in Basic::ALL {
        let expected = match basic {
            Basic::Long | Basic::UnsignedLong => 4,
            Basic::Wchar => 2,
            Basic::LongInt => 8,
            _ => basic.size(),
        };
        assert_eq!(basic.external_size(), expected, "{}", basic.name());
        assert_eq!(
            Datatype::named(basic).external_size(3),
            Ok(3 * u64::from(expected))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Element by element along the oracle's typemap, and back.
    #[test]
    fn random_types_convert_in_the_order_of_their_typemaps(recipe in recipe(), count in 0u64..3) {
        let (map, datatype) = (recipe.expand(), recipe.build());
        let offsets = map.bytes(count);
        let low = offsets.iter().copied().min().unwrap_or(0);
        let high = offsets.iter().copied().max().unwrap_or(0) + 1;
        prop_assume!(high - low < 1 << 16 && offsets.len() < 4000);
        let origin = -low;
        let memory: Vec<u8> = (0..high - low).map(|index| (index * 11 + index / 256) as u8).collect();
        let mut expected = Vec::new();
        for index in 0..count as i64 {
            for (basic, at) in map.data() {
                let begin = (origin + index * map.extent() + at) as usize;
                expected.extend(external(basic, &memory[begin..begin + basic.size() as usize]).unwrap());
            }
        }
        let mut out = vec![0; datatype.external_size(count).unwrap() as usize];
        prop_assert_eq!(datatype.pack_external(count, &memory, origin, &mut out), Ok(expected.len()));
        prop_assert_eq!(&out, &expected);

        // Where no byte is written twice and no bits are lost, the way back gives the memory again.
        let mut distinct = offsets.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let lossless = map.data().iter().all(|(basic, _)| matches!(basic.form(), Form::Parts(_)));
        if distinct.len() == offsets.len() && lossless {
            let mut back = vec![0; memory.len()];
            prop_assert_eq!(datatype.unpack_external(&out, count, &mut back, origin), Ok(out.len()));
            for at in offsets {
                let at = (origin + at) as usize;
                prop_assert_eq!(back[at], memory[at]);
            }
        }
    }
}
