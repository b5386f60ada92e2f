//! What a user can set through the environment. The defaults are meant to be right; these exist to measure and to diagnose.

use std::time::Duration;

pub use oxmpi_net::tcp::Progress;

/// How a thread waits for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// By ranks and CPUs: spin where there is a CPU per rank, yield where there is not, then sleep.
    Auto,
    /// Spin and never sleep.
    Spin,
    /// Yield the CPU at every look and never sleep.
    Yield,
    /// Sleep at once.
    Sleep,
}

/// The engine's settings.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// `OXMPI_WAIT` = auto, spin, yield or sleep.
    pub wait: WaitMode,
    /// `OXMPI_SPIN_US`: how long to spin or yield before sleeping.
    pub patience: Duration,
    /// `OXMPI_DRIVER` = on or off: a thread runs the protocol while the application computes.
    pub driver: bool,
    /// `OXMPI_SINGLE_COPY` = on or off: read long messages out of the sender's memory where the kernel permits it.
    pub single_copy: bool,
    /// `OXMPI_BOARDS` = on or off: small collectives meet on boards in shared memory; else everything is messages.
    pub boards: bool,
    /// `OXMPI_PROGRESS` = user, sock or kernel: how sockets that have something are found; `sock` is the plain loop over all of them, without a driver; with `kernel` the
    /// driver /dev/o2g reads them.
    pub progress: Progress,
    /// `OXMPI_EAGER_BYTES`: longest message that is sent without asking.
    pub eager_bytes: Option<u64>,
}

/// A setting makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?} makes no sense: expected {expected}")]
pub struct OptionsError {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wait: WaitMode::Auto,
            // A sleeper costs its waker 10 µs and itself 30; half a millisecond of patience makes that a few per cent at worst.
            patience: Duration::from_micros(500),
            driver: true,
            single_copy: true,
            boards: true,
            progress: Progress::User,
            eager_bytes: None,
        }
    }
}

impl Options {
    /// The settings of this process's environment.
    pub fn from_env() -> Result<Self, OptionsError> {
        Self::from_lookup(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        let number = |name, expected| match lookup(name) {
            None => Ok(None),
            Some(value) => value.parse::<u64>().map(Some).map_err(|_| OptionsError {
                name,
                value,
                expected,
            }),
        };
        let switch = |name, default| match lookup(name).as_deref() {
            None => Ok(default),
            Some("on" | "1") => Ok(true),
            Some("off" | "0") => Ok(false),
            Some(value) => Err(OptionsError {
                name,
                value: value.into(),
                expected: "on or off",
            }),
        };
        options.wait = match lookup("OXMPI_WAIT").as_deref() {
            None | Some("auto") => WaitMode::Auto,
            Some("spin") => WaitMode::Spin,
            Some("yield") => WaitMode::Yield,
            Some("sleep") => WaitMode::Sleep,
            Some(value) => {
                let expected = "auto, spin, yield or sleep";
                return Err(OptionsError {
                    name: "OXMPI_WAIT",
                    value: value.into(),
                    expected,
                });
            }
        };
        options.progress = match lookup("OXMPI_PROGRESS").as_deref() {
            None | Some("") => Progress::User,
            Some(value) => value.parse().map_err(|_| OptionsError {
                name: "OXMPI_PROGRESS",
                value: value.into(),
                expected: oxmpi_net::tcp::EXPECTED,
            })?,
        };
        if let Some(micros) = number("OXMPI_SPIN_US", "a number of microseconds")? {
            options.patience = Duration::from_micros(micros);
        }
        options.driver = switch("OXMPI_DRIVER", options.driver)?;
        options.single_copy = switch("OXMPI_SINGLE_COPY", options.single_copy)?;
        options.boards = switch("OXMPI_BOARDS", options.boards)?;
        options.eager_bytes = number("OXMPI_EAGER_BYTES", "a number of bytes")?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_named() {
        let error = Options::from_lookup(|name| (name == "OXMPI_WAIT").then(|| "snooze".into()))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "OXMPI_WAIT=\"snooze\" makes no sense: expected auto, spin, yield or sleep"
        );
        let error = Options::from_lookup(|name| (name == "OXMPI_SPIN_US").then(|| "-1".into()))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "OXMPI_SPIN_US=\"-1\" makes no sense: expected a number of microseconds"
        );
    }

    #[test]
    fn settings_are_read() {
        let options = Options::from_lookup(|name| {
            Some(match name {
                "OXMPI_WAIT" => "yield".into(),
                "OXMPI_DRIVER" => "off".into(),
                "OXMPI_PROGRESS" => "sock".into(),
                "OXMPI_SINGLE_COPY" => "0".into(),
                "OXMPI_BOARDS" => "on".into(),
                _ => "7".into(),
            })
        })
        .unwrap();
        assert_eq!(options.wait, WaitMode::Yield);
        assert!(!options.driver && !options.single_copy);
        assert_eq!(options.progress, Progress::Sock);
        assert_eq!(
            (options.patience, options.eager_bytes),
            (Duration::from_micros(7), Some(7))
        );
    }
}
