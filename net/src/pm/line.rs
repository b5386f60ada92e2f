//! One rail at work: puts frames of a conversation together, gives them to the device in batches, and keeps what the device could not take.
//!
//! Headers and short pieces are copied into a scratch, so that a frame of short messages is one piece of memory; long pieces are gathered by the kernel from where
//! they lie. Nothing of a batch is looked at after the device has had it: frames that it did not take are copied, because the memory under them may be given back.

use oxmpi_link::{Checksum, Middles, Session, Transmit};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PIECE_HEADER_BYTES, flag};

use super::conversation::{self, Conversation};
use super::memory::{Memory, Slot, Span};
use super::{Rail, RailKind};
use crate::device::{Address, Batch, Device};

/// Pieces up to this length are copied: cheaper than one more piece for the kernel to gather.
const GATHERED_BYTES_MIN: usize = 512;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There was nothing to send, or all of it has left.
    Done,
    /// The batch was full: there may be more.
    Full,
    /// The device has no room now.
    Blocked,
    /// The device says that this address cannot be reached.
    Unreachable,
}

pub(super) struct Line {
    pub device: Box<dyn Device>,
    pub kind: RailKind,
    pub channel: u16,
    /// Sessions with processes that this one does not talk to yet, made when the first frame in their name comes.
    pub expected: Vec<Option<Box<Session>>>,
    /// Frames waiting in the device, when that was last asked.
    pub backlog: usize,
    pub backlog_high: usize,
    frame_bytes_max: usize,
    batch_frames_max: usize,
    batch_bytes_max: usize,
    batch: Batch,
    scratch: Box<[u8]>,
    /// Frames that the device did not take: where to, their bytes, and where each ends.
    stuck_to: Option<Address>,
    stuck: Vec<u8>,
    stuck_ends: Vec<usize>,
    one: Vec<u8>,
}

impl Line {
    pub fn new(rail: Rail, channel: u16, size: u32) -> Line {
        let frame_bytes_max = rail.device.frame_bytes_max();
        let (frames, bytes) = rail.device.batch_max();
        let batch_bytes_max = bytes.max(frame_bytes_max);
        let backlog_high = conversation::backlog_high(rail.device.room());
        Line {
            kind: rail.kind,
            channel,
            expected: (0..size).map(|_| None).collect(),
            backlog: 0,
            backlog_high,
            frame_bytes_max,
            batch_frames_max: frames.max(1),
            batch_bytes_max,
            batch: Batch::new(),
            scratch: vec![0; batch_bytes_max].into_boxed_slice(),
            stuck_to: None,
            stuck: Vec::new(),
            stuck_ends: Vec::new(),
            one: Vec::new(),
            device: rail.device,
        }
    }

    /// Whether frames wait here because the device did not take them.
    pub fn is_stuck(&self) -> bool {
        self.stuck_to.is_some()
    }

    /// Gives the device one batch of what a conversation has to send; `short_of`: only as long as so many bytes of new messages wait.
    #[inline(always)]
    pub fn put_out(
        &mut self,
        conversation: &mut Conversation,
        memory: &Memory,
        now: u64,
        short_of: usize,
    ) -> Outcome {
        if self.is_stuck() && !self.unstick() {
            return Outcome::Blocked;
        }
        self.batch.clear();
        // Of the scratch, and of all frames.
        let (mut used, mut bytes) = (0, 0);
        let full = loop {
            if self.batch.len() == self.batch_frames_max
                || bytes + self.frame_bytes_max > self.batch_bytes_max
            {
                break true;
            }
            if conversation.unsent_bytes < short_of {
                break false;
            }
            let frames_max = (self.batch_frames_max - self.batch.len())
                .min((self.batch_bytes_max - bytes) / self.frame_bytes_max);
            if let Some(middles) = conversation.link.poll_middles(now, frames_max as u32) {
                used = self.put_middles(&mut conversation.session, memory, &middles, used);
                let frames = middles.frames as usize;
                bytes += frames * (FRAME_HEADER_BYTES + usize::from(middles.frame.length));
                conversation.unsent_bytes -= frames * middles.piece.bytes;
                continue;
            }
            let Some(transmit) = conversation.link.poll_transmit(now) else {
                break false;
            };
            used = self.put_together(conversation, memory, &transmit, used);
            bytes += FRAME_HEADER_BYTES + usize::from(transmit.frame.length);
        };
        if self.batch.is_empty() {
            return Outcome::Done;
        }
        match self.device.send(conversation.address(), &self.batch) {
            Ok(taken) if taken < self.batch.len() => {
                self.keep(taken, *conversation.address());
                Outcome::Blocked
            }
            Ok(_) if full => Outcome::Full,
            Ok(_) => Outcome::Done,
            Err(_) => Outcome::Unreachable,
        }
    }

    /// Adds a frame to the batch. `used` bytes of the scratch are taken; says how many then are. The bytes of all frames together bound it.
    #[inline(always)]
    fn put_together(
        &mut self,
        conversation: &mut Conversation,
        memory: &Memory,
        transmit: &Transmit,
        used: usize,
    ) -> usize {
        let mut writer = Writer {
            scratch: &mut self.scratch,
            batch: &mut self.batch,
            run: used,
            end: used,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        transmit.frame.emit(&mut header);
        writer.copy(&header);
        let mut carried = 0;
        writer.copy(conversation.link.control_payload(transmit));
        for piece in conversation.link.pieces(transmit) {
            writer.copy(&piece.header().emit());
            let (one, two) = memory.spans(piece.message, piece.offset, piece.bytes);
            // SAFETY: the memory of a message stays until its way's conversation lets it go, which happens in no call from here to the device.
            unsafe {
                writer.add(one);
                writer.add(two);
            }
            carried += piece.bytes;
        }
        if !transmit.repeat {
            conversation.unsent_bytes -= carried;
        }
        writer.push_run();
        let end = writer.end;
        self.batch.end_frame();
        if transmit.frame.has(flag::CHECKED) {
            self.seal(used);
        }
        let header = self.scratch[used..].first_chunk_mut();
        let header = header.expect("the header was copied there");
        conversation.session.sign(header);
        end
    }

    /// Adds frames from the middle of a message, which are alike. As [`Line::put_together`].
    #[inline(always)]
    fn put_middles(
        &mut self,
        session: &mut Session,
        memory: &Memory,
        middles: &Middles<Slot>,
        used: usize,
    ) -> usize {
        const HEAD_BYTES: usize = FRAME_HEADER_BYTES + PIECE_HEADER_BYTES;
        let piece = &middles.piece;
        let mut frame = middles.frame;
        let mut end = used;
        for number in 0..middles.frames as usize {
            let head = self.scratch[end..].first_chunk_mut::<HEAD_BYTES>();
            let head = head.expect("the scratch holds a batch");
            let (header, piece_header) = head.split_at_mut(FRAME_HEADER_BYTES);
            let header = header.first_chunk_mut().expect("room for a header");
            frame.emit(header);
            session.sign(header);
            piece_header.copy_from_slice(&piece.header().emit());
            frame.sequence = frame.sequence.wrapping_add(1);
            let offset = piece.offset + number * piece.bytes;
            let (one, two) = memory.spans(piece.message, offset, piece.bytes);
            // SAFETY: the scratch and the memory of a message stay, see `put_together`, and the head's place is not written again before the batch is cleared.
            unsafe {
                self.batch.push(self.scratch.as_ptr().add(end), HEAD_BYTES);
                for span in [one, two].into_iter().filter(|span| span.bytes > 0) {
                    self.batch.push(span.at, span.bytes);
                }
            }
            self.batch.end_frame();
            end += HEAD_BYTES;
        }
        end
    }

    /// Computes the checksum of the batch's last frame, and puts it into the header that lies at `used` in the scratch.
    #[inline(never)]
    fn seal(&mut self, used: usize) {
        let frame = self.batch.len() - 1;
        let header = self.scratch[used..].first_chunk_mut();
        let header: &mut [u8; FRAME_HEADER_BYTES] = header.expect("the header was copied there");
        let mut checksum = Checksum::of_header(header);
        let mut skipped = FRAME_HEADER_BYTES;
        for piece in self.batch.pieces(frame, frame + 1) {
            let at = piece.iov_base.cast_const().cast::<u8>();
            // SAFETY: the pieces of a batch are valid until it has been sent; the first one begins with the header, which is not read by it.
            let bytes =
                unsafe { std::slice::from_raw_parts(at.add(skipped), piece.iov_len - skipped) };
            checksum.update(bytes);
            skipped = 0;
        }
        checksum.seal(header);
    }

    /// The device did not take all: the rest waits here.
    #[cold]
    fn keep(&mut self, taken: usize, to: Address) {
        for frame in taken..self.batch.len() {
            self.batch.copy_frame(frame, &mut self.one);
            self.stuck.extend_from_slice(&self.one);
            self.stuck_ends.push(self.stuck.len());
        }
        self.stuck_to = Some(to);
        self.batch.clear();
    }

    /// Offers what is stuck once more. True if nothing is any more.
    #[cold]
    pub fn unstick(&mut self) -> bool {
        let Some(to) = self.stuck_to else {
            return true;
        };
        self.batch.clear();
        let mut begin = 0;
        for &end in &self.stuck_ends {
            // SAFETY: the copies stay until after the call.
            unsafe { self.batch.push(self.stuck[begin..].as_ptr(), end - begin) };
            self.batch.end_frame();
            begin = end;
        }
        // What cannot be sent is lost like any other frame.
        let taken = self.device.send(&to, &self.batch);
        let taken = taken.unwrap_or(self.stuck_ends.len());
        self.batch.clear();
        if taken == self.stuck_ends.len() {
            self.stuck.clear();
            self.stuck_ends.clear();
            self.stuck_to = None;
            return true;
        }
        if taken > 0 {
            let gone = self.stuck_ends[taken - 1];
            self.stuck.drain(..gone);
            self.stuck_ends.drain(..taken);
            self.stuck_ends.iter_mut().for_each(|end| *end -= gone);
        }
        false
    }
}

/// Puts one frame together.
struct Writer<'l> {
    scratch: &'l mut [u8],
    batch: &'l mut Batch,
    /// Where the run of the scratch that is not in the batch yet begins, and where it ends.
    run: usize,
    end: usize,
}

impl Writer<'_> {
    #[inline(always)]
    fn copy(&mut self, bytes: &[u8]) {
        self.scratch[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// # Safety
    /// The span must be valid for reading until the batch has been sent.
    #[inline(always)]
    unsafe fn add(&mut self, span: Span) {
        if span.bytes == 0 {
            return;
        }
        if span.bytes < GATHERED_BYTES_MIN {
            // SAFETY: the caller's promise.
            return self.copy(unsafe { std::slice::from_raw_parts(span.at, span.bytes) });
        }
        self.push_run();
        // SAFETY: the caller's promise.
        unsafe { self.batch.push(span.at, span.bytes) };
    }

    /// What has been written to the scratch becomes part of the frame.
    #[inline(always)]
    fn push_run(&mut self) {
        if self.end > self.run {
            // SAFETY: the scratch lives as long as the batch, and this part of it is not written again before the batch is cleared.
            unsafe {
                let at = self.scratch.as_ptr().add(self.run);
                self.batch.push(at, self.end - self.run);
            }
            self.run = self.end;
        }
    }
}
