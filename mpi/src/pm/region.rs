//! Remote memory: regions that a node registers, and that others write to and read from while it
//! calls [`Channel::receive`].
//!
//! A region belongs to the channel while it is registered; that is what makes it safe: its owner
//! looks at it between two receives, when nobody writes.

use std::collections::HashMap;
use std::ops::Range;

use super::packet::Action;
use super::send::Purpose;
use super::{Channel, Gone, PmError};

/// Memory that other nodes may write and read, by its number: a node's first region is 0, its next
/// 1.
#[derive(Debug, PartialEq, Eq)]
pub struct Region(u32);

impl Region {
    /// What other nodes call it.
    pub fn number(&self) -> u32 {
        self.0
    }
}

/// What has come of the answer to a read.
pub(super) struct Answer {
    from: u32,
    /// How long the answer is, once that is known.
    total: Option<u64>,
    pub bytes: Vec<u8>,
    refused: bool,
}

/// Where `bytes` bytes from `offset` on lie in a region, if it has them.
pub(super) fn place(
    regions: &[Option<Vec<u8>>],
    region: u32,
    offset: u64,
    bytes: u64,
) -> Option<Range<usize>> {
    let memory = regions.get(region as usize)?.as_ref()?;
    let place = oxmpi_windows::region::place(memory.len() as u64, offset, bytes)?;
    Some(place.start as usize..place.end as usize)
}

impl Channel {
    /// Lets other nodes write to and read from this memory.
    pub fn register(&mut self, memory: Vec<u8>) -> Region {
        self.regions.push(Some(memory));
        Region(self.regions.len() as u32 - 1)
    }

    /// The memory of a region, as it is now.
    pub fn region(&self, region: &Region) -> &[u8] {
        self.regions[region.0 as usize].as_deref().unwrap_or(&[])
    }

    /// The memory of a region, to be changed.
    pub fn region_mut(&mut self, region: &Region) -> &mut [u8] {
        self.regions[region.0 as usize]
            .as_deref_mut()
            .unwrap_or(&mut [])
    }

    /// Takes the memory back; its number is not used again.
    pub fn unregister(&mut self, region: Region) -> Vec<u8> {
        self.regions[region.0 as usize].take().unwrap_or_default()
    }

    /// Writes into a region of another node, from `offset` on. The bytes are there when the node
    /// receives a message that was sent to it later, or when a [`Channel::read`] from it has
    /// returned. A node without such a region refuses, and [`Channel::receive`] tells of it.
    pub fn write(
        &mut self,
        to: u32,
        region: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), PmError> {
        let mut buffer = self.get_send_buffer(to, bytes.len())?;
        buffer.copy_from_slice(bytes);
        self.write_buffer(region, offset, buffer);
        Ok(())
    }

    /// The same out of a buffer of [`Channel::get_send_buffer`], without a copy.
    pub fn write_buffer(&mut self, region: u32, offset: u64, buffer: super::SendBuffer) {
        self.release_shown();
        let to = buffer.destination();
        let bytes = buffer.into_bytes();
        if to == self.node {
            return self.write_here(region, offset, bytes);
        }
        self.depart(to, Purpose::Write { region, offset }, bytes);
    }

    fn write_here(&mut self, region: u32, offset: u64, bytes: Vec<u8>) {
        let place = place(&self.regions, region, offset, bytes.len() as u64);
        match (place, self.regions.get_mut(region as usize)) {
            (Some(place), Some(Some(memory))) => memory[place].copy_from_slice(&bytes),
            _ => self.hear_refusal(self.node, region, bytes.len() as u64, 0),
        }
        self.recycle(bytes);
    }

    fn read_here(&self, region: u32, offset: u64, bytes: u64) -> Result<Vec<u8>, PmError> {
        let place = place(&self.regions, region, offset, bytes);
        match (place, self.regions.get(region as usize)) {
            (Some(place), Some(Some(memory))) => Ok(memory[place].to_vec()),
            _ => Err(PmError::Refused {
                node: self.node,
                region,
                bytes,
            }),
        }
    }

    /// Reads bytes of a region of another node, and waits for them: the other node must call
    /// [`Channel::receive`] meanwhile. Messages that come in between are kept for later receives.
    pub fn read(
        &mut self,
        from: u32,
        region: u32,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, PmError> {
        self.check_node(from)?;
        self.release_shown();
        let bytes = length as u64;
        if from == self.node {
            return self.read_here(region, offset, bytes);
        }
        let token = self.unused_token();
        self.answers.insert(
            token,
            Answer {
                from,
                total: None,
                bytes: Vec::new(),
                refused: false,
            },
        );
        let question = Action::Read {
            region,
            offset,
            bytes,
            token,
        };
        self.depart(from, Purpose::Word(question), Vec::new());
        let mut looks = 0;
        loop {
            if let Some(outcome) = self.outcome(token, region, bytes) {
                self.answers.remove(&token);
                return outcome;
            }
            if self.step_keeping() {
                looks = 0;
            } else {
                self.idle(&mut looks);
            }
        }
    }

    /// How a read has ended, if it has.
    fn outcome(&mut self, token: u32, region: u32, bytes: u64) -> Option<Result<Vec<u8>, PmError>> {
        let answer = self.answers.get_mut(&token)?;
        let node = answer.from;
        if answer.refused {
            return Some(Err(PmError::Refused {
                node,
                region,
                bytes,
            }));
        }
        if answer.total == Some(answer.bytes.len() as u64) {
            return Some(Ok(std::mem::take(&mut answer.bytes)));
        }
        let gone: Gone = self.gone[node as usize]?;
        Some(Err(self.why_gone(node, gone)))
    }

    /// A number for a read that no other has.
    fn unused_token(&self) -> u32 {
        let taken: &HashMap<u32, Answer> = &self.answers;
        (1..=u32::MAX)
            .find(|token| !taken.contains_key(token))
            .expect("a process has fewer reads under way than there are numbers")
    }

    /// Another node wants to read.
    pub(super) fn serve_read(&mut self, to: u32, region: u32, offset: u64, bytes: u64, token: u32) {
        let Some(place) = place(&self.regions, region, offset, bytes) else {
            return self.refuse(to, region, bytes, token);
        };
        let mut answer = self.buffer(place.len());
        if let Some(Some(memory)) = self.regions.get(region as usize) {
            answer.copy_from_slice(&memory[place]);
        }
        self.depart(to, Purpose::Answer { token }, answer);
    }

    /// An answer begins, or goes on. False if nobody asked that node.
    pub(super) fn expect_answer(&mut self, from: u32, token: u32, total: u64) -> bool {
        match self.answers.get_mut(&token) {
            Some(answer) if answer.from == from => {
                answer.total = Some(total);
                true
            }
            _ => false,
        }
    }

    /// Another node has no such region.
    pub(super) fn hear_refusal(&mut self, from: u32, region: u32, bytes: u64, token: u32) {
        if token == 0 {
            self.troubles.push_back(PmError::Refused {
                node: from,
                region,
                bytes,
            });
        } else if let Some(answer) = self.answers.get_mut(&token)
            && answer.from == from
        {
            answer.refused = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_within_its_region_or_nowhere() {
        let regions = [Some(vec![0; 10]), None];
        assert_eq!(place(&regions, 0, 2, 8), Some(2..10));
        assert_eq!(place(&regions, 0, 10, 0), Some(10..10));
        for (region, offset, bytes) in [
            (0, 3, 8),
            (0, 11, 0),
            (0, u64::MAX, 2),
            (1, 0, 0),
            (2, 0, 0),
        ] {
            assert_eq!(place(&regions, region, offset, bytes), None);
        }
    }
}
