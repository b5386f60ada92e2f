//! Engines that reach each other by TCP, with io_uring reading their connections; the name of this
//! program decides.

mod network;
