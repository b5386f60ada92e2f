//! Attributes of communicators, datatypes and windows (MPI 5.0 §7.7), and those of communicators
//! that the standard defines (§9.1.2).
//!
//! Keys and sets are `oxmpi_core::attribute`'s; here C functions become callbacks. Predefined
//! attributes are constants, so every communicator has them and nobody can change them; a program
//! gets the address of an int.

use std::ffi::{c_int, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

use oxmpi_core::TAG_MAX;
use oxmpi_core::attribute::{
    Attributes, CopyCallback, DeleteCallback, Keyvals, Kind, always_copied, never_copied,
    nothing_on_delete,
};

use super::error;
use crate::argument::{Callback, FlagOut, InOut, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Type};
use crate::stage;

static COMM_KEYVALS: LazyLock<Keyvals> = LazyLock::new(|| Keyvals::new(Kind::Communicator));
static TYPE_KEYVALS: LazyLock<Keyvals> = LazyLock::new(|| Keyvals::new(Kind::Datatype));
pub(super) static WIN_KEYVALS: LazyLock<Keyvals> = LazyLock::new(|| Keyvals::new(Kind::Window));

/// All types of copy functions: object, key, extra state, value, where the new value goes, whether
/// there is one.
type CopyFunction =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// All types of delete functions: object, key, value, extra state.
type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

// The constants that stand for functions are the same for all kinds.
const _: () = assert!(
    MPI_COMM_NULL_COPY_FN == MPI_TYPE_NULL_COPY_FN
        && MPI_COMM_NULL_COPY_FN == MPI_WIN_NULL_COPY_FN
        && MPI_COMM_NULL_COPY_FN == MPI_NULL_COPY_FN
        && MPI_COMM_DUP_FN == MPI_TYPE_DUP_FN
        && MPI_COMM_DUP_FN == MPI_WIN_DUP_FN
        && MPI_COMM_DUP_FN == MPI_DUP_FN
        && MPI_COMM_NULL_DELETE_FN == MPI_TYPE_NULL_DELETE_FN
        && MPI_COMM_NULL_DELETE_FN == MPI_WIN_NULL_DELETE_FN
        && MPI_COMM_NULL_DELETE_FN == MPI_NULL_DELETE_FN
);

fn copy_callback(function: Callback, extra_state: usize) -> CopyCallback {
    match function.address() {
        MPI_COMM_NULL_COPY_FN => return never_copied(),
        MPI_COMM_DUP_FN => return always_copied(),
        _ => {}
    }
    // SAFETY: all parameters of this kind have this type, and the constants are excluded above.
    let Some(function) = (unsafe { function.function::<CopyFunction>() }) else {
        return never_copied();
    };
    Box::new(move |object, keyval, value| {
        let mut copy: *mut c_void = std::ptr::null_mut();
        let mut flag = 0;
        let (extra, value) = (extra_state as *mut c_void, value as *mut c_void);
        // SAFETY: the program vouches for its function; both places live until it has returned.
        let code = unsafe {
            let place = (&raw mut copy).cast();
            function(
                Handle(object as usize),
                keyval,
                extra,
                value,
                place,
                &mut flag,
            )
        };
        match code {
            MPI_SUCCESS => Ok((flag != 0).then_some(copy.addr())),
            code => Err(code),
        }
    })
}

fn delete_callback(function: Callback, extra_state: usize) -> DeleteCallback {
    if function.address() == MPI_COMM_NULL_DELETE_FN {
        return nothing_on_delete();
    }
    // SAFETY: all parameters of this kind have this type, and the constant is excluded above.
    let Some(function) = (unsafe { function.function::<DeleteFunction>() }) else {
        return nothing_on_delete();
    };
    Box::new(move |object, keyval, value| {
        let (extra, value) = (extra_state as *mut c_void, value as *mut c_void);
        // SAFETY: the program vouches for its function.
        match unsafe { function(Handle(object as usize), keyval, value, extra) } {
            MPI_SUCCESS => Ok(()),
            code => Err(code),
        }
    })
}

fn create(
    keyvals: &Keyvals,
    copy: Callback,
    delete: Callback,
    keyval: &Out<i32>,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    let extra = extra_state.expose_provenance();
    let new = keyvals.create(copy_callback(copy, extra), delete_callback(delete, extra))?;
    keyval.set(new.number());
    Ok(())
}

fn free(keyvals: &Keyvals, keyval: &InOut<i32>) -> Result<(), Failure> {
    keyvals.free(keyval.get())?;
    keyval.set(MPI_KEYVAL_INVALID);
    Ok(())
}

pub(super) fn get(
    keyvals: &Keyvals,
    attributes: &Attributes,
    keyval: i32,
    value: &Out<*mut c_void>,
    flag: &FlagOut,
) -> Result<(), Failure> {
    keyvals.alive(keyval)?;
    let found = attributes.get(keyval);
    flag.set(found.is_some());
    if let Some(found) = found {
        value.set(found as *mut c_void);
    }
    Ok(())
}

/// MPI_Comm_create_keyval.
pub fn comm_create_keyval(
    _call: &Call,
    copy: Callback,
    delete: Callback,
    keyval: Out<i32>,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    create(&COMM_KEYVALS, copy, delete, &keyval, extra_state)
}

/// MPI_Keyval_create, which MPI_Comm_create_keyval has replaced.
pub fn keyval_create(
    call: &Call,
    copy: Callback,
    delete: Callback,
    keyval: Out<i32>,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    comm_create_keyval(call, copy, delete, keyval, extra_state)
}

/// MPI_Comm_free_keyval.
pub fn comm_free_keyval(_call: &Call, keyval: InOut<i32>) -> Result<(), Failure> {
    free(&COMM_KEYVALS, &keyval)
}

/// MPI_Keyval_free, which MPI_Comm_free_keyval has replaced.
pub fn keyval_free(call: &Call, keyval: InOut<i32>) -> Result<(), Failure> {
    comm_free_keyval(call, keyval)
}

/// MPI_Comm_set_attr.
pub fn comm_set_attr(
    _call: &Call,
    comm: &Communicator,
    keyval: i32,
    value: *mut c_void,
) -> Result<(), Failure> {
    check_changeable(keyval)?;
    let key = COMM_KEYVALS.usable(keyval)?;
    let value = value.expose_provenance();
    Ok(comm.attributes().set(comm.handle(), &key, value)?)
}

/// MPI_Attr_put, which MPI_Comm_set_attr has replaced.
pub fn attr_put(
    call: &Call,
    comm: &Communicator,
    keyval: i32,
    value: *mut c_void,
) -> Result<(), Failure> {
    comm_set_attr(call, comm, keyval, value)
}

/// MPI_Comm_get_attr.
pub fn comm_get_attr(
    _call: &Call,
    comm: &Communicator,
    keyval: i32,
    value: Out<*mut c_void>,
    flag: FlagOut,
) -> Result<(), Failure> {
    if let Some(place) = predefined(keyval)? {
        value.set(place.as_ptr().cast());
        flag.set(true);
        return Ok(());
    }
    get(&COMM_KEYVALS, comm.attributes(), keyval, &value, &flag)
}

/// MPI_Attr_get, which MPI_Comm_get_attr has replaced.
pub fn attr_get(
    call: &Call,
    comm: &Communicator,
    keyval: i32,
    value: Out<*mut c_void>,
    flag: FlagOut,
) -> Result<(), Failure> {
    comm_get_attr(call, comm, keyval, value, flag)
}

/// MPI_Comm_delete_attr.
pub fn comm_delete_attr(_call: &Call, comm: &Communicator, keyval: i32) -> Result<(), Failure> {
    check_changeable(keyval)?;
    COMM_KEYVALS.alive(keyval)?;
    Ok(comm.attributes().delete(comm.handle(), keyval)?)
}

/// MPI_Attr_delete, which MPI_Comm_delete_attr has replaced.
pub fn attr_delete(call: &Call, comm: &Communicator, keyval: i32) -> Result<(), Failure> {
    comm_delete_attr(call, comm, keyval)
}

/// MPI_Type_create_keyval.
pub fn type_create_keyval(
    _call: &Call,
    copy: Callback,
    delete: Callback,
    keyval: Out<i32>,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    create(&TYPE_KEYVALS, copy, delete, &keyval, extra_state)
}

/// MPI_Type_free_keyval.
pub fn type_free_keyval(_call: &Call, keyval: InOut<i32>) -> Result<(), Failure> {
    free(&TYPE_KEYVALS, &keyval)
}

/// MPI_Type_set_attr.
pub fn type_set_attr(
    _call: &Call,
    datatype: &Type,
    keyval: i32,
    value: *mut c_void,
) -> Result<(), Failure> {
    let key = TYPE_KEYVALS.usable(keyval)?;
    let (object, value) = (datatype.handle().0 as u64, value.expose_provenance());
    Ok(datatype.attributes.set(object, &key, value)?)
}

/// MPI_Type_get_attr.
pub fn type_get_attr(
    _call: &Call,
    datatype: &Type,
    keyval: i32,
    value: Out<*mut c_void>,
    flag: FlagOut,
) -> Result<(), Failure> {
    get(&TYPE_KEYVALS, &datatype.attributes, keyval, &value, &flag)
}

/// MPI_Type_delete_attr.
pub fn type_delete_attr(_call: &Call, datatype: &Type, keyval: i32) -> Result<(), Failure> {
    TYPE_KEYVALS.alive(keyval)?;
    let object = datatype.handle().0 as u64;
    Ok(datatype.attributes.delete(object, keyval)?)
}

/// MPI_Win_create_keyval.
pub fn win_create_keyval(
    _call: &Call,
    copy: Callback,
    delete: Callback,
    keyval: Out<i32>,
    extra_state: *mut c_void,
) -> Result<(), Failure> {
    create(&WIN_KEYVALS, copy, delete, &keyval, extra_state)
}

/// MPI_Win_free_keyval.
pub fn win_free_keyval(_call: &Call, keyval: InOut<i32>) -> Result<(), Failure> {
    free(&WIN_KEYVALS, &keyval)
}

/// Refuses the keys of predefined attributes, of communicators and of windows.
pub(super) fn check_changeable(keyval: i32) -> Result<(), Failure> {
    let of_comm = (MPI_TAG_UB..=MPI_LASTUSEDCODE).contains(&keyval);
    if !of_comm && !(MPI_WIN_BASE..=MPI_WIN_MODEL).contains(&keyval) {
        return Ok(());
    }
    let text = format!("key {keyval} is of a predefined attribute, which cannot be changed");
    Err(Failure::new(MPI_ERR_KEYVAL, text))
}

/// Where the value of a predefined attribute lies, of which the program gets the address.
fn predefined(keyval: i32) -> Result<Option<&'static AtomicI32>, Failure> {
    static TAG_UPPER_BOUND: AtomicI32 = AtomicI32::new(TAG_MAX);
    // Every process can do what its language calls input and output, and none is a host.
    static IO: AtomicI32 = AtomicI32::new(MPI_ANY_SOURCE);
    static HOST: AtomicI32 = AtomicI32::new(MPI_PROC_NULL);
    // Clocks begin when their process does.
    static WTIME_IS_GLOBAL: AtomicI32 = AtomicI32::new(0);
    static APPNUM: AtomicI32 = AtomicI32::new(0);
    static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);
    static LAST_USED_CODE: AtomicI32 = AtomicI32::new(0);
    Ok(Some(match keyval {
        MPI_TAG_UB => &TAG_UPPER_BOUND,
        MPI_IO => &IO,
        MPI_HOST => &HOST,
        MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
        MPI_APPNUM => {
            APPNUM.store(stage::joined()?.program() as i32, Ordering::Relaxed);
            &APPNUM
        }
        MPI_UNIVERSE_SIZE => {
            UNIVERSE_SIZE.store(stage::joined()?.size() as i32, Ordering::Relaxed);
            &UNIVERSE_SIZE
        }
        MPI_LASTUSEDCODE => {
            LAST_USED_CODE.store(error::last_used_code(), Ordering::Relaxed);
            &LAST_USED_CODE
        }
        _ => return Ok(None),
    }))
}
