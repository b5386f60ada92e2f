//! Where an operation of the program goes: the place at its target, checked, and the way to it.

use oxmpi_datatypes::datatype::{DatatypeError, Layout};
use oxmpi_windows::region::Use;

use super::memory::{Held, Part};
use super::{Flavor, Target, Window};
use crate::buffer::BufferError;
use crate::error::{ErrorKind, WindowError};

/// A place at a target, checked.
pub(super) struct Place {
    pub target: u32,
    pub bytes: u64,
    pub way: Way,
    /// Keeps this rank's attached memory there.
    _held: Option<Held>,
}

pub(super) enum Way {
    /// Where the datatype counts from, in memory that is mapped here.
    Direct(*mut u8),
    /// Where the datatype counts from, behind the beginning of the target's memory.
    Message(i64),
}

impl Window {
    /// Checks what an operation accesses; nothing if it accesses no memory.
    #[inline]
    pub(super) fn place(&self, target: &Target<'_>) -> Result<Option<Place>, ErrorKind> {
        let Some(rank) = target.rank else {
            return Ok(None);
        };
        self.check_rank(rank)?;
        self.epoch.check_access(rank)?;
        let (part, datatype) = (self.core.part(rank), target.datatype);
        if !datatype.is_committed() {
            let datatype = format!("{datatype:?}");
            return Err(BufferError::Uncommitted { datatype }.into());
        }
        let dynamic = self.core.flavor == Flavor::Dynamic;
        let displacement = target.displacement;
        if displacement < 0 && !dynamic {
            return Err(WindowError::Displacement {
                displacement,
                target: rank,
            }
            .into());
        }
        let span = span(target, part.unit);
        let Some((from, begin, end, bytes)) = span else {
            return Err(out_of_range(rank, target, part, i64::MAX, i64::MAX));
        };
        if bytes == 0 {
            return Ok(None);
        }
        let inside = begin >= 0 && end as u64 <= part.bytes;
        let mut _held = None;
        let way = match (dynamic, part.direct) {
            (false, _) if !inside => return Err(out_of_range(rank, target, part, begin, end)),
            (false, true) => Way::Direct(part.base.wrapping_add(from as usize)),
            (true, true) => {
                let Some((first, held)) = self.core.own_address(begin, end, Use::Change) else {
                    return Err(WindowError::NotAttached {
                        target: rank,
                        address: begin as u64,
                        bytes: end.abs_diff(begin),
                    }
                    .into());
                };
                _held = held;
                Way::Direct(first.wrapping_offset((from - begin) as isize))
            }
            (_, false) => Way::Message(from),
        };
        Ok(Some(Place {
            target: rank,
            bytes,
            way,
            _held,
        }))
    }
}

/// Where the datatype counts from, the first byte, the end of the last, and the bytes of data; none
/// if they cannot be numbers.
#[inline]
fn span(target: &Target<'_>, unit: u32) -> Option<(i64, i64, i64, u64)> {
    let datatype = target.datatype;
    let from = target.displacement.checked_mul(i64::from(unit))?;
    let bytes = datatype.size().checked_mul(target.count)?;
    if bytes == 0 {
        return Some((from, from, from, 0));
    }
    let last = i64::try_from(target.count - 1).ok()?;
    let reach = datatype.extent().checked_mul(last)?;
    let low = datatype.true_lb().checked_add(reach.min(0))?;
    let high = datatype.true_ub().checked_add(reach.max(0))?;
    Some((from, from.checked_add(low)?, from.checked_add(high)?, bytes))
}

#[cold]
fn out_of_range(rank: u32, target: &Target<'_>, part: &Part, begin: i64, end: i64) -> ErrorKind {
    WindowError::Range {
        target: rank,
        displacement: target.displacement,
        unit: part.unit,
        begin,
        end,
        bytes: part.bytes,
    }
    .into()
}

/// Whether an operation accesses one block at the target.
pub(super) fn is_block(target: &Target<'_>) -> bool {
    let datatype = target.datatype;
    datatype.is_contiguous() || target.count == 1 && datatype.is_one_block()
}

pub(super) fn layout_of(target: &Target<'_>) -> Result<Layout, BufferError> {
    let count = target.count;
    let layout = target.datatype.layout(count);
    layout.map_err(|error: DatatypeError| BufferError::TooLarge { count, error })
}
