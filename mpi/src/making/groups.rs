//! Groups, and two groups that talk to each other, for Rust programs.
//!
//! The calls are those of `inter`, `makers` and `split`, on typed communicators. A communicator of
//! two groups has the same type as one of one group; its ranks are those of the other group.

use std::sync::Arc;

use super::inter::intercomm_create;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::group::{Group, GroupError};
use crate::thread::Level;

/// As the groups take ranks; more than they have room for is more than there are ranks.
fn numbers(ranks: &[u32]) -> Vec<i32> {
    let number = |&rank: &u32| i32::try_from(rank).unwrap_or(i32::MAX);
    ranks.iter().map(number).collect()
}

impl Group {
    /// The members with these ranks, in the order of the list.
    pub fn select(&self, ranks: &[u32]) -> Result<Group> {
        let found = self.include(&numbers(ranks));
        found.map_err(|error| self.refuse(error, "select"))
    }

    /// The members without these ranks, in the order of this group.
    pub fn without(&self, ranks: &[u32]) -> Result<Group> {
        let found = self.exclude(&numbers(ranks));
        found.map_err(|error| self.refuse(error, "without"))
    }

    fn refuse(&self, error: GroupError, call: &'static str) -> Error {
        let kind = match error {
            GroupError::RankTwice {
                index,
                earlier,
                rank,
            } => ErrorKind::RankTwice {
                index,
                earlier,
                rank,
            },
            GroupError::RankOutOfRange { rank, size, .. } => ErrorKind::Rank {
                argument: "rank",
                rank: rank as u32,
                size,
            },
            _ => unreachable!("lists of ranks have no ranges"),
        };
        kind.before_start(call)
    }
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// The processes of this communicator, of two groups those of the own one.
    pub fn group(&self) -> Group {
        self.comm.group().clone()
    }

    /// A communicator of the processes in `group`, in its order; `None` for a process that is not
    /// in the group it gives. Groups given by different ranks are the same or have nothing in
    /// common. Collective over this communicator.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let backwards: Vec<u32> = (0..world.size()).rev().collect();
    /// let turned = world.create(&world.group().select(&backwards)?)?.expect("a member");
    /// assert_eq!(turned.rank(), world.size() - 1 - world.rank());
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn create(&self, group: &Group) -> Result<Option<Communicator<'mpi, L>>> {
        let new = self.comm.create(group);
        let new = new.map_err(|kind| self.fail("create", kind))?;
        Ok(new.map(|new| Communicator::new(self.process, Arc::new(new))))
    }

    /// A communicator of two groups, an *intercommunicator*: that of this communicator and another
    /// one, whose ranks messages go to and come from. Rank `leader` of this communicator reaches
    /// the leader of the other by `beyond`, a communicator that has both and the other's rank in
    /// it; other ranks pass `None`. Collective over both groups, which have no process in common.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// // The first rank on one side, all others on the other.
    /// let serves = world.rank() == 0;
    /// let side = world.split(Some(u32::from(serves)), 0)?.expect("a colour");
    /// let beyond = (side.rank() == 0).then_some((&world, u32::from(serves)));
    /// let both = side.intercommunicator(0, beyond, 7)?;
    /// match serves {
    ///     true => println!("{} clients", both.remote_size()),
    ///     false => both.send(&1, 0, 0)?, // to the server
    /// }
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    ///
    /// In collectives, data goes from one group to the other. The root passes
    /// [`Root::This`](crate::collective::Root), the others of its group
    /// [`Root::Nobody`](crate::collective::Root), and the other group the root's rank.
    pub fn intercommunicator(
        &self,
        leader: u32,
        beyond: Option<(&Communicator<'_, L>, u32)>,
        tag: i32,
    ) -> Result<Communicator<'mpi, L>> {
        let peer = beyond.map(|(peer, _)| &*peer.comm);
        let other = beyond.map_or(0, |(_, rank)| i32::try_from(rank).unwrap_or(i32::MAX));
        let new = intercomm_create(&self.comm, leader, peer, other, tag);
        let new = new.map_err(|kind| self.fail("intercommunicator", kind))?;
        Ok(Communicator::new(self.process, Arc::new(new)))
    }

    /// Whether this communicator has two groups.
    pub fn is_inter(&self) -> bool {
        self.comm.is_inter()
    }

    /// How many ranks messages can go to: of a communicator of two groups, those of the other one.
    pub fn remote_size(&self) -> u32 {
        self.comm.peers
    }

    /// One communicator of both groups; the group whose ranks say `high` comes behind the other.
    /// Collective over both groups.
    pub fn merge(&self, high: bool) -> Result<Communicator<'mpi, L>> {
        let new = self.comm.merge(high);
        let new = new.map_err(|kind| self.fail("merge", kind))?;
        Ok(Communicator::new(self.process, Arc::new(new)))
    }
}
