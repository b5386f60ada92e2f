//! What the user puts around devices: faults, to see a program on a bad network.

use std::env;

use crate::device::{Device, Fault, Faults, FaultsError};

/// Faults, as people write them; see [`Faults`].
pub const FAULT: &str = "OXMPI_NET_FAULT";
/// `on`: every frame carries a checksum over all of it.
pub const CHECK: &str = "OXMPI_NET_CHECK";

/// A setting makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// Of faults.
    #[error("{FAULT} (--net-fault): {0}")]
    Fault(#[from] FaultsError),
    /// Of checksums.
    #[error("{CHECK}={value:?} makes no sense: expected on or off")]
    Check {
        /// The value.
        value: String,
    },
}

/// The device of process `rank`, with what the environment puts around it.
pub(super) fn wrapped(device: Box<dyn Device>, rank: u32) -> Result<Box<dyn Device>, WrapError> {
    let faults = faults()?;
    Ok(match faults.is_none() {
        true => device,
        false => Box::new(Fault::new(device, faults, rank)),
    })
}

/// Whether frames carry checksums: where the user says so, and where bits are turned over on purpose.
pub(super) fn is_checked() -> Result<bool, WrapError> {
    match env::var(CHECK).as_deref() {
        Ok("on" | "1") => Ok(true),
        Ok("off" | "0") => Ok(false),
        Ok("") | Err(_) => Ok(faults()?.corrupt > 0.0),
        Ok(value) => Err(WrapError::Check {
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
