//! Where a typemap begins and ends: MPI 5.0 §5.1.6 and §5.1.7 without the list of entries.
//!
//! Three pairs are kept: the extremes of the data (they give the true bounds), those of the data
//! with the padding of the types it came from, and the extremes of the markers that resized,
//! subarray and darray leave behind. Markers win over data wherever both occur, also after the type
//! was used inside another, so they must stay apart until the end.
//!
//! By the letter of §5.1.6 padding follows from the entries alone, and the padding of a type that
//! another is built from is forgotten. Programs that compute with extents expect room for whole
//! elements of the old type, and other libraries give it: so it counts here, too. It makes a
//! difference only where displacements are not aligned.

use super::DatatypeError;

/// Extremes of a typemap; the empty typemap has neither data nor markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Lowest and one past the highest byte of data.
    data: Option<(i64, i64)>,
    /// The same with the padding of the types that the entries came from.
    padded: Option<(i64, i64)>,
    /// Lowest lower-bound marker and highest upper-bound marker.
    marks: Option<(i64, i64)>,
    /// Strictest alignment of any entry.
    align: u32,
}

impl Bounds {
    /// Of a typemap without entries.
    pub(crate) const EMPTY: Bounds = Bounds {
        data: None,
        padded: None,
        marks: None,
        align: 1,
    };

    /// Of one basic element at displacement 0.
    pub(crate) const fn element(bytes: u32, align: u32) -> Bounds {
        Bounds {
            data: Some((0, bytes as i64)),
            padded: Some((0, bytes as i64)),
            marks: None,
            align,
        }
    }

    /// `count` copies, each `stride` bytes after the one before.
    pub(crate) fn repeated(self, count: u64, stride: i64) -> Result<Bounds, DatatypeError> {
        match count {
            0 => return Ok(Bounds::EMPTY),
            1 => return Ok(self),
            _ => {}
        }
        let last = i128::from(count - 1) * i128::from(stride);
        let stretch = |pair: Option<(i64, i64)>| match pair {
            Some((low, high)) => Ok(Some((
                narrow(i128::from(low) + last.min(0))?,
                narrow(i128::from(high) + last.max(0))?,
            ))),
            None => Ok(None),
        };
        Ok(Bounds {
            data: stretch(self.data)?,
            padded: stretch(self.padded)?,
            marks: stretch(self.marks)?,
            align: self.align,
        })
    }

    /// The same entries `by` bytes further.
    pub(crate) fn shifted(self, by: i64) -> Result<Bounds, DatatypeError> {
        let further = |bound: i64| {
            let moved = bound.checked_add(by);
            moved.ok_or(DatatypeError::Overflow { what: "extent" })
        };
        let shift = |pair: Option<(i64, i64)>| match pair {
            Some((low, high)) => Ok(Some((further(low)?, further(high)?))),
            None => Ok(None),
        };
        Ok(Bounds {
            data: shift(self.data)?,
            padded: shift(self.padded)?,
            marks: shift(self.marks)?,
            align: self.align,
        })
    }

    /// The entries of both.
    pub(crate) fn joined(self, other: Bounds) -> Bounds {
        let join = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Bounds {
            data: join(self.data, other.data),
            padded: join(self.padded, other.padded),
            marks: join(self.marks, other.marks),
            align: self.align.max(other.align),
        }
    }

    /// The same data between new markers; those it had are forgotten (§5.1.7).
    pub(crate) fn marked(self, lb: i64, extent: i64) -> Result<Bounds, DatatypeError> {
        let ub = narrow(i128::from(lb) + i128::from(extent))?;
        Ok(Bounds {
            marks: Some((lb, ub)),
            ..self
        })
    }

    /// The bounds of a whole datatype: padded to a multiple of the strictest alignment, unless it
    /// has markers.
    pub(crate) fn completed(mut self) -> Result<Bounds, DatatypeError> {
        if let (None, Some((low, high))) = (self.marks, self.padded) {
            let extent = i128::from(high) - i128::from(low);
            let align = i128::from(self.align);
            let padded = (extent + align - 1) / align * align;
            self.padded = Some((low, narrow(i128::from(low) + padded)?));
        }
        Ok(self)
    }

    /// Lower and upper bound of a whole datatype, once it is completed.
    pub(crate) fn lb_ub(self) -> Result<(i64, i64), DatatypeError> {
        let (lb, ub) = self.marks.or(self.padded).unwrap_or((0, 0));
        // Extent and true extent are asked for as one number each, so they must be one.
        narrow(i128::from(ub) - i128::from(lb))?;
        let (low, high) = self.true_lb_ub();
        narrow(i128::from(high) - i128::from(low))?;
        Ok((lb, ub))
    }

    /// True lower and upper bound; both 0 for a typemap without data.
    pub(crate) fn true_lb_ub(self) -> (i64, i64) {
        self.data.unwrap_or((0, 0))
    }

    /// Strictest alignment of any entry.
    pub(crate) fn align(self) -> u32 {
        self.align
    }
}

fn narrow(value: i128) -> Result<i64, DatatypeError> {
    i64::try_from(value).map_err(|_| DatatypeError::Overflow { what: "extent" })
}
