//! What can be done with requests and messages beside waiting for them: cancel, probe, claim, wait
//! for the first of several.

mod conversation;
mod engines;

use conversation::{SIZES, listen, paths, talk, tell};
use engines::{data, envelope, from, irecv, isend, recv, send};
use oxmpi_engine::{Fault, Mode, Options, Request};

#[test]
fn receives_can_be_cancelled() {
    talk(
        "cancelled receives",
        &Options::default(),
        |left| {
            listen(left, 1);
            send(left, 1, 8, &[1; 100]).unwrap();
        },
        |right| {
            let (mut one, mut two) = ([0; 100], [0; 100]);
            let first = irecv(right, 0, 8, &mut one);
            let second = irecv(right, 0, 8, &mut two);
            right.cancel(first);
            assert!(right.wait(first).unwrap().cancelled);
            tell(right, 0);
            assert!(!right.wait(second).unwrap().cancelled);
            assert_eq!((one, two), ([0; 100], [1; 100]));
            // What is over cannot be cancelled, and waiting for it again is an error with words.
            right.cancel(second);
            let error = right.wait(second).unwrap_err();
            assert!(
                matches!(error.fault(), Fault::UnknownRequest { rank: 1 }),
                "{error}"
            );
        },
    );
}

#[test]
fn offered_sends_can_be_cancelled_until_they_are_matched() {
    for (path, options) in paths() {
        talk(
            path,
            &options,
            |left| {
                let message = data(1, 2_000_000);
                let unmatched = isend(left, 1, 8, &message, Mode::Standard);
                let matched = isend(left, 1, 9, &message, Mode::Standard);
                tell(left, 1);
                listen(left, 1);
                left.cancel(unmatched);
                assert!(left.wait(unmatched).unwrap().cancelled);
                left.cancel(matched);
                assert!(!left.wait(matched).unwrap().cancelled);
                tell(left, 1);
            },
            |right| {
                listen(right, 0);
                let mut into = vec![0; 2_000_000];
                let receiving = irecv(right, 0, 9, &mut into);
                tell(right, 0);
                right.wait(receiving).unwrap();
                assert!(into == data(1, 2_000_000));
                listen(right, 0);
                assert!(
                    right.probe(from(0, 8)).unwrap().is_none(),
                    "the cancelled message is gone"
                );
            },
        );
    }
}

#[test]
fn a_claimed_message_is_the_claimers_alone() {
    for (path, options) in paths() {
        talk(
            path,
            &options,
            |left| {
                for bytes in SIZES {
                    let (one, two) = (data(1, bytes), data(2, bytes));
                    let requests =
                        [&one, &two].map(|message| isend(left, 1, 3, message, Mode::Standard));
                    tell(left, 1);
                    for request in requests {
                        left.wait(request).unwrap();
                    }
                    listen(left, 1);
                }
            },
            |right| {
                for bytes in SIZES {
                    listen(right, 0);
                    assert_eq!(
                        right.probe_wait(Some(0), from(0, 3)).unwrap(),
                        envelope(0, 3, bytes)
                    );
                    let claim = right.claim(from(None, None)).unwrap().unwrap();
                    assert_eq!((claim.envelope, claim.from()), (envelope(0, 3, bytes), 0));
                    let mut second = vec![0; bytes];
                    recv(right, 0, 3, &mut second).unwrap();
                    let mut first = vec![0; bytes];
                    // SAFETY: `first` lives until the wait is over.
                    let request =
                        unsafe { right.irecv_claimed(claim, first.as_mut_ptr(), bytes as u64) };
                    right.wait(request).unwrap();
                    assert!(
                        first == data(1, bytes) && second == data(2, bytes),
                        "{bytes}, {path}"
                    );
                    assert!(right.claim(from(0, 3)).unwrap().is_none());
                    tell(right, 0);
                }
            },
        );
    }
}

#[test]
fn the_first_of_several_requests_is_found() {
    talk(
        "wait for any",
        &Options::default(),
        |left| {
            for tag in [2, 0, 1] {
                listen(left, 1);
                send(left, 1, tag, &data(tag as usize, 50_000)).unwrap();
            }
        },
        |right| {
            let mut buffers = [(); 3].map(|()| vec![0; 50_000]);
            let mut requests: Vec<Request> = buffers
                .iter_mut()
                .enumerate()
                .map(|(tag, into)| irecv(right, 0, tag as i32, into))
                .collect();
            let mut tags = vec![0, 1, 2];
            for expected in [2, 0, 1] {
                tell(right, 0);
                let (at, outcome) = right.wait_any(&requests);
                assert_eq!(
                    (tags.remove(at), outcome.unwrap().tag),
                    (expected, expected)
                );
                requests.remove(at);
            }
            for (tag, into) in buffers.iter().enumerate() {
                assert!(*into == data(tag, 50_000));
            }
        },
    );
}
