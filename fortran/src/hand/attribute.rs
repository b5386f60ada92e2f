//! Attributes (MPI 5.0 §7.7, §19.3.7): values that Fortran sets are integers, values that C sets are
//! pointers, and each language reads the other's as the standard says.
//!
//! What Fortran sets lies in a cell of its own, whose address C gets; the cells are known, so
//! Fortran can tell them from pointers of C. The C library calls back with the address of a
//! [`Callbacks`], which has the Fortran procedures.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call;
use crate::c::Handle;
use crate::constant::{MPI_TAG_UB, MPI_UNIVERSE_SIZE, MPI_WIN_BASE, MPI_WIN_MODEL, MPI_WIN_SIZE};
use crate::handle;
use crate::logical;

static CELLS: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn cells() -> MutexGuard<'static, Option<HashSet<usize>>> {
    CELLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new cell with a value; its address is the attribute of C.
fn cell(value: i64) -> *mut c_void {
    let address = Box::into_raw(Box::new(value)).cast::<c_void>();
    cells().get_or_insert_default().insert(address as usize);
    address
}

fn is_cell(address: *mut c_void) -> bool {
    cells()
        .as_ref()
        .is_some_and(|cells| cells.contains(&(address as usize)))
}

/// What Fortran sees of an attribute.
fn value(address: *mut c_void) -> i64 {
    if is_cell(address) {
        // SAFETY: a cell is a boxed i64 until `free_cell`.
        return unsafe { *address.cast::<i64>() };
    }
    address as i64
}

fn free_cell(address: *mut c_void) {
    let was = cells()
        .as_mut()
        .is_some_and(|cells| cells.remove(&(address as usize)));
    if was {
        // SAFETY: `cell` boxed it, and it has just left the set.
        drop(unsafe { Box::from_raw(address.cast::<i64>()) });
    }
}

/// The procedures of a key, and its extra state.
struct Callbacks {
    copy: *const c_void,
    delete: *const c_void,
    extra: i64,
    /// Whether values are default INTEGERs, as with MPI_Keyval_create.
    old: bool,
}

type Copy<T> =
    unsafe extern "C" fn(*mut c_int, *mut c_int, *mut T, *mut T, *mut T, *mut c_int, *mut c_int);
type Delete<T> = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut T, *mut T, *mut c_int);

/// The INTEGER of an object: communicators are 0, datatypes 1, windows 2.
fn integer<const KIND: u8>(object: Handle) -> c_int {
    match KIND {
        0 => handle::comm_out(object),
        1 => handle::datatype_out(object),
        _ => handle::win_out(object),
    }
}

unsafe extern "C" fn copy<const KIND: u8>(
    object: Handle,
    mut keyval: c_int,
    extra_state: *mut c_void,
    from: *mut c_void,
    to: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut object, mut chosen, mut error) = (integer::<KIND>(object), logical::give(false), 0);
    let mut result = 0i64;
    // SAFETY: the extra state is what `create` made; the program gave procedures of this interface.
    unsafe {
        let callbacks = &*extra_state.cast::<Callbacks>();
        let (mut extra, mut old) = (callbacks.extra, value(from));
        let (o, k, c, e) = (&mut object, &mut keyval, &mut chosen, &mut error);
        if callbacks.old {
            let procedure: Copy<c_int> = transmute(callbacks.copy);
            let (mut extra, mut old, mut new) = (extra as c_int, old as c_int, 0);
            procedure(o, k, &mut extra, &mut old, &mut new, c, e);
            result = i64::from(new);
        } else {
            let procedure: Copy<i64> = transmute(callbacks.copy);
            procedure(o, k, &mut extra, &mut old, &mut result, c, e);
        }
        let copied = error == 0 && logical::take(chosen);
        if copied {
            *to.cast::<*mut c_void>() = cell(result);
        }
        *flag = c_int::from(copied);
    }
    error
}

unsafe extern "C" fn delete<const KIND: u8>(
    object: Handle,
    mut keyval: c_int,
    attribute: *mut c_void,
    extra_state: *mut c_void,
) -> c_int {
    let (mut object, mut error) = (integer::<KIND>(object), 0);
    // SAFETY: as in `copy`.
    unsafe {
        let callbacks = &*extra_state.cast::<Callbacks>();
        let (mut extra, mut gone) = (callbacks.extra, value(attribute));
        let (o, k, e) = (&mut object, &mut keyval, &mut error);
        if callbacks.old {
            let procedure: Delete<c_int> = transmute(callbacks.delete);
            let (mut extra, mut gone) = (extra as c_int, gone as c_int);
            procedure(o, k, &mut gone, &mut extra, e);
        } else {
            let procedure: Delete<i64> = transmute(callbacks.delete);
            procedure(o, k, &mut gone, &mut extra, e);
        }
    }
    if error == 0 {
        free_cell(attribute);
    }
    error
}

/// Keys are few and nothing tells when the last attribute of one is gone, so this stays.
fn callbacks(copy: *const c_void, delete: *const c_void, extra: i64, old: bool) -> *mut c_void {
    Box::into_raw(Box::new(Callbacks {
        copy,
        delete,
        extra,
        old,
    }))
    .cast()
}

macro_rules! keys {
    ($($create:ident $kind:literal $c:ident $p:ident;)*) => {$(
        /// Makes a key with Fortran procedures.
        ///
        /// # Safety
        /// The arguments are what the interface says.
        pub unsafe fn $create<const P: bool>(
            copy_fn: *const c_void, delete_fn: *const c_void, keyval: *mut c_int, extra: *mut c_void,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe {
                let state = callbacks(copy_fn, delete_fn, *extra.cast::<i64>(), false);
                let (copy, delete) = (copy::<$kind> as *const c_void, delete::<$kind> as *const c_void);
                call!(P, $c, $p, (copy, delete, keyval, state))
            }
        }
    )*};
}

keys! {
    comm_create_keyval 0 MPI_Comm_create_keyval PMPI_Comm_create_keyval;
    type_create_keyval 1 MPI_Type_create_keyval PMPI_Type_create_keyval;
    win_create_keyval 2 MPI_Win_create_keyval PMPI_Win_create_keyval;
}

/// MPI_KEYVAL_CREATE, whose values are default INTEGERs.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn keyval_create<const P: bool>(
    copy_fn: *const c_void,
    delete_fn: *const c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let state = callbacks(copy_fn, delete_fn, i64::from(*extra.cast::<c_int>()), true);
        let (copy, delete) = (copy::<0> as *const c_void, delete::<0> as *const c_void);
        call!(
            P,
            MPI_Keyval_create,
            PMPI_Keyval_create,
            (copy, delete, keyval, state)
        )
    }
}

/// What Fortran reads of an attribute that C gave: predefined ones are pointers to their values,
/// but the base of a window is the value itself.
unsafe fn read(keyval: c_int, address: *mut c_void) -> i64 {
    // SAFETY: predefined attributes point to integers of these types (MPI 5.0 §12.2.7, §9.1.2).
    unsafe {
        match keyval {
            MPI_WIN_BASE => address as i64,
            MPI_WIN_SIZE => *address.cast::<i64>(),
            MPI_TAG_UB..=MPI_UNIVERSE_SIZE | MPI_WIN_BASE..=MPI_WIN_MODEL => {
                i64::from(*address.cast::<c_int>())
            }
            _ => value(address),
        }
    }
}

macro_rules! attributes {
    ($($get:ident $gc:ident $gp:ident $set:ident $sc:ident $sp:ident $of:ident $value:ty;)*) => {$(
        /// Reads an attribute.
        ///
        /// # Safety
        /// The arguments are what the interface says.
        pub unsafe fn $get<const P: bool>(
            object: *mut c_int, keyval: *const c_int, attribute: *mut c_void, flag: *mut c_int,
        ) -> c_int {
            let (mut address, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
            // SAFETY: the caller's promise.
            unsafe {
                let place = (&raw mut address).cast();
                let code = call!(P, $gc, $gp, (handle::$of(*object), *keyval, place, &mut found));
                if code == 0 {
                    if found != 0 {
                        *attribute.cast::<$value>() = read(*keyval, address) as $value;
                    }
                    *flag = logical::give(found != 0);
                }
                code
            }
        }

        /// Sets an attribute.
        ///
        /// # Safety
        /// The arguments are what the interface says.
        pub unsafe fn $set<const P: bool>(
            object: *mut c_int, keyval: *const c_int, attribute: *mut c_void,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe {
                let address = cell(i64::from(*attribute.cast::<$value>()));
                let code = call!(P, $sc, $sp, (handle::$of(*object), *keyval, address));
                if code != 0 {
                    free_cell(address);
                }
                code
            }
        }
    )*};
}

attributes! {
    comm_get_attr MPI_Comm_get_attr PMPI_Comm_get_attr
        comm_set_attr MPI_Comm_set_attr PMPI_Comm_set_attr comm i64;
    type_get_attr MPI_Type_get_attr PMPI_Type_get_attr
        type_set_attr MPI_Type_set_attr PMPI_Type_set_attr datatype i64;
    win_get_attr MPI_Win_get_attr PMPI_Win_get_attr
        win_set_attr MPI_Win_set_attr PMPI_Win_set_attr win i64;
    attr_get MPI_Attr_get PMPI_Attr_get attr_put MPI_Attr_put PMPI_Attr_put comm c_int;
}
