//! Why an operation cannot reduce a datatype. Error classes are assigned in the ABI layer.

use std::fmt;

use super::Predefined;
use crate::datatype::{Basic, Combiner};

/// A predefined datatype as error texts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// One with a name of its own.
    Basic(Basic),
    /// A pair that MPI_Type_get_value_index made.
    Pair(Basic, Basic),
}

impl fmt::Display for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::Basic(basic) => formatter.write_str(basic.name()),
            Named::Pair(value, index) => {
                write!(
                    formatter,
                    "the pair of {} and {}",
                    value.name(),
                    index.name()
                )
            }
        }
    }
}

/// Why an operation cannot be used on a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A predefined operation on a derived datatype.
    #[error(
        "{op} does not take a derived datatype (this one was made by {constructor:?}): it takes {}; \
         give the predefined type and a larger count, or make an operation with MPI_Op_create",
        .op.taken()
    )]
    NotPredefined {
        /// The operation.
        op: Predefined,
        /// What made the datatype.
        constructor: Combiner,
    },
    /// A predefined operation on a predefined datatype that it is not for.
    #[error("{op} does not take {datatype}: it takes {}", .op.taken())]
    Illegal {
        /// The operation.
        op: Predefined,
        /// The datatype.
        datatype: Named,
    },
    /// MPI_REPLACE or MPI_NO_OP in a reduction.
    #[error("{op} is not for reductions: only one-sided accumulations take it")]
    OneSidedOnly {
        /// The operation.
        op: Predefined,
    },
    /// Legal, but this processor has no arithmetic for the type.
    #[error(
        "{op} on {datatype} is not available on this processor: convert the values to MPI_DOUBLE first"
    )]
    Unsupported {
        /// The operation.
        op: Predefined,
        /// The datatype.
        datatype: Named,
    },
    /// A user's operation needs elements unpacked, and one of them spans more than memory holds.
    #[error(
        "an element of the datatype spans {bytes} bytes, and operations of MPI_Op_create work on a copy of at most \
         {limit}: use displacements relative to a buffer instead of absolute addresses"
    )]
    Span {
        /// From the element's lowest to its highest byte.
        bytes: u64,
        /// What is possible.
        limit: u64,
    },
}
