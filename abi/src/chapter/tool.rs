//! The tool information interface (MPI 5.0 §15.3): it can be initialised, and truthfully says that
//! there is nothing to see yet.
//!
//! Functions that take an index, a name or a handle are answered by the table (`answer=`), since no
//! index, name or handle is valid. Sessions of performance variables can be made all the same: tools
//! make one before they ask which variables there are.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The sessions of performance variables that exist.
static SESSIONS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The next session; values below this are left to constants.
static NEXT_SESSION: AtomicUsize = AtomicUsize::new(4096);

fn sessions() -> MutexGuard<'static, BTreeSet<usize>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_session() -> Failure {
    Failure::new(MPI_T_ERR_INVALID_SESSION, "there is no such session")
}

/// MPI_T_pvar_session_create.
pub fn t_pvar_session_create(call: &Call, session: *mut c_void) -> Result<(), Failure> {
    // SAFETY: the header declares a pointer to a session, for which the program vouches.
    let session = unsafe { call.out("session", session.cast::<usize>())? };
    let new = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
    sessions().insert(new);
    session.set(new);
    Ok(())
}

/// MPI_T_pvar_session_free.
pub fn t_pvar_session_free(call: &Call, session: *mut c_void) -> Result<(), Failure> {
    // SAFETY: as above.
    let session = unsafe { call.inout("session", session.cast::<usize>())? };
    if !sessions().remove(&session.get()) {
        return Err(no_session());
    }
    session.set(MPI_T_PVAR_SESSION_NULL.0);
    Ok(())
}

macro_rules! all_handles {
    ($($name:ident)*) => {$(
        /// Acts on all handles of a session, of which there are none; no other handle is valid.
        pub fn $name(_call: &Call, session: *mut c_void, handle: *mut c_void) -> Result<(), Failure> {
            if !sessions().contains(&session.addr()) {
                return Err(no_session());
            }
            match handle.addr() == MPI_T_PVAR_ALL_HANDLES.0 {
                true => Ok(()),
                false => Err(Failure::new(MPI_T_ERR_INVALID_HANDLE, "there is no such handle")),
            }
        }
    )*};
}

all_handles! {
    t_pvar_start t_pvar_stop t_pvar_reset
}
