//! The endpoint's thread, and writing, which every thread does that has something to send.
//!
//! Only this thread reads, and only it parts with a peer: memory that it reads into without the
//! lock stays with its request. Of several threads that send to one peer one writes, without the
//! lock; the others leave their packets to it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::MutexGuard;

use oxmpi_oxk_core::{ECONNRESET, EPROTO, PeerToken, Step, VerdictError};

use crate::state::{Answer, Arrival, Held, Shared, State};

/// Bytes that are read at once when none of them has a place of its own yet.
const STAGE_BYTES: usize = 64 << 10;
/// A payload of which at least so much is to come is read straight to its place. Below it one more
/// call of the system costs more than the copy.
const DIRECT_BYTES: usize = 4 << 10;

pub(crate) fn errno(error: &io::Error) -> u32 {
    match error.raw_os_error() {
        Some(number) => number as u32,
        None => ECONNRESET,
    }
}

/// Runs until the endpoint is closed.
pub(crate) fn run(shared: &Shared) {
    let mut names = Vec::new();
    loop {
        if shared.poller.wait(&mut names).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let mut state = shared.lock();
        if state.closing {
            return close(shared, state);
        }
        for peer in std::mem::take(&mut state.fresh) {
            let Some(socket) = state.sockets.get_mut(&peer) else {
                continue;
            };
            use std::os::fd::AsRawFd;
            if let Err(error) = shared.poller.add(socket.stream.as_raw_fd(), peer.0) {
                socket.broken.get_or_insert(errno(&error));
            }
            names.push(peer.0);
        }
        let broken = state
            .sockets
            .iter()
            .filter(|(_, socket)| socket.broken.is_some());
        names.extend(broken.map(|(peer, _)| peer.0));
        drop(state);
        for name in &names {
            serve(shared, PeerToken(*name));
        }
    }
}

/// The poller has something to tell of a peer.
fn serve(shared: &Shared, peer: PeerToken) {
    let mut state = shared.lock();
    if let Some(socket) = state.sockets.get_mut(&peer) {
        socket.full = false;
    }
    let mut state = flush(shared, state, peer);
    loop {
        let Some(socket) = state.sockets.get(&peer) else {
            return shared.conclude(state);
        };
        if let Some(error) = socket.broken {
            return part(shared, state, peer, error);
        }
        match feed(shared, &mut state, peer) {
            Step::Broken => return part(shared, state, peer, EPROTO),
            Step::Left => return part(shared, state, peer, ECONNRESET),
            Step::Stop => {
                state = flush(shared, state, peer);
                let full = state.sockets.get(&peer).is_some_and(|socket| socket.full);
                if full {
                    return shared.conclude(state);
                }
                continue;
            }
            _ => {}
        }
        state = flush(shared, state, peer);
        // What is over is told before more is read.
        shared.conclude(state);
        let (after, read) = read(shared, peer);
        state = after;
        match read {
            Ok(true) => {}
            Ok(false) => return shared.conclude(state),
            Err(error) => return part(shared, state, peer, error),
        }
    }
}

/// Feeds what is staged.
fn feed(shared: &Shared, state: &mut State, peer: PeerToken) -> Step {
    loop {
        let State {
            core,
            held,
            sockets,
            ..
        } = state;
        let Some(socket) = sockets.get_mut(&peer) else {
            return Step::Broken;
        };
        let fed = core.feed(peer, &socket.staged[socket.used..socket.filled]);
        socket.used += fed.consumed;
        match fed.step {
            Step::Place {
                token,
                offset,
                bytes,
            } => {
                let from = &socket.staged[socket.used..socket.used + bytes];
                if let Some(held) = held.get_mut(&token) {
                    held.buffer[offset as usize..][..bytes].copy_from_slice(from);
                }
                socket.used += bytes;
                core.placed(peer, 0);
            }
            Step::Unexpected {
                bits,
                bytes,
                offered,
            } => {
                let rest = &socket.staged[socket.used..socket.filled];
                let here = match offered {
                    true => &[],
                    false => &rest[..rest.len().min(usize::try_from(bytes).unwrap_or(0))],
                };
                let arrival = Arrival {
                    peer,
                    bits,
                    bytes,
                    offered,
                    here,
                };
                let answer = match &shared.handlers.unexpected {
                    Some(handler) => handler(arrival),
                    None => Answer::Leave,
                };
                judge(state, peer, answer);
            }
            step => {
                if socket.used == socket.filled {
                    (socket.used, socket.filled) = (0, 0);
                }
                return step;
            }
        }
    }
}

fn judge(state: &mut State, peer: PeerToken, answer: Answer) {
    use oxmpi_oxk_core::Verdict;
    let judged = match answer {
        Answer::Leave => state.core.verdict(peer, Verdict::Leave),
        Answer::Take => state.core.verdict(peer, Verdict::Take),
        Answer::Into(buffer, done) => {
            let capacity = buffer.len() as u64;
            let verdict = Verdict::Into { user: 0, capacity };
            let made = state.core.verdict(peer, verdict);
            if let Ok(Some(token)) = made {
                let done = Some(done);
                state.held.insert(token, Held { buffer, done });
            }
            made
        }
    };
    if judged == Err(VerdictError::Full) {
        // No request, or no record for an answer, is left: it waits as if it was told to.
        let _ = state.core.verdict(peer, Verdict::Leave);
    }
}

/// Reads once, straight to where payload belongs if much of it is to come. `false`: the socket is
/// empty.
fn read<'a>(shared: &'a Shared, peer: PeerToken) -> (MutexGuard<'a, State>, Result<bool, u32>) {
    let mut state = shared.lock();
    let awaited = state.core.awaited(peer);
    let Some(socket) = state.sockets.get_mut(&peer) else {
        return (state, Ok(false));
    };
    let stream = socket.stream.clone();
    let mut staged = std::mem::take(&mut socket.staged);
    // Everything that was staged has been used.
    staged.resize(STAGE_BYTES, 0);
    let direct = awaited.filter(|awaited| awaited.bytes >= DIRECT_BYTES);
    let mut buffer = direct.and_then(|awaited| {
        let held = state.held.get_mut(&awaited.token)?;
        Some((awaited, std::mem::take(&mut held.buffer)))
    });
    drop(state);
    let result = match &mut buffer {
        Some((awaited, buffer)) => {
            let place = &mut buffer[awaited.offset as usize..][..awaited.bytes];
            let mut parts = [IoSliceMut::new(place), IoSliceMut::new(&mut staged)];
            (&*stream).read_vectored(&mut parts)
        }
        None => (&*stream).read(&mut staged),
    };
    let mut state = shared.lock();
    let got = match &result {
        Ok(got) => *got,
        Err(_) => 0,
    };
    let mut direct_bytes = 0;
    if let Some((awaited, buffer)) = buffer {
        direct_bytes = got.min(awaited.bytes);
        if direct_bytes > 0 {
            let bytes = &buffer[awaited.offset as usize..][..direct_bytes];
            let fed = state.core.feed(peer, bytes);
            debug_assert!(matches!(fed.step, Step::Place { bytes, .. } if bytes == direct_bytes));
        }
        // Before `placed`: the request may be over by it.
        if let Some(held) = state.held.get_mut(&awaited.token) {
            held.buffer = buffer;
        }
        if direct_bytes > 0 {
            state.core.placed(peer, 0);
        }
    }
    if let Some(socket) = state.sockets.get_mut(&peer) {
        socket.staged = staged;
        socket.filled = got - direct_bytes;
    }
    let read = match result {
        Ok(0) => Err(ECONNRESET),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(errno(&error)),
    };
    (state, read)
}

/// Writes what there is for a peer, until the socket is full.
pub(crate) fn flush<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    peer: PeerToken,
) -> MutexGuard<'a, State> {
    loop {
        let State { core, sockets, .. } = &mut *state;
        let Some(socket) = sockets.get_mut(&peer) else {
            return state;
        };
        if socket.writing || socket.full || socket.broken.is_some() {
            return state;
        }
        let leaving = socket.leaving.take();
        let next = leaving.or_else(|| core.poll_send(peer).map(|packet| (packet, 0)));
        let Some((packet, mut gone)) = next else {
            return state;
        };
        socket.writing = true;
        let stream = socket.stream.clone();
        let buffer = packet.payload.and_then(|payload| {
            let held = state.held.get_mut(&payload.token)?;
            Some(std::mem::take(&mut held.buffer))
        });
        drop(state);
        let head = packet.head();
        let body = match (&buffer, packet.payload) {
            (Some(buffer), Some(payload)) => {
                &buffer[payload.offset as usize..][..payload.bytes as usize]
            }
            _ => &[],
        };
        let all = head.len() + body.len();
        let mut result = Ok(());
        while gone < all {
            let parts = match gone < head.len() {
                true => [IoSlice::new(&head[gone..]), IoSlice::new(body)],
                false => [IoSlice::new(&body[gone - head.len()..]), IoSlice::new(&[])],
            };
            match (&*stream).write_vectored(&parts) {
                Ok(0) => {
                    result = Err(io::Error::from(ErrorKind::WriteZero));
                    break;
                }
                Ok(more) => gone += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        state = shared.lock();
        if let (Some(buffer), Some(payload)) = (buffer, packet.payload)
            && let Some(held) = state.held.get_mut(&payload.token)
        {
            held.buffer = buffer;
        }
        let mut sent = true;
        if let Some(socket) = state.sockets.get_mut(&peer) {
            socket.writing = false;
            match result {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    socket.full = true;
                    socket.leaving = Some((packet, gone));
                    sent = false;
                }
                Err(error) => {
                    socket.broken = Some(errno(&error));
                    shared.poller.wake();
                }
            }
        }
        if sent && let Some(payload) = packet.payload {
            // The kernel has copied the bytes.
            state.core.sent(payload.token);
        }
        state.settle();
    }
}

/// The peer is gone; tells what that ends.
fn part(shared: &Shared, mut state: MutexGuard<'_, State>, peer: PeerToken, error: u32) {
    let Some(socket) = state.sockets.remove(&peer) else {
        return shared.conclude(state);
    };
    let _ = socket.stream.shutdown(Shutdown::Both);
    state.core.lost(peer, error);
    if let Some((packet, _)) = socket.leaving
        && let Some(payload) = packet.payload
    {
        state.core.sent(payload.token);
    }
    let _ = state.core.forget(peer);
    shared.conclude(state);
    if let Some(lost) = &shared.handlers.lost {
        lost(peer, error);
    }
}

fn close(shared: &Shared, mut state: MutexGuard<'_, State>) {
    let sockets = std::mem::take(&mut state.sockets);
    for socket in sockets.values() {
        if socket.leaving.is_none() && !socket.writing {
            // The other side learns at once that this is no failure.
            let goodbye = oxmpi_oxk_core::GOODBYE.to_le_bytes();
            let _ = (&*socket.stream).write(&goodbye);
        }
        let _ = socket.stream.shutdown(Shutdown::Both);
    }
    state.core.close();
    for socket in sockets.into_values() {
        if let Some((packet, _)) = socket.leaving
            && let Some(payload) = packet.payload
        {
            state.core.sent(payload.token);
        }
    }
    shared.conclude(state);
}
