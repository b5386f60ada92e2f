//! What holds for every sequence of bytes, one function per parser. The tests of this crate and the
//! fuzzer (`fuzz/targets`) call the same.
#![allow(dead_code, reason = "each user calls its part")]

use oxmpi_wire::frame::{
    FRAME_HEADER_BYTES, Frame, PIECE_HEADER_BYTES, PieceHeader, SEAL_BYTES, is_sealed,
};
use oxmpi_wire::stream::{self, HEAD_MAX, LENGTH_BYTES, Next, PAYLOAD_MAX};
use oxmpi_wire::{Eager, Kind, More, PREFIX_BYTES, Packet, Repr};

/// An accepted packet is emitted again as the same bytes, and a refusal has a text.
pub fn packet(bytes: &[u8]) {
    let packet = match Packet::new_checked(bytes) {
        Ok(packet) => packet,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let repr = Repr::parse(&packet);
    let mut again = vec![0; repr.bytes_on_wire()];
    repr.emit(&mut again);
    assert_eq!(again, bytes[..again.len()]);
    assert_eq!(packet.payload(), &bytes[again.len()..]);
    assert!(!repr.to_string().is_empty());
    let mut cell = [0xee; PREFIX_BYTES];
    cell[..again.len()].copy_from_slice(&again);
    assert_eq!(Repr::parse_prefix(&cell), Ok(repr));
    further(&cell, &repr);
}

/// The short way to read and write further packets of eager messages agrees with the general one.
fn further(cell: &[u8; PREFIX_BYTES], repr: &Repr) {
    let more = More::parse_prefix(cell);
    let Kind::More { offset } = repr.kind else {
        return assert_eq!(more, None);
    };
    let head = Eager {
        envelope: repr.envelope,
        sequence: repr.sequence,
        credit: repr.credit,
    };
    assert_eq!(more, Some(More { head, offset }));
    let mut again = [0xee; PREFIX_BYTES];
    let used = More { head, offset }.emit_prefix(&mut again);
    assert_eq!((used, &again), (More::BYTES_ON_WIRE, cell));
}

/// An accepted frame is emitted again as the same bytes, but for the seal behind its payload; so is the header of a piece.
pub fn frame(bytes: &[u8]) {
    match Frame::parse(bytes) {
        Ok((frame, payload)) => {
            let mut again = [0; FRAME_HEADER_BYTES];
            frame.emit(&mut again);
            assert_eq!(again, bytes[..FRAME_HEADER_BYTES]);
            let seal = usize::from(is_sealed(bytes)) * SEAL_BYTES;
            assert_eq!(payload, &bytes[FRAME_HEADER_BYTES..bytes.len() - seal]);
            assert!(!frame.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(piece) = PieceHeader::parse(bytes) {
        assert_eq!(piece.emit(), bytes[..PIECE_HEADER_BYTES]);
        assert!(bytes.len() >= PIECE_HEADER_BYTES + usize::from(piece.bytes));
    }
}

/// Whatever the front of a stream is, it is the same once enough of it is there: a reader that gets
/// the stream in pieces decides as one that gets it at once.
pub fn stream(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let next = stream::next(rest);
        let decided = (0..=rest.len().min(HEAD_MAX)).map(|cut| stream::next(&rest[..cut]));
        let early = decided.into_iter().find(|early| *early != Next::Incomplete);
        assert_eq!(early.unwrap_or(Next::Incomplete), next);
        let Next::Packet { head, payload } = next else {
            return;
        };
        assert!(head <= rest.len() && head <= HEAD_MAX && payload <= PAYLOAD_MAX);
        packet(&rest[LENGTH_BYTES..head]);
        match rest.get(head + payload..) {
            Some(after) => rest = after,
            None => return,
        }
    }
}
