//! Who looks after the connections: this process by being told of changes, by asking about every
//! socket, the driver /dev/o2g inside the kernel's protocol handler, io_uring, or BPF programs in that
//! handler.

use std::fmt;
use std::str::FromStr;

use oxmpi_settings as settings;
pub use oxmpi_settings::SettingError as ProgressError;

/// The variable behind `--progress`.
pub const PROGRESS: &str = settings::PROGRESS.name;

/// How the device finds the connections that have something to say, and who reads them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Progress {
    /// The kernel tells once per change, and connections that spoke last are looked at directly.
    #[default]
    User,
    /// Every socket is asked at every look.
    Sock,
    /// The driver reads them, and matches what it reads with the receives that it was given.
    Kernel,
    /// io_uring reads them, into buffers of this process and into the memory of long messages.
    Uring,
    /// BPF programs read them, into memory that this process and the kernel have.
    Bpf,
}

impl Progress {
    /// Whether the kernel reads the connections: it is about TCP then, and in the clear.
    pub fn is_in_kernel(self) -> bool {
        match self {
            Progress::User | Progress::Sock => false,
            Progress::Kernel | Progress::Uring | Progress::Bpf => true,
        }
    }

    /// What the environment says.
    pub fn from_env() -> Result<Progress, ProgressError> {
        settings::PROGRESS.read().choice()?.parse()
    }
}

impl FromStr for Progress {
    type Err = ProgressError;

    fn from_str(text: &str) -> Result<Progress, ProgressError> {
        match text {
            // It takes a message soonest (docs/benchmarks.md). Others need less of a processor that
            // ranks share, which may begin and end during a run, and the choice is made once.
            "auto" | "user" => Ok(Progress::User),
            "sock" => Ok(Progress::Sock),
            "kernel" => Ok(Progress::Kernel),
            "uring" => Ok(Progress::Uring),
            "bpf" => Ok(Progress::Bpf),
            _ => Err(settings::PROGRESS.wrong(text)),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Progress::User => "user",
            Progress::Sock => "sock",
            Progress::Kernel => "kernel",
            Progress::Uring => "uring",
            Progress::Bpf => "bpf",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_have_names() {
        for progress in [
            Progress::User,
            Progress::Sock,
            Progress::Kernel,
            Progress::Uring,
            Progress::Bpf,
        ] {
            assert_eq!(progress.to_string().parse(), Ok(progress));
        }
        assert_eq!(
            "driver".parse::<Progress>().unwrap_err().to_string(),
            "OXMPI_PROGRESS=\"driver\" (--progress) makes no sense: expected auto, user, sock, kernel, uring or bpf"
        );
    }
}
