//! Length and signature of a message in one word, as they lie in the header.
//!
//! The two belong together from the call that sends to the header and from the header to the
//! receive: as one value they take one register.

use core::fmt;

/// Where the signature begins in the word; 8 bits are left above it, for flags.
pub(crate) const SIGNATURE_SHIFT: u32 = 48;

/// The longest message: 48 bits of length, one more than the address space of a user process has
/// where pages have four levels.
pub const MESSAGE_BYTES_MAX: u64 = (1 << SIGNATURE_SHIFT) - 1;

/// How long a message is, and what its sender says of its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Content(u64);

impl Content {
    /// So many bytes, at most [`MESSAGE_BYTES_MAX`], with a signature; 0 says nothing.
    #[inline(always)]
    pub const fn new(bytes: u64, signature: u8) -> Content {
        // No address space holds more, so a longer one is a mistake of the layer above.
        debug_assert!(bytes <= MESSAGE_BYTES_MAX);
        Content(bytes | (signature as u64) << SIGNATURE_SHIFT)
    }

    /// Length of the whole message.
    #[inline(always)]
    pub const fn bytes(self) -> u64 {
        self.0 & MESSAGE_BYTES_MAX
    }

    /// What the sender says of its data. How it is composed is the affair of the layer that knows
    /// datatypes and operations.
    #[inline(always)]
    pub const fn signature(self) -> u8 {
        (self.0 >> SIGNATURE_SHIFT) as u8
    }

    /// The part of a header's word that is not flags.
    #[inline(always)]
    pub(crate) const fn from_word(word: u64) -> Content {
        Content(word & ((1 << (SIGNATURE_SHIFT + 8)) - 1))
    }

    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes, signature {:#x}",
            self.bytes(),
            self.signature()
        )
    }
}
