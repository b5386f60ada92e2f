//! Which arithmetic a basic type needs: many of the standard's names stand for the same kind of
//! number here.

use std::ffi::c_char;

use crate::datatype::{Basic, Class, Form};

/// A kind of number, named after the Rust type or the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F16,
    F32,
    F64,
    #[cfg(target_arch = "x86_64")]
    F80,
    F128,
}

impl Number {
    /// What the values of this type are; of a complex one, what its two parts are. None for pairs
    /// and for numbers that this processor cannot compute with.
    pub(super) fn of(basic: Basic) -> Option<Number> {
        match basic.class() {
            _ if basic == Basic::Char && c_char::MIN == 0 => Some(Number::U8),
            _ if basic == Basic::Char => Some(Number::I8),
            Class::Integer | Class::MultiLanguage if basic.is_unsigned() => {
                Number::unsigned(basic.size())
            }
            Class::Integer | Class::MultiLanguage => Number::signed(basic.size()),
            Class::Logical | Class::Byte => Number::unsigned(basic.size()),
            Class::Floating => Number::real(basic.size(), basic.form()),
            Class::Complex => Number::real(basic.size() / 2, basic.form()),
            Class::Character | Class::ValueIndex | Class::Packed => None,
        }
    }

    fn signed(bytes: u32) -> Option<Number> {
        match bytes {
            1 => Some(Number::I8),
            2 => Some(Number::I16),
            4 => Some(Number::I32),
            8 => Some(Number::I64),
            16 => Some(Number::I128),
            _ => None,
        }
    }

    fn unsigned(bytes: u32) -> Option<Number> {
        Number::signed(bytes).map(Number::without_sign)
    }

    fn real(bytes: u32, form: Form) -> Option<Number> {
        match (form, bytes) {
            #[cfg(target_arch = "x86_64")]
            (Form::Extended(_), _) => Some(Number::F80),
            #[cfg(not(target_arch = "x86_64"))]
            (Form::Extended(_), _) => None,
            (_, 2) => Some(Number::F16),
            (_, 4) => Some(Number::F32),
            (_, 8) => Some(Number::F64),
            (_, 16) => Some(Number::F128),
            _ => None,
        }
    }

    /// The unsigned integer of the same size. Sums, products, bits and truth do not depend on the
    /// sign, since integers wrap around; leaving it out halves the number of loops.
    pub(super) fn without_sign(self) -> Number {
        match self {
            Number::I8 => Number::U8,
            Number::I16 => Number::U16,
            Number::I32 => Number::U32,
            Number::I64 => Number::U64,
            Number::I128 => Number::U128,
            other => other,
        }
    }
}
