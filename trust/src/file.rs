//! Files that the user names and the program writes.
//!
//! Such files often go to folders that everybody may write to, and root writes them, too. A new
//! file is made so that nothing under its name is followed. A file that is there is overwritten
//! only if it is what an earlier run left: a plain file of the same user, under this name alone.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// For whom a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner only: it holds contents of messages, or secrets.
    Private,
    /// Those that the user's umask admits.
    Usual,
}

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is something else under this name.
    #[error(
        "{} is {kind}, and is not written to: another user may have prepared it; remove it, or \
         name another file",
        path.display()
    )]
    Kind {
        /// The name.
        path: PathBuf,
        /// What there is.
        kind: &'static str,
    },
    /// The file belongs to another user.
    #[error(
        "{} belongs to user {owner} and not to user {own}, which runs this program: it is not \
         overwritten; remove it, or name another file",
        path.display()
    )]
    Owner {
        /// The name.
        path: PathBuf,
        /// The user that has it.
        owner: u32,
        /// The user of this process.
        own: u32,
    },
    /// The file has other names.
    #[error(
        "{} is one of {links} names of its file, and is not overwritten: another user may have \
         linked it; remove the name, or name another file",
        path.display()
    )]
    Links {
        /// The name.
        path: PathBuf,
        /// How many names there are.
        links: u64,
    },
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    System {
        /// The name.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// An empty file at `path`, new or emptied.
pub fn create(path: &Path, access: Access) -> Result<File, FileError> {
    let (file, found) = open(path, access)?;
    if found {
        file.set_len(0).map_err(failure(path))?;
        if access == Access::Private {
            let private = Permissions::from_mode(mode(access));
            file.set_permissions(private).map_err(failure(path))?;
        }
    }
    Ok(file)
}

/// Whether [`create`] would succeed. What lies at `path` stays as it is; where nothing is, nothing
/// is left. For programs that work for minutes before they write.
pub fn would_create(path: &Path, access: Access) -> Result<(), FileError> {
    let (_, found) = open(path, access)?;
    if !found {
        std::fs::remove_file(path).map_err(failure(path))?;
    }
    Ok(())
}

/// The file, and whether it was there before.
fn open(path: &Path, access: Access) -> Result<(File, bool), FileError> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode(access))
        .open(path);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return Ok((made.map_err(failure(path))?, false)),
    }
    // A pipe without a reader would make the program wait, and a terminal become its own.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let found = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path);
    let file = match found {
        Ok(file) => file,
        Err(error) => return Err(kind_of(path).unwrap_or_else(|| failure(path)(error))),
    };
    check(path, &file.metadata().map_err(failure(path))?)?;
    Ok((file, true))
}

fn mode(access: Access) -> u32 {
    match access {
        Access::Private => 0o600,
        Access::Usual => 0o666,
    }
}

/// An error of the system about a path.
fn failure(path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    |source| FileError::System { path, source }
}

/// What there is that cannot be opened; None if that is a plain file.
fn kind_of(path: &Path) -> Option<FileError> {
    let found = path.symlink_metadata().ok()?;
    match check(path, &found) {
        Err(error @ FileError::Kind { .. }) => Some(error),
        _ => None,
    }
}

/// Whether a file is one that an earlier run of this user may have left.
fn check(path: &Path, found: &std::fs::Metadata) -> Result<(), FileError> {
    let kind = found.file_type();
    let kind = match () {
        () if kind.is_file() => None,
        () if kind.is_symlink() => Some("a symbolic link"),
        () if kind.is_fifo() => Some("a named pipe"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_dir() => Some("a folder"),
        () => Some("a device"),
    };
    let path = || path.to_owned();
    if let Some(kind) = kind {
        return Err(FileError::Kind { path: path(), kind });
    }
    // SAFETY: the call takes nothing and cannot fail.
    #[allow(unsafe_code)]
    let own = unsafe { libc::geteuid() };
    let (owner, links) = (found.uid(), found.nlink());
    if owner != own {
        return Err(FileError::Owner {
            path: path(),
            owner,
            own,
        });
    }
    if links > 1 {
        return Err(FileError::Links {
            path: path(),
            links,
        });
    }
    Ok(())
}
