//! A typemap in its three forms at once, and the four operations every constructor is made of.
//!
//! Keeping bounds, signature and layout in step here is what lets the constructors read like the
//! standard's formulas: contiguous is a repetition, a vector is a repetition of one, a struct is a
//! concatenation of shifted ones.

use super::bounds::Bounds;
use super::layout::{Layout, LayoutBuilder};
use super::signature::{Signature, SignatureBuilder};
use super::{Basic, DatatypeError};

/// What a datatype's entries amount to.
#[derive(Clone, Debug)]
pub(crate) struct Typemap {
    pub(crate) bounds: Bounds,
    pub(crate) signature: Signature,
    pub(crate) layout: Layout,
}

impl Typemap {
    /// One basic element at displacement 0. A value-index pair has the two entries of the struct it
    /// stands for.
    pub(crate) fn element(basic: Basic) -> Result<Typemap, DatatypeError> {
        if let Some((value, index)) = basic.pair() {
            return Typemap::pair(value, index);
        }
        Ok(Typemap {
            bounds: Bounds::element(basic.size(), basic.align()),
            signature: Signature::of(basic),
            layout: Layout::block(u64::from(basic.size())),
        })
    }

    /// A C struct of a value and an index.
    pub(crate) fn pair(value: Basic, index: Basic) -> Result<Typemap, DatatypeError> {
        let at = value.size().next_multiple_of(index.align());
        let mut pair = Concatenation::new();
        pair.push(&Typemap::element(value)?)?;
        pair.push(&Typemap::element(index)?.shifted(i64::from(at))?)?;
        pair.finish()
    }

    /// `count` copies, each `stride` bytes after the one before.
    pub(crate) fn repeated(&self, count: u64, stride: i64) -> Result<Typemap, DatatypeError> {
        Ok(Typemap {
            bounds: self.bounds.repeated(count, stride)?,
            signature: self.signature.repeated(count)?,
            layout: self.layout.repeated(count, stride),
        })
    }

    /// The same entries `by` bytes further.
    pub(crate) fn shifted(mut self, by: i64) -> Result<Typemap, DatatypeError> {
        self.bounds = self.bounds.shifted(by)?;
        self.layout = self.layout.shifted(by);
        Ok(self)
    }

    /// The same data between new markers.
    pub(crate) fn marked(mut self, lb: i64, extent: i64) -> Result<Typemap, DatatypeError> {
        self.bounds = self.bounds.marked(lb, extent)?;
        Ok(self)
    }
}

/// Typemaps one after the other, in the order in which they are pushed.
pub(crate) struct Concatenation {
    bounds: Bounds,
    signature: SignatureBuilder,
    layout: LayoutBuilder,
}

impl Concatenation {
    pub(crate) fn new() -> Concatenation {
        Concatenation {
            bounds: Bounds::EMPTY,
            signature: SignatureBuilder::new(),
            layout: LayoutBuilder::new(),
        }
    }

    pub(crate) fn push(&mut self, next: &Typemap) -> Result<(), DatatypeError> {
        self.bounds = self.bounds.joined(next.bounds);
        self.signature.push(&next.signature, 1)?;
        self.layout.push(&next.layout);
        Ok(())
    }

    /// `count` copies of a typemap, each `stride` bytes after the one before, the first of them
    /// `by` bytes further than it stands: what `repeated` and `shifted` would give, without a
    /// typemap for each block of a long list.
    pub(crate) fn push_block(
        &mut self,
        of: &Typemap,
        count: u64,
        stride: i64,
        by: i64,
    ) -> Result<(), DatatypeError> {
        let bounds = of.bounds.repeated(count, stride)?.shifted(by)?;
        self.bounds = self.bounds.joined(bounds);
        self.signature.push(&of.signature, count)?;
        match of.layout.contiguous() {
            Some((offset, bytes)) if count == 1 || stride as u64 == bytes => {
                // The signature has checked that the packed size fits.
                self.layout
                    .push_contiguous(offset.wrapping_add(by), bytes * count);
            }
            _ => {
                let block = of.layout.repeated(count, stride);
                self.layout.push(&block.shifted(by));
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Typemap, DatatypeError> {
        Ok(Typemap {
            bounds: self.bounds,
            signature: self.signature.finish(),
            layout: self.layout.finish(),
        })
    }
}
