//! Connections that io_uring reads (`--progress uring`): what the kernel does while nobody calls,
//! memory that is let go, kernels that refuse.

use std::thread;
use std::time::{Duration, Instant};

use oxmpi_net::tcp::{Event, Progress, Tcp, find_ring};
use tcp_pair::{LIMIT, content, pass_over, send};

mod tcp_pair;

/// The longest payload of a packet: more than the kernel takes into the pool in one go.
const BYTES: usize = 1 << 20;
/// Attempts to see a long receive: all of a payload may come through the pool by chance.
const ATTEMPTS: usize = 50;

/// Two processes, of which rank 0 reads by io_uring; `None` where the kernel refuses.
fn job() -> Option<[Tcp; 2]> {
    if let Err(error) = find_ring() {
        pass_over(&error);
        return None;
    }
    Some(tcp_pair::job(Progress::Uring))
}

/// What rank 0 has of a payload.
struct Arriving {
    buffer: Vec<u8>,
    arrived: usize,
    /// Times in a row that it was asked where the payload goes and said so, and nothing was there.
    awaited: usize,
}

impl Arriving {
    /// Takes the next event. True when the kernel has been given the place.
    fn step(&mut self, job: &mut [Tcp; 2]) -> bool {
        let [receiver, sender] = job;
        sender.resume(0);
        match receiver.poll() {
            Some(Event::Packet { .. } | Event::Payload { .. }) => {}
            Some(other) => panic!("{other:?}"),
            None => return false,
        }
        let at_hand = receiver.at_hand();
        if !at_hand.is_empty() {
            let bytes = at_hand.len();
            self.buffer[self.arrived..self.arrived + bytes].copy_from_slice(at_hand);
            self.arrived += bytes;
            receiver.pass(bytes);
            return false;
        }
        let rest = &mut self.buffer[self.arrived..];
        // SAFETY: the buffer outlives the receive: each test ends with all bytes or an end.
        let landed = unsafe { receiver.read_into(rest.as_mut_ptr(), rest.len()) };
        self.arrived += landed;
        self.awaited = if landed > 0 { 0 } else { self.awaited + 1 };
        // The first time the receive that stands is asked to end, the second time it has ended.
        self.awaited == 2
    }

    /// Goes on until the kernel has the place of the rest (true), or everything is here.
    fn begin(job: &mut [Tcp; 2]) -> (Arriving, bool) {
        let mut arriving = Arriving {
            buffer: vec![0; BYTES],
            arrived: 0,
            awaited: 0,
        };
        let begun = Instant::now();
        while arriving.arrived < BYTES {
            if arriving.step(job) {
                return (arriving, true);
            }
            assert!(begun.elapsed() < LIMIT, "{} bytes came", arriving.arrived);
        }
        (arriving, false)
    }
}

/// Once the kernel knows where a long payload goes, the bytes get there although no thread of the
/// process calls anything: this thread only looks at the memory.
#[test]
fn a_long_payload_lands_while_nobody_calls() {
    let payload = content(BYTES);
    for _ in 0..ATTEMPTS {
        let Some(mut job) = job() else { return };
        send(&mut job, &payload);
        let (mut arriving, waits) = Arriving::begin(&mut job);
        if waits {
            let last = &raw const arriving.buffer[BYTES - 1];
            let begun = Instant::now();
            // SAFETY: the byte is one of the buffer, which the kernel writes.
            while unsafe { last.read_volatile() } == 0 {
                std::hint::spin_loop();
                assert!(begun.elapsed() < LIMIT, "nothing lands by itself");
            }
        }
        let begun = Instant::now();
        while arriving.arrived < BYTES {
            arriving.step(&mut job);
            assert!(begun.elapsed() < LIMIT, "{} bytes came", arriving.arrived);
        }
        assert!(arriving.buffer == payload);
        if waits {
            return;
        }
    }
    panic!("no payload of {ATTEMPTS} was received straight to its place");
}

/// A process is expelled in the middle of a long payload: from then on its memory belongs to who
/// gave it.
#[test]
fn memory_is_let_go_with_the_process_that_writes_there() {
    let payload = content(BYTES);
    for _ in 0..ATTEMPTS {
        let Some(mut job) = job() else { return };
        send(&mut job, &payload);
        let (mut arriving, waits) = Arriving::begin(&mut job);
        if !waits {
            continue;
        }
        job[0].expel(1, "a test");
        arriving.buffer.fill(9);
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(1));
            job[1].resume(0);
            job[0].poll();
        }
        assert!(arriving.buffer.iter().all(|byte| *byte == 9));
        return;
    }
    panic!("no payload of {ATTEMPTS} was received straight to its place");
}

/// The device is dropped in the middle of one.
#[test]
fn memory_is_let_go_with_the_device() {
    let payload = content(BYTES);
    for _ in 0..ATTEMPTS {
        let Some(mut job) = job() else { return };
        send(&mut job, &payload);
        let (mut arriving, waits) = Arriving::begin(&mut job);
        if !waits {
            continue;
        }
        drop(job);
        arriving.buffer.fill(9);
        thread::sleep(Duration::from_millis(20));
        assert!(arriving.buffer.iter().all(|byte| *byte == 9));
        return;
    }
    panic!("no payload of {ATTEMPTS} was received straight to its place");
}

/// The thread that made the requests ends: the kernel ends them with it, and another goes on.
#[test]
fn another_thread_goes_on_when_the_one_that_asked_has_ended() {
    let payload = content(BYTES);
    let Some(mut job) = job() else { return };
    send(&mut job, &payload);
    let (mut job, mut arriving) = thread::spawn(move || {
        let (arriving, _) = Arriving::begin(&mut job);
        (job, arriving)
    })
    .join()
    .unwrap();
    let begun = Instant::now();
    while arriving.arrived < BYTES {
        arriving.step(&mut job);
        assert!(begun.elapsed() < LIMIT, "{} bytes came", arriving.arrived);
    }
    assert!(arriving.buffer == payload);
}

/// Has the kernel answer `call` with `error` in this thread, as the sandbox of a container does.
fn forbid(call: libc::c_long, error: i32) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 0, 1, call as u32),
        step(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the filter is a local; it concerns this thread, which ends soon.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &filter), 0);
    }
}

/// What a user is told where io_uring is not for us.
#[test]
fn a_kernel_that_refuses_is_named() {
    let refused = |call, error| {
        let answer = thread::spawn(move || {
            forbid(call, error);
            find_ring()
        });
        answer.join().unwrap().unwrap_err().to_string()
    };
    for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter] {
        let text = refused(call, libc::EPERM);
        assert!(
            text.starts_with("the kernel refuses io_uring to this process: "),
            "{text}"
        );
    }
    let text = refused(libc::SYS_io_uring_setup, libc::ENOSYS);
    assert!(
        text.contains("has no io_uring, or a sandbox hides it"),
        "{text}"
    );
    let text = refused(libc::SYS_io_uring_register, libc::EINVAL);
    assert!(text.contains("Linux 6.0 is needed"), "{text}");
}
