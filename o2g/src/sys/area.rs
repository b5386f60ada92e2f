//! The mapped memory: control page, flags, dump area.
//!
//! The kernel writes it while we read, so there is never a reference to it, with one exception:
//! payload between the tail and the head, which the kernel leaves alone until the tail has passed
//! it, and which only [`Area::advance_to`] (by `&mut`) can let pass. Lengths and positions found in
//! it are compared with what is possible before they are used. The partner of each acquire here is
//! the release store of the same field in `kernel/core/src/area.rs`, and the other way round for
//! `tail`.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use oxmpi_wire::PREFIX_BYTES;
use oxmpi_wire::o2g::{
    Control, Desk, Done, FREE, PAGE_BYTES, RECORD_ALIGN, RECORD_BYTES, Record, RecordKind,
};

use crate::RecordError;

/// What a filler has of a record: there may be no room for more before the end of the area.
const FILLER_BYTES: usize = offset_of!(Record, reserved);

const _: () = assert!(FILLER_BYTES <= RECORD_ALIGN);

/// Bytes of the flags of so many entries, in whole pages.
pub(crate) fn flags_bytes(n_entries: u32) -> usize {
    (n_entries as usize * size_of::<Done>()).next_multiple_of(PAGE_BYTES)
}

/// Bytes of the desks of so many sockets, in whole pages.
pub(crate) fn desks_bytes(n_socks: u32) -> usize {
    (n_socks as usize * size_of::<Desk>()).next_multiple_of(PAGE_BYTES)
}

/// One record: its fields, copied once, and the payload where the kernel put it.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// What it tells.
    pub kind: RecordKind,
    /// The socket's rank, as it was registered.
    pub rank: u32,
    /// Slot and cookie of the entry that the packet's message was matched with.
    pub entry: Option<(u32, u64)>,
    /// Payload bytes of the whole packet.
    pub packet_bytes: u64,
    /// Payload bytes that are in the entry's buffer.
    pub placed: u64,
    /// Says more about some kinds, see [`RecordKind`].
    pub detail: u32,
    /// Header and body of the packet.
    pub prefix: [u8; PREFIX_BYTES],
    /// What the record has of the payload.
    pub payload: &'a [u8],
    /// Where the next one begins.
    end: u64,
}

impl RecordView<'_> {
    /// The position behind it: an entry that is put with this as its `tail` says that the record is
    /// known.
    pub fn end(&self) -> u64 {
        self.end
    }
}

/// The memory; unmapped when it is dropped.
pub struct Area {
    memory: NonNull<u8>,
    map_bytes: usize,
    n_entries: u32,
    n_socks: u32,
    /// Where the dump area begins.
    dump: usize,
    dump_bytes: u64,
    /// What has been taken; the control page has a copy for the kernel.
    tail: u64,
}

// SAFETY: the memory belongs to the area alone, which reads it by atomic or volatile loads and
// writes it only by `&mut`.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

impl Area {
    /// Maps what the driver has made of `set_dump_area`.
    pub fn map(
        device: BorrowedFd<'_>,
        n_entries: u32,
        n_socks: u32,
        dump_bytes: u64,
    ) -> io::Result<Area> {
        let fd = device.as_raw_fd();
        Area::over(n_entries, n_socks, dump_bytes, libc::MAP_SHARED, fd)
    }

    fn over(
        n_entries: u32,
        n_socks: u32,
        dump_bytes: u64,
        flags: i32,
        fd: i32,
    ) -> io::Result<Area> {
        let dump = PAGE_BYTES + flags_bytes(n_entries) + desks_bytes(n_socks);
        let map_bytes = dump + dump_bytes as usize;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Area {
            memory: NonNull::new(memory.cast()).expect("mmap chooses no null"),
            map_bytes,
            n_entries,
            n_socks,
            dump,
            dump_bytes,
            tail: 0,
        })
    }

    /// What has been taken.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Where the next record will begin.
    pub fn head(&self) -> u64 {
        self.load_u64(offset_of!(Control, head))
    }

    /// The driver reads no further until it is told what has been taken.
    pub fn is_stopped(&self) -> bool {
        self.load_u32(offset_of!(Control, stopped), Ordering::Relaxed) != 0
    }

    /// The same for who found nothing to read: our tail is seen by the kernel before its flag by
    /// us, so one of the two notices.
    pub fn is_stopped_for_certain(&self) -> bool {
        fence(Ordering::SeqCst);
        self.is_stopped()
    }

    /// Whether so much has been taken that going on is worth a system call.
    pub fn is_mostly_free(&self) -> bool {
        self.head().wrapping_sub(self.tail) <= self.dump_bytes / 4 * 3
    }

    /// The state of an entry, by one load; [`FREE`] for a slot that does not exist.
    pub fn state(&self, slot: u32) -> u32 {
        if slot >= self.n_entries {
            return FREE;
        }
        let at = PAGE_BYTES + slot as usize * size_of::<Done>();
        self.load_u32(at + offset_of!(Done, state), Ordering::Acquire)
    }

    /// All of it. The kernel writes the state last, so what it announces is there.
    pub fn done(&self, slot: u32) -> Done {
        let state = self.state(slot);
        if slot >= self.n_entries {
            return Done::default();
        }
        let at = PAGE_BYTES + slot as usize * size_of::<Done>();
        // SAFETY: within the mapping (`n_entries`), aligned to 32 bytes, integers only.
        let done = unsafe {
            self.at(at, size_of::<Done>())
                .cast::<Done>()
                .read_volatile()
        };
        Done { state, ..done }
    }

    /// The process is about to write to the socket of a desk.
    pub fn begin_writing(&self, desk: u32) {
        if let Some(busy) = self.desk_word(desk, offset_of!(Desk, busy)) {
            // The kernel looks under the lock that the write takes: what comes before the write
            // here is seen there.
            busy.store(1, Ordering::Release);
        }
    }

    /// What it wrote ends with a packet. Whether the driver waits for that to write an answer.
    pub fn end_writing(&self, desk: u32) -> bool {
        let words = (
            self.desk_word(desk, offset_of!(Desk, busy)),
            self.desk_word(desk, offset_of!(Desk, owed)),
        );
        let (Some(busy), Some(owed)) = words else {
            return false;
        };
        busy.store(0, Ordering::Release);
        fence(Ordering::SeqCst);
        owed.load(Ordering::Relaxed) != 0
    }

    fn desk_word(&self, desk: u32, offset: usize) -> Option<&AtomicU32> {
        if desk >= self.n_socks {
            return None;
        }
        let first = PAGE_BYTES + flags_bytes(self.n_entries);
        let at = first + desk as usize * size_of::<Desk>() + offset;
        // SAFETY: within the mapping (`n_socks`), aligned; both sides use it as a whole.
        Some(unsafe { AtomicU32::from_ptr(self.at(at, size_of::<u32>()).cast_mut().cast()) })
    }

    /// The next record that is no filler.
    pub fn peek(&self) -> Result<Option<RecordView<'_>>, RecordError> {
        let head = self.head();
        if head == self.tail {
            return Ok(None);
        }
        let ready = head.wrapping_sub(self.tail);
        let (dump_bytes, tail) = (self.dump_bytes, self.tail);
        if ready > dump_bytes || !ready.is_multiple_of(RECORD_ALIGN as u64) {
            return Err(RecordError::Head {
                head,
                tail,
                dump_bytes,
            });
        }
        let mut position = tail;
        loop {
            if position == head {
                return Ok(None);
            }
            let left = head - position;
            let (length, kind) = self.front(position, left)?;
            if kind != RecordKind::Filler {
                return self.view(position, length, kind).map(Some);
            }
            position += length;
        }
    }

    /// Gives everything before `position`, which is a record's end, back to the kernel.
    pub fn advance_to(&mut self, position: u64) -> Result<(), RecordError> {
        let (head, tail) = (self.head(), self.tail);
        if position.wrapping_sub(tail) > head.wrapping_sub(tail)
            || !position.is_multiple_of(RECORD_ALIGN as u64)
        {
            return Err(RecordError::Position {
                position,
                head,
                tail,
            });
        }
        self.tail = position;
        // SAFETY: within the control page, aligned; the kernel reads it as a whole.
        unsafe { self.atomic_u64(offset_of!(Control, tail)) }.store(position, Ordering::Release);
        Ok(())
    }

    /// Length and kind of the record at a position, `left` bytes before the head.
    fn front(&self, position: u64, left: u64) -> Result<(u64, RecordKind), RecordError> {
        let place = position & (self.dump_bytes - 1);
        let at = self.at(self.dump + place as usize, FILLER_BYTES);
        // SAFETY: places are multiples of 32 within the dump area, so that these eight bytes are in
        // the mapping and aligned.
        let (length, kind) = unsafe {
            (
                at.add(offset_of!(Record, length))
                    .cast::<u32>()
                    .read_volatile(),
                at.add(offset_of!(Record, kind))
                    .cast::<u16>()
                    .read_volatile(),
            )
        };
        let bad = RecordError::Length {
            position,
            length,
            kind,
        };
        let bytes = u64::from(length);
        let Some(known) = RecordKind::from_number(kind) else {
            return Err(bad);
        };
        let least = match known {
            RecordKind::Filler => RECORD_ALIGN,
            _ => RECORD_BYTES,
        };
        let fits = bytes >= least as u64
            && bytes % RECORD_ALIGN as u64 == 0
            && bytes <= left
            && place + bytes <= self.dump_bytes;
        if !fits {
            return Err(bad);
        }
        Ok((bytes, known))
    }

    fn view(
        &self,
        position: u64,
        length: u64,
        kind: RecordKind,
    ) -> Result<RecordView<'_>, RecordError> {
        let place = self.dump + (position & (self.dump_bytes - 1)) as usize;
        // SAFETY: `front` found the record within the area and at least this long; integers only.
        let record = unsafe {
            self.at(place, RECORD_BYTES)
                .cast::<Record>()
                .read_volatile()
        };
        let here = record.here as usize;
        if RECORD_BYTES + here > length as usize || u64::from(record.here) > record.payload {
            return Err(RecordError::Payload {
                position,
                here: record.here,
                length: length as u32,
                payload: record.payload,
            });
        }
        if record.slot != oxmpi_wire::o2g::NO_SLOT && record.slot >= self.n_entries {
            return Err(RecordError::Slot {
                position,
                slot: record.slot,
                n_entries: self.n_entries,
            });
        }
        let payload = self.at(place + RECORD_BYTES, here);
        // SAFETY: inside the record, hence between tail and head, where the kernel writes nothing
        // while `self` is borrowed.
        let payload = unsafe { std::slice::from_raw_parts(payload, here) };
        Ok(RecordView {
            kind,
            rank: record.rank,
            entry: (record.slot != oxmpi_wire::o2g::NO_SLOT)
                .then_some((record.slot, record.cookie)),
            packet_bytes: record.payload,
            placed: record.placed,
            detail: record.detail,
            prefix: record.prefix,
            payload,
            end: position + length,
        })
    }

    fn load_u64(&self, at: usize) -> u64 {
        // SAFETY: a field of the control page, aligned.
        unsafe { self.atomic_u64(at) }.load(Ordering::Acquire)
    }

    fn load_u32(&self, at: usize, order: Ordering) -> u32 {
        let field = self.at(at, size_of::<u32>()).cast::<u32>();
        // SAFETY: a field of the control page or of a flag, aligned, in the mapping as long as
        // `self` is.
        unsafe { AtomicU32::from_ptr(field.cast_mut()) }.load(order)
    }

    /// # Safety
    /// `at` is a multiple of 8 that the kernel and we access only as a whole.
    unsafe fn atomic_u64(&self, at: usize) -> &AtomicU64 {
        let field = self.at(at, size_of::<u64>()).cast::<u64>();
        // SAFETY: in the mapping (`at` checked it), the rest is the caller's.
        unsafe { AtomicU64::from_ptr(field.cast_mut()) }
    }

    /// The address of `bytes` bytes from `offset` on, which must be in the mapping.
    fn at(&self, offset: usize, bytes: usize) -> *const u8 {
        assert!(
            offset <= self.map_bytes && bytes <= self.map_bytes - offset,
            "{bytes} bytes from {offset} on are not in a mapping of {} bytes",
            self.map_bytes
        );
        // SAFETY: the sum is in the mapping or at its end.
        unsafe { self.memory.as_ptr().add(offset) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: what `over` mapped; payload that is borrowed borrows `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.map_bytes) };
    }
}

#[cfg(test)]
mod tests;
