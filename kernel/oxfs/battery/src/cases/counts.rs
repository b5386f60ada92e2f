//! What reading and writing cost: counts for each MiB, through the bounce buffer and straight.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::{Case, Outcome, equal, good, pattern};
use crate::tracing;
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
/// Those of bytes that were copied on the client's side.
const COPIES: [&str; 3] = ["oxk_bytes_bounced", "oxk_bytes_copied", "oxk_bytes_placed"];
/// By how much copies of two runs may differ beside their data: 64 requests of 256 bytes.
const SLACK_BYTES: u64 = 16 << 10;

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

/// How often this process has slept.
fn sleeps() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines();
    let line = lines.filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.filter_map(|number| number.trim().parse::<u64>().ok())
        .sum()
}

/// Names and values of what a transfer cost.
type Measured = Vec<(&'static str, u64)>;

/// Counts what a run costs; `server` is the process that serves it, `counters` are those that the
/// client has of its own.
fn measure(
    server: u32,
    counters: impl Fn() -> Measured,
    run: impl FnOnce() -> Outcome<u64>,
) -> Outcome<Measured> {
    let before = counters();
    let traced = tracing::now();
    let (machine_before, slept) = (machine(), sleeps());
    let calls = run()?;
    let (machine_after, slept) = (machine(), sleeps() - slept);
    let after = tracing::now();
    let seen = traced.until(&after, server);
    let own = counters().into_iter().zip(before);
    let mut found: Measured = own
        .map(|((name, after), (_, before))| (name, after - before))
        .collect();
    found.extend([
        ("softirqs", machine_after[0] - machine_before[0]),
        ("switches", machine_after[1] - machine_before[1]),
        ("sleeps", slept),
        ("calls", calls),
        ("traced_in", seen.client_in),
        ("traced_out", seen.client_out),
        ("traced_lent", seen.client_lent),
        ("server_in", seen.server_in),
        ("server_out", seen.server_out),
        ("server_calls", seen.server_calls),
        ("client_wakeups", seen.client_wakeups),
        ("server_wakeups", seen.server_wakeups),
        ("nfs_pages", seen.nfs_pages),
    ]);
    Ok(found)
}

fn oxfs_counters() -> Measured {
    COUNTERS.map(|name| (name, count(name))).to_vec()
}

fn print(way: &str, what: &str, piece: usize, found: &Measured) {
    for (name, value) in found {
        println!(
            "count oxfs/{way}/{what}/{}K/{name}={}",
            piece >> 10,
            value / MIB
        );
    }
}

fn transfer(path: &Path, piece: usize, direct: bool, writing: bool) -> Outcome<u64> {
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

/// Sizes of calls.
const PIECES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
/// What it is called, whether it goes past the page cache, whether it writes.
const ACCESSES: [(&str, bool, bool); 4] = [
    ("buffered-write", false, true),
    ("buffered-read", false, false),
    ("direct-write", true, true),
    ("direct-read", true, false),
];

fn counts() -> Outcome {
    tracing::begin()?;
    let mut copied: [Vec<u64>; 2] = Default::default();
    for (column, way) in ["bounce", "pages"].into_iter().enumerate() {
        let (mut world, root) = World::with_mount(if way == "bounce" { "bounce" } else { "" })?;
        let path = root.join("f");
        for piece in PIECES {
            for (what, direct, writing) in ACCESSES {
                good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
                let run = || transfer(&path, piece, direct, writing);
                let found = measure(world.server_pid(), oxfs_counters, run)?;
                print(way, what, piece, &found);
                let copies = found.iter().filter(|(name, _)| COPIES.contains(name));
                copied[column].push(copies.map(|(_, bytes)| bytes).sum());
                let through = found.iter().find(|(name, _)| *name == "oxk_bytes_bounced");
                // Every byte of data goes through the buffer once on this side, or none does.
                let expected = if way == "bounce" { BYTES as u64 } else { 0 };
                equal(
                    &format!("{way} {what} {piece}: bytes bounced"),
                    through.map(|(_, bytes)| *bytes),
                    Some(expected),
                )?;
            }
        }
        world.unmount_all()?;
    }
    // Without the buffer each byte is copied once less, and nothing else is copied more often.
    let [bounced, straight] = copied;
    for (number, (bounced, straight)) in bounced.into_iter().zip(straight).enumerate() {
        let (piece, what) = (
            PIECES[number / ACCESSES.len()],
            ACCESSES[number % ACCESSES.len()].0,
        );
        let saved = bounced.saturating_sub(straight);
        if saved.abs_diff(BYTES as u64) > SLACK_BYTES {
            return Err(format!(
                "{what} {piece}: {bounced} bytes copied with the buffer and {straight} without, \
                 expected {BYTES} less"
            ));
        }
    }
    Ok(())
}

/// What the kernel's client of NFS says of its one mount: calls of the protocol, and messages.
fn nfs_counters() -> Measured {
    let text = fs::read_to_string("/proc/self/mountstats").unwrap_or_default();
    let words = text.lines().map(|line| {
        let words = line.split_whitespace();
        words.collect::<Vec<_>>()
    });
    let (mut operations, mut sent, mut received) = (0, 0, 0);
    let number = |words: &[&str], at: usize| -> u64 {
        words
            .get(at)
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    };
    for words in words {
        match words.as_slice() {
            // Port, bind count, connections and two times stand before the messages.
            ["xprt:", "tcp", rest @ ..] => {
                sent += number(rest, 5);
                received += number(rest, 6);
            }
            [name, rest @ ..] if name.ends_with(':') && rest.len() >= 8 => {
                let is_operation = name
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || "_:".contains(c));
                operations += if is_operation { number(rest, 0) } else { 0 };
            }
            _ => {}
        }
    }
    vec![
        ("requests", operations),
        ("messages_sent", sent),
        ("messages_received", received),
    ]
}

/// The same transfers on a mount of NFS, whose server is a process.
pub fn count_nfs(folder: &Path, server: u32) -> Outcome {
    tracing::begin()?;
    let path = folder.join("f");
    for piece in PIECES {
        for (what, direct, writing) in ACCESSES {
            good("drop caches", fs::write("/proc/sys/vm/drop_caches", "3"))?;
            let run = || transfer(&path, piece, direct, writing);
            let found = measure(server, nfs_counters, run)?;
            print("nfs", what, piece, &found);
        }
    }
    Ok(())
}
