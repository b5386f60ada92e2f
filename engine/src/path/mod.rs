//! The way of every packet: the one place that asks the protocol and carries out what it says.
//!
//! Threads that wait, threads that post, the driver thread, records of a driver in the kernel and
//! the simulator all come here. [`take`] brings in what a [`Carrier`] has, [`flush`] and
//! [`send_now`] let go what is due, [`settle_posted`] gives a posted receive what it found.
//! [`carrier`](Carrier) says what carries packets and where their bytes belong; the protocol
//! decides; nothing here waits.
//!
//! A packet that makes no sense concerns the process that sent it and no other: [`Taken::Garbage`]
//! names it, and the caller parts with that process alone.

mod carrier;

pub use carrier::{Carrier, Event, Matched, Memory, Outgoing, Packet, Resumed};
pub use oxmpi_net::transport::Sent;

use oxmpi_wire::{Eager, HEADER_BYTES, Kind, More, Repr};

use crate::protocol::{
    Arrived, Effect, Failure, Fetch, Landing, Payload, Placement, Posted, Protocol, Stream,
    Transmit,
};

/// Copies from this length on are timed: the clock costs a hundredth of them.
const TIMED_BYTES_MIN: usize = 32 << 10;
/// No process has room for a longer message that it did not ask for.
const EAGER_BYTES_MAX: u64 = 8 << 20;

/// What [`take`] has brought in.
#[derive(Debug)]
pub enum Taken {
    /// A packet, or a piece of one; what the protocol said has been carried out.
    Packet,
    /// What no process sends: the caller parts with that process.
    Garbage(u32, Failure),
    /// A process has finalised.
    Finished(u32),
    /// A process is dead or cannot be reached any more.
    Lost(u32),
}

/// Why [`flush`] stopped.
#[derive(Debug)]
pub enum Stopped<E> {
    /// Nothing can be sent any more.
    Carrier(E),
    /// A message of this process to itself could not be taken.
    Own(Failure),
}

/// Takes the next thing that the carrier has, if there is one.
#[inline(always)]
pub fn take<B: Copy, C: Carrier<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
) -> Option<Taken> {
    if let Some(packet) = carrier.arrival() {
        if packet.matched.is_none()
            && let Some(header) = Eager::parse_prefix(packet.prefix)
            && let Some(payload) = packet.at_hand(HEADER_BYTES)
            && payload.len() == packet.bytes
            && header.envelope.bytes() <= EAGER_BYTES_MAX
        {
            let (from, bytes) = (packet.from, payload.len());
            match protocol.handle_eager(from, &header, payload) {
                Arrived::Deliver(buffer, fitting) => {
                    match C::SHARES_MEMORY {
                        true => memory.write_shared(buffer, 0, &payload[..fitting]),
                        false => memory.write(buffer, 0, &payload[..fitting]),
                    }
                    carrier.pass(bytes);
                    if C::SHARES_MEMORY
                        && (bytes as u64) < header.envelope.bytes()
                        && carrier.follows(from)
                    {
                        take_further(protocol, carrier, memory);
                    }
                    return Some(Taken::Packet);
                }
                Arrived::Kept => {
                    carrier.pass(bytes);
                    return Some(Taken::Packet);
                }
                // The general way finds out why.
                Arrived::Refused => {}
            }
        }
        if C::SHARES_MEMORY && take_further(protocol, carrier, memory) {
            return Some(Taken::Packet);
        }
        return Some(take_shown(protocol, carrier, memory));
    }
    take_event(protocol, carrier, memory)
}

/// Takes the packet that the carrier has just shown, and those that follow at once, if it is a
/// further one of an eager message whose receive is known. False, and nothing has happened: the
/// general way has to take it.
#[inline(never)]
fn take_further<B: Copy, C: Carrier<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
) -> bool {
    let mut is_taken = false;
    while let Some(packet) = carrier.current()
        && packet.matched.is_none()
        && let Some(more) = More::parse_prefix(packet.prefix)
        && let Some(payload) = packet.at_hand(More::BYTES_ON_WIRE)
        && payload.len() == packet.bytes
        && let Some(piece) = protocol.handle_further(packet.from, &more, payload.len())
    {
        let (from, bytes) = (packet.from, payload.len());
        memory.write_shared(piece.buffer, more.offset, &payload[..piece.bytes]);
        carrier.pass(bytes);
        is_taken = true;
        if piece.is_last || !carrier.follows(from) {
            break;
        }
    }
    is_taken
}

/// Takes what happened instead of a packet, after the carrier has shown none.
#[inline(always)]
pub fn take_event<B: Copy, C: Carrier<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
) -> Option<Taken> {
    match carrier.event()? {
        Event::Payload { from } => Some(take_payload(protocol, carrier, memory, from)),
        Event::Released(id) => {
            protocol.released(id);
            Some(Taken::Packet)
        }
        Event::Finished(peer) => Some(Taken::Finished(peer)),
        Event::Lost(peer) => Some(Taken::Lost(peer)),
    }
}

/// Takes the packet that the carrier has just shown, of whatever kind.
#[inline(never)]
pub fn take_shown<B: Copy, C: Carrier<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
) -> Taken {
    let Some(packet) = carrier.current() else {
        return Taken::Packet;
    };
    let from = packet.from;
    let opened = match open::<C, B>(&packet) {
        Ok(opened) => opened,
        Err(failure) => return Taken::Garbage(from, failure),
    };
    let (kind, matched, at_hand) = (opened.repr.kind, opened.matched, opened.piece.len());
    let handled = carry_out(protocol, memory, &opened);
    carrier.pass(at_hand);
    if let Some(matched) = matched
        && protocol.is_complete(matched.receive)
    {
        carrier.conclude(matched.receive);
    }
    if let Some(stream) = Stream::of(&kind) {
        carrier.expect(from, stream);
    }
    match handled {
        Ok(()) => Taken::Packet,
        Err(failure) => Taken::Garbage(from, failure),
    }
}

/// Reads a packet's head, and refuses what no process sends by this carrier.
#[inline(always)]
fn open<'c, C: Carrier<B>, B>(packet: &Packet<'c>) -> Result<Opened<'c>, Failure> {
    let peer = packet.from;
    let malformed = |what| Failure::Malformed { peer, what };
    let repr =
        Repr::parse_prefix(packet.prefix).map_err(|error| Failure::Unreadable { peer, error })?;
    let piece = packet
        .at_hand(repr.bytes_on_wire())
        .ok_or_else(|| malformed("a packet longer than its place"))?;
    match repr.kind {
        _ if packet.bytes > 0 && Stream::of(&repr.kind).is_none() => {
            Err(malformed("a payload behind a packet that has none"))
        }
        Kind::RequestToSend {
            mapped, fetchable, ..
        } if !C::SHARES_MEMORY && (mapped || fetchable) => {
            Err(malformed("an offer of memory on another host"))
        }
        Kind::Eager if repr.envelope.bytes() > EAGER_BYTES_MAX => {
            Err(malformed("an eager message longer than any room"))
        }
        _ => Ok(Opened {
            from: peer,
            repr,
            piece,
            bytes: packet.bytes,
            matched: packet.matched,
            is_shared: C::SHARES_MEMORY,
        }),
    }
}

/// A packet whose head has been read.
struct Opened<'c> {
    from: u32,
    repr: Repr,
    /// Its payload, as far as it is at hand.
    piece: &'c [u8],
    /// Bytes of all of its payload.
    bytes: usize,
    matched: Option<Matched>,
    /// It came out of memory that its sender shares.
    is_shared: bool,
}

/// Asks the protocol about a packet, and carries out what it says.
#[inline(always)]
fn carry_out<B: Copy, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    memory: &mut M,
    packet: &Opened<'_>,
) -> Result<(), Failure> {
    let Opened {
        from, repr, piece, ..
    } = packet;
    let is_own = *from == protocol.me();
    if packet.is_shared
        && matches!(repr.kind, Kind::RequestToSend { .. })
        && let Some(fetching) = memory.choose_fetch()
    {
        protocol.set_fetching(fetching);
    }
    let effect = match packet.matched {
        None => protocol.handle(*from, repr, piece)?,
        Some(Matched {
            receive,
            placed,
            answered,
        }) => {
            let placement = match placed {
                None => Placement::AtHand(piece),
                Some(placed) => Placement::Placed {
                    payload: packet.bytes as u64,
                    placed,
                },
            };
            protocol.handle_matched(*from, repr, receive, placement, answered)?
        }
    };
    match effect {
        Effect::None => {}
        Effect::Deliver {
            buffer,
            offset,
            bytes,
        } => {
            let piece = &piece[..bytes];
            match () {
                () if is_own => memory.write_own(buffer, offset, piece),
                () if packet.is_shared && bytes >= TIMED_BYTES_MIN => {
                    memory.write_timed(buffer, offset, piece);
                }
                () if packet.is_shared => memory.write_shared(buffer, offset, piece),
                () => memory.write(buffer, offset, piece),
            }
        }
        Effect::Fetch(wanted) => fetch(protocol, memory, &wanted),
    }
    Ok(())
}

/// Copies a message out of the sender's memory.
fn fetch<B: Copy, M: Memory<B>>(protocol: &mut Protocol<B>, memory: &mut M, wanted: &Fetch<B>) {
    let done = wanted.bytes == 0 || memory.fetch(wanted);
    protocol.fetched(wanted, done);
}

/// Takes more of a packet's payload: what is at hand, or straight to where it belongs.
#[inline(never)]
fn take_payload<B: Copy, C: Carrier<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
    from: u32,
) -> Taken {
    let Some(stream) = carrier.expected(from) else {
        let what = "a payload of no packet";
        return Taken::Garbage(from, Failure::Malformed { peer: from, what });
    };
    let landing = protocol.landing(from, stream);
    let landed = if let Landing::Buffer {
        buffer,
        offset,
        room,
    } = landing
        && room > 0
        && let Some(bytes) = carrier.read_into(buffer, offset, room)
    {
        protocol.landed(from, stream, bytes as u64)
    } else {
        let piece = carrier.piece();
        let bytes = piece.len();
        let landed = match landing {
            Landing::Buffer {
                buffer,
                offset,
                room,
            } => {
                memory.write(buffer, offset, &piece[..bytes.min(room as usize)]);
                protocol.landed(from, stream, bytes as u64)
            }
            Landing::Kept => protocol.keep(from, piece),
            Landing::Nowhere => Ok(()),
        };
        carrier.pass(bytes);
        landed
    };
    match landed {
        Ok(()) => Taken::Packet,
        Err(failure) => Taken::Garbage(from, failure),
    }
}

/// Gives a posted receive what it found.
#[inline(always)]
pub fn settle_posted<B: Copy, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    memory: &mut M,
    posted: Posted<B>,
    buffer: B,
) {
    match posted {
        Posted::Waiting => {}
        Posted::Stashed { stash, bytes } => {
            memory.write(buffer, 0, &stash[..bytes]);
            protocol.recycle(stash);
        }
        Posted::Fetch(wanted) => fetch(protocol, memory, &wanted),
    }
}

/// Sends a message that can leave at once, with the header of [`Protocol::eager_now`]; false if the
/// carrier has no room.
#[inline(always)]
pub fn send_now<B: Copy, C: Outgoing<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    to: u32,
    header: &Eager,
    buffer: B,
) -> Result<bool, C::Error> {
    let left = carrier.send_now(to, header, buffer)? == Sent::Left;
    if left {
        protocol.sent_eager(to, header);
    }
    Ok(left)
}

/// Sends what waits, as far as carriers have room. True if anything left.
pub fn flush<B: Copy, C: Outgoing<B>, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    carrier: &mut C,
    memory: &mut M,
    mut before_own: impl FnMut(&mut Protocol<B>, &mut C, &Repr),
) -> Result<bool, Stopped<C::Error>> {
    let mut left = false;
    let mut at = 0;
    while let Some(&peer) = protocol.busy().get(at) {
        loop {
            match carrier.resume(peer) {
                Resumed::Nothing => {}
                Resumed::Waiting => break,
                Resumed::Left(transmit) => {
                    protocol.ended(&transmit);
                    left = true;
                }
            }
            let Some(transmit) = protocol.poll_transmit(peer) else {
                break;
            };
            if peer == protocol.me() {
                before_own(protocol, carrier, &transmit.repr);
                loop_back(protocol, memory, &transmit).map_err(Stopped::Own)?;
                left = true;
                continue;
            }
            match carrier.send(&transmit).map_err(Stopped::Carrier)? {
                Sent::Left => protocol.sent(&transmit),
                Sent::Held => protocol.held(&transmit),
                Sent::Partly => {
                    protocol.began(&transmit);
                    break;
                }
                Sent::Later => break,
            }
            left = true;
        }
        at += 1;
    }
    protocol.settle();
    Ok(left)
}

/// Takes a message of this process to itself, straight out of its memory.
fn loop_back<B: Copy, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    memory: &mut M,
    transmit: &Transmit<B>,
) -> Result<(), Failure> {
    protocol.sent(transmit);
    let (me, repr) = (protocol.me(), transmit.repr);
    memory.show(transmit.payload, |memory, piece| {
        let packet = Opened {
            from: me,
            repr,
            piece,
            bytes: piece.len(),
            matched: None,
            is_shared: false,
        };
        carry_out(protocol, memory, &packet)
    })
}

/// Takes a whole short message of this process to itself; false, and nothing has happened, if it
/// has to go the general way.
pub fn send_to_self<B: Copy, M: Memory<B>>(
    protocol: &mut Protocol<B>,
    memory: &mut M,
    header: &Eager,
    buffer: B,
) -> bool {
    let me = protocol.me();
    let bytes = header.envelope.bytes() as usize;
    let payload = (bytes > 0).then_some(Payload {
        buffer,
        offset: 0,
        bytes,
    });
    let is_taken = memory.show(payload, |memory, piece| {
        match protocol.handle_eager(me, header, piece) {
            Arrived::Deliver(into, fitting) => memory.write_own(into, 0, &piece[..fitting]),
            Arrived::Kept => {}
            Arrived::Refused => return false,
        }
        true
    });
    if is_taken {
        protocol.sent_eager(me, header);
    }
    is_taken
}
