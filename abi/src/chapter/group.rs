//! Groups (MPI 5.0 §7.3): handles and constants around `oxmpi_core::group`.

use oxmpi_core::group::{Comparison, PROC_NULL, Translated};

use crate::argument::{InOut, IntegersOut, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Group, handle_for};
use crate::stage;

const _: () = assert!(PROC_NULL == MPI_PROC_NULL);

/// The handle of a new group: the constant for the group without members.
pub(super) fn handle_of(group: Group) -> Result<Handle, Failure> {
    match group.is_empty() {
        true => Ok(MPI_GROUP_EMPTY),
        false => handle_for(group),
    }
}

/// MPI_Group_size.
pub fn group_size(_call: &Call, group: &Group, size: Out<i32>) -> Result<(), Failure> {
    size.set(group.size() as i32);
    Ok(())
}

/// MPI_Group_rank.
pub fn group_rank(_call: &Call, group: &Group, rank: Out<i32>) -> Result<(), Failure> {
    let own = group.rank_of(stage::joined()?.rank());
    rank.set(own.map_or(MPI_UNDEFINED, |own| own as i32));
    Ok(())
}

/// MPI_Group_translate_ranks.
pub fn group_translate_ranks(
    _call: &Call,
    group1: &Group,
    _n: usize,
    ranks1: &[i32],
    group2: &Group,
    ranks2: IntegersOut,
) -> Result<(), Failure> {
    for (index, translated) in group1.translate(ranks1, group2)?.into_iter().enumerate() {
        let rank = match translated {
            Translated::Rank(rank) => rank as i32,
            Translated::ProcNull => MPI_PROC_NULL,
            Translated::Undefined => MPI_UNDEFINED,
        };
        ranks2.set(index, i64::from(rank));
    }
    Ok(())
}

/// MPI_Group_compare.
pub fn group_compare(
    _call: &Call,
    group1: &Group,
    group2: &Group,
    result: Out<i32>,
) -> Result<(), Failure> {
    result.set(match group1.compare(group2) {
        Comparison::Identical => MPI_IDENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    });
    Ok(())
}

/// MPI_Group_union.
pub fn group_union(
    _call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group1.union(group2))?);
    Ok(())
}

/// MPI_Group_intersection.
pub fn group_intersection(
    _call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group1.intersection(group2))?);
    Ok(())
}

/// MPI_Group_difference.
pub fn group_difference(
    _call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group1.difference(group2))?);
    Ok(())
}

/// MPI_Group_incl.
pub fn group_incl(
    _call: &Call,
    group: &Group,
    _n: usize,
    ranks: &[i32],
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group.include(ranks)?)?);
    Ok(())
}

/// MPI_Group_excl.
pub fn group_excl(
    _call: &Call,
    group: &Group,
    _n: usize,
    ranks: &[i32],
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group.exclude(ranks)?)?);
    Ok(())
}

/// MPI_Group_range_incl.
pub fn group_range_incl(
    _call: &Call,
    group: &Group,
    _n: usize,
    ranges: &[[i32; 3]],
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group.range_include(ranges)?)?);
    Ok(())
}

/// MPI_Group_range_excl.
pub fn group_range_excl(
    _call: &Call,
    group: &Group,
    _n: usize,
    ranges: &[[i32; 3]],
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(handle_of(group.range_exclude(ranges)?)?);
    Ok(())
}

/// MPI_Group_free. MPI_GROUP_EMPTY may be given back too: programs get it from the calls above
/// without knowing.
pub fn group_free(call: &Call, group: InOut<Handle>) -> Result<(), Failure> {
    let handle = group.get();
    call.group("group", handle)?;
    if !handle.is_predefined() {
        Group::table().remove(handle);
    }
    group.set(MPI_GROUP_NULL);
    Ok(())
}
