//! One-sided communication (MPI 5.0 §12): handles and constants around `oxmpi_core::window`.
//!
//! `make` makes and frees windows, `operation` moves and combines data, `sync` opens and ends
//! epochs, `details` is what a window carries besides memory. `quick` is asked before these. Epochs, bounds and ranks are checked
//! by the layer below, which knows the window.

mod details;
mod make;
mod operation;
pub mod quick;
mod sync;

use crate::constant::*;
use crate::failure::Failure;
use crate::object::Window;

pub use details::*;
pub use make::*;
pub use operation::*;
pub use sync::*;

/// The rank that an argument names; none for MPI_PROC_NULL.
#[inline]
fn rank_in(argument: &'static str, rank: i32, win: &Window) -> Result<Option<u32>, Failure> {
    match rank {
        MPI_PROC_NULL => Ok(None),
        0.. => Ok(Some(rank as u32)),
        _ => Err(no_such_rank(argument, rank, win)),
    }
}

#[cold]
fn no_such_rank(argument: &'static str, rank: i32, win: &Window) -> Failure {
    let last = win.size() - 1;
    let text = format!("{argument} {rank} does not exist: ranks of the window go from 0 to {last}");
    Failure::new(MPI_ERR_RANK, text)
}
