//! Processes and peers that want all of something, time included, get their share.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use o2g::{Device, DumpAreaError, DumperError, InitError};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

use super::case;
use crate::ground::{Ground, PATIENCE, Receive};
use crate::packet::CONTEXT;
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{self, Buffer, Child, Ended, Faults, become_nobody};

pub const CASES: &[Case] = &[
    case("flood-of-chosen-keys", chosen_keys),
    case("threads-of-a-user", threads),
    case("memory-of-a-user", memory),
    case("pins-of-a-process-that-ended", orphan),
    case("long-memory-not-pinned", long_memory),
    case("long-put-is-killed", killed_put),
];

/// Messages of a flood.
const FLOOD: u32 = 16_000;

/// Messages whose keys were chosen to share one place in the table, if its hash had no secret: they
/// take about as long as others.
fn chosen_keys(_: &mut Random) -> Outcome {
    let usual = |number: u32| (CONTEXT, number);
    // A factor of 0 makes 0 of every other: the half of the seed that would be known.
    let chosen = |number: u32| (0x243f_6a88_85a3_08d3, number);
    let mut times = [Duration::MAX; 2];
    for _ in 0..3 {
        times[0] = times[0].min(flood(usual)?);
        times[1] = times[1].min(flood(chosen)?);
    }
    let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
    println!(
        "count chosen_keys_take_so_many_hundredths={:.0}",
        ratio * 100.0
    );
    match ratio < 4.0 {
        true => Ok(()),
        false => fail(format!("{:?} instead of {:?}", times[1], times[0])),
    }
}

/// How long the driver takes for messages with these contexts and tags.
fn flood(key: impl Fn(u32) -> (u64, u32)) -> Outcome<Duration> {
    let ground = Ground::with(1, FLOOD + 100, 4 << 20)?;
    let mut stream = Vec::new();
    for number in 0..FLOOD {
        let (context, tag) = key(number);
        let repr = Repr {
            envelope: Envelope {
                context,
                source: 0,
                tag: tag.cast_signed(),
                content: Content::new(0, 0),
            },
            sequence: 0,
            credit: 0,
            kind: Kind::Eager,
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut prefix);
        stream.extend_from_slice(&[0; 4]);
        stream.extend_from_slice(&prefix[..used]);
    }
    let mut peer = ground.peers[0].try_clone()?;
    let start = Instant::now();
    peer.write_all(&stream)?;
    while ground.device.counters()?.unexpected < u64::from(FLOOD) {
        if start.elapsed() > PATIENCE {
            return fail(format!(
                "after {PATIENCE:?}: {:?}",
                ground.device.counters()?
            ));
        }
        std::thread::yield_now();
    }
    Ok(start.elapsed())
}

/// A user who may have so many processes.
const PROCESSES: u64 = 20;

/// The driver's threads count like processes of the user, however many contexts there are; and one
/// who has too many gets more when they have ended.
fn threads(_: &mut Random) -> Outcome {
    let before = threads_of_driver()?;
    fs::set_permissions(o2g::PATH, fs::Permissions::from_mode(0o666))?;
    sys::limit(libc::RLIMIT_NPROC, PROCESSES)?;
    become_nobody()?;
    for _ in 0..3 {
        let mut devices = Vec::new();
        for _ in 0..40 {
            let mut device = Device::open()?;
            match device.init(1, 1) {
                Ok(()) => match device.start_dumper_thread(16) {
                    Ok(()) | Err(DumperError::Threads { .. }) => {}
                    Err(error) => return fail(error.to_string()),
                },
                Err(InitError::Threads) => {}
                Err(error) => return fail(error.to_string()),
            }
            devices.push(device);
        }
        let found = threads_of_driver()? - before;
        if !(8..=PROCESSES).contains(&found) {
            return fail(format!(
                "{found} threads with a limit of {PROCESSES} processes"
            ));
        }
    }
    Ok(())
}

fn threads_of_driver() -> Outcome<u64> {
    let processes = fs::read_dir("/proc")?.flatten();
    let names = processes.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    Ok(names.filter(|name| name.starts_with("o2g/")).count() as u64)
}

/// Dump areas, tables and early bytes of a user's contexts take a quarter of the machine at most,
/// and are had again when they have been given back.
fn memory(_: &mut Random) -> Outcome {
    const AREA_KIB: u64 = 64 << 10;
    let quarter_kib = of_machine("MemTotal:")? / 4;
    fs::set_permissions(o2g::PATH, fs::Permissions::from_mode(0o666))?;
    become_nobody()?;
    let mut devices = Vec::new();
    let refused = loop {
        let mut device = Device::open()?;
        device.init(1, 1)?;
        match device.set_dump_area(AREA_KIB << 10) {
            Ok(()) if devices.len() < 40 => devices.push(device),
            other => break other,
        }
    };
    let found_kib = devices.len() as u64 * AREA_KIB;
    if !(AREA_KIB..=quarter_kib).contains(&found_kib) {
        return fail(format!(
            "{found_kib} KiB, a quarter of the machine is {quarter_kib}"
        ));
    }
    if !matches!(refused, Err(DumpAreaError::Memory { .. })) {
        return fail(format!("ENOMEM was expected: {refused:?}"));
    }
    // Tables count like areas.
    let mut tables = Device::open()?;
    match tables.init(65_536, 65_536) {
        Ok(()) | Err(InitError::Memory { .. }) => {}
        Err(error) => return fail(error.to_string()),
    }
    drop((devices, tables));
    let mut again = Device::open()?;
    again.init(1, 1)?;
    Ok(again.set_dump_area(AREA_KIB << 10)?)
}

/// Who keeps the descriptor of a process that has ended does not keep its pages: they would count
/// as nobody's, and there could be any number of them.
fn orphan(_: &mut Random) -> Outcome {
    let watching = Device::open()?;
    let pages = || {
        watching
            .counters()
            .map(|counters| counters.pages_pinned_all)
    };
    let owner = Child::fork(|| {
        let ready = Ground::new(1).and_then(|mut ground| {
            ground.post(&Receive::new(0, Some(0), Some(1), Buffer::new(1 << 20)))?;
            Child::fork(|| {
                std::thread::sleep(2 * PATIENCE);
                0
            })?;
            Ok(())
        });
        i32::from(ready.is_err())
    })?;
    equal("owner", owner.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    let start = Instant::now();
    while pages()? > 0 {
        if start.elapsed() > PATIENCE / 2 {
            return fail(format!("{} pages of nobody are pinned", pages()?));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    equal("the context", watching.counters()?.contexts_all, 2)
}

/// Long receives that cannot be pinned take no memory of the kernel, no pages before their message
/// comes, and no time.
fn long_memory(_: &mut Random) -> Outcome {
    const LONG: usize = 256 << 20;
    let mut ground = Ground::new(1)?;
    let long = Buffer::untouched_pages(LONG);
    become_nobody()?;
    let mut longest = Duration::ZERO;
    let free = of_machine("MemFree:")?;
    for slot in 0..64 {
        let start = Instant::now();
        ground.post(&Receive::new(slot, Some(0), Some(slot as i32), long))?;
        longest = longest.max(start.elapsed());
    }
    let taken_kib = free.saturating_sub(of_machine("MemFree:")?);
    println!("count long_put_us={}", longest.as_micros());
    println!("count long_puts_take_kib={taken_kib}");
    // What cannot be written is still refused, wherever in the range it is.
    long.part(LONG - 8192, 4096).protect()?;
    let refused = ground.put(&Receive {
        generation: 2,
        ..Receive::new(63, Some(0), Some(63), long)
    });
    if !matches!(refused, Err(o2g::PutError::Memory { .. })) {
        return fail(format!("a page near the end is read only: {refused:?}"));
    }
    if taken_kib > 16 << 10 {
        return fail(format!(
            "64 receives that are not pinned take {taken_kib} KiB"
        ));
    }
    equal(
        "a put takes a moment",
        longest < Duration::from_millis(200),
        true,
    )
}

/// A line of /proc/meminfo.
fn of_machine(name: &str) -> Outcome<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or_else(|| fail(format!("no {name}")), |number| Ok(number.parse()?))
}

/// A request that waits for a page which never comes ends with its process, whether it pins or not.
fn killed_put(_: &mut Random) -> Outcome {
    for pinned in [true, false] {
        let child = Child::fork(|| match put_held(pinned) {
            Err(Trouble::Skip(_)) => 1,
            _ => 2,
        })?;
        std::thread::sleep(Duration::from_millis(300));
        child.kill(libc::SIGKILL);
        match child.wait(PATIENCE)? {
            Some(Ended::Signal(libc::SIGKILL)) => {}
            Some(Ended::Exit(1)) => return Err(Trouble::Skip("no userfaultfd here".into())),
            other => return fail(format!("the process with pinned {pinned}: {other:?}")),
        }
    }
    Ok(())
}

/// Waits for ever.
fn put_held(pinned: bool) -> Outcome {
    let Ok(faults) = Faults::new() else {
        return Err(Trouble::Skip(String::new()));
    };
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::untouched_pages(8 << 20);
    faults.hold(&buffer)?;
    if !pinned {
        become_nobody()?;
    }
    ground.post(&Receive::new(0, None, None, buffer))
}
