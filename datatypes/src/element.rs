//! What the elements of a message are, in a byte that travels with it.
//!
//! Sender and receiver describe the data each for itself, and the network sees bytes. The mark says
//! as much of the elements as is needed to notice that they were cut in different sizes (eight
//! bytes of a real received as eight characters); it is no type signature. Whatever a program may
//! legally mix has the mark 0, which says nothing: bytes, packed data, and types of several kinds.

/// Size and form of a message's elements, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementMark(u8);

/// Set in the marks of reals.
const FLOATING: u8 = 1 << 3;

/// The part of a mark that is the size: one more than its logarithm.
const SIZE: u8 = FLOATING - 1;

impl ElementMark {
    /// Says nothing, and goes with everything.
    pub const ANY: ElementMark = ElementMark(0);

    /// Integers, truth values or characters of so many bytes; sizes that are no power of two, or
    /// more than 64, say nothing.
    pub const fn integer(bytes: usize) -> ElementMark {
        ElementMark::of(bytes, 0)
    }

    /// Reals of so many bytes.
    pub const fn floating(bytes: usize) -> ElementMark {
        ElementMark::of(bytes, FLOATING)
    }

    const fn of(bytes: usize, form: u8) -> ElementMark {
        if !bytes.is_power_of_two() || bytes > 64 {
            return ElementMark::ANY;
        }
        ElementMark(form | (bytes.trailing_zeros() as u8 + 1))
    }

    /// The mark as it travels: less than 16.
    #[inline]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// A mark that has travelled.
    #[inline]
    pub const fn from_byte(byte: u8) -> ElementMark {
        ElementMark(byte)
    }

    /// Bytes of an element, if the mark says anything.
    pub const fn bytes(self) -> Option<usize> {
        match self.0 & SIZE {
            0 => None,
            size => Some(1 << (size - 1)),
        }
    }

    /// Whether the elements are reals.
    pub const fn is_floating(self) -> bool {
        self.0 & FLOATING != 0
    }
}

impl std::fmt::Display for ElementMark {
    /// "8-byte reals", "1-byte integers or characters".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.bytes(), self.is_floating()) {
            (None, _) => f.write_str("bytes"),
            (Some(bytes), true) => write!(f, "{bytes}-byte reals"),
            (Some(1), false) => f.write_str("1-byte integers or characters"),
            (Some(bytes), false) => write!(f, "{bytes}-byte integers"),
        }
    }
}
