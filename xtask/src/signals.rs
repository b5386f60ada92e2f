//! Signals: what steps inherit, and what ends them with us.
//!
//! A shell that starts us in the background has us ignore SIGINT and SIGQUIT, every process below
//! us would inherit that, and tests that interrupt a job would wait for ever; so the defaults are
//! restored. Steps run in process groups of their own, which a Ctrl-C of the terminal does not
//! reach; so an interrupt ends the running steps from here. The tasks of `hosts` do otherwise, see
//! the crate of that name.

use std::sync::atomic::{AtomicI32, Ordering};

/// Most steps that run at once: two lanes, and room.
const GROUPS_MAX: usize = 8;

/// The process groups of the running steps; 0 where there is none.
static GROUPS: [AtomicI32; GROUPS_MAX] = [const { AtomicI32::new(0) }; GROUPS_MAX];

/// Restores what a fresh login shell would give, and ties the running step's life to ours.
pub fn prepare() {
    for signal in [libc::SIGQUIT, libc::SIGPIPE, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: restores the default action; no handler is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: `end` only makes calls that are allowed in a handler. Across exec a handler
        // becomes the default action.
        unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) };
    }
}

/// From now on a group is ended with us.
///
/// # Panics
/// When more than [`GROUPS_MAX`] run at once.
pub fn add_group(group: u32) {
    assert!(
        exchange(0, group),
        "more than {GROUPS_MAX} steps run at once"
    );
}

/// A group has ended by itself.
pub fn remove_group(group: u32) {
    exchange(i32::try_from(group).unwrap_or(0), 0);
}

/// Puts a group in the place of another; false when the other has no place.
fn exchange(old: i32, new: u32) -> bool {
    let new = i32::try_from(new).unwrap_or(0);
    let place = |group: &AtomicI32| {
        let done = group.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
        done.is_ok()
    };
    GROUPS.iter().any(place)
}

/// Ends every process of a group.
pub fn kill_group(group: u32) {
    if let Ok(group) = i32::try_from(group)
        && group > 1
    {
        // SAFETY: a system call without memory; the group is that of a child of ours, checked not
        // to be "everybody".
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

extern "C" fn end(signal: i32) {
    for group in &GROUPS {
        let group = group.load(Ordering::Relaxed);
        if group > 1 {
            // SAFETY: kill is async-signal-safe, and the group is that of a child of ours.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(128 + signal) };
}
