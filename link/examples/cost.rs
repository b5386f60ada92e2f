//! What the protocol costs per frame, without any device: `cargo run --release -p oxmpi-link
//! --example cost`.
//!
//! Two links in one thread hand each other frames. Figures are medians over many small batches, in
//! nanoseconds.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_link::{Config, Link, Recovery};
use oxmpi_wire::frame::FRAME_HEADER_BYTES;

const TIMES: u32 = 200_000;
const ABREAST: usize = 10;

fn main() {
    println!(
        "a link takes {} bytes and its queues",
        size_of::<Link<u32>>()
    );
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        for congestion in [false, true] {
            println!("{recovery:?}, congestion {congestion}");
            let [send, handle] = ping_pong(recovery, congestion);
            println!("  lone message of 8 bytes: send, poll_transmit, header {send:6.1} ns");
            println!("  the frame that carries it: handle_frame, deliver     {handle:6.1} ns");
            let [transmit, handle, ack] = stream(recovery, congestion);
            println!("  stream, per frame: poll_transmit, header             {transmit:6.1} ns");
            println!("  stream, per frame: handle_frame, deliver             {handle:6.1} ns");
            println!("  stream, per frame: its share of acknowledgements     {ack:6.1} ns");
        }
    }
}

fn pair(recovery: Recovery, congestion: bool) -> [Link<u32>; 2] {
    let config = Config {
        recovery,
        congestion,
        ..Config::new(0, 1)
    };
    let mirrored = Config {
        me: 1,
        peer: 0,
        name_out: 1,
        name_in: 0,
        ..config.clone()
    };
    [Link::new(config, 0), Link::new(mirrored, 0)]
}

/// The next frame of a link as bytes, payload untouched; how long it is.
#[inline]
fn next_frame(link: &mut Link<u32>, now: u64, frame: &mut [u8]) -> Option<usize> {
    let transmit = link.poll_transmit(now)?;
    let (header, payload) = frame.split_first_chunk_mut().expect("room for a header");
    transmit.frame.emit(header);
    let mut at = 0;
    for piece in link.pieces(&transmit) {
        payload[at..at + 4].copy_from_slice(&piece.header().emit());
        at += 4 + piece.bytes;
    }
    Some(FRAME_HEADER_BYTES + usize::from(transmit.frame.length))
}

/// A message back and forth: acknowledgements ride on the answers.
fn ping_pong(recovery: Recovery, congestion: bool) -> [f64; 2] {
    let ends = pair(recovery, congestion);
    let mut frames = [[0; 64]; ABREAST];
    let mut figures: [Vec<f64>; 2] = Default::default();
    let mut now = 0;
    // Reading the clock costs as much as what is measured, so some conversations run abreast, few
    // enough to stay in the cache.
    let mut abreast: Vec<[Link<u32>; 2]> = (0..ABREAST).map(|_| ends.clone()).collect();
    for turn in 0..TIMES / ABREAST as u32 {
        let (here, there) = (turn as usize % 2, 1 - turn as usize % 2);
        now += 2000;
        let start = Instant::now();
        for (ends, frame) in abreast.iter_mut().zip(&mut frames) {
            ends[here].send(now, black_box(7), 8);
            let length = next_frame(&mut ends[here], now, frame);
            assert_eq!(length, Some(FRAME_HEADER_BYTES + 12));
        }
        figures[0].push(start.elapsed().as_secs_f64() * 1e9 / ABREAST as f64);
        let start = Instant::now();
        for (ends, frame) in abreast.iter_mut().zip(&frames) {
            let frame = &frame[..FRAME_HEADER_BYTES + 12];
            let handled = ends[there].handle_frame(now + 1000, black_box(frame), 0);
            assert!(handled.is_ok());
            while let Some(delivered) = ends[there].poll_delivered() {
                black_box(ends[there].bytes(&delivered, frame));
            }
            while let Some(message) = ends[there].poll_released() {
                black_box(message);
            }
        }
        figures[1].push(start.elapsed().as_secs_f64() * 1e9 / ABREAST as f64);
    }
    figures.map(median)
}

/// One long message after the other, in windows.
fn stream(recovery: Recovery, congestion: bool) -> [f64; 3] {
    let [mut here, mut there] = pair(recovery, congestion);
    // A window, and the place at which it turns out to be over.
    let mut frames = vec![[0; 1500]; 257];
    let mut lengths = [0; 257];
    let mut figures: [Vec<f64>; 3] = Default::default();
    let mut now = 0;
    let mut sent = 0;
    while sent < TIMES {
        while here.can_send() {
            here.send(now, 7, 1 << 20);
        }
        now += 20_000;
        let start = Instant::now();
        let mut count = 0;
        while let Some(length) = next_frame(&mut here, now, &mut frames[count]) {
            lengths[count] = length;
            count += 1;
        }
        figures[0].push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
        let mut answers = Vec::new();
        let start = Instant::now();
        for (frame, &length) in frames[..count].iter().zip(&lengths) {
            let frame = &frame[..length];
            assert!(there.handle_frame(now, black_box(frame), 0).is_ok());
            while let Some(delivered) = there.poll_delivered() {
                black_box(there.bytes(&delivered, frame));
            }
            if there.wants_transmit(now) {
                let mut answer = [0; 200];
                let length = next_frame(&mut there, now, &mut answer).expect("wanted");
                answers.push((answer, length));
            }
        }
        figures[1].push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
        let start = Instant::now();
        for (answer, length) in &answers {
            assert!(
                here.handle_frame(now + 10_000, &answer[..*length], 0)
                    .is_ok()
            );
            while let Some(message) = here.poll_released() {
                black_box(message);
            }
        }
        figures[2].push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
        sent += count as u32;
    }
    figures.map(median)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
