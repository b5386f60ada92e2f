//! How a process gets its endpoint: it takes its place in the job as a process that initialises MPI
//! does, and keeps only the network of it.

use std::net::Ipv4Addr;

use oxmpi_engine::Network;
use oxmpi_join::{LauncherLine, Membership};
use oxmpi_net::JobKey;
use oxmpi_net::address::Reach;
use oxmpi_net::device::Udp;
use oxmpi_net::device::udp::Families;
use oxmpi_net::pm::{Options, Pm, Rail, RailKind};
use oxmpi_net::transport::Transport;

use super::PmError;

/// What an ordinary Ethernet carries; a process that is alone sends nothing anyway.
const MTU: usize = 1500;

/// What a process knows of its job, as far as a channel needs it.
pub(super) struct Opened {
    pub node: u32,
    pub nodes: u32,
    pub pm: Pm,
    pub launcher: LauncherLine,
}

pub(super) fn open() -> Result<Opened, PmError> {
    let Membership {
        facts, launcher, ..
    } = Membership::from_env()?;
    let (node, nodes) = (facts.rank, facts.size);
    let pm = match facts.network {
        Some(Network {
            transport: Transport::Pm(pm),
            ..
        }) => pm,
        Some(Network { choice, .. }) => {
            let found = choice.to_string();
            return Err(PmError::OtherNetwork { node, found });
        }
        None if nodes == 1 => alone()?,
        None => return Err(PmError::OneHost { nodes }),
    };
    Ok(Opened {
        node,
        nodes,
        pm,
        launcher,
    })
}

/// The endpoint of a process that has nobody to talk to but itself.
fn alone() -> Result<Pm, PmError> {
    let failed = |error: &dyn std::fmt::Display| PmError::Alone {
        what: error.to_string(),
    };
    let reach = Reach::One(Ipv4Addr::LOCALHOST.into(), 0);
    let device = Udp::bind_at(&reach, 0, MTU, Families::Both).map_err(|error| failed(&error))?;
    let rail = Rail {
        device: Box::new(device),
        kind: RailKind::Udp,
    };
    let key = JobKey::random().map_err(|error| failed(&error))?;
    let finder = |_: u32, _: usize| Err("there is nobody else".to_owned());
    let (rails, channels) = (vec![rail], vec![0]);
    Pm::new(
        0,
        1,
        key,
        rails,
        channels,
        Box::new(finder),
        Options::default(),
    )
    .map_err(|error| failed(&error))
}
