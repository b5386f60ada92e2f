//! Mounting: options, mistakes, read only, and unmounting while files are in use.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Case, Outcome, equal, good, refused};
use crate::sys;
use crate::world::{ADDRESS, MOUNTS, World, mount_from};

pub const CASES: &[Case] = &[
    Case {
        name: "options",
        time_s: 120,
        run: options,
    },
    Case {
        name: "read-only",
        time_s: 60,
        run: read_only,
    },
    Case {
        name: "busy",
        time_s: 60,
        run: busy,
    },
    Case {
        name: "lazy",
        time_s: 60,
        run: lazy,
    },
    Case {
        name: "again",
        time_s: 120,
        run: again,
    },
];

fn options() -> Outcome {
    let mut world = World::new(&[])?;
    let folder = Path::new(MOUNTS[2]);
    let _ = fs::create_dir_all(folder);
    let with = |source: &str, words: &str| sys::mount(source, folder, words);
    let server = format!("{ADDRESS}:5021");
    refused("an unknown word", with(&server, "nonsense"), libc::EINVAL)?;
    refused("port", with(ADDRESS, "port=0"), libc::EINVAL)?;
    refused("port", with(ADDRESS, "port=70000"), libc::EINVAL)?;
    refused("timeo", with(&server, "timeo=0"), libc::EINVAL)?;
    refused("cache", with(&server, "cache=some"), libc::EINVAL)?;
    refused("no address", with("somewhere:5021", ""), libc::EINVAL)?;
    refused("no port", with(&format!("{ADDRESS}:x"), ""), libc::EINVAL)?;
    refused("no such key", with(&server, "key=123456789"), libc::ENOKEY)?;
    let short = sys::add_key("oxfs-short", b"short")?;
    refused(
        "a short key",
        with(&server, &format!("key={short}")),
        libc::EKEYREJECTED,
    )?;
    let wrong = sys::add_key("oxfs-wrong", &[1; 16])?;
    let refusal = with(&server, &format!("key={wrong},timeo=5"));
    equal("the wrong key", refusal.is_err(), true)?;
    let nobody = with(&format!("{ADDRESS}:5999"), "timeo=5");
    equal("nobody there", nobody.is_err(), true)?;
    mount_from(ADDRESS, folder, "port=5021,soft,timeo=7")?;
    let mounts = good("mounts", fs::read_to_string("/proc/mounts"))?;
    let line = mounts
        .lines()
        .find(|line| line.contains(MOUNTS[2]))
        .unwrap_or("");
    for word in ["oxfs", "soft", "timeo=7", "cache=close-to-open"] {
        equal(&format!("{word} in {line:?}"), line.contains(word), true)?;
    }
    good("umount", sys::unmount(folder, 0))?;
    world.unmount_all()
}

fn read_only() -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    good("write", fs::write(world.behind("f"), b"text"))?;
    let root = world.mount("ro")?;
    equal(
        "read",
        good("read", fs::read(root.join("f")))?,
        b"text".to_vec(),
    )?;
    refused("write", fs::write(root.join("f"), b"x"), libc::EROFS)?;
    refused("create", fs::write(root.join("g"), b"x"), libc::EROFS)?;
    refused("mkdir", fs::create_dir(root.join("d")), libc::EROFS)?;
    refused("unlink", fs::remove_file(root.join("f")), libc::EROFS)?;
    world.unmount_all()
}

/// umount of a mount in use is refused; umount -f is, too, but does no harm.
fn busy() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = good("create", fs::File::create(root.join("f")))?;
    good("write", file.write_all_at(b"1", 0))?;
    refused("umount", sys::unmount(&root, 0), libc::EBUSY)?;
    good("write", file.write_all_at(b"2", 1))?;
    drop(file);
    equal(
        "written",
        good("read", fs::read(world.behind("f")))?,
        b"12".to_vec(),
    )?;
    world.unmount_all()
}

/// umount -l: what is open goes on, and is written when it is closed.
fn lazy() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let file = good("create", fs::File::create(root.join("f")))?;
    good("umount -l", sys::unmount(&root, libc::MNT_DETACH))?;
    good("write", file.write_all_at(b"still here", 0))?;
    good("fsync", file.sync_all())?;
    equal(
        "written",
        good("read", fs::read(world.behind("f")))?,
        b"still here".to_vec(),
    )?;
    drop(file);
    refused(
        "it is not there",
        fs::metadata(root.join("f")),
        libc::ENOENT,
    )?;
    // It was mounted once: there is nothing left to unmount.
    equal("unmounted", world.unmount_all().is_err(), true)
}

fn again() -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    for round in 0..15u8 {
        let root = world.mount("")?;
        good("write", fs::write(root.join("f"), [round; 5_000]))?;
        world.unmount_all()?;
        equal(
            "written",
            good("read", fs::read(world.behind("f")))?,
            vec![round; 5_000],
        )?;
    }
    Ok(())
}
