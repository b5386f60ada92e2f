//! Datatypes (MPI 5.0 §5.1, §19.1.9): making, asking, taking apart.
//!
//! The layer below makes and knows datatypes; here they get handles and names, and what a program
//! asks is translated. Old types need not be committed, and a type that others were made of may be
//! freed: they share what they need of it.

mod array;
mod construct;
mod contents;
mod lifetime;
mod predefined;
mod property;

pub use array::{type_create_darray, type_create_subarray};
pub use construct::{
    type_contiguous, type_create_hindexed, type_create_hindexed_block, type_create_hvector,
    type_create_indexed_block, type_create_resized, type_create_struct, type_indexed, type_vector,
};
pub use contents::{type_get_contents, type_get_envelope};
pub use lifetime::{type_commit, type_dup, type_free};
pub use predefined::{
    type_create_f90_complex, type_create_f90_integer, type_create_f90_real, type_get_value_index,
    type_match_size,
};
pub use property::{
    type_get_extent, type_get_extent_x, type_get_name, type_get_true_extent,
    type_get_true_extent_x, type_set_name, type_size, type_size_x,
};

use oxmpi_datatypes::datatype::Datatype;

use crate::argument::Out;
use crate::call::Call;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::Type;

/// Gives the program the type that a constructor made. Which of its forms was called decides what
/// MPI_Type_get_contents shows later.
fn deliver(call: &Call, datatype: Datatype, newtype: &Out<Handle>) -> Result<(), Failure> {
    let datatype = if call.is_large() {
        datatype.with_large_counts()
    } else {
        datatype
    };
    newtype.set(Type::new_handle(datatype)?);
    Ok(())
}
