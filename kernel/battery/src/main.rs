//! Programs that try o2g.ko in a guest.

fn main() {}
