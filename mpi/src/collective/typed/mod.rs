//! The typed face of collectives: slices, values and views instead of addresses and datatypes.
//!
//! `call` describes a collective once, `sides` are its memory, `check` compares their lengths and
//! turns the description into a [`Collective`](super::Collective), `forms` runs it in one of the
//! ways there are, and `methods` has the blocking calls under their own names.

pub mod call;
mod check;
mod forms;
mod methods;
pub mod sides;

pub use forms::{Prepared, Started};
