//! The PM protocol between two nodes: reliable, ordered, flow-controlled messages of any size over frames that may be lost, doubled, reordered or damaged.
#![no_std]
#![forbid(unsafe_code)]
