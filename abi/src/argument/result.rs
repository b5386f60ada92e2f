//! Results: single values that a call writes for the program.
//!
//! The constructors are unsafe because they are where a program's address is believed; after them
//! everything is safe.

use std::ffi::c_int;

use oxmpi_core::any_request::Report;

use crate::constant::MPI_UNDEFINED;
use crate::failure::Failure;
use crate::status::Status;

/// Where a result goes.
#[derive(Debug)]
pub struct Out<T>(*mut T);

/// A value that the call reads and writes.
#[derive(Debug)]
pub struct InOut<T>(*mut T);

/// Where a truth value goes, as 0 or 1.
#[derive(Debug)]
pub struct FlagOut(Out<c_int>);

/// Where a count goes: an `int`, or an `MPI_Count` in the large form.
#[derive(Debug)]
pub enum CountOut {
    /// An `int`; what it cannot hold becomes MPI_UNDEFINED.
    Int(Out<c_int>),
    /// An `MPI_Count`.
    Wide(Out<i64>),
    /// A parameter that this form of the function does not have.
    Absent,
}

/// The position in a packed message, read and written.
#[derive(Debug)]
pub enum Position {
    /// An `int`.
    Int(InOut<c_int>),
    /// An `MPI_Aint` or `MPI_Count`.
    Wide(InOut<i64>),
}

/// Where a status goes; nowhere if the program does not care.
#[derive(Debug)]
pub struct StatusOut(*mut Status);

impl<T> Out<T> {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is valid for a write during the call.
    #[inline]
    pub unsafe fn new(address: *mut T) -> Out<T> {
        Out(address)
    }

    /// Writes the result.
    #[inline]
    pub fn set(&self, value: T) {
        // SAFETY: `new` was promised a valid address. The program may have given it for two
        // results, so no reference is made.
        unsafe { self.0.write_unaligned(value) }
    }
}

impl<T: Copy> InOut<T> {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is valid for reads and writes during the call.
    #[inline]
    pub unsafe fn new(address: *mut T) -> InOut<T> {
        InOut(address)
    }

    /// What is there.
    #[inline]
    pub fn get(&self) -> T {
        // SAFETY: `new` was promised a valid address.
        unsafe { self.0.read_unaligned() }
    }

    /// Writes another value.
    #[inline]
    pub fn set(&self, value: T) {
        // SAFETY: `new` was promised a valid address.
        unsafe { self.0.write_unaligned(value) }
    }
}

impl FlagOut {
    /// A truth value that goes where an `int` goes.
    #[inline]
    pub fn new(out: Out<c_int>) -> FlagOut {
        FlagOut(out)
    }

    /// Writes 1 or 0.
    #[inline]
    pub fn set(&self, value: bool) {
        self.0.set(c_int::from(value));
    }
}

impl CountOut {
    /// What stands for a parameter that only the large form has.
    pub fn absent() -> CountOut {
        CountOut::Absent
    }

    /// Writes a count; an `int` that cannot hold it becomes MPI_UNDEFINED (MPI 5.0 §3.2.5).
    pub fn set(&self, value: i64) {
        match self {
            CountOut::Int(out) => out.set(c_int::try_from(value).unwrap_or(MPI_UNDEFINED)),
            CountOut::Wide(out) => out.set(value),
            CountOut::Absent => {}
        }
    }
}

impl Position {
    /// Where packing or unpacking begins.
    pub fn get(&self) -> i64 {
        match self {
            Position::Int(position) => i64::from(position.get()),
            Position::Wide(position) => position.get(),
        }
    }

    /// Where it has ended; false if an `int` cannot hold that.
    #[must_use]
    pub fn set(&self, value: i64) -> bool {
        match self {
            Position::Int(position) => c_int::try_from(value)
                .map(|value| position.set(value))
                .is_ok(),
            Position::Wide(position) => {
                position.set(value);
                true
            }
        }
    }
}

impl StatusOut {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is that of a status, or null for MPI_STATUS_IGNORE.
    #[inline]
    pub unsafe fn new(address: *mut Status) -> StatusOut {
        StatusOut(address)
    }

    /// Writes how an operation ended. MPI_ERROR stays as it is.
    #[inline]
    pub fn set(&self, report: &Report) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: `new` was promised the address of a status, and integers are valid whatever they
        // hold.
        unsafe { (*self.0).report(report) }
    }

    /// The same for an operation that may have failed: a message that was too long is told, too.
    #[inline]
    pub fn settle(&self, outcome: Result<Report, impl Into<Failure>>) -> Result<(), Failure> {
        match outcome {
            Ok(report) => {
                self.set(&report);
                Ok(())
            }
            Err(error) => {
                let failure = error.into();
                if *failure.report() != Report::EMPTY {
                    self.set(failure.report());
                }
                Err(failure)
            }
        }
    }
}
