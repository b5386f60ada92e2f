//! Dynamic operations against the standard's text: which operation takes which type (MPI 5.0
//! §6.9.2), what it computes, with integers as the scalar oracle of every format, pairs of value
//! and index (§6.9.4) and users' functions (§6.9.5).

mod encoding;
mod legality;
mod location;
mod speed;
mod user;
mod values;
