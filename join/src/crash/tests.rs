//! Processes that really crash: this program, started again, with a socket to read from.

use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use super::*;

#[test]
fn a_datagram_is_read_as_it_was_written() {
    let head = Head {
        kind: kind::STACK,
        rank: 7,
        process: 4711,
        signal: 11,
        address: 0x7fff_0000_1000,
        registers: [1, 2, 3, 4],
    };
    let mut bytes = Vec::new();
    for half in [head.kind, head.rank, head.process, head.signal] {
        bytes.extend(half.to_ne_bytes());
    }
    for word in [head.address].iter().chain(&head.registers) {
        bytes.extend(word.to_ne_bytes());
    }
    assert_eq!(bytes.len(), size_of::<Head>());
    bytes.extend(b"stack");
    assert_eq!(Head::parse(&bytes), Some((head, &b"stack"[..])));
    assert_eq!(Head::parse(&bytes[..20]), None);
}

/// Names the crash that this process is started for.
const HOW: &str = "CRASH_OF_THIS_TEST";

/// A guard against hangs; a crash that is told takes milliseconds.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// What is left of a process.
struct Dead {
    signal: Option<i32>,
    said: Vec<(Head, Vec<u8>)>,
}

impl Dead {
    fn bytes(&self, kind: u32) -> usize {
        let of_kind = self.said.iter().filter(|(head, _)| head.kind == kind);
        of_kind.map(|(_, bytes)| bytes.len()).sum()
    }

    /// Died of `signal` after it had said everything.
    fn check(&self, signal: i32) {
        assert_eq!(self.signal, Some(signal));
        let (first, _) = self.said.first().expect("something was said");
        assert_eq!((first.kind, first.signal), (kind::REGISTERS, signal as u32));
        let end = |(head, bytes): &(Head, Vec<u8>)| head.kind == kind::MAPS && bytes.is_empty();
        assert!(self.bytes(kind::MAPS) > 0);
        assert_eq!(self.said.iter().filter(|said| end(said)).count(), 1);
    }
}

/// Starts this program for a crash, and listens after a pause.
fn crash(how: &str, pause: Duration) -> Dead {
    let (socket, theirs) = UnixDatagram::pair().unwrap();
    let wait = Some(Duration::from_millis(50));
    socket.set_read_timeout(wait).unwrap();
    // SAFETY: a copy that programs inherit, of an open descriptor.
    let inherited = unsafe { libc::dup(theirs.as_raw_fd()) };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::tests::crashes_if_started_for_it"])
        .env(HOW, how)
        .env(oxmpi_settings::CRASH_SOCKET.name, inherited.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // SAFETY: the copy from above, used by nothing else.
    unsafe { libc::close(inherited) };
    let begin = Instant::now();
    thread::sleep(pause);
    let mut said = Vec::new();
    let mut over = false;
    let mut bytes = [0; DATAGRAM_BYTES_MAX];
    loop {
        while let Ok(count) = socket.recv(&mut bytes) {
            let (head, rest) = Head::parse(&bytes[..count]).unwrap();
            said.push((head, rest.to_vec()));
        }
        if over || begin.elapsed() > HANGS_AFTER {
            break;
        }
        // What was sent before the end is read once more.
        over = child.try_wait().unwrap().is_some();
    }
    if !over {
        child.kill().unwrap();
    }
    let signal = ExitStatusExt::signal(&child.wait().unwrap());
    assert!(over, "{how}: the process hangs");
    Dead { signal, said }
}

#[test]
fn crashes_if_started_for_it() {
    let Ok(how) = std::env::var(HOW) else { return };
    let null = black_box(ptr::null_mut::<u8>());
    if how != "abort" {
        // Rust's runtime handles these two itself.
        // SAFETY: no handler is installed, one is taken away.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
    }
    arm(3);
    match how.as_str() {
        "abort" => std::process::abort(),
        // SAFETY: what these do to this process is what it was started for.
        #[cfg(target_arch = "x86_64")]
        "stack" => unsafe {
            std::arch::asm!("mov rsp, -4096", "push rax", options(noreturn));
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        "impossible" => unsafe {
            std::arch::asm!("mov al, [{}]", in(reg) i64::MIN, out("al") _);
        },
        "two" => {
            let second = null as usize;
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                // SAFETY: as above.
                unsafe { (second as *mut u8).write_volatile(1) };
            });
            // More than the socket holds, so that the telling takes until it is read.
            let room = black_box([0u8; 2 * STACK_BYTES_MAX]);
            abort_below(&room);
        }
        other => panic!("an unknown crash: {other}"),
    }
}

#[inline(never)]
fn abort_below(room: &[u8]) {
    black_box(room);
    std::process::abort();
}

/// Rust's runtime gives each thread a small alternate stack.
#[test]
fn a_rust_program_that_aborts_dies_of_that() {
    let dead = crash("abort", Duration::ZERO);
    dead.check(libc::SIGABRT);
    assert_eq!(dead.said[0].0.address, NO_ADDRESS);
    assert!(dead.bytes(kind::STACK) > 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_stack_pointer_that_leads_nowhere_is_no_hang() {
    let dead = crash("stack", Duration::ZERO);
    dead.check(libc::SIGSEGV);
    assert_eq!(dead.bytes(kind::STACK), 0);
}

/// The processor does not say which one it was; the kernel says 0.
#[test]
#[cfg(target_arch = "x86_64")]
fn an_address_that_cannot_exist_is_not_taken_for_null() {
    let dead = crash("impossible", Duration::ZERO);
    dead.check(libc::SIGSEGV);
    assert_eq!(dead.said[0].0.address, NO_ADDRESS);
}

#[test]
fn a_crash_while_another_is_told_changes_nothing() {
    let dead = crash("two", Duration::from_millis(500));
    dead.check(libc::SIGABRT);
    assert!(dead.bytes(kind::STACK) > STACK_BYTES_MAX - PIECE_BYTES);
}
