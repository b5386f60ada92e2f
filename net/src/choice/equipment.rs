//! What a process opens before its job has chosen a network: a listener always, and the devices that it may use.

use std::io;

use super::{Choice, Mode, ModeError, Report, Verdict};
use crate::card::Card;
use crate::key::JobKey;
use crate::tcp::{BindError, Listener, Tcp};
use crate::transport::{Directory, Transport};

/// What a process has to reach others with.
pub struct Equipment {
    mode: Mode,
    listener: Listener,
}

/// A process cannot be equipped.
#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    /// A setting.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// Nobody could reach the process.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl Equipment {
    /// Opens what process `rank` may use.
    pub fn open(rank: u32, _apart: bool) -> Result<Equipment, EquipError> {
        let mode = Mode::from_env()?;
        let listener = Listener::bind(rank)?;
        Ok(Equipment { mode, listener })
    }

    /// What the user asked for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What the others need to know to reach this process.
    pub fn card(&self, host: &str) -> Result<Card, BindError> {
        self.listener.card(host)
    }

    /// Greets the first processes of the hosts beside this one, and says what is heard from them.
    pub fn try_out(&mut self, _me: u32, _key: &JobKey, _neighbours: &[(u32, Card)]) -> Report {
        Report {
            frames: Verdict::Off,
            udp: Verdict::Off,
        }
    }

    /// The transport that was chosen.
    pub fn assemble(
        self,
        me: u32,
        size: u32,
        key: JobKey,
        _choice: &Choice,
        directory: Directory,
    ) -> io::Result<Transport> {
        Tcp::new(me, size, key, self.listener, directory).map(Transport::Tcp)
    }
}
