//! oxk.ko: how things end that do not end by themselves: peers that answer nothing, modules that
//! are unloaded meanwhile, memory that cannot be had; and the example of a client in the kernel.

use std::ffi::{CStr, CString};
use std::fs::{self, File, read_to_string};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use oxmpi_wire::Kind;

use super::counts::fail_slab;
use super::oxk::{Echo, FOLDER, KEY, PORT, ask, key_digits, soon};
use crate::failslab::failing;
use crate::random::Random;
use crate::raw_peer::{RawPeer, offer, prove};
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::stream_device::{self, NAME, accept, connect, listen, pair};
use crate::sys::{self, Child, add_key};
use crate::user_endpoint::UserEndpoint;

pub const CASES: &[Case] = &[
    Case {
        name: "oxk_held",
        time_s: 120,
        run: held,
    },
    Case {
        name: "oxk_example",
        time_s: 60,
        run: example,
    },
    Case {
        name: "oxk_unload",
        time_s: 120,
        run: unload,
    },
    Case {
        name: "oxk_out_of_memory",
        time_s: 120,
        run: out_of_memory,
    },
];

const PLACE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT);

/// What `oxk_test.ko` says.
fn said() -> Outcome<String> {
    sys::mount_debugfs();
    Ok(read_to_string(format!("{FOLDER}/why"))?)
}

fn until_it_says(what: &str) -> Outcome {
    match soon(|| said().is_ok_and(|said| said == what)) {
        true => Ok(()),
        false => fail(format!("{:?} in place of {what:?}", said()?)),
    }
}

/// A request whose peer has it and says nothing more ends after OXK_CANCEL_MS: a receive and a
/// send, of a caller that is killed and of one that gives it up.
fn held(_: &mut Random) -> Outcome {
    for what in ["r", "s", "rg", "sg"] {
        ask("quiet")?;
        let words = format!("held {PORT} {} {what}", key_digits());
        let child = Child::fork(move || i32::from(ask(&words).is_err()))?;
        until_it_says("listens")?;
        let mut peer = RawPeer::dial(PLACE, KEY)?;
        match what.starts_with('r') {
            true => {
                peer.write(5, 50_000, offer(1), &[])?;
                let kind = peer.hear()?.kind;
                equal("asked for", matches!(kind, Kind::ClearToSend { .. }), true)?;
            }
            false => {
                peer.eager(5, b"it is me")?;
                let kind = peer.hear()?.kind;
                equal("offered", matches!(kind, Kind::RequestToSend { .. }), true)?;
            }
        }
        if !what.ends_with('g') {
            std::thread::sleep(Duration::from_millis(500));
            child.kill(libc::SIGKILL);
        }
        let ended = child.wait(Duration::from_secs(60))?;
        equal("it has ended", ended.is_some(), true)?;
        equal(what, said()?, "the peer was lost".to_owned())?;
    }
    Ok(())
}

fn load(name: &str, parameters: &str) -> Result<(), String> {
    let path = format!("/{name}.ko");
    let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
    let parameters = CString::new(parameters).map_err(|error| error.to_string())?;
    match sys::load_module(&file, &parameters) {
        Ok(_) => Ok(()),
        Err(errno) => Err(format!("{path} cannot be loaded: errno {errno}")),
    }
}

fn must_load(name: &str, parameters: &str) -> Outcome {
    load(name, parameters).map_err(Trouble::Fail)
}

/// Unloads a module; whoever uses it has half a minute to let go of it.
fn must_unload(name: &CStr) -> Outcome {
    let start = Instant::now();
    loop {
        match sys::unload_module(name) {
            Ok(_) => return Ok(()),
            Err(libc::EAGAIN | libc::EBUSY) if start.elapsed() < Duration::from_secs(30) => {}
            Err(errno) => return fail(format!("{name:?} cannot be unloaded: errno {errno}")),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `kernel/examples/oxk_hello`, with an endpoint that sends everything back.
fn example(_: &mut Random) -> Outcome {
    let key = add_key("oxk-example", &KEY)?;
    let parameters = format!("peer=127.0.0.1 port={PORT} key={key} text=good_morning");
    // Nobody is there.
    ask("quiet")?;
    let refused = load("oxk_hello", &parameters).err().unwrap_or_default();
    // The send is refused with the connection, or comes after that.
    let ends = [libc::ECONNREFUSED, libc::ENOTCONN].map(|errno| format!("errno {errno}"));
    if !ends.iter().any(|end| refused.ends_with(end)) {
        return fail(format!("with nobody there: {refused:?}"));
    }
    let _echo = Echo::open()?;
    must_load("oxk_hello", &parameters)?;
    let answer = read_to_string("/sys/module/oxk_hello/parameters/answer")?;
    must_unload(c"oxk_hello")?;
    equal("the answer", answer.trim(), "good_morning")
}

/// What uses oxk.ko, in the order in which it is loaded.
const USERS: [(&CStr, &str); 4] = [
    (c"oxk_stream", "oxk_stream"),
    (c"oxk_pm", "oxk_pm"),
    (c"oxk_test", "oxk_test"),
    (c"oxfs", "oxfs"),
];

/// Modules are unloaded while endpoints and streams are open, or have only just been closed.
fn unload(random: &mut Random) -> Outcome {
    if !fs::exists("/oxk.ko")? {
        return Err(Trouble::Skip("/oxk.ko does not exist".to_owned()));
    }
    let outcome = (0..4).try_for_each(|_| unload_once(random));
    // Whatever happened, the other cases need them.
    let _ = load("oxk", "");
    for (_, name) in USERS {
        let _ = load(name, "");
    }
    outcome
}

fn unload_once(random: &mut Random) -> Outcome {
    let used = Err(libc::EAGAIN);
    // An endpoint with a message under way: its module closes it, and the peer is told.
    let echo = Echo::open()?;
    equal("oxk is used", sys::unload_module(c"oxk"), used)?;
    let stream = std::net::TcpStream::connect(PLACE)?;
    let mut peer = UserEndpoint::new(prove(stream, KEY)?)?;
    let time = Duration::from_millis(random.below(30));
    let talker = std::thread::spawn(move || {
        for bits in 0.. {
            let receive = peer.receive(bits + 1, 100_000);
            let sent = peer.send(bits, vec![1; 100_000]);
            let (Ok(receive), Ok(_)) = (receive, sent) else {
                return;
            };
            if peer.wait(receive).is_err() {
                return;
            }
        }
    });
    std::thread::sleep(time);
    must_unload(c"oxk_test")?;
    std::mem::forget(echo);
    talker.join().expect("no panic");
    // Streams: while one is open its module stays.
    let ends = pair()?;
    equal(
        "oxk_stream is used",
        sys::unload_module(c"oxk_stream"),
        used,
    )?;
    drop(ends);
    let child = Child::fork(|| i32::from(streams_for_ever().is_err()))?;
    std::thread::sleep(Duration::from_millis(300 + random.below(300)));
    child.kill(libc::SIGKILL);
    must_unload(c"oxk_stream")?;
    child.wait(Duration::from_secs(20))?;
    must_unload(c"oxk_pm")?;
    must_unload(c"oxfs")?;
    must_unload(c"oxk")?;
    must_load("oxk", "")?;
    for (_, name) in USERS {
        must_load(name, "")?;
    }
    let _echo = Echo::open()?;
    let (mut one, mut two) = pair()?;
    one.write_all(b"again")?;
    let mut found = [0; 5];
    two.read_exact(&mut found)?;
    equal("afterwards", &found, b"again")
}

/// Streams that begin and end, so that a kill comes in the middle of that.
fn streams_for_ever() -> Outcome {
    let key = stream_device::key(NAME)?;
    loop {
        let (listener, place) = listen(key)?;
        let mut streams = Vec::new();
        for _ in 0..3 {
            streams.push(connect(key, place)?);
        }
        let mut accepted = accept(&listener, 0)?;
        streams[0].write_all(&[1; 1000])?;
        // Two are never accepted.
        drop(listener);
        let _ = accepted.read(&mut [0; 100]);
    }
}

/// Endpoints and streams whose allocations fail, in the caller and in the kernel's workers: calls
/// may fail, nothing else may happen.
fn out_of_memory(_: &mut Random) -> Outcome {
    // A stream takes hundreds of allocations: with more, none would come far.
    let fail_slab = fail_slab(1)?;
    let key = stream_device::key(NAME)?;
    let mut worked = [0; 2];
    for (kind, workers) in [false, true].into_iter().enumerate() {
        for _ in 0..30 {
            worked[kind] += u32::from(failing(workers, || one_stream(key))?.is_ok());
        }
    }
    drop(fail_slab);
    println!(
        "count streams_under_failslab={} with_failing_workers={}",
        worked[0], worked[1]
    );
    one_stream(key)?;
    let _echo = Echo::open()?;
    let stream = std::net::TcpStream::connect(PLACE)?;
    let mut peer = UserEndpoint::new(prove(stream, KEY)?)?;
    let receive = peer.receive(6, 100)?;
    peer.send(5, vec![1; 100])?;
    equal("error", peer.wait(receive)?.0.error, 0)
}

fn one_stream(key: i32) -> Outcome {
    let (listener, place) = listen(key)?;
    let mut one = connect(key, place)?;
    let mut two = accept(&listener, 0)?;
    one.write_all(&[1; 5000])?;
    two.read_exact(&mut [0; 5000])?;
    Ok(())
}
