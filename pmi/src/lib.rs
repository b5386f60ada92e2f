//! The protocols by which launchers and ranks find each other: PMI-1 and PMI-2 (text over a descriptor), PMIx (a library loaded at run time).
//!
//! A rank's side works the same whatever launcher started it; the launcher's side is pure: bytes in, replies out.
