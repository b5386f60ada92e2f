//! The decisions of o2g.ko.
#![no_std]
