//! The carrier PM for the shim: the functions `oxk_pm_…` that `kernel/oxk/shim/core.h` declares, the
//! card that both ends of a connection tell each other, and the keys that follow from it.
//!
//! Safety, for all functions: the shim passes a rail that `oxk_pm_new` gave and that `oxk_pm_free`
//! has not got yet, the number of a peer below that of the rail's peers, and holds the endpoint's
//! lock, so a reference made here is the only one. What results are written to is the shim's own.

use alloc::boxed::Box;
use core::ffi::c_int;

use oxmpi_handshake::JobKey;
use oxmpi_link::{FRAME_KEY_BYTES, FrameKey};
use oxmpi_oxk_core::pm::{
    Arrived, PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MIN, RUNS_MAX, Rail, Run, Wiring, name,
};
use oxmpi_oxk_core::{Endpoint, PeerToken, Token};

const ENOENT: c_int = 2;
const EBUSY: c_int = 16;
const EPROTO: c_int = 71;
const EBADMSG: c_int = 74;

/// Header and payload of the longest frame.
const FRAME_BYTES_MAX: usize = 9000;
const HEADER_BYTES: usize = 40;
const _: () = assert!(FRAME_BYTES_MAX == PAYLOAD_BYTES_MAX + HEADER_BYTES);

/// What a card begins with: which protocol, and which version of the card.
const MAGIC: [u8; 8] = *b"oxk PM 1";
const CARD_BYTES: usize = 48;
const SALT_BYTES: usize = 16;
type RawCard = [u8; CARD_BYTES];

/// What an end tells the other before frames are exchanged. On the stream, little endian: magic (8
/// bytes), hardware address (6), channel (2), the name it gives the other (4), longest payload of a
/// frame (4), salt (16), nothing (8).
#[derive(Clone, Copy)]
struct Card {
    mac: [u8; 6],
    channel: u16,
    name: u32,
    payload_bytes_max: u32,
    salt: [u8; SALT_BYTES],
}

impl Card {
    fn emit(&self) -> RawCard {
        let mut raw = [0; CARD_BYTES];
        raw[..8].copy_from_slice(&MAGIC);
        raw[8..14].copy_from_slice(&self.mac);
        raw[14..16].copy_from_slice(&self.channel.to_le_bytes());
        raw[16..20].copy_from_slice(&self.name.to_le_bytes());
        raw[20..24].copy_from_slice(&self.payload_bytes_max.to_le_bytes());
        raw[24..40].copy_from_slice(&self.salt);
        raw
    }

    fn parse(raw: &RawCard) -> Option<Card> {
        let card = Card {
            mac: *raw[8..].first_chunk()?,
            channel: u16::from_le_bytes(*raw[14..].first_chunk()?),
            name: u32::from_le_bytes(*raw[16..].first_chunk()?),
            payload_bytes_max: u32::from_le_bytes(*raw[20..].first_chunk()?),
            salt: *raw[24..].first_chunk()?,
        };
        // What is wrong in any byte is no card of this version.
        (card.emit() == *raw).then_some(card)
    }
}

/// The key of one direction. Both salts are in it, so who has drawn one of them afresh shares the
/// key with no earlier connection.
fn frame_key(key: &JobKey, from_dialler: bool, dialler: &Card, answerer: &Card) -> FrameKey {
    let proof = key.proof(&[
        b"oxk frame proof",
        &[u8::from(from_dialler)],
        &dialler.salt,
        &answerer.salt,
    ]);
    let first = proof.first_chunk::<FRAME_KEY_BYTES>();
    FrameKey::new(*first.expect("a proof has 32 bytes"))
}

/// `struct oxk_pm_run`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawRun {
    token: u64,
    offset: u64,
    at: u32,
    bytes: u32,
    packet: u32,
    reserved: u32,
}

/// `struct oxk_pm_frame`.
#[repr(C)]
pub struct RawFrame {
    bytes: u32,
    n_runs: u32,
    repeat: u32,
    reserved: u32,
    runs: [RawRun; RUNS_MAX],
}

const _: () = assert!(size_of::<RawFrame>() == 16 + 64 * 32);

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_bytes(peers: u32) -> u64 {
    Rail::bytes(peers) + size_of::<Rail>() as u64
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_new(peers: u32) -> *mut Rail {
    Box::into_raw(Box::new(Rail::new(peers)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_free(rail: *mut Rail) {
    // SAFETY: `oxk_pm_new` made it with Box, and nobody else knows it any more.
    drop(unsafe { Box::from_raw(rail) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_card(
    card: *mut u8,
    mac: *const u8,
    channel: u16,
    peer: u64,
    payload_bytes_max: u32,
    salt: *const u8,
) {
    // SAFETY: the shim passes an address, a salt, and room for a card.
    unsafe {
        let made = Card {
            mac: mac.cast::<[u8; 6]>().read(),
            channel,
            name: name(peer as u32, (peer >> 32) as u32),
            payload_bytes_max,
            salt: salt.cast::<[u8; SALT_BYTES]>().read(),
        };
        card.cast::<RawCard>().write(made.emit());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_begin(
    rail: *mut Rail,
    peer: u32,
    dialled: bool,
    key: *const u8,
    cards: *const RawCard,
    now: u64,
    mac: *mut u8,
) -> c_int {
    // SAFETY: the shim passes a key of 16 bytes and two cards, its own first.
    let (key, raw) = unsafe {
        (
            JobKey::from_bytes(key.cast::<[u8; 16]>().read()),
            cards.cast::<[RawCard; 2]>().read(),
        )
    };
    let (Some(mine), Some(theirs)) = (Card::parse(&raw[0]), Card::parse(&raw[1])) else {
        return -EPROTO;
    };
    let payload_bytes_max = mine.payload_bytes_max.min(theirs.payload_bytes_max) as usize;
    if !(PAYLOAD_BYTES_MIN..=PAYLOAD_BYTES_MAX).contains(&payload_bytes_max) {
        return -EPROTO;
    }
    let (dialler, answerer) = match dialled {
        true => (&mine, &theirs),
        false => (&theirs, &mine),
    };
    let wiring = Wiring {
        dialled,
        name_in: mine.name,
        name_out: theirs.name,
        channel_in: mine.channel,
        channel_out: theirs.channel,
        payload_bytes_max,
        key_out: frame_key(&key, dialled, dialler, answerer),
        key_in: frame_key(&key, !dialled, dialler, answerer),
    };
    // SAFETY: as at the top; room for an address.
    unsafe {
        (*rail).begin(peer, &wiring, now);
        mac.cast::<[u8; 6]>().write(theirs.mac);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_end(rail: *mut Rail, peer: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *rail }.end(peer);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_take(
    core: *mut Endpoint,
    rail: *mut Rail,
    peer: u64,
    packet: u32,
    now: u64,
    token: *mut u64,
) -> c_int {
    // SAFETY: as at the top; the endpoint is another object, and locked, too.
    let (core, rail) = unsafe { (&mut *core, &mut *rail) };
    if !rail.can_send(peer as u32) {
        return -ENOENT;
    }
    let Some(transmit) = core.poll_send(PeerToken(peer)) else {
        return -ENOENT;
    };
    rail.send(peer as u32, packet, transmit, now);
    let payload = transmit.payload.map_or(Token(0), |payload| payload.token);
    // SAFETY: as at the top.
    unsafe { token.write(payload.0) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_next_frame(
    rail: *mut Rail,
    peer: u32,
    now: u64,
    buffer: *mut u8,
    into: *mut RawFrame,
) -> c_int {
    // SAFETY: as at the top; the shim has room for the longest frame there.
    let (rail, buffer, into) = unsafe {
        (
            &mut *rail,
            &mut *buffer.cast::<[u8; FRAME_BYTES_MAX]>(),
            &mut *into,
        )
    };
    let mut n_runs = 0;
    let put = |run: Run| {
        into.runs[n_runs] = RawRun {
            token: run.token.0,
            offset: run.offset,
            at: run.at,
            bytes: run.bytes,
            packet: run.packet,
            reserved: 0,
        };
        n_runs += 1;
    };
    let Some(frame) = rail.poll_frame(peer, now, buffer, put) else {
        return -ENOENT;
    };
    into.bytes = frame.bytes as u32;
    into.n_runs = n_runs as u32;
    into.repeat = u32::from(frame.repeat);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_is_signed(rail: *mut Rail, header: *const u8) -> bool {
    // SAFETY: the shim has a header there, which nobody writes meanwhile.
    let header = unsafe { core::slice::from_raw_parts(header, HEADER_BYTES) };
    // SAFETY: as at the top.
    unsafe { &*rail }.is_signed(header)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_arrive(
    rail: *mut Rail,
    now: u64,
    data: *const u8,
    bytes: u32,
    peer: *mut u32,
) -> c_int {
    // SAFETY: the shim has so many bytes of a frame there, which nobody writes meanwhile.
    let data = unsafe { core::slice::from_raw_parts(data, bytes as usize) };
    // SAFETY: as at the top.
    let (from, what) = match unsafe { &mut *rail }.arrive(now, data) {
        Arrived::Taken { peer } => (peer, 0),
        Arrived::Held { peer } => (peer, -EBUSY),
        Arrived::Refused => return -EBADMSG,
    };
    // SAFETY: as at the top.
    unsafe { peer.write(from) };
    what
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_delivered(
    rail: *mut Rail,
    peer: u32,
    at: *mut u32,
    bytes: *mut u32,
) -> c_int {
    // SAFETY: as at the top.
    let Some(range) = unsafe { &mut *rail }.next_delivered(peer) else {
        return -ENOENT;
    };
    // SAFETY: as at the top.
    unsafe {
        at.write(range.start as u32);
        bytes.write(range.len() as u32);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_released(rail: *mut Rail, peer: u32, packet: *mut u32) -> c_int {
    // SAFETY: as at the top.
    let Some(place) = unsafe { &mut *rail }.next_released(peer) else {
        return -ENOENT;
    };
    // SAFETY: as at the top.
    unsafe { packet.write(place) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_hold(rail: *mut Rail, peer: u32, held: bool, now: u64) {
    // SAFETY: as at the top.
    unsafe { &mut *rail }.hold(peer, held, now);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_timeout(rail: *mut Rail, peer: u32) -> u64 {
    // SAFETY: as at the top.
    unsafe { &*rail }.poll_timeout(peer).unwrap_or(u64::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_expire(rail: *mut Rail, peer: u32, now: u64) -> bool {
    // SAFETY: as at the top.
    unsafe { &mut *rail }.handle_timeout(peer, now)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_pm_is_quiet(rail: *mut Rail, peer: u32) -> bool {
    // SAFETY: as at the top.
    unsafe { &*rail }.is_quiet(peer)
}
