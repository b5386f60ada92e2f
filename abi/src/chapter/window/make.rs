//! Windows are made and freed (MPI 5.0 §12.2), and memory is attached to dynamic ones.

use std::ffi::c_void;

use oxmpi_core::WindowError;
use oxmpi_core::window::{self, Flavor};

use super::rank_in;
use crate::argument::{CountOut, InOut, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, Info, Window};

/// MPI_Win_create.
pub fn win_create(
    _call: &Call,
    base: *mut c_void,
    size: i64,
    disp_unit: i64,
    info: Option<&Info>,
    comm: &Communicator,
    win: Out<Handle>,
) -> Result<(), Failure> {
    win.set(MPI_WIN_NULL);
    // SAFETY: the program vouches for the memory until the window is freed.
    let window = unsafe { window::Window::create(comm, base.cast(), size, disp_unit, info)? };
    win.set(Window::new_handle(window)?);
    Ok(())
}

/// A window over memory of its own: its handle, and where this process finds the memory.
fn set_allocated(
    window: window::Window,
    baseptr: &Out<*mut c_void>,
    win: &Out<Handle>,
) -> Result<(), Failure> {
    let base = window.base();
    win.set(Window::new_handle(window)?);
    baseptr.set(base.cast());
    Ok(())
}

/// MPI_Win_allocate.
pub fn win_allocate(
    _call: &Call,
    size: i64,
    disp_unit: i64,
    info: Option<&Info>,
    comm: &Communicator,
    baseptr: Out<*mut c_void>,
    win: Out<Handle>,
) -> Result<(), Failure> {
    win.set(MPI_WIN_NULL);
    let window = window::Window::allocate(comm, size, disp_unit, info)?;
    set_allocated(window, &baseptr, &win)
}

/// MPI_Win_allocate_shared.
pub fn win_allocate_shared(
    _call: &Call,
    size: i64,
    disp_unit: i64,
    info: Option<&Info>,
    comm: &Communicator,
    baseptr: Out<*mut c_void>,
    win: Out<Handle>,
) -> Result<(), Failure> {
    win.set(MPI_WIN_NULL);
    let window = window::Window::allocate_shared(comm, size, disp_unit, info)?;
    set_allocated(window, &baseptr, &win)
}

/// MPI_Win_create_dynamic.
pub fn win_create_dynamic(
    _call: &Call,
    info: Option<&Info>,
    comm: &Communicator,
    win: Out<Handle>,
) -> Result<(), Failure> {
    win.set(MPI_WIN_NULL);
    let window = window::Window::create_dynamic(comm, info)?;
    win.set(Window::new_handle(window)?);
    Ok(())
}

/// MPI_Win_free. Attributes go first, and one that refuses keeps the window, as an open epoch does.
pub fn win_free(call: &Call, win: InOut<Handle>) -> Result<(), Failure> {
    let handle = win.get();
    let window = call.win("win", handle)?;
    window.check_free()?;
    window.delete_attributes()?;
    window.free()?;
    Window::table().remove(handle);
    win.set(MPI_WIN_NULL);
    Ok(())
}

/// MPI_Win_attach.
pub fn win_attach(_call: &Call, win: &Window, base: *mut c_void, size: i64) -> Result<(), Failure> {
    let bytes = u64::try_from(size).map_err(|_| WindowError::Size { bytes: size })?;
    // SAFETY: the program vouches for the memory until it is detached or the window freed.
    unsafe { win.attach(base.cast(), bytes)? };
    Ok(())
}

/// MPI_Win_detach.
pub fn win_detach(_call: &Call, win: &Window, base: *const c_void) -> Result<(), Failure> {
    Ok(win.detach(base.cast())?)
}

/// MPI_Win_shared_query: the memory of a rank, or with MPI_PROC_NULL of the first that has some.
pub fn win_shared_query(
    call: &Call,
    win: &Window,
    rank: i32,
    size: Out<i64>,
    disp_unit: CountOut,
    baseptr: Out<*mut c_void>,
) -> Result<(), Failure> {
    if win.flavor() == Flavor::Dynamic {
        let error = WindowError::Flavor {
            call: call.name(),
            needed: "MPI_Win_allocate_shared, MPI_Win_allocate or MPI_Win_create",
            found: Flavor::Dynamic.call(),
        };
        return Err(error.into());
    }
    let part = win.shared_query(rank_in("rank", rank, win)?)?;
    size.set(part.bytes as i64);
    disp_unit.set(i64::from(part.unit));
    baseptr.set(part.base.cast());
    Ok(())
}
