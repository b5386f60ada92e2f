//! The operations of a program on a window: put, get, accumulate and their kin (MPI 5.0 §12.3).

use super::{Target, Window};
use crate::any_request::AnyRequest;
use crate::buffer::Buffer;
use crate::error::ErrorKind;
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::Op;

/// Elements of this process's memory that are accumulated, and their type.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a> {
    /// The memory.
    pub buffer: &'a Buffer,
    /// Its datatype.
    pub datatype: &'a Datatype,
}

impl Window {
    /// Writes `origin` to the target.
    pub fn put(&self, origin: &Buffer, target: &Target<'_>) -> Result<(), ErrorKind> {
        todo!("{origin:?} {target:?}")
    }

    /// Reads from the target into `origin`.
    pub fn get(&self, origin: &Buffer, target: &Target<'_>) -> Result<(), ErrorKind> {
        todo!("{origin:?} {target:?}")
    }

    /// Combines `origin` into the target, atomically per element.
    pub fn accumulate(
        &self,
        origin: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<(), ErrorKind> {
        todo!("{origin:?} {target:?} {op:?}")
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
        todo!("{origin:?} {result:?} {target:?} {op:?}")
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
        todo!("{origin:?} {result:?} {target:?} {op:?}")
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
        todo!("{origin:?} {compare:?} {result:?} {target:?}")
    }

    /// [`Window::put`] with a request that is over when `origin` may be used again.
    pub fn rput(&self, origin: &Buffer, target: &Target<'_>) -> Result<AnyRequest, ErrorKind> {
        todo!("{origin:?} {target:?}")
    }

    /// [`Window::get`] with a request that is over when the data is there.
    pub fn rget(&self, origin: &Buffer, target: &Target<'_>) -> Result<AnyRequest, ErrorKind> {
        todo!("{origin:?} {target:?}")
    }

    /// [`Window::accumulate`] with a request that is over when `origin` may be used again.
    pub fn raccumulate(
        &self,
        origin: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        todo!("{origin:?} {target:?} {op:?}")
    }

    /// [`Window::get_accumulate`] with a request that is over when the result is there.
    pub fn rget_accumulate(
        &self,
        origin: Elements<'_>,
        result: Elements<'_>,
        target: &Target<'_>,
        op: &Op,
    ) -> Result<AnyRequest, ErrorKind> {
        todo!("{origin:?} {result:?} {target:?} {op:?}")
    }
}
