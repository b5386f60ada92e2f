//! Operations on the memory of a target (MPI 5.0 §12.3), with and without a request.

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::window::{Elements, Target};

use super::rank_in;
use crate::argument::Out;
use crate::call::Call;
use crate::chapter::point::buffer;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Op, Type, Window};
use crate::request;
use oxmpi_datatypes::op::Predefined;

/// What an operation touches at its target.
#[inline]
fn target<'a>(
    rank: i32,
    displacement: i64,
    count: i64,
    datatype: &'a Type,
    win: &Window,
) -> Result<Target<'a>, Failure> {
    Ok(Target {
        rank: rank_in("target_rank", rank, win)?,
        displacement,
        count: count as u64,
        datatype: &datatype.datatype,
    })
}

/// MPI_Put.
pub fn put(
    _call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    win: &Window,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    Ok(win.put(&origin, &target)?)
}

/// MPI_Rput.
pub fn rput(
    _call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    win: &Window,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    request.set(request::of(win.rput(&origin, &target)?)?);
    Ok(())
}

/// MPI_Get.
pub fn get(
    _call: &Call,
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    win: &Window,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    Ok(win.get(&origin, &target)?)
}

/// MPI_Rget.
pub fn rget(
    _call: &Call,
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    win: &Window,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    request.set(request::of(win.rget(&origin, &target)?)?);
    Ok(())
}

/// MPI_Accumulate.
pub fn accumulate(
    _call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    op: &Op,
    win: &Window,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    let op = op.with_datatype(target_datatype.handle());
    Ok(win.accumulate(elements(&origin, origin_datatype), &target, &op)?)
}

/// MPI_Raccumulate.
pub fn raccumulate(
    _call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    op: &Op,
    win: &Window,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let origin = buffer(origin_addr, origin_count, origin_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    let op = op.with_datatype(target_datatype.handle());
    let operation = win.raccumulate(elements(&origin, origin_datatype), &target, &op)?;
    request.set(request::of(operation)?);
    Ok(())
}

fn elements<'a>(buffer: &'a Buffer, datatype: &'a Type) -> Elements<'a> {
    Elements {
        buffer,
        datatype: &datatype.datatype,
    }
}

/// The origin of an operation that fetches. With MPI_NO_OP its arguments mean nothing and are not
/// looked at (MPI 5.0 §12.3.4), and the result's stand in for them.
fn with_origin<T>(
    call: &Call,
    (address, count, datatype): (*const c_void, i64, Handle),
    (result, result_type): (&Buffer, &Type),
    op: &Op,
    run: impl FnOnce(Elements<'_>, Elements<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let into = elements(result, result_type);
    if matches!(op, Op::Predefined(Predefined::NoOp)) {
        return run(elements(&Buffer::empty(), result_type), into);
    }
    let count = call.count("origin_count", count)?;
    let datatype = call.element("origin_datatype", datatype, count == 0)?;
    let origin = buffer(address, count, &datatype)?;
    run(elements(&origin, &datatype), into)
}

/// MPI_Get_accumulate.
pub fn get_accumulate(
    call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    op: &Op,
    win: &Window,
) -> Result<(), Failure> {
    let result = buffer(result_addr, result_count, result_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    let origin = (origin_addr, origin_count, origin_datatype);
    let combine = op.with_datatype(target_datatype.handle());
    with_origin(
        call,
        origin,
        (&result, result_datatype),
        op,
        |origin, into| Ok(win.get_accumulate(origin, into, &target, &combine)?),
    )
}

/// MPI_Rget_accumulate.
pub fn rget_accumulate(
    call: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Type,
    op: &Op,
    win: &Window,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let result = buffer(result_addr, result_count, result_datatype)?;
    let target = target(target_rank, target_disp, target_count, target_datatype, win)?;
    let origin = (origin_addr, origin_count, origin_datatype);
    let combine = op.with_datatype(target_datatype.handle());
    let operation = with_origin(
        call,
        origin,
        (&result, result_datatype),
        op,
        |origin, into| Ok(win.rget_accumulate(origin, into, &target, &combine)?),
    )?;
    request.set(request::of(operation)?);
    Ok(())
}

/// MPI_Fetch_and_op.
pub fn fetch_and_op(
    _call: &Call,
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    op: &Op,
    win: &Window,
) -> Result<(), Failure> {
    let reads = !matches!(op, Op::Predefined(Predefined::NoOp));
    element("origin_addr", origin_addr.is_null() && reads)?;
    element("result_addr", result_addr.is_null())?;
    let target = target(target_rank, target_disp, 1, datatype, win)?;
    let op = op.with_datatype(datatype.handle());
    // SAFETY: the program vouches for elements at both addresses, as long as the standard demands.
    unsafe { win.fetch_and_op(origin_addr.cast(), result_addr.cast(), &target, &op)? };
    Ok(())
}

/// MPI_Compare_and_swap.
pub fn compare_and_swap(
    _call: &Call,
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Type,
    target_rank: i32,
    target_disp: i64,
    win: &Window,
) -> Result<(), Failure> {
    element("origin_addr", origin_addr.is_null())?;
    element("compare_addr", compare_addr.is_null())?;
    element("result_addr", result_addr.is_null())?;
    let target = target(target_rank, target_disp, 1, datatype, win)?;
    let (origin, compare) = (origin_addr.cast(), compare_addr.cast());
    // SAFETY: the program vouches for an element at each address, as long as the standard demands.
    unsafe { win.compare_and_swap(origin, compare, result_addr.cast(), &target)? };
    Ok(())
}

/// One element needs memory: a predefined type has no addresses of its own.
#[inline]
fn element(argument: &'static str, missing: bool) -> Result<(), Failure> {
    if !missing {
        return Ok(());
    }
    let text = format!("{argument} is a null pointer, but an element is needed there");
    Err(Failure::new(crate::constant::MPI_ERR_BUFFER, text))
}
