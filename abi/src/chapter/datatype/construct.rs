//! The constructors of MPI 5.0 §5.1.2 and §5.1.7, except arrays, which have a file of their own.

use oxmpi_datatypes::datatype::Datatype;

use super::deliver;
use crate::argument::{Datatypes, Integers, Out};
use crate::call::Call;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::Type;

/// MPI_Type_contiguous.
pub fn type_contiguous(
    call: &Call,
    count: i64,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    deliver(call, Datatype::contiguous(count, oldtype)?, &newtype)
}

/// MPI_Type_vector.
pub fn type_vector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let vector = Datatype::vector(count, blocklength, stride, oldtype)?;
    deliver(call, vector, &newtype)
}

/// MPI_Type_create_hvector.
pub fn type_create_hvector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let hvector = Datatype::hvector(count, blocklength, stride, oldtype)?;
    deliver(call, hvector, &newtype)
}

/// MPI_Type_indexed.
pub fn type_indexed(
    call: &Call,
    _count: i64,
    blocklengths: Integers,
    displacements: Integers,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let indexed = Datatype::indexed(&blocklengths.all(), &displacements.all(), oldtype)?;
    deliver(call, indexed, &newtype)
}

/// MPI_Type_create_hindexed.
pub fn type_create_hindexed(
    call: &Call,
    _count: i64,
    blocklengths: Integers,
    displacements: Integers,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let hindexed = Datatype::hindexed(&blocklengths.all(), &displacements.all(), oldtype)?;
    deliver(call, hindexed, &newtype)
}

/// MPI_Type_create_indexed_block.
pub fn type_create_indexed_block(
    call: &Call,
    _count: i64,
    blocklength: i64,
    displacements: Integers,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let blocks = Datatype::indexed_block(blocklength, &displacements.all(), oldtype)?;
    deliver(call, blocks, &newtype)
}

/// MPI_Type_create_hindexed_block.
pub fn type_create_hindexed_block(
    call: &Call,
    _count: i64,
    blocklength: i64,
    displacements: Integers,
    oldtype: &Type,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let blocks = Datatype::hindexed_block(blocklength, &displacements.all(), oldtype)?;
    deliver(call, blocks, &newtype)
}

/// MPI_Type_create_struct.
pub fn type_create_struct(
    call: &Call,
    count: i64,
    blocklengths: Integers,
    displacements: Integers,
    types: Datatypes,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    let of = (0..count as usize)
        .map(|index| types.get(index).map(|old| old.datatype.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    let structure = Datatype::structure(&blocklengths.all(), &displacements.all(), &of)?;
    deliver(call, structure, &newtype)
}

/// MPI_Type_create_resized.
pub fn type_create_resized(
    call: &Call,
    oldtype: &Type,
    lb: i64,
    extent: i64,
    newtype: Out<Handle>,
) -> Result<(), Failure> {
    deliver(call, Datatype::resized(oldtype, lb, extent)?, &newtype)
}
