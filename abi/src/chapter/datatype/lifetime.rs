//! Committing, duplicating and freeing datatypes (MPI 5.0 §5.1.9, §5.1.10), with what that means
//! for their attributes (§7.7.4).

use oxmpi_core::attribute::AttributeError;

use crate::argument::{InOut, Out};
use crate::call::Call;
use crate::constant::{MPI_DATATYPE_NULL, MPI_ERR_TYPE};
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::Type;

/// MPI_Type_commit. Types that are committed already may be committed again.
pub fn type_commit(call: &Call, datatype: InOut<Handle>) -> Result<(), Failure> {
    call.datatype("datatype", datatype.get())?.commit();
    Ok(())
}

/// MPI_Type_dup. The copy callbacks of attributes see both types; if one refuses there is no new
/// type.
pub fn type_dup(_call: &Call, oldtype: &Type, newtype: Out<Handle>) -> Result<(), Failure> {
    let handle = Type::new_handle(oldtype.dup()?)?;
    if let Err(error) = copy_attributes(oldtype, handle) {
        Type::table().remove(handle);
        // As after a failed MPI_Comm_dup, programs look at the handle alone.
        newtype.set(MPI_DATATYPE_NULL);
        return Err(error.into());
    }
    newtype.set(handle);
    Ok(())
}

fn copy_attributes(old: &Type, new: Handle) -> Result<(), AttributeError> {
    let Some(duplicate) = Type::table().get(new) else {
        return Ok(());
    };
    let (from, to) = (old.handle().0 as u64, new.0 as u64);
    old.attributes.copy_to(from, &duplicate.attributes, to)
}

/// MPI_Type_free. Operations that are under way and types made of this one keep what they need.
pub fn type_free(call: &Call, datatype: InOut<Handle>) -> Result<(), Failure> {
    let handle = datatype.get();
    let object = call.datatype("datatype", handle)?;
    if object.is_predefined() {
        let text = format!("datatype is {handle}, which is predefined and cannot be freed");
        return Err(Failure::new(MPI_ERR_TYPE, text));
    }
    object.attributes.delete_all(handle.0 as u64)?;
    Type::table().remove(handle);
    datatype.set(MPI_DATATYPE_NULL);
    Ok(())
}
