//! Reading and writing statuses (MPI 5.0 §3.2.5, §13.3). A status holds bytes; counts follow from
//! the datatype.

use crate::argument::{CountOut, FlagOut, Out};
use crate::call::Call;
use crate::constant::{MPI_ERR_ARG, MPI_ERR_COUNT, MPI_UNDEFINED};
use crate::failure::Failure;
use crate::object::Type;
use crate::status::Status;

/// MPI_Get_count.
pub fn get_count(
    _call: &Call,
    status: &Status,
    datatype: &Type,
    count: CountOut,
) -> Result<(), Failure> {
    count.set(or_undefined(datatype.count_in(status.bytes())));
    Ok(())
}

/// MPI_Get_elements.
pub fn get_elements(
    _call: &Call,
    status: &Status,
    datatype: &Type,
    count: CountOut,
) -> Result<(), Failure> {
    count.set(or_undefined(datatype.elements_in(status.bytes())));
    Ok(())
}

/// MPI_Get_elements_x.
pub fn get_elements_x(
    _call: &Call,
    status: &Status,
    datatype: &Type,
    count: Out<i64>,
) -> Result<(), Failure> {
    count.set(or_undefined(datatype.elements_in(status.bytes())));
    Ok(())
}

fn or_undefined(count: Option<u64>) -> i64 {
    count
        .and_then(|count| i64::try_from(count).ok())
        .unwrap_or(i64::from(MPI_UNDEFINED))
}

/// MPI_Status_set_elements: the count is of basic elements.
pub fn status_set_elements(
    _call: &Call,
    status: &mut Status,
    datatype: &Type,
    count: i64,
) -> Result<(), Failure> {
    let bytes = datatype.signature().bytes_of(count as u64).ok_or_else(|| {
        let text =
            format!("count is {count}, and no message of this datatype has so many elements");
        Failure::new(MPI_ERR_COUNT, text)
    })?;
    status.set_bytes(bytes);
    Ok(())
}

/// MPI_Status_set_elements_x.
pub fn status_set_elements_x(
    call: &Call,
    status: &mut Status,
    datatype: &Type,
    count: i64,
) -> Result<(), Failure> {
    let count = call.count("count", count)?;
    status_set_elements(call, status, datatype, count)
}

/// MPI_Test_cancelled.
pub fn test_cancelled(_call: &Call, status: &Status, flag: FlagOut) -> Result<(), Failure> {
    flag.set(status.is_cancelled());
    Ok(())
}

/// MPI_Status_set_cancelled.
pub fn status_set_cancelled(_call: &Call, status: &mut Status, flag: i32) -> Result<(), Failure> {
    status.set_cancelled(flag != 0);
    Ok(())
}

/// MPI_Status_get_source.
pub fn status_get_source(_call: &Call, status: &Status, source: Out<i32>) -> Result<(), Failure> {
    source.set(status.source);
    Ok(())
}

/// MPI_Status_get_tag.
pub fn status_get_tag(_call: &Call, status: &Status, tag: Out<i32>) -> Result<(), Failure> {
    tag.set(status.tag);
    Ok(())
}

/// MPI_Status_get_error.
pub fn status_get_error(_call: &Call, status: &Status, error: Out<i32>) -> Result<(), Failure> {
    error.set(status.error);
    Ok(())
}

/// MPI_Status_set_source.
pub fn status_set_source(_call: &Call, status: &mut Status, source: i32) -> Result<(), Failure> {
    status.source = source;
    Ok(())
}

/// MPI_Status_set_tag.
pub fn status_set_tag(_call: &Call, status: &mut Status, tag: i32) -> Result<(), Failure> {
    status.tag = tag;
    Ok(())
}

/// MPI_Status_set_error: a code that exists.
pub fn status_set_error(_call: &Call, status: &mut Status, error: i32) -> Result<(), Failure> {
    if super::error::class_of(error).is_none() {
        return Err(Failure::new(
            MPI_ERR_ARG,
            format!("error is {error}, which is no error code"),
        ));
    }
    status.error = error;
    Ok(())
}
