//! What a user can set through the environment. The defaults are meant to be right; these exist to
//! measure and to diagnose.

use std::time::Duration;

pub use oxmpi_net::tcp::Progress;
pub use oxmpi_settings::SettingError as OptionsError;
use oxmpi_settings::{self as settings, Given, Setting};

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
    /// `OXMPI_SINGLE_COPY` = on or off: read long messages out of the sender's memory where the
    /// kernel permits it.
    pub single_copy: bool,
    /// `OXMPI_BOARDS` = on or off: small collectives meet on boards in shared memory; else
    /// everything is messages.
    pub boards: bool,
    /// `OXMPI_PROGRESS` = auto, user, sock, kernel, uring or bpf: how sockets that have something are
    /// found; `sock` is the plain loop over all of them, without a driver; with `kernel` the driver
    /// /dev/o2g reads them, with `uring` io_uring, with `bpf` BPF programs.
    pub progress: Progress,
    /// `OXMPI_EAGER_BYTES`: longest message that is sent without asking.
    pub eager_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wait: WaitMode::Auto,
            // A sleeper costs its waker 10 µs and itself 30; half a millisecond of patience makes
            // that a few per cent at worst.
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
        Self::of(Setting::read)
    }

    fn of(given: impl Fn(&'static Setting) -> Given) -> Result<Self, OptionsError> {
        let default = Self::default();
        Ok(Self {
            wait: match given(&settings::WAIT).choice()? {
                "spin" => WaitMode::Spin,
                "yield" => WaitMode::Yield,
                "sleep" => WaitMode::Sleep,
                _ => WaitMode::Auto,
            },
            patience: (given(&settings::SPIN_US).duration()?).unwrap_or(default.patience),
            driver: given(&settings::DRIVER).switch()?.unwrap_or(default.driver),
            single_copy: (given(&settings::SINGLE_COPY).switch()?).unwrap_or(default.single_copy),
            boards: given(&settings::BOARDS).switch()?.unwrap_or(default.boards),
            progress: given(&settings::PROGRESS).choice()?.parse()?,
            eager_bytes: given(&settings::EAGER_BYTES).bytes()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variable: impl Fn(&str) -> Option<&'static str>) -> Result<Options, OptionsError> {
        Options::of(|setting| setting.read_from(&variable))
    }

    #[test]
    fn nonsense_is_named() {
        let error = of(|name| (name == "OXMPI_WAIT").then_some("snooze")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OXMPI_WAIT=\"snooze\" makes no sense: expected auto, spin, yield or sleep"
        );
        let error = of(|name| (name == "OXMPI_SPIN_US").then_some("-1")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OXMPI_SPIN_US=\"-1\" makes no sense: expected a number of microseconds, \
             or a time such as 500us, 2ms or 1s"
        );
    }

    #[test]
    fn the_defaults_are_those_of_the_table() {
        let unset = of(|_| None).unwrap();
        assert_eq!(format!("{unset:?}"), format!("{:?}", Options::default()));
    }

    #[test]
    fn settings_are_read() {
        let options = of(|name| {
            Some(match name {
                "OXMPI_WAIT" => "yield",
                "OXMPI_DRIVER" => "off",
                "OXMPI_PROGRESS" => "sock",
                "OXMPI_SINGLE_COPY" => "0",
                "OXMPI_BOARDS" => "on",
                _ => "7",
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
