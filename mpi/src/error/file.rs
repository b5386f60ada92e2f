//! What can go wrong with a file, as a request of the program reports it.
//!
//! Files are a layer of their own above this one; their errors are here because a nonblocking
//! access is a request like any other and tells its failure the same way.

use std::fmt;

/// What kind of failure it was; the C interface has an error class for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFault {
    /// There is no such file.
    NoSuchFile,
    /// The file exists, and was to be new.
    Exists,
    /// The process may not.
    Access,
    /// The name cannot be that of a file.
    BadName,
    /// The file is used by a process.
    InUse,
    /// The file or its file system can only be read.
    ReadOnly,
    /// The device is full.
    NoSpace,
    /// The quota is used up.
    Quota,
    /// The device or the system failed.
    Io,
    /// A mode that cannot be, or that does not permit the call.
    Amode,
    /// The processes gave different arguments.
    NotSame,
    /// The call is not possible on this file.
    Unsupported,
    /// An argument that cannot be.
    Argument,
    /// A filetype whose data cannot lie in a file like that.
    Placement,
    /// There is no data representation of this name.
    NoRepresentation,
    /// There is one of this name already.
    RepresentationExists,
    /// A value cannot be converted.
    Conversion,
    /// No memory for the access.
    Memory,
}

impl FileFault {
    /// All of them, in an order that all processes of a job share.
    pub const ALL: [FileFault; 18] = [
        FileFault::NoSuchFile,
        FileFault::Exists,
        FileFault::Access,
        FileFault::BadName,
        FileFault::InUse,
        FileFault::ReadOnly,
        FileFault::NoSpace,
        FileFault::Quota,
        FileFault::Io,
        FileFault::Amode,
        FileFault::NotSame,
        FileFault::Unsupported,
        FileFault::Argument,
        FileFault::Placement,
        FileFault::NoRepresentation,
        FileFault::RepresentationExists,
        FileFault::Conversion,
        FileFault::Memory,
    ];
}

/// A failed operation on a file, with the values that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// What kind of failure.
    pub fault: FileFault,
    /// What was to be done: "cannot open", "cannot write".
    pub action: &'static str,
    /// The file's name.
    pub path: String,
    /// Which bytes of the file: the first, and how many.
    pub range: Option<(u64, u64)>,
    /// The system's error number; 0 if the system was not asked.
    pub errno: i32,
    /// The rank on which it happened, if that is another one.
    pub rank: Option<u32>,
    /// Why, and what to try.
    pub detail: String,
}

/// Writes what was to be done with which bytes of which file.
fn tell_access(
    f: &mut fmt::Formatter<'_>,
    action: &str,
    path: &str,
    range: Option<(u64, u64)>,
) -> fmt::Result {
    write!(f, "{action} {path}")?;
    match range {
        Some((offset, bytes)) => write!(f, ", {bytes} bytes at byte {offset}"),
        None => Ok(()),
    }
}

/// An operation of all processes of a file that one of them, or the way to it, was lost in.
#[derive(Debug)]
pub struct FileLoss {
    /// What was to be done: "cannot open", "cannot write".
    pub action: &'static str,
    /// The file's name.
    pub path: String,
    /// Which bytes of the file this process was to access: the first, and how many.
    pub range: Option<(u64, u64)>,
    /// What was lost.
    pub cause: super::ErrorKind,
}

impl fmt::Display for FileLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tell_access(f, self.action, &self.path, self.range)?;
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for FileLoss {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tell_access(f, self.action, &self.path, self.range)?;
        if let Some(rank) = self.rank {
            write!(f, " (on rank {rank})")?;
        }
        write!(f, ": {}", self.detail)
    }
}

impl std::error::Error for FileError {}
