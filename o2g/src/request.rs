//! The numbers of the requests, made as `_IO`, `_IOR` and `_IOW` of C make them; `tests/header.rs`
//! compares them with `kernel/include/o2g.h`.

use oxmpi_wire::o2g::{Counters, DumpArea, Entry, Init, Register};

/// The driver's letter.
const LETTER: u32 = 0xb5;

const NOTHING: u32 = 0;
const WRITES: u32 = 1;
const READS: u32 = 2;

const fn number(direction: u32, number: u32, bytes: usize) -> u32 {
    assert!(bytes < 1 << 14, "the size has 14 bits");
    direction << 30 | (bytes as u32) << 16 | LETTER << 8 | number
}

/// `init`.
pub const INIT: u32 = number(WRITES, 1, size_of::<Init>());
/// `register_socket`.
pub const REGISTER_SOCKET: u32 = number(WRITES, 2, size_of::<Register>());
/// `forget_socket`; the argument is the rank.
pub const FORGET_SOCKET: u32 = number(NOTHING, 3, 0);
/// `set_dump_area`.
pub const SET_DUMP_AREA: u32 = number(READS | WRITES, 4, size_of::<DumpArea>());
/// `start_dumper_thread`; the argument says how many.
pub const START_DUMPER_THREAD: u32 = number(NOTHING, 5, 0);
/// `put_entry`.
pub const PUT_ENTRY: u32 = number(WRITES, 6, size_of::<Entry>());
/// `cancel_entry`.
pub const CANCEL_ENTRY: u32 = number(WRITES, 7, size_of::<u64>());
/// `free_entry`.
pub const FREE_ENTRY: u32 = number(WRITES, 8, size_of::<u64>());
/// `counters`.
pub const COUNTERS: u32 = number(READS, 9, size_of::<Counters>());
/// `give_answers`; no argument.
pub const GIVE_ANSWERS: u32 = number(NOTHING, 10, 0);
