//! A process's port: its rings to and from the others, and the search for arrived messages.
//!
//! Rings are opened on first use. The receiver polls up to [`HOT_MAX`] rings by itself; the others
//! ring the doorbell. A ring becomes hot when a message is found in it and there is room; all
//! become cold before the process sleeps. One thread at a time uses a port (the engine's lock sees
//! to it); sleeping happens outside, on the segment's doorbell.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::doorbell::Doorbell;
use crate::membarrier;
use crate::ring::{Full, PREFIX_BYTES, Receiver, Ring, Seen, Sender};
use crate::segment::{Segment, SegmentError};
use crate::sync::{Ordering, fence};

/// Rings polled directly: an idle look at all of them costs about as many loads of lines this core
/// already has.
pub const HOT_MAX: usize = 16;
/// Messages taken from hot rings before the next ring, and cold ones, get their turn.
const BURST_MAX: u32 = 32;

/// In place of a payload's length that its ring cannot hold: more than fits behind any header.
const UNSOUND_BYTES: usize = PREFIX_BYTES + 1;

/// This process's end of the shared segment.
pub struct Port {
    // Declared before `segment`: the rings point into it and must go first.
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Option<Receiver<'static>>>,
    /// Ports from which nothing is taken any more.
    shut: Vec<bool>,
    bell: &'static Doorbell,
    segment: Arc<Segment>,
    index: u32,
    /// This process is registered with membarrier: a peer that fences everybody fences us too.
    registered: bool,
    /// Rings that are polled.
    hot: Vec<u32>,
    /// Cold rings whose bit was found.
    ready: VecDeque<u32>,
    /// Index in `hot` at which the next look starts, and how many messages were found since it
    /// moved on by itself.
    cursor: usize,
    burst: u32,
    /// The message that `poll` returned and `consume` will give back.
    current: Option<(u32, Seen)>,
}

struct Outgoing {
    sender: Sender<'static>,
    /// The sender must fence between publishing and looking whether the ring is hot.
    fence: bool,
    has_payload_memory: bool,
}

/// A message that has arrived and lies in its ring.
pub struct Arrival<'p> {
    /// Port it came from.
    pub from: u32,
    /// Its header and, when `inline`, its payload behind the header.
    pub prefix: &'p [u8; PREFIX_BYTES],
    /// Bytes of payload.
    pub bytes: usize,
    /// The payload, when it does not lie in the prefix.
    pub outside: Option<&'p [u8]>,
}

impl<'p> Arrival<'p> {
    /// The payload of a message whose header takes `used` bytes.
    ///
    /// # Panics
    /// When the slot names more bytes than it holds: the sender's memory is corrupt. `bytes` and
    /// `outside` tell without a panic.
    #[inline(always)]
    pub fn payload(&self, used: usize) -> &'p [u8] {
        match self.outside {
            Some(payload) => payload,
            None => &self.prefix[used..used + self.bytes],
        }
    }
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The ring is full: try again after the receiver has consumed something.
    #[error("the ring is full")]
    Full,
    /// No memory for the ring.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

impl From<Full> for PortError {
    fn from(Full: Full) -> Self {
        PortError::Full
    }
}

impl Port {
    /// Moves into port `index` of the segment.
    pub fn open(segment: Arc<Segment>, index: u32) -> Result<Self, SegmentError> {
        assert!(
            index < segment.ports(),
            "port {index} of {}",
            segment.ports()
        );
        segment.reserve(segment.layout().port(index), size_of::<Doorbell>() as u64)?;
        let registered = membarrier::register();
        segment.move_in(index, registered);
        let ports = segment.ports() as usize;
        // SAFETY: it lies in the segment's mapping, which the port keeps alive; no copy of the
        // reference leaves the port.
        let bell =
            unsafe { std::mem::transmute::<&Doorbell, &'static Doorbell>(segment.doorbell(index)) };
        Ok(Self {
            bell,
            outgoing: (0..ports).map(|_| None).collect(),
            incoming: (0..ports).map(|_| None).collect(),
            shut: vec![false; ports],
            segment,
            index,
            registered,
            hot: Vec::with_capacity(HOT_MAX),
            ready: VecDeque::with_capacity(ports),
            cursor: 0,
            burst: 0,
            current: None,
        })
    }

    /// Whether others may leave the fence to this process (see `membarrier`).
    pub(crate) fn is_registered(&self) -> bool {
        self.registered
    }

    /// The segment the port lies in.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// This port's doorbell.
    #[inline(always)]
    pub fn bell(&self) -> &Doorbell {
        self.bell
    }

    /// This port's number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The largest payload of one message.
    pub fn fragment_bytes_max(&self) -> usize {
        self.segment.layout().payload_bytes * 3 / 8
    }

    /// Sends one message into the ring of `to`: `header` writes its header of `used` bytes, `fill`
    /// its `bytes` of payload.
    #[inline(always)]
    pub fn send(
        &mut self,
        to: u32,
        used: usize,
        header: impl FnOnce(&mut [u8; PREFIX_BYTES]),
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), PortError> {
        let Some(Some(outgoing)) = self.outgoing.get_mut(to as usize) else {
            self.open_outgoing(to)?;
            return self.send(to, used, header, bytes, fill);
        };
        if !outgoing.has_payload_memory && used + bytes > PREFIX_BYTES {
            reserve_payload(&self.segment, to, self.index)?;
            outgoing.has_payload_memory = true;
        }
        outgoing.sender.push(used, header, bytes, fill)?;
        if outgoing.fence {
            // Pairs with the fence in `prepare_sleep`: publish, then look; there: say cold, then
            // look.
            fence(Ordering::SeqCst);
        }
        if !outgoing.sender.ring().is_hot() {
            self.ring_doorbell(to);
        }
        Ok(())
    }

    /// Whether the ring of `to` has room for so many messages of at most `piece` bytes of payload,
    /// `bytes` together. Then so many can be sent without an error.
    #[inline(always)]
    pub fn has_room(&mut self, to: u32, messages: u64, piece: usize, bytes: u64) -> bool {
        let Some(Some(outgoing)) = self.outgoing.get_mut(to as usize) else {
            return false;
        };
        outgoing.has_payload_memory && outgoing.sender.has_room(messages, piece, bytes)
    }

    #[cold]
    fn ring_doorbell(&mut self, to: u32) {
        self.update_fence(to);
        let bell = self.segment.doorbell(to);
        if bell.ring(self.index as usize) {
            self.segment.wake(to);
        }
    }

    #[cold]
    fn open_outgoing(&mut self, to: u32) -> Result<(), SegmentError> {
        let layout = self.segment.layout();
        self.segment
            .reserve(layout.ring(to, self.index), layout.payload_in_ring())?;
        // The receiver's doorbell may not have memory yet if it has not attached.
        self.segment
            .reserve(layout.port(to), size_of::<Doorbell>() as u64)?;
        let sender = Sender::new(self.static_ring(to, self.index));
        self.outgoing[to as usize] = Some(Outgoing {
            sender,
            fence: true,
            has_payload_memory: false,
        });
        Ok(())
    }

    /// A receiver that has attached says whether it fences everybody before it sleeps; until then
    /// the sender fences. Asked whenever the ring is found cold, as every ring is before its
    /// receiver has attached.
    fn update_fence(&mut self, to: u32) {
        if let Some(outgoing) = &mut self.outgoing[to as usize] {
            outgoing.fence = !self.registered || !self.segment.fences(to);
        }
    }

    fn static_ring(&self, port: u32, sender: u32) -> Ring<'static> {
        let ring = self.segment.ring(port, sender);
        // SAFETY: the ring lies in the segment's mapping, which this port keeps alive through its
        // `Arc`; the halves that hold it are dropped with the port, before the `Arc` is.
        unsafe { std::mem::transmute::<Ring<'_>, Ring<'static>>(ring) }
    }

    /// The next message that has arrived, if any. [`Port::consume`] gives its space back.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Arrival<'_>> {
        // Where a message was found last there is often another one.
        if self.burst < BURST_MAX
            && let Some(&from) = self.hot.get(self.cursor)
            && let Some(receiver) = &self.incoming[from as usize]
            && let Some(seen) = receiver.peek()
        {
            self.burst += 1;
            self.current = Some((from, seen));
            return Some(arrival(from, receiver, &seen));
        }
        self.poll_all()
    }

    #[inline(always)]
    fn poll_all(&mut self) -> Option<Arrival<'_>> {
        let from = self.find()?;
        let seen = self.incoming[from as usize].as_ref()?.peek()?;
        self.current = Some((from, seen));
        self.current()
    }

    /// As [`Port::poll`], but only if the message comes from port `from` and its ring is open
    /// already.
    #[inline(always)]
    pub fn poll_from(&mut self, from: u32) -> Option<Arrival<'_>> {
        let receiver = self.incoming[from as usize].as_ref()?;
        let seen = receiver.peek()?;
        self.current = Some((from, seen));
        Some(arrival(from, receiver, &seen))
    }

    /// The message that [`Port::poll`] has returned last, until it is consumed or polled again.
    #[inline(always)]
    pub fn current(&self) -> Option<Arrival<'_>> {
        let (from, seen) = self.current.as_ref()?;
        let receiver = self.incoming[*from as usize].as_ref()?;
        Some(arrival(*from, receiver, seen))
    }

    /// Gives back the space of the message that `poll` returned.
    #[inline(always)]
    pub fn consume(&mut self) {
        if let Some((from, seen)) = self.current.take()
            && let Some(receiver) = &mut self.incoming[from as usize]
        {
            receiver.consume(&seen);
        }
    }

    /// Whether [`Port::poll`] has something to look for: a load or two when nothing has come.
    #[inline(always)]
    pub fn has_arrival(&self) -> bool {
        self.hot.iter().any(|&from| self.has_message(from))
            || self.bell.is_rung()
            || !self.ready.is_empty()
    }

    /// A ring with a message in it.
    #[inline(always)]
    fn find(&mut self) -> Option<u32> {
        if self.burst >= BURST_MAX {
            self.burst = 0;
            self.cursor += 1;
            // Hot rings that never run empty must not keep the others from being found.
            if let Some(from) = self.find_cold() {
                return Some(from);
            }
        }
        let hot = self.hot.len();
        // Past the end, or left behind by a list that was longer before a sleep: start over, so
        // that every ring is looked at.
        if self.cursor >= hot {
            self.cursor = 0;
        }
        for step in 0..hot {
            let at = if self.cursor + step >= hot {
                self.cursor + step - hot
            } else {
                self.cursor + step
            };
            let from = self.hot[at];
            if self.has_message(from) {
                self.burst += 1;
                self.cursor = at;
                return Some(from);
            }
        }
        self.find_cold()
    }

    /// Whether a message from port `from` is there: the cheapest look there is.
    #[inline(always)]
    pub fn has_message(&self, from: u32) -> bool {
        self.incoming[from as usize]
            .as_ref()
            .is_some_and(Receiver::has_message)
    }

    #[inline(always)]
    fn find_cold(&mut self) -> Option<u32> {
        if self.ready.is_empty() && !self.bell.is_rung() {
            return None;
        }
        self.search_cold()
    }

    #[inline(never)]
    fn search_cold(&mut self) -> Option<u32> {
        let ready = &mut self.ready;
        self.segment
            .doorbell(self.index)
            .take(|sender| ready.push_back(sender as u32));
        while let Some(&from) = self.ready.front() {
            if from < self.segment.ports() {
                self.open_incoming(from);
                if self.has_message(from) {
                    self.make_hot(from);
                    // It goes to the back so that a busy ring does not starve the other cold ones.
                    self.ready.rotate_left(1);
                    return Some(from);
                }
            }
            self.ready.pop_front();
        }
        None
    }

    fn open_incoming(&mut self, from: u32) {
        if self.incoming[from as usize].is_none() && !self.shut[from as usize] {
            self.incoming[from as usize] = Some(Receiver::new(self.static_ring(self.index, from)));
        }
    }

    fn make_hot(&mut self, from: u32) {
        if self.hot.len() < HOT_MAX && !self.hot.contains(&from) {
            self.hot.push(from);
            if let Some(receiver) = &self.incoming[from as usize] {
                receiver.ring().set_hot(true);
            }
        }
    }

    /// Takes nothing more from port `from`, whatever it sends: what is in its ring makes no sense.
    pub fn shut(&mut self, from: u32) {
        self.shut[from as usize] = true;
        if let Some(receiver) = self.incoming[from as usize].take() {
            receiver.ring().set_hot(false);
        }
        self.hot.retain(|&hot| hot != from);
        self.ready.retain(|&ready| ready != from);
        if matches!(self.current, Some((current, _)) if current == from) {
            self.current = None;
        }
    }

    /// Makes it safe to sleep on this port's doorbell: every sender will ring it. False if a
    /// message is there already; then do not sleep but poll.
    pub fn prepare_sleep(&mut self) -> bool {
        if !self.ready.is_empty() {
            return false;
        }
        for &from in &self.hot {
            if let Some(receiver) = &self.incoming[from as usize] {
                receiver.ring().set_hot(false);
            }
        }
        self.bell.announce_sleep();
        // A sender that still saw its ring hot has published before this fence, on its CPU or by
        // its own fence.
        fence(Ordering::SeqCst);
        if self.registered {
            membarrier::fence_everybody();
        }
        for at in 0..self.hot.len() {
            let from = self.hot[at];
            if self.has_message(from) {
                self.ready.push_back(from);
            }
        }
        self.hot.clear();
        if self.ready.is_empty() && !self.bell.is_rung_before_sleep() {
            return true;
        }
        self.bell.announce_awake();
        false
    }
}

/// A message that was seen in the ring of port `from`.
#[inline(always)]
fn arrival<'p>(from: u32, receiver: &Receiver<'static>, seen: &Seen) -> Arrival<'p> {
    let (bytes, outside) = match seen.inline {
        true => (seen.bytes, None),
        false if receiver.is_sound(seen) => (seen.bytes, Some(receiver.payload(seen))),
        false => (UNSOUND_BYTES, None),
    };
    Arrival {
        from,
        prefix: receiver.prefix(seen),
        bytes,
        outside,
    }
}

fn reserve_payload(segment: &Segment, to: u32, from: u32) -> Result<(), SegmentError> {
    let layout = segment.layout();
    segment.reserve(
        layout.ring(to, from) + layout.payload_in_ring(),
        layout.payload_bytes as u64,
    )
}
