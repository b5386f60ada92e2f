//! How a file is opened (MPI 5.0 §14.2.1).

use oxmpi_core::{FileError, FileFault};

use crate::failure::fault;

/// The modes, as bits with the values of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amode(i32);

impl Amode {
    /// Reading only.
    pub const READ_ONLY: i32 = 16;
    /// Reading and writing.
    pub const READ_WRITE: i32 = 32;
    /// Writing only.
    pub const WRITE_ONLY: i32 = 256;
    /// The file is made if it is not there.
    pub const CREATE: i32 = 2;
    /// It is an error if the file is there.
    pub const EXCLUSIVE: i32 = 8;
    /// The file is deleted when it is closed.
    pub const DELETE_ON_CLOSE: i32 = 4;
    /// No other process opens it meanwhile.
    pub const UNIQUE_OPEN: i32 = 128;
    /// The file is accessed from beginning to end.
    pub const SEQUENTIAL: i32 = 64;
    /// All pointers are at the end first.
    pub const APPEND: i32 = 1;

    /// Checks a combination.
    pub fn new(bits: i32) -> Result<Amode, FileError> {
        let wrong = |why: &str| {
            let why = format!("amode is {bits}, {why}");
            Err(fault(FileFault::Amode, "cannot open", why))
        };
        let access = [Amode::READ_ONLY, Amode::READ_WRITE, Amode::WRITE_ONLY];
        let given = access.iter().filter(|mode| bits & **mode != 0).count();
        if !(0..512).contains(&bits) {
            return wrong("which has bits that are no mode");
        }
        if given != 1 {
            return wrong(
                "which names not exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR",
            );
        }
        let amode = Amode(bits);
        if !amode.writes() && bits & (Amode::CREATE | Amode::EXCLUSIVE) != 0 {
            return wrong("but MPI_MODE_CREATE and MPI_MODE_EXCL need a file that can be written");
        }
        if amode.reads() && amode.writes() && amode.has(Amode::SEQUENTIAL) {
            return wrong("but MPI_MODE_SEQUENTIAL goes with reading or writing, not with both");
        }
        Ok(amode)
    }

    /// As a number.
    pub fn bits(self) -> i32 {
        self.0
    }

    /// Whether a mode is among them.
    pub fn has(self, mode: i32) -> bool {
        self.0 & mode != 0
    }

    /// Whether the file can be read.
    pub fn reads(self) -> bool {
        !self.has(Amode::WRITE_ONLY)
    }

    /// Whether it can be written.
    pub fn writes(self) -> bool {
        !self.has(Amode::READ_ONLY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sensible_combinations_are_taken() {
        let good = [16, 32 | 2, 256 | 2 | 8, 16 | 64, 256 | 64, 32 | 1 | 128 | 4];
        for bits in good {
            assert!(Amode::new(bits).is_ok(), "{bits}");
        }
        for bits in [0, 16 | 256, 16 | 32, 16 | 2, 16 | 8, 32 | 64, 1024 | 16, -1] {
            assert!(Amode::new(bits).is_err(), "{bits}");
        }
    }
}
