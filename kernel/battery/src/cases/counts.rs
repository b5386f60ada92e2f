//! Counts: exact where the work is known, printed where they are of interest; and memory that runs
//! out.

use std::fs;
use std::time::Duration;

use o2g::Put;

use super::case;
use crate::failslab::{FailSlab, MISSING, failing};
use crate::ground::{Ground, PATIENCE, Receive, connection, open};
use crate::packet::{data, eager, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{Buffer, mount_debugfs, mount_groups};

pub const CASES: &[Case] = &[
    case("counters", counters),
    case("counts", counts),
    case("memory-of-a-group", of_group),
    Case {
        name: "out-of-memory",
        time_s: 120,
        run: out_of_memory,
    },
];

/// A known run, counted as docs/o2g.md says.
fn counters(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    let receive = Receive::new(0, Some(0), Some(1), Buffer::new(4096));
    ground.post(&receive)?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 1000)))?;
    ground.wait_done(&receive)?;
    ground.next_packet()?;
    ground.send(1, &eager(1, 1, &pattern(1, 0, 500)))?;
    ground.device.wait(Some(PATIENCE))?;
    let any = Receive::new(1, None, None, Buffer::new(4096));
    equal("put", ground.put(&any)?, Put::Again)?;
    ground.next_packet()?;
    ground.post(&any)?;
    ground.send(1, &request(1, 5, 300, 1))?;
    ground.next_packet()?;
    ground.send(1, &data(any.cookie(), 0, 300, &pattern(1, 0, 300)))?;
    ground.wait_done(&any)?;
    ground.next_packet()?;
    let found = ground.device.counters()?;
    equal("packets", found.packets, 4)?;
    equal("matched", found.matched, 2)?;
    equal("unexpected", found.unexpected, 1)?;
    let placed = found.placed_bytes_softirq + found.placed_bytes_thread;
    equal("placed", placed, 1300)?;
    equal("dumped", found.dumped_bytes, 500)?;
    equal("stops", found.stops, 0)?;
    equal("agains", found.agains, 1)?;
    equal("pages_pinned", found.pages_pinned, 0)?;
    equal("sockets", found.sockets, 2)?;
    equal("sockets_all", found.sockets_all, 2)?;
    equal("contexts_all", found.contexts_all, 1)?;
    equal(
        "reader ran",
        found.runs_softirq + found.runs_thread > 0,
        true,
    )
}

/// What a message costs, in counts. Times in an emulated machine would mean nothing.
fn counts(_: &mut Random) -> Outcome {
    // As many as give each count a digit or two.
    const MESSAGES: u64 = 50;
    for (kind, bytes) in [("short", 1000), ("long", 200_000)] {
        let mut ground = Ground::new(1)?;
        let buffer = Buffer::new(bytes);
        let before = ground.device.counters()?;
        for round in 0..MESSAGES {
            let receive = Receive {
                generation: round as u32 + 1,
                ..Receive::new(0, Some(0), Some(1), buffer)
            };
            ground.post(&receive)?;
            ground.send(0, &eager(0, 1, &pattern(round, 0, bytes)))?;
            ground.wait_done(&receive)?;
            while ground.try_next()?.is_none() {}
        }
        let after = ground.device.counters()?;
        let placed = after.placed_bytes_softirq - before.placed_bytes_softirq;
        let by_thread = after.placed_bytes_thread - before.placed_bytes_thread;
        equal(
            "every byte was copied once",
            placed + by_thread,
            MESSAGES * bytes as u64,
        )?;
        println!("count expected_{kind}_messages={MESSAGES}");
        // One put_entry each; completion and record are loads.
        println!("count expected_{kind}_requests_of_the_process={MESSAGES}");
        println!("count expected_{kind}_bytes_copied_in_softirq={placed}");
        println!("count expected_{kind}_bytes_copied_by_threads={by_thread}");
        println!(
            "count expected_{kind}_runs_in_softirq={}",
            after.runs_softirq
        );
        println!(
            "count expected_{kind}_runs_in_threads={}",
            after.runs_thread
        );
        println!("count expected_{kind}_wakeups={}", after.wakeups);
    }
    let mut ground = Ground::new(1)?;
    for round in 0..MESSAGES {
        ground.send(0, &eager(0, 1, &pattern(round, 0, 1000)))?;
    }
    for _ in 0..MESSAGES {
        ground.next_packet()?;
    }
    let after = ground.device.counters()?;
    println!("count unexpected_messages={MESSAGES}");
    println!(
        "count unexpected_bytes_copied_to_the_dump_area={}",
        after.dumped_bytes
    );
    println!("count unexpected_runs_in_softirq={}", after.runs_softirq);
    println!("count unexpected_wakeups={}", after.wakeups);
    Ok(())
}

const GROUPS: &str = "/sys/fs/cgroup";

/// The dump area is the process's own memory: a group's limit holds for it, and is an error, not
/// the end of anybody.
fn of_group(_: &mut Random) -> Outcome {
    mount_groups();
    let controllers = fs::read_to_string(format!("{GROUPS}/cgroup.controllers"));
    if !controllers.is_ok_and(|found| found.contains("memory")) {
        return Err(Trouble::Skip(
            "no groups with a limit of memory here".into(),
        ));
    }
    fs::write(format!("{GROUPS}/cgroup.subtree_control"), "+memory")?;
    let group = format!("{GROUPS}/battery");
    fs::create_dir_all(&group)?;
    fs::write(format!("{group}/memory.max"), "32M")?;
    let own = std::process::id().to_string();
    fs::write(format!("{group}/cgroup.procs"), &own)?;
    let mut device = o2g::Device::open()?;
    device.init(4, 64)?;
    let refused = device.set_dump_area(256 << 20);
    let smaller = device.set_dump_area(4 << 20);
    let counted = fs::read_to_string(format!("{group}/memory.current"))?;
    fs::write(format!("{GROUPS}/cgroup.procs"), &own)?;
    drop(device);
    if !matches!(refused, Err(o2g::DumpAreaError::Memory { .. })) {
        return fail(format!("256 MiB in a group of 32: {refused:?}"));
    }
    smaller?;
    let counted: u64 = counted.trim().parse()?;
    equal("counted as the group's", counted >= 4 << 20, true)
}

/// So many allocations of a hundred fail while the result lives.
pub fn fail_slab(percent: u32) -> Outcome<FailSlab> {
    mount_debugfs();
    FailSlab::begin(percent)?.ok_or_else(|| Trouble::Skip(MISSING.into()))
}

/// Allocations of this process fail at random: requests may, the kernel must not, and afterwards
/// all is well.
fn out_of_memory(_: &mut Random) -> Outcome {
    let fail_slab = fail_slab(10)?;
    let mut succeeded = 0;
    for _ in 0..300 {
        // The case's own memory is not what is tried.
        let buffer = Buffer::new(100_000);
        let tried = failing(false, || under_failures(buffer))?;
        buffer.unmap();
        succeeded += u32::from(tried.is_ok());
    }
    drop(fail_slab);
    println!("count runs_that_succeeded_under_failslab={succeeded}");
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"well"))?;
    match ground.next_packet()?.payload == b"well" {
        true => Ok(()),
        false => fail("other bytes after failures"),
    }
}

fn under_failures(buffer: Buffer) -> Outcome {
    let device = open(4, 64, 64 << 10)?;
    let (mut peer, ours) = connection()?;
    device.register_socket(std::os::fd::AsFd::as_fd(&ours), 0, &[1, 2, 3])?;
    let receive = Receive::new(0, None, None, buffer);
    crate::ground::put(&device, &receive, 0)?;
    std::io::Write::write_all(&mut peer, &eager(0, 1, &pattern(1, 0, 50_000)))?;
    device.wait(Some(Duration::from_millis(1)))?;
    Ok(())
}
