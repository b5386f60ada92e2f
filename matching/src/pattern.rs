//! What a receive accepts, and the keys under which receives and messages are filed.
//!
//! A pattern belongs to one of four classes by which of its fields are wild. A key is the class and
//! the fields that count in it, so that equal keys mean "these two match" and keys of different
//! classes never meet.

use core::fmt;

use oxmpi_wire::Envelope;

/// What a receive or a probe accepts: one context, and one or any source and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The communicator's context; there is no wildcard for it.
    pub context: u32,
    /// The sender's rank, or any.
    pub source: Option<u32>,
    /// The tag, or any.
    pub tag: Option<i32>,
}

impl Pattern {
    /// Whether a message with this envelope is one the pattern accepts.
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    #[inline]
    pub(crate) fn class(&self) -> Class {
        match (self.source, self.tag) {
            (Some(_), Some(_)) => Class::Exact,
            (None, Some(_)) => Class::AnySource,
            (Some(_), None) => Class::AnyTag,
            (None, None) => Class::AnyBoth,
        }
    }

    #[inline]
    pub(crate) fn sought(&self, class: Class) -> Sought {
        let source = self.source.unwrap_or(0);
        let tag = self.tag.unwrap_or(0);
        Key::new(class, self.context, source, tag).sought()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {}", self.context)?;
        match self.source {
            Some(source) => write!(f, " source {source}")?,
            None => f.write_str(" any source")?,
        }
        match self.tag {
            Some(tag) => write!(f, " tag {tag}"),
            None => f.write_str(" any tag"),
        }
    }
}

/// Which fields of a pattern are wild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Neither.
    Exact = 0,
    /// The source.
    AnySource = 1,
    /// The tag.
    AnyTag = 2,
    /// Source and tag.
    AnyBoth = 3,
}

/// How many classes there are.
pub(crate) const CLASSES: usize = 4;

/// The classes with a wildcard in them.
pub(crate) const WILD: [Class; CLASSES - 1] = [Class::AnySource, Class::AnyTag, Class::AnyBoth];

/// A class and the fields that count in it; wild fields are zero. Two words, so that a comparison
/// takes two instructions: context and source, then class and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    peer: u64,
    label: u64,
}

/// A key with its hash, which is computed once however many tables are searched.
#[derive(Clone, Copy)]
pub(crate) struct Sought {
    pub(crate) key: Key,
    pub(crate) hash: u32,
}

impl Sought {
    /// What a message is found under by the patterns of a class.
    #[inline]
    pub(crate) fn of(class: Class, envelope: &Envelope) -> Sought {
        let (source, tag) = match class {
            Class::Exact => (envelope.source, envelope.tag),
            Class::AnySource => (0, envelope.tag),
            Class::AnyTag => (envelope.source, 0),
            Class::AnyBoth => (0, 0),
        };
        Key::new(class, envelope.context, source, tag).sought()
    }
}

impl Key {
    /// Fills places that have no key yet.
    pub(crate) const BLANK: Key = Key { peer: 0, label: 0 };

    #[inline]
    fn new(class: Class, context: u32, source: u32, tag: i32) -> Key {
        Key {
            peer: u64::from(context) << 32 | u64::from(source),
            label: (class as u64) << 32 | u64::from(tag.cast_unsigned()),
        }
    }

    #[inline]
    pub(crate) fn class(self) -> Class {
        match self.label >> 32 {
            0 => Class::Exact,
            1 => Class::AnySource,
            2 => Class::AnyTag,
            _ => Class::AnyBoth,
        }
    }

    /// The pattern that has this key.
    pub(crate) fn pattern(self) -> Pattern {
        let class = self.class();
        let any_source = matches!(class, Class::AnySource | Class::AnyBoth);
        let any_tag = matches!(class, Class::AnyTag | Class::AnyBoth);
        Pattern {
            context: (self.peer >> 32) as u32,
            source: (!any_source).then_some(self.peer as u32),
            tag: (!any_tag).then_some((self.label as u32).cast_signed()),
        }
    }

    /// Mixes all bits of the key: one 64 by 64 bit product, folded. Ranks, tags and contexts count
    /// up from zero, so the constants fill the upper halves of both factors (digits of π).
    #[inline]
    fn sought(self) -> Sought {
        let product = u128::from(self.peer ^ 0x243f_6a88_85a3_08d3)
            * u128::from(self.label ^ 0x1319_8a2e_0370_7345);
        let folded = (product >> 64) as u64 ^ product as u64;
        let hash = (folded >> 32) as u32 ^ folded as u32;
        Sought { key: self, hash }
    }
}
