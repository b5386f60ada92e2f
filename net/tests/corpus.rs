//! The fuzzer's properties on the inputs of `fuzz/corpus`, and on arbitrary bytes.

#[path = "../../fuzz/corpus.rs"]
mod corpus;
mod properties;

use proptest::prelude::*;

#[test]
fn every_kept_input_keeps_the_properties() {
    corpus::each("handshake", properties::handshake);
    corpus::each("card", properties::card);
}

proptest! {
    #[test]
    fn arbitrary_bytes_keep_the_properties(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        properties::handshake(&bytes);
        properties::card(&bytes);
    }
}

#[test]
#[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-net seeds -- --ignored"]
fn write_the_seeds() {
    let [to_dialler, to_answerer] = properties::conversation();
    corpus::write(
        "handshake",
        "to-dialler",
        &[&[0xfe][..], &to_dialler].concat(),
    );
    corpus::write(
        "handshake",
        "to-answerer",
        &[&[0xff][..], &to_answerer].concat(),
    );
    corpus::write(
        "handshake",
        "to-answerer-in-pieces",
        &[&[7][..], &to_answerer].concat(),
    );
    corpus::write("handshake", "web", b"\xffGET / HTTP/1.1\r\n\r\n");
    let version = oxmpi_net::Card::new("h0", 7, 4000, Vec::new()).to_string();
    corpus::write("card", "bare", version.as_bytes());
    let bare = version.trim_end_matches('@');
    let with =
        format!("{bare}@020000000001/5/1500,020000000002/6/9000@o:10.0.0.1/24,l:2001:db8::1/64");
    corpus::write("card", "addresses", with.as_bytes());
    // More than any process has, and than would be written again.
    let five = ["020000000001/5/1500"; 5].join(",");
    corpus::write(
        "card",
        "five-ethernet-cards",
        format!("{bare}@{five}@").as_bytes(),
    );
}
