//! Communicators of parts of a communicator: split, split by type, create from a group.
//!
//! Everybody tells everybody its colour and key, and offers a number in case it will lead: after
//! one exchange all know the parts and their leaders. `create` is a split by the group's first
//! process, with the place in the group as the key.

use super::Foundation;
use crate::communicator::{Comm, Inter};
use crate::error::{CommunicatorError, ErrorKind};
use crate::group::Group;
use crate::info::Info;
use crate::session::{WORLD_SET, find_set};

/// What a rank says in a split.
#[derive(Clone, Copy, oxmpi_datatypes::Plain)]
#[repr(C)]
struct Choice {
    key: i64,
    color: u32,
    /// 0: the rank wants no communicator.
    joins: u32,
    /// Of the new communicator, if this rank leads it.
    foundation: Foundation,
    /// Of its union, if it will have two groups.
    union: Foundation,
}

/// By what the processes of a communicator are told apart (MPI 5.0 §7.4.2, MPI_COMM_SPLIT_TYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitType {
    /// This process takes part and gets nothing (MPI_UNDEFINED).
    Undefined,
    /// Processes that can share memory.
    Shared,
    /// Processes on the hardware that the info names.
    HardwareGuided,
    /// Processes on the largest hardware that not all of them share.
    HardwareUnguided,
    /// As the hardware or the process set that the info names.
    ResourceGuided,
}

impl Comm {
    /// Divides the ranks by `color`; within a colour they are ordered by `key`, then by their old
    /// rank. A rank with no colour takes part in the call and gets no communicator; neither does,
    /// on an intercommunicator, a colour that only one side has. Collective.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Comm>, ErrorKind> {
        match self.inter() {
            None => self.split_intra(color, key),
            Some(inter) => self.split_inter(inter, color, key),
        }
    }

    /// Divides the ranks by what they share. Collective.
    pub fn split_type(
        &self,
        split_type: SplitType,
        key: i64,
        info: Option<&Info>,
    ) -> Result<Option<Comm>, ErrorKind> {
        let told = |key: &str| info.and_then(|info| info.get_text(key));
        let host = self.process.engine.host_of(self.process.rank());
        let by_hardware = || match told("mpi_hw_resource_type").as_deref() {
            Some("mpi_shared_memory") => Some(host),
            _ => None,
        };
        let color = match split_type {
            SplitType::Shared => Some(host),
            SplitType::HardwareGuided => by_hardware(),
            SplitType::ResourceGuided => match told("mpi_pset_name").and_then(find_set) {
                Some(WORLD_SET) => Some(0),
                Some(_) => Some(self.carrier().rank),
                None => by_hardware(),
            },
            // Nothing smaller than the host is told apart, and a part must be smaller than the
            // whole.
            SplitType::HardwareUnguided => self.carrier().hosts().map(|_| host),
            SplitType::Undefined => None,
        };
        let new = self.split(color, key)?;
        if new.is_some()
            && split_type == SplitType::HardwareUnguided
            && let Some(info) = info
        {
            // The caller learns what the parts share (MPI 5.0 §7.4.2); a read-only info keeps its
            // peace.
            let _ = info.set("mpi_hw_resource_type", "mpi_shared_memory");
        }
        if let Some(new) = &new {
            info.inspect(|info| new.set_info(info));
        }
        Ok(new)
    }

    /// A communicator of the processes in `group`, in its order; none for a process that is not in
    /// the group it gives. Groups given by different processes must be the same or have nothing in
    /// common. On an intercommunicator each side gives a group of its own processes. Collective.
    pub fn create(&self, group: &Group) -> Result<Option<Comm>, ErrorKind> {
        self.check_contains(group)?;
        let Some(place) = group.rank_of(self.process.rank()) else {
            return self.split(None, 0);
        };
        let color = match self.is_inter() {
            true => 0,
            false => group.processes()[0],
        };
        self.split(Some(color), i64::from(place))
    }

    /// Refuses groups with processes that this communicator does not have.
    pub(super) fn check_contains(&self, group: &Group) -> Result<(), CommunicatorError> {
        let stranger = (0..)
            .zip(group.processes())
            .find(|&(_, &process)| !self.group().contains(process));
        match stranger {
            None => Ok(()),
            Some((rank, &process)) => Err(CommunicatorError::NotInCommunicator {
                rank,
                process,
                size: self.size,
            }),
        }
    }

    fn split_intra(&self, color: Option<u32>, key: i64) -> Result<Option<Comm>, ErrorKind> {
        let (mine, all) = self.choices(color, key, false)?;
        let ranks = part(&all, 0..self.size, color);
        let Some(&leader) = ranks.first() else {
            return Ok(None);
        };
        if leader != self.rank {
            mine.foundation.give_back(&self.process);
        }
        let new_rank = place_of(&ranks, self.rank);
        let new = all[leader as usize].foundation.build(
            &self.process,
            new_rank,
            self.group_of(&ranks),
        )?;
        new.with_board().map(Some)
    }

    fn split_inter(
        &self,
        inter: &Inter,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Comm>, ErrorKind> {
        let union = &inter.union;
        let (mine, all) = union.choices(color, key, true)?;
        let border = match inter.first {
            true => self.size,
            false => self.peers,
        };
        let sides = [
            part(&all, 0..border, color),
            part(&all, border..union.size, color),
        ];
        let leader = match (sides[0].first(), sides[1].first()) {
            (Some(&leader), Some(_)) => Some(leader),
            _ => None,
        };
        if leader != Some(union.rank) {
            mine.foundation.give_back(&self.process);
            mine.union.give_back(&self.process);
        }
        let Some(leader) = leader else {
            return Ok(None);
        };
        let [own, remote] = match inter.first {
            true => [&sides[0], &sides[1]],
            false => [&sides[1], &sides[0]],
        };
        let choice = all[leader as usize];
        let rank = place_of(own, union.rank);
        let together = [&sides[0][..], &sides[1][..]].concat();
        let mut new = choice
            .foundation
            .build(&self.process, rank, union.group_of(own))?;
        let place = place_of(&together, union.rank);
        let both = choice
            .union
            .build(&self.process, place, union.group_of(&together))?;
        new.set_inter(Inter {
            remote: union.group_of(remote),
            union: both.with_board()?.into(),
            first: inter.first,
        });
        Ok(Some(new))
    }

    /// What this rank says, and what everybody says.
    fn choices(
        &self,
        color: Option<u32>,
        key: i64,
        inter: bool,
    ) -> Result<(Choice, Vec<Choice>), ErrorKind> {
        let joins = color.is_some();
        let offer = |offered: bool| match offered {
            true => Foundation::choose(&self.process, false),
            false => Foundation::default(),
        };
        let mine = Choice {
            key,
            color: color.unwrap_or(0),
            joins: u32::from(joins),
            foundation: offer(joins),
            union: offer(joins && inter),
        };
        let mut all = vec![mine; self.size as usize];
        self.allgather_plain(&[mine], &mut all)?;
        Ok((mine, all))
    }

    /// The processes of these ranks.
    pub(super) fn group_of(&self, ranks: &[u32]) -> Group {
        let processes = ranks.iter().map(|&rank| self.process_of(rank)).collect();
        Group::new(processes).with_origin(self.group().origin().cloned())
    }
}

/// The ranks among these that gave this colour, in their new order.
fn part(all: &[Choice], among: std::ops::Range<u32>, color: Option<u32>) -> Vec<u32> {
    let Some(color) = color else {
        return Vec::new();
    };
    let mut ranks: Vec<u32> = among
        .filter(|&rank| {
            let choice = &all[rank as usize];
            choice.joins == 1 && choice.color == color
        })
        .collect();
    // Stable, so equal keys keep the order of the old ranks.
    ranks.sort_by_key(|&rank| all[rank as usize].key);
    ranks
}

fn place_of(ranks: &[u32], rank: u32) -> u32 {
    let place = ranks.iter().position(|&other| other == rank);
    place.expect("this rank has the colour it gave") as u32
}
