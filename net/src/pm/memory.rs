//! Memory of messages on their way: what was copied, and where the rest lies in the user's own
//! memory.
//!
//! `link` knows a message by its [`Slot`] only. Heads and short payloads are copied into blocks of
//! a few sizes, taken from lists of free ones, last in, first out, so that a ping-pong uses one
//! warm block for ever. The payload of a long message stays where the user has it until the other
//! side has it too; when the other side is gone or has finalised, [`Memory::forget`] and
//! [`Memory::free_all`] see to it that it is never read again.

use super::conversation::Way;
use oxmpi_wire::stream::{HEAD_MAX, LENGTH_BYTES, PAYLOAD_MAX};

/// Sizes of blocks: a head with a short payload, a frame's worth, a payload that is copied at most,
/// an eager message, and whatever a packet may hold.
const BLOCK_BYTES: [usize; 5] = [
    256,
    2 << 10,
    (16 << 10) + HEAD_MAX,
    (64 << 10) + HEAD_MAX,
    PAYLOAD_MAX + HEAD_MAX,
];
/// All blocks together: what all processes of other hosts may have unmatched here is as much, so a
/// process can have as much on its way.
const BLOCKS_BYTES_MAX: usize = 256 << 20;
/// The longest piece of a frame's payload: its length has 16 bits.
const PIECE_BYTES_MAX: usize = 1 << 16;

/// What is sent in place of memory that must not be read any more; the receiver has said that it
/// reads nothing.
static NOTHING: [u8; PIECE_BYTES_MAX] = [0; PIECE_BYTES_MAX];

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot(u32);

/// Memory by address: one piece of a message.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub at: *const u8,
    pub bytes: usize,
}

struct Message {
    class: usize,
    block: u32,
    /// Bytes in the block: the head, and the payload if it was copied.
    copied: usize,
    /// The rest, in the user's memory; null when that must not be read any more.
    payload: *const u8,
    payload_bytes: usize,
    token: u64,
    way: Option<Way>,
}

#[derive(Default)]
struct Class {
    blocks: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

#[derive(Default)]
pub(super) struct Memory {
    messages: Vec<Message>,
    free: Vec<u32>,
    classes: [Class; BLOCK_BYTES.len()],
    /// Of all blocks.
    bytes: usize,
}

// SAFETY: the addresses are memory of the user that the engine keeps valid; whoever has the table
// has the engine's lock.
unsafe impl Send for Memory {}

impl Memory {
    /// A message out of a length word, a head and `bytes` bytes at `payload`, which are copied
    /// unless `held` gives a token. Says how long it is. `None`: no memory is left.
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes; if `held`, until the message is freed or
    /// forgotten.
    #[inline(always)]
    pub unsafe fn store(
        &mut self,
        way: Way,
        word: u32,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        held: Option<u64>,
    ) -> Option<(Slot, usize)> {
        let head_bytes = LENGTH_BYTES + head.len();
        let copied = if held.is_some() {
            head_bytes
        } else {
            head_bytes + bytes
        };
        let class = BLOCK_BYTES.iter().position(|&size| copied <= size)?;
        let block = match self.classes[class].free.pop() {
            Some(block) => block,
            None => self.add_block(class)?,
        };
        let into = &mut self.classes[class].blocks[block as usize];
        into[..LENGTH_BYTES].copy_from_slice(&word.to_le_bytes());
        into[LENGTH_BYTES..head_bytes].copy_from_slice(head);
        if held.is_none() && bytes > 0 {
            // SAFETY: the caller's promise.
            let payload = unsafe { std::slice::from_raw_parts(payload, bytes) };
            into[head_bytes..copied].copy_from_slice(payload);
        }
        let message = Message {
            class,
            block,
            copied,
            payload,
            payload_bytes: if held.is_some() { bytes } else { 0 },
            token: held.unwrap_or(0),
            way: Some(way),
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.messages[slot as usize] = message;
                slot
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        };
        Some((Slot(slot), head_bytes + bytes))
    }

    /// Copies what a message still has in the user's memory, which is not read any more then. Gives
    /// the token that it was held with; `None`, and nothing has changed, where no memory is left.
    ///
    /// # Safety
    /// That memory must be as it was promised to [`Memory::store`].
    pub unsafe fn take_over(&mut self, slot: Slot) -> Option<u64> {
        let message = &self.messages[slot.0 as usize];
        let (head_bytes, payload_bytes) = (message.copied, message.payload_bytes);
        let (old_class, old_block) = (message.class, message.block);
        if message.payload.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        let payload = unsafe { std::slice::from_raw_parts(message.payload, payload_bytes) };
        let bytes = head_bytes + payload_bytes;
        let class = BLOCK_BYTES.iter().position(|&size| bytes <= size)?;
        let block = match self.classes[class].free.pop() {
            Some(block) => block,
            None => self.add_block(class)?,
        };
        let mut head = [0; HEAD_MAX];
        let old = &self.classes[old_class].blocks[old_block as usize];
        head[..head_bytes].copy_from_slice(&old[..head_bytes]);
        let into = &mut self.classes[class].blocks[block as usize];
        into[..head_bytes].copy_from_slice(&head[..head_bytes]);
        into[head_bytes..bytes].copy_from_slice(payload);
        self.classes[old_class].free.push(old_block);
        let message = &mut self.messages[slot.0 as usize];
        message.class = class;
        message.block = block;
        message.copied = bytes;
        message.payload = std::ptr::null();
        message.payload_bytes = 0;
        Some(std::mem::take(&mut message.token))
    }

    #[cold]
    fn add_block(&mut self, class: usize) -> Option<u32> {
        let bytes = BLOCK_BYTES[class];
        if self.bytes + bytes > BLOCKS_BYTES_MAX {
            return None;
        }
        self.bytes += bytes;
        let blocks = &mut self.classes[class].blocks;
        blocks.push(vec![0; bytes].into_boxed_slice());
        Some(blocks.len() as u32 - 1)
    }

    /// `bytes` bytes of a message from `offset` on, which may lie in two places.
    #[inline(always)]
    pub fn spans(&self, slot: Slot, offset: usize, bytes: usize) -> (Span, Span) {
        let message = &self.messages[slot.0 as usize];
        assert!(offset + bytes <= message.copied + message.payload_bytes);
        let block = &self.classes[message.class].blocks[message.block as usize];
        let from_block = message.copied.saturating_sub(offset).min(bytes);
        let first = Span {
            at: block.as_ptr().wrapping_add(offset),
            bytes: from_block,
        };
        let rest = bytes - from_block;
        let at = if message.payload.is_null() {
            assert!(rest <= PIECE_BYTES_MAX);
            NOTHING.as_ptr()
        } else {
            let skipped = (offset + from_block).saturating_sub(message.copied);
            message.payload.wrapping_add(skipped)
        };
        (first, Span { at, bytes: rest })
    }

    /// The other side has the message: its memory is free. Gives the token that it was held with,
    /// or 0.
    #[inline(always)]
    pub fn free(&mut self, slot: Slot) -> u64 {
        let message = &mut self.messages[slot.0 as usize];
        let owned = message.way.take();
        debug_assert!(owned.is_some(), "a message is freed once");
        self.classes[message.class].free.push(message.block);
        self.free.push(slot.0);
        message.token
    }

    /// The user's memory in messages to `peer` is not read any more; they still leave, with nothing
    /// in them.
    #[cold]
    pub fn forget(&mut self, peer: u32) {
        for message in &mut self.messages {
            if message.way.is_some_and(|way| way.peer == peer) {
                message.payload = std::ptr::null();
                message.token = 0;
            }
        }
    }

    /// No message to `peer` will leave any more.
    #[cold]
    pub fn free_all(&mut self, peer: u32) {
        for slot in 0..self.messages.len() as u32 {
            let way = self.messages[slot as usize].way;
            if way.is_some_and(|way| way.peer == peer) {
                self.free(Slot(slot));
            }
        }
    }

    /// Messages on their way, for tests.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.messages.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = Way { peer: 3, rail: 0 };

    /// All bytes of a message, read in pieces of `step`.
    fn read(memory: &Memory, slot: Slot, bytes: usize, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        for offset in (0..bytes).step_by(step) {
            let (one, two) = memory.spans(slot, offset, step.min(bytes - offset));
            for span in [one, two] {
                // SAFETY: the test's payload outlives the message.
                all.extend_from_slice(unsafe { std::slice::from_raw_parts(span.at, span.bytes) });
            }
        }
        all
    }

    #[test]
    fn a_message_reads_the_same_copied_and_held() {
        let mut memory = Memory::default();
        let payload: Vec<u8> = (0..40_000u32).map(|i| i as u8).collect();
        for bytes in [0, 1, 200, 300, 5000, 40_000] {
            let mut expected = (bytes as u32).to_le_bytes().to_vec();
            expected.extend_from_slice(&[9; 32]);
            expected.extend_from_slice(&payload[..bytes]);
            for held in [None, Some(5)] {
                // SAFETY: the payload outlives the message.
                let slot = unsafe {
                    memory.store(WAY, bytes as u32, &[9; 32], payload.as_ptr(), bytes, held)
                };
                let (slot, _) = slot.unwrap();
                for step in [1, 7, 36, 1000, 60_000] {
                    assert_eq!(read(&memory, slot, 36 + bytes, step), expected);
                }
                assert_eq!(memory.free(slot), held.unwrap_or(0));
            }
        }
        assert_eq!(memory.len(), 0);
    }

    #[test]
    fn a_message_that_is_taken_over_needs_no_other_memory() {
        let mut memory = Memory::default();
        for bytes in [1, 5000, 60_000] {
            let payload: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let mut expected = (bytes as u32).to_le_bytes().to_vec();
            expected.extend_from_slice(&[9; 32]);
            expected.extend_from_slice(&payload);
            // SAFETY: the memory is not read after it was taken over.
            let slot = unsafe {
                memory.store(
                    WAY,
                    bytes as u32,
                    &[9; 32],
                    payload.as_ptr(),
                    bytes,
                    Some(7),
                )
            };
            let (slot, _) = slot.unwrap();
            // SAFETY: the payload is still there.
            assert_eq!(unsafe { memory.take_over(slot) }, Some(7));
            drop(payload);
            assert_eq!(read(&memory, slot, 36 + bytes, 1400), expected);
            assert_eq!(memory.free(slot), 0, "its token has been given back");
        }
        assert_eq!(memory.len(), 0);
    }

    #[test]
    fn forgotten_memory_is_not_read() {
        let mut memory = Memory::default();
        let payload = vec![7u8; 30_000];
        // SAFETY: the memory is not read after it was forgotten.
        let slot =
            unsafe { memory.store(WAY, 30_000, &[9; 32], payload.as_ptr(), 30_000, Some(1)) };
        let (slot, _) = slot.unwrap();
        memory.forget(WAY.peer);
        drop(payload);
        let bytes = read(&memory, slot, 30_036, 1400);
        assert!(bytes[36..].iter().all(|&byte| byte == 0) && bytes.len() == 30_036);
        memory.free_all(WAY.peer + 1);
        assert_eq!(memory.len(), 1);
        memory.free_all(WAY.peer);
        assert_eq!(memory.len(), 0);
    }
}
