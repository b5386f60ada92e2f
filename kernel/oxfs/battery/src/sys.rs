//! System calls that the standard library has not.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

fn checked(result: i64) -> io::Result<i64> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

pub fn mount(source: &str, folder: &Path, options: &str) -> io::Result<()> {
    let words: Vec<&str> = options.split(',').filter(|word| *word != "ro").collect();
    let flags = if options.split(',').any(|word| word == "ro") {
        libc::MS_RDONLY
    } else {
        0
    };
    mount_with("oxfs", source, folder, flags, &words.join(","))
}

/// A file system of another kind, which needs no source.
pub fn mount_kind(kind: &str, folder: &Path, options: &str) -> io::Result<()> {
    mount_with(kind, kind, folder, 0, options)
}

fn mount_with(
    kind: &str,
    source: &str,
    folder: &Path,
    flags: libc::c_ulong,
    data: &str,
) -> io::Result<()> {
    let (source, target, kind) = (c_text(source), c_path(folder), c_text(kind));
    let data = c_text(data);
    // SAFETY: all are strings with an end, alive during the call.
    let result = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    checked(result.into()).map(|_| ())
}

pub fn unmount(folder: &Path, flags: i32) -> io::Result<()> {
    let folder = c_path(folder);
    // SAFETY: a string with an end.
    checked(unsafe { libc::umount2(folder.as_ptr(), flags) }.into()).map(|_| ())
}

/// A key of type "user" in the session's keyring; its number.
pub fn add_key(description: &str, payload: &[u8]) -> Result<i64, String> {
    const SESSION: i64 = -3;
    let (kind, name) = (c_text("user"), c_text(description));
    // SAFETY: strings with an end, and a payload with its length.
    let key = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            kind.as_ptr(),
            name.as_ptr(),
            payload.as_ptr(),
            payload.len(),
            SESSION,
        )
    };
    checked(key).map_err(|error| format!("add_key: {error}"))
}

pub fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).map_err(|error| error.to_string())
}

/// The command's process leads a group that can be killed together.
pub fn lead_group(command: &mut Command) {
    command.process_group(0);
}

pub fn kill_group(leader: u32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

pub fn signal(process: u32, signal: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(process as i32, signal) };
}

pub fn mknod(path: &Path, mode: u32, device: u64) -> io::Result<()> {
    let path = c_path(path);
    // SAFETY: a string with an end.
    checked(unsafe { libc::mknod(path.as_ptr(), mode, device) }.into()).map(|_| ())
}

pub fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (c_path(from), c_path(to));
    // SAFETY: strings with an end.
    let result = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            flags,
        )
    };
    checked(result.into()).map(|_| ())
}

pub fn fallocate(file: &File, mode: i32, offset: i64, bytes: i64) -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, bytes) }.into()).map(|_| ())
}

pub fn seek(file: &File, offset: i64, whence: i32) -> io::Result<i64> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::lseek(file.as_raw_fd(), offset, whence) })
}

pub fn statfs(path: &Path) -> io::Result<libc::statfs> {
    let path = c_path(path);
    // SAFETY: zeros are a value of this structure.
    let mut to: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a string with an end, and room for the answer.
    checked(unsafe { libc::statfs(path.as_ptr(), &raw mut to) }.into())?;
    Ok(to)
}

pub fn set_xattr(path: &Path, name: &str, value: &[u8], flags: i32) -> io::Result<()> {
    let (path, name) = (c_path(path), c_text(name));
    // SAFETY: strings with an end, and a value with its length.
    let result = unsafe {
        libc::setxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            flags,
        )
    };
    checked(result.into()).map(|_| ())
}

pub fn get_xattr(path: &Path, name: &str, room: usize) -> io::Result<Vec<u8>> {
    let (path, name) = (c_path(path), c_text(name));
    let mut value = vec![0u8; room];
    // SAFETY: strings with an end, and room with its length.
    let bytes = unsafe {
        libc::getxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            room,
        )
    };
    value.resize(checked(bytes as i64)? as usize, 0);
    Ok(value)
}

pub fn list_xattr(path: &Path) -> io::Result<Vec<u8>> {
    let path = c_path(path);
    let mut names = vec![0u8; 4096];
    // SAFETY: a string with an end, and room with its length.
    let bytes = unsafe { libc::listxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    names.truncate(checked(bytes as i64)? as usize);
    Ok(names)
}

pub fn remove_xattr(path: &Path, name: &str) -> io::Result<()> {
    let (path, name) = (c_path(path), c_text(name));
    // SAFETY: strings with an end.
    checked(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) }.into()).map(|_| ())
}

/// fcntl's locks. `command` is F_SETLK, F_SETLKW or F_GETLK.
pub fn lock(file: &File, command: i32, kind: i32, first: i64, bytes: i64) -> io::Result<i32> {
    let mut lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: first,
        l_len: bytes,
        l_pid: 0,
    };
    // SAFETY: the structure that these commands take.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) }.into())?;
    Ok(lock.l_type.into())
}

pub fn flock(file: &File, how: i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::flock(file.as_raw_fd(), how) }.into()).map(|_| ())
}

/// Runs something in a child; its exit status.
pub fn in_child(run: impl FnOnce() -> i32) -> io::Result<u32> {
    // SAFETY: these programs have one thread when they fork, but for readers of pipes.
    match checked(unsafe { libc::fork() }.into())? {
        0 => {
            let status = run();
            // SAFETY: ends the child without running what belongs to its parent.
            unsafe { libc::_exit(status) }
        }
        child => Ok(child as u32),
    }
}

/// The exit status of a child, or 128 and its signal.
pub fn wait(child: u32) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: room for the status.
    checked(unsafe { libc::waitpid(child as i32, &raw mut status, 0) }.into())?;
    match libc::WIFEXITED(status) {
        true => Ok(libc::WEXITSTATUS(status)),
        false => Ok(128 + libc::WTERMSIG(status)),
    }
}

/// Whether a child has ended.
pub fn has_ended(child: u32) -> bool {
    let mut status = 0;
    // SAFETY: room for the status.
    unsafe { libc::waitpid(child as i32, &raw mut status, libc::WNOHANG) != 0 }
}

/// Becomes another user, for good.
pub fn become_user(user: u32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::setgroups(0, std::ptr::null()) }.into())?;
    // SAFETY: no memory is involved.
    checked(unsafe { libc::setresgid(user, user, user) }.into())?;
    // SAFETY: no memory is involved.
    checked(unsafe { libc::setresuid(user, user, user) }.into()).map(|_| ())
}

/// Opens with flags of C.
pub fn open(path: &Path, flags: i32, mode: u32) -> io::Result<File> {
    let path = c_path(path);
    // SAFETY: a string with an end.
    let fd = checked(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) }.into())?;
    // SAFETY: just opened, and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

/// A file's size, by statx with flags.
pub fn size_by_statx(path: &Path, flags: i32) -> io::Result<u64> {
    let path = c_path(path);
    // SAFETY: statx is plain integers, for which zeros are legal.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let (at, mask) = (libc::AT_FDCWD, libc::STATX_BASIC_STATS);
    // SAFETY: a string with an end, and room for the result.
    checked(unsafe { libc::statx(at, path.as_ptr(), flags, mask, &raw mut found) }.into())?;
    Ok(found.stx_size)
}

/// Memory of a file.
pub struct Mapping {
    address: *mut u8,
    bytes: usize,
}

impl Mapping {
    pub fn new(file: &File, bytes: usize, shared: bool) -> io::Result<Mapping> {
        let flags = if shared {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                flags,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = address.cast();
        Ok(Mapping { address, bytes })
    }

    pub fn get(&self, at: usize) -> u8 {
        assert!(at < self.bytes);
        // SAFETY: inside of the mapping, which others may write to at any time.
        unsafe { self.address.add(at).read_volatile() }
    }

    pub fn set(&mut self, at: usize, value: u8) {
        assert!(at < self.bytes);
        // SAFETY: inside of the mapping.
        unsafe { self.address.add(at).write_volatile(value) };
    }

    /// Bytes that nobody changes as long as the result is used.
    pub fn part(&self, at: usize, bytes: usize) -> &[u8] {
        assert!(at + bytes <= self.bytes);
        // SAFETY: inside of the mapping, which lives as long as the result.
        unsafe { std::slice::from_raw_parts(self.address.add(at), bytes) }
    }

    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the mapping itself.
        let result = unsafe { libc::msync(self.address.cast(), self.bytes, libc::MS_SYNC) };
        checked(result.into()).map(|_| ())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping itself, which nobody uses any more.
        unsafe { libc::munmap(self.address.cast(), self.bytes) };
    }
}
