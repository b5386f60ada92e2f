//! What holds whatever a socket brings and a process asks for. The tests of this crate and the
//! fuzzer (`fuzz/targets/kernel_core.rs`) call the same.

use oxmpi_o2g_core::Step;
use oxmpi_wire::o2g::{ANY_SOURCE, ANY_TAG, Entry, NO_BUFFER, RecordKind};

use crate::double::{DUMP, Double, entry};

/// Entries of the context, all of which an input can name.
const ENTRIES: u32 = 8;

/// A list of actions: each is a byte and what it needs. Entries are put and cancelled, bytes arrive
/// in pieces, records are taken. Nothing panics, records are whole, and all memory is let go.
pub fn core(input: &[u8]) {
    let mut double = Double::new(1, ENTRIES, DUMP);
    let socket = double.core.open_socket(0, 0).expect("room");
    let mut rest = input;
    while let [action, argument, after @ ..] = rest {
        rest = after;
        match action % 4 {
            // Refused or not, both are answers.
            0 => drop(double.put(receive(*argument, action / 4), action & 128 != 0)),
            1 => drop(double.core.cancel(u64::from(argument % ENTRIES as u8))),
            _ => {
                let (bytes, after) = rest.split_at(rest.len().min(usize::from(*argument)));
                rest = after;
                let cut = 1 + usize::from(action / 8);
                let ran = double.run(socket, action & 4 != 0, bytes, cut);
                take(&mut double);
                if ran.step == Step::Broken {
                    break;
                }
            }
        }
    }
    let _ = double.core.end(socket, 0);
    take(&mut double);
    double.core.close_socket(socket);
    for cookie in 0..u64::from(ENTRIES) {
        let _ = double.core.cancel(cookie);
    }
    double.release();
    assert!(double.buffers.is_empty(), "all memory is let go");
}

/// Takes all records, as a process does.
fn take(double: &mut Double) {
    for taken in double.take_all() {
        if taken.kind == RecordKind::Packet {
            let _ = taken.repr();
        }
    }
    double.core.free_to(double.tail).expect("up to the head");
}

/// A receive, by a byte for its slot and tag and one for its flags and length.
fn receive(which: u8, how: u8) -> Entry {
    let choices = [(1, ANY_SOURCE), (2, ANY_TAG), (4, NO_BUFFER)];
    let chosen = choices
        .iter()
        .filter(|(bit, _)| how & bit != 0)
        .map(|(_, flag)| flag);
    Entry {
        flags: chosen.sum(),
        ..entry(
            u64::from(which) % u64::from(ENTRIES),
            i32::from(which >> 6),
            u64::from(how) * 16,
        )
    }
}
