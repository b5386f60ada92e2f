//! Collectives of an ordinary communicator: from buffers to bytes, after the checks that the standard asks for.
//!
//! Where data lies in place follows the pure modules: each says at its top what `Send` and `Receive` hold.

use super::super::description::{Collective, Parts, Root, Shares};
use super::super::side::Side;
use super::{Job, check_entries, check_own, neighbourhood, not_in_place, written};
use crate::buffer::Buffer;
use crate::collectives::Place;
use crate::collectives::choose::Collective as Name;
use crate::communicator::Comm;
use crate::error::ErrorKind;

const ROOT_ONLY: &str = "only the root can leave its data in place";

#[inline]
pub(super) fn job(comm: &Comm, collective: Collective) -> Result<Job, ErrorKind> {
    match collective {
        Collective::Barrier => Ok(Job::empty(Name::Barrier)),
        Collective::Bcast { buffer, root } => bcast(comm, buffer, root),
        Collective::Gather {
            send,
            receive,
            root,
        } => gather(comm, send, receive, root),
        Collective::Scatter {
            send,
            receive,
            root,
        } => scatter(comm, send, receive, root),
        Collective::Allgather { send, receive } => allgather(comm, send, receive),
        Collective::Alltoall { send, receive } => alltoall(comm, send, receive),
        Collective::Reduce {
            send,
            receive,
            reduction,
            root,
        } => {
            let mut job = Job::empty(Name::Reduce).with_reduction(&reduction)?;
            job.root = check_root(comm, root)?;
            if job.root == comm.rank {
                vectors(comm, job, send, receive)
            } else {
                let send = not_in_place(send, "reduce", ROOT_ONLY)?;
                job.bytes = send.bytes() as usize;
                job.send = Side::one(send)?;
                Ok(job)
            }
        }
        Collective::Allreduce {
            send,
            receive,
            reduction,
        } => {
            let job = Job::empty(Name::Allreduce).with_reduction(&reduction)?;
            vectors(comm, job, send, receive)
        }
        Collective::Scan {
            send,
            receive,
            reduction,
        } => {
            let job = Job::empty(Name::Scan).with_reduction(&reduction)?;
            vectors(comm, job, send, receive)
        }
        Collective::Exscan {
            send,
            receive,
            reduction,
        } => {
            let job = Job::empty(Name::Exscan).with_reduction(&reduction)?;
            let mut job = vectors(comm, job, send, receive)?;
            if comm.rank == 0 {
                job.stored = 0;
            }
            Ok(job)
        }
        Collective::ReduceScatter {
            send,
            receive,
            shares,
            reduction,
        } => {
            let element = reduction.datatype.size();
            let job = Job::empty(Name::ReduceScatter).with_reduction(&reduction)?;
            reduce_scatter(comm, job, send, receive, shares, element)
        }
        Collective::NeighbourAllgather {
            send,
            receive,
            neighbours,
        } => neighbourhood::allgather(comm, send, receive, &neighbours),
        Collective::NeighbourAlltoall {
            send,
            receive,
            neighbours,
        } => neighbourhood::alltoall(comm, send, receive, &neighbours),
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
fn bcast(comm: &Comm, buffer: Buffer, root: Root) -> Result<Job, ErrorKind> {
    let mut job = Job::empty(Name::Bcast);
    job.root = check_root(comm, root)?;
    job.bytes = buffer.bytes() as usize;
    job.receive = Side::one(buffer)?;
    if job.root == comm.rank {
        job.loads_receive = true;
    } else {
        job.stored = job.bytes;
    }
    Ok(job)
}

fn gather(comm: &Comm, send: Option<Buffer>, receive: Parts, root: Root) -> Result<Job, ErrorKind> {
    let mut job = Job::empty(match receive {
        Parts::Equal(_) => Name::Gather,
        Parts::Each(_) => Name::Gatherv,
    });
    job.root = check_root(comm, root)?;
    if job.root != comm.rank {
        let send = not_in_place(send, "gather", ROOT_ONLY)?;
        job.bytes = send.bytes() as usize;
        job.send = Side::one(send)?;
        return Ok(job);
    }
    receive_all(comm, job, send, receive)?.check_apart()
}

/// A block from every rank, and the own one that lies in place or in a buffer of its own.
fn receive_all(
    comm: &Comm,
    mut job: Job,
    send: Option<Buffer>,
    receive: Parts,
) -> Result<Job, ErrorKind> {
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
        None => {
            job.in_place = true;
            job.loads_receive = true;
        }
    }
    Ok(job)
}

fn scatter(
    comm: &Comm,
    send: Parts,
    receive: Option<Buffer>,
    root: Root,
) -> Result<Job, ErrorKind> {
    let mut job = Job::empty(match send {
        Parts::Equal(_) => Name::Scatter,
        Parts::Each(_) => Name::Scatterv,
    });
    job.root = check_root(comm, root)?;
    if job.root != comm.rank {
        let receive = not_in_place(receive, "scatter", ROOT_ONLY)?;
        job.bytes = receive.bytes() as usize;
        written(&mut job, receive)?;
        return Ok(job);
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
            written(&mut job, receive)?;
        }
        None => job.in_place = true,
    }
    job.check_apart()
}

fn allgather(comm: &Comm, send: Option<Buffer>, receive: Parts) -> Result<Job, ErrorKind> {
    let job = Job::empty(match receive {
        Parts::Equal(_) => Name::Allgather,
        Parts::Each(_) => Name::Allgatherv,
    });
    let mut job = receive_all(comm, job, send, receive)?.check_apart()?;
    // Boards see all of the receive buffer as one, also what lies between the blocks.
    job.receive.keep_apart(&job.send)?;
    Ok(job)
}

fn alltoall(comm: &Comm, send: Option<Parts>, receive: Parts) -> Result<Job, ErrorKind> {
    let each = matches!(receive, Parts::Each(_));
    let mut job = Job::empty(match each {
        false => Name::Alltoall,
        true => Name::Alltoallv,
    });
    if let Parts::Each(blocks) = &receive {
        check_entries("receive counts", blocks.len(), comm.size)?;
    }
    job.receive = Side::new(receive)?;
    job.stored = job.receive.bytes();
    let own = job
        .receive
        .block(Place::Receive, comm.rank, comm.size)
        .bytes;
    job.bytes = own;
    let Some(send) = send else {
        job.in_place = true;
        job.loads_receive = true;
        return Ok(job);
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
    check_own(comm.rank, own, sent)?;
    job.check_apart()
}

/// A vector to read, or none because it lies in place, and one to write.
#[inline]
fn vectors(
    comm: &Comm,
    mut job: Job,
    send: Option<Buffer>,
    receive: Buffer,
) -> Result<Job, ErrorKind> {
    written(&mut job, receive)?;
    job.bytes = job.stored;
    match send {
        Some(send) => {
            check_own(comm.rank, job.bytes, send.bytes() as usize)?;
            job.send = Side::one(send)?;
        }
        None => {
            job.in_place = true;
            job.loads_receive = true;
        }
    }
    job.check_apart()
}

fn reduce_scatter(
    comm: &Comm,
    mut job: Job,
    send: Option<Buffer>,
    receive: Buffer,
    shares: Shares,
    element: u64,
) -> Result<Job, ErrorKind> {
    let (own, total) = deal(&mut job, &shares, element, comm.rank, comm.size)?;
    let given = receive.bytes() as usize;
    job.receive = Side::one(receive)?;
    job.stored = own;
    match send {
        Some(send) => {
            check_own(comm.rank, own, given)?;
            check_own(comm.rank, total, send.bytes() as usize)?;
            job.send = Side::one(send)?;
        }
        None => {
            check_own(comm.rank, total, given)?;
            job.in_place = true;
            job.loads_receive = true;
        }
    }
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
