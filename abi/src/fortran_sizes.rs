//! The sizes of Fortran's default types, which compilers let programs choose
//! (`-fdefault-real-8`): a program tells them by MPI_Abi_set_fortran_info (MPI 5.0 chapter 20).
//!
//! The constants of such types then stand for types of that size. A constant is made at its first
//! use, so sizes can be told until then.

use std::sync::OnceLock;

use oxmpi_core::info::Info;
use oxmpi_datatypes::datatype::{Basic, Datatype};

use crate::constant::{MPI_ERR_ABI, MPI_ERR_ARG};
use crate::failure::Failure;
use crate::handle::Handle;

/// Bytes of the default types, in the order of `KEYS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes([usize; 4]);

/// Types of one family by their bytes.
type Family = &'static [(usize, Basic)];

/// The keys of the info object, the usual sizes, and the types by their sizes.
const KEYS: [(&str, usize, Family); 4] = [
    ("mpi_logical_size", 4, LOGICALS),
    ("mpi_integer_size", 4, INTEGERS),
    ("mpi_real_size", 4, REALS),
    ("mpi_double_precision_size", 8, REALS),
];

const LOGICALS: Family = &[
    (1, Basic::Logical1),
    (2, Basic::Logical2),
    (4, Basic::Logical4),
    (8, Basic::Logical8),
    (16, Basic::Logical16),
];
const INTEGERS: Family = &[
    (1, Basic::Integer1),
    (2, Basic::Integer2),
    (4, Basic::Integer4),
    (8, Basic::Integer8),
    (16, Basic::Integer16),
];
const REALS: Family = &[(4, Basic::Real4), (8, Basic::Real8), (16, Basic::Real16)];

/// The types that depend on each key, and how.
const DEPENDENT: [(Basic, usize, Part); 9] = [
    (Basic::Logical, 0, Part::Whole),
    (Basic::Integer, 1, Part::Whole),
    (Basic::TwoInteger, 1, Part::Pair),
    (Basic::Real, 2, Part::Whole),
    (Basic::Complex, 2, Part::Complex),
    (Basic::TwoReal, 2, Part::Pair),
    (Basic::DoublePrecision, 3, Part::Whole),
    (Basic::DoubleComplex, 3, Part::Complex),
    (Basic::TwoDoublePrecision, 3, Part::Pair),
];

/// What a type makes of the type of the told size.
#[derive(Clone, Copy)]
enum Part {
    /// Itself.
    Whole,
    /// A complex number of two.
    Complex,
    /// A value and an index, both of the type.
    Pair,
}

/// Whether programs choose the size of a type.
pub const fn is_default(basic: Basic) -> bool {
    let mut at = 0;
    while at < DEPENDENT.len() {
        if DEPENDENT[at].0.handle() == basic.handle() {
            return true;
        }
        at += 1;
    }
    false
}

static TOLD: OnceLock<Sizes> = OnceLock::new();

/// Learns sizes; those that are not told are the usual ones. `is_used` says whether a constant has
/// been used already.
pub fn tell(info: &Info, is_used: impl Fn(Handle) -> bool) -> Result<(), Failure> {
    let mut sizes = Sizes(KEYS.map(|(_, usual, _)| usual));
    for ((key, _, types), size) in KEYS.iter().zip(&mut sizes.0) {
        let Some(text) = info.get_text(key) else {
            continue;
        };
        let known = |size: &usize| types.iter().any(|(bytes, _)| bytes == size);
        *size = text.trim().parse().ok().filter(known).ok_or_else(|| {
            let some: Vec<String> = types.iter().map(|(bytes, _)| bytes.to_string()).collect();
            let text = format!("{key} is '{text}'; it can be {}", some.join(", "));
            Failure::new(MPI_ERR_ARG, text)
        })?;
    }
    for (basic, key, _) in DEPENDENT {
        let is_usual = sizes.0[key] == KEYS[key].1;
        if !is_usual && is_used(Handle(usize::from(basic.handle()))) {
            let text = format!(
                "{} has been used with its usual size; tell {} before that",
                basic.name(),
                KEYS[key].0
            );
            return Err(Failure::new(MPI_ERR_ABI, text));
        }
    }
    TOLD.get_or_init(|| sizes);
    Ok(())
}

/// The type that a constant stands for; none if there is no such type of the told size.
pub fn datatype(basic: Basic) -> Option<Datatype> {
    match TOLD.get() {
        Some(sizes) => of_size(basic, sizes),
        None => Some(Datatype::named(basic)),
    }
}

fn of_size(basic: Basic, sizes: &Sizes) -> Option<Datatype> {
    let found = DEPENDENT.iter().find(|(dependent, ..)| *dependent == basic);
    let Some((_, key, part)) = found.filter(|(_, key, _)| sizes.0[*key] != KEYS[*key].1) else {
        return Some(Datatype::named(basic));
    };
    let size = sizes.0[*key];
    let one = KEYS[*key].2.iter().find(|(bytes, _)| *bytes == size)?.1;
    match part {
        Part::Whole => Some(Datatype::named(one)),
        Part::Complex => Some(Datatype::named(match one {
            Basic::Real4 => Basic::Complex8,
            Basic::Real8 => Basic::Complex16,
            _ => Basic::Complex32,
        })),
        Part::Pair => match one {
            Basic::Real4 => Some(Datatype::named(Basic::TwoReal)),
            Basic::Real8 => Some(Datatype::named(Basic::TwoDoublePrecision)),
            // An index is an integer in all other pairs, and there is none of two REAL*16.
            Basic::Real16 => None,
            integer => Datatype::value_index(integer, integer),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_follow_the_told_sizes() {
        let sizes = Sizes([4, 8, 8, 16]);
        let size = |basic| of_size(basic, &sizes).map(|datatype| datatype.size());
        assert_eq!(size(Basic::Logical), Some(4));
        assert_eq!(size(Basic::Integer), Some(8));
        assert_eq!(size(Basic::TwoInteger), Some(16));
        assert_eq!(size(Basic::Real), Some(8));
        assert_eq!(size(Basic::Complex), Some(16));
        assert_eq!(size(Basic::TwoReal), Some(16));
        assert_eq!(size(Basic::DoublePrecision), Some(16));
        assert_eq!(size(Basic::DoubleComplex), Some(32));
        assert_eq!(size(Basic::TwoDoublePrecision), None);
        assert_eq!(size(Basic::Int), Some(4));
    }
}
