//! How a file is opened, one word after the other.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use oxmpi_core::info::Info;
use oxmpi_core::thread::Level;
use oxmpi_core::{Communicator, Result};

use super::TypedFile;
use crate::amode::Amode;
use crate::file::File;

/// How a file is opened. At first it is read only, and must be there.
///
/// ```no_run
/// use oxmpi_files::OpenOptions;
///
/// let mpi = oxmpi_core::init()?;
/// let world = mpi.world();
/// let file = OpenOptions::new()
///     .write(true)
///     .create(true)
///     .hint("cb_buffer_size", "16777216")
///     .open(&world, "field.dat")?;
/// file.write_at_all(u64::from(world.rank()) * 4, b"data")?;
/// file.close()?;
/// # Ok::<(), oxmpi_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    write: bool,
    write_only: bool,
    create: bool,
    create_new: bool,
    append: bool,
    delete_on_close: bool,
    sequential: bool,
    hints: Vec<(String, String)>,
}

impl OpenOptions {
    /// Reading only.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// The file can be written as well as read.
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// The file can be written and not read.
    pub fn write_only(mut self, write_only: bool) -> Self {
        self.write_only = write_only;
        self
    }

    /// The file is made if it is not there.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// The file is made, and it is an error if it is there.
    pub fn create_new(mut self, create_new: bool) -> Self {
        self.create_new = create_new;
        self
    }

    /// All pointers are at the file's end first.
    pub fn append(mut self, append: bool) -> Self {
        self.append = append;
        self
    }

    /// [`TypedFile::close`] deletes the file.
    pub fn delete_on_close(mut self, delete: bool) -> Self {
        self.delete_on_close = delete;
        self
    }

    /// Only the shared pointer is used, from beginning to end.
    pub fn sequential(mut self, sequential: bool) -> Self {
        self.sequential = sequential;
        self
    }

    /// A hint, under the name that MPI or ROMIO has for it; unknown ones are ignored.
    pub fn hint(mut self, key: &str, value: &str) -> Self {
        self.hints.push((key.into(), value.into()));
        self
    }

    fn mode(&self) -> i32 {
        let access = match (self.write_only, self.write) {
            (true, _) => Amode::WRITE_ONLY,
            (false, true) => Amode::READ_WRITE,
            (false, false) => Amode::READ_ONLY,
        };
        let flags = [
            (self.create || self.create_new, Amode::CREATE),
            (self.create_new, Amode::EXCLUSIVE),
            (self.append, Amode::APPEND),
            (self.delete_on_close, Amode::DELETE_ON_CLOSE),
            (self.sequential, Amode::SEQUENTIAL),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        set.fold(access, |mode, (_, flag)| mode | flag)
    }

    /// Opens a file, seen as bytes. All processes of the communicator call it, with the same
    /// options and with names of the same file.
    pub fn open<'comm, L: Level>(
        &self,
        communicator: &'comm Communicator<'comm, L>,
        path: impl AsRef<Path>,
    ) -> Result<TypedFile<'comm, u8, L>> {
        let info = Info::new();
        for (key, value) in &self.hints {
            // A hint that cannot be is ignored like one that is not known.
            let _ = info.set(key, value);
        }
        let name = path.as_ref().as_os_str().as_bytes();
        let opened = File::open(communicator.inner(), name, self.mode(), Some(&info));
        let file = opened.map_err(|kind| communicator.fail("open", kind))?;
        Ok(TypedFile::new(file, communicator))
    }
}
