//! The shortest way: operations on one block, or one word, of memory that is mapped here, and the
//! locks and flushes that go with them.
//!
//! Most operations of a program on its own host are of this kind, and their whole cost is what is
//! done before the memory is touched. So nothing is described here: a few loads say whether the
//! operation is of this kind and allowed, and if any of them says no, nothing has happened and the
//! long way (`operation`) decides, which also knows what to say about errors. The two ways agree on
//! what they do to memory: `accumulate` has the words of both.

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;
use oxmpi_engine::full_fence;
use oxmpi_engine::turn_lock::Drawn;
use oxmpi_windows::lock::Held;

use super::epoch::Hold;
use super::memory::{Near, Part};
use super::{LockKind, Target, Window, accumulate};
use crate::buffer::Buffer;
use crate::error::ErrorKind;

impl Window {
    /// The part of a rank; none if there is no such rank.
    #[inline(always)]
    fn part_at_hand(&self, rank: i32) -> Option<&Part> {
        self.parts.get(rank as u32 as usize)
    }

    /// Where a block of a rank's memory lies here; none if it is not mapped, does not lie in the
    /// window, has no bytes, or no epoch is open.
    #[inline(always)]
    fn block_at_hand(&self, rank: i32, displacement: i64, bytes: u64) -> Option<*mut u8> {
        let part = self.part_at_hand(rank)?;
        // A negative displacement is a number beyond every window.
        let from = (displacement as u64).checked_mul(u64::from(part.unit))?;
        let end = from.checked_add(bytes)?;
        let is_inside = end <= part.reach && bytes > 0;
        let is_allowed = is_inside && self.epoch.is_open(rank as u32);
        is_allowed.then(|| part.base.wrapping_add(from as usize))
    }

    /// Copies a block to a rank's memory, or from it; false, and nothing has happened, if that
    /// takes more than a copy by this process.
    ///
    /// # Safety
    /// `here` must be valid for so many bytes; a put only reads it.
    #[inline(always)]
    pub unsafe fn transfer_at_once(
        &self,
        what: Transfer,
        here: *mut u8,
        bytes: u64,
        rank: i32,
        displacement: i64,
    ) -> bool {
        let Some(there) = self.block_at_hand(rank, displacement, bytes) else {
            return false;
        };
        let (from, to) = match what {
            Transfer::Put => (here, there),
            Transfer::Get => (there, here),
        };
        // SAFETY: the caller's promise; the place lies in the window, which stays mapped.
        unsafe { copy(from, to, bytes as usize) };
        true
    }

    /// Changes one element and reads what was there, if the processor has an instruction for it;
    /// false as in [`Window::transfer_at_once`]. Without a `result` nothing is read.
    ///
    /// # Safety
    /// `origin` (unless the operation is MPI_NO_OP) and `result` must be valid for an element.
    #[inline(always)]
    pub unsafe fn change_at_once(
        &self,
        (basic, op): (Basic, Predefined),
        origin: *const u8,
        result: Option<*mut u8>,
        rank: i32,
        displacement: i64,
    ) -> bool {
        let bytes = u64::from(basic.size());
        let Some(place) = self.block_at_hand(rank, displacement, bytes) else {
            return false;
        };
        // SAFETY: the caller's promise; the place lies in the window, which stays mapped, and whose
        // elements are changed through `accumulate` alone while accumulations may meet.
        unsafe { accumulate::change_word(basic, op, place, origin, result) }
    }

    /// Compares one element and swaps it, if the processor has an instruction for it; false as in
    /// [`Window::transfer_at_once`].
    ///
    /// # Safety
    /// All three addresses must be valid for an element.
    #[inline(always)]
    pub unsafe fn swap_at_once(
        &self,
        basic: Basic,
        (compare, origin): (*const u8, *const u8),
        result: *mut u8,
        rank: i32,
        displacement: i64,
    ) -> bool {
        let bytes = u64::from(basic.size());
        let Some(place) = self.block_at_hand(rank, displacement, bytes) else {
            return false;
        };
        // SAFETY: as in `change_at_once`.
        unsafe { accumulate::swap_word(basic, place, compare, origin, result) }
    }
}

/// Which way data moves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// To the rank's memory.
    Put,
    /// From it.
    Get,
}

/// A lock that is not free; see [`Window::lock_at_once`].
#[must_use]
pub struct Later {
    target: u32,
    near: Near,
    kind: LockKind,
    drawn: Drawn,
}

/// Synchronisation with a rank whose memory is mapped here.
impl Window {
    /// Completes all operations on a rank; false if that takes more than a fence, or is not
    /// allowed.
    #[inline(always)]
    pub fn flush_at_once(&self, rank: i32) -> bool {
        let is_direct = self.part_at_hand(rank).is_some_and(|part| part.direct);
        if !is_direct || !self.epoch.is_locked(rank as u32) {
            return false;
        }
        full_fence();
        self.origin.push(&self.core);
        true
    }

    /// Locks a rank; false, and nothing has happened, if its lock has no words here or the epoch
    /// does not allow it. If others hold the lock, [`Window::lock_later`] must follow.
    #[inline(always)]
    pub fn lock_at_once(&self, kind: LockKind, rank: i32) -> Result<bool, Later> {
        let Some(near) = self.part_at_hand(rank).and_then(|part| part.near) else {
            return Ok(false);
        };
        let target = rank as u32;
        if !self.epoch.may_lock(target) {
            return Ok(false);
        }
        let control = &self.core.control;
        let entry = control.entry(near.index, self.rank());
        let drawn = control.lock(near.index).draw(kind.into(), entry);
        let Drawn::Inside(ticket, turn) = drawn else {
            return Err(Later {
                target,
                near,
                kind,
                drawn,
            });
        };
        self.wake(target, near, turn);
        self.note_lock(target, kind, Held::Turn(ticket));
        Ok(true)
    }

    /// Waits for a lock that was not free.
    #[cold]
    pub fn lock_later(&self, later: Later) -> Result<(), ErrorKind> {
        let Later {
            target,
            near,
            kind,
            drawn,
        } = later;
        let held = self.take_later(target, near, kind.into(), drawn)?;
        self.note_lock(target, kind, held);
        Ok(())
    }

    #[inline(always)]
    fn note_lock(&self, target: u32, kind: LockKind, held: Held) {
        self.held.put(target, held);
        self.epoch.lock(Hold {
            target,
            unchecked: false,
            exclusive: kind == LockKind::Exclusive,
        });
    }

    /// Completes all operations on a rank and gives its lock back; false, and nothing has happened,
    /// if that takes more than its words.
    #[inline(always)]
    pub fn unlock_at_once(&self, rank: i32) -> bool {
        let Some(part) = self.part_at_hand(rank) else {
            return false;
        };
        let target = rank as u32;
        let (Some(near), true) = (part.near, part.direct) else {
            return false;
        };
        if !self.epoch.has_checked_lock(target) {
            return false;
        }
        let _ = self.epoch.unlock(target);
        self.origin.push(&self.core);
        // Whoever finds the lock given back sees what was done.
        self.give_back(target, near);
        true
    }
}

/// The memory here, bytes, rank and displacement of an operation whose two sides are blocks.
#[inline(always)]
pub(super) fn blocks(origin: &Buffer, target: &Target<'_>) -> Option<(*mut u8, u64, i32, i64)> {
    let address = origin.contiguous()?;
    let bytes = target.datatype.block_bytes(target.count)?;
    let rank = i32::try_from(target.rank?).ok()?;
    (bytes == origin.bytes()).then_some((address, bytes, rank, target.displacement))
}

/// Copies a block; a word, which is what most programs move, without a call.
///
/// # Safety
/// Both places must be valid for so many bytes; they may overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; the loads and stores need no alignment.
    unsafe {
        match bytes {
            8 => to
                .cast::<u64>()
                .write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to
                .cast::<u32>()
                .write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => std::ptr::copy(from, to, bytes),
        }
    }
}
