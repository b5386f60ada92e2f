//! A datatype for a section of an array: hvectors of hvectors of the element.

use std::ffi::c_int;

use super::Section;
use crate::c::{self, Handle};
use crate::constant::MPI_DATATYPE_NULL;

/// The datatype of the first `count` items of `of` in a section, committed; none if items and
/// elements do not divide each other, which only a copy can serve.
pub(super) fn datatype(section: &Section, count: i64, of: Handle) -> Option<Handle> {
    let (mut size, mut low, mut extent) = (0i64, 0i64, 0i64);
    // SAFETY: the addresses are those of local variables. A wrong datatype gives None, and the call
    // itself reports it.
    unsafe {
        if of == MPI_DATATYPE_NULL
            || c::PMPI_Type_size_c(of, &mut size) != 0
            || c::PMPI_Type_get_extent_c(of, &mut low, &mut extent) != 0
        {
            return None;
        }
    }
    let element = section.element_bytes as i64;
    if size <= 0 || low != 0 || extent != size || count < 0 || element % size != 0 {
        return None;
    }
    let per_element = element / size;
    let elements = count / per_element;
    if count % per_element != 0 || elements as usize > section.elements() {
        return None;
    }
    let mut made = Vec::new();
    let item = contiguous(per_element, of, &mut made);
    let whole = part(section, section.dimensions.len(), elements, item, &mut made);
    // SAFETY: all handles were made here; the last is the result.
    unsafe {
        let mut result = whole;
        if c::PMPI_Type_dup(whole, &mut result) != 0 || c::PMPI_Type_commit(&mut result) != 0 {
            return None;
        }
        for mut datatype in made {
            c::PMPI_Type_free(&mut datatype);
        }
        Some(result)
    }
}

fn contiguous(count: i64, of: Handle, made: &mut Vec<Handle>) -> Handle {
    let mut new = of;
    // SAFETY: the address is that of a local variable.
    unsafe { c::PMPI_Type_contiguous_c(count, of, &mut new) };
    made.push(new);
    new
}

/// The first `elements` elements of the lowest `depth` dimensions.
fn part(
    section: &Section,
    depth: usize,
    elements: i64,
    item: Handle,
    made: &mut Vec<Handle>,
) -> Handle {
    let Some(depth) = depth.checked_sub(1) else {
        return item;
    };
    let below: i64 = section.dimensions[..depth]
        .iter()
        .map(|d| d.extent as i64)
        .product();
    let (rows, rest) = (elements / below.max(1), elements % below.max(1));
    let stride = section.dimensions[depth].stride as i64;
    let row = part(section, depth, below, item, made);
    let mut new = row;
    // SAFETY: the addresses are those of local variables and arrays of the lengths given.
    unsafe {
        c::PMPI_Type_create_hvector_c(rows, 1, stride, row, &mut new);
        made.push(new);
        if rest != 0 {
            let more = part(section, depth, rest, item, made);
            let types: [Handle; 2] = [new, more];
            c::PMPI_Type_create_struct_c(
                2 as c_int as i64,
                [1i64, 1].as_ptr(),
                [0i64, rows * stride].as_ptr(),
                types.as_ptr(),
                &mut new,
            );
            made.push(new);
        }
    }
    new
}
