//! Properties over arbitrary bytes: no frame makes a link panic, and with checksums no damage gets
//! through.

mod pair;

use oxmpi_link::{Config, Link, Recovery};
use oxmpi_wire::frame::FRAME_HEADER_BYTES;
use pair::{Number, gather, mirrored};
use proptest::prelude::*;

fn config(recovery: Recovery, checked: bool) -> Config {
    Config {
        recovery,
        checked,
        payload_bytes_max: 100,
        window_frames_max: 8,
        channel_in: 3,
        channel_out: 4,
        ..Config::new(0, 1)
    }
}

fn recoveries() -> impl Strategy<Value = Recovery> {
    prop_oneof![Just(Recovery::GoBackN), Just(Recovery::Selective)]
}

/// A link that has said something, so that acknowledgements can mean something.
fn talking(recovery: Recovery, checked: bool) -> Link<Number> {
    let mut link = Link::new(config(recovery, checked), 0);
    link.send(0, 0, 300);
    while link.poll_transmit(0).is_some() {}
    link
}

/// Bytes that come far: right version, nodes and channel, and numbers near the expected ones.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let numbers = (0u32..12, 0u32..6, any::<bool>());
    let pieces = prop::collection::vec((0u8..30, 0u8..4), 0..5);
    let noise = prop::collection::vec(any::<u8>(), 0..12);
    (0u8..9, 0u16..16, numbers, pieces, noise).prop_map(
        |(kind, flags, (sequence, ack, data), pieces, noise)| {
            let mut payload = Vec::new();
            for (bytes, flags) in pieces {
                payload.extend([bytes, 0, flags, 0]);
                payload.resize(payload.len() + usize::from(bytes), 7);
            }
            payload.extend(noise);
            let kind = if data { 1 } else { kind };
            let mut bytes = vec![2, kind, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0];
            bytes.extend((payload.len() as u16).to_le_bytes());
            bytes.extend((flags & !1).to_le_bytes());
            let sequence = if kind == 1 { sequence } else { 0 };
            bytes.extend(sequence.to_le_bytes());
            bytes.extend(ack.to_le_bytes());
            bytes.extend([0; 16]);
            bytes.extend(payload);
            bytes
        },
    )
}

/// Gives frames to a link and does everything a caller would; says how many deliveries there were.
fn feed(link: &mut Link<Number>, frames: &[Vec<u8>]) -> usize {
    let mut deliveries = 0;
    let mut now = 0;
    let mut within = false;
    for frame in frames {
        now += 1000;
        let _ = link.handle_frame(now, frame, 0);
        while let Some(delivered) = link.poll_delivered() {
            assert_eq!(delivered.first, !within, "messages begin once and end once");
            within = !delivered.last;
            let _ = link.bytes(&delivered, frame);
            deliveries += 1;
        }
        while let Some(transmit) = link.poll_transmit(now) {
            let _ = gather(link, &transmit);
        }
        while link.poll_released().is_some() {}
        if let Some(at) = link.poll_timeout().filter(|&at| at <= now) {
            link.handle_timeout(at);
        }
    }
    deliveries
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_never_deliver(
        recovery in recoveries(),
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..20),
    ) {
        let mut link = talking(recovery, false);
        prop_assert_eq!(feed(&mut link, &frames), 0);
        prop_assert_eq!(link.counters().refused(), frames.len() as u64);
    }

    /// Even who can prove a frame can only say nonsense, not break anything.
    #[test]
    fn nonsense_of_the_peer_never_panics(
        recovery in recoveries(),
        frames in prop::collection::vec(plausible(), 1..60),
    ) {
        let mut link = talking(recovery, false);
        feed(&mut link, &frames);
    }

    /// CRC32C finds every error of up to 32 bits in a row, and every one of one to three bits in
    /// frames of this length.
    #[test]
    fn checksums_find_flipped_bits(
        recovery in recoveries(),
        bytes in 0usize..90,
        flips in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let here = config(recovery, true);
        let mut there: Link<Number> = Link::new(mirrored(&here), 0);
        let mut here: Link<Number> = Link::new(here, 0);
        there.send(0, 0, bytes);
        let transmit = there.poll_transmit(0).expect("data");
        let good = gather(&there, &transmit);
        prop_assert_eq!(good.len(), FRAME_HEADER_BYTES + 4 + bytes);
        let mut bad = good.clone();
        for flip in flips {
            let bit = flip.index(bad.len() * 8);
            // Number and proof are the session's to check, and come after the checksum.
            let byte = match bit / 8 {
                byte @ (24..28 | 32..40) => byte - 24,
                byte => byte,
            };
            bad[byte] ^= 1 << (bit % 8);
        }
        if bad != good {
            prop_assert!(here.handle_frame(0, &bad, 0).is_err());
            prop_assert_eq!(here.poll_delivered(), None);
        }
        prop_assert!(here.handle_frame(0, &good, 0).is_ok());
        prop_assert!(here.poll_delivered().is_some());
    }
}
