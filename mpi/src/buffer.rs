//! A message's place in memory: an address, a count and a datatype.
//!
//! Most buffers are one block, and cost nothing here. Of any other the engine is told the
//! [`Spread`]: it gathers and scatters piece by piece while the message moves. Whoever makes a
//! buffer from an address promises that the memory stays valid while the operation goes on; from
//! there on everything is safe.

use oxmpi_datatypes::data::Memory;
use oxmpi_datatypes::datatype::{Datatype, DatatypeError};
use oxmpi_datatypes::{ElementMark, Plain};
pub use oxmpi_engine::MESSAGE_BYTES_MAX;
use oxmpi_engine::{Area, Content, Spread};

/// Memory of the program that an operation reads or writes.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Where the first byte lies; of scattered data, where the datatype's offsets count from.
    address: *mut u8,
    /// How long it is, and what the elements are, as it stands on messages.
    content: Content,
    /// Where the bytes lie if they are not one block.
    scattered: Option<Scattered>,
}

#[derive(Debug, Clone)]
struct Scattered {
    count: u64,
    datatype: Datatype,
    /// The packed byte at which the data begins: not 0 in a part of another buffer.
    first: u64,
}

// SAFETY: whoever makes a buffer promises that the memory may be used from any thread until the
// operation is over.
unsafe impl Send for Buffer {}

/// Why there cannot be such a buffer.
#[derive(Debug, thiserror::Error)]
pub enum BufferError {
    /// There is no memory at address zero.
    #[error(
        "the buffer is a null pointer but {bytes} bytes of data are to be there ({count} of {datatype}); \
         pass the address of the data, or a count of 0"
    )]
    Null {
        /// Bytes that the arguments call for.
        bytes: u64,
        /// Elements.
        count: u64,
        /// The datatype.
        datatype: String,
    },
    /// A derived type must be committed before it is used to communicate.
    #[error("the datatype {datatype} is not committed; call MPI_Type_commit after building it")]
    Uncommitted {
        /// The datatype.
        datatype: String,
    },
    /// More bytes than there are addresses.
    #[error("{count} elements of the datatype cannot be addressed: {error}")]
    TooLarge {
        /// Elements.
        count: u64,
        /// What overflows.
        error: DatatypeError,
    },
    /// Memory for packing was refused.
    #[error("no memory for {bytes} bytes of packed data")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
}

/// Whether no memory can be there: at a null pointer, or at a place of a list that begins at one. The
/// first page of a process is never mapped.
#[inline(always)]
fn is_nowhere(address: *const u8) -> bool {
    address.addr() < 4096
}

impl Buffer {
    /// `count` elements of `datatype` at `address`.
    ///
    /// # Safety
    /// The memory that these describe must be valid (for writing, if it is received into) for as
    /// long as the buffer is used, and nobody else may use it in a way that MPI forbids.
    #[inline(always)]
    pub unsafe fn new(
        address: *mut u8,
        count: u64,
        datatype: &Datatype,
    ) -> Result<Buffer, BufferError> {
        let bytes = datatype.size().checked_mul(count);
        let first = address.wrapping_offset(datatype.true_lb() as isize);
        if let Some(bytes) = bytes
            && datatype.is_committed()
            && datatype.is_contiguous()
            && bytes <= MESSAGE_BYTES_MAX
            && !is_nowhere(first)
        {
            return Ok(Buffer {
                address: first,
                content: Content::new(bytes, datatype.element_mark().byte()),
                scattered: None,
            });
        }
        Buffer::unusual(address, count, datatype)
    }

    /// A buffer that is not one block, or cannot be.
    #[inline(never)]
    fn unusual(address: *mut u8, count: u64, datatype: &Datatype) -> Result<Buffer, BufferError> {
        if !datatype.is_committed() {
            return Err(uncommitted(datatype));
        }
        let bytes = match datatype.size().checked_mul(count) {
            Some(bytes) if bytes <= MESSAGE_BYTES_MAX => bytes,
            _ => return Err(too_large(count, DatatypeError::Overflow { what: "size" })),
        };
        let first = address.wrapping_offset(datatype.true_lb() as isize);
        if bytes > 0 && is_nowhere(first) {
            return Err(null(bytes, count, datatype));
        }
        if datatype.is_contiguous() || bytes == 0 {
            return Ok(Buffer {
                address: first,
                content: Content::new(bytes, datatype.element_mark().byte()),
                scattered: None,
            });
        }
        if count == 1 {
            if datatype.is_one_block() {
                return Ok(Buffer {
                    address: first,
                    content: Content::new(bytes, datatype.element_mark().byte()),
                    scattered: None,
                });
            }
        } else {
            datatype
                .layout(count)
                .map_err(|error| too_large(count, error))?;
        }
        let datatype = datatype.clone();
        Ok(Buffer {
            address,
            content: Content::new(bytes, datatype.element_mark().byte()),
            scattered: Some(Scattered {
                count,
                datatype,
                first: 0,
            }),
        })
    }

    /// Elements of a type, wherever they lie.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    pub(crate) unsafe fn of<T: Plain>(memory: &Memory) -> Result<Buffer, BufferError> {
        let bytes = memory.elements as u64 * size_of::<T>() as u64;
        let mut buffer = match &memory.layout {
            // SAFETY: the caller's promise.
            None => unsafe { Buffer::raw(memory.address, bytes) },
            // SAFETY: the caller's promise.
            Some(layout) => unsafe { Buffer::new(memory.address, 1, layout)? },
        };
        buffer.content = Content::new(bytes, T::MARK.byte());
        Ok(buffer)
    }

    /// Contiguous bytes at an address.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    pub unsafe fn raw(address: *mut u8, bytes: u64) -> Buffer {
        Buffer {
            address,
            content: Content::new(bytes, ElementMark::ANY.byte()),
            scattered: None,
        }
    }

    /// No memory at all.
    pub fn empty() -> Buffer {
        Buffer {
            address: std::ptr::dangling_mut(),
            content: Content::default(),
            scattered: None,
        }
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    /// What the elements are, as a receive is told.
    #[inline]
    pub(crate) fn mark(&self) -> ElementMark {
        ElementMark::from_byte(self.content.signature())
    }

    /// Length and kind of the data, as they stand on a message.
    #[inline]
    pub(crate) fn content(&self) -> Content {
        self.content
    }

    /// The part of the data between two packed bytes; what lies beyond the end is left out.
    pub fn part(&self, range: std::ops::Range<u64>) -> Buffer {
        let end = range.end.min(self.bytes());
        let begin = range.start.min(end);
        let bytes = end - begin;
        let (address, scattered) = match &self.scattered {
            None => (self.address.wrapping_add(begin as usize), None),
            Some(whole) => {
                let (elements, part) = whole.part(begin, bytes);
                let offset = elements as i64 * whole.datatype.extent();
                (self.address.wrapping_offset(offset as isize), Some(part))
            }
        };
        Buffer {
            address,
            content: Content::new(bytes, self.content.signature()),
            scattered,
        }
    }

    /// Where the data lies if it is one block.
    #[inline]
    pub fn contiguous(&self) -> Option<*mut u8> {
        match self.scattered {
            None => Some(self.address),
            Some(_) => None,
        }
    }

    /// The data as the engine sees it; `spread` is that of [`Buffer::spread`].
    pub(crate) fn area(&self, spread: &Spread) -> Area {
        Area::scattered(self.address, spread)
    }

    /// Where the data lies if it is not one block.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let scattered = self.scattered.as_ref()?;
        let (low, bytes) = scattered.span();
        let spread = Spread::new(scattered.layout(), low, bytes);
        Some(spread.beginning_at(scattered.first))
    }

    /// The data as one block of memory of its own.
    pub fn pack(&self) -> Result<Vec<u8>, BufferError> {
        let mut packed = memory(self.bytes())?;
        self.pack_into(&mut packed);
        Ok(packed)
    }

    /// Packs the data into `out`, which is as long as [`Buffer::bytes`].
    pub fn pack_into(&self, out: &mut [u8]) {
        assert_eq!(out.len() as u64, self.bytes(), "all of the data is packed");
        let Some(scattered) = &self.scattered else {
            // SAFETY: the maker's promise covers the bytes; `out` is a reference, so it cannot be
            // them.
            unsafe { std::ptr::copy_nonoverlapping(self.address, out.as_mut_ptr(), out.len()) };
            return;
        };
        let (low, bytes) = scattered.span();
        let layout = scattered.layout();
        // SAFETY: every byte of the span that the layout names is valid by the maker's promise, and
        // no other one is read.
        let memory = unsafe {
            std::slice::from_raw_parts(self.address.wrapping_offset(low as isize), bytes)
        };
        layout
            .pack(memory, -low, scattered.range(self.bytes()), out)
            .expect("the span covers the layout");
    }

    /// Puts the beginning of the packed data (or all of it) where it belongs.
    pub fn unpack(&self, packed: &[u8]) {
        assert!(
            packed.len() as u64 <= self.bytes(),
            "no more than there is room for"
        );
        let Some(scattered) = &self.scattered else {
            // SAFETY: the maker's promise covers the bytes; `packed` is a reference, so it cannot
            // be them.
            unsafe {
                std::ptr::copy_nonoverlapping(packed.as_ptr(), self.address, packed.len());
            }
            return;
        };
        let (low, bytes) = scattered.span();
        let layout = scattered.layout();
        // SAFETY: every byte of the span that the layout names is valid by the maker's promise, and
        // no other one is written.
        let memory = unsafe {
            std::slice::from_raw_parts_mut(self.address.wrapping_offset(low as isize), bytes)
        };
        layout
            .unpack(packed, scattered.range(packed.len() as u64), memory, -low)
            .expect("the span covers the layout");
    }
}

impl Scattered {
    fn layout(&self) -> oxmpi_datatypes::datatype::Layout {
        let layout = self.datatype.layout(self.count);
        layout.expect("the layout was made before")
    }

    fn range(&self, bytes: u64) -> std::ops::Range<u64> {
        self.first..self.first + bytes
    }

    /// Whole elements before a part, and the part without them: others may write to their memory
    /// meanwhile.
    fn part(&self, begin: u64, bytes: u64) -> (u64, Scattered) {
        let size = self.datatype.size().max(1);
        let begin = self.first + begin;
        let (elements, first) = (begin / size, begin % size);
        let part = Scattered {
            count: (first + bytes).div_ceil(size),
            datatype: self.datatype.clone(),
            first,
        };
        (elements, part)
    }

    /// The lowest offset of a byte, and the bytes from there to the end of the highest.
    fn span(&self) -> (i64, usize) {
        let last = (self.count as i64 - 1).max(0) * self.datatype.extent();
        let low = self.datatype.true_lb() + last.min(0);
        let high = self.datatype.true_ub() + last.max(0);
        (low, (high - low) as usize)
    }
}

/// Zeroed memory, or an error instead of the end of the process.
pub(crate) fn memory(bytes: u64) -> Result<Vec<u8>, BufferError> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(bytes as usize)
        .map_err(|_| BufferError::Memory { bytes })?;
    memory.resize(bytes as usize, 0);
    Ok(memory)
}

#[cold]
fn uncommitted(datatype: &Datatype) -> BufferError {
    let datatype = format!("{datatype:?}");
    BufferError::Uncommitted { datatype }
}

#[cold]
fn null(bytes: u64, count: u64, datatype: &Datatype) -> BufferError {
    BufferError::Null {
        bytes,
        count,
        datatype: format!("{datatype:?}"),
    }
}

#[cold]
fn too_large(count: u64, error: DatatypeError) -> BufferError {
    BufferError::TooLarge { count, error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_datatypes::datatype::Basic;

    #[test]
    fn parts_lie_where_the_whole_has_them() {
        let byte = Datatype::named(Basic::Byte);
        let pieces = Datatype::indexed(&[2, 1], &[0, 4], &byte).unwrap();
        pieces.commit();
        let mut memory: Vec<u8> = (0..40).collect();
        // SAFETY: eight elements of five bytes lie inside `memory`.
        let whole = unsafe { Buffer::new(memory.as_mut_ptr(), 8, &pieces) }.unwrap();
        let packed = whole.pack().unwrap();
        for begin in 0..24 {
            for end in begin..=24 {
                let part = whole.part(begin..end);
                assert_eq!(part.pack().unwrap(), packed[begin as usize..end as usize]);
                let inner = part.part(1..3);
                let expected = &packed[begin as usize..end as usize];
                let expected = &expected[expected.len().min(1)..expected.len().min(3)];
                assert_eq!(inner.pack().unwrap(), expected);
            }
        }
        whole.part(4..11).unpack(&[100; 7]);
        let now = whole.pack().unwrap();
        assert_eq!(now[..4], packed[..4]);
        assert_eq!(now[4..11], [100; 7]);
        assert_eq!(now[11..], packed[11..]);
    }

    #[test]
    fn data_may_begin_behind_or_before_the_address() {
        let byte = Datatype::named(Basic::Byte);
        let mut memory = *b"0123456789";
        for (at, displacements, wanted) in [(1, [3, 6], b"457"), (5, [-3, 1], b"236")] {
            let pieces = Datatype::hindexed(&[2, 1], &displacements, &byte).unwrap();
            pieces.commit();
            // SAFETY: what the displacements name lies inside `memory`.
            let buffer = unsafe { Buffer::new(memory.as_mut_ptr().add(at), 1, &pieces) }.unwrap();
            assert_eq!(buffer.pack().unwrap(), wanted);
            buffer.unpack(b"xyz");
            assert_eq!(buffer.pack().unwrap(), b"xyz");
            memory = *b"0123456789";
        }
    }
}
