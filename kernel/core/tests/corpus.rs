//! The fuzzer's property on the inputs of `fuzz/corpus`, and on arbitrary bytes.

#[path = "../../../fuzz/corpus.rs"]
mod corpus;
mod double;
mod properties;

use double::{data, eager, request};
use proptest::prelude::*;

#[test]
fn every_kept_input_keeps_the_property() {
    corpus::each("kernel_core", properties::core);
}

proptest! {
    #[test]
    fn arbitrary_bytes_keep_the_property(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        properties::core(&bytes);
    }
}

/// The action by which these bytes arrive.
fn arrives(bytes: &[u8]) -> Vec<u8> {
    let piece = |piece: &[u8]| [&[0xfe, piece.len() as u8][..], piece].concat();
    bytes.chunks(200).flat_map(piece).collect()
}

#[test]
#[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-o2g-core seeds -- --ignored"]
fn write_the_seeds() {
    let put: &[u8] = &[0x7c, 0x01, 0x84, 0x02];
    let (first, second) = (arrives(&eager(0, 40)), arrives(&eager(0, 300)));
    let asked = arrives(&request(0, 500));
    let rest = arrives(&data(1, 0, 500, 0, 100));
    for (name, parts) in [
        ("unexpected", &[&first[..], &second][..]),
        ("expected", &[put, &first, &second]),
        ("request", &[put, &asked, &rest]),
        ("cancelled", &[put, &[1, 1], &first]),
    ] {
        corpus::write("kernel_core", name, &parts.concat());
    }
}
