//! The handshake as an attacker, a bad network and another version would have it.
//!
//! The golden bytes were computed by another implementation of HMAC-SHA-256 from the field table in
//! [`super::message`].

use super::message::{CHALLENGE_BYTES, DECISION_BYTES, HELLO_BYTES, RESPONSE_BYTES};
use super::*;
use crate::key::{JobKey, Nonce};
use proptest::prelude::*;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

const DIALLER: u32 = 3;
const ANSWERER: u32 = 258;

fn key() -> JobKey {
    JobKey::from_bytes(std::array::from_fn(|index| index as u8))
}

fn nonce(first: u8) -> Nonce {
    std::array::from_fn(|index| first + index as u8)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn dialler() -> (Dialler, Message) {
    Dialler::new(&key(), DIALLER, ANSWERER, nonce(0x10))
}

fn answerer() -> Answerer {
    Answerer::new(&key(), ANSWERER, nonce(0x20))
}

/// The four messages of a handshake that ends well.
struct Recording {
    hello: Vec<u8>,
    challenge: Vec<u8>,
    response: Vec<u8>,
    decision: Vec<u8>,
}

fn record(verdict: Verdict) -> Recording {
    let (mut dialler, hello) = dialler();
    let mut answerer = answerer();
    let challenge = answerer.handle(&hello);
    assert_eq!(challenge.progress, Progress::More);
    let response = dialler.handle(&challenge.send);
    assert_eq!(response.progress, Progress::More);
    let proven = answerer.handle(&response.send);
    assert_eq!(proven.progress, Progress::Proven { peer: DIALLER });
    assert!(proven.send.is_empty());
    let decision = answerer.verdict(verdict);
    let done = dialler.handle(&decision);
    assert_eq!(done.progress, Progress::Done(verdict));
    assert!(done.send.is_empty());
    Recording {
        hello: hello.to_vec(),
        challenge: challenge.send.to_vec(),
        response: response.send.to_vec(),
        decision: decision.to_vec(),
    }
}

fn is_refused(step: &Step) -> bool {
    matches!(step.progress, Progress::Refused(_))
}

#[test]
fn golden_bytes() {
    let kept = record(Verdict::Keep);
    assert_eq!(
        hex(&kept.hello),
        "d64f784d50490a01101112131415161718191a1b1c1d1e1f0300000002010000"
    );
    assert_eq!(
        hex(&kept.challenge),
        "d64f784d50490a01202122232425262728292a2b2c2d2e2f02010000\
         ebb58801fb37651533e69c3ab4d5239c87fa7f41a3046b651daf680278fed05d"
    );
    assert_eq!(
        hex(&kept.response),
        "3c3c1ff24164fbd469ec751fcfe18f6e6d6421e0ee1bcee7053f16ba810f3ace"
    );
    for (verdict, decision) in [
        (
            Verdict::Keep,
            "01e26fae2f5a1fd49ee5d589c9dce1b356da8674d214ba0a9e858fa1485e9c6830",
        ),
        (
            Verdict::Yield,
            "020b3c1a7898c007e18dc7f837cdc1eb4172f182effc347a4c81d2b4b5bc690a85",
        ),
        (
            Verdict::Stale,
            "03c03705c61ff34857090da950e1151b15af5b698498f11aa768df64256cbac321",
        ),
    ] {
        assert_eq!(hex(&record(verdict).decision), decision);
    }
}

/// Every way to cut what each side receives into two pieces, with bytes of the next layer behind
/// it, which stay where they are.
#[test]
fn a_stream_may_be_cut_anywhere() {
    const NEXT: &[u8] = b"first packet";
    let kept = record(Verdict::Keep);
    let to_answerer = [&kept.hello[..], &kept.response, NEXT].concat();
    for cut in 0..=to_answerer.len() {
        let mut answerer = answerer();
        let (progress, sent, taken) = feed(&to_answerer, cut, |bytes| answerer.handle(bytes));
        assert_eq!(progress, Progress::Proven { peer: DIALLER }, "cut at {cut}");
        assert_eq!(sent, kept.challenge, "cut at {cut}");
        assert_eq!(taken, HELLO_BYTES + RESPONSE_BYTES, "cut at {cut}");
    }
    let to_dialler = [&kept.challenge[..], &kept.decision, NEXT].concat();
    for cut in 0..=to_dialler.len() {
        let (mut dialler, _) = dialler();
        let (progress, sent, taken) = feed(&to_dialler, cut, |bytes| dialler.handle(bytes));
        assert_eq!(progress, Progress::Done(Verdict::Keep), "cut at {cut}");
        assert_eq!(sent, kept.response, "cut at {cut}");
        assert_eq!(taken, CHALLENGE_BYTES + DECISION_BYTES, "cut at {cut}");
    }
}

/// Hands over the stream in two pieces, as the owner does: what is not consumed is not handed over
/// again once it has ended.
fn feed(
    stream: &[u8],
    cut: usize,
    mut handle: impl FnMut(&[u8]) -> Step,
) -> (Progress, Vec<u8>, usize) {
    let (mut sent, mut taken) = (Vec::new(), 0);
    for piece in [&stream[..cut], &stream[cut..]] {
        let step = handle(piece);
        sent.extend_from_slice(&step.send);
        taken += step.consumed;
        if step.progress != Progress::More {
            return (step.progress, sent, taken);
        }
        assert_eq!(step.consumed, piece.len(), "More means that all was taken");
    }
    (Progress::More, sent, taken)
}

#[test]
fn byte_by_byte() {
    let kept = record(Verdict::Yield);
    let mut answerer = answerer();
    let stream = [&kept.hello[..], &kept.response].concat();
    for (index, byte) in stream.iter().enumerate() {
        let step = answerer.handle(&[*byte]);
        let last = index + 1 == stream.len();
        assert_eq!(step.progress == Progress::More, !last, "byte {index}");
        assert_eq!(
            step.send.is_empty(),
            index + 1 != HELLO_BYTES,
            "byte {index}"
        );
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let kept = record(Verdict::Keep);
    for bit in 0..8 * HELLO_BYTES {
        let mut answerer = answerer();
        let first = answerer.handle(&flipped(&kept.hello, bit));
        if is_refused(&first) {
            continue;
        }
        // The dialler sees that its words were changed, and would an answer follow, the answerer
        // sees it as well.
        let (mut dialler, _) = dialler();
        assert!(
            is_refused(&dialler.handle(&first.send)),
            "bit {bit} of the hello"
        );
        assert!(
            is_refused(&answerer.handle(&kept.response)),
            "bit {bit} of the hello"
        );
    }
    for bit in 0..8 * CHALLENGE_BYTES {
        let (mut dialler, _) = dialler();
        assert!(
            is_refused(&dialler.handle(&flipped(&kept.challenge, bit))),
            "bit {bit} of the challenge"
        );
    }
    for bit in 0..8 * RESPONSE_BYTES {
        let mut answerer = answerer();
        answerer.handle(&kept.hello);
        assert!(
            is_refused(&answerer.handle(&flipped(&kept.response, bit))),
            "bit {bit} of the response"
        );
    }
    for bit in 0..8 * DECISION_BYTES {
        let (mut dialler, _) = dialler();
        dialler.handle(&kept.challenge);
        assert!(
            is_refused(&dialler.handle(&flipped(&kept.decision, bit))),
            "bit {bit} of the decision"
        );
    }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

#[test]
fn a_recording_is_worth_nothing_later() {
    let kept = record(Verdict::Keep);
    let mut later = Answerer::new(&key(), ANSWERER, nonce(0x60));
    assert_eq!(later.handle(&kept.hello).progress, Progress::More);
    assert_eq!(
        later.handle(&kept.response).progress,
        Progress::Refused(Refusal::OtherKey)
    );
    let (mut later, _) = Dialler::new(&key(), DIALLER, ANSWERER, nonce(0x70));
    assert_eq!(
        later.handle(&kept.challenge).progress,
        Progress::Refused(Refusal::OtherKey)
    );
    // A decision of another conversation, or another verdict of this one under the same proof.
    let (mut dialler, _) = dialler();
    dialler.handle(&kept.challenge);
    let mut forged = record(Verdict::Yield).decision;
    forged[0] = Verdict::Keep.code();
    assert!(is_refused(&dialler.handle(&forged)));
}

/// An attacker without the key lets the dialler's own process answer its questions.
#[test]
fn what_a_process_says_does_not_convince_it() {
    let kept = record(Verdict::Keep);
    // The dialler's hello comes back as a challenge: shorter than one, and padded with whatever is
    // at hand.
    let (mut mirror, hello) = dialler();
    let echo = [&hello[..], &kept.response].concat();
    assert!(is_refused(&mirror.handle(&echo[..CHALLENGE_BYTES])));
    // The answerer's own proof comes back as the dialler's.
    let mut mirror = answerer();
    let challenge = mirror.handle(&kept.hello).send;
    assert!(is_refused(
        &mirror.handle(&challenge[CHALLENGE_BYTES - RESPONSE_BYTES..])
    ));
    // The dialler's proof comes back as a decision.
    let (mut mirror, _) = dialler();
    let response = mirror.handle(&kept.challenge).send;
    let decision = [&[Verdict::Keep.code()], &response[..]].concat();
    assert!(is_refused(&mirror.handle(&decision)));
    // The hello goes to the listener of the very process that dialled, whose challenge is genuine,
    // but names its rank.
    let (mut mirror, hello) = dialler();
    let mut own_listener = Answerer::new(&key(), DIALLER, nonce(0x40));
    let challenge = own_listener.handle(&hello).send;
    assert_eq!(
        mirror.handle(&challenge).progress,
        Progress::Refused(Refusal::WrongRank {
            meant: ANSWERER,
            reached: DIALLER
        })
    );
}

#[test]
fn another_job_is_refused_by_both() {
    let other = JobKey::from_bytes([9; 16]);
    let (mut dialler, hello) = Dialler::new(&other, DIALLER, ANSWERER, nonce(0x10));
    let mut answerer = answerer();
    let challenge = answerer.handle(&hello).send;
    assert_eq!(
        dialler.handle(&challenge).progress,
        Progress::Refused(Refusal::OtherKey)
    );
    // A dialler that does not care what the answerer proves still has nothing to show.
    let mut careless = Answerer::new(&other, ANSWERER, nonce(0x20));
    let (mut obliging, _) = Dialler::new(&other, DIALLER, ANSWERER, nonce(0x10));
    let response = obliging.handle(&careless.handle(&hello).send).send;
    assert_eq!(
        answerer.handle(&response).progress,
        Progress::Refused(Refusal::OtherKey)
    );
}

#[test]
fn ranks_are_what_they_were_meant_to_be() {
    // A dialler that ignores whom it has reached is refused by the answerer.
    let (_, hello) = dialler();
    let mut third = Answerer::new(&key(), 7, nonce(0x20));
    let challenge = third.handle(&hello).send;
    let (mut honest, _) = dialler();
    assert_eq!(
        honest.handle(&challenge).progress,
        Progress::Refused(Refusal::WrongRank {
            meant: ANSWERER,
            reached: 7
        })
    );
    let response = message::response(
        &key(),
        &message::Hello(hello[..].try_into().unwrap()),
        &message::Challenge(challenge[..].try_into().unwrap()),
    );
    assert_eq!(
        third.handle(&response).progress,
        Progress::Refused(Refusal::WrongRank {
            meant: ANSWERER,
            reached: 7
        })
    );
    // Two processes with one rank.
    let hello = message::Hello::new(&nonce(0x10), ANSWERER, ANSWERER, false);
    let mut answerer = answerer();
    let challenge = answerer.handle(&hello.0).send;
    let challenge = message::Challenge(challenge[..].try_into().unwrap());
    assert_eq!(
        answerer
            .handle(&message::response(&key(), &hello, &challenge))
            .progress,
        Progress::Refused(Refusal::SameRank { rank: ANSWERER })
    );
}

/// Texts that people see in messages about refused connections.
#[test]
fn strangers_and_other_versions_are_told_apart() {
    let refusal = |step: Step| match step.progress {
        Progress::Refused(refusal) => refusal.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal(answerer().handle(b"GET / HTTP/1.1\r\n")),
        r#"not a process of OxMPI: it says "GET / HT""#
    );
    // The first wrong byte is enough; nobody waits for more of it.
    assert_eq!(
        refusal(answerer().handle(b"\x16")),
        r#"not a process of OxMPI: it says "\x16""#
    );
    assert_eq!(
        refusal(dialler().0.handle(b"SSH-2.0-OpenSSH_10.0\r\n")),
        r#"not a process of OxMPI: it says "SSH-2.0-""#
    );
    let text = "it speaks version 9 of the connection protocol and this process version 1: install the same OxMPI on all hosts";
    let mut step = answerer().handle(b"\xd6OxMPI\n\x09");
    assert_eq!(&step.send[..], message::opening(false));
    step.send = Message::NOTHING;
    assert_eq!(refusal(step), text);
    // What a version 9 answerer would send back.
    assert_eq!(refusal(dialler().0.handle(b"\xd6OxMPI\n\x09")), text);
}

#[test]
fn of_two_dials_exactly_one_wins() {
    for (a, b) in [(0, 1), (7, 3), (0, u32::MAX)] {
        assert_ne!(dial_wins(a, b), dial_wins(b, a), "{a} {b}");
    }
    assert!(dial_wins(2, 5));
}

/// A decision that only the answerer of another version could have made.
#[test]
fn an_unknown_verdict_is_refused() {
    let kept = record(Verdict::Keep);
    let (mut dialler, hello) = dialler();
    dialler.handle(&kept.challenge);
    let decision = message::decision(
        &key(),
        &message::Hello(hello[..].try_into().unwrap()),
        &message::Challenge(kept.challenge[..].try_into().unwrap()),
        77,
    );
    assert_eq!(
        dialler.handle(&decision).progress,
        Progress::Refused(Refusal::Verdict { code: 77 })
    );
}

proptest! {
    /// Bytes from nobody in particular are refused, or not enough; and no more is taken than a
    /// handshake is long.
    #[test]
    fn arbitrary_bytes_prove_nothing(
        opens_well: bool,
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cuts in proptest::collection::vec(1usize..40, 0..12),
    ) {
        if opens_well {
            bytes.splice(0..0, message::opening(false));
        }
        let mut answerer = answerer();
        prop_assert!(stays_unproven(&bytes, &cuts, |piece| answerer.handle(piece)));
        let (mut dialler, _) = dialler();
        prop_assert!(stays_unproven(&bytes, &cuts, |piece| dialler.handle(piece)));
    }
}

fn stays_unproven(bytes: &[u8], cuts: &[usize], mut handle: impl FnMut(&[u8]) -> Step) -> bool {
    let mut rest = bytes;
    let mut cuts = cuts.iter();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(*cuts.next().unwrap_or(&rest.len()).min(&rest.len()));
        match handle(piece).progress {
            Progress::More => rest = behind,
            Progress::Refused(_) => return true,
            Progress::Proven { .. } | Progress::Done(_) => return false,
        }
    }
    bytes.len() < CHALLENGE_BYTES + DECISION_BYTES
}

#[test]
fn both_encrypt_or_neither() {
    let dial =
        |encrypted| Dialler::with_encryption(&key(), DIALLER, ANSWERER, nonce(0x10), encrypted);
    for theirs in [false, true] {
        let (mut dialler, hello) = dial(theirs);
        let step = answerer().with_encryption(!theirs).handle(&hello);
        assert_eq!(
            step.progress,
            Progress::Refused(Refusal::Encryption { theirs })
        );
        // The dialler learns it, too.
        let step = dialler.handle(&step.send);
        let theirs = !theirs;
        assert_eq!(
            step.progress,
            Progress::Refused(Refusal::Encryption { theirs })
        );
    }
    // Somebody on the way makes both believe that the other does not encrypt: neither proof is
    // right then.
    let (mut dialler, hello) = dial(true);
    let mut altered = hello.to_vec();
    altered[7] ^= message::SEALED;
    let challenge = answerer().handle(&altered);
    assert!(is_refused(&dialler.handle(&challenge.send)));
    let mut challenge = challenge.send.to_vec();
    challenge[7] ^= message::SEALED;
    let (mut dialler, _) = dial(true);
    assert_eq!(
        dialler.handle(&challenge).progress,
        Progress::Refused(Refusal::OtherKey)
    );
}

/// Keys are those of the direction and of the connection.
#[test]
fn both_ends_derive_the_same_keys() {
    let meet = |first| {
        let (mut dialler, hello) =
            Dialler::with_encryption(&key(), DIALLER, ANSWERER, nonce(0x10), true);
        let mut answerer = Answerer::new(&key(), ANSWERER, nonce(first)).with_encryption(true);
        let challenge = answerer.handle(&hello);
        let response = dialler.handle(&challenge.send);
        answerer.handle(&response.send);
        let keys = answerer.seal_keys().unwrap();
        dialler.handle(&answerer.verdict(Verdict::Keep));
        (dialler.seal_keys().unwrap(), keys)
    };
    let ((dialler, answerer), (_, later)) = (meet(0x20), meet(0x21));
    assert_eq!(dialler.out, answerer.into);
    assert_eq!(dialler.into, answerer.out);
    assert_ne!(dialler.out, dialler.into);
    assert_ne!(dialler.out, later.into);
}
