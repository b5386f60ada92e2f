//! Procedures whose arguments mean more than the table says. Each gets Fortran's arguments as they
//! come and gives the error code; `P` says whether a PMPI name was called, which then calls PMPI.

mod attribute;
mod dynamic;
mod errhandler;
mod generalized;
mod named;
mod op;

pub use attribute::*;
pub use dynamic::*;
pub use errhandler::*;
pub use generalized::*;
pub use named::*;
pub use op::*;

/// Calls the C function, or its PMPI twin for procedures with a PMPI name.
macro_rules! call {
    ($profiled:ident, $name:ident, $twin:ident, ($($argument:expr),* $(,)?)) => {
        if $profiled {
            crate::c::$twin($($argument),*)
        } else {
            crate::c::$name($($argument),*)
        }
    };
}
use call;
