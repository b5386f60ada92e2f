//! Views: elements of a slice that do not lie together, to be sent from or received into without a
//! copy.
//!
//! A [`Shape`] says which elements, in numbers of elements; [`Shape::of`] and [`Shape::of_mut`] lay
//! it on a slice after a check that all of it lies inside. One shape serves any number of slices,
//! such as every column of a matrix.

use std::marker::PhantomData;
use std::ops::Range;

pub use crate::error::ViewError;
use crate::error::{Error, ErrorKind, Result};
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::{Data, DataMut, Memory};
use oxmpi_datatypes::datatype::{Basic, Datatype, DatatypeError, Order};

/// Which elements of a slice: those of a column, of a block of a matrix.
#[derive(Clone, Debug)]
pub struct Shape<T: Plain> {
    form: Form,
    /// The form, of the elements' bytes.
    layout: Datatype,
    elements: usize,
    /// From the slice's first element to the last that is named.
    span: usize,
    of: PhantomData<fn() -> T>,
}

/// What a shape was made from.
#[derive(Clone, Debug)]
enum Form {
    /// So many blocks, elements of each, and from one to the next.
    Strided(i64, i64, i64),
    /// Sizes of an array, sizes of its part, where the part begins.
    Subarray(Vec<i64>, Vec<i64>, Vec<i64>),
    /// No element at all.
    Nothing,
}

impl Form {
    fn of(&self, element: &Datatype) -> std::result::Result<Datatype, DatatypeError> {
        let layout = match self {
            Form::Strided(blocks, block, stride) => {
                Datatype::vector(*blocks, *block, *stride, element)
            }
            Form::Subarray(sizes, parts, starts) => {
                Datatype::subarray(sizes, parts, starts, Order::C, element)
            }
            Form::Nothing => Datatype::contiguous(0, element),
        }?;
        layout.commit();
        Ok(layout)
    }
}

impl<T: Plain> Shape<T> {
    /// `blocks` times `block` elements, each time `stride` elements after the time before. A column
    /// of a matrix with rows of 20 elements is `Shape::strided(rows, 1, 20)`.
    ///
    /// ```
    /// let column = oxmpi::view::Shape::strided(3, 1, 4)?;
    /// let matrix = [0.0; 12];
    /// let last = column.of(&matrix[3..])?;
    /// assert_eq!(last.len(), 3);
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn strided(blocks: usize, block: usize, stride: usize) -> Result<Shape<T>> {
        if stride < block && blocks > 1 {
            return Err(refuse(ViewError::Overlap { block, stride }));
        }
        let form = Form::Strided(number(blocks), number(block), number(stride));
        let elements = blocks.saturating_mul(block);
        let span = match elements {
            0 => 0,
            _ => ((blocks - 1).saturating_mul(stride)).saturating_add(block),
        };
        Shape::new(form, elements, span)
    }

    /// A part of an array whose last index runs fastest, as C and `ndarray` have it: `sizes` are
    /// those of the array, `part` the range in each dimension.
    ///
    /// ```
    /// // The inner places of a field of 4 by 5.
    /// let inner = oxmpi::view::Shape::subarray(&[4, 5], &[1..3, 1..4])?;
    /// let mut field = [0u64; 20];
    /// assert_eq!(inner.of_mut(&mut field)?.len(), 6);
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn subarray(sizes: &[usize], part: &[Range<usize>]) -> Result<Shape<T>> {
        if sizes.len() != part.len() {
            let (sizes, parts) = (sizes.len(), part.len());
            return Err(refuse(ViewError::Dimensions { sizes, parts }));
        }
        for (dimension, (&size, range)) in sizes.iter().zip(part).enumerate() {
            let (from, to) = (range.start, range.end);
            if from > to || to > size {
                let error = ViewError::Outside {
                    dimension,
                    from,
                    to,
                    size,
                };
                return Err(refuse(error));
            }
        }
        let elements = part.iter().map(|range| range.len()).product();
        if elements == 0 {
            return Shape::new(Form::Nothing, 0, 0);
        }
        let numbers = |all: &mut dyn Iterator<Item = usize>| all.map(number).collect::<Vec<i64>>();
        let form = Form::Subarray(
            numbers(&mut sizes.iter().copied()),
            numbers(&mut part.iter().map(|range| range.len())),
            numbers(&mut part.iter().map(|range| range.start)),
        );
        let place = |at: usize, (&size, range): (&usize, &Range<usize>)| at * size + range.end - 1;
        let last = sizes.iter().zip(part).fold(0, place);
        Shape::new(form, elements, last + 1)
    }

    fn new(form: Form, elements: usize, span: usize) -> Result<Shape<T>> {
        Ok(Shape {
            layout: form.of(&element::<T>()?).map_err(refuse)?,
            form,
            elements,
            span,
            of: PhantomData,
        })
    }

    /// It as a datatype of bytes.
    pub(crate) fn layout(&self) -> &Datatype {
        &self.layout
    }

    /// It as a datatype of such elements, which have the size of `T`.
    pub(crate) fn of_elements(
        &self,
        element: &Datatype,
    ) -> std::result::Result<Datatype, ErrorKind> {
        let made = self.form.of(element);
        made.map_err(|error| ErrorKind::View(error.into()))
    }

    /// These elements of a slice, to be sent.
    pub fn of<'a>(&self, slice: &'a [T]) -> Result<View<'a, T>> {
        self.check(slice.len())?;
        Ok(View {
            slice,
            shape: self.clone(),
        })
    }

    /// These elements of a slice, to be received into.
    pub fn of_mut<'a>(&self, slice: &'a mut [T]) -> Result<ViewMut<'a, T>> {
        self.check(slice.len())?;
        Ok(ViewMut {
            slice,
            shape: self.clone(),
        })
    }

    fn check(&self, length: usize) -> Result<()> {
        match self.span <= length {
            true => Ok(()),
            false => Err(refuse(ViewError::Beyond {
                needed: self.span,
                length,
            })),
        }
    }

    fn memory(&self, address: *const T) -> Memory {
        Memory {
            address: address.cast_mut().cast(),
            elements: self.elements,
            layout: Some(self.layout.clone()),
        }
    }
}

/// The elements are their bytes: what they mean is told by [`Plain::MARK`].
fn element<T: Plain>() -> Result<Datatype> {
    let byte = Datatype::named(Basic::Byte);
    Datatype::contiguous(number(size_of::<T>()), &byte).map_err(refuse)
}

/// Views are made without a communicator.
fn refuse(error: impl Into<ViewError>) -> Error {
    ErrorKind::View(error.into()).before_start("view")
}

/// What does not fit is more than memory has, and refused as such.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Some elements of a slice, to be sent.
#[derive(Clone, Debug)]
pub struct View<'a, T: Plain> {
    slice: &'a [T],
    shape: Shape<T>,
}

/// Some elements of a slice, to be sent or received into.
#[derive(Debug)]
pub struct ViewMut<'a, T: Plain> {
    slice: &'a mut [T],
    shape: Shape<T>,
}

macro_rules! views {
    ($($view:ident),*) => {$(
        impl<T: Plain> $view<'_, T> {
            /// How many elements it names.
            pub fn len(&self) -> usize {
                self.shape.elements
            }

            /// Whether it names none.
            pub fn is_empty(&self) -> bool {
                self.shape.elements == 0
            }
        }

        // SAFETY: the shape lies inside the slice, which is borrowed for longer than the view.
        unsafe impl<T: Plain> Data for $view<'_, T> {
            type Element = T;

            fn memory(&self) -> Memory {
                self.shape.memory(self.slice.as_ptr())
            }
        }
    )*};
}
views!(View, ViewMut);

// SAFETY: as above, and the slice is borrowed to be written.
unsafe impl<T: Plain> DataMut for ViewMut<'_, T> {
    fn memory_mut(&mut self) -> Memory {
        self.shape.memory(self.slice.as_mut_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_must_lie_inside_its_slice() {
        let column = Shape::<u32>::strided(3, 1, 4).unwrap();
        assert!(column.of(&[0; 9]).is_ok());
        let error = column.of(&[0; 8]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "view: the shape reaches over 9 element(s), but the slice has 8"
        );
        let part = Shape::<u8>::subarray(&[2, 3, 4], &[0..2, 1..3, 2..3]).unwrap();
        assert_eq!(part.span, 23);
        assert!(part.of(&[0; 22]).is_err() && part.of(&[0; 23]).is_ok());
    }

    #[test]
    fn wrong_shapes_are_told() {
        let text = |shape: Result<Shape<u8>>| shape.unwrap_err().to_string();
        assert_eq!(
            text(Shape::strided(2, 3, 2)),
            "view: blocks of 3 element(s) overlap if the next one begins 2 further on"
        );
        assert_eq!(
            text(Shape::subarray(&[4, 4], std::slice::from_ref(&(0..1)))),
            "view: the array has 2 dimension(s) and the part 1"
        );
        #[expect(clippy::reversed_empty_ranges)]
        let backwards = Shape::subarray(&[4], std::slice::from_ref(&(3..2)));
        assert_eq!(
            text(backwards),
            "view: the part is 3..2 of dimension 0, which has 4 place(s)"
        );
        assert!(Shape::<u64>::strided(usize::MAX, 1, usize::MAX).is_err());
    }

    #[test]
    fn a_view_of_nothing_is_empty() {
        assert!(
            Shape::<u8>::strided(0, 3, 5)
                .unwrap()
                .of(&[])
                .unwrap()
                .is_empty()
        );
        let none = Shape::<u8>::subarray(&[4, 4], &[1..1, 0..4]).unwrap();
        assert_eq!(none.of_mut(&mut []).unwrap().len(), 0);
    }
}
