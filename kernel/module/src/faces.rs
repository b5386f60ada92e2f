//! The functions that `kernel/shim/core.h` declares: each calls one of the core and translates what
//! it answers. What they mean stands there.
//!
//! Safety, for all of them: the shim passes a pointer that `o2g_core_new` gave and that
//! `o2g_core_free` has not got yet, and holds the context's lock, so a reference made here is the
//! only one.

use alloc::boxed::Box;
use core::ffi::c_int;

use oxmpi_o2g_core::{
    ANSWER_BYTES, Area, CancelError, Core, FreeError, OpenError, PutError, Reply, Seed, Step,
};
use oxmpi_wire::o2g::{Counters, Entry};

const ENOENT: c_int = 2;
const EAGAIN: c_int = 11;
const EBUSY: c_int = 16;
const EEXIST: c_int = 17;
const EINVAL: c_int = 22;
const ENOSPC: c_int = 28;

/// `struct o2g_step`.
#[repr(C)]
pub struct RawStep {
    what: u32,
    consumed: u32,
    slot: u32,
    bytes: u32,
    offset: u64,
    cookie: u64,
}

const _: () = assert!(size_of::<RawStep>() == 32);

const DONE: u32 = 0;
const PLACE: u32 = 1;
const STOP: u32 = 2;
const THREAD: u32 = 3;
const BROKEN: u32 = 4;

#[unsafe(no_mangle)]
extern "C" fn o2g_core_bytes(n_socks: u32, n_entries: u32) -> u64 {
    Core::bytes(n_socks, n_entries) + size_of::<Core>() as u64
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_new(n_socks: u32, n_entries: u32, secret: *const u64) -> *mut Core {
    // SAFETY: the shim passes two numbers of its own.
    let secret = unsafe { secret.cast::<[u64; 2]>().read() };
    match Core::with_seed(n_socks, n_entries, Seed::new(secret)) {
        Ok(core) => Box::into_raw(Box::new(core)),
        Err(_) => core::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_free(core: *mut Core) {
    // SAFETY: `o2g_core_new` made it with Box, and nobody else knows it any more.
    drop(unsafe { Box::from_raw(core) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_set_area(
    core: *mut Core,
    control: *mut u8,
    done: *mut u8,
    desks: *mut u8,
    dump: *mut u8,
    bytes: u64,
) -> c_int {
    // SAFETY: as at the top.
    let core = unsafe { &mut *core };
    let (n_entries, n_socks) = (core.n_entries(), core.n_socks());
    // SAFETY: the shim has allocated the four as core.h says, and frees them after the core.
    let area = unsafe { Area::new(control, done, n_entries, desks, n_socks, dump, bytes) };
    match area.and_then(|area| core.set_area(area)) {
        Ok(()) => 0,
        Err(_) => -EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_open_socket(core: *mut Core, rank: u32, desk: u32) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.open_socket(rank, desk) {
        Ok(index) => index as c_int,
        Err(OpenError::Exists { .. }) => -EEXIST,
        Err(OpenError::Full { .. }) => -ENOSPC,
        Err(OpenError::NoArea | OpenError::Desk { .. }) => -EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_find_socket(core: *mut Core, rank: u32) -> c_int {
    // SAFETY: as at the top.
    let found = unsafe { &*core }.find_socket(rank);
    found.map_or(-ENOENT, |index| index as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_close_socket(core: *mut Core, index: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.close_socket(index);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_begin(core: *mut Core, index: u32, softirq: c_int) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.begin(index, softirq != 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_feed(
    core: *mut Core,
    index: u32,
    data: *const u8,
    bytes: u32,
    step: *mut RawStep,
) {
    let data = if bytes == 0 {
        &[]
    } else {
        // SAFETY: the shim has so many bytes of the socket there, which nobody writes: they are the
        // kernel's.
        unsafe { core::slice::from_raw_parts(data, bytes as usize) }
    };
    // SAFETY: as at the top.
    let answer = unsafe { &mut *core }.feed(index, data);
    let mut raw = RawStep {
        what: DONE,
        consumed: answer.consumed as u32,
        slot: 0,
        bytes: 0,
        offset: 0,
        cookie: 0,
    };
    match answer.step {
        Step::Done => {}
        Step::Place {
            slot,
            offset,
            bytes,
        } => {
            raw.what = PLACE;
            raw.slot = slot;
            // SAFETY: as at the top.
            raw.cookie = unsafe { &*core }.placing(index).unwrap_or_default();
            raw.offset = offset;
            raw.bytes = bytes as u32;
        }
        Step::Stop => raw.what = STOP,
        Step::Thread => raw.what = THREAD,
        Step::Broken => raw.what = BROKEN,
    }
    // SAFETY: the shim passes room for a step.
    unsafe { step.write(raw) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_is_placing(core: *mut Core, index: u32, cookie: u64) -> c_int {
    // SAFETY: as at the top.
    (unsafe { &*core }.placing(index) == Some(cookie)).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_placed(core: *mut Core, index: u32, error: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.placed(index, error);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_end(core: *mut Core, index: u32, error: u32) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.end(index, error) {
        true => 0,
        false => -EAGAIN,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_is_stopped(core: *mut Core, index: u32) -> c_int {
    // SAFETY: as at the top.
    unsafe { &*core }.is_stopped(index).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_has_answer(core: *mut Core, index: u32) -> c_int {
    // SAFETY: as at the top.
    unsafe { &*core }.has_answer(index).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_answer(core: *mut Core, index: u32, answer: *mut u8) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.answer(index) {
        Reply::None => -ENOENT,
        Reply::Later => -EAGAIN,
        Reply::Now(bytes) => {
            // SAFETY: the shim passes room for an answer.
            unsafe { answer.cast::<[u8; ANSWER_BYTES]>().write(bytes) };
            0
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_answered(core: *mut Core, index: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.answered(index);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_put(core: *mut Core, entry: *const Entry, pinned: c_int) -> c_int {
    // SAFETY: the shim has copied the entry out of the process's memory.
    let entry = unsafe { entry.read() };
    // SAFETY: as at the top.
    match unsafe { &mut *core }.put(&entry, pinned != 0) {
        Ok(()) => 0,
        Err(PutError::Again) => -EAGAIN,
        Err(PutError::Busy { .. }) => -EBUSY,
        Err(_) => -EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_cancel(core: *mut Core, cookie: u64) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.cancel(cookie) {
        Ok(()) => 0,
        Err(CancelError::Again) => -EAGAIN,
        Err(CancelError::Unknown { .. }) => -ENOENT,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_free_to(core: *mut Core, tail: u64) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.free_to(tail) {
        Ok(may_go_on) => may_go_on.into(),
        Err(FreeError::Tail { .. } | FreeError::NoArea) => -EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_is_readable(core: *mut Core) -> c_int {
    // SAFETY: as at the top.
    unsafe { &mut *core }.is_readable().into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_next_released(core: *mut Core) -> c_int {
    // SAFETY: as at the top.
    let released = unsafe { &mut *core }.next_released();
    released.map_or(-ENOENT, |slot| slot as c_int)
}

/// Leaves alone what the shim counts.
#[unsafe(no_mangle)]
unsafe extern "C" fn o2g_core_count(core: *mut Core, into: *mut Counters) {
    // SAFETY: as at the top.
    let counted = unsafe { &*core }.counters();
    // SAFETY: the shim passes its own counters.
    let into = unsafe { &mut *into };
    *into = Counters {
        wakeups: into.wakeups,
        pages_pinned: into.pages_pinned,
        pages_kept: into.pages_kept,
        pins: into.pins,
        pins_reused: into.pins_reused,
        pages_pinned_all: into.pages_pinned_all,
        sockets_all: into.sockets_all,
        contexts_all: into.contexts_all,
        ..counted
    };
}
