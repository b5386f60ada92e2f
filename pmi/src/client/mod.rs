//! The rank's side of whatever launcher started it.
//!
//! [`Client`] is the same for all of them; `environment` finds out which protocol a launcher
//! offers, `pmi1`, `pmi2` and `pmix` speak it. Keys belong to ranks: what a rank puts under a key
//! does not collide with what others put under the same. PMI-1 and PMI-2 have one space of keys for
//! all, so the rank becomes part of the key there, and values that are too long for them are cut
//! (`pieces`).

mod environment;
mod pmi1;
mod pmi2;
mod pmix;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::PmiError;
use crate::socket::Socket;
use crate::{RANKS_MAX, mapping, pieces};
use environment::Offer;

/// A rank's connection to its launcher. Calls come in this order: put, fence, get, finalize; put
/// and fence may be repeated. Fence is collective: it returns when every rank of the job has called
/// it.
pub struct Client {
    rank: u32,
    size: u32,
    launcher: String,
    protocol: Protocol,
}

enum Protocol {
    /// PMI-1: lines over a socket.
    One(pmi1::Pmi1),
    /// PMI-2: counted messages over a socket.
    Two(pmi2::Pmi2),
    /// PMIx: functions of a library.
    Pmix(Box<pmix::Pmix>),
}

/// The longest key and value that a launcher takes, what it says itself or what the protocol
/// promises.
#[derive(Debug, Clone, Copy)]
struct Limits {
    key_bytes: usize,
    value_bytes: usize,
}

/// Set while a client of this process owns the descriptor in PMI_FD, and for ever after: the
/// launcher made it once.
static TAKEN: AtomicBool = AtomicBool::new(false);

impl Client {
    /// Joins the job of the launcher that started this process. None: no launcher of these
    /// protocols did.
    pub fn from_env() -> Result<Option<Client>, PmiError> {
        let variable =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let Some(offer) = environment::offer(&variable)? else {
            return Ok(None);
        };
        if TAKEN.swap(true, Ordering::Relaxed) {
            return Err(PmiError::Taken);
        }
        Client::accept(offer, environment::launcher(&variable)).map(Some)
    }

    fn accept(offer: Offer, launcher: &str) -> Result<Client, PmiError> {
        match offer {
            Offer::Inherited {
                fd,
                rank,
                size,
                version,
            } => Client::over(Socket::inherited(fd)?, rank, size, version, launcher),
            Offer::Port { address, id } => {
                let mut socket = Socket::connected(&address)?;
                let (rank, size) = pmi1::introduce(&mut socket, id)?;
                Client::over(socket, rank, size, 1, launcher)
            }
            Offer::Pmix {
                namespace,
                files,
                otherwise,
            } => match (pmix(&files), otherwise) {
                (Ok(protocol), _) => Client::of(protocol?, launcher),
                (Err(_), Some(otherwise)) => Client::accept(*otherwise, launcher),
                (Err(Absent::Library(reason)), None) => {
                    Err(PmiError::PmixMissing { namespace, reason })
                }
                (Err(Absent::Privileged), None) => Err(PmiError::PmixPrivileged { namespace }),
            },
        }
    }

    /// The client of a PMIx server.
    fn of(protocol: pmix::Pmix, launcher: &str) -> Result<Client, PmiError> {
        let (rank, size) = in_range(protocol.rank(), protocol.size())?;
        Ok(Client {
            rank,
            size,
            launcher: format!("PMIx {} ({launcher})", protocol.version()),
            protocol: Protocol::Pmix(Box::new(protocol)),
        })
    }

    /// The client of a connected socket.
    pub(crate) fn over(
        socket: Socket,
        rank: u32,
        size: u32,
        version: u32,
        launcher: &str,
    ) -> Result<Client, PmiError> {
        let (rank, size, protocol) = match version {
            1 => (rank, size, Protocol::One(pmi1::Pmi1::open(socket)?)),
            _ => {
                let (protocol, rank, size) = pmi2::Pmi2::open(socket, rank)?;
                (rank, size, Protocol::Two(protocol))
            }
        };
        let (rank, size) = in_range(rank, size)?;
        Ok(Client {
            rank,
            size,
            launcher: format!("PMI-{version} ({launcher})"),
            protocol,
        })
    }

    /// This process's rank in the job.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Ranks in the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Protocol and launcher, for people: "PMI-1 (Hydra)".
    pub fn launcher(&self) -> &str {
        &self.launcher
    }

    /// The host of every rank; hosts are numbered in the order in which ranks first meet them.
    /// None: the launcher does not say.
    pub fn hosts(&mut self) -> Result<Option<Vec<u32>>, PmiError> {
        let text = match &mut self.protocol {
            Protocol::One(protocol) => protocol.get(mapping::KEY)?,
            Protocol::Two(protocol) => protocol.job_attribute(mapping::KEY)?,
            Protocol::Pmix(protocol) => return protocol.hosts(),
        };
        let text = match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => text,
            // Our own server has a map that is longer than a value under a key of its own, in
            // pieces.
            None => match self.join_pieces(0, mapping::KEY_OF_PIECES)? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        mapping::parse(&text, self.size).map_err(|error| PmiError::Mapping {
            mapping: text,
            reason: error.to_string(),
        })
    }

    /// The number of the command line's program that this rank executes, from 0. None: the launcher
    /// does not say.
    pub fn program(&mut self) -> Result<Option<u32>, PmiError> {
        match &mut self.protocol {
            Protocol::One(protocol) => protocol.program(),
            Protocol::Two(protocol) => Ok(protocol.program()),
            Protocol::Pmix(protocol) => protocol.program(),
        }
    }

    /// Offers `value` under `key` to the other ranks; they see it after the next fence. A key is
    /// put once: where a rank puts another value later, some launchers keep the first and some the
    /// last.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let limits = self.limits();
        let pieces = text_is_fit(value)
            .then(|| pieces::cut(value, limits.value_bytes))
            .flatten();
        let pieces = pieces.ok_or_else(|| PmiError::Value {
            key: key.to_owned(),
            bytes: value.len(),
            bytes_max: limits.value_bytes * pieces::PIECES_MAX,
        })?;
        let base = self.key_of(self.rank, key)?;
        for (index, piece) in pieces.iter().enumerate() {
            let key = pieces::key(&base, index);
            match &mut self.protocol {
                Protocol::One(protocol) => protocol.put(&key, piece)?,
                Protocol::Two(protocol) => protocol.put(&key, piece)?,
                Protocol::Pmix(protocol) => protocol.put(&key, piece)?,
            }
        }
        Ok(())
    }

    /// Waits until every rank has come here; what they put before can be got after.
    pub fn fence(&mut self) -> Result<(), PmiError> {
        match &mut self.protocol {
            Protocol::One(protocol) => protocol.fence(),
            Protocol::Two(protocol) => protocol.fence(),
            Protocol::Pmix(protocol) => protocol.fence(),
        }
    }

    /// What `rank` put under `key` before the fence.
    pub fn get(&mut self, rank: u32, key: &str) -> Result<String, PmiError> {
        let base = self.key_of(rank, key)?;
        self.join_pieces(rank, &base)?
            .ok_or_else(|| PmiError::NotThere {
                rank,
                key: key.to_owned(),
            })
    }

    /// Asks the launcher to end the job. It may do so before this returns; if it does not answer at
    /// all there is nobody left to tell.
    pub fn abort(&mut self, code: i32, text: &str) {
        match &mut self.protocol {
            Protocol::One(protocol) => protocol.abort(code, text),
            Protocol::Two(protocol) => protocol.abort(code, text),
            Protocol::Pmix(protocol) => protocol.abort(code, text),
        }
    }

    /// Tells the launcher that this rank ends as it should. Nothing may be called after it.
    pub fn finalize(&mut self) -> Result<(), PmiError> {
        match &mut self.protocol {
            Protocol::One(protocol) => protocol.finalize(),
            Protocol::Two(protocol) => protocol.finalize(),
            Protocol::Pmix(protocol) => protocol.finalize(),
        }
    }

    fn limits(&self) -> Limits {
        match &self.protocol {
            Protocol::One(protocol) => protocol.limits(),
            Protocol::Two(protocol) => protocol.limits(),
            Protocol::Pmix(protocol) => protocol.limits(),
        }
    }

    /// The key under which the launcher holds it: where all ranks share a space of keys, with the
    /// rank.
    fn key_of(&self, rank: u32, key: &str) -> Result<String, PmiError> {
        let base = match self.protocol {
            Protocol::Pmix(_) => key.to_owned(),
            _ => format!("{key}-{rank}"),
        };
        let longest = pieces::key(&base, pieces::PIECES_MAX - 1);
        let fit = !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let bytes_max = self.limits().key_bytes;
        if !fit || longest.len() > bytes_max {
            return Err(PmiError::Key {
                key: key.to_owned(),
                bytes_max,
            });
        }
        Ok(base)
    }

    fn join_pieces(&mut self, rank: u32, base: &str) -> Result<Option<String>, PmiError> {
        let Some(first) = self.get_raw(rank, base)? else {
            return Ok(None);
        };
        let not_whole = |value: &str| PmiError::NotWhole {
            rank,
            key: base.to_owned(),
            value: value.to_owned(),
        };
        let (count, part) = pieces::first(&first).ok_or_else(|| not_whole(&first))?;
        let mut value = part.to_owned();
        for index in 1..count {
            let piece = self.get_raw(rank, &pieces::key(base, index))?;
            value.push_str(&piece.ok_or_else(|| not_whole(&value))?);
        }
        Ok(Some(value))
    }

    fn get_raw(&mut self, rank: u32, key: &str) -> Result<Option<String>, PmiError> {
        match &mut self.protocol {
            Protocol::One(protocol) => protocol.get(key),
            Protocol::Two(protocol) => protocol.get(key),
            Protocol::Pmix(protocol) => protocol.get(rank, key),
        }
    }
}

/// Why PMIx cannot be spoken.
enum Absent {
    /// What the loader said about the library.
    Library(String),
    /// The process has privileges that its caller does not have.
    Privileged,
}

/// The client of PMIx by the first of these files. libpmix itself takes folders of plugins from the
/// environment and from files below HOME, so that a privileged process cannot load even the
/// system's own.
fn pmix(files: &[String]) -> Result<Result<pmix::Pmix, PmiError>, Absent> {
    if oxmpi_trust::is_privileged() {
        return Err(Absent::Privileged);
    }
    pmix::Pmix::open(files).map_err(Absent::Library)
}

fn in_range(rank: u32, size: u32) -> Result<(u32, u32), PmiError> {
    match rank < size && size <= RANKS_MAX {
        true => Ok((rank, size)),
        false => Err(PmiError::OutOfRange { rank, size }),
    }
}

/// What every protocol carries unchanged: no spaces (PMI-1), no semicolons (PMI-2), no backslashes
/// (later PMI-1).
fn text_is_fit(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b'\\')
}

#[cfg(test)]
mod tests;
