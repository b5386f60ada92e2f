//! What a window carries besides memory: group, hints, name and attributes (MPI 5.0 §12.2.6,
//! §12.2.7, §7.7.3, §7.8).

use std::ffi::{CStr, c_void};

use crate::argument::{FlagOut, Out, TextOut};
use crate::call::Call;
use crate::chapter::{attribute, group};
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Info, Window, handle_for};

/// MPI_Win_get_group.
pub fn win_get_group(_call: &Call, win: &Window, group: Out<Handle>) -> Result<(), Failure> {
    group.set(group::handle_of(win.group().clone())?);
    Ok(())
}

/// MPI_Win_set_info.
pub fn win_set_info(_call: &Call, win: &Window, info: Option<&Info>) -> Result<(), Failure> {
    info.inspect(|info| win.set_info(info));
    Ok(())
}

/// MPI_Win_get_info.
pub fn win_get_info(_call: &Call, win: &Window, info_used: Out<Handle>) -> Result<(), Failure> {
    info_used.set(handle_for(win.info())?);
    Ok(())
}

/// MPI_Win_set_name.
pub fn win_set_name(_call: &Call, win: &Window, win_name: &CStr) -> Result<(), Failure> {
    win.set_name(win_name.to_bytes());
    Ok(())
}

/// MPI_Win_get_name; the null handle has its own name.
pub fn win_get_name(
    _call: &Call,
    win: Option<&Window>,
    win_name: TextOut,
    resultlen: Out<i32>,
) -> Result<(), Failure> {
    let name = win.map_or_else(|| b"MPI_WIN_NULL".to_vec(), |win| win.name());
    resultlen.set(win_name.set(name));
    Ok(())
}

/// MPI_Win_set_attr.
pub fn win_set_attr(
    _call: &Call,
    win: &Window,
    win_keyval: i32,
    attribute_val: *mut c_void,
) -> Result<(), Failure> {
    attribute::check_changeable(win_keyval)?;
    let key = attribute::WIN_KEYVALS.usable(win_keyval)?;
    let value = attribute_val.expose_provenance();
    Ok(win.attributes().set(win.handle(), &key, value)?)
}

/// MPI_Win_get_attr. The base is the value itself; of numbers the program gets the address.
pub fn win_get_attr(
    _call: &Call,
    win: &Window,
    win_keyval: i32,
    attribute_val: Out<*mut c_void>,
    flag: FlagOut,
) -> Result<(), Failure> {
    let predefined = &win.predefined;
    let place: *const c_void = match win_keyval {
        MPI_WIN_BASE => win.base().cast(),
        MPI_WIN_SIZE => (&raw const predefined.size).cast(),
        MPI_WIN_DISP_UNIT => (&raw const predefined.unit).cast(),
        MPI_WIN_CREATE_FLAVOR => (&raw const predefined.flavor).cast(),
        MPI_WIN_MODEL => (&raw const predefined.model).cast(),
        _ => {
            let (keys, attributes) = (&attribute::WIN_KEYVALS, win.attributes());
            return attribute::get(keys, attributes, win_keyval, &attribute_val, &flag);
        }
    };
    attribute_val.set(place.cast_mut());
    flag.set(true);
    Ok(())
}

/// MPI_Win_delete_attr.
pub fn win_delete_attr(_call: &Call, win: &Window, win_keyval: i32) -> Result<(), Failure> {
    attribute::check_changeable(win_keyval)?;
    attribute::WIN_KEYVALS.alive(win_keyval)?;
    Ok(win.attributes().delete(win.handle(), win_keyval)?)
}
