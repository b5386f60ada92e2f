//! Copying between this host and a server: folders with what is in them, large files with several
//! requests under way.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::output::Progress;
use super::tree::{Found, Remote, RemoteError};
use crate::protocol::DATA_MAX;

/// Requests of one file that are under way at once.
const AT_ONCE: usize = 4;

fn local(path: &Path) -> impl Fn(std::io::Error) -> RemoteError {
    let path = path.to_owned();
    move |error| RemoteError::Local {
        path: path.clone(),
        error,
    }
}

/// Moves the pieces of a file, several at once; `piece` moves one and says how many bytes it was.
fn pieces(
    name: &Path,
    size: u64,
    piece: impl Fn(u64, usize) -> Result<u64, RemoteError> + Sync,
) -> Result<(), RemoteError> {
    let progress = Mutex::new(Progress::new(name.display().to_string(), size));
    let (next, failure) = (AtomicU64::new(0), Mutex::new(None));
    let step = DATA_MAX as u64;
    let work = || {
        loop {
            let offset = next.fetch_add(step, Ordering::Relaxed);
            if offset >= size {
                return;
            }
            match piece(offset, step.min(size - offset) as usize) {
                Ok(bytes) => {
                    if let Ok(mut progress) = progress.lock() {
                        progress.add(bytes);
                    }
                }
                Err(error) => {
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    if let Ok(mut failure) = failure.lock() {
                        failure.get_or_insert(error);
                    }
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = AT_ONCE.min(size.div_ceil(step) as usize);
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

/// From the server to this host.
pub(crate) fn down(
    remote: &Remote,
    found: &Found,
    to: &Path,
    recursive: bool,
) -> Result<(), RemoteError> {
    if found.is_link() {
        let target = remote.readlink(found.node)?;
        return std::os::unix::fs::symlink(OsStr::from_bytes(&target), to).map_err(local(to));
    }
    if !found.is_folder() {
        return down_file(remote, found, to);
    }
    if !recursive {
        let text = "is a folder: copy it with -r".to_owned();
        return Err(RemoteError::Wish(format!("{} {text}", to.display())));
    }
    if !to.is_dir() {
        std::fs::create_dir(to).map_err(local(to))?;
    }
    for entry in remote.entries(found.node)? {
        let below = remote.lookup(found.node, &entry.name)?;
        down(
            remote,
            &below,
            &to.join(OsStr::from_bytes(&entry.name)),
            true,
        )?;
    }
    let mode = std::fs::Permissions::from_mode(found.attr.mode & 0o777);
    std::fs::set_permissions(to, mode).map_err(local(to))
}

fn down_file(remote: &Remote, found: &Found, to: &Path) -> Result<(), RemoteError> {
    if found.attr.mode & libc::S_IFMT != libc::S_IFREG {
        let text = "is neither a file nor a folder nor a link; it is not copied";
        return Err(RemoteError::Wish(format!("{} {text}", to.display())));
    }
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let mode = found.attr.mode & 0o777;
    let file = options.mode(mode).open(to).map_err(local(to))?;
    let open = remote.open(found.node, libc::O_RDONLY)?;
    let copied = pieces(to, found.attr.size, |offset, bytes| {
        let mut had = 0;
        while had < bytes {
            let at = offset + had as u64;
            let data = remote.read(found.node, open, at, bytes - had)?;
            if data.is_empty() {
                break;
            }
            file.write_all_at(&data, at).map_err(local(to))?;
            had += data.len();
        }
        Ok(had as u64)
    });
    remote.client.close(open)?;
    copied
}

/// From this host to the server: as this name in this folder.
pub(crate) fn up(
    remote: &Remote,
    from: &Path,
    folder: &Found,
    name: &[u8],
    recursive: bool,
) -> Result<(), RemoteError> {
    let about = std::fs::symlink_metadata(from).map_err(local(from))?;
    let kind = about.file_type();
    if kind.is_symlink() {
        let target = std::fs::read_link(from).map_err(local(from))?;
        remote.symlink(folder.node, name, target.as_os_str().as_bytes())?;
        return Ok(());
    }
    if kind.is_file() {
        return up_file(remote, from, folder, name, &about);
    }
    if !kind.is_dir() {
        let text = "is neither a file nor a folder nor a link; it is not copied";
        return Err(RemoteError::Wish(format!("{} {text}", from.display())));
    }
    if !recursive {
        let text = "is a folder: copy it with -r";
        return Err(RemoteError::Wish(format!("{} {text}", from.display())));
    }
    let there = match remote.lookup(folder.node, name) {
        Ok(found) if found.is_folder() => found,
        // Writable until everything is in it.
        _ => remote.mkdir(folder.node, name, (about.mode() & 0o777) | 0o700)?,
    };
    for entry in std::fs::read_dir(from).map_err(local(from))? {
        let entry = entry.map_err(local(from))?;
        let name = entry.file_name();
        up(remote, &entry.path(), &there, name.as_bytes(), true)?;
    }
    remote.chmod(there.node, about.mode() & 0o777)
}

fn up_file(
    remote: &Remote,
    from: &Path,
    folder: &Found,
    name: &[u8],
    about: &std::fs::Metadata,
) -> Result<(), RemoteError> {
    let file = File::open(from).map_err(local(from))?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    let mode = about.mode() & 0o777;
    let (found, open) = remote.create(folder.node, name, mode, flags)?;
    let copied = pieces(from, about.len(), |offset, bytes| {
        let mut data = vec![0; bytes];
        file.read_exact_at(&mut data, offset).map_err(local(from))?;
        let wrote = remote.write(found.node, open, offset, data)?;
        match wrote == bytes as u64 {
            true => Ok(wrote),
            false => Err(RemoteError::Server {
                what: String::from_utf8_lossy(name).into_owned(),
                errno: libc::ENOSPC as u32,
            }),
        }
    });
    remote.client.close(open)?;
    copied
}
