//! Things that live as long as a request: copies of sections, lists of datatypes.
//!
//! They are found by the request's INTEGER and end when a procedure of this library sees the
//! request become MPI_REQUEST_NULL. A request that C code completes leaves its entry behind until
//! the same INTEGER is given out again.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Kept = HashMap<c_int, Vec<Box<dyn Any + Send>>>;

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
/// How many requests have something; most programs never look further.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn lock() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a thing until the request is over; it is dropped then.
pub fn keep(request: c_int, thing: Box<dyn Any + Send>) {
    let mut kept = lock();
    let kept = kept.get_or_insert_default();
    kept.entry(request).or_default().push(thing);
    COUNT.store(kept.len(), Ordering::Release);
}

/// Forgets what an earlier request of this number has left.
pub fn renew(request: c_int) {
    release(request);
}

/// The request is over.
#[inline(always)]
pub fn release(request: c_int) {
    if COUNT.load(Ordering::Acquire) != 0 {
        end(request);
    }
}

/// Whether something is kept for a request.
#[inline(always)]
pub fn has(request: c_int) -> bool {
    COUNT.load(Ordering::Acquire) != 0
        && lock()
            .as_ref()
            .is_some_and(|kept| kept.contains_key(&request))
}

/// Nobody will see the request's end: what its operation may still use stays for ever.
pub fn give_up(request: c_int) {
    std::mem::forget(taken(request));
}

#[cold]
fn end(request: c_int) {
    // What is dropped here may copy much, so the lock is free by now.
    drop(taken(request));
}

fn taken(request: c_int) -> Option<Vec<Box<dyn Any + Send>>> {
    let mut kept = lock();
    let all = kept.as_mut()?;
    let ended = all.remove(&request);
    COUNT.store(all.len(), Ordering::Release);
    ended
}
