//! What accumulations combine: the predefined type of the elements of a datatype.

use oxmpi_datatypes::datatype::{Basic, Class, Constructor, Datatype};

/// The predefined type of every element that a datatype consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One value.
    Basic(Basic),
    /// Value and index, of MPI_Type_get_value_index.
    Pair(Basic, Basic),
}

impl Element {
    /// The element of a datatype; none if there are different ones.
    pub fn of(datatype: &Datatype) -> Option<Element> {
        match datatype.constructor() {
            Constructor::Named(basic) => Some(Element::Basic(*basic)),
            Constructor::ValueIndex { value, index } => Some(Element::Pair(*value, *index)),
            Constructor::F90Real { .. }
            | Constructor::F90Complex { .. }
            | Constructor::F90Integer { .. } => datatype.signature().uniform().map(Element::Basic),
            Constructor::Dup(of)
            | Constructor::Contiguous { of, .. }
            | Constructor::Vector { of, .. }
            | Constructor::Hvector { of, .. }
            | Constructor::Indexed { of, .. }
            | Constructor::Hindexed { of, .. }
            | Constructor::IndexedBlock { of, .. }
            | Constructor::HindexedBlock { of, .. }
            | Constructor::Subarray { of, .. }
            | Constructor::Darray { of, .. }
            | Constructor::Resized { of, .. } => Element::of(of),
            Constructor::Struct {
                of, blocklengths, ..
            } => {
                let used = of
                    .iter()
                    .zip(blocklengths)
                    .filter(|(_, blocks)| **blocks > 0);
                let mut elements = used.map(|(of, _)| Element::of(of));
                let first = elements.next()??;
                elements
                    .all(|element| element == Some(first))
                    .then_some(first)
            }
        }
    }

    /// The element as a datatype of its own.
    pub fn datatype(self) -> Option<Datatype> {
        match self {
            Element::Basic(basic) => Some(Datatype::named(basic)),
            Element::Pair(value, index) => Datatype::value_index(value, index),
        }
    }

    /// Whether MPI_Compare_and_swap takes it. The standard leaves MPI_CHAR out, and other libraries
    /// take it.
    pub fn is_comparable(self) -> bool {
        use Class::*;
        let Element::Basic(basic) = self else {
            return false;
        };
        basic == Basic::Char || matches!(basic.class(), Integer | Logical | MultiLanguage | Byte)
    }
}
