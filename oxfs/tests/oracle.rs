//! Random operations by seed, made on a folder of this host by system calls and on a served one by
//! the protocol, as several users: every errno is the same, and so are the trees.

mod support;

use std::ffi::CString;
use std::path::Path;

use oxmpi_oxfs::client::{Remote, RemoteError, User};
use oxmpi_oxfs::protocol::{Operation, Request, set};
use support::{Folder, Random, Server, errno, is_root, seeds, tree};

#[test]
fn serving() {
    support::serving();
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const MODES: [u32; 6] = [0o777, 0o755, 0o700, 0o644, 0o070, 0o007];
const USERS: [(u32, u32, &[u32]); 4] = [
    (0, 0, &[]),
    (1001, 1001, &[]),
    (1002, 1002, &[1001]),
    (1003, 1001, &[7, 8]),
];

#[derive(Clone, Debug)]
enum Step {
    Mkdir(String, u32),
    Create(String, u32, i32),
    Mknod(String, u32),
    Symlink(String, String),
    Link(String, String),
    Unlink(String),
    Rmdir(String),
    Rename(String, String, u32),
    Chmod(String, u32),
    Chown(String, u32, u32),
    Truncate(String, u64),
    Write(String, u64, usize),
    Append(String, usize),
    Read(String, u64, usize),
    Stat(String),
    Readlink(String),
    List(String),
    Access(String, u32),
    SetXattr(String, &'static str, usize, i32),
    GetXattr(String, &'static str),
    RemoveXattr(String, &'static str),
    Fallocate(String, i32, u64, u64),
    Seek(String, u64, i32),
    Times(String, i64),
}

fn path(random: &mut Random) -> String {
    let depth = 1 + random.below(3);
    let names: Vec<&str> = (0..depth).map(|_| random.of(&NAMES)).collect();
    names.join("/")
}

fn step(random: &mut Random) -> Step {
    let p = path(random);
    match random.below(26) {
        0 | 1 => Step::Mkdir(p, random.of(&MODES)),
        2..=4 => {
            let access = random.of(&[libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR]);
            let more = random.of(&[0, 0, libc::O_EXCL, libc::O_TRUNC]);
            Step::Create(p, random.of(&MODES), access | more)
        }
        5 => Step::Mknod(
            p,
            random.of(&[
                libc::S_IFIFO | 0o644,
                libc::S_IFSOCK | 0o600,
                libc::S_IFREG | 0o640,
            ]),
        ),
        6 => {
            let target = path(random);
            Step::Symlink(p, target)
        }
        7 => {
            let other = path(random);
            Step::Link(p, other)
        }
        8 => Step::Unlink(p),
        9 => Step::Rmdir(p),
        10 | 11 => {
            let other = path(random);
            Step::Rename(p, other, random.of(&[0, 0, 1, 2, 4]))
        }
        12 => Step::Chmod(p, random.of(&[0o777, 0o700, 0o4755, 0o2770, 0o1777, 0o000])),
        13 => Step::Chown(
            p,
            random.of(&[u32::MAX, 0, 1001, 1002]),
            random.of(&[u32::MAX, 0, 1001, 8]),
        ),
        14 => Step::Truncate(p, random.below(9000)),
        15 | 16 => Step::Write(p, random.below(5000), random.below(6000) as usize),
        17 => Step::Append(p, 1 + random.below(300) as usize),
        18 => Step::Read(p, random.below(5000), random.below(6000) as usize),
        19 => Step::Stat(p),
        20 => Step::Readlink(p),
        21 => Step::List(p),
        22 => Step::Access(p, random.below(8) as u32),
        23 => {
            let name = random.of(&["user.one", "user.two", "trusted.x", "nonsense", "user."]);
            match random.below(3) {
                0 => Step::SetXattr(p, name, random.below(50) as usize, random.of(&[0, 0, 1, 2])),
                1 => Step::GetXattr(p, name),
                _ => Step::RemoveXattr(p, name),
            }
        }
        24 => {
            let flags = random.of(&[0, 1, 3, 0x10, 0x7000]);
            Step::Fallocate(p, flags, random.below(3000), random.below(3000))
        }
        _ => match random.below(2) {
            0 => Step::Seek(
                p,
                random.below(9000),
                random.of(&[libc::SEEK_DATA, libc::SEEK_HOLE]),
            ),
            _ => Step::Times(p, random.below(2_000_000_000) as i64 * 1_000_000_007),
        },
    }
}

fn content(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + seed) as u8).collect()
}

/// What a step came to: its errno, and what there is to compare of its answer.
type Outcome = (i32, String);

// ---- by system calls, in a thread that acts as the user -----------------------------------------

fn last(result: i64) -> i32 {
    match result {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    }
}

fn local(base: &Path, step: &Step) -> Outcome {
    let at = |path: &str| CString::new(format!("{}/{path}", base.display())).expect("no zero");
    let opened = |path: &str, flags: i32| {
        // Special files are not opened through the protocol.
        // SAFETY: zeros are a legal stat, which lives across the call, as the path does.
        let (found, about) = unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            (libc::stat(at(path).as_ptr(), &mut about), about)
        };
        let kind = about.st_mode & libc::S_IFMT;
        if found == 0 && kind != libc::S_IFREG && kind != libc::S_IFDIR {
            return Err(libc::ENXIO);
        }
        // SAFETY: the path lives across the call.
        let fd = unsafe { libc::open(at(path).as_ptr(), flags | libc::O_CLOEXEC) };
        match fd {
            -1 => Err(last(-1)),
            fd => Ok(fd),
        }
    };
    let with = |path: &str, flags: i32, then: &dyn Fn(i32) -> Outcome| match opened(path, flags) {
        Err(error) => (error, String::new()),
        Ok(fd) => {
            let outcome = then(fd);
            // SAFETY: the descriptor was opened above and is used by nobody else.
            unsafe { libc::close(fd) };
            outcome
        }
    };
    let plain = |result: i32| (last(result.into()), String::new());
    // SAFETY: paths, names and buffers live across the calls, lengths are those of the buffers, and
    // zeros are a legal stat.
    unsafe {
        match step {
            Step::Mkdir(p, mode) => plain(libc::mkdir(at(p).as_ptr(), *mode)),
            Step::Create(p, mode, flags) => {
                let mut about: libc::stat = std::mem::zeroed();
                let found = libc::lstat(at(p).as_ptr(), &mut about);
                let kind = about.st_mode & libc::S_IFMT;
                let special = found == 0 && matches!(kind, libc::S_IFIFO | libc::S_IFSOCK);
                if special && flags & libc::O_EXCL == 0 {
                    return (libc::ENXIO, String::new());
                }
                let flags = flags | libc::O_CREAT | libc::O_NOFOLLOW;
                let fd = libc::open(at(p).as_ptr(), flags, *mode);
                let error = last(fd.into());
                if fd >= 0 {
                    libc::close(fd);
                }
                (error, String::new())
            }
            Step::Mknod(p, mode) => plain(libc::mknod(at(p).as_ptr(), *mode, 0)),
            Step::Symlink(p, target) => {
                let target = CString::new(target.as_str()).expect("no zero");
                plain(libc::symlink(target.as_ptr(), at(p).as_ptr()))
            }
            Step::Link(p, from) => plain(libc::link(at(from).as_ptr(), at(p).as_ptr())),
            Step::Unlink(p) => plain(libc::unlink(at(p).as_ptr())),
            Step::Rmdir(p) => plain(libc::rmdir(at(p).as_ptr())),
            Step::Rename(p, q, flags) => {
                let here = libc::AT_FDCWD;
                if *flags == 4 {
                    // A white-out is nothing that clients may make.
                    return (0, "white-out".to_owned());
                }
                plain(libc::renameat2(
                    here,
                    at(p).as_ptr(),
                    here,
                    at(q).as_ptr(),
                    *flags,
                ))
            }
            Step::Chmod(p, mode) => plain(libc::chmod(at(p).as_ptr(), *mode)),
            Step::Chown(p, uid, gid) => plain(libc::lchown(at(p).as_ptr(), *uid, *gid)),
            Step::Truncate(p, size) => plain(libc::truncate(at(p).as_ptr(), *size as i64)),
            Step::Write(p, offset, bytes) => with(p, libc::O_WRONLY, &|fd| {
                let data = content(*bytes, *bytes);
                let wrote = libc::pwrite(fd, data.as_ptr().cast(), *bytes, *offset as i64);
                (last(wrote as i64), wrote.to_string())
            }),
            Step::Append(p, bytes) => with(p, libc::O_WRONLY | libc::O_APPEND, &|fd| {
                let data = content(*bytes, *bytes);
                let wrote = libc::write(fd, data.as_ptr().cast(), *bytes);
                (last(wrote as i64), wrote.to_string())
            }),
            Step::Read(p, offset, bytes) => with(p, libc::O_RDONLY, &|fd| {
                let mut data = vec![0u8; *bytes];
                let got = libc::pread(fd, data.as_mut_ptr().cast(), *bytes, *offset as i64);
                data.truncate(got.max(0) as usize);
                (last(got as i64), format!("{data:?}"))
            }),
            Step::Stat(p) => {
                let mut about: libc::stat = std::mem::zeroed();
                let result = libc::lstat(at(p).as_ptr(), &mut about);
                let folder = about.st_mode & libc::S_IFMT == libc::S_IFDIR;
                let text = match result {
                    0 => format!(
                        "{:o} {} {} {} {}",
                        about.st_mode,
                        about.st_uid,
                        about.st_gid,
                        if folder { 0 } else { about.st_nlink },
                        if folder { 0 } else { about.st_size }
                    ),
                    _ => String::new(),
                };
                (last(result.into()), text)
            }
            Step::Readlink(p) => {
                let mut target = vec![0u8; 4096];
                let got = libc::readlink(at(p).as_ptr(), target.as_mut_ptr().cast(), 4096);
                target.truncate(got.max(0) as usize);
                (
                    last(got as i64),
                    String::from_utf8_lossy(&target).into_owned(),
                )
            }
            Step::List(p) => with(p, libc::O_RDONLY | libc::O_DIRECTORY, &|fd| {
                let path = format!("/proc/self/fd/{fd}");
                let names = std::fs::read_dir(path).expect("it is a folder");
                let names = names.map(|name| name.expect("a name").file_name());
                let mut names: Vec<String> = names
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect();
                names.sort();
                (0, names.join(" "))
            }),
            Step::Access(p, mode) => {
                let here = libc::AT_FDCWD;
                let number = libc::SYS_faccessat2;
                let result = libc::syscall(number, here, at(p).as_ptr(), *mode, libc::AT_EACCESS);
                plain(result as i32)
            }
            Step::SetXattr(p, name, bytes, flags) => {
                let name = CString::new(*name).expect("no zero");
                let value = content(3, *bytes);
                let value = value.as_ptr().cast();
                plain(libc::setxattr(
                    at(p).as_ptr(),
                    name.as_ptr(),
                    value,
                    *bytes,
                    *flags,
                ))
            }
            Step::GetXattr(p, name) => {
                let name = CString::new(*name).expect("no zero");
                let mut value = vec![0u8; 100];
                let room = value.as_mut_ptr().cast();
                let got = libc::getxattr(at(p).as_ptr(), name.as_ptr(), room, 100);
                value.truncate(got.max(0) as usize);
                (last(got as i64), format!("{value:?}"))
            }
            Step::RemoveXattr(p, name) => {
                let name = CString::new(*name).expect("no zero");
                plain(libc::removexattr(at(p).as_ptr(), name.as_ptr()))
            }
            Step::Fallocate(p, flags, offset, bytes) => with(p, libc::O_WRONLY, &|fd| {
                plain(libc::fallocate(fd, *flags, *offset as i64, *bytes as i64))
            }),
            Step::Seek(p, offset, whence) => with(p, libc::O_RDONLY, &|fd| {
                let found = libc::lseek(fd, *offset as i64, *whence);
                (last(found), found.to_string())
            }),
            Step::Times(p, time) => {
                let spec = libc::timespec {
                    tv_sec: time / 1_000_000_000,
                    tv_nsec: time % 1_000_000_000,
                };
                let times = [spec, spec];
                plain(libc::utimensat(
                    libc::AT_FDCWD,
                    at(p).as_ptr(),
                    times.as_ptr(),
                    0,
                ))
            }
        }
    }
}

// ---- by the protocol ----------------------------------------------------------------------------

fn remote(at: &Remote, step: &Step) -> Result<String, RemoteError> {
    use oxmpi_oxfs::client::Extra;
    let ask = |operation, node, name: &[u8], arguments: [u64; 6], data: Vec<u8>, room| {
        let request = Request {
            node,
            name: name.to_vec(),
            arguments,
            ..Request::default()
        };
        at.ask(operation, request, Extra { data, room }, name)
    };
    let find = |p: &str| at.find(p.as_bytes(), true);
    let folder = |p: &str| at.find_folder(p.as_bytes());
    match step {
        Step::Mkdir(p, mode) => {
            let (folder, name) = folder(p)?;
            at.mkdir(folder.node, &name, *mode)?;
        }
        Step::Create(p, mode, flags) => {
            let (folder, name) = folder(p)?;
            let (_, open) = at.create(folder.node, &name, *mode, *flags)?;
            at.client.close(open)?;
        }
        Step::Mknod(p, mode) => {
            let (folder, name) = folder(p)?;
            let arguments = [u64::from(*mode), 0, 0, 0, 0, 0];
            ask(
                Operation::Mknod,
                folder.node,
                &name,
                arguments,
                Vec::new(),
                0,
            )?;
        }
        Step::Symlink(p, target) => {
            let (folder, name) = folder(p)?;
            at.symlink(folder.node, &name, target.as_bytes())?;
        }
        Step::Link(p, from) => {
            let from = at.find(from.as_bytes(), false)?;
            let (folder, name) = folder(p)?;
            at.link(folder.node, &name, from.node)?;
        }
        Step::Unlink(p) => {
            let (folder, name) = folder(p)?;
            at.remove(folder.node, &name, false)?;
        }
        Step::Rmdir(p) => {
            let (folder, name) = folder(p)?;
            at.remove(folder.node, &name, true)?;
        }
        Step::Rename(p, q, flags) => {
            let (from, name) = folder(p)?;
            // The kernel walks the first path wholly before it looks at the second.
            ask(
                Operation::Access,
                from.node,
                b"",
                [1, 0, 0, 0, 0, 0],
                Vec::new(),
                0,
            )?;
            let (to, name2) = folder(q)?;
            at.rename(from.node, &name, to.node, &name2, *flags)?;
        }
        Step::Chmod(p, mode) => at.chmod(find(p)?.node, *mode)?,
        Step::Chown(p, uid, gid) => {
            let node = at.find(p.as_bytes(), false)?.node;
            let mut which = 0;
            which |= if *uid == u32::MAX { 0 } else { set::UID };
            which |= if *gid == u32::MAX { 0 } else { set::GID };
            let ids = u64::from(*uid) << 32 | u64::from(*gid);
            let arguments = [which, 0, ids, 0, 0, 0];
            ask(Operation::Setattr, node, b"", arguments, Vec::new(), 0)?;
        }
        Step::Truncate(p, size) => at.truncate(find(p)?.node, *size)?,
        Step::Write(p, offset, bytes) => {
            let node = find(p)?.node;
            let open = at.open(node, libc::O_WRONLY)?;
            let wrote = match *bytes {
                0 => Ok(0),
                bytes => at.write(node, open, *offset, content(bytes, bytes)),
            };
            at.client.close(open)?;
            return Ok(wrote?.to_string());
        }
        Step::Append(p, bytes) => {
            let node = find(p)?.node;
            let open = at.open(node, libc::O_WRONLY | libc::O_APPEND)?;
            let wrote = at.append(node, open, content(*bytes, *bytes));
            at.client.close(open)?;
            return Ok(wrote?.to_string());
        }
        Step::Read(p, offset, bytes) => {
            let node = find(p)?.node;
            let open = at.open(node, libc::O_RDONLY)?;
            let read = at.read(node, open, *offset, *bytes);
            at.client.close(open)?;
            return Ok(format!("{:?}", read?));
        }
        Step::Stat(p) => {
            let found = at.find(p.as_bytes(), false)?;
            let attr = at.getattr(found.node)?.attr;
            let folder = found.is_folder();
            return Ok(format!(
                "{:o} {} {} {} {}",
                attr.mode,
                attr.uid,
                attr.gid,
                if folder { 0 } else { attr.links },
                if folder { 0 } else { attr.size }
            ));
        }
        Step::Readlink(p) => {
            let target = at.readlink(at.find(p.as_bytes(), false)?.node)?;
            return Ok(String::from_utf8_lossy(&target).into_owned());
        }
        Step::List(p) => {
            let node = find(p)?.node;
            let open = at.open(node, libc::O_RDONLY | libc::O_DIRECTORY)?;
            at.client.close(open)?;
            let entries = at.entries(node)?.into_iter();
            let mut names: Vec<String> = entries
                .map(|entry| String::from_utf8_lossy(&entry.name).into_owned())
                .collect();
            names.sort();
            return Ok(names.join(" "));
        }
        Step::Access(p, mode) => {
            let arguments = [u64::from(*mode), 0, 0, 0, 0, 0];
            ask(
                Operation::Access,
                find(p)?.node,
                b"",
                arguments,
                Vec::new(),
                0,
            )?;
        }
        Step::SetXattr(p, name, bytes, flags) => {
            let arguments = [*bytes as u64, *flags as u64, 0, 0, 0, 0];
            let (node, name) = (find(p)?.node, name.as_bytes());
            ask(
                Operation::Setxattr,
                node,
                name,
                arguments,
                content(3, *bytes),
                0,
            )?;
        }
        Step::GetXattr(p, name) => {
            let (node, name) = (find(p)?.node, name.as_bytes());
            let arguments = [100, 0, 0, 0, 0, 0];
            let (_, value) = ask(Operation::Getxattr, node, name, arguments, Vec::new(), 100)?;
            return Ok(format!("{value:?}"));
        }
        Step::RemoveXattr(p, name) => {
            let (node, name) = (find(p)?.node, name.as_bytes());
            ask(Operation::Removexattr, node, name, [0; 6], Vec::new(), 0)?;
        }
        Step::Fallocate(p, flags, offset, bytes) => {
            let arguments = [*flags as u64, *offset, *bytes, 0, 0, 0];
            ask(
                Operation::Fallocate,
                find(p)?.node,
                b"",
                arguments,
                Vec::new(),
                0,
            )?;
        }
        Step::Seek(p, offset, whence) => {
            let arguments = [*offset, *whence as u64, 0, 0, 0, 0];
            let (reply, _) = ask(
                Operation::Seek,
                find(p)?.node,
                b"",
                arguments,
                Vec::new(),
                0,
            )?;
            return Ok(reply.values[0].to_string());
        }
        Step::Times(p, time) => {
            let arguments = [
                set::ACCESS | set::MODIFIED,
                0,
                0,
                0,
                *time as u64,
                *time as u64,
            ];
            ask(
                Operation::Setattr,
                find(p)?.node,
                b"",
                arguments,
                Vec::new(),
                0,
            )?;
        }
    }
    Ok(String::new())
}

/// Runs steps as a user in a thread that keeps nothing of it.
fn as_user<T: Send>(user: &User, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: calls that concern this thread alone; the list has as many groups as is said.
            unsafe {
                let groups = &user.groups;
                libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr());
                libc::setfsgid(user.gid);
                libc::setfsuid(user.uid);
                drop_capabilities();
            }
            act()
        });
        thread.join().expect("the local half does not panic")
    })
}

/// A worker of the server has no CAP_SYS_ADMIN, nor has this.
unsafe fn drop_capabilities() {
    let header: [u32; 2] = [0x2008_0522, 0];
    let mut sets = [0u32; 6];
    // SAFETY: the layout of version 3: a version and a thread, two times three words.
    unsafe {
        libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr());
        let kept = 0b1_1111 | 1 << 6 | 1 << 7 | 1 << 27;
        sets[0] &= kept;
        sets[1] &= kept;
        (sets[3], sets[4]) = (0, 0);
        libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr());
    }
}

fn compare(seed: u64, server: &Server, users: &[(u32, u32, &[u32])], steps: usize) {
    let mut random = Random::new(seed);
    let here = Folder::new("local");
    let there = server.client();
    let top = format!("seed{seed}");
    let export = server.export.join(&top);
    std::fs::create_dir(&export).expect("a folder below the export");
    for base in [&here.0, &export] {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(base, PermissionsExt::from_mode(0o777)).expect("its mode");
    }
    // SAFETY: a call without pointers; modes are as they are said, in both halves.
    unsafe { libc::umask(0) };
    let node = there.find(top.as_bytes(), true).expect("it is there");
    assert!(node.is_folder());
    let mut done = Vec::new();
    for number in 0..steps {
        let (uid, gid, groups) = random.of(users);
        let user = User {
            uid,
            gid,
            groups: groups.to_vec(),
        };
        let step = step(&mut random);
        let below = below(&step, &top);
        let expected = as_user(&user, || local(&here.0, &step));
        there.client.set_user(user.clone());
        let answer = remote(&there, &below);
        let error = errno(&answer);
        let found = (error, answer.unwrap_or_default());
        done.push(format!("{uid}: {step:?}"));
        let told = || {
            let recent = done[done.len().saturating_sub(12)..].join("\n  ");
            let trees = (tree(&here.0), tree(&export));
            format!(
                "seed {seed}, step {number}, user {uid}:\n  {recent}\nlocal:\n{}\nserved:\n{}",
                trees.0, trees.1
            )
        };
        if let Step::Rename(_, _, 4) = step {
            assert_ne!(error, 0, "a white-out was made; {}", told());
            continue;
        }
        assert_eq!(expected.0, found.0, "errno; {}", told());
        if expected.0 == 0 {
            assert_eq!(expected.1, found.1, "answer; {}", told());
        }
    }
    assert_eq!(tree(&here.0), tree(&export), "seed {seed}");
}

/// The same step below a folder of the export.
fn below(step: &Step, top: &str) -> Step {
    let mut step = step.clone();
    let add = |path: &mut String| *path = format!("{top}/{path}");
    match &mut step {
        Step::Link(p, q) | Step::Rename(p, q, _) => {
            add(p);
            add(q);
        }
        Step::Mkdir(p, _)
        | Step::Create(p, _, _)
        | Step::Mknod(p, _)
        | Step::Symlink(p, _)
        | Step::Unlink(p)
        | Step::Rmdir(p)
        | Step::Chmod(p, _)
        | Step::Chown(p, _, _)
        | Step::Truncate(p, _)
        | Step::Write(p, _, _)
        | Step::Append(p, _)
        | Step::Read(p, _, _)
        | Step::Stat(p)
        | Step::Readlink(p)
        | Step::List(p)
        | Step::Access(p, _)
        | Step::SetXattr(p, _, _, _)
        | Step::GetXattr(p, _)
        | Step::RemoveXattr(p, _)
        | Step::Fallocate(p, _, _, _)
        | Step::Seek(p, _, _)
        | Step::Times(p, _) => add(p),
    }
    step
}

#[test]
fn random_operations_of_one_user_are_as_on_this_host() {
    let server = Server::start("oracle", &["--no-root-squash"]);
    // SAFETY: calls without pointers.
    let own = unsafe { [(libc::geteuid(), libc::getegid(), &[][..])] };
    for seed in seeds(6) {
        compare(seed, &server, &own, 250);
    }
}

#[test]
fn random_operations_of_several_users_are_as_on_this_host() {
    if !is_root("random_operations_of_several_users_are_as_on_this_host") {
        return;
    }
    let server = Server::start("oracle", &["--no-root-squash"]);
    for seed in seeds(8) {
        compare(1000 + seed, &server, &USERS, 300);
    }
}
