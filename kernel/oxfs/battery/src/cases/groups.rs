//! Control groups: a group's dirty pages are its own affair.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Case, Outcome, good, pattern, same, skip};
use crate::sys;
use crate::world::World;

pub const CASES: &[Case] = &[Case {
    name: "groups",
    time_s: 240,
    run: groups,
}];

const GROUPS: &str = "/sys/fs/cgroup";
/// What a group may have, and what a process of it writes.
const MEMORY_MIB: usize = 48;
const WRITTEN_MIB: usize = 60;
/// A process waits when a fifth of the group's memory is dirty; a half would be three times what it
/// may have by the time that the first page is on its way.
const DIRTY_MIB_MAX: u64 = 24;

/// A process of a group with little memory writes more than that. It is made to wait for the group's
/// own dirty pages, long before those fill its memory: the rest of the machine has room for them all.
fn groups() -> Outcome {
    let Some(group) = group()? else {
        return skip("no control groups with a limit of memory here");
    };
    let (mut world, root) = World::with_mount("")?;
    let data = pattern(3, 1 << 20);
    let write = || -> std::io::Result<()> {
        fs::write(format!("{group}/cgroup.procs"), "0")?;
        let mut file = fs::File::create(root.join("f"))?;
        for _ in 0..WRITTEN_MIB {
            std::io::Write::write_all(&mut file, &data)?;
        }
        Ok(())
    };
    let child = good("fork", sys::in_child(|| i32::from(write().is_err())))?;
    let mut dirty_max = 0;
    while !sys::has_ended(child) {
        dirty_max = dirty_max.max(dirty(&group));
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("count oxfs/groups_dirty_mib={}", dirty_max >> 20);
    let found = good("read", fs::read(world.behind("f")))?;
    same("the server's", &found, &data.repeat(WRITTEN_MIB))?;
    world.unmount_all()?;
    good("rmdir", fs::remove_dir(&group))?;
    if dirty_max > DIRTY_MIB_MAX << 20 {
        return Err(format!(
            "{dirty_max} bytes of a group that may have {MEMORY_MIB} MiB were dirty, expected at \
             most {DIRTY_MIB_MAX} MiB"
        ));
    }
    Ok(())
}

/// A new group, if there are any.
fn group() -> Outcome<Option<String>> {
    let controllers = Path::new(GROUPS).join("cgroup.controllers");
    if !controllers.exists() && sys::mount_kind("cgroup2", GROUPS.as_ref(), "").is_err() {
        return Ok(None);
    }
    let controllers = good("controllers", fs::read_to_string(controllers))?;
    if !["memory", "io"]
        .iter()
        .all(|name| controllers.contains(name))
    {
        return Ok(None);
    }
    let write = |path: String, text: &str| good(&path, fs::write(&path, text));
    write(format!("{GROUPS}/cgroup.subtree_control"), "+memory")?;
    let group = format!("{GROUPS}/oxfs");
    good("mkdir", fs::create_dir_all(&group))?;
    write(format!("{group}/memory.max"), &format!("{MEMORY_MIB}M"))?;
    Ok(Some(group))
}

/// Bytes of a group's pages that are dirty.
fn dirty(group: &str) -> u64 {
    let text = fs::read_to_string(format!("{group}/memory.stat")).unwrap_or_default();
    let bytes = text
        .lines()
        .find_map(|line| line.strip_prefix("file_dirty "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}
