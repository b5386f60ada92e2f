//! What the elements of a message are, in a byte that travels with it.
//!
//! Sender and receiver describe the data each for itself, and the network sees bytes. The mark says
//! as much of the elements as is needed to notice that they were cut in different sizes (eight
//! bytes of a real received as eight characters); it is no type signature. Whatever a program may
//! legally mix has the mark 0, which says nothing: bytes, packed data, and types of several kinds.

use crate::datatype::{Basic, Class, Signature};

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

    /// The mark of data with this signature. Complex numbers are pairs of reals, as programs that
    /// send them as such expect.
    pub fn of_signature(signature: &Signature) -> ElementMark {
        match signature.uniform() {
            None => ElementMark::ANY,
            Some(basic) => ElementMark::of_basic(basic),
        }
    }

    fn of_basic(basic: Basic) -> ElementMark {
        let bytes = basic.size() as usize;
        match basic.class() {
            Class::Byte | Class::Packed | Class::ValueIndex => ElementMark::ANY,
            Class::Floating => ElementMark::floating(bytes),
            Class::Complex => ElementMark::floating(bytes / 2),
            Class::Integer | Class::Logical | Class::MultiLanguage | Class::Character => {
                ElementMark::integer(bytes)
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plain;
    use crate::datatype::Datatype;

    fn mark(basic: Basic) -> ElementMark {
        Datatype::named(basic).element_mark()
    }

    #[test]
    fn what_a_program_may_mix_has_one_mark() {
        assert_eq!(mark(Basic::Byte), ElementMark::ANY);
        assert_eq!(mark(Basic::Packed), ElementMark::ANY);
        assert_eq!(mark(Basic::Int), mark(Basic::Unsigned));
        assert_eq!(mark(Basic::Int), mark(Basic::Integer));
        assert_eq!(mark(Basic::Char), mark(Basic::SignedChar));
        assert_eq!(mark(Basic::Long), mark(Basic::Int64));
        assert_eq!(mark(Basic::Double), mark(Basic::DoublePrecision));
        assert_eq!(mark(Basic::CDoubleComplex), mark(Basic::Double));
        assert_eq!(mark(Basic::DoubleInt), ElementMark::ANY);
    }

    #[test]
    fn derived_types_have_the_mark_of_what_they_are_made_of() {
        let double = Datatype::named(Basic::Double);
        let vector = Datatype::vector(3, 2, 5, &double).expect("small");
        assert_eq!(vector.element_mark(), double.element_mark());
        let int = Datatype::named(Basic::Int);
        let both = Datatype::structure(&[1, 1], &[0, 8], &[int, double]).expect("small");
        assert_eq!(both.element_mark(), ElementMark::ANY);
    }

    #[test]
    fn people_can_read_it() {
        assert_eq!(mark(Basic::Double).to_string(), "8-byte reals");
        assert_eq!(
            mark(Basic::Char).to_string(),
            "1-byte integers or characters"
        );
        assert_eq!(<u16 as Plain>::MARK.to_string(), "2-byte integers");
        assert_eq!(<[f64; 3] as Plain>::MARK, mark(Basic::Double));
        assert_eq!(<u8 as Plain>::MARK, ElementMark::ANY);
    }
}
