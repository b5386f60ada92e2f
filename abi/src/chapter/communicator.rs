//! Communicators (MPI 5.0 §7.4 to §7.6, §7.8): handles and constants around
//! `oxmpi_core::communicator`.
//!
//! Whatever is made from a communicator inherits its error handler; what is made from groups has
//! the one that was given. Where a process gets no communicator its handle is MPI_COMM_NULL.

use std::ffi::CStr;
use std::sync::Arc;

use oxmpi_core::CommunicatorError;
use oxmpi_core::communicator::{Comm, Comparison};
use oxmpi_core::making::{self, SplitType, create_from_group};

use super::group;
use crate::argument::{FlagOut, InOut, Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, Errhandler, Group, Handled, Info, handle_for};
use crate::{request, stage};

/// Gives a communicator that was made from another one its handle; none is MPI_COMM_NULL.
pub(super) fn set_child(
    newcomm: &Out<Handle>,
    parent: &Communicator,
    child: Option<Comm>,
) -> Result<(), Failure> {
    newcomm.set(match child {
        Some(child) => Communicator::new_handle(child, parent.errhandler.get())?,
        None => MPI_COMM_NULL,
    });
    Ok(())
}

/// Gives a duplicate its handle and the attributes that the program's callbacks copy; if one of
/// these fails there is no duplicate.
fn set_duplicate(
    newcomm: &Out<Handle>,
    original: &Communicator,
    duplicate: Arc<Comm>,
) -> Result<(), Failure> {
    let handle = Communicator::new_handle(duplicate.clone(), original.errhandler.get())?;
    if let Err(error) = original.copy_attributes(&duplicate) {
        Communicator::table().remove(handle);
        newcomm.set(MPI_COMM_NULL);
        return Err(error.into());
    }
    newcomm.set(handle);
    Ok(())
}

/// MPI_Comm_size.
#[inline]
pub fn comm_size(_call: &Call, comm: &Communicator, size: Out<i32>) -> Result<(), Failure> {
    size.set(comm.size() as i32);
    Ok(())
}

/// MPI_Comm_rank.
#[inline]
pub fn comm_rank(_call: &Call, comm: &Communicator, rank: Out<i32>) -> Result<(), Failure> {
    rank.set(comm.rank() as i32);
    Ok(())
}

/// MPI_Comm_compare.
pub fn comm_compare(
    _call: &Call,
    comm1: &Communicator,
    comm2: &Communicator,
    result: Out<i32>,
) -> Result<(), Failure> {
    result.set(match comm1.compare(comm2) {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    });
    Ok(())
}

/// MPI_Comm_group.
pub fn comm_group(_call: &Call, comm: &Communicator, group: Out<Handle>) -> Result<(), Failure> {
    group.set(group::handle_of(comm.group().clone())?);
    Ok(())
}

fn remote<'a>(call: &Call, comm: &'a Communicator) -> Result<&'a Group, Failure> {
    let call = call.name();
    let remote = comm.remote_group();
    remote.ok_or_else(|| CommunicatorError::IsIntra { call }.into())
}

/// MPI_Comm_remote_size.
pub fn comm_remote_size(call: &Call, comm: &Communicator, size: Out<i32>) -> Result<(), Failure> {
    size.set(remote(call, comm)?.size() as i32);
    Ok(())
}

/// MPI_Comm_remote_group.
pub fn comm_remote_group(
    call: &Call,
    comm: &Communicator,
    group: Out<Handle>,
) -> Result<(), Failure> {
    group.set(group::handle_of(remote(call, comm)?.clone())?);
    Ok(())
}

/// MPI_Comm_test_inter.
pub fn comm_test_inter(_call: &Call, comm: &Communicator, flag: FlagOut) -> Result<(), Failure> {
    flag.set(comm.is_inter());
    Ok(())
}

/// MPI_Comm_dup.
pub fn comm_dup(_call: &Call, comm: &Communicator, newcomm: Out<Handle>) -> Result<(), Failure> {
    set_duplicate(&newcomm, comm, comm.dup()?.into())
}

/// MPI_Comm_dup_with_info.
pub fn comm_dup_with_info(
    _call: &Call,
    comm: &Communicator,
    info: Option<&Info>,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    set_duplicate(&newcomm, comm, comm.dup_with_info(info)?.into())
}

/// MPI_Comm_idup.
pub fn comm_idup(
    call: &Call,
    comm: &Communicator,
    newcomm: Out<Handle>,
    request: Out<Handle>,
) -> Result<(), Failure> {
    comm_idup_with_info(call, comm, None, newcomm, request)
}

/// MPI_Comm_idup_with_info.
pub fn comm_idup_with_info(
    _call: &Call,
    comm: &Communicator,
    info: Option<&Info>,
    newcomm: Out<Handle>,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let (duplicate, operation) = comm.idup_with_info(info)?;
    set_duplicate(&newcomm, comm, duplicate)?;
    request.set(request::of(operation)?);
    Ok(())
}

/// MPI_Comm_create.
pub fn comm_create(
    _call: &Call,
    comm: &Communicator,
    group: &Group,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    set_child(&newcomm, comm, comm.create(group)?)
}

/// MPI_Comm_create_group.
pub fn comm_create_group(
    _call: &Call,
    comm: &Communicator,
    group: &Group,
    tag: i32,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    set_child(&newcomm, comm, comm.create_group(group, tag)?)
}

fn check_errhandler(errhandler: &Errhandler) -> Result<(), Failure> {
    if errhandler.handles(Handled::Comm) {
        return Ok(());
    }
    let text = "errhandler was made for another kind of object than communicators";
    Err(Failure::new(MPI_ERR_ARG, text))
}

/// MPI_Comm_create_from_group.
pub fn comm_create_from_group(
    _call: &Call,
    group: &Group,
    stringtag: &CStr,
    info: Option<&Info>,
    errhandler: &Errhandler,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    check_errhandler(errhandler)?;
    newcomm.set(MPI_COMM_NULL);
    if group.is_empty() {
        return Ok(());
    }
    let new = create_from_group(&stage::joined()?, group, stringtag.to_bytes())?;
    info.inspect(|info| new.set_info(info));
    newcomm.set(Communicator::new_handle(new, errhandler.clone())?);
    Ok(())
}

/// MPI_Comm_split.
pub fn comm_split(
    _call: &Call,
    comm: &Communicator,
    color: i32,
    key: i32,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    let color = match u32::try_from(color) {
        Ok(color) => Some(color),
        Err(_) if color == MPI_UNDEFINED => None,
        Err(_) => {
            let text =
                format!("color is {color}; colours are not negative, and MPI_UNDEFINED means none");
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
    };
    set_child(&newcomm, comm, comm.split(color, i64::from(key))?)
}

/// MPI_Comm_split_type.
pub fn comm_split_type(
    _call: &Call,
    comm: &Communicator,
    split_type: i32,
    key: i32,
    info: Option<&Info>,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    let split_type = match split_type {
        MPI_UNDEFINED => SplitType::Undefined,
        MPI_COMM_TYPE_SHARED => SplitType::Shared,
        MPI_COMM_TYPE_HW_GUIDED => SplitType::HardwareGuided,
        MPI_COMM_TYPE_HW_UNGUIDED => SplitType::HardwareUnguided,
        MPI_COMM_TYPE_RESOURCE_GUIDED => SplitType::ResourceGuided,
        value => return Err(CommunicatorError::SplitType { value }.into()),
    };
    let new = comm.split_type(split_type, i64::from(key), info)?;
    set_child(&newcomm, comm, new)
}

/// MPI_Intercomm_create. The peer communicator counts only at the leader.
pub fn intercomm_create(
    call: &Call,
    local_comm: &Communicator,
    local_leader: i32,
    peer_comm: Handle,
    remote_leader: i32,
    tag: i32,
    newintercomm: Out<Handle>,
) -> Result<(), Failure> {
    let leader = leader_of(local_leader, local_comm.size())?;
    let is_leader = local_comm.rank() == leader;
    let found = Communicator::table().get(peer_comm).filter(|_| is_leader);
    let peer = found.as_ref().map(|peer| &*peer.comm);
    let new = making::intercomm_create(local_comm, leader, peer, remote_leader, tag);
    let new = match (new, is_leader && peer.is_none()) {
        (Ok(new), _) => new,
        // The text for a bad handle says more than that there is none.
        (Err(error), true) => {
            call.comm("peer_comm", peer_comm)?;
            return Err(error.into());
        }
        (Err(error), false) => return Err(error.into()),
    };
    set_child(&newintercomm, local_comm, Some(new))
}

/// MPI_Intercomm_create_from_groups. The remote group counts only at the leader; MPI_GROUP_EMPTY on
/// either side makes the call a local one, which gives no communicator.
#[expect(clippy::too_many_arguments, reason = "the standard has as many")]
pub fn intercomm_create_from_groups(
    call: &Call,
    local_group: &Group,
    local_leader: i32,
    remote_group: Handle,
    remote_leader: i32,
    stringtag: &CStr,
    info: Option<&Info>,
    errhandler: &Errhandler,
    newintercomm: Out<Handle>,
) -> Result<(), Failure> {
    check_errhandler(errhandler)?;
    newintercomm.set(MPI_COMM_NULL);
    if local_group.is_empty() || remote_group == MPI_GROUP_EMPTY {
        return Ok(());
    }
    let size = local_group.size();
    let leader = leader_of(local_leader, size)?;
    let process = stage::joined()?;
    let is_leader = local_group.rank_of(process.rank()) == Some(leader);
    let remote = match is_leader {
        true => Some(call.group("remote_group", remote_group)),
        false => None,
    };
    // A leader without the other group tells its side so.
    let found = remote.as_ref().and_then(|remote| remote.as_ref().ok());
    let known = found.map(|group| (&**group, remote_leader));
    let tag = stringtag.to_bytes();
    let new = making::create_from_groups(&process, local_group, leader, known, tag);
    // The text for a bad handle says more than that there is none.
    if let Some(Err(failure)) = remote {
        return Err(failure);
    }
    let new = new?;
    info.inspect(|info| new.set_info(info));
    newintercomm.set(Communicator::new_handle(new, errhandler.clone())?);
    Ok(())
}

/// A local leader that is not negative; the layer below compares it with the size.
fn leader_of(rank: i32, size: u32) -> Result<u32, CommunicatorError> {
    u32::try_from(rank).map_err(|_| CommunicatorError::Leader {
        argument: "local_leader",
        rank: i64::from(rank),
        size,
    })
}

/// MPI_Intercomm_merge.
pub fn intercomm_merge(
    _call: &Call,
    intercomm: &Communicator,
    high: i32,
    newintracomm: Out<Handle>,
) -> Result<(), Failure> {
    set_child(&newintracomm, intercomm, Some(intercomm.merge(high != 0)?))
}

/// Refuses handles of the communicators that the standard names.
pub(super) fn check_freeable(call: &Call, handle: Handle) -> Result<(), Failure> {
    call.comm("comm", handle)?;
    if handle.is_predefined() {
        let text = format!("comm is {handle}, which is predefined and cannot be freed");
        return Err(Failure::new(MPI_ERR_COMM, text));
    }
    Ok(())
}

/// MPI_Comm_free. Attributes go first, and one that refuses keeps the communicator; operations
/// under way keep what they need.
pub fn comm_free(call: &Call, comm: InOut<Handle>) -> Result<(), Failure> {
    let handle = comm.get();
    check_freeable(call, handle)?;
    let object = call.comm("comm", handle)?;
    object.delete_attributes()?;
    object.attached().detach()?;
    Communicator::table().remove(handle);
    comm.set(MPI_COMM_NULL);
    Ok(())
}

/// MPI_Comm_set_info.
pub fn comm_set_info(
    _call: &Call,
    comm: &Communicator,
    info: Option<&Info>,
) -> Result<(), Failure> {
    info.inspect(|info| comm.set_info(info));
    Ok(())
}

/// MPI_Comm_get_info.
pub fn comm_get_info(
    _call: &Call,
    comm: &Communicator,
    info_used: Out<Handle>,
) -> Result<(), Failure> {
    info_used.set(handle_for(comm.info())?);
    Ok(())
}

/// MPI_Comm_set_name.
pub fn comm_set_name(_call: &Call, comm: &Communicator, comm_name: &CStr) -> Result<(), Failure> {
    comm.set_name(comm_name.to_bytes());
    Ok(())
}

/// MPI_Comm_get_name; the null handle has its own name.
pub fn comm_get_name(
    _call: &Call,
    comm: Option<&Communicator>,
    comm_name: TextOut,
    resultlen: Out<i32>,
) -> Result<(), Failure> {
    let name = match comm {
        Some(comm) => comm.comm.name(),
        None => b"MPI_COMM_NULL".to_vec(),
    };
    resultlen.set(comm_name.set(name));
    Ok(())
}
