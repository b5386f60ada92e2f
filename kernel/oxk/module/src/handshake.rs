//! The handshake's state machines behind one C type, `struct oxk_handshake`, whose memory is the
//! shim's.
//!
//! Safety, for all functions: the shim passes memory of a `struct oxk_handshake` that
//! `oxk_handshake_dial` or `oxk_handshake_answer` has filled (these two: any), of which no other
//! thread knows, and a step of its own to be written.

use core::ffi::c_int;

use oxmpi_handshake::{Answerer, Dialler, JobKey, Nonce, Progress, Refusal, Verdict};

const EPROTO: c_int = 71;
const ECONNREFUSED: c_int = 111;
const EKEYREJECTED: c_int = 129;

/// Who an endpoint says it is when it dials, and when it is dialled. It has no ranks: the key is
/// all that peers prove.
const DIALLER: u32 = 1;
const ANSWERER: u32 = 0;

/// `struct oxk_handshake`.
enum Handshake {
    Dialler(Dialler),
    Answerer(Answerer),
    Over,
}

const _: () = assert!(size_of::<Handshake>() <= 384 && align_of::<Handshake>() <= 8);

/// `struct oxk_handshake_step`.
#[repr(C)]
pub struct RawStep {
    what: c_int,
    send_bytes: u32,
    send: [u8; 64],
}

const MORE: c_int = 0;
const PROVEN: c_int = 1;

impl RawStep {
    fn new(what: c_int, send: &[u8]) -> RawStep {
        let mut step = RawStep {
            what,
            send_bytes: send.len() as u32,
            send: [0; 64],
        };
        step.send[..send.len()].copy_from_slice(send);
        step
    }
}

fn errno(refusal: Refusal) -> c_int {
    match refusal {
        Refusal::OtherKey => -EKEYREJECTED,
        _ => -EPROTO,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_handshake_dial(
    at: *mut core::ffi::c_void,
    key: *const u8,
    nonce: *const u8,
    step: *mut RawStep,
) {
    // SAFETY: both are 16 bytes of the shim's.
    let (key, nonce) = unsafe { (key.cast::<[u8; 16]>().read(), nonce.cast::<Nonce>().read()) };
    let key = JobKey::from_bytes(key);
    let (dialler, hello) = Dialler::new(&key, DIALLER, ANSWERER, nonce);
    // SAFETY: as at the top.
    unsafe {
        at.cast::<Handshake>().write(Handshake::Dialler(dialler));
        step.write(RawStep::new(MORE, &hello));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_handshake_answer(
    at: *mut core::ffi::c_void,
    key: *const u8,
    nonce: *const u8,
) {
    // SAFETY: both are 16 bytes of the shim's.
    let (key, nonce) = unsafe { (key.cast::<[u8; 16]>().read(), nonce.cast::<Nonce>().read()) };
    let answerer = Answerer::new(&JobKey::from_bytes(key), ANSWERER, nonce);
    // SAFETY: as at the top.
    unsafe { at.cast::<Handshake>().write(Handshake::Answerer(answerer)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_handshake_take(
    at: *mut core::ffi::c_void,
    data: *const u8,
    bytes: u32,
    step: *mut RawStep,
) {
    // SAFETY: the shim has read so many bytes to there.
    let data = unsafe { core::slice::from_raw_parts(data, bytes as usize) };
    // SAFETY: as at the top.
    let handshake = unsafe { &mut *at.cast::<Handshake>() };
    let came = match handshake {
        Handshake::Dialler(dialler) => dialler.handle(data),
        Handshake::Answerer(answerer) => answerer.handle(data),
        Handshake::Over => {
            // SAFETY: as at the top.
            unsafe { step.write(RawStep::new(-EPROTO, &[])) };
            return;
        }
    };
    let what = match came.progress {
        Progress::More => MORE,
        Progress::Proven { .. } | Progress::Done(Verdict::Keep) => PROVEN,
        Progress::Done(_) => -ECONNREFUSED,
        Progress::Refused(refusal) => errno(refusal),
    };
    if what < 0 {
        *handshake = Handshake::Over;
    }
    // SAFETY: as at the top.
    unsafe { step.write(RawStep::new(what, &came.send)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn oxk_handshake_verdict(
    at: *mut core::ffi::c_void,
    keep: bool,
    step: *mut RawStep,
) {
    let verdict = match keep {
        true => Verdict::Keep,
        false => Verdict::Stale,
    };
    // SAFETY: as at the top; what is left there has nothing to drop.
    let handshake = unsafe { at.cast::<Handshake>().replace(Handshake::Over) };
    let answer = match handshake {
        Handshake::Answerer(answerer) => RawStep::new(PROVEN, &answerer.verdict(verdict)),
        _ => RawStep::new(-EPROTO, &[]),
    };
    // SAFETY: as at the top.
    unsafe { step.write(answer) };
}
