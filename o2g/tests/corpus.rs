//! The fuzzer's property on the inputs of `fuzz/corpus`.

#[path = "../../fuzz/corpus.rs"]
mod corpus;
mod properties;

use oxmpi_wire::o2g::{NO_SLOT, RECORD_ALIGN, RECORD_BYTES, RecordKind};

#[test]
fn every_kept_input_keeps_the_property() {
    corpus::each("records", properties::records);
}

/// A record as the driver writes it, with zeros for header and body.
fn record(kind: RecordKind, slot: u32, payload: &[u8]) -> Vec<u8> {
    let length = (RECORD_BYTES + payload.len()).next_multiple_of(RECORD_ALIGN);
    let mut bytes = (length as u32).to_le_bytes().to_vec();
    bytes.extend((kind as u16).to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(slot.to_le_bytes());
    bytes.extend(7u64.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.resize(RECORD_BYTES, 0);
    bytes.extend(payload);
    bytes.resize(length, 0);
    bytes
}

/// An input with these records before the head.
fn input(records: &[Vec<u8>]) -> Vec<u8> {
    let dump = records.concat();
    [&((dump.len() / 8) as u16).to_le_bytes()[..], &dump].concat()
}

#[test]
fn records_of_every_kind_are_read_to_the_end() {
    properties::records(&input(&every_kind()));
}

fn every_kind() -> Vec<Vec<u8>> {
    vec![
        record(RecordKind::Packet, NO_SLOT, b"payload"),
        record(RecordKind::Payload, NO_SLOT, &[7; 100]),
        record(RecordKind::Filler, 0, b""),
        record(RecordKind::Packet, 3, b""),
        record(RecordKind::Farewell, NO_SLOT, b""),
        record(RecordKind::Garbage, NO_SLOT, b""),
        record(RecordKind::Closed, NO_SLOT, b""),
    ]
}

#[test]
#[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p o2g seeds -- --ignored"]
fn write_the_seeds() {
    corpus::write("records", "every-kind", &input(&every_kind()));
    corpus::write("records", "one", &input(&every_kind()[..1]));
    corpus::write("records", "empty", &[0, 0]);
}
