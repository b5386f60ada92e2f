//! Operations of reductions (MPI 5.0 §6.9.5, §6.9.7): making and freeing them, and reducing without
//! communication.

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;

use crate::argument::{Callback, FlagOut, InOut, Out, constant};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{self, Form, Op, Type};

/// MPI_Op_create.
pub fn op_create(
    call: &Call,
    user_fn: Callback,
    commute: i32,
    op: Out<Handle>,
) -> Result<(), Failure> {
    let form = if call.is_large() {
        // SAFETY: the program vouches for a function of the type in the prototype, and no constant
        // stands for one.
        unsafe { user_fn.function() }.map(Form::Large)
    } else {
        // SAFETY: as above.
        unsafe { user_fn.function() }.map(Form::Int)
    };
    let form = form.ok_or_else(|| Failure::new(MPI_ERR_ARG, "user_fn is a null pointer"))?;
    op.set(object::handle_for(Op::user(form, commute != 0))?);
    Ok(())
}

/// MPI_Op_free. Reductions that are under way have what they need of it.
pub fn op_free(call: &Call, op: InOut<Handle>) -> Result<(), Failure> {
    let handle = op.get();
    call.op("op", handle)?;
    if handle.is_predefined() {
        let text = format!("op is {handle}, which is predefined and cannot be freed");
        return Err(Failure::new(MPI_ERR_OP, text));
    }
    Op::table().remove(handle);
    op.set(MPI_OP_NULL);
    Ok(())
}

/// MPI_Op_commutative.
pub fn op_commutative(_call: &Call, op: &Op, commute: FlagOut) -> Result<(), Failure> {
    commute.set(op.is_commutative());
    Ok(())
}

/// MPI_Reduce_local.
pub fn reduce_local(
    _call: &Call,
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: &Type,
    op: &Op,
) -> Result<(), Failure> {
    for (argument, address) in [("inbuf", inbuf), ("inoutbuf", inoutbuf.cast_const())] {
        if let Some(name) = constant(address.addr()).filter(|_| count > 0) {
            let text = format!(
                "{argument} is {name}, which means nothing here; give the address of elements"
            );
            return Err(Failure::new(MPI_ERR_BUFFER, text));
        }
    }
    let reduction = op.with_datatype(datatype.handle());
    let combiner = reduction.combine_for(datatype)?;
    // SAFETY: the program vouches for the memory during the call.
    let input = unsafe { Buffer::new(inbuf.cast_mut().cast(), count as u64, datatype) }?;
    // SAFETY: as above.
    let inout = unsafe { Buffer::new(inoutbuf.cast(), count as u64, datatype) }?;
    if input.bytes() == 0 {
        return Ok(());
    }
    if let Op::User(function) = op {
        // The elements already lie as the datatype says, which is what the function wants.
        function.call(
            inbuf.cast(),
            inoutbuf.cast(),
            count,
            datatype,
            datatype.handle(),
        );
        return Ok(());
    }
    match (input.contiguous(), inout.contiguous()) {
        (Some(from), Some(into)) => {
            let bytes = input.bytes() as usize;
            apart(from.addr(), into.addr(), bytes)?;
            // SAFETY: the program vouches for both blocks, and they do not overlap.
            let (from, into) = unsafe {
                (
                    std::slice::from_raw_parts(from, bytes),
                    std::slice::from_raw_parts_mut(into, bytes),
                )
            };
            combiner.combine(from, into);
        }
        _ => {
            let mut result = inout.pack()?;
            combiner.combine(&input.pack()?, &mut result);
            inout.unpack(&result);
        }
    }
    Ok(())
}

fn apart(from: usize, into: usize, bytes: usize) -> Result<(), Failure> {
    if from.abs_diff(into) >= bytes {
        return Ok(());
    }
    let text = format!(
        "inbuf and inoutbuf overlap: {bytes} bytes each, and {} bytes between their beginnings",
        from.abs_diff(into)
    );
    Err(Failure::new(MPI_ERR_BUFFER, text))
}
