//! Signals: what steps inherit, and what ends them with us.
//!
//! A shell that starts us in the background has us ignore SIGINT and SIGQUIT, every process below us would inherit that, and
//! tests that interrupt a job would wait for ever; so the defaults are restored. Steps run in process groups of their own,
//! which a Ctrl-C of the terminal does not reach; so whoever interrupts us ends the step that is running.

use std::sync::atomic::{AtomicI32, Ordering};

/// The process group of the running step, or 0.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// Restores what a fresh login shell would give, and ties the running step's life to ours.
pub fn prepare() {
    for signal in [libc::SIGQUIT, libc::SIGPIPE, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: restores the default action; no handler is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: `end` only makes calls that are allowed in a handler. Across exec a handler becomes the default action.
        unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) };
    }
}

/// Tells which group to end; 0 for none.
pub fn running(group: u32) {
    GROUP.store(i32::try_from(group).unwrap_or(0), Ordering::Relaxed);
}

/// Ends every process of a group.
pub fn kill_group(group: u32) {
    if let Ok(group) = i32::try_from(group)
        && group > 1
    {
        // SAFETY: a system call without memory; the group is that of a child of ours, checked not to be "everybody".
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

extern "C" fn end(signal: i32) {
    let group = GROUP.load(Ordering::Relaxed);
    // SAFETY: kill and _exit are async-signal-safe; a group of 0 or 1 is never ended.
    unsafe {
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(128 + signal);
    }
}
