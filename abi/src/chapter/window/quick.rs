//! The short way of calls on windows: usual arguments, memory that is mapped here, a few
//! nanoseconds.
//!
//! Entry points ask here before they look at anything (`quick` in abi/table). An answer is the
//! outcome of the call; without one nothing has happened, and the call is checked and made as every
//! other. So nothing here knows an error text: whatever is unusual, or wrong, is left alone.
//!
//! What is usual: predefined types and operations, and a program without MPI_THREAD_MULTIPLE. Calls
//! do not overlap then and nothing of the program runs inside these, so the window's handle is
//! looked up without a pin.

use std::ffi::c_void;

use oxmpi_core::window::{self, LockKind, Transfer};
use oxmpi_datatypes::op::Predefined;

use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::Window;
use crate::stage;
use crate::usual::{Elements, basic_of, block_bytes, is_memory, op_of};

/// The outcome of a call; none if it is not one for the short way.
type Outcome = Option<Result<(), Failure>>;

/// The window behind a handle.
///
/// # Safety
/// Nothing of the program may be called while it is used.
#[inline(always)]
unsafe fn window(handle: Handle) -> Option<&'static window::Window> {
    if stage::level_max() == MPI_THREAD_MULTIPLE || !stage::is_inside() {
        return None;
    }
    // SAFETY: below MPI_THREAD_MULTIPLE the program has promised that calls do not overlap; the
    // rest is the caller's promise.
    unsafe { Window::table().peek(handle) }.map(|window| &**window)
}

#[inline(always)]
fn done(done: bool) -> Outcome {
    done.then_some(Ok(()))
}

/// A put or a get between blocks.
///
/// # Safety
/// The program vouches for the memory that its arguments name.
#[inline(always)]
unsafe fn transfer(
    what: Transfer,
    here: *mut c_void,
    origin: Elements,
    (target_rank, target_disp): (i32, i64),
    target: Elements,
    win: Handle,
) -> Outcome {
    let bytes = block_bytes(origin)?;
    if block_bytes(target)? != bytes || !is_memory(here) {
        return None;
    }
    // SAFETY: a copy calls nothing of the program, which vouches for its memory.
    done(unsafe {
        window(win)?.transfer_at_once(what, here.cast(), bytes, target_rank, target_disp)
    })
}

/// MPI_Put.
///
/// # Safety
/// As `transfer`.
#[inline(always)]
pub unsafe fn put(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    win: Handle,
) -> Outcome {
    let origin = (origin_count, origin_datatype);
    let target = (target_count, target_datatype);
    let (here, there) = (origin_addr.cast_mut(), (target_rank, target_disp));
    // SAFETY: the caller's promise.
    unsafe { transfer(Transfer::Put, here, origin, there, target, win) }
}

/// MPI_Get.
///
/// # Safety
/// As `transfer`.
#[inline(always)]
pub unsafe fn get(
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    win: Handle,
) -> Outcome {
    let origin = (origin_count, origin_datatype);
    let target = (target_count, target_datatype);
    let there = (target_rank, target_disp);
    // SAFETY: the caller's promise.
    unsafe { transfer(Transfer::Get, origin_addr, origin, there, target, win) }
}

/// MPI_Accumulate of one element.
///
/// # Safety
/// As `transfer`.
#[inline(always)]
pub unsafe fn accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: Handle,
    op: Handle,
    win: Handle,
) -> Outcome {
    let (basic, op) = (basic_of(target_datatype)?, op_of(op)?);
    let is_one = (origin_count, target_count) == (1, 1) && origin_datatype == target_datatype;
    if !is_one || op == Predefined::NoOp || !is_memory(origin_addr) {
        return None;
    }
    let origin = origin_addr.cast();
    // SAFETY: an instruction calls nothing of the program, which vouches for its memory.
    done(unsafe {
        window(win)?.change_at_once((basic, op), origin, None, target_rank, target_disp)
    })
}

/// MPI_Fetch_and_op.
///
/// # Safety
/// As `transfer`.
#[inline(always)]
pub unsafe fn fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Handle,
    target_rank: i32,
    target_disp: i64,
    op: Handle,
    win: Handle,
) -> Outcome {
    let (basic, op) = (basic_of(datatype)?, op_of(op)?);
    let has_origin = is_memory(origin_addr) || op == Predefined::NoOp;
    if !has_origin || !is_memory(result_addr) {
        return None;
    }
    let (origin, result) = (origin_addr.cast(), Some(result_addr.cast()));
    // SAFETY: an instruction calls nothing of the program, which vouches for its memory.
    done(unsafe {
        window(win)?.change_at_once((basic, op), origin, result, target_rank, target_disp)
    })
}

/// MPI_Compare_and_swap.
///
/// # Safety
/// As `transfer`.
#[inline(always)]
pub unsafe fn compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Handle,
    target_rank: i32,
    target_disp: i64,
    win: Handle,
) -> Outcome {
    let basic = basic_of(datatype)?;
    if !is_memory(origin_addr) || !is_memory(compare_addr) || !is_memory(result_addr) {
        return None;
    }
    let values = (compare_addr.cast(), origin_addr.cast());
    let result = result_addr.cast();
    // SAFETY: an instruction calls nothing of the program, which vouches for its memory.
    done(unsafe { window(win)?.swap_at_once(basic, values, result, target_rank, target_disp) })
}

/// MPI_Win_flush.
///
/// # Safety
/// None is needed; all short ways are called alike.
#[inline(always)]
pub unsafe fn win_flush(rank: i32, win: Handle) -> Outcome {
    // SAFETY: a fence, and perhaps requests that leave, call nothing of the program.
    done(unsafe { window(win)? }.flush_at_once(rank))
}

/// MPI_Win_lock.
///
/// # Safety
/// As [`win_flush`].
#[inline(always)]
pub unsafe fn win_lock(lock_type: i32, rank: i32, assert: i32, win: Handle) -> Outcome {
    let kind = match lock_type {
        MPI_LOCK_SHARED => LockKind::Shared,
        MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
        _ => return None,
    };
    if assert != 0 {
        return None;
    }
    // SAFETY: words of memory are changed; who has to wait pins the window before.
    match unsafe { window(win)? }.lock_at_once(kind, rank) {
        Ok(locked) => done(locked),
        Err(later) => Some(wait_for_lock(later, win)),
    }
}

/// Waits for a lock that is not free. Whatever makes progress meanwhile may call the program.
#[cold]
#[inline(never)]
fn wait_for_lock(later: window::Later, win: Handle) -> Result<(), Failure> {
    let pinned = Window::table().get(win).expect("it was found before");
    Ok(pinned.lock_later(later)?)
}

/// MPI_Win_unlock.
///
/// # Safety
/// As [`win_flush`].
#[inline(always)]
pub unsafe fn win_unlock(rank: i32, win: Handle) -> Outcome {
    // SAFETY: words of memory are changed, and perhaps a process is woken; nothing of the program
    // is called.
    done(unsafe { window(win)? }.unlock_at_once(rank))
}
