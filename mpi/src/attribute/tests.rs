//! Attributes by MPI 5.0 §7.7: life of keys, what callbacks are called with and when, callbacks
//! that fail, and callbacks and threads that come back in.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

type Log = Arc<Mutex<Vec<String>>>;

/// A delete callback that writes down what it was called with.
fn logged(log: &Log) -> DeleteCallback {
    let log = log.clone();
    Box::new(move |object, _, value| {
        log.lock().unwrap().push(format!("{object}:{value}"));
        Ok(())
    })
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

fn keys() -> Keyvals {
    Keyvals::new(Kind::Communicator)
}

fn plain(keyvals: &Keyvals) -> Keyval {
    keyvals
        .create(always_copied(), nothing_on_delete())
        .unwrap()
}

#[test]
fn numbers_are_apart_from_the_predefined_and_from_other_kinds() {
    let mut seen = Vec::new();
    for kind in [Kind::Communicator, Kind::Datatype, Kind::Window] {
        let keyvals = Keyvals::new(kind);
        seen.extend((0..100).map(|_| plain(&keyvals).number()));
    }
    assert!(seen.iter().all(|&number| number >= KEYVAL_MIN));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 300);
    let predefined = keys().usable(501).unwrap_err();
    assert_eq!(
        predefined.to_string(),
        "501 is not a key for attributes of communicators: create one first"
    );
}

#[test]
fn a_freed_key_lives_in_its_attributes() {
    let (keyvals, set, log) = (keys(), Attributes::new(), Log::default());
    let keyval = keyvals.create(always_copied(), logged(&log)).unwrap();
    let number = keyval.number();
    set.set(1, &keyval, 7).unwrap();
    drop(keyval);

    keyvals.free(number).unwrap();
    assert_eq!(
        keyvals.usable(number).unwrap_err(),
        AttributeError::KeyvalFreed { keyval: number }
    );
    assert_eq!(
        keyvals.free(number),
        Ok(()),
        "it is a key as long as it is in use"
    );
    assert_eq!(keyvals.alive(number).unwrap().number(), number);
    assert_eq!(set.get(number), Some(7));

    let duplicate = Attributes::new();
    set.copy_to(1, &duplicate, 2).unwrap();
    set.delete(1, number).unwrap();
    assert!(keyvals.alive(number).is_ok(), "the duplicate still has it");
    duplicate.delete_all(2).unwrap();
    assert_eq!(take(&log), ["1:7", "2:7"]);
    assert!(matches!(
        keyvals.alive(number),
        Err(AttributeError::NoSuchKeyval { .. })
    ));
    assert!(matches!(
        keyvals.free(number),
        Err(AttributeError::NoSuchKeyval { .. })
    ));
}

#[test]
fn a_number_is_not_given_again_while_its_key_is_alive() {
    let (keyvals, set) = (keys(), Attributes::new());
    let first = plain(&keyvals).number();
    let kept = plain(&keyvals).number();
    set.set(1, &keyvals.usable(kept).unwrap(), 0).unwrap();
    keyvals.free(first).unwrap();
    keyvals.free(kept).unwrap();

    keyvals.skip_to(i32::MAX - 2);
    let last = plain(&keyvals).number();
    assert!(last >= i32::MAX - 2);
    assert_eq!(
        plain(&keyvals).number(),
        first,
        "gone, so its number is free"
    );
    assert_eq!(
        plain(&keyvals).number(),
        kept + 3,
        "alive, so its number is not"
    );
    set.delete_all(1).unwrap();
    keyvals.skip_to(kept);
    assert_eq!(plain(&keyvals).number(), kept);
}

#[test]
fn keys_that_are_gone_are_forgotten() {
    let keyvals = keys();
    for _ in 0..1000 {
        keyvals.free(plain(&keyvals).number()).unwrap();
    }
    assert_eq!(keyvals.count(), 0);
    assert!(keyvals.entries() <= 8, "{} entries", keyvals.entries());
}

#[test]
fn setting_again_deletes_the_old_value_first() {
    let (keyvals, set, log) = (keys(), Attributes::new(), Log::default());
    let keyval = keyvals.create(never_copied(), logged(&log)).unwrap();
    set.set(1, &keyval, 10).unwrap();
    assert!(take(&log).is_empty());
    set.set(1, &keyval, 20).unwrap();
    assert_eq!(take(&log), ["1:10"]);
    assert_eq!(set.get(keyval.number()), Some(20));
    set.delete(1, keyval.number()).unwrap();
    assert_eq!(take(&log), ["1:20"]);
    assert_eq!(set.get(keyval.number()), None);
    let number = keyval.number();
    assert_eq!(
        set.delete(1, number).unwrap_err(),
        AttributeError::NotSet { keyval: number }
    );
}

#[test]
fn a_refused_deletion_changes_nothing() {
    let (keyvals, set) = (keys(), Attributes::new());
    let keyval = keyvals.create(
        never_copied(),
        Box::new(|_, _, value| if value == 1 { Err(17) } else { Ok(()) }),
    );
    let keyval = keyval.unwrap();
    let number = keyval.number();
    let refused = AttributeError::DeleteFailed {
        keyval: number,
        code: 17,
    };
    set.set(5, &keyval, 1).unwrap();
    assert_eq!(set.set(5, &keyval, 2).unwrap_err(), refused);
    assert_eq!(set.get(number), Some(1));
    assert_eq!(set.delete(5, number).unwrap_err(), refused);
    assert_eq!(set.get(number), Some(1));
    assert_eq!(refused.callback_code(), Some(17));

    let (before, after) = (plain(&keyvals), plain(&keyvals));
    let order = Attributes::new();
    for keyval in [&before, &keyval, &after] {
        order.set(5, keyval, 1).unwrap();
    }
    assert_eq!(order.delete_all(5).unwrap_err(), refused);
    assert_eq!(
        (
            order.get(before.number()),
            order.get(number),
            order.get(after.number())
        ),
        (Some(1), Some(1), None)
    );
}

/// MPI 5.0 §11.2.4: attributes of MPI_COMM_SELF go in the reverse of the order in which they were
/// set.
#[test]
fn all_are_deleted_last_set_first() {
    let (keyvals, set, log) = (keys(), Attributes::new(), Log::default());
    let made: Vec<Keyval> = (0..4)
        .map(|_| keyvals.create(never_copied(), logged(&log)).unwrap())
        .collect();
    for (value, keyval) in made.iter().enumerate() {
        set.set(9, keyval, value).unwrap();
    }
    set.set(9, &made[1], 11).unwrap();
    assert_eq!(take(&log), ["9:1"]);
    set.delete_all(9).unwrap();
    assert_eq!(take(&log), ["9:11", "9:3", "9:2", "9:0"]);
    assert!(set.is_empty());
}

#[test]
fn a_duplicate_gets_what_the_copy_callbacks_say() {
    let (keyvals, set, duplicate) = (keys(), Attributes::new(), Attributes::new());
    let doubled = keyvals.create(
        Box::new(|object, _, value| Ok(Some(value * 2 + object as usize))),
        nothing_on_delete(),
    );
    let (doubled, same) = (doubled.unwrap(), plain(&keyvals));
    let none = keyvals.create(never_copied(), nothing_on_delete()).unwrap();
    for keyval in [&doubled, &same, &none] {
        set.set(100, keyval, 21).unwrap();
    }
    set.copy_to(100, &duplicate, 200).unwrap();
    assert_eq!(duplicate.get(doubled.number()), Some(142));
    assert_eq!(duplicate.get(same.number()), Some(21));
    assert_eq!(duplicate.get(none.number()), None);
    assert_eq!(set.len(), 3);
}

#[test]
fn a_failed_copy_leaves_no_trace() {
    let (keyvals, set, duplicate, log) =
        (keys(), Attributes::new(), Attributes::new(), Log::default());
    for value in 1..3 {
        let keyval = keyvals.create(always_copied(), logged(&log)).unwrap();
        set.set(1, &keyval, value).unwrap();
    }
    let grim = keyvals
        .create(always_copied(), Box::new(|_, _, _| Err(3)))
        .unwrap();
    set.set(1, &grim, 8).unwrap();
    let failing = keyvals
        .create(Box::new(|_, _, _| Err(99)), logged(&log))
        .unwrap();
    set.set(1, &failing, 9).unwrap();
    let error = set.copy_to(1, &duplicate, 2).unwrap_err();
    assert_eq!(
        error,
        AttributeError::CopyFailed {
            keyval: failing.number(),
            code: 99
        }
    );
    assert_eq!(
        take(&log),
        ["2:2", "2:1"],
        "deleted from the duplicate, by its name"
    );
    assert!(duplicate.is_empty());
    assert_eq!(set.len(), 4);
}

#[test]
fn callbacks_may_use_attributes() {
    let (keyvals, set) = (Arc::new(keys()), Arc::new(Attributes::new()));
    let other = plain(&keyvals);
    set.set(1, &other, 5).unwrap();
    let callback = {
        let (keyvals, set, other) = (keyvals.clone(), set.clone(), other.number());
        Box::new(move |object, own, value| {
            assert_eq!(set.get(own), Some(value), "there until the callback agrees");
            assert_eq!(
                set.delete(object, own),
                Err(AttributeError::BeingDeleted { keyval: own })
            );
            let again = keyvals.alive(own).unwrap();
            assert_eq!(
                set.set(object, &again, 0),
                Err(AttributeError::BeingDeleted { keyval: own })
            );
            set.delete(object, other).map_err(|_| 1)?;
            let new = keyvals
                .create(never_copied(), nothing_on_delete())
                .map_err(|_| 2)?;
            set.set(object, &new, 6).map_err(|_| 3)?;
            keyvals.free(own).map_err(|_| 4)
        })
    };
    let keyval = keyvals.create(never_copied(), callback).unwrap();
    set.set(1, &keyval, 4).unwrap();
    set.delete(1, keyval.number()).unwrap();
    assert_eq!(set.get(other.number()), None);
    assert_eq!(set.len(), 1, "what the callback set");
    assert!(keyvals.usable(keyval.number()).is_err());
    set.delete_all(1).unwrap();
}

#[test]
fn callbacks_that_never_end_are_stopped() {
    let (keyvals, set) = (Arc::new(keys()), Arc::new(Attributes::new()));
    let pair: Arc<Mutex<Vec<Keyval>>> = Arc::default();
    for _ in 0..2 {
        let (set, partners) = (set.clone(), pair.clone());
        let callback = Box::new(move |object, own, value| {
            let partner = partners
                .lock()
                .unwrap()
                .iter()
                .find(|k| k.number() != own)
                .cloned()
                .unwrap();
            set.set(object, &partner, value).map_err(|_| 1)
        });
        let keyval = keyvals.create(never_copied(), callback).unwrap();
        pair.lock().unwrap().push(keyval);
    }
    let first = pair.lock().unwrap()[0].clone();
    set.set(1, &first, 0).unwrap();
    assert!(matches!(
        set.delete_all(1),
        Err(AttributeError::Endless { deleted: 1025, .. })
    ));
}

#[test]
fn a_callback_that_panics_leaves_the_attribute() {
    let (keyvals, set) = (keys(), Attributes::new());
    let keyval = keyvals
        .create(never_copied(), Box::new(|_, _, _| panic!("by intent")))
        .unwrap();
    set.set(1, &keyval, 3).unwrap();
    let delete = || set.delete(1, keyval.number());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(delete)).is_err());
    assert_eq!(set.get(keyval.number()), Some(3));
}

/// Every value set is deleted once, whoever sets and deletes at the same time.
#[test]
fn threads_that_set_at_once_take_turns() {
    let (keyvals, set) = (keys(), Attributes::new());
    let deleted = Arc::new(AtomicUsize::new(0));
    let counter = deleted.clone();
    let callback = Box::new(move |_, _, value| {
        std::thread::yield_now();
        counter.fetch_add(value, Ordering::Relaxed);
        Ok(())
    });
    let keyval = keyvals.create(never_copied(), callback).unwrap();
    let start = Barrier::new(4);
    let missed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (set, keyval, start, missed) = (&set, &keyval, &start, &missed);
            scope.spawn(move || {
                start.wait();
                for _ in 0..500 {
                    set.set(1, keyval, 1).unwrap();
                    if thread == 0 && set.delete(1, keyval.number()).is_err() {
                        missed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    set.delete_all(1).unwrap();
    assert_eq!(deleted.load(Ordering::Relaxed), 2000);
    assert_eq!(
        missed.load(Ordering::Relaxed),
        0,
        "one thread alone deletes, right after it has set"
    );
}
