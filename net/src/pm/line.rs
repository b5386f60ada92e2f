//! One rail at work: puts frames of a conversation together, gives them to the device in batches,
//! and keeps what the device could not take.
//!
//! Headers and short pieces are copied into a scratch, so that a frame of short messages is one
//! piece of memory; long pieces are gathered by the kernel from where they lie. Nothing of a batch
//! is looked at after the device has had it: frames that it did not take are copied, because the
//! memory under them may be given back.

use oxmpi_link::{Checksum, Forgery, Middles, Session, Transmit};
use oxmpi_wire::frame::{
    self, FRAME_HEADER_BYTES, PIECE_HEADER_BYTES, PROVEN_BYTES, SEAL_BYTES, flag,
};

use super::conversation::{self, Conversation};
use super::memory::{Memory, Slot, Span};
use super::{Rail, RailKind};
use crate::device::{Address, Batch, Device};
use crate::seal::Seals;

/// Pieces up to this length are copied: cheaper than one more piece for the kernel to gather.
const GATHERED_BYTES_MIN: usize = 512;
/// The longest frame: its length has 16 bits. Other hosts may send longer ones than this one does.
const FRAME_BYTES_MAX: usize = FRAME_HEADER_BYTES + u16::MAX as usize + SEAL_BYTES;

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
    /// Sessions with processes that this one does not talk to yet, made when the first frame in
    /// their name comes.
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
    /// The frame that the device shows, decrypted, and its length; 0 if it is as the device shows
    /// it. No room where nothing is sealed.
    opened: Box<[u8]>,
    opened_bytes: usize,
}

impl Line {
    pub fn new(rail: Rail, channel: u16, size: u32, encrypted: bool) -> Line {
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
            opened: vec![0; usize::from(encrypted) * FRAME_BYTES_MAX].into_boxed_slice(),
            opened_bytes: 0,
            device: rail.device,
        }
    }

    /// Shows the next frame that has arrived, if there is one.
    #[inline(always)]
    pub fn poll(&mut self) -> bool {
        self.opened_bytes = 0;
        self.device.poll()
    }

    /// The frame that is shown; a sealed one, once it was believed, with its contents in plain
    /// text.
    #[inline(always)]
    pub fn frame(&self) -> &[u8] {
        match self.opened_bytes {
            0 => self.device.frame(),
            bytes => &self.opened[..bytes],
        }
    }

    /// Whether the other side of a conversation sent the frame that the device shows, as it is, and
    /// it was not here before.
    #[inline(always)]
    pub fn believe(&mut self, conversation: &mut Conversation) -> Result<(), Forgery> {
        let session = &mut conversation.session;
        match &conversation.seals {
            None => session.verify(self.device.frame()).map(drop),
            Some(seals) => {
                let serial = session.examine(self.device.frame())?;
                self.open(seals, serial)?;
                session.admit(serial).inspect_err(|_| self.opened_bytes = 0)
            }
        }
    }

    /// Decrypts the frame that the device shows. The header stays as it is, and the seal behind the
    /// contents too.
    fn open(&mut self, seals: &Seals, serial: u64) -> Result<(), Forgery> {
        let shown = self.device.frame();
        // Devices show no longer frames; what is no sealed frame at all cannot be one of the other
        // side's.
        let frame = self.opened.get_mut(..shown.len()).ok_or(Forgery::Tag)?;
        frame.copy_from_slice(shown);
        if !frame::is_sealed(frame) {
            return Err(Forgery::Tag);
        }
        let (header, rest) = frame.split_at_mut(FRAME_HEADER_BYTES);
        let (contents, seal) = rest.split_last_chunk_mut().ok_or(Forgery::Short)?;
        let opened = seals
            .into
            .open(serial, &header[..PROVEN_BYTES], contents, seal);
        opened.map_err(|_| Forgery::Tag)?;
        self.opened_bytes = shown.len();
        Ok(())
    }

    /// Whether frames wait here because the device did not take them.
    pub fn is_stuck(&self) -> bool {
        self.stuck_to.is_some()
    }

    /// Gives the device one batch of what a conversation has to send; `short_of`: only as long as
    /// so many bytes of new messages wait.
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
            if conversation.seals.is_some() {
                let Some(transmit) = conversation.link.poll_transmit(now) else {
                    break false;
                };
                used = self.put_sealed(conversation, memory, &transmit, used);
                bytes = used;
                continue;
            }
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

    /// Writes a frame behind the `used` bytes of the scratch; shorter pieces than so many bytes are
    /// copied there.
    #[inline(always)]
    fn writer(&mut self, used: usize, gathered_bytes_min: usize) -> Writer<'_> {
        Writer {
            scratch: &mut self.scratch,
            batch: &mut self.batch,
            run: used,
            end: used,
            gathered_bytes_min,
        }
    }

    /// Adds a frame to the batch. `used` bytes of the scratch are taken; says how many then are.
    /// The bytes of all frames together bound it.
    #[inline(always)]
    fn put_together(
        &mut self,
        conversation: &mut Conversation,
        memory: &Memory,
        transmit: &Transmit,
        used: usize,
    ) -> usize {
        let mut writer = self.writer(used, GATHERED_BYTES_MIN);
        writer.write(conversation, memory, transmit);
        writer.push_run();
        let end = writer.end;
        self.batch.end_frame();
        if transmit.frame.has(flag::CHECKED) {
            self.add_checksum(used);
        }
        let header = self.scratch[used..].first_chunk_mut();
        let header = header.expect("the header was copied there");
        conversation.session.sign(header);
        end
    }

    /// As [`Line::put_together`], sealed: all of it is copied first, because memory of the user may
    /// change while it is read.
    fn put_sealed(
        &mut self,
        conversation: &mut Conversation,
        memory: &Memory,
        transmit: &Transmit,
        used: usize,
    ) -> usize {
        let mut writer = self.writer(used, usize::MAX);
        writer.write(conversation, memory, transmit);
        let end = writer.end + SEAL_BYTES;
        let frame = &mut writer.scratch[used..end];
        let (header, rest) = frame.split_first_chunk_mut().expect("it was written there");
        let (contents, place) = rest.split_last_chunk_mut().expect("room was left for it");
        let serial = conversation.session.stamp(header);
        let seals = conversation
            .seals
            .as_ref()
            .expect("only sealed frames come here");
        *place = seals.out.seal(serial, &header[..PROVEN_BYTES], contents);
        conversation.session.prove(header, serial);
        writer.end = end;
        writer.push_run();
        self.batch.end_frame();
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
            // SAFETY: the scratch and the memory of a message stay, see `put_together`, and the
            // head's place is not written again before the batch is cleared.
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

    /// Computes the checksum of the batch's last frame, and puts it into the header that lies at
    /// `used` in the scratch.
    #[inline(never)]
    fn add_checksum(&mut self, used: usize) {
        let frame = self.batch.len() - 1;
        let header = self.scratch[used..].first_chunk_mut();
        let header: &mut [u8; FRAME_HEADER_BYTES] = header.expect("the header was copied there");
        let mut checksum = Checksum::of_header(header);
        let mut skipped = FRAME_HEADER_BYTES;
        for piece in self.batch.pieces(frame, frame + 1) {
            let at = piece.iov_base.cast_const().cast::<u8>();
            // SAFETY: the pieces of a batch are valid until it has been sent; the first one begins
            // with the header, which is not read by it.
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
    /// Shorter pieces are copied.
    gathered_bytes_min: usize,
}

impl Writer<'_> {
    /// Header, and everything that the link wants to have in the frame.
    #[inline(always)]
    fn write(&mut self, conversation: &mut Conversation, memory: &Memory, transmit: &Transmit) {
        let mut header = [0; FRAME_HEADER_BYTES];
        transmit.frame.emit(&mut header);
        self.copy(&header);
        let mut carried = 0;
        self.copy(conversation.link.control_payload(transmit));
        for piece in conversation.link.pieces(transmit) {
            self.copy(&piece.header().emit());
            let (one, two) = memory.spans(piece.message, piece.offset, piece.bytes);
            // SAFETY: the memory of a message stays until its way's conversation lets it go, which
            // happens in no call from here to the device.
            unsafe {
                self.add(one);
                self.add(two);
            }
            carried += piece.bytes;
        }
        if !transmit.repeat {
            conversation.unsent_bytes -= carried;
        }
    }

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
        if span.bytes < self.gathered_bytes_min {
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
            // SAFETY: the scratch lives as long as the batch, and this part of it is not written
            // again before the batch is cleared.
            unsafe {
                let at = self.scratch.as_ptr().add(self.run);
                self.batch.push(at, self.end - self.run);
            }
            self.run = self.end;
        }
    }
}
