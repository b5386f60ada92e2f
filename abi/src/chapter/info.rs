//! Info objects (MPI 5.0 §10): handles and C texts around `oxmpi_core::info`. All of it works
//! before initialisation, too.

use std::ffi::{CStr, c_char, c_void};

use crate::argument::{FlagOut, InOut, Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Info, handle_for};
use crate::stage;

/// MPI_Info_create.
pub fn info_create(_call: &Call, info: Out<Handle>) -> Result<(), Failure> {
    info.set(handle_for(Info::new())?);
    Ok(())
}

/// MPI_Info_create_env: as MPI_INFO_ENV, with the arguments that the program gives.
pub fn info_create_env(
    _call: &Call,
    argc: i32,
    argv: *mut c_void,
    info: Out<Handle>,
) -> Result<(), Failure> {
    let mut environment = stage::environment();
    if argc > 0 && !argv.is_null() {
        // SAFETY: the program vouches for `argc` pointers, each null or that of a text.
        let mut texts = unsafe { texts(argv.cast(), argc as usize) }.into_iter();
        environment.command = texts.next();
        environment.argv = Some(texts.collect());
    }
    info.set(handle_for(Info::environment(&environment).duplicate())?);
    Ok(())
}

/// The texts of an array of pointers, up to the first null.
///
/// # Safety
/// There are `count` pointers, each null or that of a text.
unsafe fn texts(array: *const *const c_char, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for index in 0..count {
        // SAFETY: the caller's promise.
        let address = unsafe { *array.add(index) };
        if address.is_null() {
            break;
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(address) };
        texts.push(text.to_string_lossy().into_owned());
    }
    texts
}

/// MPI_Info_dup.
pub fn info_dup(_call: &Call, info: &Info, newinfo: Out<Handle>) -> Result<(), Failure> {
    newinfo.set(handle_for(info.duplicate())?);
    Ok(())
}

/// MPI_Info_free.
pub fn info_free(call: &Call, info: InOut<Handle>) -> Result<(), Failure> {
    let handle = info.get();
    call.info("info", handle)?;
    if handle.is_predefined() {
        let text = format!("info is {handle}, which is predefined and cannot be freed");
        return Err(Failure::new(MPI_ERR_INFO, text));
    }
    Info::table().remove(handle);
    info.set(MPI_INFO_NULL);
    Ok(())
}

/// MPI_Info_set.
pub fn info_set(_call: &Call, info: &Info, key: &CStr, value: &CStr) -> Result<(), Failure> {
    Ok(info.set(key.to_bytes(), value.to_bytes())?)
}

/// MPI_Info_delete.
pub fn info_delete(_call: &Call, info: &Info, key: &CStr) -> Result<(), Failure> {
    Ok(info.remove(key.to_bytes())?)
}

/// MPI_Info_get; longer values are cut.
pub fn info_get(
    _call: &Call,
    info: &Info,
    key: &CStr,
    _valuelen: usize,
    value: TextOut,
    flag: FlagOut,
) -> Result<(), Failure> {
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    if let Some(found) = found {
        value.set(found);
    }
    Ok(())
}

/// MPI_Info_get_string: the length that comes back is the room that the whole value needs.
pub fn info_get_string(
    _call: &Call,
    info: &Info,
    key: &CStr,
    buflen: InOut<i32>,
    value: TextOut,
    flag: FlagOut,
) -> Result<(), Failure> {
    if buflen.get() < 0 {
        let text = format!("buflen is {}, and must not be negative", buflen.get());
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    if let Some(found) = found {
        value.set(&found);
        buflen.set(found.len() as i32 + 1);
    }
    Ok(())
}

/// MPI_Info_get_valuelen.
pub fn info_get_valuelen(
    _call: &Call,
    info: &Info,
    key: &CStr,
    valuelen: Out<i32>,
    flag: FlagOut,
) -> Result<(), Failure> {
    let found = info.get(key.to_bytes())?;
    flag.set(found.is_some());
    if let Some(found) = found {
        valuelen.set(found.len() as i32);
    }
    Ok(())
}

/// MPI_Info_get_nkeys.
pub fn info_get_nkeys(_call: &Call, info: &Info, nkeys: Out<i32>) -> Result<(), Failure> {
    nkeys.set(info.len() as i32);
    Ok(())
}

/// MPI_Info_get_nthkey.
pub fn info_get_nthkey(_call: &Call, info: &Info, n: i32, key: TextOut) -> Result<(), Failure> {
    key.set(info.nth_key(i64::from(n))?);
    Ok(())
}
