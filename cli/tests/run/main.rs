//! The launcher as people use it: real processes, real signals, exact texts.

mod addresses;
mod ends;
mod habits;
mod hangs;
mod hosts;
mod input;
mod mistakes;
mod mpiexec;
mod output;
mod privilege;
mod programs;
mod settings;
mod signals;
mod survivors;
mod terminal;
