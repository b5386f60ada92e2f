//! Errors of files: from the system's numbers to faults with a text, and from one process to all.

use std::path::Path;

use oxmpi_core::{FileError, FileFault};

/// A failure that the system was not asked about. The file's name is filled in by [`named`].
#[cold]
pub(crate) fn fault(fault: FileFault, action: &'static str, why: impl Into<String>) -> FileError {
    FileError {
        fault,
        action,
        path: "the file".into(),
        range: None,
        errno: 0,
        rank: None,
        detail: why.into(),
    }
}

/// The same with the file's name.
#[cold]
pub(crate) fn named(mut error: FileError, path: &Path) -> Box<FileError> {
    error.path = path.display().to_string();
    Box::new(error)
}

/// What the system said.
#[cold]
pub(crate) fn system(
    action: &'static str,
    path: &Path,
    range: Option<(u64, u64)>,
    errno: i32,
) -> Box<FileError> {
    Box::new(FileError {
        fault: fault_of(errno),
        action,
        path: path.display().to_string(),
        range,
        errno,
        rank: None,
        detail: detail_of(errno),
    })
}

fn fault_of(errno: i32) -> FileFault {
    match errno {
        libc::ENOENT => FileFault::NoSuchFile,
        libc::EEXIST => FileFault::Exists,
        libc::EACCES | libc::EPERM => FileFault::Access,
        libc::EISDIR | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => FileFault::BadName,
        libc::EBUSY | libc::ETXTBSY => FileFault::InUse,
        libc::EROFS => FileFault::ReadOnly,
        libc::ENOSPC | libc::EFBIG => FileFault::NoSpace,
        libc::EDQUOT => FileFault::Quota,
        libc::ENOMEM => FileFault::Memory,
        _ => FileFault::Io,
    }
}

fn detail_of(errno: i32) -> String {
    let said = std::io::Error::from_raw_os_error(errno);
    let hint = match errno {
        libc::ENOENT => "check the name, or add MPI_MODE_CREATE",
        libc::EEXIST => "leave MPI_MODE_EXCL out to open the file that is there",
        libc::EACCES | libc::EPERM => "check the permissions of the file and of its folders",
        libc::EROFS => "open it with MPI_MODE_RDONLY, or choose another file system",
        libc::ENOSPC => "the file system is full: make room, or write elsewhere",
        libc::EDQUOT => "the quota is used up: make room, or ask for more",
        libc::EFBIG => "the file would be longer than the file system or the limit allows",
        libc::ENOLCK => "the file system gives no locks, which atomic mode needs",
        libc::EIO => "the device failed; see the system's log",
        _ => return said.to_string(),
    };
    format!("{said}; {hint}")
}

/// Numbers of a report for the other processes; 0 first if nothing failed.
pub(crate) const REPORT_WORDS: usize = 4;

/// What the other processes are told of this one's outcome.
pub(crate) fn report(error: Option<&FileError>) -> [u64; REPORT_WORDS] {
    let Some(error) = error else {
        return [0; REPORT_WORDS];
    };
    let fault = FileFault::ALL
        .iter()
        .position(|fault| *fault == error.fault);
    let (offset, bytes) = error.range.unwrap_or((u64::MAX, 0));
    [
        1 + fault.expect("every fault is listed") as u64,
        error.errno as u64,
        offset,
        bytes,
    ]
}

/// The error that another process has reported.
pub(crate) fn reported(
    words: &[u64],
    rank: u32,
    action: &'static str,
    path: &Path,
) -> Option<Box<FileError>> {
    let fault = *FileFault::ALL.get((words[0] as usize).checked_sub(1)?)?;
    let errno = words[1] as i32;
    let detail = match errno {
        0 => "see that rank's own error".to_owned(),
        _ => detail_of(errno),
    };
    Some(Box::new(FileError {
        fault,
        action,
        path: path.display().to_string(),
        range: (words[2] != u64::MAX).then_some((words[2], words[3])),
        errno,
        rank: Some(rank),
        detail,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_file_range_and_remedy() {
        let path = Path::new("/scratch/a.dat");
        let error = system("cannot write", path, Some((4096, 512)), libc::ENOSPC);
        assert_eq!(error.fault, FileFault::NoSpace);
        let told = reported(&report(Some(&error)), 3, "cannot write", path).unwrap();
        assert_eq!(
            told.to_string(),
            "cannot write /scratch/a.dat, 512 bytes at byte 4096 (on rank 3): No space left on \
             device (os error 28); the file system is full: make room, or write elsewhere"
        );
        assert!(reported(&report(None), 0, "cannot write", path).is_none());
    }
}
