//! One-sided communication, from the text of MPI 5.0 chapter 12: every operation and
//! synchronisation, over shared memory and by the network's way, against oracles.

mod atomic;
mod attached;
mod calls;
mod errors;
mod faults;
mod ground;
mod locks;
mod passive;
mod random;
mod random_deaths;
