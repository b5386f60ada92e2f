//! PM in the kernel as part of what a process opens: a place is reserved before the job's key is
//! known, because the process's card tells it, and the endpoint is opened after.

use std::net::IpAddr;

use crate::address::{self, Local, Policy, PortRange};
use crate::card::{Card, Wire};
use crate::device::oxk::{self, OxkError, Reservation};
use crate::device::{Address, Device, Oxk};
use crate::key::JobKey;

/// PM in the kernel.
pub(super) struct Kernel {
    /// The channel stands for the port at which kernels meet.
    pub wire: Wire,
    pub stage: Stage,
}

/// How far that is.
pub(super) enum Stage {
    /// The job's key is not known yet.
    Reserved(Reservation),
    Open(Box<dyn Device>),
    /// It could not be opened, which has been told.
    Failed,
}

impl Kernel {
    /// Holds a port at an address of an interface.
    pub fn reserve(
        rank: u32,
        at: Option<(IpAddr, String)>,
        range: PortRange,
    ) -> Result<Kernel, OxkError> {
        let Some((ip, name)) = at else {
            let interface = "of an address that other hosts could use".to_owned();
            return Err(OxkError::NotEthernet { interface });
        };
        let reservation = Reservation::new(&name, ip, range.attempts(rank))?;
        Ok(Kernel {
            wire: Wire {
                mac: reservation.interface().mac,
                channel: reservation.address().port(),
                mtu: oxk::FRAME_BYTES_MAX as u16,
            },
            stage: Stage::Reserved(reservation),
        })
    }

    /// The endpoint and the name of its card, once the job's key and size are known; `None` if it
    /// was opened before.
    pub fn open(&mut self, size: usize, key: &JobKey) -> Result<Option<(Oxk, String)>, OxkError> {
        let Stage::Reserved(reservation) = std::mem::replace(&mut self.stage, Stage::Failed) else {
            return Ok(None);
        };
        let name = reservation.interface().name.clone();
        Ok(Some((reservation.open(key, size - 1)?, name)))
    }
}

/// Where the kernel of a process meets others: its wire's channel is the port.
pub(super) fn kernel_addresses(card: &Card, local: &Local, policy: &Policy) -> Vec<Address> {
    let Some(wire) = card.wires.first() else {
        return Vec::new();
    };
    let candidates = address::order(card, local, policy);
    let at_port = |candidate: address::Candidate| {
        let mut address = candidate.address;
        address.set_port(wire.channel);
        Address::Oxk(address)
    };
    candidates.into_iter().map(at_port).collect()
}
