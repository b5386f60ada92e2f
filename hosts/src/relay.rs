//! Signals that are passed on to a child.
//!
//! The command on the hosts runs in our own process group, where a Ctrl-C of the terminal reaches
//! it; so only what a process sent is passed on.

use std::sync::atomic::{AtomicI32, Ordering};

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
