//! Engines that reach each other by UDP; the name of this program decides.

mod network;
