//! The system's calls on a file: whole reads and writes, sizes, locks. The crate's calls of libc
//! are all here, but for those on shared memory (`mapped`).

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use oxmpi_core::FileError;

use crate::failure::{fault, named, system};

type Result<T> = std::result::Result<T, Box<FileError>>;

/// Bytes that one call moves at most; Linux moves a little less than 2 GiB.
const CALL_MAX: usize = 1 << 30;

/// An open file with its name.
#[derive(Debug)]
pub(crate) struct Disk {
    descriptor: OwnedFd,
    path: PathBuf,
    /// A file that was asked for writing only could not be opened for reading as well.
    pub(crate) unreadable: bool,
    /// It lies on NFS, of which every host has caches of its own.
    pub(crate) is_nfs: bool,
}

/// Memory that lives as long as the access: the program vouches for it, or the caller owns it.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) address: *mut u8,
    pub(crate) bytes: usize,
}

impl Span {
    pub(crate) fn of(memory: &mut [u8]) -> Span {
        Span {
            address: memory.as_mut_ptr(),
            bytes: memory.len(),
        }
    }

    pub(crate) fn part(&self, from: u64, bytes: u64) -> Span {
        assert!(from + bytes <= self.bytes as u64, "a part lies inside");
        Span {
            address: self.address.wrapping_add(from as usize),
            bytes: bytes as usize,
        }
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// A name as the system takes it, without a prefix that names a kind of file system.
pub(crate) fn plain_path(name: &[u8]) -> PathBuf {
    const KINDS: [&[u8]; 6] = [b"ufs:", b"nfs:", b"xfs:", b"lustre:", b"testfs:", b"file:"];
    let bare = KINDS.iter().find_map(|kind| name.strip_prefix(*kind));
    PathBuf::from(std::ffi::OsStr::from_bytes(bare.unwrap_or(name)))
}

fn c_path(action: &'static str, path: &Path) -> Result<CString> {
    if path.as_os_str().is_empty() {
        let error = fault(oxmpi_core::FileFault::BadName, action, "the name is empty");
        return Err(named(error, path));
    }
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        let why = "the name has a zero byte in it";
        named(fault(oxmpi_core::FileFault::BadName, action, why), path)
    })
}

/// Takes a name out of its folder.
pub(crate) fn unlink(path: &Path) -> Result<()> {
    let name = c_path("cannot delete", path)?;
    // SAFETY: the name is a text that ends with zero.
    match unsafe { libc::unlink(name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(system("cannot delete", path, None, errno())),
    }
}

/// The kind of file system that NFS is.
const NFS: u64 = libc::NFS_SUPER_MAGIC as u64;

/// The kind of file system that a file lies on, by the system's numbers; 0 if that is not known.
fn kind(descriptor: &OwnedFd) -> u64 {
    // SAFETY: all-zero is a valid value of the structure, which the call fills.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the structure is there.
    let got = unsafe { libc::fstatfs(descriptor.as_raw_fd(), &mut status) };
    if got == 0 { status.f_type as u64 } else { 0 }
}

impl Disk {
    /// Opens; `flags` are the system's. What is opened for writing only is opened for reading as
    /// well where that is allowed: aggregated and sieved writes may have to read.
    pub(crate) fn open(path: &Path, flags: i32, permissions: u32) -> Result<Disk> {
        let name = c_path("cannot open", path)?;
        let open = |flags: i32| loop {
            // SAFETY: the name is a text that ends with zero; the call takes nothing else by
            // address.
            let got = unsafe { libc::open(name.as_ptr(), flags | libc::O_CLOEXEC, permissions) };
            if got >= 0 || errno() != libc::EINTR {
                return got;
            }
        };
        let mut unreadable = false;
        let mut got = match flags & libc::O_ACCMODE {
            libc::O_WRONLY => open(flags & !libc::O_ACCMODE | libc::O_RDWR),
            _ => open(flags),
        };
        if got < 0 && flags & libc::O_ACCMODE == libc::O_WRONLY && errno() == libc::EACCES {
            got = open(flags);
            unreadable = true;
        }
        if got < 0 {
            return Err(system("cannot open", path, None, errno()));
        }
        // SAFETY: the descriptor is new and nothing else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(got) };
        let kind = kind(&descriptor);
        let disk = Disk {
            descriptor,
            path: path.to_owned(),
            unreadable,
            is_nfs: kind == NFS,
        };
        if disk.status()?.st_mode & libc::S_IFMT == libc::S_IFDIR {
            return Err(system("cannot open", path, None, libc::EISDIR));
        }
        Ok(disk)
    }

    /// Opens what is known to be there. A client of NFS remembers for a while that there was no such
    /// file; asked to make it, it looks at the server, where another host has made it.
    pub(crate) fn open_existing(path: &Path, flags: i32, permissions: u32) -> Result<Disk> {
        Disk::open(path, flags, permissions).or_else(|error| {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let is_nfs = || {
                let folder = std::fs::File::open(folder);
                folder.is_ok_and(|folder| kind(&folder.into()) == NFS)
            };
            match error.errno == libc::ENOENT && is_nfs() {
                true => Disk::open(path, flags | libc::O_CREAT, permissions),
                false => Err(error),
            }
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn raw(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn status(&self) -> Result<libc::stat> {
        // SAFETY: all-zero is a valid value of the structure, which the call fills.
        let mut status = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and the structure is there.
        match unsafe { libc::fstat(self.raw(), &mut status) } {
            0 => Ok(status),
            _ => Err(self.failed("cannot look at", None)),
        }
    }

    #[cold]
    fn failed(&self, action: &'static str, range: Option<(u64, u64)>) -> Box<FileError> {
        system(action, &self.path, range, errno())
    }

    /// The file's length.
    pub(crate) fn size(&self) -> Result<u64> {
        let status = self.status()?;
        match status.st_mode & libc::S_IFMT {
            // A device's length is where its end is.
            libc::S_IFBLK => Ok(self.next(libc::SEEK_END, 0).unwrap_or(0)),
            _ => Ok(status.st_size as u64),
        }
    }

    /// Cuts or lengthens the file.
    pub(crate) fn set_size(&self, size: u64) -> Result<()> {
        loop {
            // SAFETY: the descriptor is open.
            if unsafe { libc::ftruncate(self.raw(), size as i64) } == 0 {
                return Ok(());
            }
            if errno() != libc::EINTR {
                return Err(self.failed("cannot set the size of", Some((0, size))));
            }
        }
    }

    /// Reserves room up to a length. File systems that cannot are given zeros to write where the
    /// file has nothing yet: behind its end, and in holes if this host alone writes to it. What
    /// another host has not sent to its server yet would look like a hole.
    pub(crate) fn preallocate(&self, size: u64, is_alone: bool) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        // On older kernels tmpfs gives all of it back when a signal comes, so a timer could keep
        // this from ever ending.
        let old = block_signals();
        let reserved = loop {
            // SAFETY: the descriptor is open.
            match unsafe { libc::fallocate(self.raw(), 0, 0, size as i64) } {
                0 => break Ok(true),
                _ if errno() == libc::EINTR => {}
                _ if matches!(errno(), libc::EOPNOTSUPP | libc::ENOSYS) => break Ok(false),
                _ => break Err(self.failed("cannot reserve room for", Some((0, size)))),
            }
        };
        restore_signals(&old);
        match reserved? {
            true => Ok(()),
            false if is_alone => self.fill_holes(0, size),
            false => self.fill_holes(self.size()?, size),
        }
    }

    /// Writes zeros where the file has nothing, from a byte on up to a length.
    fn fill_holes(&self, mut at: u64, size: u64) -> Result<()> {
        let zeros = vec![0; 1 << 20];
        while at < size {
            // A file system that does not know holes has none before the end; behind it lies
            // nothing at all.
            let end = self.size()?;
            let hole = self.next(libc::SEEK_HOLE, at).unwrap_or(end.max(at));
            let data = self.next(libc::SEEK_DATA, hole).unwrap_or(size).min(size);
            at = hole;
            while at < data {
                let some = (data - at).min(zeros.len() as u64);
                self.write(at, &zeros[..some as usize])?;
                at += some;
            }
        }
        Ok(())
    }

    /// The next hole, or the next data, at a byte or behind it; nothing if there is none.
    fn next(&self, what: i32, from: u64) -> Option<u64> {
        // Nobody uses the descriptor's own position.
        // SAFETY: the descriptor is open.
        let got = unsafe { libc::lseek(self.raw(), from as i64, what) };
        u64::try_from(got).ok()
    }

    /// Everything written by processes of this host goes to the device.
    pub(crate) fn sync(&self) -> Result<()> {
        loop {
            // SAFETY: the descriptor is open.
            if unsafe { libc::fsync(self.raw()) } == 0 {
                return Ok(());
            }
            match errno() {
                libc::EINTR => {}
                // A file on read-only media, or a special one: nothing can be dirty.
                libc::EROFS | libc::EINVAL => return Ok(()),
                _ => return Err(self.failed("cannot bring to the device", None)),
            }
        }
    }

    /// Ends an open of the file, as closing it does, and tells how that went: a client of NFS sends
    /// what it has kept, and may hear only then that its server has no room. Local file systems do
    /// nothing. The file stays open.
    pub(crate) fn hand_over(&self) -> Result<()> {
        loop {
            // SAFETY: the descriptor is open; a new one for the same open file has no owner yet.
            let again = unsafe { libc::fcntl(self.raw(), libc::F_DUPFD_CLOEXEC, 0) };
            if again < 0 {
                // No more descriptors: then by the longer way.
                return self.sync();
            }
            // SAFETY: the descriptor is new, and given back here even if this fails.
            match unsafe { libc::close(again) } {
                0 => return Ok(()),
                _ if errno() == libc::EINTR => {}
                _ => return Err(self.failed("cannot close", None)),
            }
        }
    }

    /// Reads until the memory is full or the file ends; returns the bytes read.
    pub(crate) fn read_at(&self, offset: u64, memory: Span) -> Result<usize> {
        let mut done = 0;
        while done < memory.bytes {
            let some = (memory.bytes - done).min(CALL_MAX);
            let address = memory.address.wrapping_add(done).cast();
            let at = (offset + done as u64) as i64;
            // SAFETY: whoever made the span promises the memory.
            match unsafe { libc::pread(self.raw(), address, some, at) } {
                0 => break,
                got if got > 0 => done += got as usize,
                _ if errno() == libc::EINTR => {}
                _ => {
                    let range = Some((at as u64, (memory.bytes - done) as u64));
                    return Err(self.failed("cannot read", range));
                }
            }
        }
        Ok(done)
    }

    /// The same into a slice.
    pub(crate) fn read(&self, offset: u64, memory: &mut [u8]) -> Result<usize> {
        self.read_at(offset, Span::of(memory))
    }

    /// Writes all of the memory.
    pub(crate) fn write_at(&self, offset: u64, memory: Span) -> Result<()> {
        let mut done = 0;
        while done < memory.bytes {
            let some = (memory.bytes - done).min(CALL_MAX);
            let address = memory.address.wrapping_add(done).cast();
            let at = (offset + done as u64) as i64;
            // SAFETY: whoever made the span promises the memory.
            match unsafe { libc::pwrite(self.raw(), address, some, at) } {
                got if got > 0 => done += got as usize,
                got if got < 0 && errno() == libc::EINTR => {}
                got => {
                    let range = Some((at as u64, (memory.bytes - done) as u64));
                    // A device that takes nothing and gives no reason has failed.
                    let why = if got < 0 { errno() } else { libc::EIO };
                    return Err(system("cannot write", &self.path, range, why));
                }
            }
        }
        Ok(())
    }

    /// The same from a slice.
    pub(crate) fn write(&self, offset: u64, memory: &[u8]) -> Result<()> {
        let span = Span {
            address: memory.as_ptr().cast_mut(),
            bytes: memory.len(),
        };
        self.write_at(offset, span)
    }

    /// Keeps other processes out of a range until the lock is dropped: all of them, or only those
    /// that would write.
    pub(crate) fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<Lock<'_>> {
        let kind = if exclusive {
            libc::F_WRLCK
        } else {
            libc::F_RDLCK
        };
        self.set_lock(kind, offset, bytes)?;
        Ok(Lock {
            disk: self,
            offset,
            bytes,
        })
    }

    fn set_lock(&self, kind: i32, offset: u64, bytes: u64) -> Result<()> {
        // SAFETY: all-zero is a valid value of the structure.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as i16;
        lock.l_whence = libc::SEEK_SET as i16;
        lock.l_start = offset as i64;
        lock.l_len = bytes as i64;
        loop {
            // SAFETY: the descriptor is open, and the structure is there during the call. The lock
            // belongs to the open file, not to the process, so closing another one keeps it.
            if unsafe { libc::fcntl(self.raw(), libc::F_OFD_SETLKW, &lock) } == 0 {
                return Ok(());
            }
            if errno() != libc::EINTR {
                return Err(self.failed("cannot lock", Some((offset, bytes))));
            }
        }
    }
}

/// A range of a file from which others are kept out.
pub(crate) struct Lock<'d> {
    disk: &'d Disk,
    offset: u64,
    bytes: u64,
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Giving back a lock that is held cannot fail but with the file itself.
        let _ = self.disk.set_lock(libc::F_UNLCK, self.offset, self.bytes);
    }
}

/// The signals that a thread takes.
pub(crate) struct Signals(libc::sigset_t);

/// Keeps signals away from this thread, and from a thread that it starts now: they are for the
/// program's own.
pub(crate) fn block_signals() -> Signals {
    // SAFETY: all-zero is a valid value of both sets, which the calls fill.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        Signals(old)
    }
}

/// Takes them again.
pub(crate) fn restore_signals(old: &Signals) {
    // SAFETY: the set was filled by `block_signals`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old.0, std::ptr::null_mut()) };
}
