//! Which operation takes which datatype, and what the errors say.

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Named, Op, OpError, Predefined, UserOp};

use super::encoding::*;

/// What programs use beyond the standard's table, and other libraries take: MPI_CHAR as the integer
/// that it is in C.
const C_CHARACTER: &[Basic] = &[Basic::Char];

/// The table at the end of MPI 5.0 §6.9.2, and §6.9.4 for the last two; [`C_CHARACTER`] beside every
/// C integer, and truth in the integers that all languages share.
fn groups(op: Predefined) -> Vec<&'static [Basic]> {
    use Predefined::*;
    match op {
        Max | Min => vec![
            C_INTEGER,
            C_CHARACTER,
            FORTRAN_INTEGER,
            FLOATING,
            MULTI_LANGUAGE,
        ],
        Sum | Product => vec![
            C_INTEGER,
            C_CHARACTER,
            FORTRAN_INTEGER,
            FLOATING,
            COMPLEX,
            MULTI_LANGUAGE,
        ],
        LogicalAnd | LogicalOr | LogicalXor => {
            vec![C_INTEGER, C_CHARACTER, LOGICAL, MULTI_LANGUAGE]
        }
        BitAnd | BitOr | BitXor => vec![
            C_INTEGER,
            C_CHARACTER,
            FORTRAN_INTEGER,
            BYTE,
            MULTI_LANGUAGE,
        ],
        MinLoc | MaxLoc => vec![PAIRS],
        Replace | NoOp => vec![],
    }
}

pub fn is_legal(op: Predefined, basic: Basic) -> bool {
    groups(op).iter().any(|group| group.contains(&basic))
}

#[test]
fn every_operation_on_every_predefined_type() {
    for &op in Predefined::ALL {
        for &basic in Basic::ALL {
            let combiner = Op::Predefined(op).combine_for(&Datatype::named(basic));
            match combiner {
                Ok(combiner) => {
                    assert!(is_legal(op, basic), "{op} must not take {}", basic.name());
                    assert_eq!(combiner.element_bytes(), basic.size() as usize);
                }
                Err(OpError::Illegal { op: of, datatype }) => {
                    assert!(!is_legal(op, basic), "{op} must take {}", basic.name());
                    assert_eq!((of, datatype), (op, Named::Basic(basic)));
                }
                Err(error) => {
                    assert_eq!(error, OpError::OneSidedOnly { op }, "{}", basic.name());
                    assert!(matches!(op, Predefined::Replace | Predefined::NoOp));
                }
            }
        }
    }
}

#[test]
fn fortran_kinds_count_as_their_groups() {
    let takes = |op: Predefined, datatype: &Datatype| Op::from(op).combine_for(datatype).is_ok();
    for range in [2, 4, 9, 18, 38] {
        let integer = Datatype::f90_integer(range).unwrap();
        assert!(takes(Predefined::Sum, &integer) && takes(Predefined::BitXor, &integer));
        assert!(!takes(Predefined::LogicalAnd, &integer));
    }
    for precision in [6, 15, 18, 33] {
        let real = Datatype::f90_real(Some(precision), None).unwrap();
        let complex = Datatype::f90_complex(Some(precision), None).unwrap();
        assert!(takes(Predefined::Max, &real) && takes(Predefined::Product, &complex));
        assert!(!takes(Predefined::BitAnd, &real) && !takes(Predefined::Min, &complex));
    }
}

#[test]
fn derived_types_are_refused_even_if_they_look_predefined() {
    let int = Datatype::named(Basic::Int);
    let derived = [
        int.dup().unwrap(),
        Datatype::contiguous(1, &int).unwrap(),
        Datatype::vector(2, 1, 2, &int).unwrap(),
        Datatype::resized(&int, 0, 8).unwrap(),
    ];
    for datatype in &derived {
        let error = Op::from(Predefined::Sum).combine_for(datatype).unwrap_err();
        let (op, constructor) = (Predefined::Sum, datatype.combiner());
        assert_eq!(error, OpError::NotPredefined { op, constructor });
    }
}

#[test]
fn handles_are_the_standards() {
    assert_eq!(Predefined::from_handle(0x20), None, "MPI_OP_NULL");
    assert_eq!(Predefined::from_handle(0x21), Some(Predefined::Sum));
    assert_eq!(Predefined::from_handle(0x39), Some(Predefined::MaxLoc));
    for &op in Predefined::ALL {
        assert_eq!(Predefined::from_handle(op.handle()), Some(op));
    }
}

#[test]
fn what_commutes() {
    for &op in Predefined::ALL {
        let replaces = matches!(op, Predefined::Replace | Predefined::NoOp);
        assert_eq!(Op::from(op).is_commutative(), !replaces, "{op}");
    }
    for commutative in [false, true] {
        let op = Op::User(UserOp::new(commutative, |_, _, _, _| {}).into());
        assert_eq!(op.clone().is_commutative(), commutative);
    }
}

#[test]
fn combiners_travel_with_nonblocking_collectives() {
    fn travels<T: Send + Sync + Clone + 'static>() {}
    travels::<oxmpi_datatypes::op::Combiner>();
    travels::<Op>();
}

#[test]
fn one_sided_operations_have_kernels() {
    let double_int = Datatype::named(Basic::DoubleInt);
    let accumulated = |op: Predefined| {
        let combiner = Op::from(op).accumulate_for(&double_int).unwrap();
        let mut target = [7u8; 24];
        combiner.combine(&[1u8; 24], &mut target);
        target
    };
    assert_eq!(accumulated(Predefined::Replace), [1; 24]);
    assert_eq!(accumulated(Predefined::NoOp), [7; 24]);
    assert!(
        Op::from(Predefined::Sum)
            .accumulate_for(&double_int)
            .is_err()
    );
    let int = Datatype::named(Basic::Int);
    let sum = Op::from(Predefined::Sum).accumulate_for(&int).unwrap();
    let mut target = 2i32.to_le_bytes();
    sum.combine(&3i32.to_le_bytes(), &mut target);
    assert_eq!(target, 5i32.to_le_bytes());
}

#[test]
fn texts_of_errors() {
    let text = |op: Predefined, datatype: &Datatype| {
        Op::from(op).combine_for(datatype).unwrap_err().to_string()
    };
    let double = Datatype::named(Basic::Double);
    assert_eq!(
        text(Predefined::BitAnd, &double),
        "MPI_BAND does not take MPI_DOUBLE: it takes integers, MPI_BYTE, MPI_AINT, MPI_OFFSET and MPI_COUNT"
    );
    assert_eq!(
        text(Predefined::Sum, &Datatype::contiguous(3, &double).unwrap()),
        "MPI_SUM does not take a derived datatype (this one was made by Contiguous): it takes integers, floating-point \
         and complex numbers, MPI_AINT, MPI_OFFSET and MPI_COUNT; give the predefined type and a larger count, or make \
         an operation with MPI_Op_create"
    );
    assert_eq!(
        text(Predefined::Replace, &double),
        "MPI_REPLACE is not for reductions: only one-sided accumulations take it"
    );
    let pair = Datatype::value_index(Basic::Uint16, Basic::Count).unwrap();
    assert_eq!(
        text(Predefined::Max, &pair),
        "MPI_MAX does not take the pair of MPI_UINT16_T and MPI_COUNT: it takes integers, floating-point numbers, \
         MPI_AINT, MPI_OFFSET and MPI_COUNT"
    );
    let far = Datatype::hindexed(&[1, 1], &[0, 1 << 45], &double).unwrap();
    let user = Op::User(UserOp::new(true, |_, _, _, _| {}).into());
    assert_eq!(
        user.combine_for(&far).unwrap_err().to_string(),
        "an element of the datatype spans 35184372088840 bytes, and operations of MPI_Op_create work on a copy of at \
         most 1099511627776: use displacements relative to a buffer instead of absolute addresses"
    );
}
