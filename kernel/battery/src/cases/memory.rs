//! Memory of every kind: pinned, not to be pinned, taken away, moved, shared with a child.

use std::fs::OpenOptions;

use o2g::PutError;
use oxmpi_wire::o2g::{DONE, MATCHED};

use super::case;
use crate::ground::{Ground, PATIENCE, Receive};
use crate::packet::{eager, pattern, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{Buffer, Child, Ended, Faults, become_nobody};

pub const CASES: &[Case] = &[
    case("pages-are-counted", counted),
    case("pages-not-touched-before", untouched),
    case("memory-beyond-the-limit", beyond_limit),
    case("memory-of-a-file", of_file),
    case("memory-read-only", read_only),
    case("memory-wild", wild),
    case("memory-unmapped", unmapped),
    case("memory-unmapped-beyond-the-limit", unmapped_beyond_limit),
    case("memory-moved", moved),
    case("memory-shared-by-entries", shared),
    case("memory-that-never-comes", never_comes),
    case("fork-while-receiving", fork_beside),
];

/// Pins are counted exactly, and let go when an entry is over for any reason.
fn counted(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(16 * 4096);
    let mut expected = 0;
    // Offset, length and the pages that it touches.
    let trials = [
        (0, 1, 1),
        (4095, 1, 1),
        (4095, 2, 2),
        (1, 8192, 3),
        (0, 65536, 16),
    ];
    for (slot, (from, bytes, pages)) in trials.into_iter().enumerate() {
        let part = memory.part(from, bytes);
        ground.post(&Receive::new(slot as u32, Some(0), Some(slot as i32), part))?;
        expected += pages;
        equal(
            "pages pinned",
            ground.device.counters()?.pages_pinned,
            expected,
        )?;
    }
    for (slot, (_, bytes, pages)) in trials.into_iter().enumerate() {
        let receive = Receive::new(slot as u32, None, None, memory);
        if slot % 2 == 0 {
            ground.send(0, &eager(0, slot as i32, &pattern(1, 0, bytes)))?;
            ground.wait_done(&receive)?;
        } else {
            ground.device.cancel_entry(receive.cookie())?;
        }
        expected -= pages;
        equal(
            "pages left",
            ground.device.counters()?.pages_pinned,
            expected,
        )?;
    }
    Ok(())
}

/// Memory without pages gets them when it is put, not when a message comes.
fn untouched(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::untouched_pages(50_000);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 50_000)))?;
    ground.wait_done(&receive)?;
    equal("bytes", buffer.copy() == pattern(1, 0, 50_000), true)
}

/// A process that may lock nothing receives all the same: a dumper thread writes its memory.
fn beyond_limit(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    ground.device.start_dumper_thread(2)?;
    become_nobody()?;
    for (slot, bytes) in [1, 5000, 300_000, 1 << 20].into_iter().enumerate() {
        let memory = Buffer::untouched_pages(bytes + 100);
        let receive = Receive::new(slot as u32, Some(0), Some(1), memory.part(7, bytes));
        ground.post(&receive)?;
        equal("pages pinned", ground.device.counters()?.pages_pinned, 0)?;
        let payload = pattern(slot as u64, 0, bytes);
        ground.send(0, &eager(0, 1, &payload))?;
        let done = ground.wait_done(&receive)?;
        equal("error", done.error, 0)?;
        equal("bytes", memory.part(7, bytes).copy() == payload, true)?;
        equal("placed", ground.next_packet()?.placed, bytes as u64)?;
    }
    let counters = ground.device.counters()?;
    equal("copied in softirqs", counters.placed_bytes_softirq, 0)?;
    let all = 1 + 5000 + 300_000 + (1 << 20);
    equal("copied by threads", counters.placed_bytes_thread, all)
}

/// Pages of a file, which the kernel may refuse to pin: received either way, and in the file
/// afterwards.
fn of_file(_: &mut Random) -> Outcome {
    let path = "/tmp/o2g-battery";
    // An initramfs has nothing until it is made.
    std::fs::create_dir_all("/tmp")?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::of_file(&file, 200_000)?;
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 200_000)))?;
    equal("error", ground.wait_done(&receive)?.error, 0)?;
    equal("bytes", buffer.copy() == pattern(1, 0, 200_000), true)?;
    let found = std::fs::read(path)?;
    std::fs::remove_file(path)?;
    equal("the file", found == pattern(1, 0, 200_000), true)
}

fn refused(ground: &mut Ground, what: &str, buffer: Buffer) -> Outcome {
    match ground.put(&Receive::new(0, Some(0), Some(1), buffer)) {
        Err(PutError::Memory { .. } | PutError::Invalid { .. }) => {
            equal("pages pinned", ground.device.counters()?.pages_pinned, 0)
        }
        other => fail(format!("{what}: EFAULT or EINVAL was expected: {other:?}")),
    }
}

fn read_only(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    refused(
        &mut ground,
        "memory to be read only",
        Buffer::read_only(8192)?,
    )?;
    refused(
        &mut ground,
        "memory without access",
        Buffer::no_access(8192)?,
    )?;
    // The second page cannot be written.
    let memory = Buffer::new(8192);
    memory.part(4096, 4096).protect()?;
    refused(&mut ground, "half of it read only", memory)?;
    become_nobody()?;
    refused(&mut ground, "half of it read only, no locking", memory)?;
    ground.send(0, &eager(0, 1, &[1; 8192]))?;
    equal("nobody's", ground.next_packet()?.entry, None)
}

/// Addresses that are nobody's, the kernel's, or overflow.
fn wild(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let end = 1 << 47;
    let kernel = 0xffff_8880_0000_0000;
    for (address, bytes) in [
        (0, 1),
        (8, 4096),
        (end - 4096, 8192),
        (end, 1),
        (0x8000_0000_0000_0000, 4096),
        (kernel, 4096),
        (0xffff_ffff_ff60_0000, 4096),
        (u64::MAX, 1),
        (u64::MAX, u64::MAX),
        (4096, u64::MAX),
        (4096, u64::MAX - 4095),
    ] {
        let buffer = Buffer::wild(address, bytes);
        refused(
            &mut ground,
            &format!("{bytes} bytes at {address:#x}"),
            buffer,
        )?;
    }
    // More than there is behind an address that is right: refused now, or an error when it is
    // written.
    let memory = Buffer::new(8192);
    for bytes in [1 << 30, 1 << 40, (1 << 47) - 8192 - memory.address()] {
        let long = Buffer::wild(memory.address(), bytes);
        let receive = Receive::new(1, Some(0), Some(1), long);
        if ground.put(&receive).is_ok() {
            ground.device.cancel_entry(receive.cookie())?;
        }
    }
    equal("pages pinned", ground.device.counters()?.pages_pinned, 0)
}

/// The process gives memory back that an entry waits for: the pages stay until the message has
/// come, and nothing else is written.
fn unmapped(_: &mut Random) -> Outcome {
    for round in 0..20 {
        let mut ground = Ground::new(1)?;
        let buffer = Buffer::new(64 << 10);
        let receive = Receive::new(0, Some(0), Some(1), buffer);
        ground.post(&receive)?;
        buffer.unmap();
        // Something else may be there now.
        let other = Buffer::new(64 << 10);
        if round % 2 == 0 {
            ground.send(0, &eager(0, 1, &[1; 64 << 10]))?;
            ground.wait_done(&receive)?;
            equal("pages pinned", ground.device.counters()?.pages_pinned, 0)?;
        }
        equal("other memory", other.is_untouched(), true)?;
        other.unmap();
    }
    Ok(())
}

/// Without pins the addresses count: nothing there is an error, and the stream goes on.
fn unmapped_beyond_limit(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    become_nobody()?;
    let buffer = Buffer::new(64 << 10);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    buffer.unmap();
    ground.send(0, &eager(0, 1, &[1; 64 << 10]))?;
    ground.send(0, &eager(0, 2, b"and the next"))?;
    let done = ground.wait_done(&receive)?;
    equal("error", done.error, libc::EFAULT as u32)?;
    equal("placed", ground.next_packet()?.placed, 0)?;
    equal(
        "next",
        ground.next_packet()?.payload,
        b"and the next".to_vec(),
    )
}

/// Pages that move to another address take what arrives with them.
fn moved(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(64 << 10);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    let buffer = buffer.moved()?;
    ground.send(0, &eager(0, 1, &pattern(1, 0, 64 << 10)))?;
    ground.wait_done(&receive)?;
    equal("bytes", buffer.copy() == pattern(1, 0, 64 << 10), true)
}

/// Entries whose buffers share pages, some of which end early.
fn shared(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(64 * 100);
    for slot in 0..64u32 {
        let part = memory.part(slot as usize * 100, 100);
        ground.post(&Receive::new(slot, Some(0), Some(slot as i32), part))?;
    }
    for slot in (0..64u32).rev() {
        let receive = Receive::new(slot, None, None, memory);
        if slot % 3 == 0 {
            ground.device.cancel_entry(receive.cookie())?;
            continue;
        }
        ground.send(0, &eager(0, slot as i32, &[slot as u8; 100]))?;
        ground.wait_done(&receive)?;
        let found = memory.part(slot as usize * 100, 100).copy();
        equal("bytes", found, vec![slot as u8; 100])?;
    }
    for slot in (0..64).step_by(3) {
        equal(
            "cancelled",
            memory.part(slot * 100, 100).is_untouched(),
            true,
        )?;
    }
    equal("pages pinned", ground.device.counters()?.pages_pinned, 0)
}

/// A dumper thread waits for a page that nobody brings: closing the context does not wait for it,
/// and it lets go as soon as it can.
fn never_comes(_: &mut Random) -> Outcome {
    let faults = match Faults::new() {
        Ok(faults) => faults,
        Err(error) => return Err(Trouble::Skip(format!("no userfaultfd here: {error}"))),
    };
    let mut ground = Ground::new(1)?;
    let watching = o2g::Device::open()?;
    become_nobody()?;
    let buffer = Buffer::new(16 << 10);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    ground.post(&receive)?;
    faults.hold(&buffer)?;
    ground.send(0, &eager(0, 1, &[1; 16 << 10]))?;
    std::thread::sleep(std::time::Duration::from_millis(200));
    equal("it waits", ground.device.state(0), MATCHED)?;
    let start = std::time::Instant::now();
    drop(ground);
    if start.elapsed() > PATIENCE {
        return fail(format!("closing took {:?}", start.elapsed()));
    }
    drop(faults);
    while watching.counters()?.contexts_all > 1 {
        if start.elapsed() > 2 * PATIENCE {
            return fail("the thread did not end with what it waited for");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Ok(())
}

/// A child that is forked, writes its copy of the buffer and ends, changes nothing for its parent.
fn fork_beside(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let buffer = Buffer::new(100_000);
    let receive = Receive::new(0, Some(0), Some(1), buffer);
    let later = Receive::new(1, Some(0), Some(2), Buffer::new(100_000));
    ground.post(&receive)?;
    ground.post(&later)?;
    let message = eager(0, 1, &pattern(1, 0, 100_000));
    // A part of it before, a part while there is a child, a part after.
    ground.send(0, &message[..30_000])?;
    let child = Child::fork(|| {
        buffer.touch();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let is_own = ground.device.counters().is_ok();
        i32::from(is_own)
    })?;
    ground.send(0, &message[30_000..60_000])?;
    // The parent writes too, which is what copies pages after a fork.
    later.buffer.expect("made with one").touch();
    equal("child", child.wait(PATIENCE)?, Some(Ended::Exit(0)))?;
    ground.send(0, &message[60_000..])?;
    ground.wait_done(&receive)?;
    equal("bytes", buffer.copy() == pattern(1, 0, 100_000), true)?;
    ground.send(0, &eager(0, 2, &pattern(2, 0, 100_000)))?;
    ground.wait_done(&later)?;
    let found = later.buffer.expect("made with one").copy();
    equal("bytes of the second", found == pattern(2, 0, 100_000), true)?;
    equal("first record", ground.next_packet()?.placed, 100_000)?;
    ground.next_packet()?;
    // A request that is never answered is let go with the context.
    let receive = Receive::new(2, Some(0), Some(3), buffer);
    ground.post(&receive)?;
    ground.send(0, &request(0, 3, 100_000, 1))?;
    ground.next_packet()?;
    if ground.device.state(2) == DONE {
        return Err(Trouble::Fail("a request alone is not done".into()));
    }
    Ok(())
}
