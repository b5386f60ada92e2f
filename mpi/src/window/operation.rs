//! The operations of a program on a window: put, get, accumulate and their kin (MPI 5.0 §12.3).
//!
//! Each checks rank, epoch and place, then takes the way that leads to the target: by itself where
//! the memory is mapped here, by message where it is not.

use super::accumulate::{self, Plan, Site};
use super::layout;
use super::origin::Access;
use super::place::{Place, Way, is_block, layout_of};
use super::{Target, Transfer, Window, at_once};
use crate::any_request::{AnyRequest, Report};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, WindowError};
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::{Op, Predefined};
use oxmpi_windows::Element;
use oxmpi_windows::message::Kind;

/// Elements of this process's memory that are accumulated, and their type.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a> {
    /// The memory.
    pub buffer: &'a Buffer,
    /// Its datatype.
    pub datatype: &'a Datatype,
}

/// From here on a block between two processes' own memory is moved by one call of the kernel;
/// shorter ones are through sooner by message.
const SINGLE_COPY_MIN: u64 = 16 << 10;

/// When an operation has to be over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// At the next synchronisation.
    Flush,
    /// When its request says so.
    Request,
}

/// What the calls without a request make of it.
fn quietly(operation: Result<AnyRequest, ErrorKind>) -> Result<(), ErrorKind> {
    operation.map(drop)
}

const OVER: AnyRequest = AnyRequest::Over(Report::EMPTY);

impl Window {
    /// Writes `origin` to the target.
    #[inline]
    pub fn put(&self, origin: &Buffer, target: &Target<'_>) -> Result<(), ErrorKind> {
        self.transfer_soon(Transfer::Put, origin, target)
    }

    #[inline(always)]
    fn transfer_soon(
        &self,
        what: Transfer,
        origin: &Buffer,
        target: &Target<'_>,
    ) -> Result<(), ErrorKind> {
        if let Some((here, bytes, rank, displacement)) = at_once::blocks(origin, target)
            // SAFETY: the buffer's promise.
            && unsafe { self.transfer_at_once(what, here, bytes, rank, displacement) }
        {
            return Ok(());
        }
        quietly(self.transfer(what, Until::Flush, origin, target))
    }

    /// [`Window::put`] with a request that is over when `origin` may be used again.
    pub fn rput(&self, origin: &Buffer, target: &Target<'_>) -> Result<AnyRequest, ErrorKind> {
        self.check_request("MPI_Rput", target)?;
        self.transfer(Transfer::Put, Until::Request, origin, target)
    }

    /// Moves data between `origin` and the target: a put or a get.
    fn transfer(
        &self,
        what: Transfer,
        until: Until,
        origin: &Buffer,
        target: &Target<'_>,
    ) -> Result<AnyRequest, ErrorKind> {
        let Some(place) = self.place(target)? else {
            return nothing(target, &[("origin", origin)]);
        };
        check_length("origin", origin.bytes(), place.bytes)?;
        match place.way {
            Way::Direct(address) => {
                // SAFETY: inside the target's memory, as was checked, which stays mapped.
                let memory = unsafe { Buffer::new(address, target.count, target.datatype)? };
                match what {
                    Transfer::Put => copy(origin, &memory)?,
                    Transfer::Get => copy(&memory, origin)?,
                }
                Ok(OVER)
            }
            Way::Message(from)
                if self.moved_by_kernel(&place, from, target, origin, what == Transfer::Put) =>
            {
                Ok(OVER)
            }
            Way::Message(from) => self.by_message(&place, from, target, |access| {
                let (stream, core) = (&self.origin, &self.core);
                let moved = match what {
                    Transfer::Put => stream.give(core, Kind::Put, access, origin),
                    Transfer::Get => stream.take(core, Kind::Get, access, None, origin),
                }?;
                self.finish(until, access.target, moved)
            }),
        }
    }

    /// Reads from the target into `origin`.
    #[inline]
    pub fn get(&self, origin: &Buffer, target: &Target<'_>) -> Result<(), ErrorKind> {
        self.transfer_soon(Transfer::Get, origin, target)
    }

    /// [`Window::get`] with a request that is over when the data is there.
    pub fn rget(&self, origin: &Buffer, target: &Target<'_>) -> Result<AnyRequest, ErrorKind> {
        self.check_request("MPI_Rget", target)?;
        self.transfer(Transfer::Get, Until::Request, origin, target)
    }

    /// Combines `origin` into the target, atomically per element.
    pub fn accumulate(
        &self,
        origin: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<(), ErrorKind> {
        if let (Op::Predefined(op), Some(basic)) = (op, target.datatype.basic())
            && *op != Predefined::NoOp
            && origin.datatype.basic() == Some(basic)
            && target.count == 1
            && let Some((address, _, rank, displacement)) = at_once::blocks(origin.buffer, target)
            // SAFETY: the buffer's promise.
            && unsafe { self.change_at_once((basic, *op), address, None, rank, displacement) }
        {
            return Ok(());
        }
        quietly(self.accumulate_until(Until::Flush, origin, target, op))
    }

    /// [`Window::accumulate`] with a request that is over when `origin` may be used again.
    pub fn raccumulate(
        &self,
        origin: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        self.check_request("MPI_Raccumulate", target)?;
        self.accumulate_until(Until::Request, origin, target, op)
    }

    fn accumulate_until(
        &self,
        until: Until,
        origin: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        let Some(place) = self.place(target)? else {
            return nothing(target, &[("origin", origin.buffer)]);
        };
        let plan = plan(target.datatype, op)?;
        if plan.op == Predefined::NoOp {
            return Err(WindowError::NoOp.into());
        }
        check_elements("origin", &origin, &place, &plan)?;
        match place.way {
            Way::Direct(address) => {
                let input = Input::of(origin.buffer)?;
                self.apply(&plan, &place, address, target, input.bytes(), None)?;
                Ok(OVER)
            }
            Way::Message(from) => self.by_message(&place, from, target, |access| {
                let kind = Kind::Accumulate(plan.element, plan.op);
                let sent = self.origin.give(&self.core, kind, access, origin.buffer)?;
                self.finish(until, access.target, sent)
            }),
        }
    }

    /// Combines `origin` into the target and reads what was there before. With MPI_NO_OP the origin
    /// means nothing and may be [`Buffer::empty`].
    pub fn get_accumulate(
        &self,
        origin: Elements<'_>,
        result: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<(), ErrorKind> {
        quietly(self.fetch_until(Until::Flush, origin, result, target, op))
    }

    /// [`Window::get_accumulate`] with a request that is over when the result is there.
    pub fn rget_accumulate(
        &self,
        origin: Elements<'_>,
        result: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        self.check_request("MPI_Rget_accumulate", target)?;
        self.fetch_until(Until::Request, origin, result, target, op)
    }

    fn fetch_until(
        &self,
        until: Until,
        origin: Elements<'_>,
        result: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        let Some(place) = self.place(target)? else {
            let sides = [("result", result.buffer), ("origin", origin.buffer)];
            let reads = !matches!(op, Op::Predefined(Predefined::NoOp));
            return nothing(target, &sides[..1 + usize::from(reads)]);
        };
        let plan = plan(target.datatype, op)?;
        if !plan.needs_no_origin() {
            check_elements("origin", &origin, &place, &plan)?;
        }
        check_elements("result", &result, &place, &plan)?;
        match place.way {
            Way::Direct(address) => {
                let input = match plan.needs_no_origin() {
                    true => Input::Own(Vec::new()),
                    false => Input::of(origin.buffer)?,
                };
                if let Some(into) = result.buffer.contiguous() {
                    // SAFETY: the buffer's promise.
                    let old = unsafe { std::slice::from_raw_parts_mut(into, place.bytes as usize) };
                    self.apply(&plan, &place, address, target, input.bytes(), Some(old))?;
                    return Ok(OVER);
                }
                let mut old = vec![0; place.bytes as usize];
                let into = Some(&mut old[..]);
                self.apply(&plan, &place, address, target, input.bytes(), into)?;
                result.buffer.unpack(&old);
                Ok(OVER)
            }
            Way::Message(from) => self.by_message(&place, from, target, |access| {
                let kind = Kind::Fetch(plan.element, plan.op);
                let origin = (!plan.needs_no_origin()).then_some(origin.buffer);
                let taken = self
                    .origin
                    .take(&self.core, kind, access, origin, result.buffer)?;
                self.finish(until, access.target, taken)
            }),
        }
    }

    /// [`Window::get_accumulate`] of one element of a predefined type; `target.count` is 1 and
    /// `target.datatype` the type of all three.
    ///
    /// # Safety
    /// `origin` (unless the operation is MPI_NO_OP) and `result` must be valid for an element, the
    /// latter until the operation has been completed by a synchronisation.
    pub unsafe fn fetch_and_op(
        &self,
        origin: *const u8,
        result: *mut u8,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<(), ErrorKind> {
        // What the processor does by itself is not described first.
        if let (Op::Predefined(op), Some(basic)) = (op, target.datatype.basic())
            && target.count == 1
            && !result.is_null()
            && (!origin.is_null() || *op == Predefined::NoOp)
            && let Some(rank) = target.rank
            && let (what, rank) = ((basic, *op), rank as i32)
            // SAFETY: the caller's promise.
            && unsafe { self.change_at_once(what, origin, Some(result), rank, target.displacement) }
        {
            return Ok(());
        }
        let datatype = target.datatype;
        let count = if target.rank.is_none() { 0 } else { 1 };
        let needs_origin = !matches!(op, Op::Predefined(Predefined::NoOp));
        // SAFETY: the caller's promise.
        let (from, into) = unsafe {
            let from = match needs_origin {
                true => Buffer::new(origin.cast_mut(), count, datatype)?,
                false => Buffer::empty(),
            };
            (from, Buffer::new(result, count, datatype)?)
        };
        let elements = |buffer| Elements { buffer, datatype };
        self.get_accumulate(elements(&from), elements(&into), target, op)
    }

    /// Replaces one element by `origin` if it equals `compare`; `result` is what was there.
    ///
    /// # Safety
    /// All three must be valid for an element, `result` until the operation has been completed by a
    /// synchronisation.
    pub unsafe fn compare_and_swap(
        &self,
        origin: *const u8,
        compare: *const u8,
        result: *mut u8,
        target: &Target<'_>,
    ) -> Result<(), ErrorKind> {
        let datatype = target.datatype;
        let element = Element::of(datatype).filter(|element| element.is_comparable());
        if element.is_none() || datatype.signature().elements() != 1 {
            let datatype = format!("{datatype:?}");
            return Err(WindowError::CompareType { datatype }.into());
        }
        let Some(place) = self.place(target)? else {
            return Ok(());
        };
        let bytes = place.bytes as usize;
        // SAFETY: the caller's promise; the result is not read by anybody else meanwhile.
        let (compare, new, into) = unsafe {
            (
                std::slice::from_raw_parts(compare, bytes),
                std::slice::from_raw_parts(origin, bytes),
                std::slice::from_raw_parts_mut(result, bytes),
            )
        };
        match place.way {
            Way::Direct(address) => {
                // SAFETY: inside the target's memory, as was checked; elements are changed through
                // `accumulate` alone while accumulations may meet.
                unsafe {
                    let site = self.site(place.target)?;
                    accumulate::compare_swap(site, address, compare, new, into);
                }
                Ok(())
            }
            Way::Message(from) => {
                let mut both = [compare, new].concat();
                // SAFETY: our own memory, which lives until it has been packed in this call: it is
                // shorter than what is sent by itself.
                let origin = unsafe { Buffer::raw(both.as_mut_ptr(), both.len() as u64) };
                // SAFETY: the caller's promise.
                let into = unsafe { Buffer::raw(result, bytes as u64) };
                let access = Access {
                    target: place.target,
                    displacement: from,
                    bytes: place.bytes,
                    layout: &[],
                };
                let kind = Kind::CompareSwap;
                let taken = self
                    .origin
                    .take(&self.core, kind, access, Some(&origin), &into)?;
                self.finish(Until::Flush, place.target, taken).map(drop)
            }
        }
    }

    /// Hands the request of an operation out, or keeps it for the next flush.
    fn finish(
        &self,
        until: Until,
        target: u32,
        operation: AnyRequest,
    ) -> Result<AnyRequest, ErrorKind> {
        match until {
            Until::Flush => {
                self.origin.keep(&self.core, target, operation);
                Ok(OVER)
            }
            Until::Request => {
                self.origin.hurry(&self.core, target)?;
                Ok(operation)
            }
        }
    }

    /// Has the kernel move a long block to or from the program's memory in another process of this
    /// host: one copy, and the target need not do anything. False: nothing has come of it.
    fn moved_by_kernel(
        &self,
        place: &Place,
        from: i64,
        target: &Target<'_>,
        origin: &Buffer,
        writes: bool,
    ) -> bool {
        let part = self.core.part(place.target);
        let (Some(near), Some(here)) = (part.near, origin.contiguous()) else {
            return false;
        };
        if place.bytes < SINGLE_COPY_MIN || part.address == 0 || !is_block(target) {
            return false;
        }
        let (engine, bytes) = (self.core.engine(), place.bytes as usize);
        let there = part.address + (from + target.datatype.true_lb()) as u64;
        // SAFETY: the buffer's promise; the place was checked to lie in the target's memory.
        unsafe {
            match writes {
                true => engine.store(near.port, there, here, bytes),
                false => engine.fetch(near.port, there, here, bytes),
            }
        }
    }

    fn by_message(
        &self,
        place: &Place,
        from: i64,
        target: &Target<'_>,
        send: impl FnOnce(Access<'_>) -> Result<AnyRequest, ErrorKind>,
    ) -> Result<AnyRequest, ErrorKind> {
        let mut words = Vec::new();
        let mut displacement = from;
        if is_block(target) {
            displacement += target.datatype.true_lb();
        } else {
            layout::encode(&layout_of(target)?, &mut words);
        }
        send(Access {
            target: place.target,
            displacement,
            bytes: place.bytes,
            layout: &words,
        })
    }

    /// Whose memory it is; only for memory that is mapped here.
    fn site(&self, target: u32) -> Result<Site<'_>, ErrorKind> {
        let near = self.core.part(target).near;
        Ok(Site {
            control: &self.core.control,
            index: near.expect("memory that is mapped is of this host").index,
            engine: self.core.engine(),
            exclusive: self.epoch.is_exclusive(target) && !self.core.comm.process.is_concurrent(),
        })
    }

    fn apply(
        &self,
        plan: &Plan,
        place: &Place,
        address: *mut u8,
        target: &Target<'_>,
        input: &[u8],
        result: Option<&mut [u8]>,
    ) -> Result<(), ErrorKind> {
        let layout = layout_of(target)?;
        let site = self.site(place.target)?;
        // SAFETY: inside the target's memory, as was checked; elements are changed through
        // `accumulate` alone while accumulations may meet.
        unsafe { plan.apply(site, address, &layout, input, result) };
        Ok(())
    }

    /// Operations with a request are for epochs of locks (MPI 5.0 §12.3.5).
    fn check_request(&self, call: &'static str, target: &Target<'_>) -> Result<(), ErrorKind> {
        let Some(rank) = target.rank else {
            return Ok(());
        };
        self.check_rank(rank)?;
        Ok(self.epoch.check_passive(call, Some(rank))?)
    }
}

fn plan(datatype: &Datatype, op: &Op) -> Result<Plan, ErrorKind> {
    let Op::Predefined(op) = op else {
        return Err(WindowError::UserOp.into());
    };
    let mixed = || WindowError::Mixed {
        datatype: format!("{datatype:?}"),
    };
    Plan::new(Element::of(datatype).ok_or_else(mixed)?, *op)
}

/// An operation that accesses no memory of its target: there is no target, or the elements have no
/// bytes, which is then so for the other sides.
fn nothing(
    target: &Target<'_>,
    sides: &[(&'static str, &Buffer)],
) -> Result<AnyRequest, ErrorKind> {
    if target.rank.is_some() {
        for (side, buffer) in sides {
            check_length(side, buffer.bytes(), 0)?;
        }
    }
    Ok(OVER)
}

#[inline]
fn check_length(side: &'static str, got: u64, needed: u64) -> Result<(), WindowError> {
    if got == needed {
        return Ok(());
    }
    Err(WindowError::Length { side, needed, got })
}

/// Refuses elements of another kind than the target's.
fn check_elements(
    side: &'static str,
    elements: &Elements<'_>,
    place: &Place,
    plan: &Plan,
) -> Result<(), WindowError> {
    check_length(side, elements.buffer.bytes(), place.bytes)?;
    let element = Element::of(elements.datatype);
    if element == Some(plan.element) {
        return Ok(());
    }
    Err(WindowError::Elements {
        side,
        needed: format!("{:?}", plan.element),
        got: element.map_or("several types".into(), |element| format!("{element:?}")),
    })
}

/// Packed elements of this process.
enum Input<'a> {
    There(&'a [u8]),
    Own(Vec<u8>),
}

impl Input<'_> {
    fn of(buffer: &Buffer) -> Result<Input<'_>, ErrorKind> {
        Ok(match buffer.contiguous() {
            // SAFETY: the buffer's promise; it is borrowed for as long as the slice.
            Some(address) => Input::There(unsafe {
                std::slice::from_raw_parts(address, buffer.bytes() as usize)
            }),
            None => Input::Own(buffer.pack()?),
        })
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Input::There(bytes) => bytes,
            Input::Own(bytes) => bytes,
        }
    }
}

/// Copies between buffers of the same length.
#[inline]
fn copy(from: &Buffer, to: &Buffer) -> Result<(), ErrorKind> {
    match (from.contiguous(), to.contiguous()) {
        // SAFETY: both buffers' promises; they may overlap where a rank accesses its own memory.
        (Some(source), Some(place)) => unsafe {
            std::ptr::copy(source, place, from.bytes() as usize);
        },
        (Some(source), None) => {
            // SAFETY: the buffer's promise, for the length of the call.
            let packed = unsafe { std::slice::from_raw_parts(source, from.bytes() as usize) };
            to.unpack(packed);
        }
        (None, Some(place)) => {
            // SAFETY: the buffer's promise, for the length of the call.
            let packed = unsafe { std::slice::from_raw_parts_mut(place, to.bytes() as usize) };
            from.pack_into(packed);
        }
        (None, None) => to.unpack(&from.pack()?),
    }
    Ok(())
}
