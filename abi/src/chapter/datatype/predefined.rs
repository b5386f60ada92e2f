//! Predefined types that are asked for by property: Fortran kinds (MPI 5.0 §19.1.9), pairs of value
//! and index (§6.9.4), types by size.
//!
//! Equal questions get equal handles; `object::Type` sees to that. None of these types can be
//! freed.

use oxmpi_datatypes::datatype::{Basic, Datatype, TypeClass};

use crate::argument::Out;
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::Type;

/// MPI_Type_create_f90_real.
pub fn type_create_f90_real(
    _call: &Call,
    p: i32,
    r: i32,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let real = Datatype::f90_real(given(p), given(r))?;
    newtype.set(Type::handle_of(real)?);
    Ok(())
}

/// MPI_Type_create_f90_complex.
pub fn type_create_f90_complex(
    _call: &Call,
    p: i32,
    r: i32,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let complex = Datatype::f90_complex(given(p), given(r))?;
    newtype.set(Type::handle_of(complex)?);
    Ok(())
}

/// MPI_Type_create_f90_integer.
pub fn type_create_f90_integer(_call: &Call, r: i32, newtype: Out<Handle>) -> Result<(), Failure> {
    newtype.set(Type::handle_of(Datatype::f90_integer(r)?)?);
    Ok(())
}

/// A precision or range that the program cares about.
fn given(value: i32) -> Option<i32> {
    (value != MPI_UNDEFINED).then_some(value)
}

/// MPI_Type_get_value_index. The answer is a pair type with a name, or MPI_DATATYPE_NULL, which is
/// no error: the standard leaves it to the library which pairs there are, MPICH offers the same
/// ones, and mpi4py 4.1 cannot describe or pickle a predefined pair without a name.
pub fn type_get_value_index(
    _call: &Call,
    value_type: &Type,
    index_type: &Type,
    pair_type: Out<Handle>,
) -> Result<(), Failure> {
    let pair = match (value_type.basic(), index_type.basic()) {
        (Some(value), Some(index)) => Datatype::value_index(value, index),
        _ => None,
    };
    let pair = pair.filter(|pair| pair.basic().is_some());
    pair_type.set(match pair {
        Some(pair) => Type::handle_of(pair)?,
        None => MPI_DATATYPE_NULL,
    });
    Ok(())
}

/// MPI_Type_match_size.
pub fn type_match_size(
    _call: &Call,
    typeclass: i32,
    size: i32,
    datatype: Out<Handle>,
) -> Result<(), Failure> {
    let class = match typeclass {
        MPI_TYPECLASS_INTEGER => TypeClass::Integer,
        MPI_TYPECLASS_REAL => TypeClass::Real,
        MPI_TYPECLASS_COMPLEX => TypeClass::Complex,
        MPIX_TYPECLASS_LOGICAL => TypeClass::Logical,
        _ => {
            let text = format!(
                "typeclass is {typeclass}, which is none of MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL and MPI_TYPECLASS_COMPLEX"
            );
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
    };
    let found = u32::try_from(size)
        .ok()
        .and_then(|bytes| Basic::match_size(class, bytes));
    let basic = found.ok_or_else(|| {
        let text =
            format!("size is {size}, and no Fortran type of class {class:?} has so many bytes");
        Failure::new(MPI_ERR_ARG, text)
    })?;
    datatype.set(Handle(usize::from(basic.handle())));
    Ok(())
}
