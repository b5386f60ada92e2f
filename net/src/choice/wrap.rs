//! What the user puts around devices: faults, to see a program on a bad network, and traces and captures, to see what goes over a network.

use std::env;

use crate::device::{Address, CaptureError, Device, Fault, Faults, FaultsError, Pcap, Trace};

/// Faults, as people write them; see [`Faults`].
pub const FAULT: &str = "OXMPI_NET_FAULT";
/// `off`: bulk goes as frames too.
pub const RAILS: &str = "OXMPI_NET_RAILS";
/// The beginning of the names of captures.
pub const PCAP: &str = "OXMPI_NET_PCAP";
/// `on`: frames are told on standard error.
pub const TRACE: &str = "OXMPI_NET_TRACE";
/// `on`: every frame carries a checksum over all of it.
pub const CHECK: &str = "OXMPI_NET_CHECK";

/// A setting makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// Of faults.
    #[error("{FAULT} (--net-fault): {0}")]
    Fault(#[from] FaultsError),
    /// A switch.
    #[error("{name}={value:?} makes no sense: expected on or off")]
    Switch {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A variable that this process must not obey.
    #[error(transparent)]
    Untrusted(#[from] oxmpi_trust::Untrusted),
    /// Of captures.
    #[error("{PCAP} (--net-pcap): {0}")]
    Pcap(#[from] CaptureError),
}

/// The device of process `rank`, which others reach at `own`, with what the environment puts around it. What is recorded is what the network gets and gives: faults are inside of nothing else.
pub(super) fn wrapped(
    mut device: Box<dyn Device>,
    rank: u32,
    name: &str,
    own: Address,
) -> Result<Box<dyn Device>, WrapError> {
    if let Some(mut path) = oxmpi_trust::variable(PCAP)? {
        path.push(format!(".{rank}.{name}.pcapng"));
        device = Box::new(Pcap::create(device, path.as_ref(), own)?);
    }
    if switch(TRACE)? == Some(true) {
        device = Box::new(Trace::new(device, rank));
    }
    let faults = faults()?;
    if !faults.is_none() {
        device = Box::new(Fault::new(device, faults, rank));
    }
    Ok(device)
}

/// Whether frames carry checksums: where the user says so, and where bits are turned over on purpose.
pub(super) fn is_checked() -> Result<bool, WrapError> {
    match switch(CHECK)? {
        Some(checked) => Ok(checked),
        None => Ok(faults()?.corrupt > 0.0),
    }
}

/// Whether bulk may go beside frames.
pub(super) fn has_rails() -> Result<bool, WrapError> {
    Ok(switch(RAILS)?.unwrap_or(true))
}

fn switch(name: &'static str) -> Result<Option<bool>, WrapError> {
    match env::var(name).as_deref() {
        Ok("on" | "1") => Ok(Some(true)),
        Ok("off" | "0") => Ok(Some(false)),
        Ok("") | Err(_) => Ok(None),
        Ok(value) => Err(WrapError::Switch {
            name,
            value: value.into(),
        }),
    }
}

fn faults() -> Result<Faults, WrapError> {
    let text = env::var(FAULT).unwrap_or_default();
    match text.is_empty() {
        true => Ok(Faults::NONE),
        false => Ok(text.parse()?),
    }
}
