//! What the kernel itself counts of copies and calls, for each thread, by probes in its functions.
//!
//! A probe is an event of tracefs with a histogram by thread. Counts only grow, so who measures
//! takes a difference. NFS has no counters of its own for this; oxfs is seen by the same probes.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::check::{Outcome, skip};
use crate::sys;

const FOLDER: &str = "/sys/kernel/tracing";

struct Probe {
    /// The event's folder below `events`.
    event: &'static str,
    /// What is written to `kprobe_events`; nothing for an event that the kernel has of its own.
    definition: Option<&'static str>,
    /// The field that is added up; otherwise events are counted.
    value: Option<&'static str>,
    /// The field that names the thread.
    thread: &'static str,
}

/// The thread that does it.
const DOER: &str = "common_pid";

/// In the order of [`Difference`]'s making. One that a kernel cannot have counts nothing.
const PROBES: [Probe; 6] = [
    Probe {
        event: "skb/skb_copy_datagram_iovec",
        definition: None,
        value: Some("len"),
        thread: DOER,
    },
    Probe {
        event: "oxcount/sent",
        definition: Some("r:oxcount/sent tcp_sendmsg_locked bytes=$retval:s32"),
        value: Some("bytes"),
        thread: DOER,
    },
    // Pages of which TCP takes a reference instead of a copy; kernels before 6.5 do it otherwise.
    Probe {
        event: "oxcount/spliced",
        definition: Some("r:oxcount/spliced skb_splice_from_iter bytes=$retval:s64"),
        value: Some("bytes"),
        thread: DOER,
    },
    Probe {
        event: "raw_syscalls/sys_enter",
        definition: None,
        value: None,
        thread: DOER,
    },
    Probe {
        event: "oxcount/page",
        definition: Some("p:oxcount/page nfs_page_create_from_page"),
        value: None,
        thread: DOER,
    },
    // A thread that slept is to run again.
    Probe {
        event: "sched/sched_wakeup",
        definition: None,
        value: None,
        thread: "pid",
    },
];
const RECEIVED: usize = 0;
const SENT: usize = 1;
const SPLICED: usize = 2;
const CALLS: usize = 3;
const PAGES: usize = 4;
const WAKEUPS: usize = 5;

/// Sums by thread.
type Sums = HashMap<u32, u64>;

/// Everything at one moment.
pub struct Traced {
    sums: [Sums; PROBES.len()],
}

/// What happened between two moments, on the side of the program that measures, which is the client,
/// and on the server's.
pub struct Difference {
    /// Bytes that threads of the client's kernel copied out of TCP's buffers.
    pub client_in: u64,
    /// Bytes that they and the program's threads gave TCP to copy.
    pub client_out: u64,
    /// Bytes of which TCP took a reference to their pages instead.
    pub client_lent: u64,
    pub server_in: u64,
    pub server_out: u64,
    pub server_calls: u64,
    /// Threads of the client's kernel and of the program that were woken, and the server's.
    pub client_wakeups: u64,
    pub server_wakeups: u64,
    /// Pages of the program that NFS took for direct transfers.
    pub nfs_pages: u64,
}

fn write(path: &str, text: &str) -> Outcome {
    let path = format!("{FOLDER}/{path}");
    let mut options = fs::OpenOptions::new();
    let file = options.append(true).open(&path);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
        .map_err(|error| format!("{path}: {text:?}: {error}"))
}

/// Sets the probes, if they are not there yet.
pub fn begin() -> Outcome {
    let folder = Path::new(FOLDER);
    if !folder.join("kprobe_events").exists() {
        sys::mount_kind("tracefs", folder, "").map_err(|error| error.to_string())?;
    }
    let first = folder.join("events").join(PROBES[RECEIVED].event);
    if !first.join("hist").exists() {
        return skip("this kernel has no histograms of events");
    }
    for probe in &PROBES {
        let event = folder.join("events").join(probe.event);
        let made = match probe.definition {
            Some(definition) if !event.exists() => write("kprobe_events", definition),
            _ => Ok(()),
        };
        if let Err(why) = made {
            println!("count oxfs/without={} ({why})", probe.event);
            continue;
        }
        let trigger = format!("events/{}/trigger", probe.event);
        let present = fs::read_to_string(folder.join(&trigger)).unwrap_or_default();
        if !present.contains("hist:") {
            let value = probe.value.map(|field| format!(":vals={field}"));
            // What failed is not to be added.
            let only = probe.value.map(|field| format!(" if {field} > 0"));
            let [value, only] = [value, only].map(Option::unwrap_or_default);
            let text = format!("hist:keys={}{value}{only}", probe.thread);
            write(&trigger, &text)?;
        }
    }
    Ok(())
}

pub fn now() -> Traced {
    let sums = PROBES.each_ref().map(|probe| {
        let path = format!("{FOLDER}/events/{}/hist", probe.event);
        let text = fs::read_to_string(path).unwrap_or_default();
        sums(&text, probe.value.unwrap_or("hitcount"))
    });
    Traced { sums }
}

/// Reads lines like `{ common_pid: 7 } hitcount: 3 bytes: 4096`, or `{ pid: 7 }` and so on.
fn sums(text: &str, field: &str) -> Sums {
    let number = |line: &str, name: &str| -> Option<u64> {
        let (_, rest) = line.split_once(&format!("{name}:"))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let pairs = lines.filter_map(|line| Some((number(line, "pid")? as u32, number(line, field)?)));
    pairs.collect()
}

/// Threads of a process.
fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

/// Threads of the kernel have no command line; neither have those that are gone, and what they did
/// is not of interest.
fn is_of_kernel(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty())
}

impl Traced {
    /// From this moment to another; the server is a process.
    pub fn until(&self, later: &Traced, server: u32) -> Difference {
        let difference = |probe: usize, is_counted: &dyn Fn(u32) -> bool| -> u64 {
            let after = later.sums[probe].iter();
            let counted = after.filter(|(pid, _)| is_counted(**pid));
            counted
                .map(|(pid, sum)| sum - self.sums[probe].get(pid).copied().unwrap_or(0))
                .sum()
        };
        let served = threads(server);
        let mine = threads(std::process::id());
        let of_server = |pid: u32| served.contains(&pid);
        let of_client = |pid: u32| is_of_kernel(pid) || mine.contains(&pid);
        let lent = difference(SPLICED, &of_client);
        Difference {
            client_in: difference(RECEIVED, &is_of_kernel),
            client_out: difference(SENT, &of_client).saturating_sub(lent),
            client_lent: lent,
            server_in: difference(RECEIVED, &of_server),
            server_out: difference(SENT, &of_server),
            server_calls: difference(CALLS, &of_server),
            client_wakeups: difference(WAKEUPS, &of_client),
            server_wakeups: difference(WAKEUPS, &of_server),
            nfs_pages: difference(PAGES, &|_| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_read_by_thread() {
        let text = "# event histogram\n\n\
            { common_pid:        293 } hitcount:          2  bytes:       4160\n\
            { common_pid:          7 } hitcount:          1  bytes:         10\n\n\
            Totals:\n    Hits: 3\n";
        assert_eq!(sums(text, "bytes"), Sums::from([(293, 4160), (7, 10)]));
        assert_eq!(sums(text, "hitcount"), Sums::from([(293, 2), (7, 1)]));
        let woken = "{ pid:         12 } hitcount:          5\n";
        assert_eq!(sums(woken, "hitcount"), Sums::from([(12, 5)]));
    }
}
