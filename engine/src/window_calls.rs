//! The engine's calls for windows: memory of this host that several processes map, and how they
//! wake each other.

use oxmpi_ports::extent::Mapping;
use oxmpi_ports::fetch;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::progress::Handler;
use crate::protocol::{Failure, RequestId};

/// Why waiting for several requests has failed.
#[derive(Debug)]
pub enum WaitedForAll {
    /// All are over, and one has failed.
    Failed(EngineError),
    /// They are still there.
    GaveUp(EngineError),
}

impl Engine {
    /// The port of a process of this host; none if it is reached by the network.
    pub fn port_of(&self, process: u32) -> Option<u32> {
        self.shared.enter().places().port(process)
    }

    /// Wakes the process in a port of this host if it sleeps inside the engine: a condition that it
    /// waits for has come true.
    pub fn wake(&self, port: u32) {
        let segment = &self.shared.segment;
        if segment.doorbell(port).rouse() {
            segment.wake(port);
        }
    }

    /// Maps `bytes` bytes of the host's memory at an offset that another process has told.
    pub fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, EngineError> {
        Mapping::new(&self.shared.segment, offset, bytes)
            .map_err(|error| EngineError::memory(self.rank(), self.host(), &error))
    }

    /// The offset by which the other processes of the host find memory of this process, if it lies
    /// in an [allocated](Engine::allocate) part of the host's memory.
    pub fn offset_of(&self, address: *const u8, bytes: u64) -> Option<u64> {
        let extents = &self.extents;
        let offset = || extents.find(address as u64, bytes);
        extents.exist().then(offset).flatten()
    }

    /// Writes into the memory of another process of this host. False: the kernel does not permit it,
    /// or not there, and part of it may have been written.
    ///
    /// # Safety
    /// `from` must be valid for reading `bytes` bytes.
    pub unsafe fn store(&self, port: u32, address: u64, from: *const u8, bytes: usize) -> bool {
        let pid = self.shared.segment.pid(port);
        // SAFETY: the caller's promise.
        self.single_copy() && unsafe { fetch::store(pid, address, from, bytes) }.is_ok()
    }

    /// Reads the memory of another process of this host. False: the kernel does not permit it, or
    /// not there, and part of it may have been read.
    ///
    /// # Safety
    /// `into` must be valid for writing `bytes` bytes.
    pub unsafe fn fetch(&self, port: u32, address: u64, into: *mut u8, bytes: usize) -> bool {
        let pid = self.shared.segment.pid(port);
        // SAFETY: the caller's promise.
        self.single_copy() && unsafe { fetch::fetch(pid, address, into, bytes) }.is_ok()
    }

    /// Whether the kernel moves bytes between processes for us, as far as is known.
    fn single_copy(&self) -> bool {
        self.shared.enter().memory.single_copy
    }

    /// Waits until all requests are over; they are gone then, and the first error is told. The
    /// death of a process that is `needed` ends the wait too, and the requests stay: whoever lives
    /// may have given up for the same reason.
    pub fn wait_for_all(
        &self,
        requests: &[RequestId],
        needed: impl Fn(u32) -> bool,
    ) -> Result<(), WaitedForAll> {
        let mut handler = self.shared.enter();
        let (mut over, mut dead) = (0, None);
        let watched = requests.first().copied();
        let waited = self
            .shared
            .wait(&mut handler, watched, &mut |handler: &mut Handler| {
                let protocol = &handler.protocol;
                let rest = requests[over..].iter();
                over += rest.take_while(|id| protocol.is_settled(**id)).count();
                if over < requests.len() && protocol.has_dead() {
                    dead = protocol.died().iter().copied().find(|&peer| needed(peer));
                }
                over == requests.len() || dead.is_some()
            });
        let died = dead.map(|peer| handler.explain(Failure::PeerDied { peer }));
        let given_up = waited.err().or(died);
        let mut outcome = given_up.map_or(Ok(()), |error| Err(WaitedForAll::GaveUp(error)));
        if outcome.is_ok() {
            for id in requests {
                let ended = self.outcome(&mut handler, *id);
                outcome = outcome.and(ended.map(drop).map_err(WaitedForAll::Failed));
            }
        }
        self.shared.leave(&mut handler);
        outcome
    }

    /// The error of a call that needs a process which has died.
    pub fn loss_of(&self, process: u32) -> EngineError {
        let peer = process;
        self.shared.enter().explain(Failure::PeerDied { peer })
    }

    /// Which of these processes are known to have died, by their places in the list.
    pub fn dead_among(&self, processes: impl Iterator<Item = u32>) -> Vec<usize> {
        let mut handler = self.shared.enter();
        handler.progress(None);
        let dead = processes
            .enumerate()
            .filter(|(_, process)| handler.protocol.is_dead(*process))
            .map(|(place, _)| place)
            .collect();
        self.shared.leave(&mut handler);
        dead
    }

    /// Whether a process is known to have died.
    pub fn is_dead(&self, process: u32) -> bool {
        let mut handler = self.shared.enter();
        handler.progress(None);
        let is_dead = handler.protocol.is_dead(process);
        self.shared.leave(&mut handler);
        is_dead
    }
}
