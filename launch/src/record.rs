//! What `local_ranks` and the warden tell each other: fixed records on two pipes. Ranks are ports
//! here: numbers on this host.
//!
//! Both ends are the same executable image (the warden is a fork), so the records are plain
//! native-endian words. Writes are whole records and below PIPE_BUF, so reads never see half of
//! one.

use serde::{Deserialize, Serialize};

/// A line of the launcher to the warden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Send a signal to the group of every rank that still runs, and to what the others left
    /// behind.
    Signal(i32),
    /// The job is over: kill whatever is left and end.
    End,
}

/// Which step of starting a rank failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// No process could be made.
    Fork,
    /// Standard input, output or the segment could not be put in place.
    Descriptors,
    /// The working directory could not be entered.
    Directory,
    /// The program could not be executed.
    Exec,
}

/// A line of the warden (or of a rank that never became one) to the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The process of a rank exists.
    Started { port: u32, pid: i32 },
    /// A rank could not be started, with errno.
    Failed { port: u32, stage: Stage, errno: i32 },
    /// A rank's process has ended, with the status word of wait(2).
    Ended { port: u32, status: i32 },
}

pub(crate) const COMMAND_BYTES: usize = 8;
pub(crate) const REPORT_BYTES: usize = 16;

impl Command {
    pub(crate) fn emit(self) -> [u8; COMMAND_BYTES] {
        let words = match self {
            Command::Signal(signal) => [1, signal],
            Command::End => [2, 0],
        };
        pack(words)
    }

    pub(crate) fn parse(bytes: [u8; COMMAND_BYTES]) -> Option<Command> {
        match unpack::<COMMAND_BYTES, 2>(bytes) {
            [1, signal] => Some(Command::Signal(signal)),
            [2, _] => Some(Command::End),
            _ => None,
        }
    }
}

impl Report {
    pub(crate) fn emit(self) -> [u8; REPORT_BYTES] {
        pack(match self {
            Report::Started { port, pid } => [1, port as i32, pid, 0],
            Report::Failed { port, stage, errno } => [2, port as i32, stage as i32, errno],
            Report::Ended { port, status } => [3, port as i32, status, 0],
        })
    }

    pub(crate) fn parse(bytes: [u8; REPORT_BYTES]) -> Option<Report> {
        let [kind, port, first, second] = unpack::<REPORT_BYTES, 4>(bytes);
        let port = port as u32;
        match kind {
            1 => Some(Report::Started { port, pid: first }),
            2 => {
                let stages = [
                    Stage::Fork,
                    Stage::Descriptors,
                    Stage::Directory,
                    Stage::Exec,
                ];
                let stage = stages.into_iter().find(|stage| *stage as i32 == first)?;
                Some(Report::Failed {
                    port,
                    stage,
                    errno: second,
                })
            }
            3 => Some(Report::Ended {
                port,
                status: first,
            }),
            _ => None,
        }
    }
}

fn pack<const BYTES: usize, const WORDS: usize>(words: [i32; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

fn unpack<const BYTES: usize, const WORDS: usize>(bytes: [u8; BYTES]) -> [i32; WORDS] {
    let mut words = [0; WORDS];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = i32::from_ne_bytes([place[0], place[1], place[2], place[3]]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_pipe() {
        for command in [Command::Signal(15), Command::End] {
            assert_eq!(Command::parse(command.emit()), Some(command));
        }
        let reports = [
            Report::Started { port: 7, pid: 4711 },
            Report::Failed {
                port: 0,
                stage: Stage::Exec,
                errno: 2,
            },
            Report::Ended {
                port: 63,
                status: 0x0b,
            },
        ];
        for report in reports {
            assert_eq!(Report::parse(report.emit()), Some(report));
        }
        assert_eq!(Command::parse([0xff; COMMAND_BYTES]), None);
        assert_eq!(Report::parse([0; REPORT_BYTES]), None);
    }
}
