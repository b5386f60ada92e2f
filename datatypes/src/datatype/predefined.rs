//! Predefined types that are asked for by property: Fortran kinds by precision and range (MPI 5.0
//! §19.1.9), value-index pairs by their parts (§6.9.4) and sized types by class
//! (MPI_Type_match_size).
//!
//! The results are committed. That equal questions get equal handles is the business of whoever
//! hands out handles.

use super::typemap::Typemap;
use super::{Basic, Class, Constructor, Datatype, DatatypeError};

/// What MPI_Type_match_size looks for; the values are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum TypeClass {
    /// LOGICAL*n.
    Logical = 191,
    /// INTEGER*n.
    Integer = 192,
    /// REAL*n.
    Real = 193,
    /// COMPLEX*n.
    Complex = 194,
}

/// gfortran's real kinds with their precision and range, smallest first: 4, 8, 10 (the extended
/// format of the processor, which C calls long double) and 16.
const REAL_KINDS: [(i32, i32, Basic, Basic); 4] = [
    (6, 37, Basic::Real4, Basic::Complex8),
    (15, 307, Basic::Real8, Basic::Complex16),
    (18, 4931, Basic::LongDouble, Basic::CLongDoubleComplex),
    (33, 4931, Basic::Real16, Basic::Complex32),
];

/// gfortran's integer kinds with their range.
const INTEGER_KINDS: [(i32, Basic); 5] = [
    (2, Basic::Integer1),
    (4, Basic::Integer2),
    (9, Basic::Integer4),
    (18, Basic::Integer8),
    (38, Basic::Integer16),
];

impl Datatype {
    /// MPI_Type_create_f90_real: the smallest kind of at least this precision and range; none is
    /// MPI_UNDEFINED.
    pub fn f90_real(precision: Option<i32>, range: Option<i32>) -> Result<Datatype, DatatypeError> {
        let (_, _, real, _) = real_kind(precision, range)?;
        Datatype::unnamed(
            Constructor::F90Real { precision, range },
            Typemap::element(real)?,
        )
    }

    /// MPI_Type_create_f90_complex.
    pub fn f90_complex(
        precision: Option<i32>,
        range: Option<i32>,
    ) -> Result<Datatype, DatatypeError> {
        let (_, _, _, complex) = real_kind(precision, range)?;
        Datatype::unnamed(
            Constructor::F90Complex { precision, range },
            Typemap::element(complex)?,
        )
    }

    /// MPI_Type_create_f90_integer.
    pub fn f90_integer(range: i32) -> Result<Datatype, DatatypeError> {
        let kind = INTEGER_KINDS.iter().find(|kind| range <= kind.0);
        let (_, integer) = kind.ok_or(DatatypeError::Kind {
            precision: None,
            range: Some(range),
        })?;
        Datatype::unnamed(
            Constructor::F90Integer { range },
            Typemap::element(*integer)?,
        )
    }

    /// MPI_Type_get_value_index: the named pair if there is one, an unnamed one if MINLOC and
    /// MAXLOC can work on it, otherwise none (MPI_DATATYPE_NULL).
    pub fn value_index(value: Basic, index: Basic) -> Option<Datatype> {
        if let Some(&named) = Basic::ALL
            .iter()
            .find(|basic| basic.pair() == Some((value, index)))
        {
            return Some(Datatype::named(named));
        }
        let ordered = |basic: Basic| {
            matches!(
                basic.class(),
                Class::Integer | Class::Floating | Class::MultiLanguage
            )
        };
        let counts = matches!(index.class(), Class::Integer | Class::MultiLanguage);
        if !ordered(value) || !counts {
            return None;
        }
        let typemap = Typemap::pair(value, index).ok()?;
        Datatype::unnamed(Constructor::ValueIndex { value, index }, typemap).ok()
    }

    fn unnamed(constructor: Constructor, typemap: Typemap) -> Result<Datatype, DatatypeError> {
        let predefined = Datatype::build(constructor, &[], typemap)?;
        predefined.commit();
        Ok(predefined)
    }
}

impl Basic {
    /// MPI_Type_match_size: the Fortran type of this class and size.
    pub fn match_size(class: TypeClass, bytes: u32) -> Option<Basic> {
        use Basic::*;
        let sized: &[Basic] = match class {
            TypeClass::Logical => &[Logical1, Logical2, Logical4, Logical8, Logical16],
            TypeClass::Integer => &[Integer1, Integer2, Integer4, Integer8, Integer16],
            TypeClass::Real => &[Real2, Real4, Real8, Real16],
            TypeClass::Complex => &[Complex4, Complex8, Complex16, Complex32],
        };
        sized.iter().copied().find(|basic| basic.size() == bytes)
    }
}

fn real_kind(
    precision: Option<i32>,
    range: Option<i32>,
) -> Result<(i32, i32, Basic, Basic), DatatypeError> {
    let unknown = DatatypeError::Kind { precision, range };
    if precision.is_none() && range.is_none() {
        return Err(unknown);
    }
    let suffices = |kind: &&(i32, i32, Basic, Basic)| {
        precision.is_none_or(|p| p <= kind.0) && range.is_none_or(|r| r <= kind.1)
    };
    REAL_KINDS.iter().find(suffices).copied().ok_or(unknown)
}
