//! How a link behaves towards callers that do things late, or wrongly.

mod pair;

use oxmpi_link::{Config, Link, Recovery, Refusal};
use oxmpi_wire::frame::{Frame, Kind, flag};
use pair::{Inbox, Number, gather, mirrored};

fn two(config: Config) -> [Link<Number>; 2] {
    let other = mirrored(&config);
    [Link::new(config, 0), Link::new(other, 0)]
}

/// A time-out whose repeat has not left yet turns out to have been too early: the frames on their
/// way still have a timer.
#[test]
fn a_late_caller_does_not_stall_the_link() {
    let config = Config {
        recovery: Recovery::Selective,
        window_frames_max: 3,
        payload_bytes_max: 100,
        ..Config::new(0, 1)
    };
    let [mut here, mut there] = two(config);
    here.send(0, 0, 288);
    let mut frames = Vec::new();
    while let Some(transmit) = here.poll_transmit(0) {
        frames.push(gather(&here, &transmit));
    }
    // Frame 0 is lost, and nobody transmits after the time-out.
    here.handle_timeout(here.poll_timeout().expect("frames are on their way"));
    there.handle_frame(20_000_000, &frames[1], 0).unwrap();
    let answer = there.poll_transmit(20_000_000).expect("a bitmap");
    let answer = gather(&there, &answer);
    here.handle_frame(20_000_001, &answer, 0).unwrap();
    assert!(here.wants_transmit(20_000_001) || here.poll_timeout().is_some());
    let at = here.poll_timeout().expect("a timer");
    here.handle_timeout(at);
    let repeat = here.poll_transmit(at).expect("a repeat");
    assert!(repeat.repeat && repeat.frame.sequence == 0);
}

/// What was delivered may lie in the frame: it has to be taken before another frame comes.
#[test]
#[should_panic(expected = "call poll_delivered until None")]
fn deliveries_have_to_be_taken() {
    let [mut here, mut there] = two(Config::new(0, 1));
    here.send(0, 0, 8);
    let transmit = here.poll_transmit(0).expect("data");
    let frame = gather(&here, &transmit);
    there.handle_frame(0, &frame, 0).unwrap();
    let _ = there.handle_frame(0, &frame, 0);
}

#[test]
#[should_panic(expected = "the queue of 2 messages is full")]
fn the_queue_is_bounded() {
    let config = Config {
        messages_max: 2,
        ..Config::new(0, 1)
    };
    let [mut here, _] = two(config);
    for number in 0..3 {
        here.send(0, number, 8);
    }
}

/// A message's memory is the link's until the peer has all of it, and not a moment longer.
#[test]
fn memory_is_given_back_in_order_and_only_when_it_is_there() {
    let config = Config {
        payload_bytes_max: 100,
        ..Config::new(0, 1)
    };
    let [mut here, mut there] = two(config);
    let mut inbox = Inbox::default();
    here.send(0, 0, 150);
    here.send(0, 1, 20);
    let mut frames = Vec::new();
    while let Some(transmit) = here.poll_transmit(0) {
        frames.push(gather(&here, &transmit));
    }
    assert_eq!(
        frames.len(),
        2,
        "the end of the first and the second share one"
    );
    for (index, frame) in frames.iter().enumerate() {
        there.handle_frame(1, frame, 0).unwrap();
        inbox.drain(&mut there, frame);
        there.force_ack();
        let ack = there.poll_transmit(1).expect("an acknowledgement");
        let ack = gather(&there, &ack);
        here.handle_frame(2, &ack, 0).unwrap();
        let released: Vec<Number> = std::iter::from_fn(|| here.poll_released()).collect();
        assert_eq!(released, if index == 0 { vec![] } else { vec![0, 1] });
    }
    assert_eq!(inbox.whole, [150, 20]);
}

#[test]
fn refusals_say_what_was_wrong() {
    let mut link: Link<Number> = Link::new(Config::new(0, 1), 0);
    let frame = Frame {
        kind: Kind::Ack,
        channel: 0,
        to: 0,
        name: 1,
        length: 0,
        flags: 0,
        sequence: 0,
        ack: 0,
        serial: 0,
        crc: 0,
        tag: 0,
    };
    let mut refused = |frame: Frame| -> (Refusal, String) {
        let trailer = if frame.has(flag::SEALED) { 16 } else { 0 };
        let mut bytes = vec![0; 40 + trailer];
        frame.emit(bytes.first_chunk_mut().expect("room for a header"));
        let refusal = link.handle_frame(0, &bytes, 0).expect_err("refused");
        (refusal, refusal.to_string())
    };
    let (_, text) = refused(Frame { name: 7, ..frame });
    assert_eq!(
        text,
        "frame from node 7 to node 0 does not belong to this link"
    );
    let (refusal, text) = refused(Frame {
        flags: flag::SEALED,
        ..frame
    });
    assert_eq!(refusal, Refusal::Seal { found: true });
    assert_eq!(text, "frame is encrypted, which no frame on this link is");
    let (_, text) = refused(Frame {
        channel: 7,
        ..frame
    });
    assert_eq!(text, "frame is for channel 7, this is channel 0");
    let (_, text) = refused(Frame { ack: 7, ..frame });
    assert_eq!(
        text,
        "frame acknowledges up to 7, but the next frame to be sent is 0"
    );
    assert_eq!(link.counters().refused(), 4);
    assert_eq!(link.counters().refused_checksum, 1);
}
