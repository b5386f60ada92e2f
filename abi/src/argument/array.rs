//! Arrays of the program, read or written entry by entry.
//!
//! An array whose length stands among the arguments is bounded, and indexing beyond it panics; of
//! others the chapter knows the length (the number of neighbours, the size of a group), and the
//! program has promised to have so many.

use std::ffi::c_int;

use oxmpi_core::any_request::Report;

use super::result::{CountOut, InOut, Out, Position};
use crate::caller::Entry;
use crate::constant::{MPI_DATATYPE_NULL, MPI_ERR_TYPE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use crate::failure::Failure;
use crate::handle::{Handle, Object, Pinned};
use crate::object::Type;
use crate::status::Status;

/// What an unbounded array has for a length.
const UNBOUNDED: usize = usize::MAX;

/// Integers that the program gave: `int`, or `MPI_Count` or `MPI_Aint` as the form of the function
/// has it.
#[derive(Clone, Copy, Debug)]
pub struct Integers {
    words: Words,
    length: usize,
}

#[derive(Clone, Copy, Debug)]
enum Words {
    Int(*const c_int),
    Wide(*const i64),
}

/// Integers that the program gets.
#[derive(Debug)]
pub struct IntegersOut {
    words: WordsOut,
    length: usize,
}

#[derive(Debug)]
enum WordsOut {
    Int(*mut c_int),
    Wide(*mut i64),
    Absent,
}

/// Weights of a graph's edges.
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// MPI_UNWEIGHTED.
    Unweighted,
    /// MPI_WEIGHTS_EMPTY.
    Empty,
    /// As many as there are edges.
    Given(Integers),
}

/// Datatypes that the program gave.
#[derive(Clone, Copy, Debug)]
pub struct Datatypes {
    argument: &'static str,
    handles: *const Handle,
    length: usize,
}

/// Where statuses go; nowhere if the program does not care.
#[derive(Debug)]
pub struct StatusesOut {
    statuses: *mut Status,
    length: usize,
}

/// A C type of counts: `int`, or the 64 bits of `MPI_Count` and `MPI_Aint`.
pub trait Counted: Copy {
    /// Where a count of this type goes.
    fn count_out(out: Out<Self>) -> CountOut;
    /// A position of this type.
    fn position(place: InOut<Self>) -> Position;
    /// An array to be read.
    fn array(address: *const Self, length: usize) -> Integers;
    /// An array to be written.
    fn array_out(address: *mut Self, length: usize) -> IntegersOut;
}

impl Counted for c_int {
    fn count_out(out: Out<Self>) -> CountOut {
        CountOut::Int(out)
    }

    fn position(place: InOut<Self>) -> Position {
        Position::Int(place)
    }

    #[inline]
    fn array(address: *const Self, length: usize) -> Integers {
        let words = Words::Int(address);
        Integers { words, length }
    }

    fn array_out(address: *mut Self, length: usize) -> IntegersOut {
        let words = WordsOut::Int(address);
        IntegersOut { words, length }
    }
}

impl Counted for i64 {
    fn count_out(out: Out<Self>) -> CountOut {
        CountOut::Wide(out)
    }

    fn position(place: InOut<Self>) -> Position {
        Position::Wide(place)
    }

    #[inline]
    fn array(address: *const Self, length: usize) -> Integers {
        let words = Words::Wide(address);
        Integers { words, length }
    }

    fn array_out(address: *mut Self, length: usize) -> IntegersOut {
        let words = WordsOut::Wide(address);
        IntegersOut { words, length }
    }
}

impl Integers {
    /// An array of which the chapter knows the length.
    ///
    /// # Safety
    /// The address is null or that of an array which is as long as the standard demands.
    #[inline]
    pub unsafe fn unbounded<W: Counted>(address: *const W) -> Integers {
        W::array(address, UNBOUNDED)
    }

    /// Whether the program gave a null pointer; then nothing can be read.
    pub fn is_null(&self) -> bool {
        match self.words {
            Words::Int(address) => address.is_null(),
            Words::Wide(address) => address.is_null(),
        }
    }

    /// The entry at an index.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        assert!(
            index < self.length && !self.is_null(),
            "entry {index} of an array of {}",
            self.length
        );
        match self.words {
            // SAFETY: the array is not null, and the program has promised that it is long enough.
            Words::Int(address) => i64::from(unsafe { *address.add(index) }),
            // SAFETY: as above.
            Words::Wide(address) => unsafe { *address.add(index) },
        }
    }

    /// The first `count` entries.
    pub fn to_vec(&self, count: usize) -> Vec<i64> {
        (0..count).map(|index| self.get(index)).collect()
    }

    /// All entries of a bounded array.
    pub fn all(&self) -> Vec<i64> {
        assert!(
            self.length != UNBOUNDED,
            "only the chapter knows the length of this array"
        );
        self.to_vec(self.length)
    }
}

impl IntegersOut {
    /// An array of which the chapter knows the length.
    ///
    /// # Safety
    /// The address is null or that of an array which is as long as the standard demands.
    pub unsafe fn unbounded<W: Counted>(address: *mut W) -> IntegersOut {
        W::array_out(address, UNBOUNDED)
    }

    /// What stands for a parameter that this form does not have, or that the program does not want.
    pub fn absent() -> IntegersOut {
        IntegersOut {
            words: WordsOut::Absent,
            length: UNBOUNDED,
        }
    }

    /// How many entries there is room for.
    pub fn room(&self) -> usize {
        self.length
    }

    /// Writes an entry; the chapter has checked that an `int` can hold it.
    #[inline]
    pub fn set(&self, index: usize, value: i64) {
        assert!(
            index < self.length,
            "entry {index} of an array of {}",
            self.length
        );
        match self.words {
            WordsOut::Int(address) if address.is_null() => {}
            WordsOut::Wide(address) if address.is_null() => {}
            // SAFETY: the array is not null, and the program has promised that it is long enough.
            WordsOut::Int(address) => unsafe { *address.add(index) = value as c_int },
            // SAFETY: as above.
            WordsOut::Wide(address) => unsafe { *address.add(index) = value },
            WordsOut::Absent => {}
        }
    }
}

impl Weights {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is a constant of the standard, null, or that of an array which is as long as the
    /// standard demands.
    pub unsafe fn new(address: *const c_int) -> Weights {
        match address as usize {
            MPI_UNWEIGHTED => Weights::Unweighted,
            MPI_WEIGHTS_EMPTY => Weights::Empty,
            // SAFETY: the caller's promise.
            _ => Weights::Given(unsafe { Integers::unbounded(address) }),
        }
    }
}

impl Datatypes {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is null or that of an array which is as long as the standard demands.
    pub unsafe fn unbounded(argument: &'static str, address: *const Handle) -> Datatypes {
        // SAFETY: the caller's promise.
        unsafe { Datatypes::bounded(argument, address, UNBOUNDED) }
    }

    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is null, with a length of 0 or unbounded, or that of an array of this length.
    pub unsafe fn bounded(
        argument: &'static str,
        handles: *const Handle,
        length: usize,
    ) -> Datatypes {
        Datatypes {
            argument,
            handles,
            length,
        }
    }

    /// Whether the program gave a null pointer.
    pub fn is_null(&self) -> bool {
        self.handles.is_null()
    }

    /// How many there are in a bounded array.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether a bounded array has no entry.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The handle at an index, unchecked.
    pub fn handle(&self, index: usize) -> Handle {
        assert!(
            index < self.length && !self.is_null(),
            "entry {index} of an array of {}",
            self.length
        );
        // SAFETY: the array is not null, and the program has promised that it is long enough.
        unsafe { *self.handles.add(index) }
    }

    /// The datatype at an index.
    pub fn get(&self, index: usize) -> Result<Pinned<'static, Type>, Failure> {
        let handle = self.handle(index);
        Type::table().get(handle).ok_or_else(|| {
            let why = if handle == MPI_DATATYPE_NULL {
                ""
            } else {
                ", which is not a datatype: it was freed, or never was one"
            };
            Failure::new(
                MPI_ERR_TYPE,
                format!("{} is {handle}{why}", Entry(self.argument, index)),
            )
        })
    }
}

impl StatusesOut {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is that of an array of this length, or null for MPI_STATUSES_IGNORE.
    pub unsafe fn new(statuses: *mut Status, length: usize) -> StatusesOut {
        StatusesOut { statuses, length }
    }

    /// Whether the program wants statuses.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        !self.statuses.is_null()
    }

    #[inline]
    fn at(&self, index: usize) -> Option<*mut Status> {
        assert!(index < self.length, "status {index} of {}", self.length);
        // SAFETY: the index is inside the array.
        (!self.statuses.is_null()).then(|| unsafe { self.statuses.add(index) })
    }

    /// Writes how an operation ended. MPI_ERROR stays as it is.
    #[inline]
    pub fn set(&self, index: usize, report: &Report) {
        if let Some(status) = self.at(index) {
            // SAFETY: `at` gives addresses of statuses, and integers are valid whatever they hold.
            unsafe { (*status).report(report) }
        }
    }

    /// Writes MPI_ERROR, which calls that return MPI_ERR_IN_STATUS do for every status.
    pub fn set_error(&self, index: usize, code: i32) {
        if let Some(status) = self.at(index) {
            // SAFETY: as above.
            unsafe { (*status).error = code }
        }
    }
}
