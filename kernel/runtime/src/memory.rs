//! The allocator, on the shim's. It is asked only when a core is made, in process context: cores
//! allocate nothing later.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn ox_shim_alloc(bytes: u64, align: u64) -> *mut c_void;
    fn ox_shim_dealloc(at: *mut c_void);
}

struct Shim;

// SAFETY: the shim's memory is aligned as asked, belongs to nobody else and stays where it is until
// it is given back.
unsafe impl GlobalAlloc for Shim {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment may be asked for.
        unsafe { ox_shim_alloc(layout.size() as u64, layout.align() as u64).cast() }
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the caller gives back what `alloc` gave.
        unsafe { ox_shim_dealloc(at.cast()) }
    }
}

#[global_allocator]
static ALLOCATOR: Shim = Shim;
