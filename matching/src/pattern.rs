//! What a receive accepts, and the keys under which receives and messages are filed.
//!
//! A pattern belongs to one of four classes by which of its fields are wild. A pattern and a
//! message are filed under the fields that count in a class and a hash that contains the class, so
//! that equal keys with equal hashes mean "these two match" and different classes never meet.

use core::fmt;

use oxmpi_wire::Envelope;

/// What a receive or a probe accepts: one context, and one or any source and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The communicator's context; there is no wildcard for it.
    pub context: u64,
    /// The sender's rank, or any.
    pub source: Option<u32>,
    /// The tag, or any.
    pub tag: Option<i32>,
    /// What the receiver takes the data for, as [`Envelope::signature`]. Nothing is matched by it,
    /// and the queues forget it.
    pub signature: u8,
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
    pub(crate) fn sought(&self, seed: Seed, class: Class) -> Sought {
        let source = self.source.unwrap_or(0);
        let tag = self.tag.unwrap_or(0);
        Sought::new(seed, class, self.context, source, tag)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {:#x}", self.context)?;
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

/// What the hash of the queues is mixed with. Who does not know it cannot choose contexts, ranks
/// and tags that share a place in the tables, which would make every search as long as the queue:
/// where peers are not trusted it is random, and told to nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    context: u64,
    label: u64,
}

impl Seed {
    /// Of 128 random bits.
    pub const fn new(random: [u64; 2]) -> Seed {
        let [context, label] = random;
        Seed { context, label }
    }
}

impl Default for Seed {
    /// Known to everybody: for peers that are trusted, and runs that are repeated (digits of π).
    fn default() -> Seed {
        Seed::new([0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345])
    }
}

impl fmt::Debug for Seed {
    /// Logs are read by others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
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

/// The fields that count in a class; wild fields are zero. Two words, so that a comparison takes
/// two instructions: the context, then source and tag. The class is in the hash, which is compared
/// before the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    context: u64,
    label: u64,
}

/// A key with its hash, which is computed once however many tables are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sought {
    pub(crate) key: Key,
    /// The class in the upper two bits; the others are mixed out of class and key.
    pub(crate) hash: u32,
}

/// Where the class begins in a hash.
const CLASS_SHIFT: u32 = 30;

impl Sought {
    /// What a message is found under by the patterns of a class.
    #[inline]
    pub(crate) fn of(seed: Seed, class: Class, envelope: &Envelope) -> Sought {
        let (source, tag) = match class {
            Class::Exact => (envelope.source, envelope.tag),
            Class::AnySource => (0, envelope.tag),
            Class::AnyTag => (envelope.source, 0),
            Class::AnyBoth => (0, 0),
        };
        Sought::new(seed, class, envelope.context, source, tag)
    }

    /// Mixes all bits by two products of 64 by 64 bits, folded. Ranks, tags and contexts count up,
    /// so the seed fills the upper halves of both factors; the class goes where ranks end. One
    /// product alone lets the steps show in which keys count, for some seeds.
    #[inline]
    fn new(seed: Seed, class: Class, context: u64, source: u32, tag: i32) -> Sought {
        let label = u64::from(source) << 32 | u64::from(tag.cast_unsigned());
        let mixed = fold(
            context ^ seed.context,
            label ^ (class as u64) << 62 ^ seed.label,
        );
        let mixed = fold(mixed, GOLDEN) as u32;
        Sought {
            key: Key { context, label },
            hash: (class as u32) << CLASS_SHIFT | mixed & ((1 << CLASS_SHIFT) - 1),
        }
    }

    #[inline]
    pub(crate) fn class(self) -> Class {
        match self.hash >> CLASS_SHIFT {
            0 => Class::Exact,
            1 => Class::AnySource,
            2 => Class::AnyTag,
            _ => Class::AnyBoth,
        }
    }

    /// The pattern that is filed under this.
    pub(crate) fn pattern(self) -> Pattern {
        let class = self.class();
        let any_source = matches!(class, Class::AnySource | Class::AnyBoth);
        let any_tag = matches!(class, Class::AnyTag | Class::AnyBoth);
        let label = self.key.label;
        Pattern {
            context: self.key.context,
            source: (!any_source).then_some((label >> 32) as u32),
            tag: (!any_tag).then_some((label as u32).cast_signed()),
            signature: 0,
        }
    }
}

/// The golden ratio's digits: an odd number without a pattern.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of a product, so that no bit of it is lost.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

impl Key {
    /// Fills places that have no key yet.
    pub(crate) const BLANK: Key = Key {
        context: 0,
        label: 0,
    };
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// How many of the keys share their home with others, in a table with four slots a key.
    fn crowded(keys: impl Iterator<Item = Sought>) -> f64 {
        let keys: Vec<Sought> = keys.collect();
        let slots = (keys.len() * 4).next_power_of_two();
        let mut homes = vec![0u32; slots];
        for key in &keys {
            homes[key.hash as usize & (slots - 1)] += 1;
        }
        let shared: u32 = homes.iter().filter(|&&count| count > 1).sum();
        f64::from(shared) / keys.len() as f64
    }

    /// The keys that programs really have are spread as well as random ones would be: at random,
    /// a quarter of the slots taken, up to 22 in 100 share their home.
    #[test]
    fn keys_that_count_up_are_spread() {
        let seeds = [Seed::default()].into_iter().chain(seeds().take(8));
        seeds.for_each(keys_that_count_up_are_spread_by);
    }

    /// Of many random ones, none may be bad for what programs do (xorshift).
    fn seeds() -> impl Iterator<Item = Seed> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        core::iter::from_fn(move || Some(Seed::new([next(), next()])))
    }

    /// Keys that all share one home under one seed are spread by any other.
    #[test]
    fn keys_chosen_for_one_seed_are_spread_by_others() {
        let known = Seed::default();
        // A factor of 0 makes 0 of every other.
        let key = |seed, number| Sought::new(seed, Class::Exact, known.context, number, 7);
        let share = |seed| crowded((0..16_000).map(|number| key(seed, number)));
        assert!(share(known) > 0.99, "the keys are not well chosen");
        for seed in seeds().take(100) {
            assert!(share(seed) < 0.3, "{:.2} share their home", share(seed));
        }
    }

    fn keys_that_count_up_are_spread_by(seed: Seed) {
        let key = |context: u64, source, tag| Sought::new(seed, Class::Exact, context, source, tag);
        let mut worst = 0.0_f64;
        let mut see = |name: &str, share: f64| {
            assert!(
                share < 0.3,
                "{name}: {share:.2} of the keys share their home"
            );
            worst = worst.max(share);
        };
        for stride in [1, 2, 8, 64, 1000, 4096, 1 << 16] {
            let tags = (0..30_000).map(|n: i32| key(1, 3, n.wrapping_mul(stride)));
            see("tags", crowded(tags));
            let stride = stride as u32;
            let sources = (0..30_000).map(|n: u32| key(1, n.wrapping_mul(stride), 3));
            see("sources", crowded(sources));
            let contexts = (0..30_000).map(|n: u32| key(n.wrapping_mul(stride).into(), 3, 3));
            see("contexts", crowded(contexts));
            // As communicators have them: those of one maker differ in the middle, makers above.
            let job = 0x9e37_79b9_u64 << 32;
            let one_maker = (0..30_000).map(|n: u64| key(job | n << 2, 3, 3));
            see("contexts of one maker", crowded(one_maker));
            let makers = (0..30_000).map(|n: u64| key((job + (n << 32)) | 8, 3, stride as i32));
            see("contexts of many makers", crowded(makers));
            let both =
                (0..30_000).map(|n: u64| key((job + ((n / 99) << 32)) | ((n % 99) << 2), 3, 3));
            see("contexts of makers with many", crowded(both));
            let grid = (0..30_000).map(|n: u32| key(2, n / 173, (n % 173 * stride) as i32));
            see("sources and tags", crowded(grid));
            let diagonal =
                (0..30_000).map(|n: u32| key((n % 7).into(), n * stride, (n * stride) as i32));
            see("both together", crowded(diagonal));
        }
        assert!(worst > 0.1, "the measure itself is broken: {worst}");
    }

    #[test]
    fn a_key_remembers_its_pattern() {
        for source in [None, Some(0), Some(u32::MAX)] {
            for tag in [None, Some(0), Some(-1), Some(i32::MAX)] {
                let pattern = Pattern {
                    context: u64::MAX - 7,
                    source,
                    tag,
                    signature: 0,
                };
                let sought = pattern.sought(Seed::default(), pattern.class());
                assert_eq!(sought.pattern(), pattern);
            }
        }
    }

    #[test]
    fn people_can_read_a_pattern() {
        let text = |source, tag| {
            let pattern = Pattern {
                context: 7,
                source,
                tag,
                signature: 0,
            };
            alloc::format!("{pattern}")
        };
        assert_eq!(text(Some(3), Some(5)), "context 0x7 source 3 tag 5");
        assert_eq!(text(None, None), "context 0x7 any source any tag");
    }
}
