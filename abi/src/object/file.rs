//! A file as C programs know it: the file itself and its error handler.

use std::ops::Deref;

use super::{ErrhandlerSlot, FILE_ERRHANDLER};

/// What an `MPI_File` stands for.
pub struct File {
    file: oxmpi_files::File,
    /// The handler that is told of errors; a new file has the default of files.
    pub errhandler: ErrhandlerSlot,
}

impl File {
    /// A new one.
    pub fn new(file: oxmpi_files::File) -> File {
        File {
            file,
            errhandler: ErrhandlerSlot::new(FILE_ERRHANDLER.get()),
        }
    }
}

impl Deref for File {
    type Target = oxmpi_files::File;

    fn deref(&self) -> &oxmpi_files::File {
        &self.file
    }
}
