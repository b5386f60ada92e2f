//! Two clients of one server: what one closes the other opens, and what is recalled.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use super::{Case, Outcome, equal, good, pattern, refused, same};
use crate::world::{World, count, within};

pub const CASES: &[Case] = &[
    Case {
        name: "close-to-open",
        time_s: 120,
        run: close_to_open,
    },
    Case {
        name: "recall",
        time_s: 120,
        run: recall,
    },
    Case {
        name: "two-writers",
        time_s: 200,
        run: two_writers,
    },
];

fn close_to_open() -> Outcome {
    let (mut world, one) = World::with_mount("")?;
    let two = world.mount("")?;
    for round in 0..20u64 {
        let data = pattern(round, 10_000 + round as usize * 777);
        let (from, to) = if round % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        good("write", fs::write(from.join("f"), &data))?;
        same("the other's", &good("read", fs::read(to.join("f")))?, &data)?;
        good("rename", fs::rename(from.join("f"), from.join("g")))?;
        refused("the old name", fs::read(to.join("f")), libc::ENOENT)?;
        good("back", fs::rename(to.join("g"), to.join("f")))?;
        good("mkdir", fs::create_dir(from.join("d")))?;
        good("file", fs::write(to.join("d/x"), b"1"))?;
        good("its removal", fs::remove_file(from.join("d/x")))?;
        good("rmdir", fs::remove_dir(to.join("d")))?;
        refused("gone", fs::metadata(from.join("d")), libc::ENOENT)?;
    }
    world.unmount_all()
}

/// Changes are seen long before attributes would be asked for again of themselves.
fn recall() -> Outcome {
    let (mut world, one) = World::with_mount("")?;
    let two = world.mount("")?;
    let before = count("recalls");
    good("write", fs::write(one.join("f"), b"first"))?;
    let reader = good("open", fs::File::open(two.join("f")))?;
    let mut found = [0; 5];
    good("read", reader.read_exact_at(&mut found, 0))?;
    equal("cached", &found, b"first")?;
    equal(
        "mode",
        good("stat", fs::metadata(two.join("f")))?.mode() & 0o777,
        0o644,
    )?;
    let writer = good("open", OpenOptions::new().write(true).open(one.join("f")))?;
    good("write", writer.write_all_at(b"again", 0))?;
    good("fsync", writer.sync_all())?;
    good("read", reader.read_exact_at(&mut found, 0))?;
    equal("data were recalled", &found, b"again")?;
    crate::sys::set_mode(&one.join("f"), 0o600)?;
    equal(
        "attributes",
        good("stat", fs::metadata(two.join("f")))?.mode() & 0o777,
        0o600,
    )?;
    refused(
        "a name that is not there",
        fs::metadata(two.join("n")),
        libc::ENOENT,
    )?;
    good("is made", fs::write(one.join("n"), b""))?;
    good("and seen", fs::metadata(two.join("n")))?;
    // Dirty pages of one are written back for the other.
    let dirty = good("open", OpenOptions::new().write(true).open(two.join("n")))?;
    good("write", dirty.write_all_at(b"dirty", 0))?;
    good("a write of the other", fs::write(one.join("n"), b""))?;
    drop(dirty);
    if count("recalls") == before {
        return Err("nothing was recalled".into());
    }
    drop((reader, writer));
    world.unmount_all()
}

/// Two processes on two mounts make, write and remove names in one folder, and lose nothing.
fn two_writers() -> Outcome {
    let (mut world, one) = World::with_mount("")?;
    let two = world.mount("")?;
    let work = |root: &std::path::Path, who: u32| -> Outcome {
        for number in 0..60u32 {
            let path = root.join(format!("{who}-{number}"));
            let data = pattern(u64::from(who * 1000 + number), 3_000);
            good("write", fs::write(&path, &data))?;
            same("own", &good("read", fs::read(&path))?, &data)?;
            if number % 3 == 0 {
                good("unlink", fs::remove_file(&path))?;
            }
        }
        Ok(())
    };
    let child = good(
        "fork",
        crate::sys::in_child(|| i32::from(work(&two, 2).is_err())),
    )?;
    work(&one, 1)?;
    equal("the other", good("wait", crate::sys::wait(child))?, 0)?;
    for root in [&one, &two] {
        let listed = || fs::read_dir(root).map_or(0, Iterator::count);
        within(5, || listed() == 80).map_err(|_| format!("names: {}, expected 80", listed()))?;
    }
    std::thread::sleep(Duration::from_millis(10));
    world.unmount_all()
}
