//! Collectives of an ordinary communicator: from buffers to bytes, after the checks that the
//! standard asks for.
//!
//! Where data lies in place follows the pure modules: each says at its top what `Send` and
//! `Receive` hold.

use super::super::description::{Collective, Parts, Root, Shares};
use super::super::side::Side;
use super::{Job, check_entries, check_own, neighbourhood, not_in_place};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use oxmpi_schedules::Place;
use oxmpi_schedules::choose::Collective as Name;

const ROOT_ONLY: &str = "only the root can leave its data in place";

type Prepared = Result<(), ErrorKind>;

#[inline]
pub(super) fn prepare(job: &mut Job, comm: &Comm, collective: Collective) -> Prepared {
    match collective {
        Collective::Barrier => Ok(()),
        Collective::Bcast { buffer, root } => bcast(job, comm, buffer, root),
        Collective::Gather {
            send,
            receive,
            root,
        } => gather(job, comm, send, receive, root),
        Collective::Scatter {
            send,
            receive,
            root,
        } => scatter(job, comm, send, receive, root),
        Collective::Allgather { send, receive } => allgather(job, comm, send, receive),
        Collective::Alltoall { send, receive } => alltoall(job, comm, send, receive),
        Collective::Reduce {
            send,
            receive,
            reduction,
            root,
        } => {
            job.name = Name::Reduce;
            job.take_reduction(&reduction)?;
            job.root = check_root(comm, root)?;
            if job.root == comm.rank {
                return vectors(job, comm, send, receive);
            }
            let send = not_in_place(send, "reduce", ROOT_ONLY)?;
            job.bytes = send.bytes() as usize;
            job.send = Side::one(send)?;
            Ok(())
        }
        Collective::Allreduce {
            send,
            receive,
            reduction,
        } => {
            job.name = Name::Allreduce;
            job.take_reduction(&reduction)?;
            vectors(job, comm, send, receive)
        }
        Collective::Scan {
            send,
            receive,
            reduction,
        } => {
            job.name = Name::Scan;
            job.take_reduction(&reduction)?;
            vectors(job, comm, send, receive)
        }
        Collective::Exscan {
            send,
            receive,
            reduction,
        } => {
            job.name = Name::Exscan;
            job.take_reduction(&reduction)?;
            vectors(job, comm, send, receive)?;
            if comm.rank == 0 {
                job.stored = 0;
            }
            Ok(())
        }
        Collective::ReduceScatter {
            send,
            receive,
            shares,
            reduction,
        } => {
            job.name = Name::ReduceScatter;
            job.take_reduction(&reduction)?;
            let element = reduction.datatype.size();
            reduce_scatter(job, comm, send, receive, &shares, element)
        }
        Collective::NeighbourAllgather {
            send,
            receive,
            neighbours,
        } => neighbourhood::allgather(job, comm, send, receive, &neighbours),
        Collective::NeighbourAlltoall {
            send,
            receive,
            neighbours,
        } => neighbourhood::alltoall(job, comm, send, receive, &neighbours),
    }
}

#[inline]
fn check_root(comm: &Comm, root: Root) -> Result<u32, ErrorKind> {
    match root {
        Root::Rank(root) => comm.check_rank("root", root).map(|()| root),
        Root::This | Root::Nobody => Err(ErrorKind::InterRoot),
    }
}

#[inline]
fn bcast(job: &mut Job, comm: &Comm, buffer: Buffer, root: Root) -> Prepared {
    job.name = Name::Bcast;
    job.root = check_root(comm, root)?;
    job.bytes = buffer.bytes() as usize;
    job.receive = Side::one(buffer)?;
    if job.root == comm.rank {
        job.loads_receive = true;
    } else {
        job.stored = job.bytes;
    }
    Ok(())
}

fn gather(
    job: &mut Job,
    comm: &Comm,
    send: Option<Buffer>,
    receive: Parts,
    root: Root,
) -> Prepared {
    job.name = match receive {
        Parts::Equal(_) => Name::Gather,
        Parts::Each(_) => Name::Gatherv,
    };
    job.root = check_root(comm, root)?;
    if job.root == comm.rank {
        receive_all(job, comm, send, receive)?;
        // Boards see all of the receive buffer as one, also what lies between the blocks.
        return job.receive.keep_apart(&job.send);
    }
    let send = not_in_place(send, "gather", ROOT_ONLY)?;
    job.bytes = send.bytes() as usize;
    job.send = Side::one(send)?;
    Ok(())
}

/// A block from every rank, and the own one that lies in place or in a buffer of its own.
fn receive_all(job: &mut Job, comm: &Comm, send: Option<Buffer>, receive: Parts) -> Prepared {
    if let Parts::Each(blocks) = &receive {
        check_entries("counts", blocks.len(), comm.size)?;
    }
    job.receive = Side::new(receive)?;
    job.stored = job.receive.bytes();
    let own = job.receive.block(Place::Receive, comm.rank, comm.size);
    job.bytes = own.bytes;
    match send {
        Some(send) => {
            check_own(comm.rank, own.bytes, send.bytes() as usize)?;
            job.send = Side::one(send)?;
        }
        None => job.leave_in_place(),
    }
    job.check_apart()
}

fn scatter(
    job: &mut Job,
    comm: &Comm,
    send: Parts,
    receive: Option<Buffer>,
    root: Root,
) -> Prepared {
    job.name = match send {
        Parts::Equal(_) => Name::Scatter,
        Parts::Each(_) => Name::Scatterv,
    };
    job.root = check_root(comm, root)?;
    if job.root != comm.rank {
        let receive = not_in_place(receive, "scatter", ROOT_ONLY)?;
        job.bytes = receive.bytes() as usize;
        return job.write_to(receive);
    }
    if let Parts::Each(blocks) = &send {
        check_entries("counts", blocks.len(), comm.size)?;
    }
    job.send = Side::new(send)?;
    let own = job.send.block(Place::Send, comm.rank, comm.size);
    job.bytes = own.bytes;
    match receive {
        Some(receive) => {
            check_own(comm.rank, receive.bytes() as usize, own.bytes)?;
            job.write_to(receive)?;
        }
        None => job.in_place = true,
    }
    job.check_apart()?;
    // As in `gather`.
    job.send.keep_apart(&job.receive)
}

fn allgather(job: &mut Job, comm: &Comm, send: Option<Buffer>, receive: Parts) -> Prepared {
    job.name = match receive {
        Parts::Equal(_) => Name::Allgather,
        Parts::Each(_) => Name::Allgatherv,
    };
    receive_all(job, comm, send, receive)?;
    // Boards see all of the receive buffer as one, also what lies between the blocks.
    job.receive.keep_apart(&job.send)
}

fn alltoall(job: &mut Job, comm: &Comm, send: Option<Parts>, receive: Parts) -> Prepared {
    let each = matches!(receive, Parts::Each(_));
    job.name = match each {
        false => Name::Alltoall,
        true => Name::Alltoallv,
    };
    if let Parts::Each(blocks) = &receive {
        check_entries("receive counts", blocks.len(), comm.size)?;
    }
    job.receive = Side::new(receive)?;
    job.stored = job.receive.bytes();
    job.bytes = job
        .receive
        .block(Place::Receive, comm.rank, comm.size)
        .bytes;
    let Some(send) = send else {
        job.leave_in_place();
        return Ok(());
    };
    if let Parts::Each(blocks) = &send {
        check_entries("send counts", blocks.len(), comm.size)?;
    }
    assert_eq!(
        each,
        matches!(send, Parts::Each(_)),
        "both sides of an alltoall have equal blocks, or none has"
    );
    job.send = Side::new(send)?;
    let sent = job.send.block(Place::Send, comm.rank, comm.size).bytes;
    check_own(comm.rank, job.bytes, sent)?;
    job.check_apart()?;
    // As in `gather`.
    job.receive.keep_apart(&job.send)
}

/// A vector to read, or none because it lies in place, and one to write.
#[inline]
fn vectors(job: &mut Job, comm: &Comm, send: Option<Buffer>, receive: Buffer) -> Prepared {
    job.write_to(receive)?;
    job.bytes = job.stored;
    match send {
        Some(send) => {
            check_own(comm.rank, job.bytes, send.bytes() as usize)?;
            job.send = Side::one(send)?;
        }
        None => job.leave_in_place(),
    }
    job.check_apart()
}

fn reduce_scatter(
    job: &mut Job,
    comm: &Comm,
    send: Option<Buffer>,
    receive: Buffer,
    shares: &Shares,
    element: u64,
) -> Prepared {
    let (own, total) = deal(job, shares, element, comm.rank, comm.size)?;
    let given = receive.bytes() as usize;
    match send {
        Some(send) => {
            check_own(comm.rank, own, given)?;
            job.write_to(receive)?;
            check_own(comm.rank, total, send.bytes() as usize)?;
            job.send = Side::one(send)?;
        }
        None => {
            check_own(comm.rank, total, given)?;
            // The combining is done in a copy: what lies behind the own share is the program's and
            // stays.
            job.receive = Side::copied(receive)?;
            job.leave_in_place();
        }
    }
    job.stored = own;
    job.check_apart()
}

/// Notes who gets how much; this rank's bytes and everybody's.
pub(super) fn deal(
    job: &mut Job,
    shares: &Shares,
    element: u64,
    rank: u32,
    size: u32,
) -> Result<(usize, usize), ErrorKind> {
    let bytes = |elements: u64| {
        let bytes = elements.checked_mul(element);
        bytes.filter(|bytes| *bytes <= i64::MAX as u64)
    };
    let too_many = || ErrorKind::Memory { bytes: u64::MAX };
    match shares {
        Shares::Equal(elements) => {
            let own = bytes(*elements).ok_or_else(too_many)? as usize;
            let total = own.checked_mul(size as usize).ok_or_else(too_many)?;
            job.bytes = own;
            Ok((own, total))
        }
        Shares::Each(counts) => {
            check_entries("counts", counts.len(), size)?;
            let mut end = 0usize;
            for count in counts {
                let share = bytes(*count).ok_or_else(too_many)? as usize;
                end = end.checked_add(share).ok_or_else(too_many)?;
                job.ends.push(end);
            }
            let start = match rank {
                0 => 0,
                _ => job.ends[rank as usize - 1],
            };
            Ok((job.ends[rank as usize] - start, end))
        }
    }
}
