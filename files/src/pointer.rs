//! Seeking: where a pointer goes (MPI 5.0 §14.4.3).

use oxmpi_core::{FileError, FileFault};

use crate::failure::fault;

/// What an offset counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The view's beginning.
    Set,
    /// The pointer.
    Current,
    /// The file's end.
    End,
}

/// The pointer after a seek, in etypes.
pub(crate) fn sought(
    whence: Whence,
    offset: i64,
    current: u64,
    end: u64,
) -> Result<u64, FileError> {
    let base = match whence {
        Whence::Set => 0,
        Whence::Current => current,
        Whence::End => end,
    };
    let to = base.checked_add_signed(offset);
    to.filter(|to| i64::try_from(*to).is_ok()).ok_or_else(|| {
        let why = match offset < 0 {
            true => format!(
                "offset {offset} from etype {base} would be before the view's beginning; a \
                 pointer cannot be negative"
            ),
            false => format!(
                "offset {offset} from etype {base} would be farther than an MPI_Offset can tell"
            ),
        };
        fault(FileFault::Argument, "cannot seek in", why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_stay_inside() {
        assert_eq!(sought(Whence::Set, 5, 9, 20).unwrap(), 5);
        assert_eq!(sought(Whence::Current, -4, 9, 20).unwrap(), 5);
        assert_eq!(sought(Whence::End, -20, 9, 20).unwrap(), 0);
        assert!(sought(Whence::End, -21, 9, 20).is_err());
        assert!(sought(Whence::Set, i64::MAX, 9, 20).is_ok());
        assert!(sought(Whence::Current, i64::MAX, 9, 20).is_err());
    }
}
