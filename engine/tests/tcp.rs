//! Engines that reach each other by TCP; the name of this program decides.

mod network;
