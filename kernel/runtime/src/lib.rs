//! What the Rust half of every module needs to run in a kernel. A module's crate names this one and
//! calls nothing of it.
//!
//! `memory.rs` is the allocator, on `memory.c`; this file ends panics. A panic is a bug of ours: its
//! text goes to the kernel's log, and `ud2` makes an oops of it, with file, line and a right stack.
#![no_std]

mod memory;

use core::fmt::{self, Write};

/// Longest text of a panic; the rest is cut. The kernel's stack is 16 KiB.
const TEXT_BYTES: usize = 256;

unsafe extern "C" {
    fn ox_shim_print(text: *const u8, bytes: u64);
}

/// Collects a text on the stack.
struct Text {
    bytes: [u8; TEXT_BYTES],
    used: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.bytes[self.used..];
        let bytes = text.len().min(rest.len());
        rest[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.used += bytes;
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let mut text = Text {
        bytes: [0; TEXT_BYTES],
        used: 0,
    };
    // A text that is cut is better than none.
    let _ = write!(text, "{info}");
    // SAFETY: the shim reads so many bytes and keeps nothing; then the kernel's own handler takes
    // over, which does not return here.
    unsafe {
        ox_shim_print(text.bytes.as_ptr(), text.used as u64);
        core::arch::asm!("ud2", options(noreturn))
    }
}
