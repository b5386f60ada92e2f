//! The file of a session in the state folder: who it is, what its slots have done, what it has open.
//!
//! Every part has its place and is written over, without a sync: what a killed server has written,
//! the next one reads. Before a change is made its *intent* is written, with the facts by which the
//! next server sees whether it was made; afterwards the reply.
//!
//! | offset | what |
//! |---|---|
//! | 0 | CRC, magic, session, name of the client, whether it holds locks |
//! | 4096 | slots of 2048 bytes: CRC, phase, operation, sequence, bytes of the request, facts, reply, request |
//! | 135168 | opens of 32 bytes: CRC, flags, open, node |

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::nodes::Identity;
use crate::protocol::{REPLY_BYTES, REQUEST_MAX, Reply, SLOTS_MAX};

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
const MAGIC: u64 = u64::from_le_bytes(*b"oxfs ses");
/// Opens of one session.
pub(crate) const OPENS_MAX: usize = 4096;

const HEAD_BYTES: usize = 48;
const SLOTS_AT: u64 = 4096;
const SLOT_BYTES: u64 = 2048;
const FACTS_AT: usize = 16;
const FACTS: usize = 8;
const REPLY_AT: usize = FACTS_AT + 8 * FACTS;
const REQUEST_AT: usize = REPLY_AT + REPLY_BYTES;
const OPENS_AT: u64 = SLOTS_AT + SLOT_BYTES * SLOTS_MAX as u64;
const OPEN_BYTES: usize = 32;

const _: () = assert!(REQUEST_AT + REQUEST_MAX <= SLOT_BYTES as usize);

const INTENT: u8 = 1;
const RESULT: u8 = 2;

/// What was so before a change: by it the next server sees whether the change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// What the name named.
    pub name: Identity,
    /// What the second name named.
    pub name2: Identity,
    /// The file's size.
    pub size: u64,
    /// Whether an attribute was there.
    pub present: u64,
}

impl Facts {
    pub(crate) const NONE: Facts = Facts {
        name: Identity::NONE,
        name2: Identity::NONE,
        size: 0,
        present: 0,
    };

    fn values(&self) -> [u64; FACTS] {
        let (a, b) = (self.name, self.name2);
        let ids = [a.device, a.inode, a.born, b.device, b.inode, b.born];
        let [a, b, c, d, e, f] = ids;
        [a, b, c, d, e, f, self.size, self.present]
    }

    fn from_values([a, b, c, d, e, f, size, present]: [u64; FACTS]) -> Facts {
        let identity = |device, inode, born| Identity {
            device,
            inode,
            born,
        };
        Facts {
            name: identity(a, b, c),
            name2: identity(d, e, f),
            size,
            present,
        }
    }
}

/// What a slot's place says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The operation was begun.
    Intent {
        sequence: u32,
        operation: u16,
        facts: Facts,
        request: Vec<u8>,
    },
    /// It was done, or refused.
    Result { sequence: u32, reply: Box<Reply> },
}

/// An open that can be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptOpen {
    pub open: u64,
    pub node: u64,
    pub flags: u32,
    /// Where it is written.
    pub place: u32,
}

/// Who a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub session: u64,
    pub name: (u64, u64),
    pub locks: bool,
}

pub(crate) struct SlotFile {
    file: File,
    path: PathBuf,
}

fn sealed(mut bytes: Vec<u8>, covered: usize) -> Vec<u8> {
    let crc = CRC.checksum(&bytes[4..covered]);
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

impl SlotFile {
    fn path(folder: &Path, session: u64) -> PathBuf {
        folder.join(format!("{session:016x}"))
    }

    pub(crate) fn create(folder: &Path, head: Head) -> io::Result<SlotFile> {
        let path = SlotFile::path(folder, head.session);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.mode(0o600).open(&path)?;
        let slots = SlotFile { file, path };
        slots.write_head(head)?;
        Ok(slots)
    }

    /// What an earlier server has left; `None` if the file is none of a session.
    pub(crate) fn open(path: PathBuf) -> io::Result<Option<(SlotFile, Head)>> {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let mut head = [0; HEAD_BYTES];
        if file.read_exact_at(&mut head, 0).is_err()
            || CRC.checksum(&head[4..]) != u32_at(&head, 0)
            || u64_at(&head, 8) != MAGIC
        {
            return Ok(None);
        }
        let head = Head {
            session: u64_at(&head, 16),
            name: (u64_at(&head, 24), u64_at(&head, 32)),
            locks: head[40] != 0,
        };
        Ok(Some((SlotFile { file, path }, head)))
    }

    pub(crate) fn write_head(&self, head: Head) -> io::Result<()> {
        let mut bytes = vec![0; 8];
        for value in [MAGIC, head.session, head.name.0, head.name.1] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([u8::from(head.locks), 0, 0, 0, 0, 0, 0, 0]);
        self.file.write_all_at(&sealed(bytes, HEAD_BYTES), 0)
    }

    pub(crate) fn write_intent(
        &self,
        slot: u32,
        sequence: u32,
        operation: u16,
        facts: &Facts,
        request: &[u8],
    ) -> io::Result<()> {
        let mut bytes = front(INTENT, operation, sequence, request.len(), facts);
        bytes.resize(REQUEST_AT, 0);
        bytes.extend(request);
        let covered = bytes.len();
        self.write_slot(slot, &sealed(bytes, covered))
    }

    pub(crate) fn write_result(&self, slot: u32, sequence: u32, reply: &Reply) -> io::Result<()> {
        let mut bytes = front(RESULT, 0, sequence, 0, &Facts::NONE);
        bytes.extend(reply.emit());
        self.write_slot(slot, &sealed(bytes, REQUEST_AT))
    }

    fn write_slot(&self, slot: u32, bytes: &[u8]) -> io::Result<()> {
        let at = SLOTS_AT + SLOT_BYTES * u64::from(slot);
        self.file.write_all_at(bytes, at)
    }

    pub(crate) fn read_slot(&self, slot: u32) -> Option<Kept> {
        let mut bytes = [0; SLOT_BYTES as usize];
        let at = SLOTS_AT + SLOT_BYTES * u64::from(slot);
        let got = self.file.read_at(&mut bytes, at).ok()?;
        let sequence = u32_at(&bytes, 8);
        let request = usize::from(u16::from_le_bytes([bytes[12], bytes[13]]));
        let covered = REQUEST_AT + request.min(REQUEST_MAX);
        if got < covered || CRC.checksum(&bytes[4..covered]) != u32_at(&bytes, 0) {
            return None;
        }
        match bytes[4] {
            INTENT => Some(Kept::Intent {
                sequence,
                operation: u16::from_le_bytes([bytes[6], bytes[7]]),
                facts: Facts::from_values(std::array::from_fn(|value| {
                    u64_at(&bytes, FACTS_AT + 8 * value)
                })),
                request: bytes[REQUEST_AT..covered].to_vec(),
            }),
            RESULT => {
                let reply = Box::new(Reply::parse(&bytes[REPLY_AT..REQUEST_AT])?);
                Some(Kept::Result { sequence, reply })
            }
            _ => None,
        }
    }

    pub(crate) fn write_open(&self, kept: &KeptOpen) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        bytes.extend(kept.flags.to_le_bytes());
        bytes.extend(kept.open.to_le_bytes());
        bytes.extend(kept.node.to_le_bytes());
        bytes.extend([0; 8]);
        self.write_place(kept.place, &sealed(bytes, OPEN_BYTES))
    }

    pub(crate) fn clear_open(&self, place: u32) -> io::Result<()> {
        self.write_place(place, &[0; OPEN_BYTES])
    }

    fn write_place(&self, place: u32, bytes: &[u8]) -> io::Result<()> {
        let at = OPENS_AT + OPEN_BYTES as u64 * u64::from(place);
        self.file.write_all_at(bytes, at)
    }

    pub(crate) fn read_opens(&self) -> Vec<KeptOpen> {
        let mut bytes = vec![0; OPENS_MAX * OPEN_BYTES];
        let got = self.file.read_at(&mut bytes, OPENS_AT).unwrap_or(0);
        let places = bytes[..got].chunks_exact(OPEN_BYTES).enumerate();
        let kept = places.filter_map(|(place, bytes)| {
            let open = u64_at(bytes, 8);
            let whole = open != 0 && CRC.checksum(&bytes[4..]) == u32_at(bytes, 0);
            whole.then(|| KeptOpen {
                open,
                node: u64_at(bytes, 16),
                flags: u32_at(bytes, 4),
                place: place as u32,
            })
        });
        kept.collect()
    }

    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn front(phase: u8, operation: u16, sequence: u32, request: usize, facts: &Facts) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, phase, 0];
    bytes.extend(operation.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend((request as u16).to_le_bytes());
    bytes.extend([0; 2]);
    for value in facts.values() {
        bytes.extend(value.to_le_bytes());
    }
    bytes
}
