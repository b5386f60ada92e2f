//! The asymmetric fence: who goes to sleep pays for everybody.
//!
//! A sender publishes a slot and then looks whether the ring is hot. On x86 and elsewhere that
//! store and that load may pass each other, and a fence between them would cost every message a
//! cache transfer. Instead the receiver, before it trusts that a ring it has just called cold is
//! empty, makes the kernel run a full barrier on every CPU that runs a registered process
//! (membarrier(2), "global expedited"). Where the kernel refuses, senders fence for themselves.

const CMD_GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const CMD_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: no pointers are passed; the call has no effect but the barrier.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers this process as one that others may fence. False where the kernel or a sandbox
/// refuses.
pub fn register() -> bool {
    membarrier(CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// Fences every running thread of every registered process.
pub fn fence_everybody() -> bool {
    membarrier(CMD_GLOBAL_EXPEDITED)
}
