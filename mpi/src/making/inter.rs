//! Intercommunicators: two groups that talk to each other (MPI 5.0 §7.6).
//!
//! The two leaders exchange their groups and each offers numbers; those of the side whose group has
//! the lower first process are taken, and that side stands first in the union, so both sides agree
//! without another word.

use std::sync::Arc;

use super::Foundation;
use super::makers::{LEADERS, Makers};
use crate::communicator::{Comm, Inter, check_tag};
use crate::error::{CommunicatorError, ErrorKind};
use crate::group::Group;
use crate::process::Process;
use oxmpi_datatypes::plain::{bytes, bytes_mut};

/// What one side tells the other, before the list of its processes.
#[derive(Clone, Copy, Default, oxmpi_datatypes::Plain)]
#[repr(C)]
struct Side {
    /// 1 if the leader gave up.
    failed: u32,
    size: u32,
    own: Foundation,
    union: Foundation,
}

/// An intercommunicator between the group of `local` and the group that a remote leader stands for.
/// The leaders reach each other by `peer`, which counts only at the leader, as does
/// `remote_leader`. Collective over both groups.
pub fn intercomm_create(
    local: &Comm,
    local_leader: u32,
    peer: Option<&Comm>,
    remote_leader: i32,
    tag: i32,
) -> Result<Comm, ErrorKind> {
    if local.is_inter() {
        let call = "MPI_Intercomm_create";
        return Err(CommunicatorError::IsInter { call }.into());
    }
    check_leader("local_leader", i64::from(local_leader), local.size)?;
    let is_leader = local.rank == local_leader;
    let met = is_leader.then(|| meet(local, peer, remote_leader, tag));
    let tell = |data: &mut [u8]| local.bcast_plain(data, local_leader);
    let (side, remote) = spread(met, local_leader, tell)?;
    let remote = Group::new(remote);
    join(
        &local.process,
        local.group(),
        remote,
        [side.own, side.union],
    )
}

/// What the leader has come to with the other side, known to all of its own: the other side's
/// processes, too.
fn spread(
    met: Option<Result<(Side, Vec<u32>), ErrorKind>>,
    leader: u32,
    tell: impl Fn(&mut [u8]) -> Result<(), ErrorKind>,
) -> Result<(Side, Vec<u32>), ErrorKind> {
    let (mut head, mut processes, mut trouble) = ([Side::default()], Vec::new(), None);
    match met {
        Some(Ok((side, remote))) => (head[0], processes) = (side, remote),
        Some(Err(error)) => {
            head[0].failed = 1;
            trouble = Some(error);
        }
        None => {}
    }
    tell(bytes_mut(&mut head))?;
    let [side] = head;
    if side.failed == 1 {
        return Err(trouble.unwrap_or(CommunicatorError::LeaderFailed { leader }.into()));
    }
    processes.resize(side.size as usize, 0);
    tell(bytes_mut(&mut processes[..]))?;
    Ok((side, processes))
}

/// An intercommunicator between two groups whose members all call, with the same string tag (MPI
/// 5.0 §7.6.2, MPI_INTERCOMM_CREATE_FROM_GROUPS). `remote` is the other group and its leader's rank
/// there; it counts only at the local leader, and no other process need have it.
pub fn create_from_groups(
    process: &Arc<Process>,
    local: &Group,
    local_leader: u32,
    remote: Option<(&Group, i32)>,
    tag: &[u8],
) -> Result<Comm, ErrorKind> {
    let size = local.size();
    check_leader("local_leader", i64::from(local_leader), size)?;
    let Some(own) = local.rank_of(process.rank()) else {
        let process = process.rank();
        return Err(CommunicatorError::NotInGroup { process, size }.into());
    };
    // What the first of the makers says reaches all.
    let (before, after) = local.processes().split_at(local_leader as usize);
    let from_leader = Group::new([after, before].concat());
    let makers = Makers::of_strangers(process, &from_leader, tag)?;
    let is_leader = own == local_leader;
    let met = is_leader.then(|| agree(process, local, remote, tag));
    let (side, remote) = spread(met, local_leader, |data| makers.tell(data))?;
    let remote = Group::new(remote).with_origin(local.origin().cloned());
    join(process, local, remote, [side.own, side.union])
}

/// The part of a leader who knows the other side: the leader of the first side chooses for both.
fn agree(
    process: &Arc<Process>,
    local: &Group,
    remote: Option<(&Group, i32)>,
    tag: &[u8],
) -> Result<(Side, Vec<u32>), ErrorKind> {
    let Some((remote, leader)) = remote else {
        let leader = process.rank();
        return Err(CommunicatorError::PeerMissing { leader }.into());
    };
    let place = check_leader("remote_leader", i64::from(leader), remote.size())?;
    check_disjoint(local, remote)?;
    let (mine, theirs) = (process.rank(), remote.processes()[place as usize]);
    let first = is_first(local.processes(), remote.processes());
    let leaders = Group::new(match first {
        true => vec![mine, theirs],
        false => vec![theirs, mine],
    });
    let makers = Makers::of_strangers(process, &leaders, tag)?;
    let mut foundations = [Foundation::default(); 2];
    if first {
        foundations = [(); 2].map(|()| Foundation::choose(process, false));
    }
    makers.tell(&mut foundations).inspect_err(|_| {
        if first {
            foundations
                .iter()
                .for_each(|chosen| chosen.give_back(process));
        }
    })?;
    let side = Side {
        failed: 0,
        size: remote.size(),
        own: foundations[0],
        union: foundations[1],
    };
    Ok((side, remote.processes().to_vec()))
}

/// The leader's part: the groups are exchanged, and the first side's offers are what counts.
fn meet(
    local: &Comm,
    peer: Option<&Comm>,
    remote_leader: i32,
    tag: i32,
) -> Result<(Side, Vec<u32>), ErrorKind> {
    let leader = local.rank;
    let peer = peer.ok_or(CommunicatorError::PeerMissing { leader })?;
    let remote = check_leader("remote_leader", i64::from(remote_leader), peer.peers)?;
    check_tag(tag)?;
    let tag = tag | LEADERS;
    let process = &local.process;
    let mine = Side {
        failed: 0,
        size: local.size,
        own: Foundation::choose(process, false),
        union: Foundation::choose(process, false),
    };
    let take_back = || {
        mine.own.give_back(process);
        mine.union.give_back(process);
    };
    let exchange = || {
        let message = [bytes(&[mine]), bytes(local.group().processes())].concat();
        let sending = peer.begin_making_send(&message, remote, tag)?;
        let answer = peer.making_receive(remote, tag)?;
        sending.wait()?;
        Ok::<_, ErrorKind>(answer)
    };
    let answer = exchange().inspect_err(|_| take_back())?;
    let mut theirs = [Side::default()];
    let (head, list) = answer.split_at(size_of::<Side>());
    bytes_mut(&mut theirs).copy_from_slice(head);
    let theirs = theirs[0];
    let mut processes = vec![0u32; theirs.size as usize];
    bytes_mut(&mut processes).copy_from_slice(list);
    if let Err(error) = check_disjoint(local.group(), &Group::new(processes.clone())) {
        take_back();
        return Err(error.into());
    }
    let first = is_first(local.group().processes(), &processes);
    let chosen = if first { mine } else { theirs };
    if !first {
        take_back();
    }
    let side = Side {
        size: theirs.size,
        ..chosen
    };
    Ok((side, processes))
}

/// Both groups of an intercommunicator, as its numbers say.
fn join(
    process: &Arc<Process>,
    local: &Group,
    remote: Group,
    [own, union]: [Foundation; 2],
) -> Result<Comm, ErrorKind> {
    let rank_in = |group: &Group| {
        let rank = group.rank_of(process.rank());
        rank.expect("this process is in its own group")
    };
    let first = is_first(local.processes(), remote.processes());
    let mut new = own.build(process, rank_in(local), local.clone())?;
    let both = union_of(local, &remote);
    let union = union.build(process, rank_in(&both), both)?.with_board()?;
    new.set_inter(Inter {
        remote,
        union: Arc::new(union),
        first,
    });
    Ok(new)
}

/// Groups without a common process differ in their first one.
fn is_first(local: &[u32], remote: &[u32]) -> bool {
    local.first() < remote.first()
}

fn union_of(local: &Group, remote: &Group) -> Group {
    match is_first(local.processes(), remote.processes()) {
        true => local.union(remote),
        false => remote.union(local),
    }
}

fn check_disjoint(local: &Group, remote: &Group) -> Result<(), CommunicatorError> {
    match local.intersection(remote).process(0) {
        None => Ok(()),
        Some(process) => Err(CommunicatorError::GroupsOverlap { process }),
    }
}

fn check_leader(argument: &'static str, rank: i64, size: u32) -> Result<u32, CommunicatorError> {
    match u32::try_from(rank) {
        Ok(leader) if leader < size => Ok(leader),
        _ => Err(CommunicatorError::Leader {
            argument,
            rank,
            size,
        }),
    }
}

/// What a process says in a merge.
#[derive(Clone, Copy, oxmpi_datatypes::Plain)]
#[repr(C)]
struct Wish {
    high: u64,
    foundation: Foundation,
}

impl Comm {
    /// One communicator of both groups: the one that says `high` stands behind the other; if both
    /// say the same, the order is the union's. Collective over both groups.
    pub fn merge(&self, high: bool) -> Result<Comm, ErrorKind> {
        let Some(inter) = self.inter() else {
            let call = "MPI_Intercomm_merge";
            return Err(CommunicatorError::IsIntra { call }.into());
        };
        let union = &inter.union;
        let mine = Wish {
            high: u64::from(high),
            foundation: Foundation::choose(&self.process, false),
        };
        let mut all = vec![mine; union.size as usize];
        union.allgather_plain(&[mine], &mut all)?;
        let border = match inter.first {
            true => self.size,
            false => self.peers,
        };
        // A group's members must say the same (MPI 5.0 §7.6.2), so its first one speaks for it.
        let swapped = all[0].high > all[border as usize].high;
        let ranks: Vec<u32> = match swapped {
            false => (0..union.size).collect(),
            true => (border..union.size).chain(0..border).collect(),
        };
        if ranks[0] != union.rank {
            mine.foundation.give_back(&self.process);
        }
        let rank = match swapped {
            false => union.rank,
            true => (union.rank + union.size - border) % union.size,
        };
        let leader = all[ranks[0] as usize];
        let new = leader
            .foundation
            .build(&self.process, rank, union.group_of(&ranks))?;
        new.with_board()
    }
}
