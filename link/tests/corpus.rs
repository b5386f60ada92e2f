//! The fuzzer's property on the inputs of `fuzz/corpus`, and on arbitrary bytes.

#[path = "../../fuzz/corpus.rs"]
mod corpus;
mod pair;
mod properties;

use proptest::prelude::*;

#[test]
fn every_kept_input_keeps_the_property() {
    corpus::each("link", properties::link);
}

proptest! {
    #[test]
    fn arbitrary_bytes_keep_the_property(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        properties::link(&bytes);
    }
}

/// One frame of an input: length, choices, fields and payload.
fn frame(choices: u8, fields: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = (fields.len() + payload.len()) as u8;
    [&[length, choices][..], &fields, payload].concat()
}

#[test]
#[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-link seeds -- --ignored"]
fn write_the_seeds() {
    let piece = [2, 0, 3, 0, 0xaa, 0xbb];
    let begun = [2, 0, 1, 0, 0xaa, 0xbb];
    for (name, choices) in [
        ("go-back-n", 0),
        ("selective", 1),
        ("checked", 2),
        ("talking", 5),
    ] {
        let mut input = vec![choices];
        input.extend(frame(0, [1, 0, 0, 0], &piece));
        input.extend(frame(0x10, [1, 8, 1, 1], &begun));
        input.extend(frame(0, [1, 0, 3, 2], &piece));
        for kind in 2..=8 {
            input.extend(frame(0x20, [kind, 0, 0, 2], &[]));
        }
        corpus::write("link", name, &input);
    }
}
