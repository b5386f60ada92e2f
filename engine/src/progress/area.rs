//! The user's memory as the engine holds it: an address, and the promise that it stays valid while
//! a request uses it.
//!
//! A message's bytes are one block, or they lie where a [`Spread`] says. The engine copies piece by
//! piece in either case: out of scattered memory straight into a packet, and out of a packet
//! straight to where its bytes belong. No message is packed or unpacked as a whole.

use std::ptr::NonNull;

use oxmpi_datatypes::datatype::Layout;
use oxmpi_ports::copy::copy;
use oxmpi_ports::filling::{drain, fill, prefers_string};

/// Scattered bytes that are put together at once before they are copied: they stay in the nearest
/// cache.
const GATHERED_BYTES: usize = 8 << 10;

/// Memory of the user that a request reads or writes. Whoever begins the request promises that it
/// may be used; making an area promises nothing yet.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    address: *mut u8,
    /// Where the bytes lie, if they are not one block. It outlives the request.
    spread: Option<NonNull<Spread>>,
}

// SAFETY: whoever begins a request promises that the memory, and the spread, may be used from any
// thread until the request is over.
unsafe impl Send for Area {}

/// Where the bytes of a scattered message lie, relative to its address.
#[derive(Debug, Clone)]
pub struct Spread {
    layout: Layout,
    /// The lowest byte, and the bytes from there to the end of the highest.
    low: i64,
    bytes: usize,
    /// The layout's packed byte at which the message begins.
    first: u64,
}

impl Spread {
    /// A layout whose bytes all lie between `low` and `low + bytes`.
    pub fn new(layout: Layout, low: i64, bytes: usize) -> Spread {
        let first = 0;
        Spread {
            layout,
            low,
            bytes,
            first,
        }
    }

    /// The message is a part of that: it begins at packed byte `first`.
    pub fn beginning_at(self, first: u64) -> Spread {
        Spread { first, ..self }
    }
}

impl From<*const u8> for Area {
    #[inline(always)]
    fn from(address: *const u8) -> Area {
        Area::from(address.cast_mut())
    }
}

impl From<*mut u8> for Area {
    #[inline(always)]
    fn from(address: *mut u8) -> Area {
        let spread = None;
        Area { address, spread }
    }
}

impl Area {
    /// Memory around `address`, where `spread` says; both are used until the request is over.
    pub fn scattered(address: *mut u8, spread: &Spread) -> Area {
        let spread = Some(NonNull::from(spread));
        Area { address, spread }
    }

    /// The bytes are not one block: [`Area::at`] means nothing.
    #[inline(always)]
    pub(crate) fn is_scattered(self) -> bool {
        self.spread.is_some()
    }

    /// The address as it travels in an offer.
    pub(crate) fn address(self) -> u64 {
        self.address as u64
    }

    /// The address at `offset` of one block.
    #[inline(always)]
    pub(crate) fn at(self, offset: u64) -> *mut u8 {
        debug_assert!(!self.is_scattered(), "scattered memory has no such place");
        // Wrapping: a zero-length message may come with any address.
        self.address.wrapping_add(offset as usize)
    }

    /// Copies out of the user's memory.
    #[inline(always)]
    pub(crate) fn read(self, offset: u64, out: &mut [u8]) {
        match self.spread {
            // SAFETY: the request's promise covers `offset..offset + out.len()`; the ring is not
            // the user's memory.
            None => unsafe { copy(self.at(offset), out.as_mut_ptr(), out.len()) },
            Some(spread) => self.gather(spread, offset, out),
        }
    }

    /// Copies out of the user's memory into memory that another process has read.
    #[inline(always)]
    pub(crate) fn read_into_shared(self, offset: u64, out: &mut [u8]) {
        match self.spread {
            // SAFETY: the request's promise covers `offset..offset + out.len()`; the ring is not
            // the user's memory.
            None => unsafe { fill(self.at(offset), out.as_mut_ptr(), out.len()) },
            Some(spread) if prefers_string(GATHERED_BYTES) && out.len() > GATHERED_BYTES / 2 => {
                self.gather_first(spread, offset, out);
            }
            Some(spread) => self.gather(spread, offset, out),
        }
    }

    /// Copies from shared memory, or a stash, into the user's memory.
    #[inline(always)]
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        match self.spread {
            // SAFETY: the request's promise covers it; rings and stashes are not the user's memory.
            None => unsafe { copy(bytes.as_ptr(), self.at(offset), bytes.len()) },
            Some(spread) => self.scatter(spread, offset, bytes),
        }
    }

    /// As [`Area::write`], from memory that another process has written.
    #[inline(always)]
    pub(crate) fn write_from_shared(self, offset: u64, bytes: &[u8]) {
        match self.spread {
            // SAFETY: as in `write`.
            None => unsafe { drain(bytes.as_ptr(), self.at(offset), bytes.len()) },
            Some(spread) => self.scatter(spread, offset, bytes),
        }
    }

    /// Copies from the memory of another request of this process, which may overlap.
    pub(crate) fn write_own(self, offset: u64, bytes: &[u8]) {
        match self.spread {
            // SAFETY: both requests' promises cover it.
            None => unsafe { std::ptr::copy(bytes.as_ptr(), self.at(offset), bytes.len()) },
            Some(spread) => self.scatter(spread, offset, bytes),
        }
    }

    /// Gathers where nobody else looks, and copies from there: storing the bytes one by one where
    /// another core has read would fetch every line first.
    #[inline(never)]
    fn gather_first(self, spread: NonNull<Spread>, offset: u64, out: &mut [u8]) {
        let mut gathered = [0; GATHERED_BYTES];
        let mut offset = offset;
        for piece in out.chunks_mut(GATHERED_BYTES) {
            let gathered = &mut gathered[..piece.len()];
            self.gather(spread, offset, gathered);
            // SAFETY: both are as long, and one is a local variable.
            unsafe { fill(gathered.as_ptr(), piece.as_mut_ptr(), piece.len()) };
            offset += piece.len() as u64;
        }
    }

    #[inline(never)]
    fn gather(self, spread: NonNull<Spread>, offset: u64, out: &mut [u8]) {
        // SAFETY: the spread outlives the request; every byte of the span that the layout names is
        // valid by the request's promise, and no other one is read.
        let (spread, memory) = unsafe {
            let spread = spread.as_ref();
            let first = self.address.wrapping_offset(spread.low as isize);
            (spread, std::slice::from_raw_parts(first, spread.bytes))
        };
        let begin = spread.first + offset;
        spread
            .layout
            .pack(memory, -spread.low, begin..begin + out.len() as u64, out)
            .expect("the span covers the layout, and the piece is part of it");
    }

    #[inline(never)]
    fn scatter(self, spread: NonNull<Spread>, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            // Of a message too long for its receive, what is behind the layout's end has no place.
            return;
        }
        // SAFETY: the spread outlives the request; every byte of the span that the layout names is
        // valid by the request's promise, and no other one is written.
        let (spread, memory) = unsafe {
            let spread = spread.as_ref();
            let first = self.address.wrapping_offset(spread.low as isize);
            (spread, std::slice::from_raw_parts_mut(first, spread.bytes))
        };
        let begin = spread.first + offset;
        let range = begin..begin + bytes.len() as u64;
        spread
            .layout
            .unpack(bytes, range, memory, -spread.low)
            .expect("the span covers the layout, and the piece is part of it");
    }
}
