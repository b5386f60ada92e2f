//! The predefined datatypes of the MPI 5.0 ABI on x86-64 Linux: one table with name, handle, size,
//! alignment, class and form of each. Everything else in this folder asks the table; nothing else
//! knows a size.
//!
//! Sizes of the Fortran types are gfortran's with default options. A value-index pair stands for
//! the C struct of its two parts (MPI 5.0 §6.9.4) and is never an entry of a typemap: its parts
//! are.

/// What a basic type may be used for in reductions (MPI 5.0 §6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// C or Fortran integers.
    Integer,
    /// Reals.
    Floating,
    /// C, C++ or Fortran truth values.
    Logical,
    /// Pairs of reals.
    Complex,
    /// Uninterpreted bytes.
    Byte,
    /// Integers that all languages share: addresses, counts, offsets.
    MultiLanguage,
    /// Printable characters; no reduction takes them, but for MPI_CHAR.
    Character,
    /// Value and index, for MINLOC and MAXLOC.
    ValueIndex,
    /// What MPI_Pack made.
    Packed,
}

/// Whether programs can count on a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// Every MPI library has it.
    Required,
    /// Optional in the standard, and the compilers of this platform have it.
    Optional,
    /// Optional, and no Fortran compiler here declares it; its bytes can still be moved.
    Undeclared,
}

/// How a value's bytes are made up, which decides its external32 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// This many equal parts (2 for complex), each little endian here and big endian, equally long,
    /// outside.
    Parts(u8),
    /// A signed C long: 8 bytes here, 4 outside.
    SignedLong,
    /// An unsigned C long: 8 bytes here, 4 outside.
    UnsignedLong,
    /// A wide character: 4 bytes here, 2 outside.
    WideCharacter,
    /// This many extended reals: 80 significant bits in 16 bytes here, IEEE binary128 outside.
    Extended(u8),
    /// A struct of two other basic types.
    Pair(Basic, Basic),
}

struct Facts {
    name: &'static str,
    handle: u16,
    size: u32,
    align: u32,
    class: Class,
    form: Form,
    support: Support,
}

macro_rules! basics {
    ($($basic:ident $name:literal $handle:literal $size:literal $align:literal $class:ident $form:expr, $support:ident;)*) => {
        /// A predefined datatype; the variants carry the standard's names in Rust's spelling.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Basic { $($basic),* }

        const TABLE: &[Facts] = &[$(Facts {
            name: $name, handle: $handle, size: $size, align: $align,
            class: Class::$class, form: $form, support: Support::$support,
        }),*];

        impl Basic {
            /// Every predefined datatype, in the order of the ABI's handles.
            pub const ALL: &'static [Basic] = &[$(Basic::$basic),*];
        }
    };
}

use Form::{Extended, Pair, Parts};

// Columns: variant, name, ABI handle, size, alignment, class, form, support.
basics! {
    Aint "MPI_AINT" 0x201 8 8 MultiLanguage Parts(1), Required;
    Count "MPI_COUNT" 0x202 8 8 MultiLanguage Parts(1), Required;
    Offset "MPI_OFFSET" 0x203 8 8 MultiLanguage Parts(1), Required;
    Packed "MPI_PACKED" 0x207 1 1 Packed Parts(1), Required;
    Short "MPI_SHORT" 0x208 2 2 Integer Parts(1), Required;
    Int "MPI_INT" 0x209 4 4 Integer Parts(1), Required;
    Long "MPI_LONG" 0x20a 8 8 Integer Form::SignedLong, Required;
    LongLong "MPI_LONG_LONG_INT" 0x20b 8 8 Integer Parts(1), Required;
    UnsignedShort "MPI_UNSIGNED_SHORT" 0x20c 2 2 Integer Parts(1), Required;
    Unsigned "MPI_UNSIGNED" 0x20d 4 4 Integer Parts(1), Required;
    UnsignedLong "MPI_UNSIGNED_LONG" 0x20e 8 8 Integer Form::UnsignedLong, Required;
    UnsignedLongLong "MPI_UNSIGNED_LONG_LONG" 0x20f 8 8 Integer Parts(1), Required;
    Float "MPI_FLOAT" 0x210 4 4 Floating Parts(1), Required;
    CFloatComplex "MPI_C_COMPLEX" 0x212 8 4 Complex Parts(2), Required;
    CxxFloatComplex "MPI_CXX_FLOAT_COMPLEX" 0x213 8 4 Complex Parts(2), Required;
    Double "MPI_DOUBLE" 0x214 8 8 Floating Parts(1), Required;
    CDoubleComplex "MPI_C_DOUBLE_COMPLEX" 0x216 16 8 Complex Parts(2), Required;
    CxxDoubleComplex "MPI_CXX_DOUBLE_COMPLEX" 0x217 16 8 Complex Parts(2), Required;
    Logical "MPI_LOGICAL" 0x218 4 4 Logical Parts(1), Required;
    Integer "MPI_INTEGER" 0x219 4 4 Integer Parts(1), Required;
    Real "MPI_REAL" 0x21a 4 4 Floating Parts(1), Required;
    Complex "MPI_COMPLEX" 0x21b 8 4 Complex Parts(2), Required;
    DoublePrecision "MPI_DOUBLE_PRECISION" 0x21c 8 8 Floating Parts(1), Required;
    DoubleComplex "MPI_DOUBLE_COMPLEX" 0x21d 16 8 Complex Parts(2), Optional;
    Character "MPI_CHARACTER" 0x21e 1 1 Character Parts(1), Required;
    LongDouble "MPI_LONG_DOUBLE" 0x220 16 16 Floating Extended(1), Required;
    CLongDoubleComplex "MPI_C_LONG_DOUBLE_COMPLEX" 0x224 32 16 Complex Extended(2), Required;
    CxxLongDoubleComplex "MPI_CXX_LONG_DOUBLE_COMPLEX" 0x225 32 16 Complex Extended(2), Required;
    FloatInt "MPI_FLOAT_INT" 0x228 8 4 ValueIndex Pair(Basic::Float, Basic::Int), Required;
    DoubleInt "MPI_DOUBLE_INT" 0x229 12 8 ValueIndex Pair(Basic::Double, Basic::Int), Required;
    LongInt "MPI_LONG_INT" 0x22a 12 8 ValueIndex Pair(Basic::Long, Basic::Int), Required;
    TwoInt "MPI_2INT" 0x22b 8 4 ValueIndex Pair(Basic::Int, Basic::Int), Required;
    ShortInt "MPI_SHORT_INT" 0x22c 6 4 ValueIndex Pair(Basic::Short, Basic::Int), Required;
    LongDoubleInt "MPI_LONG_DOUBLE_INT" 0x22d 20 16 ValueIndex Pair(Basic::LongDouble, Basic::Int), Required;
    TwoReal "MPI_2REAL" 0x230 8 4 ValueIndex Pair(Basic::Real, Basic::Real), Required;
    TwoDoublePrecision "MPI_2DOUBLE_PRECISION" 0x231 16 8 ValueIndex Pair(Basic::DoublePrecision, Basic::DoublePrecision), Required;
    TwoInteger "MPI_2INTEGER" 0x232 8 4 ValueIndex Pair(Basic::Integer, Basic::Integer), Required;
    CBool "MPI_C_BOOL" 0x238 1 1 Logical Parts(1), Required;
    CxxBool "MPI_CXX_BOOL" 0x239 1 1 Logical Parts(1), Required;
    Wchar "MPI_WCHAR" 0x23c 4 4 Character Form::WideCharacter, Required;
    Int8 "MPI_INT8_T" 0x240 1 1 Integer Parts(1), Required;
    Uint8 "MPI_UINT8_T" 0x241 1 1 Integer Parts(1), Required;
    Char "MPI_CHAR" 0x243 1 1 Character Parts(1), Required;
    SignedChar "MPI_SIGNED_CHAR" 0x244 1 1 Integer Parts(1), Required;
    UnsignedChar "MPI_UNSIGNED_CHAR" 0x245 1 1 Integer Parts(1), Required;
    Byte "MPI_BYTE" 0x247 1 1 Byte Parts(1), Required;
    Int16 "MPI_INT16_T" 0x248 2 2 Integer Parts(1), Required;
    Uint16 "MPI_UINT16_T" 0x249 2 2 Integer Parts(1), Required;
    Int32 "MPI_INT32_T" 0x250 4 4 Integer Parts(1), Required;
    Uint32 "MPI_UINT32_T" 0x251 4 4 Integer Parts(1), Required;
    Int64 "MPI_INT64_T" 0x258 8 8 Integer Parts(1), Required;
    Uint64 "MPI_UINT64_T" 0x259 8 8 Integer Parts(1), Required;
    Logical1 "MPI_LOGICAL1" 0x2c0 1 1 Logical Parts(1), Optional;
    Integer1 "MPI_INTEGER1" 0x2c1 1 1 Integer Parts(1), Optional;
    Logical2 "MPI_LOGICAL2" 0x2c8 2 2 Logical Parts(1), Optional;
    Integer2 "MPI_INTEGER2" 0x2c9 2 2 Integer Parts(1), Optional;
    Real2 "MPI_REAL2" 0x2ca 2 2 Floating Parts(1), Undeclared;
    Logical4 "MPI_LOGICAL4" 0x2d0 4 4 Logical Parts(1), Optional;
    Integer4 "MPI_INTEGER4" 0x2d1 4 4 Integer Parts(1), Optional;
    Real4 "MPI_REAL4" 0x2d2 4 4 Floating Parts(1), Optional;
    Complex4 "MPI_COMPLEX4" 0x2d3 4 2 Complex Parts(2), Undeclared;
    Logical8 "MPI_LOGICAL8" 0x2d8 8 8 Logical Parts(1), Optional;
    Integer8 "MPI_INTEGER8" 0x2d9 8 8 Integer Parts(1), Optional;
    Real8 "MPI_REAL8" 0x2da 8 8 Floating Parts(1), Optional;
    Complex8 "MPI_COMPLEX8" 0x2db 8 4 Complex Parts(2), Optional;
    Logical16 "MPI_LOGICAL16" 0x2e0 16 16 Logical Parts(1), Optional;
    Integer16 "MPI_INTEGER16" 0x2e1 16 16 Integer Parts(1), Optional;
    Real16 "MPI_REAL16" 0x2e2 16 16 Floating Parts(1), Optional;
    Complex16 "MPI_COMPLEX16" 0x2e3 16 8 Complex Parts(2), Optional;
    Complex32 "MPI_COMPLEX32" 0x2eb 32 16 Complex Parts(2), Optional;
}

impl Basic {
    const fn facts(self) -> &'static Facts {
        &TABLE[self as usize]
    }

    /// The type with this ABI handle; none for MPI_DATATYPE_NULL and for numbers that name nothing.
    pub fn from_handle(handle: u16) -> Option<Basic> {
        let found = TABLE
            .binary_search_by_key(&handle, |facts| facts.handle)
            .ok()?;
        Some(Basic::ALL[found])
    }

    /// The ABI's handle constant.
    pub const fn handle(self) -> u16 {
        self.facts().handle
    }

    /// The standard's name, as MPI_Type_get_name gives it.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Bytes of data; for a pair without the gap between or after its parts.
    pub const fn size(self) -> u32 {
        self.facts().size
    }

    /// Alignment in C structs.
    pub const fn align(self) -> u32 {
        self.facts().align
    }

    /// Which reductions take it.
    pub const fn class(self) -> Class {
        self.facts().class
    }

    /// How its bytes are made up.
    pub const fn form(self) -> Form {
        self.facts().form
    }

    /// Whether programs can count on it.
    pub const fn support(self) -> Support {
        self.facts().support
    }

    /// Value and index type of a value-index pair.
    pub const fn pair(self) -> Option<(Basic, Basic)> {
        match self.form() {
            Form::Pair(value, index) => Some((value, index)),
            _ => None,
        }
    }

    /// Bytes in external32 (MPI 5.0 §14.5.2).
    pub const fn external_size(self) -> u32 {
        match self.form() {
            Form::SignedLong | Form::UnsignedLong => 4,
            Form::WideCharacter => 2,
            Form::Pair(value, index) => value.external_size() + index.external_size(),
            Form::Parts(_) | Form::Extended(_) => self.size(),
        }
    }

    /// Whether this is an integer that has no negative values.
    pub const fn is_unsigned(self) -> bool {
        use Basic::*;
        matches!(
            self,
            UnsignedShort
                | Unsigned
                | UnsignedLong
                | UnsignedLongLong
                | Uint8
                | UnsignedChar
                | Uint16
                | Uint32
                | Uint64
        )
    }
}
