//! The functions that `kernel/oxk/shim/core.h` declares: each calls one of the core and translates
//! what it answers. What they mean stands there.
//!
//! Safety, for all of them: the shim passes a pointer that `oxk_core_new` gave and that
//! `oxk_core_free` has not got yet, and holds the endpoint's lock, so a reference made here is the
//! only one. What results are written to is the shim's own.

use alloc::boxed::Box;
use core::ffi::c_int;

use oxmpi_oxk_core::{
    Bounds, CancelError, Endpoint, PeerError, PeerToken, RequestError, Seed, Step, Token, Verdict,
    VerdictError,
};

const ENOENT: c_int = 2;
const EAGAIN: c_int = 11;
const EBUSY: c_int = 16;
const EINVAL: c_int = 22;
const EMSGSIZE: c_int = 90;
const ENOTCONN: c_int = 107;
const ESHUTDOWN: c_int = 108;

/// `struct oxk_core_bounds`.
#[repr(C)]
pub struct RawBounds {
    requests: u32,
    peers: u32,
    eager_bytes: u32,
    handler: u32,
    unexpected_bytes: u64,
}

/// `struct oxk_core_step`.
#[repr(C)]
#[derive(Default)]
pub struct RawStep {
    what: u32,
    consumed: u32,
    token: u64,
    offset: u64,
    bits: u64,
    bytes: u64,
    offered: u32,
    reserved: u32,
}

/// `struct oxk_core_transmit`.
#[repr(C)]
pub struct RawTransmit {
    head: [u8; 60],
    head_bytes: u32,
    token: u64,
    offset: u64,
    bytes: u64,
}

/// `struct oxk_core_completion`.
#[repr(C)]
#[derive(Default)]
pub struct RawCompletion {
    token: u64,
    user: u64,
    bits: u64,
    bytes: u64,
    placed: u64,
    peer: u64,
    error: u32,
    reserved: u32,
}

/// `struct oxk_core_piece`.
#[repr(C)]
pub struct RawPiece {
    data: *const u8,
    offset: u64,
    bytes: u64,
}

const _: () = assert!(size_of::<RawBounds>() == 24 && size_of::<RawStep>() == 48);
const _: () = assert!(size_of::<RawTransmit>() == 88 && size_of::<RawCompletion>() == 56);
const _: () = assert!(size_of::<RawPiece>() == 24);

const DONE: u32 = 0;
const PLACE: u32 = 1;
const UNEXPECTED: u32 = 2;
const STOP: u32 = 3;
const LEFT: u32 = 4;
const BROKEN: u32 = 5;

const LEAVE: u32 = 0;
const TAKE: u32 = 1;
const INTO: u32 = 2;

fn peer_errno(error: PeerError) -> c_int {
    match error {
        PeerError::Full => -EAGAIN,
        PeerError::Unknown => -ENOENT,
        PeerError::Busy => -EBUSY,
        PeerError::Closed => -ESHUTDOWN,
    }
}

fn request_errno(error: RequestError) -> c_int {
    match error {
        RequestError::Full => -EAGAIN,
        RequestError::Peer => -ENOTCONN,
        RequestError::Long { .. } => -EMSGSIZE,
        RequestError::Closed => -ESHUTDOWN,
    }
}

/// Writes a result, or says that there is none.
///
/// # Safety
/// `into` can be written.
unsafe fn give<T>(value: Option<T>, into: *mut T) -> c_int {
    match value {
        None => -ENOENT,
        Some(value) => {
            // SAFETY: the caller's promise.
            unsafe { into.write(value) };
            0
        }
    }
}

/// # Safety
/// `bounds` can be read.
unsafe fn bounds(bounds: *const RawBounds) -> Bounds {
    // SAFETY: the caller's promise.
    let raw = unsafe { bounds.read() };
    Bounds {
        requests: raw.requests,
        peers: raw.peers,
        unexpected_bytes: raw.unexpected_bytes,
        eager_bytes: raw.eager_bytes,
        handler: raw.handler != 0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_bytes(raw: *const RawBounds) -> u64 {
    // SAFETY: the shim passes bounds of its own.
    let bounds = unsafe { bounds(raw) };
    match Endpoint::check(&bounds) {
        Ok(()) => Endpoint::bytes(&bounds) + size_of::<Endpoint>() as u64,
        Err(_) => 0,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_new(raw: *const RawBounds, secret: *const u64) -> *mut Endpoint {
    // SAFETY: the shim passes bounds and two numbers of its own.
    let (bounds, secret) = unsafe { (bounds(raw), secret.cast::<[u64; 2]>().read()) };
    match Endpoint::open(bounds, Seed::new(secret)) {
        Ok(core) => Box::into_raw(Box::new(core)),
        Err(_) => core::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_free(core: *mut Endpoint) {
    // SAFETY: `oxk_core_new` made it with Box, and nobody else knows it any more.
    drop(unsafe { Box::from_raw(core) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_close(core: *mut Endpoint) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.close();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_admit(core: *mut Endpoint, up: c_int, peer: *mut u64) -> c_int {
    // SAFETY: as at the top.
    let core = unsafe { &mut *core };
    let admitted = if up != 0 {
        core.accepted()
    } else {
        core.connect()
    };
    match admitted {
        // SAFETY: as at the top.
        Ok(PeerToken(token)) => unsafe { give(Some(token), peer) },
        Err(error) => peer_errno(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_connected(core: *mut Endpoint, peer: u64) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.connected(PeerToken(peer)) {
        Ok(()) => 0,
        Err(_) => -ENOTCONN,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_lost(core: *mut Endpoint, peer: u64, error: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.lost(PeerToken(peer), error);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_forget(core: *mut Endpoint, peer: u64) -> c_int {
    // SAFETY: as at the top.
    let forgotten = unsafe { &mut *core }.forget(PeerToken(peer));
    forgotten.map_or_else(peer_errno, |()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_send(
    core: *mut Endpoint,
    peer: u64,
    bits: u64,
    bytes: u64,
    sync: c_int,
    user: u64,
    token: *mut u64,
) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.send(PeerToken(peer), bits, bytes, sync != 0, user) {
        // SAFETY: as at the top.
        Ok(Token(made)) => unsafe { give(Some(made), token) },
        Err(error) => request_errno(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_receive(
    core: *mut Endpoint,
    bits: u64,
    mask: u64,
    capacity: u64,
    user: u64,
    token: *mut u64,
) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.receive(bits, mask, capacity, user) {
        // SAFETY: as at the top.
        Ok(Token(made)) => unsafe { give(Some(made), token) },
        Err(error) => request_errno(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_cancel(core: *mut Endpoint, token: u64) -> c_int {
    // SAFETY: as at the top.
    match unsafe { &mut *core }.cancel(Token(token)) {
        Ok(()) => 0,
        Err(CancelError::Again) => -EAGAIN,
        Err(CancelError::Unknown) => -ENOENT,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_probe(
    core: *mut Endpoint,
    bits: u64,
    mask: u64,
    into: *mut RawCompletion,
) -> c_int {
    // SAFETY: as at the top.
    let found = unsafe { &mut *core }.probe(bits, mask);
    let found = found.map(|found| RawCompletion {
        bits: found.bits,
        bytes: found.bytes,
        peer: found.peer.0,
        ..RawCompletion::default()
    });
    // SAFETY: as at the top.
    unsafe { give(found, into) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_feed(
    core: *mut Endpoint,
    peer: u64,
    data: *const u8,
    bytes: u32,
    step: *mut RawStep,
) {
    let data = if bytes == 0 {
        &[]
    } else {
        // SAFETY: the shim has so many bytes of the socket there, which nobody writes: they are the
        // kernel's.
        unsafe { core::slice::from_raw_parts(data, bytes as usize) }
    };
    // SAFETY: as at the top.
    let fed = unsafe { &mut *core }.feed(PeerToken(peer), data);
    let mut raw = RawStep {
        consumed: fed.consumed as u32,
        ..RawStep::default()
    };
    raw.what = match fed.step {
        Step::Done => DONE,
        Step::Place {
            token,
            offset,
            bytes,
        } => {
            raw.token = token.0;
            raw.offset = offset;
            raw.bytes = bytes as u64;
            PLACE
        }
        Step::Unexpected {
            bits,
            bytes,
            offered,
        } => {
            raw.bits = bits;
            raw.bytes = bytes;
            raw.offered = u32::from(offered);
            UNEXPECTED
        }
        Step::Stop => STOP,
        Step::Left => LEFT,
        Step::Broken => BROKEN,
    };
    // SAFETY: as at the top.
    unsafe { step.write(raw) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_placed(core: *mut Endpoint, peer: u64, error: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.placed(PeerToken(peer), error);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_verdict(
    core: *mut Endpoint,
    peer: u64,
    verdict: u32,
    user: u64,
    capacity: u64,
    token: *mut u64,
) -> c_int {
    let verdict = match verdict {
        LEAVE => Verdict::Leave,
        TAKE => Verdict::Take,
        INTO => Verdict::Into { user, capacity },
        _ => return -EINVAL,
    };
    // SAFETY: as at the top.
    match unsafe { &mut *core }.verdict(PeerToken(peer), verdict) {
        Ok(None) => 0,
        // SAFETY: as at the top.
        Ok(Some(Token(made))) => unsafe { give(Some(made), token) },
        Err(VerdictError::Full) => -EAGAIN,
        Err(VerdictError::Unasked) => -EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_next_copy(core: *mut Endpoint, token: *mut u64) -> c_int {
    // SAFETY: as at the top.
    let next = unsafe { &mut *core }.next_copy();
    // SAFETY: as at the top.
    unsafe { give(next.map(|Token(token)| token), token) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_next_piece(
    core: *mut Endpoint,
    token: u64,
    into: *mut RawPiece,
) -> c_int {
    // SAFETY: as at the top.
    let piece = unsafe { &mut *core }.next_piece(Token(token));
    let piece = piece.map(|piece| RawPiece {
        data: piece.bytes.as_ptr(),
        offset: piece.offset,
        bytes: piece.bytes.len() as u64,
    });
    // SAFETY: as at the top.
    unsafe { give(piece, into) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_copied(core: *mut Endpoint, token: u64, error: u32) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.copied(Token(token), error);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_poll_send(
    core: *mut Endpoint,
    peer: u64,
    into: *mut RawTransmit,
) -> c_int {
    // SAFETY: as at the top.
    let next = unsafe { &mut *core }.poll_send(PeerToken(peer));
    let next = next.map(|transmit| {
        let mut head = [0; 60];
        let used = transmit.head();
        head[..used.len()].copy_from_slice(used);
        let payload = transmit.payload;
        RawTransmit {
            head,
            head_bytes: used.len() as u32,
            token: payload.map_or(0, |payload| payload.token.0),
            offset: payload.map_or(0, |payload| payload.offset),
            bytes: payload.map_or(0, |payload| payload.bytes),
        }
    });
    // SAFETY: as at the top.
    unsafe { give(next, into) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_sent(core: *mut Endpoint, token: u64) {
    // SAFETY: as at the top.
    unsafe { &mut *core }.sent(Token(token));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_next_completed(
    core: *mut Endpoint,
    into: *mut RawCompletion,
) -> c_int {
    // SAFETY: as at the top.
    let next = unsafe { &mut *core }.next_completed();
    let next = next.map(|over| RawCompletion {
        token: over.token.0,
        user: over.user,
        bits: over.status.bits,
        bytes: over.status.bytes,
        placed: over.status.placed,
        peer: over.status.peer.map_or(0, |PeerToken(peer)| peer),
        error: over.status.error,
        reserved: 0,
    });
    // SAFETY: as at the top.
    unsafe { give(next, into) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_has_to_send(core: *mut Endpoint, peer: u64) -> bool {
    // SAFETY: as at the top.
    unsafe { &*core }.has_to_send(PeerToken(peer))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_core_peer_of(core: *mut Endpoint, token: u64) -> u64 {
    // SAFETY: as at the top.
    let peer = unsafe { &*core }.peer_of(Token(token));
    peer.map_or(0, |PeerToken(peer)| peer)
}
