//! Names: every operation on them, and the errno of each mistake.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;

use super::{Case, Outcome, equal, good, refused};
use crate::sys;
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "names",
        time_s: 60,
        run: names,
    },
    Case {
        name: "rename",
        time_s: 60,
        run: rename,
    },
    Case {
        name: "links",
        time_s: 60,
        run: links,
    },
    Case {
        name: "special",
        time_s: 60,
        run: special,
    },
    Case {
        name: "listing",
        time_s: 120,
        run: listing,
    },
    Case {
        name: "attributes",
        time_s: 60,
        run: attributes,
    },
    Case {
        name: "xattr",
        time_s: 60,
        run: xattr,
    },
    Case {
        name: "permissions",
        time_s: 60,
        run: permissions,
    },
];

fn names() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = |name: &str| root.join(name);
    refused("lookup", fs::metadata(path("none")), libc::ENOENT)?;
    good("mkdir", fs::create_dir(path("d")))?;
    refused("mkdir again", fs::create_dir(path("d")), libc::EEXIST)?;
    good("create", fs::write(path("d/f"), b"text"))?;
    refused("below a file", fs::metadata(path("d/f/x")), libc::ENOTDIR)?;
    refused("rmdir, full", fs::remove_dir(path("d")), libc::ENOTEMPTY)?;
    refused(
        "unlink of a folder",
        fs::remove_file(path("d")),
        libc::EISDIR,
    )?;
    refused(
        "rmdir of a file",
        fs::remove_dir(path("d/f")),
        libc::ENOTDIR,
    )?;
    let exclusive = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;
    refused(
        "O_EXCL",
        sys::open(&path("d/f"), exclusive, 0o600),
        libc::EEXIST,
    )?;
    let long = "x".repeat(255);
    good("a name of 255", fs::write(path(&long), b"1"))?;
    refused(
        "a name of 256",
        fs::write(path(&(long.clone() + "x")), b"1"),
        libc::ENAMETOOLONG,
    )?;
    good("its removal", fs::remove_file(path(&long)))?;
    // A file that may not be written by its mode is written by who makes it.
    let made = good("0444", sys::open(&path("ro"), exclusive, 0o444))?;
    good(
        "write",
        std::os::unix::fs::FileExt::write_all_at(&made, b"abc", 0),
    )?;
    drop(made);
    equal(
        "0444 content",
        good("read", fs::read(path("ro")))?,
        b"abc".to_vec(),
    )?;
    equal(
        "the server's view",
        good("read", fs::read(world.behind("d/f")))?,
        b"text".to_vec(),
    )?;
    good("unlink", fs::remove_file(path("d/f")))?;
    good("rmdir", fs::remove_dir(path("d")))?;
    equal("gone there", world.behind("d").exists(), false)?;
    let statistics = good("statfs", sys::statfs(&root))?;
    equal("magic", statistics.f_type as u64, 0x6f78_6673)?;
    equal("names", statistics.f_namelen as u64, 255)?;
    if statistics.f_blocks == 0 || statistics.f_bsize == 0 {
        return Err("statfs: no blocks".into());
    }
    world.unmount_all()
}

fn rename() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = |name: &str| root.join(name);
    for folder in ["a", "b", "a/empty"] {
        good("mkdir", fs::create_dir(path(folder)))?;
    }
    good("write", fs::write(path("a/1"), b"one"))?;
    good("write", fs::write(path("b/2"), b"two"))?;
    good("rename", fs::rename(path("a/1"), path("b/1")))?;
    refused("the old name", fs::metadata(path("a/1")), libc::ENOENT)?;
    equal(
        "moved",
        good("read", fs::read(path("b/1")))?,
        b"one".to_vec(),
    )?;
    good("over another", fs::rename(path("b/1"), path("b/2")))?;
    equal(
        "replaced",
        good("read", fs::read(path("b/2")))?,
        b"one".to_vec(),
    )?;
    good("write", fs::write(path("b/3"), b"three"))?;
    let (two, three) = (path("b/2"), path("b/3"));
    refused(
        "NOREPLACE",
        sys::rename(&two, &three, libc::RENAME_NOREPLACE),
        libc::EEXIST,
    )?;
    good("EXCHANGE", sys::rename(&two, &three, libc::RENAME_EXCHANGE))?;
    equal(
        "exchanged",
        good("read", fs::read(&two))?,
        b"three".to_vec(),
    )?;
    equal(
        "exchanged",
        good("read", fs::read(&three))?,
        b"one".to_vec(),
    )?;
    refused(
        "into itself",
        fs::rename(path("a"), path("a/empty/x")),
        libc::EINVAL,
    )?;
    refused(
        "over a full folder",
        fs::rename(path("a"), path("b")),
        libc::ENOTEMPTY,
    )?;
    refused(
        "a file over a folder",
        fs::rename(&two, path("a")),
        libc::EISDIR,
    )?;
    refused(
        "a folder over a file",
        fs::rename(path("a"), &two),
        libc::ENOTDIR,
    )?;
    good("a folder", fs::rename(path("a"), path("b/a")))?;
    good("below it", fs::metadata(path("b/a/empty")))?;
    world.unmount_all()
}

fn links() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = |name: &str| root.join(name);
    good("write", fs::write(path("f"), b"text"))?;
    good("link", fs::hard_link(path("f"), path("g")))?;
    equal("links", good("stat", fs::metadata(path("f")))?.nlink(), 2)?;
    let inodes = (fs::metadata(path("f")), fs::metadata(path("g")));
    equal(
        "inode",
        good("stat", inodes.0)?.ino(),
        good("stat", inodes.1)?.ino(),
    )?;
    refused(
        "link over",
        fs::hard_link(path("f"), path("g")),
        libc::EEXIST,
    )?;
    good("mkdir", fs::create_dir(path("d")))?;
    refused(
        "link of a folder",
        fs::hard_link(path("d"), path("e")),
        libc::EPERM,
    )?;
    good("unlink", fs::remove_file(path("f")))?;
    equal("links", good("stat", fs::metadata(path("g")))?.nlink(), 1)?;
    good("symlink", symlink("g", path("s")))?;
    equal(
        "target",
        good("readlink", fs::read_link(path("s")))?,
        "g".into(),
    )?;
    equal(
        "through it",
        good("read", fs::read(path("s")))?,
        b"text".to_vec(),
    )?;
    let long = "y".repeat(4000);
    good("a long target", symlink(&long, path("long")))?;
    equal(
        "long target",
        good("readlink", fs::read_link(path("long")))?,
        long.into(),
    )?;
    good("a loop", symlink("loop", path("loop")))?;
    refused("a loop", fs::read(path("loop")), libc::ELOOP)?;
    refused("readlink of a file", fs::read_link(path("g")), libc::EINVAL)?;
    // An open file whose last name is gone.
    let open = good(
        "open",
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path("g")),
    )?;
    good("unlink", fs::remove_file(path("g")))?;
    use std::os::unix::fs::FileExt;
    good("write", open.write_all_at(b"TEXT and more", 0))?;
    let mut found = [0; 13];
    good("read", open.read_exact_at(&mut found, 0))?;
    equal("unlinked", &found, b"TEXT and more")?;
    equal("no links", good("fstat", open.metadata())?.nlink(), 0)?;
    good("truncate", open.set_len(4))?;
    equal("size", good("fstat", open.metadata())?.len(), 4)?;
    good("fsync", open.sync_all())?;
    drop(open);
    world.unmount_all()
}

fn special() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = |name: &str| root.join(name);
    good("fifo", sys::mknod(&path("fifo"), libc::S_IFIFO | 0o644, 0))?;
    good(
        "socket",
        sys::mknod(&path("socket"), libc::S_IFSOCK | 0o644, 0),
    )?;
    let null = libc::makedev(1, 3);
    good(
        "device",
        sys::mknod(&path("null"), libc::S_IFCHR | 0o666, null),
    )?;
    let kind = |name: &str| good("stat", fs::symlink_metadata(path(name)));
    equal("fifo", kind("fifo")?.file_type().is_fifo(), true)?;
    equal("socket", kind("socket")?.file_type().is_socket(), true)?;
    equal("device", kind("null")?.file_type().is_char_device(), true)?;
    equal("its number", kind("null")?.rdev(), null)?;
    good("write to the device", fs::write(path("null"), b"gone"))?;
    let listener = good(
        "bind",
        std::os::unix::net::UnixListener::bind(path("bound")),
    )?;
    good(
        "connect",
        std::os::unix::net::UnixStream::connect(path("bound")),
    )?;
    drop(listener);
    for name in ["fifo", "socket", "null", "bound"] {
        good("unlink", fs::remove_file(path(name)))?;
    }
    world.unmount_all()
}

fn listed(path: &Path) -> Outcome<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in good("readdir", fs::read_dir(path))? {
        let name = good("entry", entry)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if !names.insert(name.clone()) {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(names)
}

fn listing() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let folder = root.join("many");
    good("mkdir", fs::create_dir(&folder))?;
    equal("an empty one", listed(&folder)?.len(), 0)?;
    let name = |number: u32| format!("{number}-{}", "n".repeat(number as usize % 200));
    // At the server, which is faster; the last by the mount.
    for number in 0..1500 {
        good(
            "file",
            fs::write(world.behind("many").join(name(number)), b""),
        )?;
    }
    for number in 1500..1520 {
        good("file", fs::write(folder.join(name(number)), b""))?;
    }
    let expected: BTreeSet<String> = (0..1520).map(name).collect();
    equal("names", listed(&folder)? == expected, true)?;
    // Removed while it is listed: each is seen at most once, and those that stay are.
    let mut seen = BTreeSet::new();
    for (index, entry) in good("readdir", fs::read_dir(&folder))?.enumerate() {
        let entry = good("entry", entry)?;
        seen.insert(entry.file_name().to_string_lossy().into_owned());
        if index % 100 == 0 {
            good("unlink", fs::remove_file(entry.path()))?;
        }
    }
    let left = listed(&folder)?;
    equal("those that stay were seen", left.is_subset(&seen), true)?;
    equal("the server's", listed(&world.behind("many"))? == left, true)?;
    world.unmount_all()
}

fn attributes() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = root.join("f");
    good("write", fs::write(&path, b"12345"))?;
    sys::set_mode(&path, 0o4751)?;
    equal(
        "mode",
        good("stat", fs::metadata(&path))?.mode() & 0o7777,
        0o4751,
    )?;
    good("chown", std::os::unix::fs::chown(&path, Some(7), Some(8)))?;
    let about = good("stat", fs::metadata(&path))?;
    equal("owner", (about.uid(), about.gid()), (7, 8))?;
    let file = good("open", fs::OpenOptions::new().write(true).open(&path))?;
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_007, 123_456_789);
    good(
        "utimens",
        file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time)),
    )?;
    let about = good("stat", fs::metadata(&path))?;
    equal(
        "mtime",
        (about.mtime(), about.mtime_nsec()),
        (1_000_000_007, 123_456_789),
    )?;
    equal(
        "atime",
        (about.atime(), about.atime_nsec()),
        (1_000_000_007, 123_456_789),
    )?;
    use std::os::unix::fs::FileExt;
    good("write", file.write_all_at(b"x", 5))?;
    let about = good("stat", fs::metadata(&path))?;
    equal("size", about.len(), 6)?;
    equal("mtime moves", about.mtime() > 1_000_000_007, true)?;
    drop(file);
    let behind = good("stat", fs::metadata(world.behind("f")))?;
    equal(
        "the server's",
        (behind.uid(), behind.len(), behind.mtime()),
        (7, 6, about.mtime()),
    )?;
    world.unmount_all()
}

fn xattr() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = root.join("f");
    good("write", fs::write(&path, b""))?;
    // What the server's file system does not have, its client has not either.
    if sys::set_xattr(&world.behind("f"), "user.probe", b"1", 0).is_err() {
        refused(
            "set",
            sys::set_xattr(&path, "user.a", b"1", 0),
            libc::EOPNOTSUPP,
        )?;
        // The server has given up the right to change others, and everyone may read some.
        refused(
            "trusted",
            sys::set_xattr(&path, "trusted.a", b"value", 0),
            libc::EPERM,
        )?;
        let behind = sys::set_xattr(&world.behind("f"), "security.a", b"value", 0);
        good("set behind the server", behind)?;
        let value = good("get", sys::get_xattr(&path, "security.a", 64))?;
        equal("get", value, b"value".to_vec())?;
        let short = sys::get_xattr(&path, "security.a", 2);
        refused("short", short, libc::ERANGE)?;
        let none = sys::get_xattr(&path, "security.b", 64);
        refused("none", none, libc::ENODATA)?;
        let names = good("list", sys::list_xattr(&path))?;
        let listed = names.windows(11).any(|part| part == b"security.a\0");
        equal("listed", listed, true)?;
        return world.unmount_all();
    }
    good("set", sys::set_xattr(&path, "user.a", b"value", 0))?;
    equal(
        "get",
        good("get", sys::get_xattr(&path, "user.a", 64))?,
        b"value".to_vec(),
    )?;
    equal(
        "length",
        good("get", sys::get_xattr(&path, "user.a", 0))?.len(),
        5,
    )?;
    refused("short", sys::get_xattr(&path, "user.a", 2), libc::ERANGE)?;
    refused("none", sys::get_xattr(&path, "user.b", 64), libc::ENODATA)?;
    let create = libc::XATTR_CREATE;
    refused(
        "CREATE",
        sys::set_xattr(&path, "user.a", b"x", create),
        libc::EEXIST,
    )?;
    let replace = libc::XATTR_REPLACE;
    refused(
        "REPLACE",
        sys::set_xattr(&path, "user.b", b"x", replace),
        libc::ENODATA,
    )?;
    let names = good("list", sys::list_xattr(&path))?;
    equal(
        "listed",
        names.windows(7).any(|part| part == b"user.a\0"),
        true,
    )?;
    good("remove", sys::remove_xattr(&path, "user.a"))?;
    refused(
        "removed",
        sys::get_xattr(&path, "user.a", 64),
        libc::ENODATA,
    )?;
    world.unmount_all()
}

/// As another user; errors are for the server to give.
fn permissions() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let path = |name: &str| root.join(name);
    good("write", fs::write(path("secret"), b"text"))?;
    sys::set_mode(&path("secret"), 0o600)?;
    let secret = good("open", sys::open(&path("secret"), libc::O_RDWR, 0))?;
    good("write", fs::write(path("drop"), b"text"))?;
    sys::set_mode(&path("drop"), 0o622)?;
    good("mkdir", fs::create_dir(path("closed")))?;
    sys::set_mode(&path("closed"), 0o700)?;
    sys::set_mode(&root, 0o777)?;
    let as_user = || -> Outcome {
        good("setuid", sys::become_user(1000))?;
        refused("read", fs::read(path("secret")), libc::EACCES)?;
        refused("write", fs::write(path("secret"), b"x"), libc::EACCES)?;
        refused(
            "chmod",
            sys::open(&path("secret"), libc::O_RDWR, 0),
            libc::EACCES,
        )?;
        refused("into", fs::metadata(path("closed/x")), libc::EACCES)?;
        refused("list", fs::read_dir(path("closed")), libc::EACCES)?;
        // Who has it open may cut it.
        good("ftruncate", secret.set_len(2))?;
        // A file that may be written and not read.
        let file = good("open", sys::open(&path("drop"), libc::O_WRONLY, 0))?;
        use std::os::unix::fs::FileExt;
        good("write", file.write_all_at(b"TE", 1))?;
        drop(file);
        refused("read", fs::read(path("drop")), libc::EACCES)?;
        good("own", fs::write(path("own"), b"x"))?;
        sys::set_mode(&path("own"), 0o640)
    };
    let child = good(
        "fork",
        sys::in_child(|| match as_user() {
            Ok(()) => 0,
            Err(why) => {
                println!("{why}");
                1
            }
        }),
    )?;
    equal("as user 1000", good("wait", sys::wait(child))?, 0)?;
    equal(
        "written",
        good("read", fs::read(path("drop")))?,
        b"tTEt".to_vec(),
    )?;
    let cut = good("stat", fs::metadata(path("secret")))?;
    equal("cut by who had it open", cut.len(), 2)?;
    drop(secret);
    let own = good("stat", fs::metadata(path("own")))?;
    equal("owner", (own.uid(), own.mode() & 0o777), (1000, 0o640))?;
    world.unmount_all()
}
