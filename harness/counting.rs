//! An allocator that counts what each thread asks for, by itself: the thread that runs the tests
//! allocates at any time. Tests of crates below the launcher use it too, so they include this file
//! instead of depending on the harness.
#![allow(dead_code, reason = "each user calls its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count of how often and how much was asked for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the contract.
// What is not here comes down to these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no count any more.
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread has asked for memory.
pub fn asked() -> usize {
    ASKED.get()
}

/// How many bytes this thread has asked for.
pub fn bytes() -> usize {
    BYTES.get()
}
