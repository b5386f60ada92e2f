//! The three places as plain slices, and the local steps of a schedule run on them.
//!
//! In-place calls need no aliasing: such schedules name only `Receive`, so `send` is simply empty.
//! Reductions reach the operation as bytes; it sees whole elements only.

use super::schedule::{Local, Place, Region};

/// inout = input ∘ inout for a run of elements: the form that MPI gives to user operations.
pub type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// The buffers of one collective call.
#[derive(Debug)]
pub struct Memory<'a> {
    /// The caller's input.
    pub send: &'a [u8],
    /// The caller's output.
    pub receive: &'a mut [u8],
    /// Working memory.
    pub scratch: &'a mut [u8],
}

impl Memory<'_> {
    /// The bytes of a region.
    #[inline]
    pub fn bytes(&self, region: Region) -> &[u8] {
        match region.place {
            Place::Send => &self.send[region.offset..region.end()],
            Place::Receive => &self.receive[region.offset..region.end()],
            Place::Scratch => &self.scratch[region.offset..region.end()],
        }
    }

    /// The bytes of a region that may be written; panics on `Send`, which no schedule writes.
    #[inline]
    pub fn bytes_mut(&mut self, region: Region) -> &mut [u8] {
        match region.place {
            Place::Send => unreachable!("a schedule wrote to the send buffer: {region:?}"),
            Place::Receive => &mut self.receive[region.offset..region.end()],
            Place::Scratch => &mut self.scratch[region.offset..region.end()],
        }
    }

    /// Runs one local step.
    #[inline]
    pub fn run(&mut self, local: Local, combine: &mut Combine<'_>) {
        match local {
            Local::Copy { from, to } if from.place == to.place => {
                let place = match to.place {
                    Place::Send => unreachable!("a schedule wrote to the send buffer: {to:?}"),
                    Place::Receive => &mut *self.receive,
                    Place::Scratch => &mut *self.scratch,
                };
                place.copy_within(from.offset..from.end(), to.offset);
            }
            Local::Copy { from, to } => {
                let (from, to) = self.pair(from, to);
                to.copy_from_slice(from);
            }
            Local::Reduce { input, into } => {
                let (input, into) = self.pair(input, into);
                combine(input, into);
            }
        }
    }

    /// Two disjoint regions, the second one to be written.
    fn pair(&mut self, read: Region, write: Region) -> (&[u8], &mut [u8]) {
        let (reads, writes) = (read.offset..read.end(), write.offset..write.end());
        match (read.place, write.place) {
            (_, Place::Send) => unreachable!("a schedule wrote to the send buffer: {write:?}"),
            (Place::Send, Place::Receive) => (&self.send[reads], &mut self.receive[writes]),
            (Place::Send, Place::Scratch) => (&self.send[reads], &mut self.scratch[writes]),
            (Place::Receive, Place::Scratch) => (&self.receive[reads], &mut self.scratch[writes]),
            (Place::Scratch, Place::Receive) => (&self.scratch[reads], &mut self.receive[writes]),
            (Place::Receive, Place::Receive) => disjoint(self.receive, read, write),
            (Place::Scratch, Place::Scratch) => disjoint(self.scratch, read, write),
        }
    }
}

fn disjoint(place: &mut [u8], read: Region, write: Region) -> (&[u8], &mut [u8]) {
    assert!(
        !read.overlaps(write),
        "reduction of overlapping regions {read:?} and {write:?}"
    );
    if read.offset < write.offset {
        let (low, high) = place.split_at_mut(write.offset);
        (&low[read.offset..read.end()], &mut high[..write.bytes])
    } else {
        let (low, high) = place.split_at_mut(read.offset);
        (&high[..read.bytes], &mut low[write.offset..write.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Region;
    use super::*;

    #[test]
    fn local_steps_reach_every_pair_of_places() {
        let mut receive = *b"....abcd";
        let mut scratch = *b"wxyz....";
        let mut memory = Memory {
            send: b"0123",
            receive: &mut receive,
            scratch: &mut scratch,
        };
        let mut concatenate = |input: &[u8], into: &mut [u8]| into.copy_from_slice(input);
        memory.run(
            Local::Copy {
                from: Region::send(1, 2),
                to: Region::receive(0, 2),
            },
            &mut concatenate,
        );
        memory.run(
            Local::Copy {
                from: Region::receive(4, 4),
                to: Region::receive(3, 4),
            },
            &mut concatenate,
        );
        memory.run(
            Local::Reduce {
                input: Region::receive(7, 1),
                into: Region::receive(2, 1),
            },
            &mut concatenate,
        );
        let scratch_region = |offset, bytes| Region {
            place: Place::Scratch,
            offset,
            bytes,
        };
        memory.run(
            Local::Reduce {
                input: scratch_region(0, 4),
                into: scratch_region(4, 4),
            },
            &mut concatenate,
        );
        assert_eq!(&receive, b"12dabcdd");
        assert_eq!(&scratch, b"wxyzwxyz");
    }
}
