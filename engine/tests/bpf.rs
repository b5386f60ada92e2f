//! Engines that reach each other by TCP, with BPF programs reading their connections; the name of
//! this program decides.

mod network;
