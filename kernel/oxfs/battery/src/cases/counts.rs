//! What reading and writing cost: counts for each MiB, through the bounce buffer and straight.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::{Case, Outcome, equal, good, pattern};
use crate::world::{World, count};

pub const CASES: &[Case] = &[Case {
    name: "counts",
    time_s: 600,
    run: counts,
}];

const BYTES: usize = 1 << 20;
const MIB: u64 = (BYTES >> 20) as u64;
const COUNTERS: [&str; 9] = [
    "requests",
    "oxk_bytes_bounced",
    "oxk_bytes_copied",
    "oxk_bytes_placed",
    "oxk_bytes_lent",
    "pages_pinned",
    "oxk_messages_sent",
    "oxk_messages_received",
    "wakeups",
];

/// Softirqs of the network, both ways, and context switches of the machine.
fn machine() -> [u64; 2] {
    let sum = |text: String, start: &str| -> u64 {
        let lines = text
            .lines()
            .filter(|line| line.trim_start().starts_with(start));
        let numbers = lines.flat_map(|line| line.split_whitespace().skip(1).map(str::parse::<u64>));
        numbers.flatten().sum()
    };
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let network = sum(read("/proc/softirqs"), "NET_RX:") + sum(read("/proc/softirqs"), "NET_TX:");
    [network, sum(read("/proc/stat"), "ctxt")]
}

struct Measured {
    counters: Vec<u64>,
    machine: [u64; 2],
    calls: u64,
}

fn measure(run: impl FnOnce() -> Outcome<u64>) -> Outcome<Measured> {
    let before: Vec<u64> = COUNTERS.iter().map(|name| count(name)).collect();
    let machine_before = machine();
    let calls = run()?;
    let machine_after = machine();
    let counters = COUNTERS
        .iter()
        .zip(before)
        .map(|(name, before)| count(name) - before);
    Ok(Measured {
        counters: counters.collect(),
        machine: [
            machine_after[0] - machine_before[0],
            machine_after[1] - machine_before[1],
        ],
        calls,
    })
}

fn print(way: &str, what: &str, piece: usize, found: &Measured) {
    let kib = piece >> 10;
    for (name, value) in COUNTERS.iter().zip(&found.counters) {
        println!("count oxfs/{way}/{what}/{kib}K/{name}={}", value / MIB);
    }
    let names = ["softirqs", "switches"];
    for (name, value) in names.iter().zip(found.machine) {
        println!("count oxfs/{way}/{what}/{kib}K/{name}={}", value / MIB);
    }
    println!("count oxfs/{way}/{what}/{kib}K/calls={}", found.calls / MIB);
}

fn transfer(path: &std::path::Path, piece: usize, direct: bool, writing: bool) -> Outcome<u64> {
    let mut options = OpenOptions::new();
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let options = options
        .read(true)
        .write(true)
        .create(true)
        .custom_flags(flags);
    let file = good("open", options.open(path))?;
    let mut memory = pattern(4, piece);
    let mut calls = 0;
    for at in (0..BYTES).step_by(piece) {
        match writing {
            true => good("write", file.write_all_at(&memory, at as u64))?,
            false => good("read", file.read_exact_at(&mut memory, at as u64))?,
        }
        calls += 1;
    }
    if writing {
        good("fsync", file.sync_all())?;
        calls += 1;
    }
    Ok(calls)
}

fn counts() -> Outcome {
    let mut bounced = Vec::new();
    for way in ["bounce", "pages"] {
        let (mut world, root) = World::with_mount(if way == "bounce" { "bounce" } else { "" })?;
        let path = root.join("f");
        for piece in [4 << 10, 64 << 10, 1 << 20] {
            for (what, direct, writing) in [
                ("buffered-write", false, true),
                ("buffered-read", false, false),
                ("direct-write", true, true),
                ("direct-read", true, false),
            ] {
                good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
                let found = measure(|| transfer(&path, piece, direct, writing))?;
                print(way, what, piece, &found);
                let through = found.counters[1];
                match way {
                    // Every byte of data goes through the buffer once on this side.
                    "bounce" => bounced.push(through),
                    _ => equal(&format!("{what} {piece}: bytes bounced"), through, 0)?,
                }
                if way == "bounce" {
                    equal(
                        &format!("{what} {piece}: bytes bounced"),
                        through,
                        BYTES as u64,
                    )?;
                }
            }
        }
        world.unmount_all()?;
    }
    equal("measured", bounced.len(), 12)
}
