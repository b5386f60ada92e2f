//! What holds whatever the mapped memory holds. The tests of this crate and the fuzzer
//! (`fuzz/targets/records.rs`) call the same.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use o2g::Area;
use oxmpi_wire::o2g::{Control, DUMP_BYTES_MIN, Done, PAGE_BYTES};

/// Entries whose flags fill exactly one page.
const ENTRIES: u32 = (PAGE_BYTES / size_of::<Done>()) as u32;

/// Stands for the memory of the driver, and is gone with the process.
fn memory() -> File {
    let place = std::env::temp_dir().join(format!("oxmpi-records-{}", std::process::id()));
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&place);
    let file = file.expect("a temporary file");
    // Where this fails a file of 72 KiB stays.
    let _ = std::fs::remove_file(&place);
    file
}

/// The first two bytes are the head in units of eight bytes, the rest is what lies in the dump
/// area. Reading ends, stays within what is mapped, and every record lies before the head.
pub fn records(input: &[u8]) {
    let Some((head, dump)) = input.split_first_chunk::<2>() else {
        return;
    };
    let file = memory();
    // Control page, flags and desks.
    let before = 3 * PAGE_BYTES as u64;
    let bytes = before + DUMP_BYTES_MIN;
    file.set_len(bytes).expect("room");
    let head = u64::from(u16::from_le_bytes(*head)) * 8;
    let at = std::mem::offset_of!(Control, head) as u64;
    file.write_all_at(&head.to_le_bytes(), at).expect("room");
    let dump = &dump[..dump.len().min(DUMP_BYTES_MIN as usize)];
    file.write_all_at(dump, before).expect("room");
    let mut area = Area::map(file.as_fd(), ENTRIES, 1, DUMP_BYTES_MIN).expect("a mapping");
    loop {
        let end = match area.peek() {
            Ok(None) => return,
            Err(error) => return assert!(!error.to_string().is_empty()),
            Ok(Some(view)) => {
                assert!(view.payload.len() as u64 <= view.packet_bytes);
                assert!(view.entry.is_none_or(|(slot, _)| slot < ENTRIES));
                // A load of each byte: memory that is not mapped would be noticed.
                std::hint::black_box(view.payload.iter().fold(0, |sum, byte| sum ^ byte));
                view.end()
            }
        };
        assert!(end > area.tail() && end <= head);
        area.advance_to(end).expect("the end of a record");
    }
}
