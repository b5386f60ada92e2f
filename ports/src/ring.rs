//! One sender's ring into one receiver's port: slots of a cache line each, and a payload buffer for
//! what does not fit.
//!
//! A message of a few bytes travels in one line: stamp, header and payload together, so that one
//! transfer between the cores' caches delivers it. The stamp holds the slot's position in the
//! endless sequence, which is how the receiver knows a new message from the one that lay there a
//! lap ago; it is stored last. Longer payload lies in the payload buffer, at a place that both
//! sides compute alike. The receiver gives space back by publishing how many slots it has consumed,
//! in batches. Nothing here waits, and nothing here is shared by more than one writer, so a sender
//! that dies in the middle leaves a slot that was never stamped.

use crate::copy::PLAIN_BYTES_MAX;
use crate::sync::{AtomicU32, AtomicU64, Ordering, SharedBytes};

/// Bytes of a slot beside its stamp: the message's header and, where it fits, its payload.
pub const PREFIX_BYTES: usize = 56;
/// Payload is placed in whole cache lines so that two messages never share one.
pub const LINE_BYTES: usize = 64;

const INLINE: u32 = 1 << 31;

/// A sender asks for the slot so many messages before it writes it: a line takes up to 300 ns from
/// one core to another, a short message at least 30. The receiver, which polls the next slot only,
/// does not take it away again.
const CLAIMED_AHEAD: u64 = 8;

/// A slot: the unit of publication, one cache line.
#[repr(C, align(64))]
pub struct Slot {
    /// Low half: position + 1 of the message that was published here last. High half: payload
    /// bytes, and [`INLINE`].
    stamp: AtomicU64,
    prefix: SharedBytes<PREFIX_BYTES>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == LINE_BYTES);

#[cfg(loom)]
impl Slot {
    /// A slot nobody has published in (mapped memory is zero, which is the same).
    pub fn empty() -> Self {
        Self {
            stamp: AtomicU64::new(0),
            prefix: SharedBytes::zeroed(),
        }
    }
}

/// What the receiver tells the sender; each word alone on its line because they change at different
/// rates.
#[repr(C, align(64))]
pub struct Control {
    /// Slots consumed so far. Pairs with the sender's acquire in [`Sender::refresh`].
    head: AtomicU64,
    _head_line: [u64; 7],
    /// [`ATTENTION_HOT`] while the receiver polls this ring by itself, else the sender must ring
    /// the doorbell.
    attention: AtomicU32,
    _attention_line: [u32; 15],
}

#[cfg(loom)]
impl Control {
    /// The words of a ring that is cold and of which nothing has been consumed.
    pub fn quiet() -> Self {
        Self {
            head: AtomicU64::new(0),
            _head_line: [0; 7],
            attention: AtomicU32::new(0),
            _attention_line: [0; 15],
        }
    }
}

/// The receiver polls this ring; a message needs no doorbell.
pub const ATTENTION_HOT: u32 = 1;

/// A ring as both halves see it.
#[derive(Clone, Copy)]
pub struct Ring<'m> {
    /// The receiver's words.
    pub control: &'m Control,
    /// Slots, a power of two.
    pub slots: &'m [Slot],
    /// Payload lines, a power of two.
    pub payload: &'m [SharedBytes<LINE_BYTES>],
}

/// No room until the receiver has consumed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl<'m> Ring<'m> {
    #[inline(always)]
    fn slot(&self, position: u64) -> &'m Slot {
        // Power of two, asserted by the halves' constructors: the mask keeps the index inside.
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    fn payload_bytes(&self) -> u64 {
        (self.payload.len() * LINE_BYTES) as u64
    }

    /// Where `bytes` of payload go when everything before byte `position` is in use: contiguous, so
    /// at the end of the buffer the rest is skipped. Both sides call this with the same numbers.
    #[inline(always)]
    fn place(&self, position: u64, bytes: usize) -> (u64, u64) {
        let capacity = self.payload_bytes();
        let offset = position & (capacity - 1);
        let start = if offset + bytes as u64 > capacity {
            position + capacity - offset
        } else {
            position
        };
        (start, start + bytes.next_multiple_of(LINE_BYTES) as u64)
    }

    /// The largest payload of one slot: half of what is left when the receiver has consumed
    /// everything but published all except a quarter. The other half covers what is skipped at the
    /// buffer's end, so a sender that was refused always gets room in the end.
    pub fn fragment_bytes_max(&self) -> usize {
        self.payload.len() * LINE_BYTES * 3 / 8
    }

    /// Whether the receiver polls this ring by itself. The sender asks after publishing.
    #[inline(always)]
    pub fn is_hot(&self) -> bool {
        self.control.attention.load(Ordering::Relaxed) == ATTENTION_HOT
    }

    /// The receiver starts or stops to poll this ring by itself.
    pub fn set_hot(&self, hot: bool) {
        self.control
            .attention
            .store(u32::from(hot), Ordering::SeqCst);
    }
}

/// The sender's half.
pub struct Sender<'m> {
    ring: Ring<'m>,
    /// Position of the next message.
    tail: u64,
    /// Slots known to be consumed.
    head: u64,
    /// Payload position after the last message.
    payload_tail: u64,
    /// Payload position up to which space is known to be free again.
    payload_head: u64,
    /// Payload position after the message in each slot: what its consumption frees.
    payload_ends: Box<[u64]>,
}

impl<'m> Sender<'m> {
    /// The sending half of a ring nobody has sent on yet.
    pub fn new(ring: Ring<'m>) -> Self {
        assert!(ring.slots.len().is_power_of_two() && ring.payload.len().is_power_of_two());
        let payload_ends = vec![0; ring.slots.len()].into_boxed_slice();
        Self {
            ring,
            tail: 0,
            head: 0,
            payload_tail: 0,
            payload_head: 0,
            payload_ends,
        }
    }

    /// The ring this half sends on.
    #[inline(always)]
    pub fn ring(&self) -> Ring<'m> {
        self.ring
    }

    /// Publishes a message: `header` writes the first `used` bytes of the slot, `fill` the `bytes`
    /// of payload. Both write straight into shared memory: a header put together elsewhere and
    /// copied would stall on its own stores.
    ///
    /// # Panics
    /// When `bytes` exceeds [`Ring::fragment_bytes_max`] (and is not small enough to travel in the
    /// slot).
    #[inline(always)]
    pub fn push(
        &mut self,
        used: usize,
        header: impl FnOnce(&mut [u8; PREFIX_BYTES]),
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        if self.tail - self.head == self.ring.slots.len() as u64 {
            self.refresh();
            if self.tail - self.head == self.ring.slots.len() as u64 {
                return Err(Full);
            }
        }
        let slot = self.ring.slot(self.tail);
        let length = if used + bytes <= PREFIX_BYTES {
            // SAFETY: the receiver has consumed this slot's previous message (tail - head < slots),
            // so it is ours.
            unsafe {
                slot.prefix.write(|out| {
                    header(out);
                    fill(&mut out[used..used + bytes]);
                });
            }
            bytes as u32 | INLINE
        } else {
            let start = self.reserve(bytes)?;
            // SAFETY: `reserve` found these lines consumed; they are ours until the stamp below is
            // stored.
            unsafe { self.write_payload(start, bytes, fill) };
            // SAFETY: as above, the slot is ours.
            unsafe { slot.prefix.write(header) };
            bytes as u32
        };
        let index = self.tail as usize & (self.ring.slots.len() - 1);
        self.payload_ends[index] = self.payload_tail;
        let position = (self.tail as u32).wrapping_add(1);
        // Release: pairs with the receiver's acquire in `Receiver::peek`; header and payload are
        // visible before it.
        slot.stamp.store(
            u64::from(length) << 32 | u64::from(position),
            Ordering::Release,
        );
        self.claim_slot();
        self.tail += 1;
        if length & INLINE == 0 && bytes <= PLAIN_BYTES_MAX {
            self.claim_lines(bytes);
        }
        Ok(())
    }

    /// Asks for a slot that comes later, if the receiver is known to be done with it.
    #[cfg(not(loom))]
    #[inline(always)]
    fn claim_slot(&self) {
        let later = self.tail + CLAIMED_AHEAD;
        if later - self.head < self.ring.slots.len() as u64 {
            claim(std::ptr::from_ref(self.ring.slot(later)).cast());
        }
    }

    #[cfg(loom)]
    fn claim_slot(&self) {}

    /// Asks for the lines of the next payload, if it is as long as this one: the receiver has read
    /// them a lap ago, and a store to a line that lies in another core's cache waits for it. Longer
    /// payloads are copied by methods that need not.
    #[cfg(not(loom))]
    #[inline(always)]
    fn claim_lines(&self, bytes: usize) {
        let (start, end) = self.ring.place(self.payload_tail, bytes);
        if end - self.payload_head > self.ring.payload_bytes() {
            return;
        }
        let first = (start & (self.ring.payload_bytes() - 1)) as usize / LINE_BYTES;
        for line in &self.ring.payload[first..][..bytes.div_ceil(LINE_BYTES)] {
            claim(std::ptr::from_ref(line).cast());
        }
    }

    #[cfg(loom)]
    fn claim_lines(&self, _bytes: usize) {}

    /// Whether so many more messages of payloads of at most `piece` bytes, `bytes` together, find
    /// room.
    #[inline(always)]
    pub fn has_room(&mut self, messages: u64, piece: usize, bytes: u64) -> bool {
        // Each payload fills its last line; one of them may have to skip the buffer's end.
        let bytes = bytes + messages * LINE_BYTES as u64 + piece as u64;
        if !self.has_room_known(messages, bytes) {
            self.refresh();
            return self.has_room_known(messages, bytes);
        }
        true
    }

    #[inline(always)]
    fn has_room_known(&self, messages: u64, bytes: u64) -> bool {
        self.tail - self.head + messages <= self.ring.slots.len() as u64
            && self.payload_tail + bytes - self.payload_head <= self.ring.payload_bytes()
    }

    /// Takes payload space for one message.
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<u64, Full> {
        assert!(
            bytes <= self.ring.fragment_bytes_max(),
            "a fragment of {bytes} bytes does not fit the ring"
        );
        let (start, end) = self.ring.place(self.payload_tail, bytes);
        if end - self.payload_head > self.ring.payload_bytes() {
            self.refresh();
            if end - self.payload_head > self.ring.payload_bytes() {
                return Err(Full);
            }
        }
        self.payload_tail = end;
        Ok(start)
    }

    /// Learns what the receiver has consumed.
    #[inline(never)]
    fn refresh(&mut self) {
        // Acquire: pairs with the release in `Receiver::publish`; its reads of the slots are over.
        let head = self.ring.control.head.load(Ordering::Acquire);
        if head != self.head && head <= self.tail {
            self.head = head;
            self.payload_head =
                self.payload_ends[(head - 1) as usize & (self.ring.slots.len() - 1)];
        }
    }

    /// # Safety
    /// `start..start + bytes` is payload space this half has reserved.
    #[cfg(not(loom))]
    #[inline(always)]
    unsafe fn write_payload(&self, start: u64, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let offset = (start & (self.ring.payload_bytes() - 1)) as usize;
        assert!(offset + bytes <= self.ring.payload.len() * LINE_BYTES);
        let base = self.ring.payload.as_ptr().cast_mut().cast::<u8>();
        // SAFETY: inside the payload buffer by the assertion; ours by the caller's promise; bytes
        // are valid as they are.
        fill(unsafe { std::slice::from_raw_parts_mut(base.add(offset), bytes) });
    }

    /// # Safety
    /// `start..start + bytes` is payload space this half has reserved.
    #[cfg(loom)]
    unsafe fn write_payload(&self, start: u64, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let mut whole = vec![0; bytes];
        fill(&mut whole);
        let first = (start & (self.ring.payload_bytes() - 1)) as usize / LINE_BYTES;
        for (line, part) in self.ring.payload[first..]
            .iter()
            .zip(whole.chunks(LINE_BYTES))
        {
            // SAFETY: ours by the caller's promise; loom checks it.
            unsafe { line.write(|out| out[..part.len()].copy_from_slice(part)) };
        }
    }
}

/// Hints to the processor that a line will be written soon.
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
#[inline(always)]
pub(crate) fn claim(line: *const u8) {
    // SAFETY: a hint that changes nothing a program can see; processors without the instruction
    // take it for one that does nothing.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) line,
            options(nostack, preserves_flags, readonly)
        );
    }
}

#[cfg(all(not(loom), any(not(target_arch = "x86_64"), miri)))]
pub(crate) fn claim(_line: *const u8) {}

/// The receiver's half.
pub struct Receiver<'m> {
    ring: Ring<'m>,
    /// Position of the next message.
    head: u64,
    /// Payload position before the next message.
    payload_head: u64,
    /// What has been told to the sender.
    published: u64,
    payload_published: u64,
}

/// A message seen in the ring and not yet consumed.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Payload bytes.
    pub bytes: usize,
    /// The payload lies in the prefix, behind the header.
    pub inline: bool,
    /// Payload position, when it lies in the payload buffer.
    start: u64,
}

impl<'m> Receiver<'m> {
    /// The receiving half of a ring nobody has received from yet.
    pub fn new(ring: Ring<'m>) -> Self {
        assert!(ring.slots.len().is_power_of_two() && ring.payload.len().is_power_of_two());
        Self {
            ring,
            head: 0,
            payload_head: 0,
            published: 0,
            payload_published: 0,
        }
    }

    /// The ring this half receives from.
    #[inline(always)]
    pub fn ring(&self) -> Ring<'m> {
        self.ring
    }

    /// Whether a message is there: one load of a line that stays in this core's cache until the
    /// sender writes it.
    #[inline(always)]
    pub fn has_message(&self) -> bool {
        self.ring.slot(self.head).stamp.load(Ordering::Relaxed) as u32
            == (self.head as u32).wrapping_add(1)
    }

    /// The next message, if there is one. It stays in the ring until [`Receiver::consume`].
    #[inline(always)]
    pub fn peek(&self) -> Option<Seen> {
        let slot = self.ring.slot(self.head);
        // Acquire: pairs with the release in `Sender::push`.
        let stamp = slot.stamp.load(Ordering::Acquire);
        if stamp as u32 != (self.head as u32).wrapping_add(1) {
            return None;
        }
        let length = (stamp >> 32) as u32;
        let bytes = (length & !INLINE) as usize;
        let inline = length & INLINE != 0;
        let start = if inline {
            self.payload_head
        } else {
            self.ring.place(self.payload_head, bytes).0
        };
        Some(Seen {
            bytes,
            inline,
            start,
        })
    }

    /// Header of the message that [`Receiver::peek`] has just seen and, when it is inline, its
    /// payload behind the header.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn prefix(&self, _: &Seen) -> &'m [u8; PREFIX_BYTES] {
        // SAFETY: seen, so published; the sender does not write it again before we consume it.
        unsafe { self.ring.slot(self.head).prefix.get() }
    }

    /// Header of the message that [`Receiver::peek`] has just seen and, when it is inline, its
    /// payload behind the header.
    #[cfg(loom)]
    pub fn prefix(&self, _: &Seen) -> [u8; PREFIX_BYTES] {
        // SAFETY: seen, so published; loom checks it.
        unsafe { self.ring.slot(self.head).prefix.read(|bytes| *bytes) }
    }

    /// Whether the slot names no more bytes than the payload buffer holds where they would lie. The
    /// sender wrote the number, and may have written nonsense.
    #[inline(always)]
    pub fn is_sound(&self, seen: &Seen) -> bool {
        let offset = seen.start & (self.ring.payload_bytes() - 1);
        offset + seen.bytes as u64 <= self.ring.payload_bytes()
    }

    /// The payload of a message that was not inline.
    ///
    /// # Panics
    /// When it is not [sound](Receiver::is_sound): the sender's memory is corrupt.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn payload(&self, seen: &Seen) -> &'m [u8] {
        let offset = (seen.start & (self.ring.payload_bytes() - 1)) as usize;
        assert!(
            offset + seen.bytes <= self.ring.payload.len() * LINE_BYTES,
            "a ring slot names {} bytes at {offset}, beyond its payload buffer",
            seen.bytes
        );
        let base = self.ring.payload.as_ptr().cast::<u8>();
        // SAFETY: inside the buffer by the assertion; published with the slot and not rewritten
        // before `consume`.
        unsafe { std::slice::from_raw_parts(base.add(offset), seen.bytes) }
    }

    /// The payload of a message that was not inline.
    #[cfg(loom)]
    pub fn payload(&self, seen: &Seen) -> Vec<u8> {
        let first = (seen.start & (self.ring.payload_bytes() - 1)) as usize / LINE_BYTES;
        let mut whole = Vec::new();
        for line in &self.ring.payload[first..][..seen.bytes.div_ceil(LINE_BYTES)] {
            // SAFETY: published with the slot; loom checks it.
            unsafe { line.read(|bytes| whole.extend_from_slice(bytes)) };
        }
        whole.truncate(seen.bytes);
        whole
    }

    /// Gives the message's space back, to be published with others.
    #[inline(always)]
    pub fn consume(&mut self, seen: &Seen) {
        if !seen.inline {
            self.payload_head = seen.start + seen.bytes.next_multiple_of(LINE_BYTES) as u64;
        }
        self.head += 1;
        if self.head - self.published >= self.ring.slots.len() as u64 / 4
            || self.payload_head - self.payload_published >= self.ring.payload_bytes() / 4
        {
            self.publish();
        }
    }

    #[inline(always)]
    fn publish(&mut self) {
        self.published = self.head;
        self.payload_published = self.payload_head;
        // Release: pairs with the acquire in `Sender::refresh`; our reads are over before the space
        // is given back.
        self.ring.control.head.store(self.head, Ordering::Release);
    }
}
