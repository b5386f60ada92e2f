//! The operations, for all epochs alike: memory becomes buffers, errors get the call's name.

use super::Window;
use super::element::{Element, Integer};
use super::place::{There, buffer};
use crate::any_request::AnyRequest;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use crate::window::Elements;
use oxmpi_datatypes::data::Memory;
use oxmpi_datatypes::datatype::Datatype;
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

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// # Safety
    /// What `data` names must stay valid until the operation is over.
    pub(super) unsafe fn begin_put(
        &self,
        until: Until,
        data: Memory,
        there: There<'_, T>,
    ) -> Begun {
        let place = there.bytes(data.elements);
        let target = place.target();
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer::<T>(&data)? };
        match until {
            Until::Later => later(self.window.put(&origin, &target)),
            Until::Request => self.window.rput(&origin, &target),
        }
    }

    /// # Safety
    /// What `into` names must stay valid, and not be used, until the operation is over.
    pub(super) unsafe fn begin_get(
        &self,
        until: Until,
        into: Memory,
        there: There<'_, T>,
    ) -> Begun {
        let place = there.bytes(into.elements);
        let target = place.target();
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer::<T>(&into)? };
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
    /// What `data` names must stay valid until the operation is over.
    pub(super) unsafe fn begin_accumulate(
        &self,
        until: Until,
        data: Memory,
        there: There<'_, T>,
        op: Predefined,
    ) -> Begun {
        let datatype = Datatype::named(T::BASIC);
        let place = there.elements(data.elements, T::BASIC)?;
        let target = place.target();
        // SAFETY: the caller's promise.
        let origin = unsafe { buffer::<T>(&data)? };
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
    /// What both name must stay valid until the operation is over, `result` unused.
    pub(super) unsafe fn begin_fetch(
        &self,
        until: Until,
        data: Memory,
        result: Memory,
        there: There<'_, T>,
        op: Predefined,
    ) -> Begun {
        let datatype = &Datatype::named(T::BASIC);
        let place = there.elements(result.elements, T::BASIC)?;
        let target = place.target();
        // SAFETY: the caller's promise.
        let (from, into) = unsafe { (buffer::<T>(&data)?, buffer::<T>(&result)?) };
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
        (rank, at): (u32, usize),
        op: Predefined,
    ) -> Result<T> {
        let place = There::<T>::new(rank, at).element(T::BASIC);
        let target = place.target();
        let (from, mut before) = ([value], [value]);
        // SAFETY: both live until the operation has been settled below.
        let begun = unsafe {
            let (from, into) = (from.as_ptr().cast(), before.as_mut_ptr().cast());
            let op = Op::Predefined(op);
            later(self.window.fetch_and_op(from, into, &target, &op))
        };
        self.settle(call, rank, begun)?;
        Ok(before[0])
    }
}

impl<T: Integer, L: Level> Window<'_, T, L> {
    /// Replaces one element by `new` if it equals `compare`; the value before.
    pub(super) fn compare_one(&self, compare: T, new: T, rank: u32, at: usize) -> Result<T> {
        let place = There::<T>::new(rank, at).element(T::BASIC);
        let target = place.target();
        let (compare, new, mut before) = ([compare], [new], [compare]);
        // SAFETY: all live until the operation has been settled below.
        let begun = unsafe {
            let (compare, new) = (compare.as_ptr().cast(), new.as_ptr().cast());
            let into = before.as_mut_ptr().cast();
            later(self.window.compare_and_swap(new, compare, into, &target))
        };
        self.settle("compare_and_swap", rank, begun)?;
        Ok(before[0])
    }
}
