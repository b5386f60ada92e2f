//! Which elements of a rank's memory an access names: those from an index on, or those of a shape.

use crate::buffer::{Buffer, BufferError};
use crate::error::ErrorKind;
use crate::view::Shape;
use crate::window::Target;
use oxmpi_datatypes::data::Memory;
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::plain::Plain;

/// Elements of a rank's part of a window: as many as the caller's memory has, from an index on (any
/// `usize` is one), or those of a [`Shape`] that begins there ([`Shape::at`]).
#[derive(Debug)]
pub struct At<'s, T: Plain> {
    first: usize,
    shape: Option<&'s Shape<T>>,
}

impl<T: Plain> Clone for At<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Plain> Copy for At<'_, T> {}

impl<T: Plain> From<usize> for At<'_, T> {
    #[inline]
    fn from(first: usize) -> Self {
        At { first, shape: None }
    }
}

impl<T: Plain> Shape<T> {
    /// These elements of a rank's part of a window, where the shape begins at element `first`.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// // Matrices of 4 by 5: my first row becomes the last column of rank 0.
    /// let window = world.window::<f64>(20)?;
    /// let column = oxmpi::view::Shape::strided(4, 1, 5)?;
    /// let row = [1.0; 4];
    /// window.fence(|epoch| epoch.put(&row, 0, column.at(4)))?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn at(&self, first: usize) -> At<'_, T> {
        let shape = Some(self);
        At { first, shape }
    }
}

/// Elements of one rank's part.
pub(super) struct There<'s, T: Plain> {
    pub rank: u32,
    pub at: At<'s, T>,
}

impl<'s, T: Plain> There<'s, T> {
    pub(super) fn new(rank: u32, at: impl Into<At<'s, T>>) -> Self {
        let at = at.into();
        There { rank, at }
    }

    /// What lies there, as bytes: those of `elements` elements, or of the shape.
    pub(super) fn bytes(&self, elements: usize) -> Place {
        match self.at.shape {
            None => {
                let byte = Datatype::named(Basic::Byte);
                self.place(elements * size_of::<T>(), byte)
            }
            Some(shape) => self.place(1, shape.layout().clone()),
        }
    }

    /// What lies there, as elements of a basic type.
    pub(super) fn elements(&self, elements: usize, basic: Basic) -> Result<Place, ErrorKind> {
        let element = Datatype::named(basic);
        Ok(match self.at.shape {
            None => self.place(elements, element),
            Some(shape) => self.place(1, shape.of_elements(&element)?),
        })
    }

    /// The one element there.
    pub(super) fn element(&self, basic: Basic) -> Place {
        self.place(1, Datatype::named(basic))
    }

    fn place(&self, count: usize, datatype: Datatype) -> Place {
        Place {
            rank: self.rank,
            // What no window has is refused as such.
            displacement: i64::try_from(self.at.first).unwrap_or(i64::MAX),
            count: count as u64,
            datatype,
        }
    }
}

/// A [`Target`] that owns its datatype.
pub(super) struct Place {
    rank: u32,
    displacement: i64,
    count: u64,
    datatype: Datatype,
}

impl Place {
    pub(super) fn target(&self) -> Target<'_> {
        Target {
            rank: Some(self.rank),
            displacement: self.displacement,
            count: self.count,
            datatype: &self.datatype,
        }
    }
}

/// # Safety
/// The memory must stay valid until the operation is over.
pub(super) unsafe fn buffer<T: Plain>(memory: &Memory) -> Result<Buffer, BufferError> {
    // SAFETY: the caller's promise.
    unsafe { Buffer::of::<T>(memory) }
}
