//! The memory of this rank's window as requests of other ranks name it.

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Predefined;
use oxmpi_windows::Element;
use oxmpi_windows::message::{Refusal, Request};
use oxmpi_windows::region::Use;

use super::super::accumulate::{self, Plan, Site};
use super::super::layout;
use super::super::memory::Held;
use super::Hands;
use crate::buffer::Buffer;

/// An accumulation whose arguments were checked.
pub(super) struct Combination {
    plan: Plan,
    place: Place,
}

/// Memory of the window.
struct Place {
    /// Where the datatype counts from.
    address: *mut u8,
    /// Of which one element is meant.
    datatype: Datatype,
    /// Keeps it there.
    held: Option<Held>,
}

// SAFETY: the address lies in the window, whose owner promises that any thread may use it.
unsafe impl Send for Place {}

impl Hands {
    pub(super) fn site(&self, exclusive: bool) -> Site<'_> {
        Site {
            control: &self.core.control,
            index: self.index,
            engine: self.core.engine(),
            exclusive,
        }
    }

    /// The memory that a request accesses.
    fn place(&self, request: &Request<'_>, what: Use) -> Result<Place, Refusal> {
        let bytes = i64::try_from(request.bytes).map_err(|_| Refusal::Garbled)?;
        let datatype = if request.layout.is_empty() {
            let block = Datatype::contiguous(bytes, &Datatype::named(Basic::Byte));
            let block = block.map_err(|_| Refusal::Garbled)?;
            block.commit();
            block
        } else {
            layout::decode(request.layout).ok_or(Refusal::Garbled)?
        };
        if datatype.size() != request.bytes {
            return Err(Refusal::Garbled);
        }
        let from = request.displacement;
        let span = from
            .checked_add(datatype.true_lb())
            .zip(from.checked_add(datatype.true_ub()));
        let outside = Refusal::Memory {
            displacement: from,
            bytes: request.bytes,
        };
        let (begin, end) = span.ok_or(outside)?;
        let (first, held) = self.core.own_address(begin, end, what).ok_or(outside)?;
        Ok(Place {
            address: first.wrapping_offset(-datatype.true_lb() as isize),
            datatype,
            held,
        })
    }

    /// The memory of a request that accesses one block.
    fn block(&self, request: &Request<'_>, what: Use) -> Result<(*mut u8, Option<Held>), Refusal> {
        let Request {
            displacement,
            bytes,
            ..
        } = *request;
        let end = i64::try_from(bytes).ok();
        let end = end.and_then(|bytes| displacement.checked_add(bytes));
        end.and_then(|end| self.core.own_address(displacement, end, what))
            .ok_or(Refusal::Memory {
                displacement,
                bytes,
            })
    }

    /// The memory that a request accesses, as a buffer; it may be used while what comes with it is
    /// kept.
    pub(super) fn buffer(
        &self,
        request: &Request<'_>,
        what: Use,
    ) -> Result<(Buffer, Option<Held>), Refusal> {
        if request.layout.is_empty() {
            let (address, held) = self.block(request, what)?;
            // SAFETY: as below.
            return Ok((unsafe { Buffer::raw(address, request.bytes) }, held));
        }
        let place = self.place(request, what)?;
        // SAFETY: the memory is the window's, as was checked; it stays until the window is freed,
        // and attached memory while it is held.
        let buffer = unsafe { Buffer::new(place.address, 1, &place.datatype) };
        Ok((buffer.map_err(|_| Refusal::Garbled)?, place.held))
    }

    pub(super) fn combination(
        &self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
    ) -> Result<Combination, Refusal> {
        let plan = Plan::new(element, op).map_err(|_| Refusal::Garbled)?;
        let place = self.place(request, Use::Change)?;
        if !request.bytes.is_multiple_of(plan.bytes as u64) {
            return Err(Refusal::Garbled);
        }
        Ok(Combination { plan, place })
    }

    /// Changes one word by an instruction of the processor; none, and nothing has happened, if the
    /// request asks for more than that.
    pub(super) fn change_one(
        &self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
        before: &mut [u8; 8],
    ) -> Option<usize> {
        let Element::Basic(basic) = element else {
            return None;
        };
        let bytes = basic.size() as usize;
        let data = match op {
            Predefined::NoOp => &[],
            _ => request.data.unwrap_or_default(),
        };
        let has_data = op == Predefined::NoOp || data.len() == bytes;
        let is_word = request.layout.is_empty() && request.bytes == bytes as u64;
        if !has_data || !is_word || bytes > before.len() {
            return None;
        }
        let (place, _held) = self.block(request, Use::Change).ok()?;
        let result = Some(before.as_mut_ptr());
        // SAFETY: the element lies in the window, as was checked; data and room are long enough for
        // a word, and nothing else is changed by one instruction.
        let changed = unsafe { accumulate::change_word(basic, op, place, data.as_ptr(), result) };
        changed.then_some(bytes)
    }

    /// Compares and swaps one element; what was there.
    pub(super) fn swap_one(
        &self,
        request: &Request<'_>,
        compare: &[u8],
        new: &[u8],
    ) -> Option<Vec<u8>> {
        let place = self.place(request, Use::Change).ok()?;
        let mut result = vec![0; compare.len()];
        let first = place.datatype.true_lb() as isize;
        let address = place.address.wrapping_offset(first);
        if !result.is_empty() {
            // SAFETY: the element lies in the window, as was checked.
            unsafe {
                accumulate::compare_swap(self.site(false), address, compare, new, &mut result);
            }
        }
        Some(result)
    }
}

impl Combination {
    /// Combines the data into the window; what was there before, if that is wanted.
    pub(super) fn run(&self, site: Site<'_>, data: &[u8], wants_old: bool) -> Option<Vec<u8>> {
        let layout = self.place.datatype.layout(1).ok()?;
        let mut old = wants_old.then(|| vec![0; layout.bytes() as usize]);
        // SAFETY: the memory is the window's, as was checked; elements of a window are changed
        // through `accumulate` alone while accumulations may meet.
        unsafe {
            self.plan
                .apply(site, self.place.address, &layout, data, old.as_deref_mut());
        }
        old
    }
}
