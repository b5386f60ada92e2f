//! The memory that the process has mapped: where records and flags are written, and how far the
//! process has read.
//!
//! The only file with unsafe code. The process can write all of this memory at any moment, so
//! nothing here is ever a Rust reference, and nothing is read back but `Control::tail`, once at a
//! time. Head and tail that decide where is room are private; the process's word for the tail
//! counts only between the two.
//!
//! Records never wrap and fillers are never needed: payload is cut where the area ends, and a rest
//! in which no record would fit belongs to the record before it. So wherever the head is, at least
//! [`SPAN_MIN`] bytes follow it without a wrap, and [`ROOM_MIN`] bytes of room are enough for a
//! record without payload.
#![allow(unsafe_code)]

use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use oxmpi_wire::PREFIX_BYTES;
use oxmpi_wire::o2g::{
    Control, DUMP_BYTES_MAX, DUMP_BYTES_MIN, Desk, Done, RECORD_ALIGN, RECORD_BYTES, Record,
    RecordKind,
};

use crate::error::AreaError;

/// Bytes that a record without payload takes.
pub(crate) const SPAN_MIN: u64 = (RECORD_BYTES as u64).next_multiple_of(ALIGN);
/// Room that is enough for a record without payload wherever the head is: the record, and the
/// longest rest in which no other would fit.
pub(crate) const ROOM_MIN: u64 = SPAN_MIN + (SPAN_MIN - ALIGN);

const ALIGN: u64 = RECORD_ALIGN as u64;

/// The mapped memory, and the private truth about it.
pub struct Area {
    control: *mut Control,
    done: *mut Done,
    slots: u32,
    desk: *mut Desk,
    desks: u32,
    dump: *mut u8,
    /// A power of two.
    bytes: u64,
    /// Where the next record begins.
    head: u64,
    /// What the process has taken, as far as it is believed.
    tail: u64,
    /// Room that records will need which must not fail.
    reserved: u64,
    /// What the process was told last.
    stopped: bool,
}

// SAFETY: the pointers are to memory that belongs to no thread, and `Area::new` has been promised
// that it outlives the area.
unsafe impl Send for Area {}

/// A record that is about to be written, without what follows from its place.
pub(crate) struct Draft<'a> {
    pub kind: RecordKind,
    pub rank: u32,
    pub slot: u32,
    pub cookie: u64,
    pub payload: u64,
    pub detail: u32,
    pub placed: u64,
    pub prefix: &'a [u8; PREFIX_BYTES],
}

impl Area {
    /// The area of a context with `slots` entries and `desks` sockets.
    ///
    /// # Safety
    /// `control` is the start of a page, `done` has room for `slots` flags, `desk` for `desks` desks
    /// and `dump` for `bytes` bytes; all are zeroed, aligned to pages, writable until the area is dropped, and used by
    /// nobody else in the kernel.
    pub unsafe fn new(
        control: *mut u8,
        done: *mut u8,
        slots: u32,
        desk: *mut u8,
        desks: u32,
        dump: *mut u8,
        bytes: u64,
    ) -> Result<Area, AreaError> {
        if !bytes.is_power_of_two() || !(DUMP_BYTES_MIN..=DUMP_BYTES_MAX).contains(&bytes) {
            return Err(AreaError::Bytes { bytes });
        }
        Ok(Area {
            control: control.cast(),
            done: done.cast(),
            slots,
            desk: desk.cast(),
            desks,
            dump,
            bytes,
            head: 0,
            tail: 0,
            reserved: 0,
            stopped: false,
        })
    }

    /// Slots that there are flags for.
    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// Sockets that there are desks for.
    pub(crate) fn desks(&self) -> u32 {
        self.desks
    }

    /// Whether the process is between two packets of its own. If not, it is told that an answer is
    /// owed, and looked at again: the process, which ends its packet and then looks, misses one of
    /// the two otherwise.
    pub(crate) fn is_at_rest(&mut self, desk: u32) -> bool {
        if self.load_busy(desk) == 0 {
            return true;
        }
        self.tell_owed(desk, true);
        fence(Ordering::SeqCst);
        self.load_busy(desk) == 0
    }

    fn load_busy(&self, desk: u32) -> u32 {
        assert!(desk < self.desks);
        // SAFETY: within the mapped desks by the assertion, and aligned there.
        let busy = unsafe { AtomicU32::from_ptr(&raw mut (*self.desk.add(desk as usize)).busy) };
        busy.load(Ordering::Acquire)
    }

    /// Tells the process whether an answer waits for the end of its packet.
    pub(crate) fn tell_owed(&mut self, desk: u32, owed: bool) {
        assert!(desk < self.desks);
        // SAFETY: as in `load_busy`.
        let flag = unsafe { AtomicU32::from_ptr(&raw mut (*self.desk.add(desk as usize)).owed) };
        flag.store(u32::from(owed), Ordering::Relaxed);
    }

    /// Where the next record will begin.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// What the process has taken.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// Bytes that are neither taken by records nor promised to some.
    pub(crate) fn room(&self) -> u64 {
        self.bytes - (self.head - self.tail) - self.reserved
    }

    /// Whether there is enough room that reading is worth starting again.
    pub(crate) fn is_airy(&self) -> bool {
        self.room() >= ROOM_MIN && (self.room() >= self.bytes / 8 || self.head == self.tail)
    }

    /// The process says that it has taken everything before `tail`.
    pub(crate) fn take_to(&mut self, tail: u64) {
        self.tail = (tail & !(ALIGN - 1)).clamp(self.tail, self.head);
    }

    /// Believes the mapped tail as far as it can be true.
    pub(crate) fn take_mapped(&mut self) {
        // SAFETY: the control page is mapped as long as the area lives, and `tail` is aligned in
        // it. Acquire pairs with the process's release: what it has read, it has read before it may
        // be overwritten.
        let tail = unsafe { AtomicU64::from_ptr(&raw mut (*self.control).tail) };
        self.take_to(tail.load(Ordering::Acquire));
    }

    /// Tells the process whether reading has stopped. After `true` the caller looks at the mapped
    /// tail again: the process, which moves its tail and then looks here, misses one of the two
    /// otherwise.
    pub(crate) fn tell_stopped(&mut self, stopped: bool) {
        if self.stopped == stopped {
            return;
        }
        self.stopped = stopped;
        // SAFETY: as in `take_mapped`.
        let flag = unsafe { AtomicU32::from_ptr(&raw mut (*self.control).stopped) };
        flag.store(u32::from(stopped), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Keeps room for a record without payload.
    pub(crate) fn reserve(&mut self) {
        assert!(self.room() >= ROOM_MIN, "room is asked for before");
        self.reserved += ROOM_MIN;
    }

    /// Gives that room back: it is used by the next record, or no longer needed.
    pub(crate) fn unreserve(&mut self) {
        self.reserved -= ROOM_MIN;
    }

    /// Writes a record with as much of `payload` as there is room for, and returns how much that
    /// was. There are at least [`ROOM_MIN`] bytes of room.
    pub(crate) fn write(&mut self, draft: &Draft, payload: &[u8]) -> usize {
        let (here, length) = self.fit(payload.len());
        let record = Record {
            length: length as u32,
            kind: draft.kind as u16,
            reserved: 0,
            rank: draft.rank,
            slot: draft.slot,
            cookie: draft.cookie,
            payload: draft.payload,
            here: here as u32,
            detail: draft.detail,
            placed: draft.placed,
            prefix: *draft.prefix,
        };
        let place = self.place();
        assert!(place + length <= self.bytes && length <= self.room());
        // SAFETY: record and payload lie in `length` bytes from `place` on, which are within the
        // area by the assertion; the source is the core's own or the socket's memory. The process
        // may read and write the target meanwhile, which spoils nothing but its own data: nobody in
        // the kernel reads it.
        unsafe {
            let at = self.dump.add(place as usize);
            ptr::copy_nonoverlapping((&raw const record).cast::<u8>(), at, RECORD_BYTES);
            ptr::copy_nonoverlapping(payload.as_ptr(), at.add(RECORD_BYTES), here);
        }
        self.head += length;
        // SAFETY: as in `take_mapped`. Release pairs with the process's acquire of `head`: it sees
        // whole records only.
        let head = unsafe { AtomicU64::from_ptr(&raw mut (*self.control).head) };
        head.store(self.head, Ordering::Release);
        here
    }

    /// How many of `wanted` payload bytes a record at the head can have, and its length then.
    fn fit(&self, wanted: usize) -> (usize, u64) {
        let to_end = self.bytes - self.place();
        let room = self.room();
        let most = to_end.min(room) - RECORD_BYTES as u64;
        let here = (wanted as u64).min(most);
        let length = (RECORD_BYTES as u64 + here).next_multiple_of(ALIGN);
        if to_end - length >= SPAN_MIN || to_end == length {
            return (here as usize, length);
        }
        // What would be left at the end is too short for a record.
        if to_end <= room {
            return (here as usize, to_end);
        }
        let length = to_end - SPAN_MIN;
        let here = here.min(length - RECORD_BYTES as u64);
        (here as usize, length)
    }

    fn place(&self) -> u64 {
        self.head & (self.bytes - 1)
    }

    /// Writes the flag of a slot: what it says first, then the state.
    pub(crate) fn flag(&mut self, slot: u32, done: Done) {
        self.flag_field(slot, offset_of!(Done, source), done.source);
        self.flag_field(slot, offset_of!(Done, tag), done.tag);
        self.flag_field(slot, offset_of!(Done, bytes), done.bytes);
        self.flag_field(slot, offset_of!(Done, cookie), done.cookie);
        self.flag_end(slot, done.state, done.error);
    }

    /// Changes how an entry is, and leaves what else its flag says.
    pub(crate) fn flag_end(&mut self, slot: u32, state: u32, error: u32) {
        self.flag_field(slot, offset_of!(Done, error), error);
        let at = self.flag_at::<u32>(slot, offset_of!(Done, state));
        // SAFETY: `flag_at` gives an aligned place in the mapped flags. Release pairs with the
        // process's acquire of the state: buffer and fields are as it says.
        unsafe { AtomicU32::from_ptr(at) }.store(state, Ordering::Release);
    }

    fn flag_field<T>(&mut self, slot: u32, offset: usize, value: T) {
        // SAFETY: `flag_at` gives an aligned place in the mapped flags; volatile because the
        // process looks at it meanwhile.
        unsafe { self.flag_at::<T>(slot, offset).write_volatile(value) }
    }

    fn flag_at<T>(&self, slot: u32, offset: usize) -> *mut T {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: there are `slots` flags, and `offset` is that of a field of `Done`.
        unsafe { self.done.add(slot as usize).byte_add(offset).cast() }
    }
}

const _: () = assert!(SPAN_MIN == 128 && ROOM_MIN == 224 && DUMP_BYTES_MIN >= 4 * ROOM_MIN);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// What happens to an area: a record of so much payload, a reservation, its use, or the process
    /// takes so much.
    #[derive(Clone, Debug)]
    enum Event {
        Write(usize),
        Reserve,
        Use,
        Take(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0usize..70_000).prop_map(Event::Write),
            4 => (0usize..200).prop_map(Event::Write),
            2 => Just(Event::Reserve),
            2 => Just(Event::Use),
            4 => (0u64..70_000).prop_map(Event::Take),
        ]
    }

    fn draft() -> Draft<'static> {
        Draft {
            kind: RecordKind::Payload,
            rank: 0,
            slot: 0,
            cookie: 0,
            payload: 0,
            detail: 0,
            placed: 0,
            prefix: &[0; PREFIX_BYTES],
        }
    }

    proptest! {
        /// Room that is there is enough wherever the head is, and a record never wraps; `write`
        /// asserts the rest.
        #[test]
        fn records_fit(events in prop::collection::vec(event(), 0..400)) {
            let bytes = DUMP_BYTES_MIN;
            let mut control = vec![0u64; 512];
            let mut dump = vec![0u64; bytes as usize / 8];
            let payload = vec![7u8; 70_000];
            // SAFETY: both live as long as the area, are aligned, and nobody else has them; there
            // are no flags.
            let area = unsafe {
                let (control, dump) = (control.as_mut_ptr().cast(), dump.as_mut_ptr().cast());
                Area::new(control, ptr::null_mut(), 0, ptr::null_mut(), 0, dump, bytes)
            };
            let mut area = area.expect("the smallest size");
            let mut reserved = 0;
            for event in events {
                match event {
                    Event::Write(wanted) if area.room() >= ROOM_MIN => {
                        let (head, room) = (area.head, area.room());
                        let here = area.write(&draft(), &payload[..wanted]);
                        prop_assert!(wanted == 0 || here > 0, "no progress");
                        prop_assert!(area.head - head <= room);
                        let full = here == wanted || area.room() < ROOM_MIN + ALIGN;
                        prop_assert!(full || area.place() == 0 || bytes - area.place() == SPAN_MIN);
                    }
                    Event::Reserve if area.room() >= ROOM_MIN => {
                        area.reserve();
                        reserved += 1;
                    }
                    Event::Use if reserved > 0 => {
                        reserved -= 1;
                        area.unreserve();
                        area.write(&draft(), &[]);
                    }
                    Event::Take(taken) => area.take_to(area.tail + taken),
                    _ => {}
                }
                let to_end = bytes - area.place();
                prop_assert!(to_end >= SPAN_MIN && area.head.is_multiple_of(ALIGN));
                prop_assert!(area.head - area.tail + area.reserved <= bytes);
            }
        }
    }
}
