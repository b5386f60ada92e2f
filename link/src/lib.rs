//! The PM protocol between two nodes: reliable, ordered, flow-controlled messages of any size over
//! frames that may be lost, doubled, reordered or damaged.
//!
//! This layer uses `wire` for the frame and an allocator for its queues. It does no I/O, knows no
//! clock, never calls back and contains no unsafe code: time and frames come in as arguments,
//! actions are polled. The library, the simulator and a kernel module run the same code. The model
//! is PM/Ethernet; its parts by name:
//! - *go-back-N*: a window of frames on their way, cumulative acknowledgements, on a loss
//!   everything from the lost frame on is sent again (`send.rs`). For networks that lose or reorder
//!   there is selective repeat (`kept.rs`), and the window obeys congestion (`congestion.rs`);
//! - *ACK*: piggybacked on data, delayed, sent at once when the sender's window closes; *LOSE*: a
//!   frame is missing, said once per gap (`ack.rs`);
//! - *STOP* and *GO*: the receiver's buffers passed the high or the low mark; a probe, so that a
//!   lost GO cannot stall (`flow.rs`);
//! - time-outs by measured round trips, with back-off (`rtt.rs`, `timer.rs`).
//!
//! - proofs: a [`Session`] beside each link numbers and signs what leaves and verifies what
//!   arrives, so that nobody else can speak for an end of the conversation (`session.rs`,
//!   `replay.rs`).
//!
//! What it promises: every message arrives once, whole and in order, or [`Link::is_dead`] becomes
//! true; a frame that was forged, altered in its header or repeated is told from others by its
//! session and changes nothing; queues and kept frames are bounded by [`Config`] and sized when the
//! link is made: nothing is allocated later, so a kernel may run it where allocations can fail.
//!
//! ```
//! use oxmpi_link::{Config, FrameKey, Link, Session};
//! use oxmpi_wire::frame::FRAME_HEADER_BYTES;
//!
//! let mut here: Link<&[u8]> = Link::new(Config::new(0, 1), 0);
//! let mut there: Link<&[u8]> = Link::new(Config::new(1, 0), 0);
//! // One key for each direction, which nobody else knows.
//! let (one, other) = (FrameKey::new([1; 16]), FrameKey::new([2; 16]));
//! let mut session_here = Session::new(one, other);
//! let mut session_there = Session::new(other, one);
//! here.send(0, b"hello", 5);
//!
//! // What an endpoint does with a frame that is to leave: header, then a piece header and bytes for each piece.
//! let transmit = here.poll_transmit(0).unwrap();
//! let mut frame = vec![0; FRAME_HEADER_BYTES];
//! transmit.frame.emit(frame.first_chunk_mut().unwrap());
//! for piece in here.pieces(&transmit) {
//!     frame.extend(piece.header().emit());
//!     frame.extend(&piece.message[piece.offset..piece.offset + piece.bytes]);
//! }
//! session_here.sign(frame.first_chunk_mut().unwrap());
//!
//! // And with one that has arrived.
//! session_there.verify(&frame).unwrap();
//! there.handle_frame(1000, &frame, 0).unwrap();
//! let delivered = there.poll_delivered().unwrap();
//! assert!(delivered.first && delivered.last);
//! assert_eq!(there.bytes(&delivered, &frame), b"hello");
//! assert!(session_there.verify(&frame).is_err(), "a frame is taken once");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod ack;
mod arrive;
mod config;
mod congestion;
mod counters;
mod crc;
mod flow;
mod frame_key;
mod kept;
mod link;
mod piece;
mod receive;
mod refusal;
mod replay;
mod rtt;
mod send;
mod session;
mod stream;
mod timer;
mod transmit;

pub use arrive::Handled;
pub use config::{
    ACK_FRAMES_MAX, ASK_FRAMES_MIN, Config, REORDER_FRAMES, Recovery, START_BYTES_MIN,
    WINDOW_FRAMES_MAX,
};
pub use counters::Counters;
pub use crc::Checksum;
pub use frame_key::{FRAME_KEY_BYTES, FrameKey};
pub use link::Link;
pub use piece::Piece;
pub use receive::{Arrival, Delivered, Place};
pub use refusal::Refusal;
pub use replay::REPLAY_WINDOW;
pub use session::{Forgery, Session};
pub use transmit::{Middles, Transmit};
