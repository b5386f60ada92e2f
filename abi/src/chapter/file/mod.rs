//! Files (MPI 5.0 §14): handles, texts and addresses around `oxmpi_files`.
//!
//! `lifetime` opens, closes and describes, `view` is views and data representations, `access` all
//! reading and writing, one line for each function, `refusal` tells the other processes of arguments
//! that were refused.

mod access;
mod lifetime;
mod refusal;
mod representation;
mod view;

pub use access::*;
pub use lifetime::*;
pub use refusal::refused;
pub use representation::register_datarep;
pub use view::*;
