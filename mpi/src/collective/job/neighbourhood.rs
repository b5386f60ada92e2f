//! Collectives of neighbourhoods: every rank with those that its topology names.

use super::super::description::{Neighbours, Parts};
use super::super::side::Side;
use super::{Job, check_entries};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use oxmpi_schedules::{Place, Region, neighbours};

pub(super) fn allgather(
    job: &mut Job,
    comm: &Comm,
    send: Buffer,
    receive: Parts,
    neighbours: &Neighbours,
) -> Result<(), ErrorKind> {
    let own = Region::send(0, send.bytes() as usize);
    job.send = Side::one(send)?;
    job.exchange(comm, receive, neighbours, |_, _| own)
}

pub(super) fn alltoall(
    job: &mut Job,
    comm: &Comm,
    send: Parts,
    receive: Parts,
    neighbours: &Neighbours,
) -> Result<(), ErrorKind> {
    let destinations = neighbours.destinations.len() as u32;
    if let Parts::Each(blocks) = &send {
        check_entries("send counts", blocks.len(), destinations)?;
    }
    job.send = Side::new(send)?;
    job.exchange(comm, receive, neighbours, |job, index| {
        job.send.block(Place::Send, index, destinations)
    })
}

impl Job {
    fn exchange(
        &mut self,
        comm: &Comm,
        receive: Parts,
        among: &Neighbours,
        send: impl Fn(&Job, u32) -> Region,
    ) -> Result<(), ErrorKind> {
        let sources = among.sources.len() as u32;
        if let Parts::Each(blocks) = &receive {
            check_entries("receive counts", blocks.len(), sources)?;
        }
        for rank in among.sources.iter().chain(&among.destinations).flatten() {
            comm.check_rank("neighbour", *rank)?;
        }
        self.receive = Side::new(receive)?;
        self.stored = self.receive.bytes();
        // Nothing comes from beyond the edge of a grid: those blocks keep what they hold.
        self.loads_receive = among.sources.contains(&None);
        let receive = |index| self.receive.block(Place::Receive, index, sources);
        self.schedule = Some(neighbours::exchange(
            comm.rank,
            &among.sources,
            &among.destinations,
            among.grid,
            |index| send(self, index),
            receive,
        ));
        self.check_apart()
    }
}
