//! The messages: against the header, against golden bytes, and whatever else somebody may say.

#[path = "../../fuzz/corpus.rs"]
mod corpus;
mod properties;

use std::process::Command;

use oxmpi_oxfs::protocol::{
    self, Attr, DATA_MAX, ENTRY_BYTES, Entry, Kind, Operation, RECALL_BYTES, REPLY_BYTES,
    REQUEST_BYTES, Reply, Request, Time,
};

fn request() -> Request {
    Request {
        session: 0x0102_0304_0506_0708,
        slot: 3,
        sequence: 9,
        node: 77,
        open: 5,
        uid: 1000,
        gid: 100,
        groups: vec![4, 5],
        name: b"from".to_vec(),
        name2: b"to".to_vec(),
        arguments: [1, 2, 3, 4, 5, u64::MAX],
    }
}

#[test]
fn a_request_has_these_bytes() {
    let bytes = request().emit();
    assert_eq!(bytes.len(), REQUEST_BYTES + 8 + 6);
    assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[8..16], [3, 0, 0, 0, 9, 0, 0, 0]);
    assert_eq!(bytes[40..48], [2, 0, 4, 0, 2, 0, 0, 0]);
    assert_eq!(bytes[88..96], [0xff; 8]);
    assert_eq!(bytes[96..], *b"\x04\0\0\0\x05\0\0\0fromto");
    assert_eq!(Request::parse(&bytes), Ok(request()));
}

#[test]
fn match_bits_are_kind_operation_transaction() {
    let bits = Kind::DataOut.bits(Operation::Write as u16, 0xabc);
    assert_eq!(bits, 0x4014_0000_0000_0abc);
    assert_eq!(protocol::named(bits), (20, 0xabc));
}

/// The C compiler and this crate agree about every size, offset and number.
#[test]
fn the_header_says_the_same() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernel/include/oxfs.h");
    let mut checks = vec![
        (
            "sizeof(struct oxfs_request)".to_owned(),
            REQUEST_BYTES as u64,
        ),
        ("sizeof(struct oxfs_reply)".to_owned(), REPLY_BYTES as u64),
        ("sizeof(struct oxfs_entry)".to_owned(), ENTRY_BYTES as u64),
        ("sizeof(struct oxfs_recall)".to_owned(), RECALL_BYTES as u64),
        ("OXFS_VERSION".to_owned(), protocol::VERSION),
        ("OXFS_PORT".to_owned(), protocol::PORT.into()),
        ("OXFS_DATA_MAX".to_owned(), DATA_MAX as u64),
        ("OXFS_REQUEST_MAX".to_owned(), protocol::REQUEST_MAX as u64),
        ("OXFS_SLOTS_MAX".to_owned(), protocol::SLOTS_MAX as u64),
        ("OXFS_NO_SLOT".to_owned(), protocol::NO_SLOT.into()),
        ("OXFS_APPEND".to_owned(), protocol::APPEND),
        ("OXFS_GROUPS_MAX".to_owned(), protocol::GROUPS_MAX as u64),
        ("OXFS_XATTR_MAX".to_owned(), protocol::XATTR_MAX as u64),
        ("OXFS_TARGET_MAX".to_owned(), protocol::TARGET_MAX as u64),
        (
            "OXFS_TRANSACTION_MASK".to_owned(),
            protocol::TRANSACTION_MASK,
        ),
        (
            "OXFS_OPERATIONS".to_owned(),
            Operation::ALL.len() as u64 + 1,
        ),
        ("offsetof(struct oxfs_request, n_groups)".to_owned(), 40),
        ("offsetof(struct oxfs_reply, attr)".to_owned(), 80),
        ("offsetof(struct oxfs_attr, access)".to_owned(), 56),
        ("OXFS_RECALLED".to_owned(), Kind::Recalled as u64),
        (
            "OXFS_SET_MODIFIED_NOW".to_owned(),
            protocol::set::MODIFIED_NOW,
        ),
        ("OXFS_LOCK_RECLAIM".to_owned(), protocol::lock::RECLAIM),
        (
            "OXFS_RECALL_ENTRIES".to_owned(),
            protocol::recall::ENTRIES.into(),
        ),
    ];
    for &operation in Operation::ALL {
        let name = format!("OXFS_{}", format!("{operation:?}").to_uppercase());
        checks.push((name, operation as u64));
    }
    let mut source = format!("#include <stddef.h>\n#include \"{header}\"\n");
    for (name, value) in checks {
        source += &format!("_Static_assert({name} == {value}ull, \"{name} is {value}\");\n");
    }
    let path = std::env::temp_dir().join(format!("oxfs-header-{}.c", std::process::id()));
    std::fs::write(&path, source).expect("a file");
    let compiled = Command::new("cc")
        .args(["-fsyntax-only", "-Wall"])
        .arg(&path)
        .output();
    let _ = std::fs::remove_file(&path);
    let Ok(compiled) = compiled else {
        eprintln!("the_header_says_the_same is skipped: there is no C compiler");
        return;
    };
    let complaints = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{complaints}");
}

/// The first inputs of the fuzzer.
fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let mut bare = request();
    (bare.groups, bare.name, bare.name2) = (Vec::new(), Vec::new(), Vec::new());
    let access = Time {
        seconds: -1,
        nanoseconds: 5,
    };
    let attr = Attr {
        mode: 0o100644,
        access,
        ..Attr::default()
    };
    let reply = Reply {
        node: 8,
        attr,
        ..Reply::default()
    };
    let mut entries = Vec::new();
    for name in ["a", "longer name", ""] {
        let entry = Entry {
            node: 0,
            inode: 4,
            cookie: 6,
            kind: 8,
            name: name.into(),
        };
        entry.emit(&mut entries);
    }
    vec![
        ("request", request().emit()),
        ("bare-request", bare.emit()),
        ("reply", reply.emit()),
        ("entries", entries),
        ("recall", protocol::Recall { node: 7, what: 3 }.emit()),
    ]
}

#[test]
#[ignore = "writes the fuzzer's first inputs"]
fn write_corpus() {
    for (name, bytes) in inputs() {
        corpus::write("oxfs", name, &bytes);
    }
}

#[test]
fn the_corpus_holds() {
    corpus::each("oxfs", properties::oxfs);
}

/// Bytes of good messages, changed at random.
#[test]
fn changed_messages_hold() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % below
    };
    for _ in 0..20_000 {
        let inputs = inputs();
        let mut bytes = inputs[next(inputs.len())].1.clone();
        for _ in 0..next(4) {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        let length = next(bytes.len() + 1);
        if next(3) == 0 {
            bytes.truncate(length);
        }
        properties::oxfs(&bytes);
    }
}
