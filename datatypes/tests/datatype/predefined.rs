//! Predefined types: the table against what compilers say, kinds by precision and range,
//! value-index pairs.

use oxmpi_datatypes::datatype::{
    Basic, Class, Constructor, Datatype, DatatypeError, Form, Support, TypeClass,
};

#[test]
fn handles_are_unique_ascending_and_found_again() {
    assert!(
        Basic::ALL
            .windows(2)
            .all(|pair| pair[0].handle() < pair[1].handle())
    );
    assert!(
        Basic::ALL
            .iter()
            .all(|basic| Basic::from_handle(basic.handle()) == Some(*basic))
    );
    for nothing in [0, 0x200, 0x204, 0x2ff, u16::MAX] {
        assert_eq!(Basic::from_handle(nothing), None);
    }
    assert_eq!(Basic::ALL.len(), 70);
}

/// The ABI writes the size of a fixed-size type into its handle: bits 3 to 5 are its binary
/// logarithm.
#[test]
fn sizes_agree_with_the_handles_that_carry_them() {
    for basic in Basic::ALL {
        let handle = basic.handle();
        if (0x240..0x280).contains(&handle) || (0x2c0..0x300).contains(&handle) {
            assert_eq!(basic.size(), 1 << (handle >> 3 & 7), "{}", basic.name());
        }
    }
}

#[test]
fn sizes_and_alignments_are_those_of_the_native_types() {
    fn same<T>(basic: Basic) {
        assert_eq!(basic.size() as usize, size_of::<T>(), "{}", basic.name());
        assert_eq!(basic.align() as usize, align_of::<T>(), "{}", basic.name());
    }
    use std::ffi::*;
    same::<c_short>(Basic::Short);
    same::<c_int>(Basic::Int);
    same::<c_long>(Basic::Long);
    same::<c_longlong>(Basic::LongLong);
    same::<c_uint>(Basic::Unsigned);
    same::<c_ulong>(Basic::UnsignedLong);
    same::<c_char>(Basic::Char);
    same::<c_float>(Basic::Float);
    same::<c_double>(Basic::Double);
    same::<bool>(Basic::CBool);
    same::<isize>(Basic::Aint);
    same::<i64>(Basic::Count);
    same::<i128>(Basic::Integer16);
    same::<[f32; 2]>(Basic::CFloatComplex);
    same::<[f64; 2]>(Basic::DoubleComplex);
}

#[test]
fn pairs_have_the_layout_of_their_c_structs() {
    // Name, size, extent.
    let expected = [
        (Basic::FloatInt, 8, 8),
        (Basic::DoubleInt, 12, 16),
        (Basic::LongInt, 12, 16),
        (Basic::TwoInt, 8, 8),
        (Basic::ShortInt, 6, 8),
        (Basic::LongDoubleInt, 20, 32),
        (Basic::TwoReal, 8, 8),
        (Basic::TwoDoublePrecision, 16, 16),
        (Basic::TwoInteger, 8, 8),
    ];
    for (basic, size, extent) in expected {
        let pair = Datatype::named(basic);
        assert_eq!(
            (pair.size(), pair.extent()),
            (size, extent),
            "{}",
            basic.name()
        );
        assert_eq!(basic.class(), Class::ValueIndex);
        assert_eq!(u64::from(basic.size()), pair.size());
        assert_eq!(basic.align(), pair.align());
        assert_eq!(pair.signature().elements(), 2);
    }
    let pairs = Basic::ALL.iter().filter(|basic| basic.pair().is_some());
    assert_eq!(pairs.count(), expected.len());
}

#[test]
fn every_predefined_type_is_committed_and_bounded_by_its_size() {
    for &basic in Basic::ALL {
        let datatype = Datatype::named(basic);
        assert!(datatype.is_committed());
        assert_eq!((datatype.lb(), datatype.true_lb()), (0, 0));
        assert_eq!(datatype.basic(), Some(basic));
        if basic.pair().is_none() {
            assert_eq!(datatype.extent(), i64::from(basic.size()));
            assert!(datatype.is_contiguous());
        }
        let parts = match basic.form() {
            Form::Parts(parts) | Form::Extended(parts) => u32::from(parts),
            _ => 1,
        };
        assert_eq!(
            parts == 2,
            basic.class() == Class::Complex,
            "{}",
            basic.name()
        );
    }
    assert_eq!(Basic::Real2.support(), Support::Undeclared);
}

#[test]
fn kinds_are_the_smallest_that_suffice() {
    let real = |precision, range| {
        Datatype::f90_real(precision, range).map(|real| (real.size(), real.signature().uniform()))
    };
    assert_eq!(real(Some(6), Some(37)), Ok((4, Some(Basic::Real4))));
    assert_eq!(real(Some(7), None), Ok((8, Some(Basic::Real8))));
    assert_eq!(real(None, Some(38)), Ok((8, Some(Basic::Real8))));
    assert_eq!(
        real(Some(18), Some(4931)),
        Ok((16, Some(Basic::LongDouble)))
    );
    assert_eq!(real(Some(33), None), Ok((16, Some(Basic::Real16))));
    assert_eq!(
        real(Some(34), None),
        Err(DatatypeError::Kind {
            precision: Some(34),
            range: None
        })
    );
    assert_eq!(
        real(None, None),
        Err(DatatypeError::Kind {
            precision: None,
            range: None
        })
    );
    let complex = Datatype::f90_complex(Some(15), Some(307)).unwrap();
    assert_eq!((complex.size(), complex.is_committed()), (16, true));
    for (range, size) in [
        (0, 1),
        (2, 1),
        (3, 2),
        (9, 4),
        (10, 8),
        (18, 8),
        (19, 16),
        (38, 16),
    ] {
        assert_eq!(
            Datatype::f90_integer(range).unwrap().size(),
            size,
            "range {range}"
        );
    }
    assert!(Datatype::f90_integer(39).is_err());
}

#[test]
fn value_index_types_are_named_where_a_name_exists() {
    let named = Datatype::value_index(Basic::Double, Basic::Int).unwrap();
    assert_eq!(named.basic(), Some(Basic::DoubleInt));
    let unnamed = Datatype::value_index(Basic::Float, Basic::Int64).unwrap();
    assert_eq!(
        *unnamed.constructor(),
        Constructor::ValueIndex {
            value: Basic::Float,
            index: Basic::Int64
        }
    );
    assert_eq!(
        (unnamed.size(), unnamed.extent(), unnamed.is_committed()),
        (12, 16, true)
    );
    assert_eq!(
        Datatype::value_index(Basic::CFloatComplex, Basic::Int),
        None
    );
    assert_eq!(Datatype::value_index(Basic::Int, Basic::Float), None);
}

#[test]
fn sized_types_are_found_by_class() {
    assert_eq!(Basic::match_size(TypeClass::Real, 8), Some(Basic::Real8));
    assert_eq!(
        Basic::match_size(TypeClass::Integer, 16),
        Some(Basic::Integer16)
    );
    assert_eq!(
        Basic::match_size(TypeClass::Complex, 8),
        Some(Basic::Complex8)
    );
    assert_eq!(
        Basic::match_size(TypeClass::Logical, 4),
        Some(Basic::Logical4)
    );
    assert_eq!(Basic::match_size(TypeClass::Real, 3), None);
}
