//! The predefined operations by name: the ABI's handle of each, and which basic types it takes (MPI
//! 5.0 §6.9.2 and §6.9.4). What it does to them stands in `kernel` and `location`.

use std::fmt;

use super::kernel::{Run, choose};
use crate::datatype::{Basic, Class};

/// An operation that the standard names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predefined {
    /// MPI_SUM; integers wrap around.
    Sum,
    /// MPI_MIN; a number wins over NaN.
    Min,
    /// MPI_MAX; a number wins over NaN.
    Max,
    /// MPI_PROD; integers wrap around.
    Product,
    /// MPI_BAND.
    BitAnd,
    /// MPI_BOR.
    BitOr,
    /// MPI_BXOR.
    BitXor,
    /// MPI_LAND; whatever is not zero is true, and the result is 1 or 0.
    LogicalAnd,
    /// MPI_LOR; as [`Predefined::LogicalAnd`].
    LogicalOr,
    /// MPI_LXOR; as [`Predefined::LogicalAnd`].
    LogicalXor,
    /// MPI_MINLOC: the pair with the smallest value, and among those with the smallest index.
    MinLoc,
    /// MPI_MAXLOC: the pair with the largest value, and among those with the smallest index.
    MaxLoc,
    /// MPI_REPLACE, for one-sided calls only.
    Replace,
    /// MPI_NO_OP, for one-sided calls only.
    NoOp,
}

impl Predefined {
    /// Every predefined operation, in the order of the ABI's handles.
    pub const ALL: &'static [Predefined] = &[
        Predefined::Sum,
        Predefined::Min,
        Predefined::Max,
        Predefined::Product,
        Predefined::BitAnd,
        Predefined::BitOr,
        Predefined::BitXor,
        Predefined::LogicalAnd,
        Predefined::LogicalOr,
        Predefined::LogicalXor,
        Predefined::MinLoc,
        Predefined::MaxLoc,
        Predefined::Replace,
        Predefined::NoOp,
    ];

    const fn facts(self) -> (&'static str, u16) {
        match self {
            Predefined::Sum => ("MPI_SUM", 0x21),
            Predefined::Min => ("MPI_MIN", 0x22),
            Predefined::Max => ("MPI_MAX", 0x23),
            Predefined::Product => ("MPI_PROD", 0x24),
            Predefined::BitAnd => ("MPI_BAND", 0x28),
            Predefined::BitOr => ("MPI_BOR", 0x29),
            Predefined::BitXor => ("MPI_BXOR", 0x2a),
            Predefined::LogicalAnd => ("MPI_LAND", 0x30),
            Predefined::LogicalOr => ("MPI_LOR", 0x31),
            Predefined::LogicalXor => ("MPI_LXOR", 0x32),
            Predefined::MinLoc => ("MPI_MINLOC", 0x38),
            Predefined::MaxLoc => ("MPI_MAXLOC", 0x39),
            Predefined::Replace => ("MPI_REPLACE", 0x3c),
            Predefined::NoOp => ("MPI_NO_OP", 0x3d),
        }
    }

    /// The standard's name.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The ABI's handle constant.
    pub const fn handle(self) -> u16 {
        self.facts().1
    }

    /// The operation with this ABI handle; none for MPI_OP_NULL and for numbers that name nothing.
    pub fn from_handle(handle: u16) -> Option<Predefined> {
        let mut all = Predefined::ALL.iter().copied();
        all.find(|op| op.handle() == handle)
    }

    /// Whether order is free. It is not for the one-sided two, whose result is one of the sides.
    pub const fn is_commutative(self) -> bool {
        !self.is_one_sided()
    }

    /// Whether only one-sided calls take it.
    pub const fn is_one_sided(self) -> bool {
        matches!(self, Predefined::Replace | Predefined::NoOp)
    }

    /// Whether it works on pairs of value and index.
    pub const fn is_location(self) -> bool {
        matches!(self, Predefined::MinLoc | Predefined::MaxLoc)
    }

    /// The loop over elements of a predefined datatype of one number each, which sets the second to
    /// the first ∘ the second; none if this operation does not take them.
    #[inline]
    pub fn loop_over(self, basic: Basic) -> Option<Run> {
        match self.takes(basic) && basic.pair().is_none() {
            true => choose(self, basic),
            false => None,
        }
    }

    /// Whether a reduction may use it on this type.
    pub const fn takes(self, basic: Basic) -> bool {
        use Class::*;
        // The standard leaves characters out. Programs reduce MPI_CHAR all the same, and other
        // libraries take it for the integer that it is in C.
        let class = match basic {
            Basic::Char => Integer,
            _ => basic.class(),
        };
        match self {
            Predefined::Min | Predefined::Max => {
                matches!(class, Integer | Floating | MultiLanguage)
            }
            Predefined::Sum | Predefined::Product => {
                matches!(class, Integer | Floating | Complex | MultiLanguage)
            }
            Predefined::BitAnd | Predefined::BitOr | Predefined::BitXor => {
                matches!(class, Integer | Byte | MultiLanguage)
            }
            Predefined::LogicalAnd | Predefined::LogicalOr | Predefined::LogicalXor => {
                matches!(class, Logical | MultiLanguage)
                    || (matches!(class, Integer) && !is_fortran_integer(basic))
            }
            Predefined::MinLoc | Predefined::MaxLoc => matches!(class, ValueIndex),
            Predefined::Replace | Predefined::NoOp => false,
        }
    }

    /// What it takes, in words, for error texts.
    pub const fn taken(self) -> &'static str {
        match self {
            Predefined::Min | Predefined::Max => {
                "integers, floating-point numbers, MPI_AINT, MPI_OFFSET and MPI_COUNT"
            }
            Predefined::Sum | Predefined::Product => {
                "integers, floating-point and complex numbers, MPI_AINT, MPI_OFFSET and MPI_COUNT"
            }
            Predefined::BitAnd | Predefined::BitOr | Predefined::BitXor => {
                "integers, MPI_BYTE, MPI_AINT, MPI_OFFSET and MPI_COUNT"
            }
            Predefined::LogicalAnd | Predefined::LogicalOr | Predefined::LogicalXor => {
                "C integers, MPI_LOGICAL, MPI_C_BOOL, MPI_CXX_BOOL, MPI_AINT, MPI_OFFSET and MPI_COUNT"
            }
            Predefined::MinLoc | Predefined::MaxLoc => {
                "pairs of value and index such as MPI_DOUBLE_INT, MPI_2INT and those of MPI_Type_get_value_index"
            }
            Predefined::Replace | Predefined::NoOp => "nothing but one-sided accumulations",
        }
    }
}

impl fmt::Display for Predefined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The standard's group "Fortran integer", the only part of the integers that logical operations do
/// not take.
const fn is_fortran_integer(basic: Basic) -> bool {
    use Basic::*;
    matches!(
        basic,
        Integer | Integer1 | Integer2 | Integer4 | Integer8 | Integer16
    )
}
