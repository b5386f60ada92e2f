//! Folding any number of ranks onto a power of two, for algorithms that pair ranks by bits.
//!
//! The first 2·extra ranks form neighbouring pairs; of each pair one stands out and hands its data
//! to the other, which acts for both. Neighbours keep rank order, so operations that do not commute
//! survive it.

use super::position::Position;

/// How a communicator folds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// Number of acting ranks, a power of two.
    pub acting: u32,
    /// Number of pairs.
    pub extra: u32,
    /// A rank that must act (a root); otherwise the upper one of a pair acts.
    favoured: Option<u32>,
}

/// What a rank does in the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Acts alone under this virtual rank.
    Alone(u32),
    /// Acts under the virtual rank, also for this partner.
    ActsFor(u32, u32),
    /// Hands its data to this rank and waits.
    StandsOut(u32),
}

impl Fold {
    #[inline]
    pub fn new(size: u32, favoured: Option<u32>) -> Fold {
        let acting = 1 << size.ilog2();
        Fold {
            acting,
            extra: size - acting,
            favoured,
        }
    }

    /// The real rank that acts as `virtual_rank`.
    #[inline]
    pub fn actor(&self, virtual_rank: u32) -> u32 {
        if virtual_rank >= self.extra {
            return virtual_rank + self.extra;
        }
        let lower = 2 * virtual_rank;
        if self.favoured == Some(lower) {
            lower
        } else {
            lower + 1
        }
    }

    #[inline]
    pub fn role(&self, position: Position) -> Role {
        let rank = position.rank;
        if rank >= 2 * self.extra {
            return Role::Alone(rank - self.extra);
        }
        let actor = self.actor(rank / 2);
        if actor == rank {
            Role::ActsFor(rank / 2, rank ^ 1)
        } else {
            Role::StandsOut(actor)
        }
    }

    /// The first real rank whose data `virtual_rank` stands for; virtual ranks cover real ones in
    /// order.
    #[inline]
    pub fn first_covered(&self, virtual_rank: u32) -> u32 {
        virtual_rank + virtual_rank.min(self.extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_one_role_and_a_favoured_rank_acts() {
        for size in 1..40 {
            for favoured in [None, Some(0), Some(size - 1), Some(size / 2)] {
                let fold = Fold::new(size, favoured);
                let mut acting = 0;
                for rank in 0..size {
                    match fold.role(Position::new(rank, size)) {
                        Role::Alone(v) | Role::ActsFor(v, _) => {
                            assert_eq!(fold.actor(v), rank);
                            acting += 1;
                        }
                        Role::StandsOut(actor) => {
                            assert!(actor == rank ^ 1 && favoured != Some(rank))
                        }
                    }
                }
                assert_eq!(acting, fold.acting);
                assert_eq!(fold.first_covered(fold.acting), size);
            }
        }
    }
}
