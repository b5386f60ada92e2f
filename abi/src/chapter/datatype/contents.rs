//! How a datatype was made (MPI 5.0 §5.1.13).
//!
//! The `int` forms have no room for arguments of type `MPI_Count`: asked about a type from a
//! large-count constructor they fail with MPI_ERR_TYPE, even if its counts are small, because the
//! form of the call is part of the answer.

use oxmpi_datatypes::datatype::Datatype;

use crate::argument::{CountOut, IntegersOut, Out};
use crate::call::Call;
use crate::constant::{MPI_ERR_ARG, MPI_ERR_TYPE};
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::Type;

/// MPI_Type_get_envelope.
pub fn type_get_envelope(
    call: &Call,
    datatype: &Type,
    num_integers: CountOut,
    num_addresses: CountOut,
    num_large_counts: CountOut,
    num_datatypes: CountOut,
    combiner: Out<i32>,
) -> Result<(), Failure> {
    let envelope = datatype.envelope();
    fits(call, envelope.counts)?;
    num_integers.set(envelope.integers as i64);
    num_addresses.set(envelope.addresses as i64);
    num_large_counts.set(envelope.counts as i64);
    num_datatypes.set(envelope.datatypes as i64);
    combiner.set(envelope.combiner as i32);
    Ok(())
}

/// MPI_Type_get_contents.
pub fn type_get_contents(
    call: &Call,
    datatype: &Type,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    integers: IntegersOut,
    addresses: IntegersOut,
    large_counts: IntegersOut,
    datatypes: &mut [Handle],
) -> Result<(), Failure> {
    if let Some(basic) = datatype.basic() {
        let text = format!(
            "datatype is {}, which was not made of anything; ask MPI_Type_get_envelope for MPI_COMBINER_NAMED first",
            basic.name()
        );
        return Err(Failure::new(MPI_ERR_TYPE, text));
    }
    let contents = datatype.contents();
    fits(call, contents.counts.len())?;
    room("max_integers", max_integers, contents.integers.len())?;
    room("max_addresses", max_addresses, contents.addresses.len())?;
    if call.is_large() {
        room("max_large_counts", max_large_counts, contents.counts.len())?;
    }
    room("max_datatypes", max_datatypes, contents.datatypes.len())?;
    hand_out(contents.datatypes, datatypes)?;
    write(&contents.integers, &integers);
    write(&contents.addresses, &addresses);
    write(&contents.counts, &large_counts);
    Ok(())
}

/// Refuses to tell an `int` form about large counts.
fn fits(call: &Call, counts: usize) -> Result<(), Failure> {
    if counts == 0 || call.is_large() {
        return Ok(());
    }
    let text = format!(
        "datatype was made by a large-count constructor; call {}_c instead",
        call.name()
    );
    Err(Failure::new(MPI_ERR_TYPE, text))
}

fn room(argument: &str, given: i64, needed: usize) -> Result<(), Failure> {
    if given as usize >= needed {
        return Ok(());
    }
    let text = format!(
        "{argument} is {given}, but the datatype has {needed} such arguments; give what MPI_Type_get_envelope tells"
    );
    Err(Failure::new(MPI_ERR_ARG, text))
}

fn write(values: &[i64], out: &IntegersOut) {
    for (index, value) in values.iter().enumerate() {
        out.set(index, *value);
    }
}

/// Writes handles of the old types: new ones, which the program frees, except for predefined types.
fn hand_out(old: Vec<Datatype>, out: &mut [Handle]) -> Result<(), Failure> {
    let mut made = Vec::with_capacity(old.len());
    for datatype in old {
        match Type::handle_of(datatype) {
            Ok(handle) => made.push(handle),
            Err(failure) => {
                take_back(&made);
                return Err(failure);
            }
        }
    }
    out[..made.len()].copy_from_slice(&made);
    Ok(())
}

/// Frees handles that no program has seen, except those of predefined types.
fn take_back(handles: &[Handle]) {
    for handle in handles {
        let derived = Type::table()
            .get(*handle)
            .is_some_and(|object| !object.is_predefined());
        if derived {
            Type::table().remove(*handle);
        }
    }
}
