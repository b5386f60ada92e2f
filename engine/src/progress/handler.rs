//! The handler: the protocol, what carries its packets, the memory they belong to, and who waits.
//!
//! It runs under the engine's lock, by whoever has it: a thread that waits (reaping), a thread that
//! posts, or the driver thread. `intake` is what comes in, `outlet` what goes out, `waiters` who
//! waits; what a packet means and what follows from it is [`crate::path`]'s business for all of
//! them.

use std::sync::Arc;

use oxmpi_ports::{Port, Segment};

use super::area::Area;
use super::extents::Extents;
use super::memory::UserMemory;
use super::outlet::Ways;
use super::places::Places;
use super::ports::Ports;
use super::remote::Remote;
use super::wait::WaitPolicy;
use super::waiters::Waiters;
use crate::error::EngineError;
use crate::protocol::Protocol;

pub(crate) struct Handler {
    pub protocol: Protocol<Area>,
    /// What carries packets.
    pub ways: Ways,
    /// Where their bytes belong.
    pub memory: UserMemory,
    /// Who waits.
    pub waiters: Waiters,
    pub policy: WaitPolicy,
    /// Memory of this process that others can map.
    pub extents: Arc<Extents>,
    /// The engine cannot go on: this process's own memory is lost.
    pub broken: Option<EngineError>,
    pub rank: u32,
    pub(super) host: String,
}

impl Handler {
    pub fn new(
        port: Port,
        protocol: Protocol<Area>,
        policy: WaitPolicy,
        single_copy: bool,
        places: Places,
        remote: Option<Box<Remote>>,
        host: String,
    ) -> Self {
        let oversubscribed = policy.is_oversubscribed();
        Self {
            memory: UserMemory::new(port.segment(), &places, single_copy, oversubscribed),
            rank: places.me(),
            ways: Ways {
                ports: Ports::new(port, places),
                remote,
            },
            protocol,
            waiters: Waiters::new(),
            policy,
            extents: Arc::default(),
            broken: None,
            host,
        }
    }

    /// This process's port.
    #[inline(always)]
    pub fn port(&self) -> &Port {
        &self.ways.ports.port
    }

    /// The memory that the processes of this host share.
    pub fn segment(&self) -> &Arc<Segment> {
        self.port().segment()
    }

    /// Who is where.
    #[inline(always)]
    pub fn places(&self) -> &Places {
        &self.ways.ports.places
    }
}
