//! Signals: what steps inherit, and what ends them with us.
//!
//! A shell that starts us in the background has us ignore SIGINT and SIGQUIT, every process below
//! us would inherit that, and tests that interrupt a job would wait for ever; so the defaults are
//! restored. Steps run in process groups of their own, which a Ctrl-C of the terminal does not
//! reach; so whoever interrupts us ends the steps that are running. The tasks of `hosts` run their
//! command in our own group, where the terminal reaches it: they pass on only what a process sent.

use std::sync::atomic::{AtomicI32, Ordering};

/// Most steps that run at once: two lanes, and room.
const GROUPS_MAX: usize = 8;

/// The process groups of the running steps; 0 where there is none.
static GROUPS: [AtomicI32; GROUPS_MAX] = [const { AtomicI32::new(0) }; GROUPS_MAX];

/// The process that signals are passed on to, or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// The last signal that came before there was such a process, or 0.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// What is passed on.
const RELAYED: [i32; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

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

/// Passes on to a child what another process sends us. What the terminal sends, it sends to the
/// whole group.
pub fn relay(child: u32) {
    relay_later();
    CHILD.store(i32::try_from(child).unwrap_or(0), Ordering::Relaxed);
    let early = EARLY.swap(0, Ordering::Relaxed);
    if early != 0 {
        kill_child(early);
    }
}

/// Keeps what will be passed on until there is a child: the first process of a process namespace
/// would lose it.
pub fn relay_later() {
    for signal in RELAYED {
        // SAFETY: all zeroes is a valid action, to which the handler's form and address are added;
        // `pass_on` only makes calls that are allowed in a handler. Across exec a handler becomes
        // the default action.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            action.sa_sigaction = pass_on as *const () as libc::sighandler_t;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Is impressed by nothing that can be ignored; what we start is not, either.
pub fn ignore() {
    for signal in RELAYED.into_iter().chain([libc::SIGTSTP]) {
        // SAFETY: ignores the signal; no handler is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

extern "C" fn pass_on(signal: i32, information: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid description to a handler of this form.
    let sent_by_process = unsafe { (*information).si_code <= 0 };
    if sent_by_process && !kill_child(signal) {
        EARLY.store(signal, Ordering::Relaxed);
    }
}

/// False when there is no child yet.
fn kill_child(signal: i32) -> bool {
    let child = CHILD.load(Ordering::Relaxed);
    if child <= 1 {
        return false;
    }
    // SAFETY: async-signal-safe, without memory, and for one child.
    unsafe { libc::kill(child, signal) };
    true
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
