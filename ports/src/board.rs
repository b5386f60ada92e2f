//! A board: a few cells of shared memory through which the members of a group that live on one host
//! do small collectives.
//!
//! Each member owns a cell. For operation number k a member writes its contribution into the half k
//! mod 2 of its cell, or, if it is short, into the line k mod 64, and stamps that line with k; the
//! others read it. Who writes for operation k + 2 (k + 64) must know that everybody is *done* with
//! operation k, which it knows for free whenever a later one had it wait for everybody, and
//! otherwise learns from the members' done words. One store and one load per pair of members is the
//! whole cost, and when ranks outnumber cores everybody needs to run only once per operation; the
//! root of short broadcasts runs ahead by 64 of them.
//!
//! The board lies in the port of the group's first member, which hands it out again only after all
//! members are done. Numbers continue over the groups, so that what a former group left behind
//! means nothing.

use std::sync::Arc;

use crate::layout::{CELL_LINES, DEPTH, HALVES, LINE, PAGE_BYTES, member_bytes};
use crate::port::Port;
use crate::ring::claim;
use crate::segment::{PortState, Segment, SegmentError};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Bytes that travel in the stamp's own line, behind the stamp and the note.
pub const INLINE_BYTES: usize = 48;

/// A member that runs ahead asks for the line of its stamp so many operations before it writes it.
const CLAIMED_AHEAD: u64 = 4;

/// Which board a group uses: chosen by its first member, told to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The port it lies in.
    pub port: u32,
    /// Its number there.
    pub board: u32,
    /// Operations that former groups did on it; this group's numbers continue from here.
    pub base: u64,
}

/// One member's view of a board.
pub struct Board {
    segment: Arc<Segment>,
    ticket: Ticket,
    /// Where it begins in the segment.
    base: u64,
    /// Ports of the members, by rank in the group.
    members: Vec<u32>,
    me: usize,
    cell_bytes: usize,
    /// Number of the last operation begun.
    operation: u64,
    /// Everybody is known to be done with operations up to this one.
    known_done: u64,
    registered: bool,
    /// Fence between stamping and looking for sleepers (see `membarrier`).
    fence: bool,
}

#[repr(C, align(64))]
struct Sleepers(AtomicU32);

impl Board {
    /// Member `me`'s view of the board that `ticket` names.
    pub fn open(
        port: &Port,
        ticket: Ticket,
        members: Vec<u32>,
        me: usize,
    ) -> Result<Self, SegmentError> {
        let segment = Arc::clone(port.segment());
        let layout = segment.layout();
        let base = layout.board(ticket.port, ticket.board as usize);
        let board = Self {
            ticket,
            base,
            me,
            cell_bytes: layout.board_cell_bytes,
            operation: ticket.base,
            known_done: ticket.base,
            registered: port.is_registered(),
            fence: true,
            members,
            segment,
        };
        // Memory for the control page and the lines everybody reads; what is larger comes with its
        // first use.
        board.segment.reserve(base, PAGE_BYTES)?;
        for member in 0..board.members.len() {
            board
                .segment
                .reserve(base + board.cell_offset(member), CELL_LINES)?;
        }
        let cell = base + board.cell_offset(me);
        board
            .segment
            .reserve(cell, member_bytes(board.cell_bytes))?;
        Ok(board)
    }

    /// Which board this is.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The members' number.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The largest contribution to one operation.
    pub fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Begins the next operation; all members begin the same operations in the same order.
    #[inline(always)]
    pub fn begin(&mut self) -> u64 {
        self.operation += 1;
        self.operation
    }

    /// Whether this member's contribution of so many bytes to `operation` may be written: everybody
    /// is done with what lies there.
    #[inline(always)]
    pub fn is_writable(&mut self, operation: u64, bytes: usize) -> bool {
        let needed = Self::needed(operation, bytes);
        if self.known_done >= needed {
            return true;
        }
        // All that they are done with is taken down, not only what is needed now: whoever runs ahead
        // looks at the others' lines once in a while, not for every operation.
        let least = (0..self.members.len()).try_fold(u64::MAX, |least, member| {
            // Acquire: pairs with the release in `finish`; that member's reads are over.
            let done = self.done(member).load(Ordering::Acquire);
            (done >= needed).then_some(least.min(done))
        });
        if let Some(least) = least {
            self.known_done = least;
        }
        least.is_some()
    }

    /// A member because of which [`Board::is_writable`] says no.
    #[cold]
    pub fn behind(&self, operation: u64, bytes: usize) -> Option<usize> {
        let needed = Self::needed(operation, bytes);
        // Acquire: as in `is_writable`.
        (0..self.members.len()).find(|&member| self.done(member).load(Ordering::Acquire) < needed)
    }

    /// Up to which operation everybody must be done before so many bytes may be written for
    /// `operation`.
    #[inline(always)]
    fn needed(operation: u64, bytes: usize) -> u64 {
        let kept = if bytes <= INLINE_BYTES { DEPTH } else { HALVES };
        operation.saturating_sub(kept)
    }

    /// Writes this member's contribution and wakes who sleeps for it. Only after
    /// [`Board::is_writable`]. The note says in a word what the contribution is, so that members
    /// who disagree on the operation notice it.
    #[inline(always)]
    pub fn write(&mut self, operation: u64, note: u64, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(
            bytes <= self.cell_bytes,
            "{bytes} bytes on a board with cells of {}",
            self.cell_bytes
        );
        let data = self.data(self.me, operation, bytes);
        // SAFETY: our own half; everybody is done with what it held (`is_writable`); inside the
        // cell by the assertion.
        fill(unsafe { std::slice::from_raw_parts_mut(data, bytes) });
        // Ordered by the stamp.
        self.note_word(self.me, operation)
            .store(note, Ordering::Relaxed);
        // Release: pairs with the acquire in `has_arrived`.
        self.stamp(self.me, operation)
            .store(operation, Ordering::Release);
        if self.fence {
            self.fence_and_review();
        }
        if self.sleepers().0.load(Ordering::Relaxed) != 0 {
            self.wake_members();
        }
    }

    /// This member has written and waits for nobody: it may run ahead, and asks for the line of a
    /// later stamp, which the others have read a lap ago. Where members wait for each other, or a
    /// root for the others, that gains nothing: who reads is close behind, and takes lines away.
    #[inline(always)]
    pub fn run_ahead(&self, operation: u64) {
        let stamp = self.stamp(self.me, operation + CLAIMED_AHEAD);
        claim(std::ptr::from_ref(stamp).cast());
    }

    /// Whether `member` has written its contribution to `operation`.
    #[inline(always)]
    pub fn has_arrived(&self, operation: u64, member: usize) -> bool {
        // Acquire: pairs with the release in `write`.
        self.stamp(member, operation).load(Ordering::Acquire) == operation
    }

    /// The note on the contribution of `member`, after [`Board::has_arrived`] and before
    /// [`Board::finish`].
    #[inline(always)]
    pub fn note(&self, operation: u64, member: usize) -> u64 {
        self.note_word(member, operation).load(Ordering::Relaxed)
    }

    /// The contribution of `member`, after [`Board::has_arrived`] and before [`Board::finish`].
    #[inline(always)]
    pub fn read(&self, operation: u64, member: usize, bytes: usize) -> &[u8] {
        assert!(bytes <= self.cell_bytes);
        // SAFETY: stamped, and not rewritten before we are done; inside the cell by the assertion.
        unsafe { std::slice::from_raw_parts(self.data(member, operation, bytes), bytes) }
    }

    /// This member has read what it wanted. `saw_everybody`: the operation had it wait for all
    /// members' contributions.
    #[inline(always)]
    pub fn finish(&mut self, operation: u64, saw_everybody: bool) {
        if saw_everybody {
            // They began this operation, so they are done with the one before.
            self.known_done = self.known_done.max(operation - 1);
        }
        // Release: pairs with the acquire in `is_writable`.
        self.done(self.me).store(operation, Ordering::Release);
        if self.fence {
            self.fence_and_review();
        }
        if self.sleepers().0.load(Ordering::Relaxed) != 0 {
            self.wake_members();
        }
    }

    /// This member does not touch the board any more.
    pub fn leave(&self) {
        // Release: pairs with the acquire in `is_quiet`; this member's reads and writes are over.
        self.left(self.me)
            .store(self.ticket.base + 1, Ordering::Release);
    }

    /// Whether the board can be handed out again: every member is done with everything this member
    /// has begun. A dead member is done with nothing, and the living ones of its group may be in
    /// the middle of an operation that fails: then all of those must have left.
    pub fn is_quiet(&self) -> bool {
        let mut members = 0..self.members.len();
        if members.clone().any(|member| self.is_dead(member)) {
            return members.all(|member| self.is_dead(member) || self.has_left(member));
        }
        self.operation == self.ticket.base
            || members.all(|member| self.done(member).load(Ordering::Acquire) == self.operation)
    }

    fn is_dead(&self, member: usize) -> bool {
        let port = self.members[member];
        matches!(self.segment.state(port), PortState::Dead(_))
    }

    fn has_left(&self, member: usize) -> bool {
        self.left(member).load(Ordering::Acquire) == self.ticket.base + 1
    }

    /// The base of the group that gets the board next: beyond every number that a member of this
    /// one may have used, and never this one's own, so that who has left which group is certain. A
    /// member is ahead of another by `DEPTH` operations at most.
    pub fn next_base(&self) -> u64 {
        self.operation + DEPTH + 1
    }

    /// This member is about to sleep until a contribution arrives; call [`Port::prepare_sleep`]
    /// afterwards and look once more.
    pub fn announce_sleep(&self) {
        self.sleepers().0.fetch_add(1, Ordering::SeqCst);
    }

    /// This member does not sleep any more.
    pub fn announce_awake(&self) {
        self.sleepers().0.fetch_sub(1, Ordering::SeqCst);
    }

    #[cold]
    fn wake_members(&self) {
        for (member, &port) in self.members.iter().enumerate() {
            if member != self.me && self.segment.doorbell(port).rouse() {
                self.segment.wake(port);
            }
        }
    }

    /// Members that attached meanwhile may fence for us; asked until all do.
    #[cold]
    fn fence_and_review(&mut self) {
        fence(Ordering::SeqCst);
        self.fence =
            !self.registered || !self.members.iter().all(|&port| self.segment.fences(port));
    }

    #[inline(always)]
    fn cell_offset(&self, member: usize) -> u64 {
        PAGE_BYTES + member as u64 * member_bytes(self.cell_bytes)
    }

    #[inline(always)]
    fn address(&self, offset: u64) -> *mut u8 {
        self.segment.address(self.base + offset)
    }

    #[inline(always)]
    fn sleepers(&self) -> &Sleepers {
        // SAFETY: the first line of the board, an atomic.
        unsafe { &*self.address(0).cast() }
    }

    #[inline(always)]
    fn stamp(&self, member: usize, operation: u64) -> &AtomicU64 {
        let line = (operation % DEPTH) * LINE;
        // SAFETY: the first word of a line of the member's cell, an atomic; 8-aligned because cells
        // are page-aligned.
        unsafe { &*self.address(self.cell_offset(member) + line).cast() }
    }

    #[inline(always)]
    fn note_word(&self, member: usize, operation: u64) -> &AtomicU64 {
        let line = (operation % DEPTH) * LINE;
        // SAFETY: the second word of a line of the member's cell, an atomic.
        unsafe { &*self.address(self.cell_offset(member) + line + 8).cast() }
    }

    #[inline(always)]
    fn done(&self, member: usize) -> &AtomicU64 {
        // SAFETY: the last line of the member's cell, an atomic.
        unsafe { &*self.address(self.cell_offset(member) + DEPTH * LINE).cast() }
    }

    /// One more than the base of the group that the member has left last.
    #[inline(always)]
    fn left(&self, member: usize) -> &AtomicU64 {
        // SAFETY: the second word of the last line of the member's cell, an atomic.
        unsafe {
            &*self
                .address(self.cell_offset(member) + DEPTH * LINE + 8)
                .cast()
        }
    }

    /// Where a contribution of so many bytes lies: behind its stamp if it fits there.
    #[inline(always)]
    fn data(&self, member: usize, operation: u64, bytes: usize) -> *mut u8 {
        let within = if bytes <= INLINE_BYTES {
            (operation % DEPTH) * LINE + 16
        } else {
            CELL_LINES + (operation % HALVES) * self.cell_bytes as u64
        };
        self.address(self.cell_offset(member) + within)
    }
}
