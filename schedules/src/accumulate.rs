//! A partial result on its way through a reduction: where it lies, where the next contribution
//! lands.
//!
//! The caller's input is read-only and `into = input ∘ into` is the only operation, so the partial
//! result changes places: it starts in the input, and when the contribution comes from a higher
//! rank and order counts, the landing place becomes the result's new home. That costs no copy, and
//! memory is taken lazily.

use super::cut::Block;
use super::schedule::{Builder, Place, Region};

/// From where a contribution comes, in rank order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Its ranks precede all that has been combined so far.
    Below,
    /// Its ranks follow all that has been combined so far.
    Above,
}

/// The partial result of one rank.
#[derive(Debug)]
pub(crate) struct Accumulator {
    /// Where the partial result lies now.
    pub at: Region,
    home: Option<Region>,
    spare: Option<Region>,
    commutative: bool,
}

impl Accumulator {
    /// Starts with the rank's own input. `home` is where the result belongs, if anywhere.
    #[inline]
    pub fn new(own: Region, home: Option<Region>, commutative: bool) -> Accumulator {
        Accumulator {
            at: own,
            home,
            spare: None,
            commutative,
        }
    }

    #[inline]
    fn home(&mut self, builder: &mut Builder) -> Region {
        *self
            .home
            .get_or_insert_with(|| builder.scratch(self.at.bytes))
    }

    #[inline]
    fn spare(&mut self, builder: &mut Builder) -> Region {
        *self
            .spare
            .get_or_insert_with(|| builder.scratch(self.at.bytes))
    }

    /// Whether `input ∘ contribution` may be computed with the partial result as the input.
    #[inline]
    fn moves(&self, side: Side) -> bool {
        if self.commutative {
            self.at.place == Place::Send
        } else {
            side == Side::Above
        }
    }

    /// Where the next contribution has to be received.
    #[inline]
    pub fn landing(&mut self, builder: &mut Builder, side: Side) -> Region {
        let read_only = self.at.place == Place::Send;
        if Some(self.at) == self.home || (read_only && !self.moves(side)) {
            self.spare(builder)
        } else {
            self.home(builder)
        }
    }

    /// Combines the `part` that has arrived at the landing place with the partial result.
    #[inline]
    pub fn combine(&mut self, builder: &mut Builder, side: Side, part: Block) {
        let landing = self.landing(builder, side);
        let received = landing.part(part.offset, part.bytes);
        if self.moves(side) {
            builder.reduce(self.at.part(part.offset, part.bytes), received);
            self.at = landing;
            return;
        }
        if self.at.place == Place::Send {
            let home = self.home(builder);
            builder.copy(
                self.at.part(part.offset, part.bytes),
                home.part(part.offset, part.bytes),
            );
            self.at = home;
        }
        builder.reduce(received, self.at.part(part.offset, part.bytes));
    }

    /// Brings the `part` of the result home, where it may already be.
    #[inline]
    pub fn settle(&mut self, builder: &mut Builder, part: Block) -> Region {
        let home = self.home(builder);
        builder.copy(
            self.at.part(part.offset, part.bytes),
            home.part(part.offset, part.bytes),
        );
        self.at = home;
        home
    }
}
