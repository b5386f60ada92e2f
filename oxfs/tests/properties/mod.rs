//! What holds for whatever a client or a server says. The tests of this crate and the fuzzer
//! (`fuzz/targets`) call the same.
#![allow(dead_code, reason = "each user calls its part")]

use oxmpi_oxfs::protocol::{Entry, REQUEST_BYTES, Recall, Reply, Request};

/// Nothing makes a parser panic; what was understood is written as it was read, but for what is
/// reserved; names and groups are no longer than what was said.
pub fn oxfs(input: &[u8]) {
    if let Ok(request) = Request::parse(input) {
        let written = request.emit();
        assert_eq!(written.len(), input.len());
        // Two bytes are reserved.
        assert_eq!(written[..46], input[..46]);
        assert_eq!(written[48..], input[48..]);
        let tail = 4 * request.groups.len() + request.name.len() + request.name2.len();
        assert_eq!(REQUEST_BYTES + tail, input.len());
        assert_eq!(Request::parse(&written), Ok(request));
    }
    if let Some(reply) = Reply::parse(input) {
        assert_eq!(Reply::parse(&reply.emit()), Some(reply));
    }
    if let Some(recall) = Recall::parse(input) {
        assert_eq!(Recall::parse(&recall.emit()), Some(recall));
    }
    let entries = Entry::parse_all(input);
    let bytes: usize = entries.iter().map(|entry| 32 + entry.name.len()).sum();
    assert!(bytes <= input.len());
    let mut written = Vec::new();
    for entry in &entries {
        entry.emit(&mut written);
    }
    assert_eq!(Entry::parse_all(&written), entries);
}
