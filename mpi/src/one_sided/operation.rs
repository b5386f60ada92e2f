//! The operations, for all epochs alike: slices become buffers, errors get the call's name.

use super::Window;
use super::element::{Element, Integer};
use crate::any_request::AnyRequest;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use crate::window::{Elements, Target};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};
use oxmpi_datatypes::plain::Plain;

/// When an operation has to be over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At the epoch's end, or the next flush.
    Later,
    /// When its request says so.
    Request,
}

/// An operation with a request, or one that the epoch completes.
type Begun = std::result::Result<AnyRequest, ErrorKind>;

const OVER: AnyRequest = AnyRequest::Over(crate::any_request::Report::EMPTY);

fn later(done: std::result::Result<(), ErrorKind>) -> Begun {
    done.map(|()| OVER)
}

/// Elements of a rank's part, from `at` on.
#[derive(Clone, Copy)]
pub(super) struct There {
    pub rank: u32,
    pub at: usize,
}

impl There {
    fn target<'d>(&self, count: usize, datatype: &'d Datatype) -> Target<'d> {
        Target {
            rank: Some(self.rank),
            // What no window has is refused as such.
            displacement: i64::try_from(self.at).unwrap_or(i64::MAX),
            count: count as u64,
            datatype,
        }
    }
}

/// # Safety
/// The memory must stay valid until the operation is over.
unsafe fn buffer<T: Plain>(data: *const T, length: usize) -> Buffer {
    let bytes = length * size_of::<T>();
    // SAFETY: the caller's promise.
    unsafe { Buffer::raw(data.cast_mut().cast(), bytes as u64) }
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// # Safety
    /// `data` must stay valid until the operation is over.
    pub(super) unsafe fn begin_put(&self, until: Until, data: &[T], there: There) -> Begun {
        let byte = Datatype::named(Basic::Byte);
        let target = there.target(size_of_val(data), &byte);
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer(data.as_ptr(), data.len()) };
        match until {
            Until::Later => later(self.window.put(&origin, &target)),
            Until::Request => self.window.rput(&origin, &target),
        }
    }

    /// # Safety
    /// `into` must stay valid, and not be used, until the operation is over.
    pub(super) unsafe fn begin_get(&self, until: Until, into: &mut [T], there: There) -> Begun {
        let byte = Datatype::named(Basic::Byte);
        let target = there.target(size_of_val(into), &byte);
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer(into.as_mut_ptr(), into.len()) };
        match until {
            Until::Later => later(self.window.get(&origin, &target)),
            Until::Request => self.window.rget(&origin, &target),
        }
    }

    /// Waits until the memory lent to operations on a rank can be used again.
    pub(super) fn settle(&self, call: &'static str, rank: u32, begun: Begun) -> Result<()> {
        let settled = self.window.flush_local(Some(rank));
        let outcome = begun.map(drop).and(settled);
        outcome.map_err(|kind| self.fail(call, kind))
    }
}

impl<T: Element, L: Level> Window<'_, T, L> {
    /// # Safety
    /// `data` must stay valid until the operation is over.
    pub(super) unsafe fn begin_accumulate(
        &self,
        until: Until,
        data: &[T],
        there: There,
        op: Predefined,
    ) -> Begun {
        let datatype = Datatype::named(T::BASIC);
        let target = there.target(data.len(), &datatype);
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer(data.as_ptr(), data.len()) };
        let elements = Elements {
            buffer: &origin,
            datatype: &datatype,
        };
        let op = Op::Predefined(op);
        match until {
            Until::Later => later(self.window.accumulate(elements, &target, &op)),
            Until::Request => self.window.raccumulate(elements, &target, &op),
        }
    }

    /// # Safety
    /// `data` must stay valid until the operation is over, and so must `result`, unused.
    pub(super) unsafe fn begin_fetch(
        &self,
        until: Until,
        data: &[T],
        result: &mut [T],
        there: There,
        op: Predefined,
    ) -> Begun {
        let datatype = Datatype::named(T::BASIC);
        let datatype = &datatype;
        let target = there.target(result.len(), datatype);
        // SAFETY: the caller's promise.
        let (from, into) = unsafe {
            let from = buffer(data.as_ptr(), data.len());
            (from, buffer(result.as_mut_ptr(), result.len()))
        };
        let elements = |buffer| Elements { buffer, datatype };
        let (from, into, op) = (elements(&from), elements(&into), Op::Predefined(op));
        let window = &self.window;
        match until {
            Until::Later => later(window.get_accumulate(from, into, &target, &op)),
            Until::Request => window.rget_accumulate(from, into, &target, &op),
        }
    }

    /// Combines one element; the value before.
    pub(super) fn fetch_one(
        &self,
        call: &'static str,
        value: T,
        there: There,
        op: Predefined,
    ) -> Result<T> {
        let datatype = Datatype::named(T::BASIC);
        let target = there.target(1, &datatype);
        let (from, mut before) = ([value], [value]);
        // SAFETY: both live until the operation has been settled below.
        let begun = unsafe {
            let (from, into) = (from.as_ptr().cast(), before.as_mut_ptr().cast());
            let op = Op::Predefined(op);
            later(self.window.fetch_and_op(from, into, &target, &op))
        };
        self.settle(call, there.rank, begun)?;
        Ok(before[0])
    }
}

impl<T: Integer, L: Level> Window<'_, T, L> {
    /// Replaces one element by `new` if it equals `compare`; the value before.
    pub(super) fn compare_one(&self, compare: T, new: T, there: There) -> Result<T> {
        let datatype = Datatype::named(T::BASIC);
        let target = there.target(1, &datatype);
        let (compare, new, mut before) = ([compare], [new], [compare]);
        // SAFETY: all live until the operation has been settled below.
        let begun = unsafe {
            let (compare, new) = (compare.as_ptr().cast(), new.as_ptr().cast());
            let into = before.as_mut_ptr().cast();
            later(self.window.compare_and_swap(new, compare, into, &target))
        };
        self.settle("compare_and_swap", there.rank, begun)?;
        Ok(before[0])
    }
}
