//! Reading and writing a file of a mounted folder, through the page cache and past it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is read and written: enough to be many calls, little enough for a slow server.
const FILE_BYTES: usize = 4 << 20;
/// O_DIRECT wants memory aligned to blocks.
const ALIGNMENT: usize = 4096;

/// A folder that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub folder: PathBuf,
    /// By which file system.
    pub kind: String,
}

/// Those of these file systems, out of /proc/self/mounts.
pub fn mounts(text: &str, kinds: &[&str]) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind) = (words.next()?, words.next()?);
        kinds.contains(&kind).then(|| Mount {
            // The kernel writes a blank as \040.
            folder: folder.replace("\\040", " ").into(),
            kind: kind.to_owned(),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// A way of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To the page cache, and then to the server.
    BufferedWrite,
    /// From the page cache, emptied before.
    BufferedRead,
    /// Past the page cache.
    DirectWrite,
    /// Past the page cache.
    DirectRead,
}

impl Access {
    /// All of them, in the order of the guest's table.
    pub const ALL: [Access; 4] = [
        Access::BufferedWrite,
        Access::BufferedRead,
        Access::DirectWrite,
        Access::DirectRead,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Access::BufferedWrite => "buffered write",
            Access::BufferedRead => "buffered read",
            Access::DirectWrite => "direct write",
            Access::DirectRead => "direct read",
        }
    }

    fn is_write(self) -> bool {
        matches!(self, Access::BufferedWrite | Access::DirectWrite)
    }

    fn is_direct(self) -> bool {
        matches!(self, Access::DirectWrite | Access::DirectRead)
    }
}

/// A file that goes when this does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// MB/s of each repetition, in calls of so many bytes.
pub fn measure(
    folder: &Path,
    access: Access,
    call: usize,
    repetitions: usize,
) -> io::Result<Vec<f64>> {
    let name = format!(".oxmpi-bench-{}", std::process::id());
    let scratch = Scratch(folder.join(name));
    let mut first = File::create(&scratch.0)?;
    first.write_all(&vec![7; FILE_BYTES])?;
    first.sync_all()?;
    let mut memory = vec![0u8; call + ALIGNMENT];
    let begin = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[begin..begin + call];
    buffer.fill(7);
    let mut rates = Vec::new();
    for _ in 0..repetitions {
        let mut file = open(&scratch.0, access)?;
        let start = Instant::now();
        for _ in 0..FILE_BYTES / call {
            match access.is_write() {
                true => file.write_all(buffer)?,
                false => file.read_exact(buffer)?,
            }
        }
        if access.is_write() {
            file.sync_data()?;
        }
        rates.push(FILE_BYTES as f64 / 1e6 / start.elapsed().as_secs_f64());
    }
    Ok(rates)
}

fn open(path: &Path, access: Access) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let mut options = OpenOptions::new();
    options.read(true).write(access.is_write());
    if access.is_direct() {
        options.custom_flags(libc::O_DIRECT);
    }
    let file = options.open(path)?;
    if access == Access::BufferedRead {
        // SAFETY: a system call without memory, on an open descriptor. Its answer does not matter:
        // pages that stay make the read faster, which the table then shows.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_their_file_system() {
        let text = "tmpfs /tmp tmpfs rw 0 0\nh1:/x /mnt/a\\040b oxfs rw 0 0\nh1:/ /n nfs4 rw 0 0\n";
        let found = mounts(text, &["oxfs", "nfs4"]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].folder, Path::new("/mnt/a b"));
        assert_eq!(found[1].kind, "nfs4");
    }

    #[test]
    fn every_access_has_a_rate_and_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("oxmpi-mounted-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        for access in Access::ALL {
            match measure(&folder, access, 64 << 10, 2) {
                Ok(rates) => assert!(rates.len() == 2 && rates.iter().all(|rate| *rate > 0.0)),
                // Not every file system can be accessed past the page cache.
                Err(error) if access.is_direct() => {
                    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
                }
                Err(error) => panic!("{}: {error}", access.name()),
            }
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }
}
