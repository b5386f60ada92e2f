//! Arrays of handles and of LOGICAL values, and results that Fortran counts differently.

use std::ffi::c_int;

use crate::c::{self, Handle};
use crate::constant::{MPI_ERR_IN_STATUS, MPI_SUCCESS};
use crate::handle::{comm_out, request as to_request, request_out};
use crate::kept;
use crate::logical;
use crate::section::persistent;

/// Arrays up to this length need no memory of their own.
const SHORT_MAX: usize = 32;

/// Handles for C.
pub struct Handles {
    short: [Handle; SHORT_MAX],
    long: Vec<Handle>,
    count: usize,
}

impl Handles {
    /// The handles that INTEGERs stand for.
    ///
    /// # Safety
    /// `count` integers can be read at `from`.
    pub unsafe fn new(from: *const c_int, count: i64, to_c: fn(c_int) -> Handle) -> Handles {
        let mut handles = Handles::empty(count);
        // SAFETY: the caller's promise.
        unsafe { handles.fill(from, to_c) };
        handles
    }

    /// The same, at an address that does not change, for operations that go on.
    ///
    /// # Safety
    /// `count` integers can be read at `from`.
    pub unsafe fn lasting(from: *const c_int, count: i64, to_c: fn(c_int) -> Handle) -> Handles {
        let count = usize::try_from(count).unwrap_or(0);
        let mut handles = Handles {
            short: [0; SHORT_MAX],
            long: vec![0; count.max(1)],
            count,
        };
        // SAFETY: the caller's promise.
        unsafe { handles.fill(from, to_c) };
        handles
    }

    /// Room for this many.
    pub fn empty(count: i64) -> Handles {
        let count = usize::try_from(count).unwrap_or(0);
        let long = if count > SHORT_MAX {
            vec![0; count]
        } else {
            Vec::new()
        };
        Handles {
            short: [0; SHORT_MAX],
            long,
            count,
        }
    }

    unsafe fn fill(&mut self, from: *const c_int, to_c: fn(c_int) -> Handle) {
        for (index, handle) in self.slice().iter_mut().enumerate() {
            // SAFETY: the index is below the count, for which the callers of this vouch.
            *handle = to_c(unsafe { *from.add(index) });
        }
    }

    fn slice(&mut self) -> &mut [Handle] {
        if self.long.is_empty() {
            &mut self.short[..self.count]
        } else {
            &mut self.long[..self.count]
        }
    }

    /// The address for C.
    pub fn as_mut_ptr(&mut self) -> *mut Handle {
        if self.long.is_empty() {
            self.short.as_mut_ptr()
        } else {
            self.long.as_mut_ptr()
        }
    }

    /// Gives those that C has set.
    ///
    /// # Safety
    /// As many integers can be written at `to` as C has set.
    pub unsafe fn give(&mut self, to: *mut c_int, to_fortran: fn(Handle) -> c_int) {
        for (index, &mut handle) in self.slice().iter_mut().enumerate() {
            if handle != 0 {
                // SAFETY: the caller's promise.
                unsafe { *to.add(index) = to_fortran(handle) }
            }
        }
    }

    /// Gives requests back, and ends what was kept for those that are over.
    ///
    /// # Safety
    /// `to` holds the requests that these were made of.
    pub unsafe fn give_requests(&mut self, to: *mut c_int) {
        for (index, &mut handle) in self.slice().iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { completed(to.add(index), request_out(handle)) }
        }
    }

    /// Keeps the array until the request is over; C libraries may read it until then.
    pub fn keep(self, code: c_int, request: c_int) {
        if code == MPI_SUCCESS {
            kept::keep(request, Box::new(self.long));
        }
    }
}

/// LOGICAL values for C.
pub struct Logicals(Vec<c_int>);

impl Logicals {
    /// The truth values, 1 and 0, of an array.
    ///
    /// # Safety
    /// `count` LOGICALs can be read at `from`.
    pub unsafe fn new(from: *const c_int, count: c_int) -> Logicals {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the caller's promise.
        let take = |index| c_int::from(logical::take(unsafe { *from.add(index) }));
        Logicals((0..count).map(take).collect())
    }

    /// The address for C.
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.0.as_mut_ptr()
    }

    /// Gives what C has set.
    ///
    /// # Safety
    /// As many LOGICALs can be written at `to`.
    pub unsafe fn give(&self, to: *mut c_int) {
        for (index, &value) in self.0.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *to.add(index) = logical::give(value != 0) }
        }
    }
}

/// Sets a handle that C may have changed.
///
/// # Safety
/// `handle` is the address of an INTEGER.
#[inline(always)]
pub unsafe fn changed(handle: *mut c_int, now: c_int) {
    // SAFETY: the caller's promise. Constants may lie in memory that cannot be written.
    unsafe {
        if *handle != now {
            *handle = now;
        }
    }
}

/// The same for a request; one that became MPI_REQUEST_NULL is over, any other may be complete.
///
/// # Safety
/// `request` is the address of an INTEGER.
#[inline(always)]
pub unsafe fn completed(request: *mut c_int, now: c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        let before = *request;
        if before != now {
            *request = now;
            kept::release(before);
            persistent::release(before);
        } else {
            persistent::look(request, 1);
        }
    }
}

/// Whether nothing that is kept for a request is in use any more.
#[inline(always)]
pub fn is_over(request: c_int) -> bool {
    let mut flag = 1;
    if kept::has(request) {
        // SAFETY: the request is alive, or else nothing would be kept for it.
        unsafe {
            c::PMPI_Request_get_status(to_request(request), &mut flag, std::ptr::null_mut());
        }
    }
    flag != 0
}

/// The same for a request that the program has given up: unless it was over, its operation goes on.
///
/// # Safety
/// `request` is the address of an INTEGER.
pub unsafe fn freed(request: *mut c_int, now: c_int, is_over: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        let before = *request;
        if before != now {
            *request = now;
            match is_over {
                true => kept::release(before),
                false => kept::give_up(before),
            }
            persistent::release(before);
        }
    }
}

/// Fortran counts places from 1; MPI_UNDEFINED stays.
///
/// # Safety
/// `index` is the address of an INTEGER.
#[inline(always)]
pub unsafe fn place(index: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        if *index >= 0 {
            *index += 1;
        }
    }
}

/// The same for the places that a call has given.
///
/// # Safety
/// `count` integers can be written at `indices`.
pub unsafe fn places(indices: *mut c_int, count: c_int, code: c_int) {
    if code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller's promise.
            unsafe { place(indices.add(index)) }
        }
    }
}

/// Whose number is the length of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counterparts {
    /// The members of the (remote) group.
    Members,
    /// The neighbours that send to this process.
    Sources,
    /// The neighbours that this process sends to.
    Destinations,
}

/// How many processes are at the other end of a communicator; 0 if it is none.
pub fn counterparts(comm: Handle, which: Counterparts) -> i64 {
    let (mut size, mut inter) = (0, 0);
    // SAFETY: the addresses are those of local variables; a wrong communicator is an error that the
    // call itself will report.
    unsafe {
        if which == Counterparts::Members {
            if c::PMPI_Comm_test_inter(comm, &mut inter) != 0 {
                return 0;
            }
            let code = match inter {
                0 => c::PMPI_Comm_size(comm, &mut size),
                _ => c::PMPI_Comm_remote_size(comm, &mut size),
            };
            return if code == 0 { i64::from(size) } else { 0 };
        }
    }
    neighbours(comm, which == Counterparts::Sources)
}

fn neighbours(comm: Handle, sources: bool) -> i64 {
    use crate::constant::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH};
    let (mut kind, mut inward, mut outward, mut weighted, mut rank) = (0, 0, 0, 0, 0);
    // SAFETY: the addresses are those of local variables.
    unsafe {
        if c::PMPI_Topo_test(comm, &mut kind) != 0 {
            return 0;
        }
        match kind {
            MPI_CART => {
                c::PMPI_Cartdim_get(comm, &mut inward);
                inward *= 2;
                outward = inward;
            }
            MPI_GRAPH => {
                c::PMPI_Comm_rank(comm, &mut rank);
                c::PMPI_Graph_neighbors_count(comm, rank, &mut inward);
                outward = inward;
            }
            MPI_DIST_GRAPH => {
                c::PMPI_Dist_graph_neighbors_count(comm, &mut inward, &mut outward, &mut weighted);
            }
            _ => {}
        }
    }
    i64::from(if sources { inward } else { outward })
}

/// The dimensions of a Cartesian communicator; 0 if it is none.
pub fn dimensions(comm: Handle) -> c_int {
    let (mut count, mut kind) = (0, 0);
    // SAFETY: the addresses are those of local variables.
    unsafe {
        if comm_out(comm) != 0
            && c::PMPI_Topo_test(comm, &mut kind) == 0
            && kind == crate::constant::MPI_CART
        {
            c::PMPI_Cartdim_get(comm, &mut count);
        }
    }
    count
}
