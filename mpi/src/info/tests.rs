//! Info objects by MPI 5.0 §10, and what MPI_INFO_ENV shows.

use super::*;

#[test]
fn a_key_has_one_value() {
    let info = Info::new();
    info.set("file", "one").unwrap();
    info.set("host", "two").unwrap();
    info.set("file", "three").unwrap();
    assert_eq!(info.len(), 2);
    assert_eq!(info.get("file").unwrap().unwrap(), b"three");
    assert_eq!(info.get("File").unwrap(), None, "keys are case sensitive");
    assert_eq!(info.get_text("host").as_deref(), Some("two"));
    assert_eq!(
        info.nth_key(0).unwrap(),
        b"file",
        "a new value does not move its key"
    );
    assert_eq!(info.nth_key(1).unwrap(), b"host");
    assert!(info.contains("host") && !info.contains("port"));
}

#[test]
fn removing_keeps_the_order_of_the_rest() {
    let info = Info::new();
    for key in ["a", "b", "c"] {
        info.set(key, key).unwrap();
    }
    info.remove("b").unwrap();
    assert_eq!(
        info.entries(),
        [
            (b"a".to_vec(), b"a".to_vec()),
            (b"c".to_vec(), b"c".to_vec())
        ]
    );
    assert_eq!(
        info.remove("b").unwrap_err(),
        InfoError::NoKey { key: "b".into() }
    );
    info.set("b", "").unwrap();
    assert_eq!(info.nth_key(2).unwrap(), b"b");
    assert_eq!(
        info.get("b").unwrap().unwrap(),
        b"",
        "an empty value is a value"
    );
}

#[test]
fn a_clone_is_the_object_and_a_duplicate_is_not() {
    let info = Info::new();
    let (same, copy) = (info.clone(), info.duplicate());
    same.set("k", "v").unwrap();
    assert!(info.contains("k") && info.is(&same));
    assert!(!copy.contains("k") && !info.is(&copy));
    assert!(info.duplicate().contains("k"));
}

#[test]
fn lengths_leave_room_for_the_nul() {
    let info = Info::new();
    let (key, value) = ("k".repeat(KEY_MAX - 1), "v".repeat(VALUE_MAX - 1));
    info.set(&key, &value).unwrap();
    assert_eq!(info.get(&key).unwrap().unwrap().len(), 1023);
    let long = "k".repeat(KEY_MAX);
    assert!(matches!(
        info.set(&long, "v"),
        Err(InfoError::KeyTooLong { length: 256, .. })
    ));
    assert!(matches!(info.get(&long), Err(InfoError::KeyTooLong { .. })));
    assert!(matches!(
        info.remove(&long),
        Err(InfoError::KeyTooLong { .. })
    ));
    assert_eq!(
        info.set("k", "v".repeat(VALUE_MAX))
            .unwrap_err()
            .to_string(),
        "the value of 'k' has 1024 characters: at most 1023 fit"
    );
    assert_eq!(info.set("", "v").unwrap_err(), InfoError::EmptyKey);
    assert!(matches!(
        info.set("k", "a\0b"),
        Err(InfoError::Nul { what: "value", .. })
    ));
    assert!(matches!(
        info.set("a\0b", "v"),
        Err(InfoError::Nul { what: "key", .. })
    ));
    assert_eq!(info.len(), 1, "what failed changed nothing");
}

#[test]
fn numbers_of_keys_end_with_the_keys() {
    let info = Info::new();
    assert_eq!(
        info.nth_key(0).unwrap_err(),
        InfoError::NoSuchIndex { index: 0, count: 0 }
    );
    info.set("k", "v").unwrap();
    assert_eq!(
        info.nth_key(-1).unwrap_err().to_string(),
        "there is no key -1 in an info object of 1 keys: they are numbered from 0"
    );
    assert!(info.nth_key(1).is_err());
}

/// MPI 5.0 §10: leading and trailing spaces are stripped in Fortran; C keeps its strings.
#[test]
fn only_fortran_strips() {
    assert_eq!(strip(b"  a key  "), b"a key");
    assert_eq!(strip(b"    "), b"");
    assert_eq!(strip(b"\ta"), b"\ta");
    let info = Info::new();
    info.set(" k ", " v ").unwrap();
    assert_eq!(info.get(" k ").unwrap().unwrap(), b" v ");
    assert!(!info.contains("k"));
}

#[test]
fn bytes_that_are_no_text_survive() {
    let info = Info::new();
    info.set([0xe9], [0xff, 0xfe]).unwrap();
    assert_eq!(info.get([0xe9]).unwrap().unwrap(), [0xff, 0xfe]);
}

#[test]
fn the_environment_shows_what_is_known() {
    let info = Info::environment(&Environment {
        command: Some("./pi".into()),
        argv: Some(vec!["-n".into(), "100".into()]),
        maxprocs: Some(4),
        wdir: Some("/".repeat(VALUE_MAX)),
        ..Environment::default()
    });
    assert_eq!(info.get_text("command").as_deref(), Some("./pi"));
    assert_eq!(info.get_text("argv").as_deref(), Some("-n 100"));
    assert_eq!(info.get_text("maxprocs").as_deref(), Some("4"));
    assert!(!info.contains("host"), "what is not known is not there");
    assert!(!info.contains("wdir"), "what does not fit is not there");

    assert_eq!(
        info.set("host", "here").unwrap_err(),
        InfoError::ReadOnly { key: "host".into() }
    );
    assert!(info.remove("command").is_err());
    info.duplicate().set("host", "here").unwrap();
    assert!(Info::environment(&Environment::of_process()).contains("command"));
}

#[test]
fn threads_share_an_object() {
    let info = Info::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let info = &info;
            scope.spawn(move || {
                for number in 0..50 {
                    info.set(format!("{thread}.{number}"), "x").unwrap();
                }
            });
        }
    });
    assert_eq!(info.len(), 200);
}
