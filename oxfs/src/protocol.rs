//! What client and server say to each other: the structures of `kernel/include/oxfs.h` as Rust sees
//! them. Pure: bytes in, values out. No input makes it panic or allocate more than the input has.

use std::fmt;

/// The version that HELLO carries.
pub const VERSION: u64 = 1;
/// The port of a server that was told none.
pub const PORT: u16 = 5021;
/// Bytes of one name.
pub const NAME_MAX: usize = 255;
/// Bytes of a symbolic link's target.
pub const TARGET_MAX: usize = 4095;
/// Bytes of an extended attribute's value, or of a list of their names.
pub const XATTR_MAX: usize = 65536;
/// Supplementary groups that travel.
pub const GROUPS_MAX: usize = 64;
/// Bytes of a request: structure, groups and names.
pub const REQUEST_MAX: usize = 1024;
/// Bytes of one READ, WRITE or READDIR.
pub const DATA_MAX: usize = 1 << 20;
/// Slots of a session.
pub const SLOTS_MAX: usize = 64;
/// The slot of a request that may be done twice.
pub const NO_SLOT: u32 = u32::MAX;
/// WRITE's offset that means the end of the file.
pub const APPEND: u64 = u64::MAX;

/// Bytes of `struct oxfs_request`.
pub const REQUEST_BYTES: usize = 96;
/// Bytes of `struct oxfs_reply`.
pub const REPLY_BYTES: usize = 184;
/// Bytes of `struct oxfs_entry` before its name.
pub const ENTRY_BYTES: usize = 32;
/// Bytes of `struct oxfs_recall`.
pub const RECALL_BYTES: usize = 16;

const KIND_SHIFT: u32 = 60;
const OPERATION_SHIFT: u32 = 48;
/// The bits of a match that number a transaction.
pub const TRANSACTION_MASK: u64 = (1 << OPERATION_SHIFT) - 1;
/// The bits of a match that say the kind of a message.
pub const KIND_MASK: u64 = 0xf << KIND_SHIFT;

/// HELLO's flag: the client will change nothing.
pub const HELLO_READ_ONLY: u64 = 1;
/// HELLO's answer: the server has the session's opens, locks and replies.
pub const SESSION_KNOWN: u64 = 1;
/// The reply has attributes.
pub const REPLY_ATTR: u32 = 1;
/// The reply has the folder's change numbers.
pub const REPLY_FOLDER: u32 = 2;

/// SETATTR's bits.
pub mod set {
    /// The mode.
    pub const MODE: u64 = 1;
    /// The owner.
    pub const UID: u64 = 2;
    /// The group.
    pub const GID: u64 = 4;
    /// The size.
    pub const SIZE: u64 = 8;
    /// The time of the last access.
    pub const ACCESS: u64 = 16;
    /// The time of the last change of data.
    pub const MODIFIED: u64 = 32;
    /// The time of the last access is the server's now.
    pub const ACCESS_NOW: u64 = 64;
    /// The time of the last change of data is the server's now.
    pub const MODIFIED_NOW: u64 = 128;
}

/// LOCK's bits.
pub mod lock {
    /// The reply may come later.
    pub const WAIT: u64 = 1;
    /// flock: of the open, not of the process.
    pub const WHOLE: u64 = 2;
    /// It was held before the server was started again.
    pub const RECLAIM: u64 = 4;
}

/// RECALL's bits.
pub mod recall {
    /// Write back and forget pages.
    pub const DATA: u32 = 1;
    /// Forget attributes.
    pub const ATTR: u32 = 2;
    /// Forget names below this folder.
    pub const ENTRIES: u32 = 4;
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Client to server.
    Request = 1,
    /// Server to client.
    Reply = 2,
    /// Server to client: bytes that belong to a reply.
    DataIn = 3,
    /// Client to server: bytes that belong to a request.
    DataOut = 4,
    /// Server to client.
    Recall = 5,
    /// Client to server: the answer to a recall.
    Recalled = 6,
}

impl Kind {
    /// The match bits of a message.
    pub fn bits(self, operation: u16, transaction: u64) -> u64 {
        let operation = u64::from(operation & 0xfff) << OPERATION_SHIFT;
        (self as u64) << KIND_SHIFT | operation | transaction & TRANSACTION_MASK
    }
}

macro_rules! operations {
    ($($name:ident = $number:literal, $changes:literal;)*) => {
        /// What a request asks for; `oxfs.h` has their arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the header says what each is")]
        #[repr(u16)]
        pub enum Operation { $($name = $number,)* }

        impl Operation {
            /// All of them.
            pub const ALL: &[Operation] = &[$(Operation::$name,)*];

            /// The operation with this number.
            pub fn from_number(number: u16) -> Option<Operation> {
                match number { $($number => Some(Operation::$name),)* _ => None }
            }

            /// Whether it changes something, so that it must not be done twice.
            pub fn changes(self) -> bool {
                match self { $(Operation::$name => $changes,)* }
            }
        }
    };
}

operations! {
    Hello = 1, false; Goodbye = 2, false; Renew = 3, false; Lookup = 4, false;
    Getattr = 5, false; Setattr = 6, true; Access = 7, false; Create = 8, true;
    Mkdir = 9, true; Mknod = 10, true; Symlink = 11, true; Link = 12, true;
    Unlink = 13, true; Rmdir = 14, true; Rename = 15, true; Readlink = 16, false;
    Open = 17, true; Close = 18, true; Read = 19, false; Write = 20, true;
    Fsync = 21, false; Readdir = 22, false; Statfs = 23, false; Fallocate = 24, true;
    Seek = 25, false; Getxattr = 26, false; Setxattr = 27, true; Listxattr = 28, false;
    Removexattr = 29, true; Lock = 30, true; Testlock = 31, false;
}

/// The operation and the transaction that match bits name.
pub fn named(bits: u64) -> (u16, u64) {
    let operation = (bits >> OPERATION_SHIFT) as u16 & 0xfff;
    (operation, bits & TRANSACTION_MASK)
}

/// A request, with what follows its structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// 0 in the first HELLO.
    pub session: u64,
    /// Of changing operations, or [`NO_SLOT`].
    pub slot: u32,
    /// In its slot, from 1.
    pub sequence: u32,
    /// What it is about.
    pub node: u64,
    /// 0: none.
    pub open: u64,
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// A name.
    pub name: Vec<u8>,
    /// RENAME's second.
    pub name2: Vec<u8>,
    /// As the operation says.
    pub arguments: [u64; 6],
}

/// Why bytes are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the structure.
    #[error("{bytes} bytes are shorter than a request's {REQUEST_BYTES}")]
    Short {
        /// How many there are.
        bytes: usize,
    },
    /// Groups and names are not as long as the structure says.
    #[error("a request of {bytes} bytes says that it has {said}")]
    Length {
        /// How many there are.
        bytes: usize,
        /// How many it says.
        said: usize,
    },
    /// More groups than travel.
    #[error("{groups} groups are more than {GROUPS_MAX}")]
    Groups {
        /// How many.
        groups: usize,
    },
}

/// Reads little-endian values off the front of bytes.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => {
                self.0 = &[];
                [0; N]
            }
        }
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

impl Request {
    /// Reads a request.
    pub fn parse(bytes: &[u8]) -> Result<Request, Malformed> {
        if bytes.len() < REQUEST_BYTES {
            let bytes = bytes.len();
            return Err(Malformed::Short { bytes });
        }
        let mut cursor = Cursor(bytes);
        let mut request = Request {
            session: cursor.u64(),
            slot: cursor.u32(),
            sequence: cursor.u32(),
            node: cursor.u64(),
            open: cursor.u64(),
            uid: cursor.u32(),
            gid: cursor.u32(),
            ..Request::default()
        };
        let groups = usize::from(cursor.u16());
        let (name, name2) = (usize::from(cursor.u16()), usize::from(cursor.u16()));
        let _reserved = cursor.u16();
        for argument in &mut request.arguments {
            *argument = cursor.u64();
        }
        if groups > GROUPS_MAX {
            return Err(Malformed::Groups { groups });
        }
        let said = REQUEST_BYTES + 4 * groups + name + name2;
        if said != bytes.len() {
            let bytes = bytes.len();
            return Err(Malformed::Length { bytes, said });
        }
        request.groups = (0..groups).map(|_| cursor.u32()).collect();
        request.name = cursor.take(name).to_vec();
        request.name2 = cursor.take(name2).to_vec();
        Ok(request)
    }

    /// Writes a request. Groups and names must be within their bounds.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(REQUEST_MAX);
        out.extend(self.session.to_le_bytes());
        out.extend(self.slot.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.node.to_le_bytes());
        out.extend(self.open.to_le_bytes());
        out.extend(self.uid.to_le_bytes());
        out.extend(self.gid.to_le_bytes());
        for length in [self.groups.len(), self.name.len(), self.name2.len(), 0] {
            out.extend((length as u16).to_le_bytes());
        }
        for argument in self.arguments {
            out.extend(argument.to_le_bytes());
        }
        for group in &self.groups {
            out.extend(group.to_le_bytes());
        }
        out.extend(&self.name);
        out.extend(&self.name2);
        out
    }
}

/// A moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Since 1970.
    pub seconds: i64,
    /// Below 10^9.
    pub nanoseconds: u32,
}

/// What a node is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the names are those of stat(2) and of the header"
)]
pub struct Attr {
    pub inode: u64,
    pub size: u64,
    pub blocks: u64,
    pub device: u64,
    pub change: u64,
    pub mode: u32,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub access: Time,
    pub modified: Time,
    pub changed: Time,
}

/// A reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// 0 or an errno.
    pub error: u32,
    /// [`REPLY_ATTR`], [`REPLY_FOLDER`].
    pub flags: u32,
    /// The node that was found or made.
    pub node: u64,
    /// The open that was made.
    pub open: u64,
    /// Of the DATA_IN that comes, too.
    pub data_bytes: u64,
    /// As the operation says.
    pub values: [u64; 6],
    /// Attributes.
    pub attr: Attr,
}

impl Reply {
    /// A reply that is nothing but an errno.
    pub fn failure(error: u32) -> Reply {
        Reply {
            error,
            ..Reply::default()
        }
    }

    /// Writes a reply.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(REPLY_BYTES);
        out.extend(self.error.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        for value in [self.node, self.open, self.data_bytes] {
            out.extend(value.to_le_bytes());
        }
        for value in self.values {
            out.extend(value.to_le_bytes());
        }
        let attr = &self.attr;
        for value in [attr.inode, attr.size, attr.blocks, attr.device, attr.change] {
            out.extend(value.to_le_bytes());
        }
        for value in [attr.mode, attr.links, attr.uid, attr.gid] {
            out.extend(value.to_le_bytes());
        }
        for time in [attr.access, attr.modified, attr.changed] {
            out.extend(time.seconds.to_le_bytes());
            out.extend(time.nanoseconds.to_le_bytes());
            out.extend(0u32.to_le_bytes());
        }
        out
    }

    /// Reads a reply; `None` if it has another length.
    pub fn parse(bytes: &[u8]) -> Option<Reply> {
        if bytes.len() != REPLY_BYTES {
            return None;
        }
        let mut cursor = Cursor(bytes);
        let mut reply = Reply {
            error: cursor.u32(),
            flags: cursor.u32(),
            node: cursor.u64(),
            open: cursor.u64(),
            data_bytes: cursor.u64(),
            ..Reply::default()
        };
        for value in &mut reply.values {
            *value = cursor.u64();
        }
        let mut attr = Attr {
            inode: cursor.u64(),
            size: cursor.u64(),
            blocks: cursor.u64(),
            device: cursor.u64(),
            change: cursor.u64(),
            mode: cursor.u32(),
            links: cursor.u32(),
            uid: cursor.u32(),
            gid: cursor.u32(),
            ..Attr::default()
        };
        for time in [&mut attr.access, &mut attr.modified, &mut attr.changed] {
            time.seconds = cursor.u64() as i64;
            time.nanoseconds = cursor.u32();
            cursor.u32();
        }
        reply.attr = attr;
        Some(reply)
    }
}

/// An entry of a folder.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// 0: look it up.
    pub node: u64,
    /// As programs see it.
    pub inode: u64,
    /// Where the next one is.
    pub cookie: u64,
    /// DT_ of Linux.
    pub kind: u8,
    /// Its name.
    pub name: Vec<u8>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_ascii();
        write!(f, "{name} ({}, inode {})", self.kind, self.inode)
    }
}

impl Entry {
    /// Bytes that it takes: a multiple of 8.
    pub fn bytes(&self) -> usize {
        (ENTRY_BYTES + self.name.len()).next_multiple_of(8)
    }

    /// Appends it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.bytes();
        for value in [self.node, self.inode, self.cookie] {
            out.extend(value.to_le_bytes());
        }
        out.extend((self.name.len() as u16).to_le_bytes());
        out.push(self.kind);
        out.extend([0; 5]);
        out.extend(&self.name);
        out.resize(end, 0);
    }

    /// Reads the entries of a READDIR; what is cut off at the end is not one.
    pub fn parse_all(mut bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        while bytes.len() >= ENTRY_BYTES {
            let mut cursor = Cursor(bytes);
            let (node, inode, cookie) = (cursor.u64(), cursor.u64(), cursor.u64());
            let length = usize::from(cursor.u16());
            let kind = cursor.bytes::<6>()[0];
            let name = cursor.take(length);
            if name.len() != length {
                break;
            }
            let entry = Entry {
                node,
                inode,
                cookie,
                kind,
                name: name.to_vec(),
            };
            bytes = bytes.get(entry.bytes()..).unwrap_or(&[]);
            entries.push(entry);
        }
        entries
    }
}

/// A recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recall {
    /// What changes.
    pub node: u64,
    /// What to forget of it.
    pub what: u32,
}

impl Recall {
    /// Writes it.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = self.node.to_le_bytes().to_vec();
        out.extend(self.what.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out
    }

    /// Reads one; `None` if it has another length.
    pub fn parse(bytes: &[u8]) -> Option<Recall> {
        if bytes.len() != RECALL_BYTES {
            return None;
        }
        let mut cursor = Cursor(bytes);
        let (node, what) = (cursor.u64(), cursor.u32());
        Some(Recall { node, what })
    }
}
