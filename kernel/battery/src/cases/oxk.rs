//! oxk.ko: the cases of oxk_test.ko, which run in the kernel, and peers that are processes.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use oxmpi_handshake::{Dialler, JobKey};

use super::case;
use crate::random::Random;
use crate::raw_peer::prove;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{self, Child};
use crate::user_endpoint::UserEndpoint;

/// Names of cases in the kernel; each is tried over loopback.
macro_rules! kernel_cases {
    ($($name:ident),*) => {
        $(fn $name(random: &mut Random) -> Outcome {
            ask(&format!("{} {}", stringify!($name), random.below(1 << 30)))
        })*
        const IN_KERNEL: &[&str] = &[$(stringify!($name)),*];
        pub const CASES: &[Case] = &[
            $(case(concat!("oxk_", stringify!($name)), $name),)*
            case("oxk_all_are_tried", all_are_tried),
            case("oxk_killed", killed),
            case("oxk_namespace", namespace),
            case("oxk_cable", cable),
            case("oxk_user", user),
            case("oxk_strangers", strangers),
            case("oxk_hostile", hostile),
        ];
    };
}

kernel_cases!(
    all_kinds,
    long_messages,
    bounce,
    changed_after,
    order,
    cancel,
    verdicts,
    opening,
    calls,
    outcomes,
    other_key,
    too_big,
    close_first,
    close_second,
    whole_stays
);

pub const FOLDER: &str = "/sys/kernel/debug/oxk_test";
pub const KEY: [u8; 16] = [0x5a; 16];
pub const PORT: u16 = 19_000;

/// Has the module do something; why it could not.
pub fn ask(words: &str) -> Outcome {
    sys::mount_debugfs();
    let mut run = OpenOptions::new()
        .write(true)
        .open(format!("{FOLDER}/run"))?;
    match run.write_all(words.as_bytes()) {
        Ok(()) => Ok(()),
        Err(error) => {
            let mut why = String::new();
            File::open(format!("{FOLDER}/why"))?.read_to_string(&mut why)?;
            fail(format!("{words}: {error}: {why}"))
        }
    }
}

fn all_are_tried(_: &mut Random) -> Outcome {
    sys::mount_debugfs();
    let listed = read_to_string(format!("{FOLDER}/cases"))?;
    for name in listed.lines().filter(|name| *name != "wait_for_ever") {
        equal(name, IN_KERNEL.contains(&name), true)?;
    }
    Ok(())
}

/// A process that waits for a message is killed, and ends.
fn killed(_: &mut Random) -> Outcome {
    let child = Child::fork(|| {
        let _ = ask("wait_for_ever 1");
        0
    })?;
    sys::mount_debugfs();
    let said = || read_to_string(format!("{FOLDER}/why"));
    let begin = Instant::now();
    while said()? != "waits" && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    equal("it waits", child.wait(Duration::ZERO)?.is_none(), true)?;
    child.kill(libc::SIGKILL);
    let ended = child.wait(Duration::from_secs(20))?;
    equal("it has ended", ended.is_some(), true)?;
    equal("it said", said()?, "was killed".to_owned())
}

/// Endpoints of a namespace in which the caller is not, and whose last process ends meanwhile.
fn namespace(random: &mut Random) -> Outcome {
    let child = Child::fork(|| {
        sys::new_network_namespace().expect("root may");
        sys::bring_up_loopback().expect("there is one");
        std::thread::sleep(Duration::from_secs(600));
        0
    })?;
    std::thread::sleep(Duration::from_millis(500));
    let seed = random.below(1 << 30);
    let pid = child.id();
    ask(&format!("all_kinds {seed} {pid}"))?;
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        child.kill(libc::SIGKILL);
        child.wait(Duration::from_secs(20))
    });
    ask(&format!("close_second {seed} {pid}"))?;
    let ended = killer
        .join()
        .map_err(|_| io::Error::other("the killer panicked"))??;
    equal("it has ended", ended.is_some(), true)
}

/// Endpoints of two namespaces with a cable between them, which is taken away in the end.
fn cable(random: &mut Random) -> Outcome {
    let seed = random.below(1 << 30);
    with_cable(|pid| {
        for name in ["all_kinds", "order", "changed_after", "close_first"] {
            ask(&format!("{name} {seed} {pid} 10.88.0.2"))?;
        }
        Ok(())
    })
}

/// Tries something between this namespace, a new one, and that of a process, which has 10.88.0.2 at
/// the other end of the interface `cable`.
pub fn with_cable(tried: impl FnOnce(i32) -> Outcome) -> Outcome {
    sys::new_network_namespace()?;
    sys::bring_up_loopback()?;
    let child = Child::fork(|| {
        sys::new_network_namespace().expect("root may");
        let far = "ip link show veth0 && ip addr add 10.88.0.2/24 dev veth0 &&
                   ip link set veth0 up && touch /tmp/cable";
        assert!(soon(|| shell(far)), "{far}");
        std::thread::sleep(Duration::from_secs(600));
        0
    })?;
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id();
    let near = format!(
        "ip link add cable type veth && ip link set veth0 netns {pid} &&
         ip addr add 10.88.0.1/24 dev cable && ip link set cable up"
    );
    equal("the cable", shell(&near), true)?;
    let is_up = soon(|| std::fs::exists("/tmp/cable").unwrap_or(false));
    equal("the far end of the cable", is_up, true)?;
    let outcome = tried(pid);
    let _ = std::fs::remove_file("/tmp/cable");
    child.kill(libc::SIGKILL);
    child.wait(Duration::from_secs(20))?;
    outcome
}

pub fn shell(script: &str) -> bool {
    let shell = Command::new("sh").args(["-c", script]).output();
    shell.is_ok_and(|output| output.status.success())
}

/// Whether something comes to be within half a minute.
pub fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The key as the module reads it.
pub fn key_digits() -> String {
    KEY.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An endpoint of the module that sends everything back, for as long as this lives.
pub struct Echo;

impl Echo {
    pub fn open() -> Outcome<Echo> {
        ask(&format!("echo {PORT} {}", key_digits()))?;
        Ok(Echo)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = ask("quiet");
    }
}

fn connect() -> io::Result<TcpStream> {
    TcpStream::connect(("127.0.0.1", PORT))
}

/// A connection that has come through the handshake.
fn proven() -> Outcome<TcpStream> {
    prove(connect()?, KEY)
}

fn echoed(peer: &mut UserEndpoint, bits: u64, bytes: usize) -> Outcome {
    let message: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect();
    let receive = peer.receive(bits + 1, bytes)?;
    peer.send(bits, message.clone())?;
    let (status, back) = peer.wait(receive)?;
    equal("error", status.error, 0)?;
    equal("bytes", status.bytes, bytes as u64)?;
    equal("contents", back == message, true)
}

/// A process with the core and the handshake speaks to an endpoint of the kernel.
fn user(_: &mut Random) -> Outcome {
    let _echo = Echo::open()?;
    let mut peer = UserEndpoint::new(proven()?)?;
    for (index, bytes) in [0, 1, 63, 5000, 8193, 100_000, 1 << 20]
        .into_iter()
        .enumerate()
    {
        echoed(&mut peer, 1 << 40 | index as u64, bytes)?;
    }
    Ok(())
}

/// Connections that never prove themselves cost the others nothing.
fn strangers(_: &mut Random) -> Outcome {
    let _echo = Echo::open()?;
    let mut web = connect()?;
    web.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    web.set_read_timeout(Some(Duration::from_secs(5)))?;
    equal(
        "turned away at once",
        web.read(&mut [0; 10]).unwrap_or(0),
        0,
    )?;
    let (_, hello) = Dialler::new(&JobKey::from_bytes([1; 16]), 1, 0, [7; 16]);
    let mut half = connect()?;
    half.write_all(&hello[..20])?;
    let _idle: Vec<TcpStream> = (0..20).map(|_| connect()).collect::<io::Result<_>>()?;
    let mut other = connect()?;
    other.write_all(&hello)?;
    other.write_all(&[9; 32])?;
    let begin = Instant::now();
    let mut peer = UserEndpoint::new(proven()?)?;
    echoed(&mut peer, 5, 3000)?;
    equal("soon", begin.elapsed() < Duration::from_secs(9), true)
}

/// A peer that is proven writes anything; it is lost, and others are served.
fn hostile(random: &mut Random) -> Outcome {
    let _echo = Echo::open()?;
    let mut good = UserEndpoint::new(proven()?)?;
    for round in 0..30 {
        // The place of the one before is vacated by a worker.
        let mut bad = None;
        soon(|| {
            bad = proven().ok();
            bad.is_some()
        });
        let Some(mut bad) = bad else {
            return fail("there is no place for another peer");
        };
        let bytes: Vec<u8> = (0..200).map(|_| random.below(256) as u8).collect();
        // It may be cut off before it has written all.
        let _ = bad.write_all(&bytes);
        if round % 3 == 0 {
            sys::reset_on_close(&bad)?;
        }
        drop(bad);
        echoed(&mut good, 100 + round, 2000)?;
    }
    Ok(())
}
