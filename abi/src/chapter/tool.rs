//! The tool information interface (MPI 5.0 §15.3): it can be initialised, and truthfully says that
//! there is nothing to see yet.
//!
//! Functions that take an index, a name or a handle are answered by the table (`answer=`), since no
//! index, name or handle is valid.

use std::sync::atomic::Ordering;

use crate::argument::Out;
use crate::call::{Call, TOOLS};
use crate::constant::*;
use crate::failure::Failure;

/// MPI_T_init_thread: may be called often; every call needs its MPI_T_finalize.
pub fn t_init_thread(_call: &Call, required: i32, provided: Out<i32>) -> Result<(), Failure> {
    let levels = [
        MPI_THREAD_SINGLE,
        MPI_THREAD_FUNNELED,
        MPI_THREAD_SERIALIZED,
        MPI_THREAD_MULTIPLE,
    ];
    if !levels.contains(&required) {
        return Err(Failure::new(
            MPI_T_ERR_INVALID,
            format!("required is {required}, which is no thread level"),
        ));
    }
    TOOLS.fetch_add(1, Ordering::AcqRel);
    provided.set(MPI_THREAD_MULTIPLE);
    Ok(())
}

/// MPI_T_finalize.
pub fn t_finalize(_call: &Call) -> Result<(), Failure> {
    TOOLS.fetch_sub(1, Ordering::AcqRel);
    Ok(())
}

macro_rules! none {
    ($($name:ident)*) => {$(
        /// How many there are: none.
        pub fn $name(_call: &Call, number: Out<i32>) -> Result<(), Failure> {
            number.set(0);
            Ok(())
        }
    )*};
}

none! {
    t_cvar_get_num t_pvar_get_num t_category_get_num t_event_get_num t_source_get_num t_category_changed
}
