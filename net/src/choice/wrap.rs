//! What the user puts around devices: faults, to see a program on a bad network, and traces and
//! captures, to see what goes over a network.

use oxmpi_settings::{self as settings, SettingError};

use super::{Mode, Rails};
use crate::device::{Address, CaptureError, Device, Fault, Faults, FaultsError, Pcap, Trace};

/// Faults, as people write them; see [`Faults`].
pub const FAULT: &str = oxmpi_settings::NET_FAULT.name;
/// `off`: bulk goes as frames too; `udp`: none of it by TCP.
pub const RAILS: &str = oxmpi_settings::NET_RAILS.name;
/// The beginning of the names of captures.
pub const PCAP: &str = oxmpi_settings::NET_PCAP.name;
/// `on`: frames are told on standard error.
pub const TRACE: &str = oxmpi_settings::NET_TRACE.name;
/// `on`: every frame carries a checksum over all of it.
pub const CHECK: &str = oxmpi_settings::NET_CHECK.name;

/// A setting makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// Of faults.
    #[error("{FAULT} (--net-fault): {0}")]
    Fault(#[from] FaultsError),
    /// A switch.
    #[error(transparent)]
    Switch(#[from] SettingError),
    /// A variable that this process must not obey.
    #[error(transparent)]
    Untrusted(#[from] oxmpi_trust::Untrusted),
    /// Of captures.
    #[error("{PCAP} (--net-pcap): {0}")]
    Pcap(#[from] CaptureError),
}

/// The device of process `rank`, which others reach at `own`, with what the environment puts around
/// it. What is recorded is what the network gets and gives: faults are inside of nothing else.
pub(super) fn wrapped(
    mut device: Box<dyn Device>,
    rank: u32,
    name: &str,
    own: Address,
) -> Result<Box<dyn Device>, WrapError> {
    oxmpi_trust::variable(settings::NET_PCAP.name)?;
    let prefix = settings::NET_PCAP.read().text().unwrap_or_default();
    if !prefix.is_empty() {
        let path = format!("{prefix}.{rank}.{name}.pcapng");
        device = Box::new(Pcap::create(device, path.as_ref(), own)?);
    }
    if settings::NET_TRACE.read().switch()? == Some(true) {
        device = Box::new(Trace::new(device, rank));
    }
    let faults = faults()?;
    if !faults.is_none() {
        device = Box::new(Fault::new(device, faults, rank));
    }
    Ok(device)
}

/// Whether frames carry checksums: where the user says so, and where bits are turned over on
/// purpose.
pub(super) fn is_checked() -> Result<bool, WrapError> {
    match settings::NET_CHECK.read().switch()? {
        Some(checked) => Ok(checked),
        None => Ok(faults()?.corrupt > 0.0),
    }
}

/// Whether what leaves this process is encrypted.
pub(super) fn is_encrypted() -> Result<bool, SettingError> {
    Ok(settings::ENCRYPT.read().switch()?.unwrap_or(false))
}

/// What may carry bulk. TCP does where the user did not ask for UDP or for AF_XDP, beside which TCP
/// is slow, and puts nothing around devices: a bad network, a trace or a capture is to have
/// everything.
pub(super) fn rails(mode: Mode) -> Result<Rails, WrapError> {
    let is_bare = faults()?.is_none()
        && settings::NET_PCAP
            .read()
            .text()
            .is_none_or(|prefix| prefix.is_empty())
        && settings::NET_TRACE.read().switch()? != Some(true);
    Ok(match settings::NET_RAILS.read().choice()? {
        "off" => Rails::Off,
        "udp" => Rails::Udp,
        _ if is_bare && matches!(mode, Mode::Auto | Mode::Ethernet) => Rails::All,
        _ => Rails::Udp,
    })
}

fn faults() -> Result<Faults, WrapError> {
    match settings::NET_FAULT.read().text() {
        None => Ok(Faults::NONE),
        Some(text) => Ok(text.parse()?),
    }
}
