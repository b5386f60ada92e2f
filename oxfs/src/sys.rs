//! System calls on descriptors of folders and files that the standard library does not have. All of
//! this crate's unsafe code is here and in `identity.rs`.

#![allow(unsafe_code, reason = "openat2, statx and others are not in std")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::c_int;

/// An errno, positive.
pub(crate) type Errno = u32;

/// What a system call answers.
pub(crate) type Sys<T> = Result<T, Errno>;

/// Names are resolved below the folder, through no link and no other door.
const INSIDE: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS | libc::RESOLVE_NO_SYMLINKS;

/// The errno of the last call of this thread.
fn last() -> Errno {
    errno(&io::Error::last_os_error())
}

/// The errno of an error; EIO if it has none.
pub(crate) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().unwrap_or(libc::EIO) as Errno
}

fn checked(result: i64) -> Sys<i64> {
    if result < 0 { Err(last()) } else { Ok(result) }
}

fn done(result: c_int) -> Sys<()> {
    checked(result.into()).map(|_| ())
}

/// A name for the kernel. A name with a zero in it names nothing.
pub(crate) fn text(name: &[u8]) -> Sys<CString> {
    CString::new(name).map_err(|_| libc::EINVAL as Errno)
}

/// The descriptor as a path, for calls that take no descriptor of a path.
fn door(fd: &impl AsFd) -> CString {
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    CString::new(path).expect("digits have no zero byte")
}

fn raw(fd: &impl AsFd) -> RawFd {
    fd.as_fd().as_raw_fd()
}

/// Opens a name that lies directly or deeper below the folder.
pub(crate) fn open_at(folder: &impl AsFd, name: &[u8], flags: c_int, mode: u32) -> Sys<OwnedFd> {
    let name = text(name)?;
    // SAFETY: open_how is plain integers, for which zeros are legal.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u32 as u64;
    how.mode = u64::from(mode);
    how.resolve = INSIDE;
    let size = size_of::<libc::open_how>();
    loop {
        // SAFETY: name and `how` live across the call, `size` is that of `how`.
        let fd =
            unsafe { libc::syscall(libc::SYS_openat2, raw(folder), name.as_ptr(), &how, size) };
        match checked(fd) {
            // A rename on the way; the kernel asks to try again.
            Err(error) if error == libc::EAGAIN as Errno => continue,
            Err(error) => return Err(error),
            // SAFETY: the descriptor is new and nobody else's.
            Ok(fd) => return Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }),
        }
    }
}

/// A name as a place, without opening what is there.
pub(crate) fn place_at(folder: &impl AsFd, name: &[u8]) -> Sys<OwnedFd> {
    open_at(folder, name, libc::O_PATH | libc::O_NOFOLLOW, 0)
}

/// Opens what a descriptor of a path stands for, with the rights that the thread has now.
pub(crate) fn reopen(place: &impl AsFd, flags: c_int) -> Sys<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: the path lives across the call.
    let fd = checked(unsafe { libc::open(door(place).as_ptr(), flags) }.into())?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// What statx says, as far as it is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stat {
    pub device: u64,
    pub inode: u64,
    /// Nanoseconds since 1970 when it was made, 0 where the file system does not say.
    pub born: u64,
    pub mode: u32,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub blocks: u64,
    pub special: u64,
    pub access: (i64, u32),
    pub modified: (i64, u32),
    pub changed: (i64, u32),
}

impl Stat {
    pub(crate) fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind() == libc::S_IFREG
    }
}

/// What is behind a descriptor.
pub(crate) fn stat(fd: &impl AsFd) -> Sys<Stat> {
    stat_named(fd, c"", libc::AT_EMPTY_PATH)
}

/// What a name directly in a folder is; a link itself, not what it points to.
pub(crate) fn stat_at(folder: &impl AsFd, name: &[u8]) -> Sys<Stat> {
    stat_named(folder, &text(name)?, libc::AT_SYMLINK_NOFOLLOW)
}

fn stat_named(fd: &impl AsFd, name: &CStr, flags: c_int) -> Sys<Stat> {
    // SAFETY: statx is plain integers, for which zeros are legal.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    // SAFETY: name and `found` live across the call.
    done(unsafe { libc::statx(raw(fd), name.as_ptr(), flags, mask, &mut found) })?;
    let pair = |major: u32, minor: u32| u64::from(major) << 32 | u64::from(minor);
    let time = |time: libc::statx_timestamp| (time.tv_sec, time.tv_nsec);
    let born = match found.stx_mask & libc::STATX_BTIME {
        0 => 0,
        _ => nanoseconds(time(found.stx_btime)) as u64,
    };
    Ok(Stat {
        device: pair(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        born,
        mode: u32::from(found.stx_mode),
        links: found.stx_nlink,
        uid: found.stx_uid,
        gid: found.stx_gid,
        size: found.stx_size,
        blocks: found.stx_blocks,
        special: pair(found.stx_rdev_major, found.stx_rdev_minor),
        access: time(found.stx_atime),
        modified: time(found.stx_mtime),
        changed: time(found.stx_ctime),
    })
}

pub(crate) fn nanoseconds((seconds, rest): (i64, u32)) -> i64 {
    seconds
        .wrapping_mul(1_000_000_000)
        .wrapping_add(i64::from(rest))
}

pub(crate) fn make_folder(folder: &impl AsFd, name: &[u8], mode: u32) -> Sys<()> {
    let name = text(name)?;
    // SAFETY: the name lives across the call.
    done(unsafe { libc::mkdirat(raw(folder), name.as_ptr(), mode) })
}

pub(crate) fn make_special(folder: &impl AsFd, name: &[u8], mode: u32, device: u64) -> Sys<()> {
    let name = text(name)?;
    let device = libc::makedev((device >> 32) as u32, device as u32);
    // SAFETY: the name lives across the call.
    done(unsafe { libc::mknodat(raw(folder), name.as_ptr(), mode, device) })
}

pub(crate) fn make_symlink(folder: &impl AsFd, name: &[u8], target: &[u8]) -> Sys<()> {
    let (name, target) = (text(name)?, text(target)?);
    // SAFETY: both names live across the call.
    done(unsafe { libc::symlinkat(target.as_ptr(), raw(folder), name.as_ptr()) })
}

/// Gives what a descriptor stands for one more name.
pub(crate) fn link(place: &impl AsFd, folder: &impl AsFd, name: &[u8]) -> Sys<()> {
    let (name, place) = (text(name)?, door(place));
    let flags = libc::AT_SYMLINK_FOLLOW;
    // SAFETY: both names live across the call.
    done(unsafe {
        let (from, to) = (libc::AT_FDCWD, raw(folder));
        libc::linkat(from, place.as_ptr(), to, name.as_ptr(), flags)
    })
}

pub(crate) fn unlink(folder: &impl AsFd, name: &[u8], flags: c_int) -> Sys<()> {
    let name = text(name)?;
    // SAFETY: the name lives across the call.
    done(unsafe { libc::unlinkat(raw(folder), name.as_ptr(), flags) })
}

pub(crate) fn rename(
    from: &impl AsFd,
    name: &[u8],
    to: &impl AsFd,
    name2: &[u8],
    flags: u32,
) -> Sys<()> {
    let (name, name2) = (text(name)?, text(name2)?);
    // Older C libraries, and musl's, do not have it as a function.
    // SAFETY: both names live across the call.
    let renamed = unsafe {
        let (from, to) = (raw(from), raw(to));
        libc::syscall(
            libc::SYS_renameat2,
            from,
            name.as_ptr(),
            to,
            name2.as_ptr(),
            flags,
        )
    };
    done(renamed as i32)
}

pub(crate) fn read_link(place: &impl AsFd) -> Sys<Vec<u8>> {
    let mut target = vec![0; crate::protocol::TARGET_MAX + 1];
    // SAFETY: the kernel writes at most the buffer's length.
    let length = checked(unsafe {
        let buffer = target.as_mut_ptr().cast();
        libc::readlinkat(raw(place), c"".as_ptr(), buffer, target.len()) as i64
    })?;
    target.truncate(length as usize);
    Ok(target)
}

pub(crate) fn set_mode(place: &impl AsFd, mode: u32) -> Sys<()> {
    // SAFETY: the path lives across the call.
    done(unsafe { libc::chmod(door(place).as_ptr(), mode) })
}

pub(crate) fn set_owner(place: &impl AsFd, uid: u32, gid: u32) -> Sys<()> {
    // SAFETY: the empty name is a constant.
    done(unsafe { libc::fchownat(raw(place), c"".as_ptr(), uid, gid, libc::AT_EMPTY_PATH) })
}

/// Nanoseconds since 1970, or UTIME_NOW, or UTIME_OMIT.
pub(crate) fn set_times(place: &impl AsFd, times: [libc::timespec; 2]) -> Sys<()> {
    // SAFETY: the empty name is a constant and the times live across the call.
    done(unsafe {
        libc::utimensat(
            raw(place),
            c"".as_ptr(),
            times.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    })
}

pub(crate) fn truncate(place: &impl AsFd, size: u64) -> Sys<()> {
    let size = i64::try_from(size).map_err(|_| libc::EFBIG as Errno)?;
    // SAFETY: the path lives across the call.
    done(unsafe { libc::truncate(door(place).as_ptr(), size) })
}

pub(crate) fn truncate_open(file: &impl AsFd, size: u64) -> Sys<()> {
    let size = i64::try_from(size).map_err(|_| libc::EFBIG as Errno)?;
    // SAFETY: a call without pointers.
    done(unsafe { libc::ftruncate(raw(file), size) })
}

/// Writes at the end, whoever else does at the same time.
pub(crate) fn append(file: &impl AsFd, bytes: &[u8]) -> Sys<usize> {
    let part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: the kernel reads the bytes, which live across the call.
    let wrote = unsafe { libc::pwritev2(raw(file), &part, 1, 0, libc::RWF_APPEND) };
    checked(wrote as i64).map(|wrote| wrote as usize)
}

pub(crate) fn allocate(file: &impl AsFd, flags: u64, offset: u64, bytes: u64) -> Sys<()> {
    let invalid = |_| libc::EINVAL as Errno;
    let flags = c_int::try_from(flags).map_err(invalid)?;
    let offset = i64::try_from(offset).map_err(invalid)?;
    let bytes = i64::try_from(bytes).map_err(invalid)?;
    // SAFETY: a call without pointers.
    done(unsafe { libc::fallocate(raw(file), flags, offset, bytes) })
}

pub(crate) fn seek(file: &impl AsFd, offset: u64, whence: u64) -> Sys<u64> {
    let offset = i64::try_from(offset).map_err(|_| libc::ENXIO as Errno)?;
    let whence = c_int::try_from(whence).map_err(|_| libc::EINVAL as Errno)?;
    // SAFETY: a call without pointers.
    checked(unsafe { libc::lseek(raw(file), offset, whence) }).map(|at| at as u64)
}

/// Whether the thread, as the user that it acts for, may access it.
pub(crate) fn access(place: &impl AsFd, mode: u32) -> Sys<()> {
    let flags = libc::AT_EMPTY_PATH | libc::AT_EACCESS;
    // SAFETY: the empty name is a constant. glibc's wrapper judges by itself, the kernel knows.
    let result =
        unsafe { libc::syscall(libc::SYS_faccessat2, raw(place), c"".as_ptr(), mode, flags) };
    checked(result).map(|_| ())
}

/// Blocks, free, available, files, free files, block size.
pub(crate) fn file_system(place: &impl AsFd) -> Sys<[u64; 6]> {
    // SAFETY: statvfs is plain integers, for which zeros are legal.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `found` lives across the call.
    done(unsafe { libc::fstatvfs(raw(place), &mut found) })?;
    Ok([
        found.f_blocks,
        found.f_bfree,
        found.f_bavail,
        found.f_files,
        found.f_ffree,
        found.f_frsize,
    ])
}

pub(crate) fn get_xattr(place: &impl AsFd, name: &[u8], room: usize) -> Sys<(usize, Vec<u8>)> {
    let (name, door) = (text(name)?, door(place));
    let mut value = vec![0; room];
    // SAFETY: the kernel writes at most the buffer's length; without room it writes nothing.
    let length = checked(unsafe {
        let buffer = value.as_mut_ptr().cast();
        libc::getxattr(door.as_ptr(), name.as_ptr(), buffer, room) as i64
    })?;
    value.truncate(length as usize);
    Ok((length as usize, value))
}

pub(crate) fn list_xattr(place: &impl AsFd, room: usize) -> Sys<(usize, Vec<u8>)> {
    let door = door(place);
    let mut names = vec![0u8; room];
    // SAFETY: the kernel writes at most the buffer's length; without room it writes nothing.
    let length =
        checked(unsafe { libc::listxattr(door.as_ptr(), names.as_mut_ptr().cast(), room) as i64 })?;
    names.truncate(length as usize);
    Ok((length as usize, names))
}

pub(crate) fn set_xattr(place: &impl AsFd, name: &[u8], value: &[u8], flags: u64) -> Sys<()> {
    let (name, door) = (text(name)?, door(place));
    let flags = c_int::try_from(flags).map_err(|_| libc::EINVAL as Errno)?;
    // SAFETY: the kernel reads the value, which lives across the call.
    done(unsafe {
        let bytes = value.as_ptr().cast();
        libc::setxattr(door.as_ptr(), name.as_ptr(), bytes, value.len(), flags)
    })
}

pub(crate) fn remove_xattr(place: &impl AsFd, name: &[u8]) -> Sys<()> {
    let (name, door) = (text(name)?, door(place));
    // SAFETY: both names live across the call.
    done(unsafe { libc::removexattr(door.as_ptr(), name.as_ptr()) })
}

/// One entry as the kernel gives it.
pub(crate) struct RawEntry {
    pub inode: u64,
    pub cookie: u64,
    pub kind: u8,
    pub name: Vec<u8>,
}

/// The next entries of an open folder; none at its end.
pub(crate) fn entries(folder: &impl AsFd) -> Sys<Vec<RawEntry>> {
    let mut buffer = vec![0u8; 32 << 10];
    // SAFETY: the kernel writes at most the buffer's length.
    let length = checked(unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            raw(folder),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    })? as usize;
    let mut entries = Vec::new();
    let mut rest = &buffer[..length];
    // struct linux_dirent64: inode 8, offset 8, length 2, type 1, name with its end mark.
    while rest.len() > 19 {
        let eight = |at: usize| {
            let bytes = rest[at..at + 8].try_into();
            u64::from_ne_bytes(bytes.expect("eight bytes were cut"))
        };
        let length = usize::from(u16::from_ne_bytes([rest[16], rest[17]]));
        let name = rest[19..length.min(rest.len())].split(|&byte| byte == 0);
        entries.push(RawEntry {
            inode: eight(0),
            cookie: eight(8),
            kind: rest[18],
            name: name.into_iter().next().unwrap_or(&[]).to_vec(),
        });
        rest = rest.get(length.max(19)..).unwrap_or(&[]);
    }
    Ok(entries)
}

/// Raises the number of descriptors to what the system permits; that number.
pub(crate) fn raise_descriptors() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives across the calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 1024;
        }
        let had = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            return had;
        }
    }
    limit.rlim_cur
}

/// Modes of new files are what clients say.
pub(crate) fn no_umask() {
    // SAFETY: a call without pointers that cannot fail.
    unsafe { libc::umask(0) };
}

/// The effective user of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: a call without pointers that cannot fail.
    unsafe { libc::geteuid() }
}

/// User, group and other groups of this process; as many groups as travel.
pub(crate) fn own_ids() -> (u32, u32, Vec<u32>) {
    let mut groups = vec![0; 65536];
    // SAFETY: the kernel writes at most as many groups as there is room for.
    let count = unsafe { libc::getgroups(groups.len() as c_int, groups.as_mut_ptr()) };
    groups.truncate(usize::try_from(count).unwrap_or(0));
    groups.truncate(crate::protocol::GROUPS_MAX);
    // SAFETY: a call without pointers that cannot fail.
    (user(), unsafe { libc::getegid() }, groups)
}
