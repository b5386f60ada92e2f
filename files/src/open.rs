//! Opening, closing and deleting.
//!
//! Rank 0 opens first: it alone makes the file, so that MPI_MODE_EXCL means what it says. The
//! others open what is there then. If one cannot, all fail.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxmpi_core::communicator::Comm;
use oxmpi_core::info::Info;
use oxmpi_core::{ErrorKind, FileError, FileFault};

use crate::amode::Amode;
use crate::config_list::{ConfigList, chosen};
use crate::failure::{REPORT_WORDS, fault, named, report, reported};
use crate::file::File;
use crate::hints::{Hints, Switch};
use crate::job::{Inner, lock};
use crate::mapped::Mapped;
use crate::pointer::Whence;
use crate::settle::{first_error, hear_first, is_one_host, tell_all};
use crate::shared::{SharedPointer, WORD_BYTES};
use crate::sys::{Disk, plain_path, unlink};

type Result<T> = std::result::Result<T, ErrorKind>;

const ACTION: &str = "cannot open";

/// What ranks tell each other of themselves: it has the word of the shared pointer; it writes holes
/// along with its pieces.
const HAS_WORD: u64 = 1;
const SIEVES: u64 = 2;

/// What a rank that refuses to open gives for its mode: no mode at all.
const REFUSED: u64 = u64::MAX;

/// Deletes a file (MPI_File_delete).
pub fn delete(name: &[u8]) -> Result<()> {
    Ok(unlink(&plain_path(name))?)
}

impl File {
    /// Opens a file. All processes of the communicator call it with the same mode and with names
    /// of the same file.
    pub fn open(comm: &Comm, name: &[u8], amode: i32, info: Option<&Info>) -> Result<File> {
        if comm.is_inter() {
            let error = ErrorKind::OneGroupOnly {
                collective: "MPI_File_open",
            };
            return Err(error);
        }
        let comm = Arc::new(comm.dup()?);
        let path = plain_path(name);
        let mode = Amode::new(amode).map_err(|error| named(error, &path));
        let words = report(mode.as_ref().err().map(|error| &**error));
        let all = tell_all(
            &comm,
            &[words[0], words[1], words[2], words[3], amode as u64],
        )?;
        let mode = mode?;
        same_mode(&all, amode, &path)?;
        let mut hints = Hints::default();
        if let Some(info) = info {
            hints.update(info);
            let list = info.get_text("cb_config_list");
            hints.config_list = list.and_then(|list| ConfigList::parse(&list));
        }
        let permissions = permissions(info);
        // Rank 0 first; its words are its report and where the shared pointer is.
        let mut first = [0; REPORT_WORDS + 2];
        let mut disk = None;
        let mut word = None;
        if comm.rank() == 0 {
            let opened = Disk::open(&path, flags(mode, true), permissions);
            first[..REPORT_WORDS].copy_from_slice(&report(opened.as_ref().err().map(|e| &**e)));
            if is_one_host(&comm) {
                word = Mapped::new(WORD_BYTES);
            }
            if let Some(word) = &word {
                first[REPORT_WORDS] = u64::from(std::process::id());
                first[REPORT_WORDS + 1] = word.number() as u64;
            }
            disk = Some(opened);
        }
        hear_first(&comm, &mut first)?;
        let disk = match disk {
            Some(opened) => opened?,
            None => {
                if let Some(error) = reported(&first[..REPORT_WORDS], 0, ACTION, &path) {
                    return Err(error.into());
                }
                let process = first[REPORT_WORDS] as u32;
                if process != 0 {
                    let descriptor = first[REPORT_WORDS + 1] as i32;
                    word = Mapped::open(process, descriptor, WORD_BYTES);
                }
                return Self::joined(comm, path, mode, permissions, word, hints);
            }
        };
        Self::complete(comm, path, mode, Ok(disk), word, hints)
    }

    /// Takes part in [`File::open`] of the others, whose arguments this process refuses: they fail.
    pub fn refuse_open(comm: &Comm) {
        let refusal = fault(FileFault::Argument, ACTION, "its arguments were refused");
        if let Ok(comm) = comm.dup().map(Arc::new) {
            let words = report(Some(&refusal));
            // This call fails anyway; if the others cannot be told they fail for the same reason.
            let _ = tell_all(&comm, &[words[0], words[1], words[2], words[3], REFUSED]);
        }
    }

    /// Opens what rank 0 has opened.
    fn joined(
        comm: Arc<Comm>,
        path: PathBuf,
        mode: Amode,
        permissions: u32,
        word: Option<Mapped>,
        hints: Hints,
    ) -> Result<File> {
        let disk = Disk::open_existing(&path, flags(mode, false), permissions);
        Self::complete(comm, path, mode, disk, word, hints)
    }

    /// All tell how it went, and the file is open if it went well for all.
    fn complete(
        comm: Arc<Comm>,
        path: PathBuf,
        mode: Amode,
        disk: std::result::Result<Disk, Box<FileError>>,
        word: Option<Mapped>,
        mut hints: Hints,
    ) -> Result<File> {
        const WORDS: usize = REPORT_WORDS + 2;
        let words = report(disk.as_ref().err().map(|error| &**error));
        let mut flags = 0;
        if word.is_some() {
            flags |= HAS_WORD;
        }
        if hints.ds_write == Switch::Enable {
            flags |= SIEVES;
        }
        let listed = hints.config_list.as_ref();
        let listed = listed.map_or(0, |list| list.word(comm.process().host()));
        let mine = [words[0], words[1], words[2], words[3], flags, listed];
        let all = tell_all(&comm, &mine)?;
        let disk = disk?;
        let reports: Vec<u64> = all
            .chunks(WORDS)
            .flat_map(|words| words[..REPORT_WORDS].to_vec())
            .collect();
        if let Some(error) = first_error(&reports, ACTION, &path) {
            return Err(error.into());
        }
        let mut flags = all.chunks(WORDS).map(|words| words[REPORT_WORDS]);
        let everybody = flags.clone().all(|flags| flags & HAS_WORD != 0);
        let sieves = flags.any(|flags| flags & SIEVES != 0);
        let listed: Vec<u64> = all.chunks(WORDS).map(|words| words[WORDS - 1]).collect();
        let hosts: Vec<u32> = (0..comm.size()).map(|rank| comm.host_of(rank)).collect();
        let listed = chosen(&listed, &hosts);
        if listed.is_none() {
            hints.config_list = None;
        }
        let shared = match word {
            Some(word) if everybody => SharedPointer::Word(word),
            _ => SharedPointer::kept(&comm),
        };
        let mut inner = Inner::new(comm, disk, mode, shared, hints);
        inner.listed = listed;
        inner.sieves.store(sieves, Ordering::Relaxed);
        if mode.has(Amode::DELETE_ON_CLOSE) {
            // The program may be in another folder when it closes the file.
            inner.doomed = std::path::absolute(&path).ok();
        }
        let file = File(Arc::new(inner));
        if mode.has(Amode::APPEND) {
            let end = file.end(Whence::End)?;
            lock(&file.0.state).pointer = end;
            if file.0.comm.rank() == 0 {
                file.0.store_shared(end)?;
            }
            file.0.meet(ACTION)?;
        }
        Ok(file)
    }

    /// Closes it. Collective. It is closed also if data of a rank did not reach their server, or the
    /// file could not be deleted, which is told then.
    pub fn close(&self) -> Result<()> {
        const ACTION: &str = "cannot close";
        let inner = &*self.0;
        self.check_no_split(ACTION)?;
        inner.finish_turns();
        let is_doomed = inner.amode.has(Amode::DELETE_ON_CLOSE);
        let kept = match inner.amode.writes() && !is_doomed {
            true => inner.disk.hand_over(),
            false => Ok(()),
        };
        let words = report(kept.as_ref().err().map(|error| &**error));
        let all = inner.tell_all(ACTION, &words)?;
        inner.shared.close(&inner.comm);
        inner.is_closed.store(true, Ordering::Relaxed);
        kept?;
        if let Some(error) = first_error(&all, ACTION, inner.disk.path()) {
            return Err(error.into());
        }
        if !is_doomed {
            return Ok(());
        }
        let outcome = match inner.comm.rank() {
            0 => unlink(inner.doomed.as_deref().unwrap_or(inner.disk.path())),
            _ => Ok(()),
        };
        inner.agree("cannot delete", outcome)
    }
}

/// Fails if a rank's mode cannot be, or is another one than this rank's.
fn same_mode(all: &[u64], amode: i32, path: &std::path::Path) -> Result<()> {
    for (rank, words) in all.chunks(REPORT_WORDS + 1).enumerate() {
        if words[REPORT_WORDS] != amode as u64 && words[REPORT_WORDS] != REFUSED {
            let why = format!(
                "amode is {amode} here and {} on rank {rank}; all must give the same",
                words[REPORT_WORDS] as i32
            );
            return Err(named(fault(FileFault::NotSame, ACTION, why), path).into());
        }
        if let Some(error) = reported(&words[..REPORT_WORDS], rank as u32, ACTION, path) {
            return Err(error.into());
        }
    }
    Ok(())
}

fn flags(amode: Amode, makes: bool) -> i32 {
    let mut flags = match (amode.reads(), amode.writes()) {
        (true, true) => libc::O_RDWR,
        (false, _) => libc::O_WRONLY,
        (true, false) => libc::O_RDONLY,
    };
    if makes && amode.has(Amode::CREATE) {
        flags |= libc::O_CREAT;
    }
    if makes && amode.has(Amode::EXCLUSIVE) {
        flags |= libc::O_EXCL;
    }
    flags
}

/// The permissions of a new file: the hint `file_perm`, in octal, or what the umask leaves of all.
fn permissions(info: Option<&Info>) -> u32 {
    let given = info.and_then(|info| info.get_text("file_perm"));
    let given = given.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    given.filter(|mode| *mode <= 0o777).unwrap_or(0o666)
}
