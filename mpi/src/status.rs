//! What a receive asks for (`Source`, `Tag`) and what it learns (`Status`).
//!
//! Ranks here are always ranks of the communicator the call was made on. Wildcards are separate
//! values and not magic numbers, so a rank computed wrongly cannot turn into "any".

use oxmpi_datatypes::plain::Plain;

/// The highest tag a program may use. The bits above it stay free for the library.
pub const TAG_MAX: i32 = 0x3fff_ffff;

/// Receive from whoever sends first.
pub const ANY_SOURCE: Source = Source::Any;

/// Receive a message with any tag.
pub const ANY_TAG: Tag = Tag::Any;

/// Nobody: to send to it or to receive from it is over at once and moves nothing. Beyond the edge of
/// a grid there is nobody, so programs need no special case there (MPI 5.0 §3.10).
pub const PROC_NULL: Option<u32> = None;

/// Whom a receive or a probe listens to. A plain `u32` converts into it, and so does an
/// `Option<u32>`: `None` is nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This rank only.
    Rank(u32),
    /// Any rank of the communicator.
    Any,
    /// Nobody: the receive is over at once, and nothing comes (MPI_PROC_NULL).
    Nobody,
}

impl Source {
    /// None for nobody.
    #[inline(always)]
    pub(crate) fn somebody(self) -> Option<Source> {
        match self {
            Source::Nobody => None,
            source => Some(source),
        }
    }
}

impl From<Option<u32>> for Source {
    fn from(rank: Option<u32>) -> Self {
        rank.map_or(Source::Nobody, Source::Rank)
    }
}

impl From<u32> for Source {
    fn from(rank: u32) -> Self {
        Source::Rank(rank)
    }
}

/// Which tag a receive or a probe accepts. A plain `i32` converts into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// This tag only.
    Is(i32),
    /// Any tag.
    Any,
}

impl From<i32> for Tag {
    fn from(tag: i32) -> Self {
        Tag::Is(tag)
    }
}

/// What is known of a finished operation or of a probed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator. Of a send, of a collective and of a receive from
    /// nobody: the own rank.
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
    /// The message's length.
    pub bytes: u64,
    /// The operation was taken back before it met its partner; nothing was transferred.
    pub cancelled: bool,
}

impl Status {
    /// How many elements of `T` the message holds; `None` when it does not hold a whole number.
    #[inline]
    pub fn count<T: Plain>(&self) -> Option<usize> {
        let size = size_of::<T>() as u64;
        if size == 0 {
            return (self.bytes == 0).then_some(0);
        }
        let whole = self.bytes.is_multiple_of(size);
        whole.then_some((self.bytes / size) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(bytes: u64) -> Status {
        Status {
            source: 0,
            tag: 0,
            bytes,
            cancelled: false,
        }
    }

    #[test]
    fn count_is_whole_elements_or_nothing() {
        assert_eq!(status(24).count::<f64>(), Some(3));
        assert_eq!(status(20).count::<f64>(), None);
        assert_eq!(status(0).count::<[u8; 0]>(), Some(0));
        assert_eq!(status(3).count::<[u8; 0]>(), None);
    }

    #[test]
    fn literals_convert() {
        fn source(s: impl Into<Source>) -> Source {
            s.into()
        }
        fn tag(t: impl Into<Tag>) -> Tag {
            t.into()
        }
        assert_eq!(source(3), Source::Rank(3));
        assert_eq!(source(ANY_SOURCE), Source::Any);
        assert_eq!(source(Some(2)), Source::Rank(2));
        assert_eq!(source(PROC_NULL), Source::Nobody);
        assert_eq!(tag(9), Tag::Is(9));
        assert_eq!(tag(ANY_TAG), Tag::Any);
    }
}
