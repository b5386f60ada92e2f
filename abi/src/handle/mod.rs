//! Handles: the numbers by which programs know objects.
//!
//! A handle that the standard names is a constant below 4096. Any other is made here, of the kind
//! of object (4 bits), a generation (7) and a place in the kind's [`Table`] (20): it fits a
//! positive `int`, and one that was freed, belongs to another kind or was never given out is
//! recognised. A place is used again as late as possible, so a freed handle stays recognisable for
//! tens of thousands of further objects.

mod table;

pub use table::{OBJECTS_MAX, Object, Pinned, Table};

/// A handle as C programs hold it. In C it is a pointer to an incomplete type; nothing is ever
/// there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Handle(pub usize);

/// Handles below this are constants of the standard; addresses that it gives a meaning, too.
pub const CONSTANTS_END: usize = 4096;

impl Handle {
    /// Whether the standard names it; such objects cannot be freed.
    #[inline]
    pub fn is_predefined(self) -> bool {
        self.0 < CONSTANTS_END
    }

    /// As an integer (`MPI_Comm_toint`); a value that was never a handle keeps its lower half.
    pub fn to_int(self) -> i32 {
        self.0 as i32
    }

    /// From an integer (`MPI_Comm_fromint`). A negative one becomes an address that no table has.
    pub fn from_int(value: i32) -> Handle {
        Handle(value as isize as usize)
    }
}

const _: () = assert!(size_of::<Handle>() == size_of::<*const ()>());
