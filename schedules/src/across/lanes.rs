//! Lanes: the vector is cut into as many parts as every host has ranks to spare, and the rank with
//! the same index on each host takes care of the same part. Hosts may have more ranks than lanes;
//! those contribute and get results, but talk to no other host.

use super::super::cut::{Block, Cut};
use super::super::position::Position;
use super::super::reduce_scatter::pairwise_into;
use super::super::schedule::{Builder, Region};
use super::super::{Operand, Vector};
use super::Here;

/// Most lanes: more conversations between two hosts do not move more bytes, and parts become short.
pub(super) const LANES_MAX: u32 = 8;

/// The lanes of a vector, seen from one rank.
pub(super) struct Lanes<'a> {
    here: Here<'a>,
    cut: Cut,
    count: u32,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(here: Here<'a>, operand: &Operand) -> Lanes<'a> {
        let count = here.hosts.least().min(LANES_MAX);
        Lanes {
            here,
            cut: operand.cut(count),
            count,
        }
    }

    /// The part that the rank with that index on its host takes care of; empty beyond the lanes.
    fn part(&self, index: u32) -> Block {
        if index < self.count {
            self.cut.part(index)
        } else {
            Block::default()
        }
    }

    /// This rank's part.
    pub(super) fn own(&self) -> Block {
        self.part(self.here.local().rank)
    }

    /// The other lanes of this host: ranks and their parts.
    pub(super) fn others(&self) -> impl Iterator<Item = (u32, Block)> + use<'_, 'a> {
        let members = self.here.members().iter().zip(0..self.count);
        members
            .filter(|&(&rank, _)| rank != self.here.rank)
            .map(|(&rank, index)| (rank, self.part(index)))
    }

    /// Combines this rank's part over its host, in `home` or where the answer says.
    pub(super) fn combine(
        &self,
        builder: &mut Builder,
        vector: Vector,
        home: Region,
        window: u32,
    ) -> Region {
        let piece = |index: u32| {
            let part = self.part(index);
            std::iter::once(vector.own.part(part.offset, part.bytes))
        };
        self.here.on_host(builder, |builder, position| {
            pairwise_into(builder, position, piece, home, vector.commutative, window)
        })
    }

    /// A phase among the ranks of this lane, numbered by their hosts; nothing for ranks beyond the
    /// lanes.
    pub(super) fn between_hosts(
        &self,
        builder: &mut Builder,
        phase: impl FnOnce(&mut Builder, Position),
    ) {
        let (here, lane) = (self.here, self.here.local().rank);
        if lane < self.count {
            builder.among(
                |host| here.hosts.members(host)[lane as usize],
                |builder| phase(builder, here.among_hosts()),
            );
        }
    }
}
