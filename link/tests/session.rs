//! Frames that prove themselves: nothing but what the other side signed is taken, and that once.

mod pair;

use oxmpi_link::{Config, Forgery, FrameKey, Link, REPLAY_WINDOW, Session};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PROVEN_BYTES};
use pair::{Number, gather};
use proptest::prelude::*;

const ONE: FrameKey = FrameKey::new([1; 16]);
const OTHER: FrameKey = FrameKey::new([2; 16]);

fn two() -> [Session; 2] {
    [Session::new(ONE, OTHER), Session::new(OTHER, ONE)]
}

/// A frame of data, not signed yet.
fn frame() -> Vec<u8> {
    let mut link: Link<Number> = Link::new(Config::new(0, 1), 0);
    link.send(0, 0, 30);
    let transmit = link.poll_transmit(0).expect("data");
    gather(&link, &transmit)
}

fn sign(session: &mut Session, frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    session.sign(frame.first_chunk_mut().expect("a header"));
    frame
}

#[test]
fn what_is_signed_is_taken_once() {
    let [mut here, mut there] = two();
    let frame = frame();
    for serial in 0..5000 {
        let signed = sign(&mut here, &frame);
        assert_eq!(there.verify(&signed), Ok(serial));
        assert_eq!(there.verify(&signed), Err(Forgery::Replay { serial }));
        // Its own frames come back to nobody's good.
        assert_eq!(here.verify(&signed), Err(Forgery::Tag));
    }
}

#[test]
fn repeats_differ_and_every_number_has_its_own_proof() {
    let [mut here, mut there] = two();
    let frame = frame();
    let (first, second) = (sign(&mut here, &frame), sign(&mut here, &frame));
    assert_ne!(first[24..28], second[24..28], "a number of its own");
    assert_ne!(first[32..40], second[32..40], "a proof of its own");
    // The proof of one with the number of the other.
    let mut mixed = first.clone();
    mixed[24..28].copy_from_slice(&second[24..28]);
    assert_eq!(there.verify(&mixed), Err(Forgery::Tag));
    assert_eq!(there.verify(&second), Ok(1));
    assert_eq!(there.verify(&first), Ok(0), "overtaken on the way");
}

#[test]
fn strangers_are_told_from_the_peer() {
    let [mut here, mut there] = two();
    let mut stranger = Session::new(FrameKey::new([3; 16]), ONE);
    let signed = sign(&mut stranger, &frame());
    assert_eq!(there.verify(&signed), Err(Forgery::Tag));
    assert_eq!(there.verify(&signed[..39]), Err(Forgery::Short));
    assert_eq!(there.verify(&[]), Err(Forgery::Short));
    // None of it has moved the window.
    assert_eq!(there.verify(&sign(&mut here, &frame())), Ok(0));
}

#[test]
fn texts_and_secrets() {
    assert_eq!(
        Forgery::Tag.to_string(),
        "frame does not prove its sender: of a former job, altered on the way, or forged"
    );
    assert_eq!(
        Forgery::Replay { serial: 7 }.to_string(),
        "transmission 7 was here before, or is too late"
    );
    assert_eq!(
        Forgery::Short.to_string(),
        "frame is shorter than its header"
    );
    assert_eq!(format!("{ONE:?}"), "FrameKey(not shown)");
}

proptest! {
    #[test]
    fn no_altered_header_is_taken(bit in 0..FRAME_HEADER_BYTES * 8, earlier in 0u32..70) {
        let [mut here, mut there] = two();
        let frame = frame();
        for _ in 0..earlier {
            there.verify(&sign(&mut here, &frame)).expect("the peer's");
        }
        let good = sign(&mut here, &frame);
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(there.verify(&bad), Err(Forgery::Tag));
        prop_assert_eq!(there.verify(&good), Ok(u64::from(earlier)));
        prop_assert_eq!(PROVEN_BYTES + 8, FRAME_HEADER_BYTES);
    }

    #[test]
    fn arbitrary_bytes_prove_nothing(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let [_, mut there] = two();
        prop_assert!(there.verify(&bytes).is_err());
    }

    /// Whatever order frames arrive in, each that is not too late is taken once.
    #[test]
    fn frames_may_overtake(order in prop::collection::vec(0usize..300, 1..600)) {
        let [mut here, mut there] = two();
        let frame = frame();
        let frames: Vec<_> = (0..300).map(|_| sign(&mut here, &frame)).collect();
        let mut seen = [false; 300];
        prop_assert!(300 < REPLAY_WINDOW);
        for at in order {
            prop_assert_eq!(there.verify(&frames[at]).is_ok(), !seen[at]);
            seen[at] = true;
        }
    }
}
