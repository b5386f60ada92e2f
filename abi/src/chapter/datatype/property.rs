//! What a datatype says about itself: sizes and bounds (MPI 5.0 §5.1.5 to §5.1.8) and its name
//! (§7.8).

use std::ffi::CStr;

use crate::argument::{CountOut, Out, TextOut};
use crate::call::Call;
use crate::failure::Failure;
use crate::object::Type;

/// MPI_Type_size. A type has at most 2^63 - 1 bytes, its constructor sees to that.
pub fn type_size(_call: &Call, datatype: &Type, size: CountOut) -> Result<(), Failure> {
    size.set(datatype.size() as i64);
    Ok(())
}

/// MPI_Type_size_x.
pub fn type_size_x(_call: &Call, datatype: &Type, size: Out<i64>) -> Result<(), Failure> {
    size.set(datatype.size() as i64);
    Ok(())
}

/// MPI_Type_get_extent.
pub fn type_get_extent(
    _call: &Call,
    datatype: &Type,
    lb: Out<i64>,
    extent: Out<i64>,
) -> Result<(), Failure> {
    lb.set(datatype.lb());
    extent.set(datatype.extent());
    Ok(())
}

/// MPI_Type_get_extent_x.
pub fn type_get_extent_x(
    call: &Call,
    datatype: &Type,
    lb: Out<i64>,
    extent: Out<i64>,
) -> Result<(), Failure> {
    type_get_extent(call, datatype, lb, extent)
}

/// MPI_Type_get_true_extent.
pub fn type_get_true_extent(
    _call: &Call,
    datatype: &Type,
    true_lb: Out<i64>,
    true_extent: Out<i64>,
) -> Result<(), Failure> {
    true_lb.set(datatype.true_lb());
    true_extent.set(datatype.true_extent());
    Ok(())
}

/// MPI_Type_get_true_extent_x.
pub fn type_get_true_extent_x(
    call: &Call,
    datatype: &Type,
    true_lb: Out<i64>,
    true_extent: Out<i64>,
) -> Result<(), Failure> {
    type_get_true_extent(call, datatype, true_lb, true_extent)
}

/// MPI_Type_get_name; the null handle has its own name.
pub fn type_get_name(
    _call: &Call,
    datatype: Option<&Type>,
    type_name: TextOut,
    resultlen: Out<i32>,
) -> Result<(), Failure> {
    let name = datatype.map_or_else(|| b"MPI_DATATYPE_NULL".to_vec(), Type::name);
    resultlen.set(type_name.set(name));
    Ok(())
}

/// MPI_Type_set_name.
pub fn type_set_name(_call: &Call, datatype: &Type, type_name: &CStr) -> Result<(), Failure> {
    datatype.set_name(type_name.to_bytes());
    Ok(())
}
