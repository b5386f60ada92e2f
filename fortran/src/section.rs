//! Choice buffers of mpi_f08: descriptors of arrays and of sections of arrays.
//!
//! The standard's MPI_SUBARRAYS_SUPPORTED means that a section such as `a(1:n:2, :)` is a buffer
//! like any other: its elements in array element order. One without gaps is an address. One with
//! gaps that holds a single message is described by a datatype made for the call (`describe`);
//! any other is copied ([`Staged`]), and copied back when the operation is over. Copies of persistent
//! requests are filled at each start ([`persistent`]).

mod describe;
pub mod persistent;

use std::ffi::{c_char, c_int, c_void};

use crate::c::{self, Handle};
use crate::constant::{MPI_REQUEST_NULL, MPI_SUCCESS};
use crate::kept;
use crate::sentinel;
use persistent::Partitions;

/// The head of a C descriptor (ISO_Fortran_binding.h). gfortran and flang agree in these fields;
/// what lies between rank and dimensions differs and is not read.
#[repr(C)]
pub struct Descriptor {
    /// Where the first element is.
    pub base: *mut c_void,
    /// Bytes of an element.
    pub element_bytes: usize,
    version: c_int,
    rank: i8,
    _private: [u8; 3],
    dimensions: [Dimension; 0],
}

/// A dimension: lower bound, extent (-1 if it is not known), bytes from element to element.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    _lower: isize,
    /// How many elements.
    pub extent: isize,
    /// Bytes from one to the next.
    pub stride: isize,
}

const _: () = assert!(std::mem::offset_of!(Descriptor, dimensions) == 24);

impl Descriptor {
    /// The dimensions.
    ///
    /// # Safety
    /// The descriptor was made by a Fortran compiler.
    #[inline(always)]
    pub unsafe fn dimensions(&self) -> &[Dimension] {
        let first = (&raw const self.dimensions).cast::<Dimension>();
        // SAFETY: a descriptor has as many dimensions as its rank says.
        unsafe { std::slice::from_raw_parts(first, self.rank.max(0) as usize) }
    }

    /// A CHARACTER argument: its address and length.
    pub fn text(&self) -> (*const c_char, usize) {
        (self.base.cast_const().cast(), self.element_bytes)
    }

    /// Whether the elements lie one after the other.
    ///
    /// # Safety
    /// The descriptor was made by a Fortran compiler.
    #[inline(always)]
    unsafe fn is_dense(&self) -> bool {
        let mut next = self.element_bytes as isize;
        // SAFETY: the caller's promise.
        for dimension in unsafe { self.dimensions() } {
            // An array of unknown size comes from an assumed-size dummy, which has no gaps.
            if dimension.extent <= 0 {
                return true;
            }
            if dimension.stride != next && dimension.extent != 1 {
                return false;
            }
            next *= dimension.extent;
        }
        true
    }
}

/// A section with gaps, as data.
pub struct Section {
    base: *mut u8,
    element_bytes: usize,
    dimensions: Vec<Dimension>,
}

impl Section {
    unsafe fn new(descriptor: &Descriptor) -> Section {
        Section {
            base: descriptor.base.cast(),
            element_bytes: descriptor.element_bytes,
            // SAFETY: the caller vouches for the descriptor.
            dimensions: unsafe { descriptor.dimensions() }.to_vec(),
        }
    }

    fn elements(&self) -> usize {
        self.dimensions
            .iter()
            .map(|dimension| dimension.extent.max(0) as usize)
            .product()
    }

    /// Calls `each` with the number and the address of these elements, in array element order.
    fn walk(&self, elements: std::ops::Range<usize>, mut each: impl FnMut(usize, *mut u8)) {
        let mut index = vec![0isize; self.dimensions.len()];
        let mut at = self.base;
        let mut before = elements.start as isize;
        for (index, dimension) in index.iter_mut().zip(&self.dimensions) {
            *index = before % dimension.extent.max(1);
            before /= dimension.extent.max(1);
            at = at.wrapping_offset(*index * dimension.stride);
        }
        for element in elements {
            each(element, at);
            for (index, dimension) in index.iter_mut().zip(&self.dimensions) {
                *index += 1;
                at = at.wrapping_offset(dimension.stride);
                if *index < dimension.extent {
                    break;
                }
                at = at.wrapping_offset(-dimension.stride * dimension.extent);
                *index = 0;
            }
        }
    }
}

/// A copy of a section.
struct Copy {
    section: Section,
    /// Words, so that any type may lie there.
    words: Vec<u128>,
    /// Whether the copy goes back into the section when the operation is over.
    returns: bool,
}

// SAFETY: the section is memory of the program, which leaves it to MPI until the operation is over.
unsafe impl Send for Copy {}

impl Copy {
    unsafe fn new(descriptor: &Descriptor, returns: bool) -> Copy {
        // SAFETY: the caller vouches for the descriptor.
        let section = unsafe { Section::new(descriptor) };
        let bytes = section.elements() * section.element_bytes;
        let mut copy = Copy {
            words: vec![0; bytes.div_ceil(16).max(1)],
            section,
            returns,
        };
        // What the operation leaves alone must come back as it was, so outputs are copied too.
        copy.exchange(true, 0..usize::MAX);
        copy
    }

    /// Copies bytes of the copy, as many of them as it has, from the section or to it.
    fn exchange(&mut self, inward: bool, bytes: std::ops::Range<usize>) {
        let size = self.section.element_bytes;
        let end = bytes.end.min(self.section.elements() * size);
        if bytes.start >= end {
            return;
        }
        let place = self.words.as_mut_ptr().cast::<u8>();
        let elements = bytes.start / size..end.div_ceil(size);
        self.section.walk(elements, |element, address| {
            let first = bytes.start.max(element * size);
            let count = end.min((element + 1) * size) - first;
            // SAFETY: the descriptor says that the element is there; the copy has room for all.
            unsafe {
                let (place, address) = (place.add(first), address.add(first - element * size));
                match inward {
                    true => std::ptr::copy_nonoverlapping(address, place, count),
                    false => std::ptr::copy_nonoverlapping(place, address, count),
                }
            }
        });
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if self.returns {
            self.exchange(false, 0..usize::MAX);
        }
    }
}

/// What was made for the sections of one call.
pub struct Staged {
    copies: Vec<Copy>,
    datatypes: Vec<Handle>,
}

impl Default for Staged {
    fn default() -> Self {
        Staged::new()
    }
}

impl Staged {
    /// Nothing yet.
    #[inline(always)]
    pub fn new() -> Staged {
        Staged {
            copies: Vec::new(),
            datatypes: Vec::new(),
        }
    }

    /// The address for a buffer that is read.
    ///
    /// # Safety
    /// The descriptor was made by a Fortran compiler.
    #[inline(always)]
    pub unsafe fn input(&mut self, descriptor: *const Descriptor) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe {
            if (*descriptor).is_dense() {
                return sentinel::buffer((*descriptor).base);
            }
            self.copy(&*descriptor, false)
        }
    }

    /// The address for a buffer that is written.
    ///
    /// # Safety
    /// The descriptor was made by a Fortran compiler.
    #[inline(always)]
    pub unsafe fn output(&mut self, descriptor: *const Descriptor) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe {
            if (*descriptor).is_dense() {
                return sentinel::buffer((*descriptor).base);
            }
            self.copy(&*descriptor, true)
        }
    }

    /// The address for a buffer of one message; count and datatype become those of the section.
    /// `returns` says whether the buffer is written.
    ///
    /// # Safety
    /// The descriptor was made by a Fortran compiler.
    #[inline(always)]
    pub unsafe fn message<C: std::marker::Copy + Into<i64> + From<u8>>(
        &mut self,
        descriptor: *const Descriptor,
        count: &mut C,
        datatype: &mut Handle,
        returns: bool,
    ) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe {
            if (*descriptor).is_dense() {
                return sentinel::buffer((*descriptor).base);
            }
            let section = Section::new(&*descriptor);
            match describe::datatype(&section, (*count).into(), *datatype) {
                Some(made) => {
                    self.datatypes.push(made);
                    (*count, *datatype) = (C::from(1), made);
                    section.base.cast()
                }
                None => self.copy(&*descriptor, returns),
            }
        }
    }

    #[cold]
    unsafe fn copy(&mut self, descriptor: &Descriptor, returns: bool) -> *mut c_void {
        // SAFETY: the caller vouches for the descriptor.
        self.copies.push(unsafe { Copy::new(descriptor, returns) });
        let last = self.copies.last_mut().expect("just pushed");
        last.words.as_mut_ptr().cast()
    }

    /// The call is over, and with it the operation.
    #[inline(always)]
    pub fn finish(&mut self, _code: c_int) {
        if !self.datatypes.is_empty() {
            self.free_datatypes();
        }
    }

    /// The call is over; the operation goes on until its request is over.
    #[inline(always)]
    pub fn keep(&mut self, code: c_int, request: c_int) {
        if !self.datatypes.is_empty() {
            self.free_datatypes();
        }
        if !self.copies.is_empty() && code == MPI_SUCCESS && request != MPI_REQUEST_NULL as c_int {
            kept::renew(request);
            for copy in self.copies.drain(..) {
                kept::keep(request, Box::new(copy));
            }
        }
    }

    /// The call has made a persistent request, which may be started again and again.
    #[inline(always)]
    pub fn persist(&mut self, code: c_int, request: c_int) {
        if !self.datatypes.is_empty() {
            self.free_datatypes();
        }
        if !self.copies.is_empty() {
            self.last(code, request, None);
        }
    }

    /// The same for a partitioned message.
    #[inline(always)]
    pub fn persist_partitions(
        &mut self,
        code: c_int,
        request: c_int,
        partitions: c_int,
        items: i64,
        datatype: Handle,
    ) {
        // The datatype of a call that failed may be what was wrong.
        if !self.copies.is_empty() && code == MPI_SUCCESS {
            let of = Partitions::new(partitions, items, datatype);
            self.last(code, request, of);
        }
    }

    #[cold]
    fn last(&mut self, code: c_int, request: c_int, partitions: Option<Partitions>) {
        // What a call that failed has copied goes nowhere.
        if code == MPI_SUCCESS && request != MPI_REQUEST_NULL as c_int {
            persistent::keep(request, std::mem::take(&mut self.copies), partitions);
        }
    }

    #[cold]
    fn free_datatypes(&mut self) {
        for mut datatype in self.datatypes.drain(..) {
            // SAFETY: this call made the datatype; operations that use it keep it alive.
            unsafe { c::PMPI_Type_free(&mut datatype) };
        }
    }
}
