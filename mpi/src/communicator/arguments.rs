//! Checks of ranks and tags before a message is begun.

use crate::error::ErrorKind;
use crate::status::{Source, TAG_MAX, Tag};

/// Refuses tags a program may not use, naming the value and the bounds.
#[inline(always)]
pub(crate) fn check_tag(tag: i32) -> Result<(), ErrorKind> {
    if (0..=TAG_MAX).contains(&tag) {
        return Ok(());
    }
    Err(ErrorKind::Tag { tag })
}

impl Source {
    /// The form the matching queues take, after a check against the communicator's size.
    #[inline]
    pub(crate) fn checked(self, size: u32) -> Result<Option<u32>, ErrorKind> {
        match self {
            Source::Any => Ok(None),
            // Every call that takes a source asks for nobody first.
            Source::Nobody => unreachable!("nobody sends nothing"),
            Source::Rank(rank) if rank < size => Ok(Some(rank)),
            Source::Rank(rank) => Err(ErrorKind::Rank {
                argument: "source",
                rank,
                size,
            }),
        }
    }
}

impl Tag {
    /// The form the matching queues take, after a check against the bounds.
    #[inline]
    pub(crate) fn checked(self) -> Result<Option<i32>, ErrorKind> {
        match self {
            Tag::Any => Ok(None),
            Tag::Is(tag) => check_tag(tag).map(|()| Some(tag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_tags_are_checked() {
        assert_eq!(Source::Any.checked(4).ok(), Some(None));
        assert_eq!(Source::Rank(3).checked(4).ok(), Some(Some(3)));
        assert!(Source::Rank(4).checked(4).is_err());
        assert!(Tag::Is(-1).checked().is_err());
        assert!(Tag::Is(TAG_MAX).checked().is_ok());
        assert!(check_tag(TAG_MAX + 1).is_err());
    }
}
