//! The log of the node table: records that are appended, and replaced as a whole when it has grown
//! far beyond the table.
//!
//! | field | bytes |
//! |---|---|
//! | CRC-32C of what follows | 4 |
//! | bytes of kind and values | 2 |
//! | kind | 1 |
//! | values, little endian; a name is the rest | |
//!
//! Reading ends at the first record that is cut off or damaged: behind it is what was being written
//! when the machine lost its power.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::nodes::Identity;

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
const FILE: &str = "nodes";
/// Bytes per node after which the log is replaced, and the least for which that is worth while.
const BYTES_PER_NODE_MAX: u64 = 1024;
const BYTES_MIN: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Node {
        node: u64,
        identity: Identity,
    },
    Name {
        node: u64,
        parent: u64,
        name: Box<[u8]>,
    },
    Unname {
        node: u64,
        parent: u64,
        name: Box<[u8]>,
    },
    Gone {
        node: u64,
    },
}

/// Says on which device the export was: after a boot it may have another number.
const HEADER: u8 = 0;

impl Record {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Record::Node { node, identity } => {
                let Identity {
                    device,
                    inode,
                    born,
                } = *identity;
                emit(out, 1, &[*node, device, inode, born], &[]);
            }
            Record::Name { node, parent, name } => emit(out, 2, &[*node, *parent], name),
            Record::Unname { node, parent, name } => emit(out, 3, &[*node, *parent], name),
            Record::Gone { node } => emit(out, 4, &[*node], &[]),
        }
    }
}

fn emit(out: &mut Vec<u8>, kind: u8, values: &[u64], name: &[u8]) {
    let mut body = ((1 + 8 * values.len() + name.len()) as u16)
        .to_le_bytes()
        .to_vec();
    body.push(kind);
    for value in values {
        body.extend(value.to_le_bytes());
    }
    body.extend(name);
    out.extend(CRC.checksum(&body).to_le_bytes());
    out.extend(body);
}

/// The records of a log; `device` is where the export is now.
pub(crate) fn parse(mut bytes: &[u8], device: u64) -> Vec<Record> {
    let mut records = Vec::new();
    let mut was = device;
    while let Some((head, rest)) = bytes.split_first_chunk::<6>() {
        let crc = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let Some(body) = rest.get(..length).filter(|body| !body.is_empty()) else {
            break;
        };
        if CRC.checksum(&bytes[4..6 + length]) != crc {
            break;
        }
        bytes = &rest[length..];
        let (kind, values) = (body[0], &body[1..]);
        let value = |at: usize| {
            let bytes = values.get(8 * at..8 * at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let name = || Some(values.get(16..)?.into());
        let record = (|| {
            Some(match kind {
                HEADER => {
                    was = value(0)?;
                    return None;
                }
                1 => Record::Node {
                    node: value(0)?,
                    identity: Identity {
                        device: match value(1)? {
                            same if same == was => device,
                            other => other,
                        },
                        inode: value(2)?,
                        born: value(3)?,
                    },
                },
                2 => Record::Name {
                    node: value(0)?,
                    parent: value(1)?,
                    name: name()?,
                },
                3 => Record::Unname {
                    node: value(0)?,
                    parent: value(1)?,
                    name: name()?,
                },
                4 => Record::Gone { node: value(0)? },
                _ => return None,
            })
        })();
        records.extend(record);
    }
    records
}

pub(crate) struct NodeLog {
    path: PathBuf,
    file: File,
    bytes: u64,
    dirty: bool,
    device: u64,
}

impl NodeLog {
    /// Opens the log of a state folder; what is in it.
    pub(crate) fn open(state: &Path, device: u64) -> io::Result<(NodeLog, Vec<Record>)> {
        let path = state.join(FILE);
        let had = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            had => had?,
        };
        let records = parse(&had, device);
        let mut log = NodeLog {
            file: private(&path)?,
            path,
            bytes: had.len() as u64,
            dirty: false,
            device,
        };
        if had.is_empty() {
            log.replace(std::iter::empty())?;
        }
        Ok((log, records))
    }

    /// Appends a record. A record that cannot be written costs its node the next start of the
    /// server, and no more.
    pub(crate) fn append(&mut self, record: &Record) {
        let mut out = Vec::with_capacity(64);
        record.emit(&mut out);
        if self.file.write_all(&out).is_ok() {
            self.bytes += out.len() as u64;
            self.dirty = true;
        }
    }

    pub(crate) fn is_long(&self, nodes: usize) -> bool {
        self.bytes > BYTES_MIN.max(BYTES_PER_NODE_MAX * nodes as u64)
    }

    /// The file, if there is something to sync.
    pub(crate) fn take_dirty(&mut self) -> io::Result<Option<File>> {
        match std::mem::take(&mut self.dirty) {
            true => self.file.try_clone().map(Some),
            false => Ok(None),
        }
    }

    /// A new log with these records takes the place of the old one.
    pub(crate) fn replace(&mut self, records: impl Iterator<Item = Record>) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let _ = std::fs::remove_file(&fresh);
        let mut out = Vec::new();
        emit(&mut out, HEADER, &[self.device], &[]);
        for record in records {
            record.emit(&mut out);
        }
        let mut file = private(&fresh)?;
        file.write_all(&out)?;
        file.sync_data()?;
        std::fs::rename(&fresh, &self.path)?;
        (self.file, self.bytes) = (file, out.len() as u64);
        Ok(())
    }
}

/// A file that is appended to and that only its owner reads.
fn private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}
