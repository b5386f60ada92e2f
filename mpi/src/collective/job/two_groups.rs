//! Collectives of an intercommunicator: what one group gives the other gets, on the communicator of
//! both groups together.
//!
//! Nothing is done in place here (MPI 5.0 §6.2.3), and there are no scans and no neighbourhoods.

use super::super::description::{Collective, Parts, Root};
use super::super::side::Side;
use super::{Job, check_entries, check_own, not_in_place, one_group};
use crate::buffer::Buffer;
use crate::communicator::{Comm, Inter};
use crate::error::ErrorKind;
use oxmpi_schedules::inter::{self, Groups, Role};
use oxmpi_schedules::{Place, Region};

const INTER: &str = "the communicator is an intercommunicator";

pub(super) fn prepare(
    job: &mut Job,
    comm: &Comm,
    inter: &Inter,
    collective: Collective,
) -> Result<(), ErrorKind> {
    let groups = Groups::new(comm.rank, comm.size, comm.peers, inter.first);
    let name = collective.name();
    match collective {
        Collective::Barrier => Ok(()),
        Collective::Bcast { buffer, root } => {
            let role = role(comm, groups, root)?;
            if role != Role::Bystander {
                job.write_to(buffer)?;
            }
            job.schedule = Some(inter::bcast(groups, role, job.stored));
            if role == Role::Root {
                job.loads_receive = true;
                job.stored = 0;
            }
            Ok(())
        }
        Collective::Gather {
            send,
            receive,
            root,
        } => {
            let role = role(comm, groups, root)?;
            let send = not_in_place(send, name, INTER)?;
            gather(job, comm, groups, role, send, receive)
        }
        Collective::Scatter {
            send,
            receive,
            root,
        } => {
            let role = role(comm, groups, root)?;
            let receive = not_in_place(receive, name, INTER)?;
            scatter(job, comm, groups, role, send, receive)
        }
        Collective::Allgather { send, receive } => {
            let send = not_in_place(send, name, INTER)?;
            let own = Region::send(0, send.bytes() as usize);
            job.send = Side::one(send)?;
            receive_from_all(job, comm, receive)?;
            let receive = |rank| job.receive.block(Place::Receive, rank, comm.peers);
            job.schedule = Some(inter::alltoall(groups, |_| own, receive));
            job.check_apart()
        }
        Collective::Alltoall { send, receive } => {
            let send = not_in_place(send, name, INTER)?;
            if let Parts::Each(blocks) = &send {
                check_entries("send counts", blocks.len(), comm.peers)?;
            }
            job.send = Side::new(send)?;
            receive_from_all(job, comm, receive)?;
            let send = |rank| job.send.block(Place::Send, rank, comm.peers);
            let receive = |rank| job.receive.block(Place::Receive, rank, comm.peers);
            job.schedule = Some(inter::alltoall(groups, send, receive));
            job.check_apart()
        }
        Collective::Reduce {
            send,
            receive,
            reduction,
            root,
        } => {
            let role = role(comm, groups, root)?;
            let send = not_in_place(send, name, INTER)?;
            if role != Role::Bystander {
                job.take_reduction(&reduction)?;
            }
            match role {
                Role::Root => {
                    job.bytes = receive.bytes() as usize;
                    job.write_to(receive)?;
                }
                Role::Opposite(_) => {
                    job.bytes = send.bytes() as usize;
                    job.send = Side::one(send)?;
                }
                Role::Bystander => {}
            }
            job.schedule = Some(inter::reduce(groups, role, job.bytes));
            Ok(())
        }
        Collective::Allreduce {
            send,
            receive,
            reduction,
        } => {
            let send = not_in_place(send, name, INTER)?;
            job.take_reduction(&reduction)?;
            check_own(comm.rank, receive.bytes() as usize, send.bytes() as usize)?;
            job.send = Side::one(send)?;
            job.write_to(receive)?;
            job.schedule = Some(inter::allreduce(groups, job.stored));
            job.check_apart()
        }
        Collective::ReduceScatter {
            send,
            receive,
            shares,
            reduction,
        } => {
            let send = not_in_place(send, name, INTER)?;
            job.take_reduction(&reduction)?;
            let element = reduction.datatype.size();
            let (own, total) = one_group::deal(job, &shares, element, comm.rank, comm.size)?;
            check_own(comm.rank, own, receive.bytes() as usize)?;
            check_own(comm.rank, total, send.bytes() as usize)?;
            job.send = Side::one(send)?;
            job.write_to(receive)?;
            job.schedule = Some(inter::reduce_scatter(groups, job.shares()));
            job.check_apart()
        }
        Collective::Scan { .. }
        | Collective::Exscan { .. }
        | Collective::NeighbourAllgather { .. }
        | Collective::NeighbourAlltoall { .. } => Err(ErrorKind::OneGroupOnly { collective: name }),
    }
}

fn role(comm: &Comm, groups: Groups, root: Root) -> Result<Role, ErrorKind> {
    match root {
        Root::This => Ok(Role::Root),
        Root::Nobody => Ok(Role::Bystander),
        Root::Rank(rank) => {
            comm.check_rank("root", rank)?;
            Ok(Role::Opposite(groups.remote.first + rank))
        }
    }
}

fn gather(
    job: &mut Job,
    comm: &Comm,
    groups: Groups,
    role: Role,
    send: Buffer,
    receive: Parts,
) -> Result<(), ErrorKind> {
    match role {
        Role::Root => receive_from_all(job, comm, receive)?,
        Role::Opposite(_) => job.send = Side::one(send)?,
        Role::Bystander => {}
    }
    let own = Region::send(0, job.send.bytes());
    let block = |rank| job.receive.block(Place::Receive, rank, comm.peers);
    job.schedule = Some(inter::gather(groups, role, own, block));
    Ok(())
}

fn scatter(
    job: &mut Job,
    comm: &Comm,
    groups: Groups,
    role: Role,
    send: Parts,
    receive: Buffer,
) -> Result<(), ErrorKind> {
    match role {
        Role::Root => {
            if let Parts::Each(blocks) = &send {
                check_entries("counts", blocks.len(), comm.peers)?;
            }
            job.send = Side::new(send)?;
        }
        Role::Opposite(_) => job.write_to(receive)?,
        Role::Bystander => {}
    }
    let own = Region::receive(0, job.receive.bytes());
    let block = |rank| job.send.block(Place::Send, rank, comm.peers);
    job.schedule = Some(inter::scatter(groups, role, own, block));
    Ok(())
}

/// A block from every rank of the other group.
fn receive_from_all(job: &mut Job, comm: &Comm, receive: Parts) -> Result<(), ErrorKind> {
    if let Parts::Each(blocks) = &receive {
        check_entries("counts", blocks.len(), comm.peers)?;
    }
    job.receive = Side::new(receive)?;
    job.stored = job.receive.bytes();
    Ok(())
}
