//! The driver /dev/o2g.
