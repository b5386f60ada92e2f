//! The user's memory as the engine holds it: an address, and the promise that it stays valid while a request uses it.

use oxmpi_ports::copy::copy;

/// Memory of the user that a request reads or writes.
#[derive(Debug, Clone, Copy)]
pub struct Area(*mut u8);

// SAFETY: whoever begins a request promises that the memory may be used from any thread until the request is over.
unsafe impl Send for Area {}

impl Area {
    /// Memory that will be written.
    ///
    /// # Safety
    /// The memory must stay valid, and untouched by others, for every offset and length the request covers, until it is over.
    pub unsafe fn writable(address: *mut u8) -> Self {
        Self(address)
    }

    /// Memory that will be read.
    ///
    /// # Safety
    /// The memory must stay valid and unchanged for every offset and length the request covers, until it is over.
    pub unsafe fn readable(address: *const u8) -> Self {
        Self(address.cast_mut())
    }

    /// The address as it travels in an offer.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The address at `offset`.
    #[inline(always)]
    pub(crate) fn at(self, offset: u64) -> *mut u8 {
        // Wrapping: a zero-length message may come with any address.
        self.0.wrapping_add(offset as usize)
    }

    /// Copies out of the user's memory.
    #[inline(always)]
    pub(crate) fn read(self, offset: u64, out: &mut [u8]) {
        // SAFETY: the request's promise covers `offset..offset + out.len()`; the ring is not the user's memory.
        unsafe { copy(self.at(offset), out.as_mut_ptr(), out.len()) }
    }

    /// Copies from shared memory, or a stash, into the user's memory.
    #[inline(always)]
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        // SAFETY: the request's promise covers it; rings and stashes are not the user's memory.
        unsafe { copy(bytes.as_ptr(), self.at(offset), bytes.len()) }
    }

    /// Copies from the memory of another request of this process, which may overlap.
    pub(crate) fn write_own(self, offset: u64, bytes: &[u8]) {
        // SAFETY: both requests' promises cover it.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.at(offset), bytes.len()) }
    }
}
