//! The allocator, on the shim's. It is asked only by `oxk_core_new`, in process context: the core
//! allocates nothing later.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn oxk_shim_alloc(bytes: u64, align: u64) -> *mut c_void;
    fn oxk_shim_dealloc(at: *mut c_void);
}

struct Shim;

// SAFETY: the shim's memory is aligned as asked, belongs to nobody else and stays where it is until
// it is given back.
unsafe impl GlobalAlloc for Shim {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment may be asked for.
        unsafe { oxk_shim_alloc(layout.size() as u64, layout.align() as u64).cast() }
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the caller gives back what `alloc` gave.
        unsafe { oxk_shim_dealloc(at.cast()) }
    }
}

#[global_allocator]
static ALLOCATOR: Shim = Shim;
