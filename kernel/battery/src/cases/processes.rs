//! Other processes: children, programs that are executed, victims of signals; and the module
//! itself, which cannot be unloaded under them.

use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use o2g::{Device, request as ask};
use oxmpi_wire::o2g::{Counters, DumpArea, Entry, Init, Register};

use super::case;
use crate::ground::{Ground, PATIENCE, Receive, connection};
use crate::packet::{data, eager, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail, left_behind};
use crate::sys::{self, Buffer, Child, Ended, ioctl, ioctl_with};

pub const CASES: &[Case] = &[
    case("descriptor-of-the-parent", of_parent),
    case("descriptor-that-was-passed", passed),
    case("exec", exec),
    case("child-keeps-the-descriptor", child_keeps),
    Case {
        name: "killed-at-any-moment",
        time_s: 180,
        run: killed,
    },
    case("unload-while-open", unload),
];

/// What the battery is called with by [`exec`].
pub const FOREIGN: &str = "--foreign";

/// Tries every request on a descriptor that another process opened; the name of one that was not
/// answered EPERM.
fn not_refused(fd: RawFd) -> Option<&'static str> {
    let eperm = Err(libc::EPERM);
    let answers = [
        ("init", ioctl_with(fd, ask::INIT, &mut Init::default())),
        (
            "register_socket",
            ioctl_with(fd, ask::REGISTER_SOCKET, &mut Register::default()),
        ),
        ("forget_socket", ioctl(fd, ask::FORGET_SOCKET, 0)),
        (
            "set_dump_area",
            ioctl_with(fd, ask::SET_DUMP_AREA, &mut DumpArea::default()),
        ),
        (
            "start_dumper_thread",
            ioctl(fd, ask::START_DUMPER_THREAD, 1),
        ),
        (
            "put_entry",
            ioctl_with(fd, ask::PUT_ENTRY, &mut Entry::default()),
        ),
        ("cancel_entry", ioctl_with(fd, ask::CANCEL_ENTRY, &mut 0u64)),
        ("free_entry", ioctl_with(fd, ask::FREE_ENTRY, &mut 0u64)),
        (
            "counters",
            ioctl_with(fd, ask::COUNTERS, &mut Counters::default()),
        ),
    ];
    let wrong = answers.into_iter().find(|(_, answer)| *answer != eperm);
    wrong.map(|(name, _)| name).or_else(|| {
        let mapped = sys::map_by_number(fd, 4096);
        mapped.then_some("mmap")
    })
}

/// What [`exec`] executes: 0 if everything was refused, a number of its own otherwise.
pub fn foreign(fd: Option<RawFd>) -> ExitCode {
    let Some(fd) = fd else {
        return ExitCode::from(3);
    };
    match not_refused(fd) {
        None => {
            // Messages arrive for the process that was here before.
            std::thread::sleep(Duration::from_millis(300));
            ExitCode::SUCCESS
        }
        Some(name) => {
            eprintln!("{name} was not refused after exec");
            ExitCode::from(4)
        }
    }
}

/// A child has the descriptor, but not the context.
fn of_parent(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let fd = ground.device.as_fd().as_raw_fd();
    let child = Child::fork(|| match not_refused(fd) {
        None => 0,
        Some(name) => {
            eprintln!("{name} was not refused in a child");
            1
        }
    })?;
    equal("child", child.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    // The parent's context has not noticed.
    ground.send(0, &eager(0, 1, b"still there"))?;
    equal(
        "payload",
        ground.next_packet()?.payload,
        b"still there".to_vec(),
    )
}

/// The other way: a child opens, the parent gets the descriptor. It shares no memory with the child
/// either.
fn passed(_: &mut Random) -> Outcome {
    let (left, right) = std::os::unix::net::UnixStream::pair()?;
    let child = Child::fork(|| {
        let Ok(device) = crate::ground::open(2, 4, 64 << 10) else {
            return 1;
        };
        if sys::pass(left.as_raw_fd(), device.as_fd()).is_err() {
            return 2;
        }
        std::thread::sleep(Duration::from_millis(300));
        0
    })?;
    let device = sys::receive_passed(right.as_raw_fd())?;
    if let Some(name) = not_refused(device.as_raw_fd()) {
        return fail(format!(
            "{name} was not refused for a descriptor that was passed"
        ));
    }
    equal("child", child.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    // The one that opened is gone, its context is held by our descriptor: nothing changes.
    match not_refused(device.as_raw_fd()) {
        None => Ok(()),
        Some(name) => fail(format!("{name} was not refused when the owner was gone")),
    }
}

/// A program that is executed with the descriptor open is another process to the driver; messages
/// go on arriving meanwhile.
fn exec(_: &mut Random) -> Outcome {
    let (mut peer, ours) = connection()?;
    let spare = peer.try_clone()?;
    let child = Child::fork(move || {
        let Ok(fd) = get_ready_to_exec(spare, ours) else {
            return 1;
        };
        let _ = Command::new("/proc/self/exe")
            .args([FOREIGN, &fd.to_string()])
            .exec();
        2
    })?;
    let start = Instant::now();
    let mut ended = None;
    peer.set_nonblocking(true)?;
    while ended.is_none() && start.elapsed() < PATIENCE {
        // For the entry, and for nobody; a reset at its end does not matter.
        let _ = std::io::Write::write_all(&mut peer, &eager(0, 1, &pattern(1, 0, 3000)));
        ended = child.wait(Duration::from_millis(5))?;
    }
    equal("what was executed", ended, Some(Ended::Exit(0)))
}

fn get_ready_to_exec(peer: TcpStream, ours: TcpStream) -> Outcome<RawFd> {
    sys::inherit(ours.as_fd())?;
    let mut ground = Ground::over(vec![(peer, ours)], 64, 1 << 20)?;
    sys::inherit(ground.device.as_fd())?;
    for slot in 0..10 {
        let receive = Receive::new(slot, Some(0), Some(1), Buffer::new(3000));
        // Messages come already, so it may be answered EAGAIN.
        ground.put(&receive)?;
    }
    let fd = ground.device.as_fd().as_raw_fd();
    // Until the program is replaced.
    std::mem::forget(ground);
    Ok(fd)
}

/// The context lives as long as somebody has the descriptor; then everything is let go, whoever
/// closes it.
fn child_keeps(_: &mut Random) -> Outcome {
    let (mut peer, ours) = connection()?;
    let spare = peer.try_clone()?;
    let owner = Child::fork(move || {
        let ready = Ground::over(vec![(spare, ours)], 64, 1 << 20).and_then(|mut ground| {
            ground.post(&Receive::new(0, Some(0), Some(1), Buffer::new(9000)))?;
            // It outlives its parent.
            Child::fork(|| {
                std::thread::sleep(Duration::from_millis(400));
                0
            })?;
            Ok(())
        });
        i32::from(ready.is_err())
    })?;
    equal("owner", owner.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    std::io::Write::write_all(&mut peer, &eager(0, 1, &pattern(1, 0, 9000)))?;
    let _ = std::io::Write::write_all(&mut peer, &eager(0, 1, &pattern(1, 0, 9000)));
    left_behind()
}

/// A process that receives on four sockets ends by itself or by a signal, at any moment; the module
/// lets everything go.
fn killed(random: &mut Random) -> Outcome {
    for round in 0..40 {
        let seed = random.next();
        let connections = (0..4).map(|_| connection()).collect::<Outcome<Vec<_>>>()?;
        let mut peers = Vec::new();
        for (peer, _) in &connections {
            peers.push(peer.try_clone()?);
            peers.last().expect("pushed").set_nonblocking(true)?;
        }
        let victim = Child::fork(move || {
            let _ = receive_anything(connections, seed);
            0
        })?;
        let end = Instant::now() + Duration::from_micros(random.below(40_000));
        while Instant::now() < end {
            let at = random.below(4) as u32;
            let bytes = match random.below(4) {
                0 => request(at, 1, 50_000, 1),
                1 => data(
                    1 << 32 | random.below(32),
                    0,
                    50_000,
                    &pattern(1, 0, 20_000),
                ),
                _ => eager(at, 1, &pattern(1, 0, random.below(60_000) as usize)),
            };
            // Half a packet leaves the stream in nonsense, which is as good a moment as any.
            let _ = std::io::Write::write(&mut peers[at as usize], &bytes);
        }
        let signal = [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV][random.below(3) as usize];
        victim.kill(signal);
        if victim.wait(PATIENCE)?.is_none() {
            return fail(format!("round {round}: the process does not end"));
        }
        drop(peers);
        if let Err(Trouble::Fail(why)) = left_behind() {
            return fail(format!("round {round}: {why}"));
        }
    }
    Ok(())
}

/// Puts entries, takes records, and ends by itself at times.
fn receive_anything(connections: Vec<(TcpStream, TcpStream)>, seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let mut ground = Ground::over(connections, 32, 256 << 10)?;
    if random.one_in(3) {
        ground.device.start_dumper_thread(4)?;
    }
    if random.one_in(3) {
        sys::become_nobody()?;
    }
    let buffer = Buffer::new(60_000);
    loop {
        let receive = Receive::new(random.below(32) as u32, None, None, buffer);
        let _ = ground.put(&receive);
        if random.one_in(4) {
            while ground.try_next()?.is_some() {}
        }
        if random.one_in(500) {
            return Ok(());
        }
        if random.one_in(200) {
            // Together with everything that it has.
            std::process::abort();
        }
        if random.one_in(300) {
            let _ = ground.device.forget_socket(random.below(4) as u32);
        }
    }
}

/// The module is in use, by an open file and by a registered socket.
fn unload(_: &mut Random) -> Outcome {
    let refused = |what: &str| match sys::unload_module(c"o2g") {
        Err(libc::EWOULDBLOCK | libc::EBUSY) => Ok(()),
        Err(libc::ENOSYS) => Err(Trouble::Skip("this kernel unloads no modules".into())),
        other => fail(format!("unloading the module {what}: {other:?}")),
    };
    let device = Device::open()?;
    refused("while it is open")?;
    drop(device);
    let mut ground = Ground::new(1)?;
    refused("while it has a socket")?;
    ground.send(0, &eager(0, 1, b"still there"))?;
    equal(
        "payload",
        ground.next_packet()?.payload,
        b"still there".to_vec(),
    )
}
