//! [`Op`], an operation known at run time, and [`Combiner`], what it does to packed elements of one
//! datatype.
//!
//! All questions (is the operation legal here, which loop, are copies needed) are answered when the
//! combiner is made; combining cannot fail. Schedules hold combiners for as long as a nonblocking
//! collective runs.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::kernel::{self, Run};
use super::location::Location;
use super::user_op::{UserKernel, UserOp};
use super::{Named, OpError, Predefined, TypedOp};
use crate::datatype::{Constructor, Datatype};

/// An operation as MPI_Op handles stand for it; clones share a user's function.
#[derive(Clone, Debug)]
pub enum Op {
    /// One that the standard names.
    Predefined(Predefined),
    /// One that the program made.
    User(Arc<UserOp>),
    /// One of the typed face; what the elements are, it knows itself.
    Typed(TypedOp),
}

impl Op {
    /// Whether order is free (MPI_Op_commutative).
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::Predefined(predefined) => predefined.is_commutative(),
            Op::User(user) => user.is_commutative(),
            Op::Typed(typed) => typed.is_commutative(),
        }
    }

    /// Which operation of the standard it is, if it is one.
    #[inline]
    pub fn predefined(&self) -> Option<Predefined> {
        match self {
            Op::Predefined(predefined) => Some(*predefined),
            Op::User(_) => None,
            Op::Typed(typed) => typed.predefined(),
        }
    }

    /// What a reduction with this operation does to packed elements of `datatype`.
    pub fn combine_for(&self, datatype: &Datatype) -> Result<Combiner, OpError> {
        let kernel = match self {
            Op::Predefined(op) => predefined_kernel(*op, datatype)?,
            Op::User(user) => Kernel::User(UserKernel::new(Arc::clone(user), datatype)?),
            Op::Typed(typed) => {
                return Ok(Combiner {
                    element_bytes: typed.element_bytes(),
                    kernel: Kernel::Typed(typed.clone()),
                });
            }
        };
        Ok(Combiner::new(kernel, datatype))
    }

    /// What a one-sided accumulation does to packed elements of `datatype` at the target, where the
    /// input comes from the origin: as [`Op::combine_for`], and MPI_REPLACE and MPI_NO_OP on every
    /// datatype.
    pub fn accumulate_for(&self, datatype: &Datatype) -> Result<Combiner, OpError> {
        let run = match self {
            Op::Predefined(Predefined::Replace) => kernel::replace,
            Op::Predefined(Predefined::NoOp) => kernel::keep,
            _ => return self.combine_for(datatype),
        };
        Ok(Combiner::new(Kernel::Loop(run), datatype))
    }
}

impl From<Predefined> for Op {
    fn from(predefined: Predefined) -> Op {
        Op::Predefined(predefined)
    }
}

/// An operation on packed elements of one datatype.
#[derive(Clone)]
pub struct Combiner {
    element_bytes: usize,
    kernel: Kernel,
}

#[derive(Clone)]
enum Kernel {
    Loop(Run),
    Location(Location),
    User(UserKernel),
    Typed(TypedOp),
}

impl Combiner {
    fn new(kernel: Kernel, datatype: &Datatype) -> Combiner {
        // A type without data has no bytes to cut; 1 lets callers divide.
        let element_bytes = usize::try_from(datatype.size())
            .unwrap_or(usize::MAX)
            .max(1);
        Combiner {
            element_bytes,
            kernel,
        }
    }

    /// Bytes of one packed element, at least 1: schedules may cut data at its multiples.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Whether it calls a function of the program, which may not be ready to run on a thread of the
    /// library.
    pub fn calls_program(&self) -> bool {
        match &self.kernel {
            Kernel::Loop(_) | Kernel::Location(_) => false,
            Kernel::User(_) => true,
            Kernel::Typed(typed) => typed.predefined().is_none(),
        }
    }

    /// Sets `inout` to `input ∘ inout`, element by element; `input` comes from lower ranks. Any
    /// alignment is right.
    ///
    /// # Panics
    /// If the two differ in length or are not a whole number of elements: the caller cuts at
    /// [`Combiner::element_bytes`].
    pub fn combine(&self, input: &[u8], inout: &mut [u8]) {
        assert_eq!(
            input.len(),
            inout.len(),
            "the two sides of a reduction differ in length"
        );
        assert_eq!(
            inout.len() % self.element_bytes,
            0,
            "a reduction cuts an element in two"
        );
        match &self.kernel {
            Kernel::Loop(run) => run(input, inout),
            Kernel::Location(location) => location.combine(input, inout),
            Kernel::User(user) => user.combine(input, inout),
            Kernel::Typed(typed) => typed.combine(input, inout),
        }
    }
}

impl fmt::Debug for Combiner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Combiner");
        debug.field("element_bytes", &self.element_bytes);
        debug.finish_non_exhaustive()
    }
}

fn predefined_kernel(op: Predefined, datatype: &Datatype) -> Result<Kernel, OpError> {
    if op.is_one_sided() {
        return Err(OpError::OneSidedOnly { op });
    }
    let derived = OpError::NotPredefined {
        op,
        constructor: datatype.combiner(),
    };
    let named = name(datatype).ok_or(derived)?;
    let pair = match named {
        Named::Pair(value, index) => Some((value, index)),
        Named::Basic(basic) => basic.pair(),
    };
    let kernel = match (named, pair) {
        (_, Some((value, index))) if op.is_location() => {
            let wanted = match op {
                Predefined::MinLoc => Ordering::Less,
                _ => Ordering::Greater,
            };
            Location::choose(value, index, wanted).map(Kernel::Location)
        }
        (Named::Basic(basic), None) if op.takes(basic) => {
            kernel::choose(op, basic).map(Kernel::Loop)
        }
        _ => {
            let datatype = named;
            return Err(OpError::Illegal { op, datatype });
        }
    };
    kernel.ok_or(OpError::Unsupported {
        op,
        datatype: named,
    })
}

/// Which predefined datatype this is; those asked for by precision and range are the kinds that
/// were found.
fn name(datatype: &Datatype) -> Option<Named> {
    match datatype.constructor() {
        Constructor::Named(basic) => Some(Named::Basic(*basic)),
        Constructor::ValueIndex { value, index } => Some(Named::Pair(*value, *index)),
        Constructor::F90Real { .. }
        | Constructor::F90Complex { .. }
        | Constructor::F90Integer { .. } => datatype.signature().uniform().map(Named::Basic),
        _ => None,
    }
}
