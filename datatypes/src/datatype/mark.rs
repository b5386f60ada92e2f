//! The mark that a datatype's messages carry: what its basic elements are.

use super::{Basic, Class, Signature};
use crate::ElementMark;

/// The mark of data with this signature. Complex numbers are pairs of reals, as programs that send
/// them as such expect.
pub(super) fn mark_of(signature: &Signature) -> ElementMark {
    match signature.uniform() {
        None => ElementMark::ANY,
        Some(basic) => mark_of_basic(basic),
    }
}

fn mark_of_basic(basic: Basic) -> ElementMark {
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

#[cfg(test)]
mod tests {
    use super::super::Datatype;
    use super::*;
    use crate::Plain;

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
