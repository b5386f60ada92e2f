//! Paths, and what can be done at their ends: the operations of the protocol as methods.

use std::path::PathBuf;

use super::session::{Client, ClientError, Extra};
use crate::protocol::{APPEND, Attr, DATA_MAX, Entry, Operation, Reply, Request, TARGET_MAX, set};

/// Links that one path may go through.
const LINKS_MAX: usize = 40;

/// Why something was not done at a server.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No reply.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server's errno.
    #[error("{what}: {}", std::io::Error::from_raw_os_error(*errno as i32))]
    Server {
        /// What was asked for, and of what.
        what: String,
        /// Its errno.
        errno: u32,
    },
    /// Something on this host.
    #[error("{}: {error}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A word that cannot be understood, or a wish that cannot be fulfilled.
    #[error("{0}")]
    Wish(String),
}

/// A file or folder that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its number.
    pub node: u64,
    /// What it is like.
    pub attr: Attr,
}

impl Found {
    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.attr.mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.attr.mode & libc::S_IFMT == libc::S_IFLNK
    }
}

/// A client with the operations as methods.
pub struct Remote {
    /// The session.
    pub client: Client,
}

fn request(node: u64, name: &[u8], arguments: [u64; 6]) -> Request {
    Request {
        node,
        name: name.to_vec(),
        arguments,
        ..Request::default()
    }
}

/// Leading arguments, and zeros.
fn arguments<const N: usize>(given: [u64; N]) -> [u64; 6] {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&given);
    all
}

impl Remote {
    /// Makes a request; an errno is an error that names `what`.
    pub fn ask(
        &self,
        operation: Operation,
        request: Request,
        extra: Extra,
        what: &[u8],
    ) -> Result<(Reply, Vec<u8>), RemoteError> {
        let (reply, data) = self.client.call(operation, request, extra)?;
        match reply.error {
            0 => Ok((reply, data)),
            errno => Err(RemoteError::Server {
                what: String::from_utf8_lossy(what).into_owned(),
                errno,
            }),
        }
    }

    fn simple(
        &self,
        operation: Operation,
        request: Request,
        what: &[u8],
    ) -> Result<Reply, RemoteError> {
        let (reply, _) = self.ask(operation, request, Extra::NONE, what)?;
        Ok(reply)
    }

    /// The exported folder.
    pub fn root(&self) -> Found {
        let root = self.client.root();
        Found {
            node: root.node,
            attr: root.attr,
        }
    }

    /// A name in a folder.
    pub fn lookup(&self, folder: u64, name: &[u8]) -> Result<Found, RemoteError> {
        let reply = self.simple(Operation::Lookup, request(folder, name, [0; 6]), name)?;
        let Reply { node, attr, .. } = reply;
        Ok(Found { node, attr })
    }

    /// What is at the end of a path; a link there itself, unless it is to be followed. Targets of
    /// links are paths of the server's folder.
    pub fn find(&self, path: &[u8], follow: bool) -> Result<Found, RemoteError> {
        let mut left: Vec<Vec<u8>> = parts(path);
        left.reverse();
        let mut above = vec![self.root()];
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == b".." {
                if above.len() > 1 {
                    above.pop();
                }
                continue;
            }
            let folder = above.last().copied().unwrap_or_else(|| self.root());
            let found = self
                .lookup(folder.node, &name)
                .map_err(|error| named(error, path))?;
            if found.is_link() && (follow || !left.is_empty()) {
                links += 1;
                if links > LINKS_MAX {
                    return Err(RemoteError::Server {
                        what: String::from_utf8_lossy(path).into_owned(),
                        errno: libc::ELOOP as u32,
                    });
                }
                let target = self.readlink(found.node)?;
                if target.first() == Some(&b'/') {
                    above.truncate(1);
                }
                left.extend(parts(&target).into_iter().rev());
                continue;
            }
            above.push(found);
        }
        Ok(above.pop().unwrap_or_else(|| self.root()))
    }

    /// The folder of a path's last name, and that name.
    pub fn find_folder(&self, path: &[u8]) -> Result<(Found, Vec<u8>), RemoteError> {
        let mut names = parts(path);
        let Some(last) = names.pop().filter(|last| last != b"..") else {
            let path = String::from_utf8_lossy(path);
            return Err(RemoteError::Wish(format!(
                "'{path}' does not end with a name"
            )));
        };
        let folder = self.find(&names.join(&b'/'), true)?;
        match folder.is_folder() {
            true => Ok((folder, last)),
            false => Err(RemoteError::Server {
                what: String::from_utf8_lossy(path).into_owned(),
                errno: libc::ENOTDIR as u32,
            }),
        }
    }

    /// What a node is like now.
    pub fn getattr(&self, node: u64) -> Result<Found, RemoteError> {
        let asked = request(node, b"", [0; 6]);
        let Reply { node, attr, .. } = self.simple(Operation::Getattr, asked, b"getattr")?;
        Ok(Found { node, attr })
    }

    /// The target of a link.
    pub fn readlink(&self, node: u64) -> Result<Vec<u8>, RemoteError> {
        let extra = Extra {
            data: Vec::new(),
            room: TARGET_MAX + 1,
        };
        let asked = request(node, b"", [0; 6]);
        let (_, target) = self.ask(Operation::Readlink, asked, extra, b"readlink")?;
        Ok(target)
    }

    /// All names of a folder, in the server's order.
    pub fn entries(&self, folder: u64) -> Result<Vec<Entry>, RemoteError> {
        let (mut all, mut cookie) = (Vec::new(), 0);
        loop {
            let room = 256 << 10;
            let asked = request(folder, b"", arguments([cookie, room as u64]));
            let extra = Extra {
                data: Vec::new(),
                room,
            };
            let (reply, data) = self.ask(Operation::Readdir, asked, extra, b"readdir")?;
            all.extend(Entry::parse_all(&data));
            cookie = reply.values[1];
            if reply.values[0] == 1 {
                return Ok(all);
            }
        }
    }

    /// Makes or opens a file; its number for [`Remote::write`] and [`Client::close`].
    pub fn create(
        &self,
        folder: u64,
        name: &[u8],
        mode: u32,
        flags: i32,
    ) -> Result<(Found, u64), RemoteError> {
        let asked = request(folder, name, arguments([mode.into(), flags as u64]));
        let reply = self.simple(Operation::Create, asked, name)?;
        let Reply {
            node, attr, open, ..
        } = reply;
        let number = self.client.keep_open(open, node, flags as u64);
        Ok((Found { node, attr }, number))
    }

    /// Opens a node.
    pub fn open(&self, node: u64, flags: i32) -> Result<u64, RemoteError> {
        let asked = request(node, b"", arguments([flags as u64]));
        let reply = self.simple(Operation::Open, asked, b"open")?;
        Ok(self.client.keep_open(reply.open, node, flags as u64))
    }

    /// Reads bytes; fewer at the end of the file.
    pub fn read(
        &self,
        node: u64,
        open: u64,
        offset: u64,
        bytes: usize,
    ) -> Result<Vec<u8>, RemoteError> {
        let room = bytes.min(DATA_MAX);
        let mut asked = request(node, b"", arguments([offset, room as u64]));
        asked.open = open;
        let extra = Extra {
            data: Vec::new(),
            room,
        };
        Ok(self.ask(Operation::Read, asked, extra, b"read")?.1)
    }

    /// Writes bytes; how many were.
    pub fn write(
        &self,
        node: u64,
        open: u64,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<u64, RemoteError> {
        let mut asked = request(node, b"", arguments([offset, data.len() as u64]));
        asked.open = open;
        let extra = Extra { data, room: 0 };
        let (reply, _) = self.ask(Operation::Write, asked, extra, b"write")?;
        Ok(reply.values[0])
    }

    /// Writes bytes at the end.
    pub fn append(&self, node: u64, open: u64, data: Vec<u8>) -> Result<u64, RemoteError> {
        self.write(node, open, APPEND, data)
    }

    /// Has a file on stable storage.
    pub fn fsync(&self, node: u64, open: u64) -> Result<(), RemoteError> {
        let mut asked = request(node, b"", [0; 6]);
        asked.open = open;
        self.simple(Operation::Fsync, asked, b"fsync").map(|_| ())
    }

    /// Makes a folder.
    pub fn mkdir(&self, folder: u64, name: &[u8], mode: u32) -> Result<Found, RemoteError> {
        let asked = request(folder, name, arguments([mode.into()]));
        let Reply { node, attr, .. } = self.simple(Operation::Mkdir, asked, name)?;
        Ok(Found { node, attr })
    }

    /// Makes a symbolic link.
    pub fn symlink(&self, folder: u64, name: &[u8], target: &[u8]) -> Result<Found, RemoteError> {
        let asked = request(folder, name, arguments([target.len() as u64]));
        let extra = Extra {
            data: target.to_vec(),
            room: 0,
        };
        let (reply, _) = self.ask(Operation::Symlink, asked, extra, name)?;
        let Reply { node, attr, .. } = reply;
        Ok(Found { node, attr })
    }

    /// Gives a node one more name.
    pub fn link(&self, folder: u64, name: &[u8], node: u64) -> Result<(), RemoteError> {
        let asked = request(folder, name, arguments([node]));
        self.simple(Operation::Link, asked, name).map(|_| ())
    }

    /// Removes a name, of a folder if so.
    pub fn remove(&self, folder: u64, name: &[u8], is_folder: bool) -> Result<(), RemoteError> {
        let operation = match is_folder {
            true => Operation::Rmdir,
            false => Operation::Unlink,
        };
        let asked = request(folder, name, [0; 6]);
        self.simple(operation, asked, name).map(|_| ())
    }

    /// Moves a name.
    pub fn rename(
        &self,
        folder: u64,
        name: &[u8],
        folder2: u64,
        name2: &[u8],
        flags: u32,
    ) -> Result<(), RemoteError> {
        let mut asked = request(folder, name, arguments([folder2, flags.into()]));
        asked.name2 = name2.to_vec();
        self.simple(Operation::Rename, asked, name).map(|_| ())
    }

    /// Sets the permission bits.
    pub fn chmod(&self, node: u64, mode: u32) -> Result<(), RemoteError> {
        let asked = request(node, b"", arguments([set::MODE, mode.into()]));
        self.simple(Operation::Setattr, asked, b"chmod").map(|_| ())
    }

    /// Cuts or extends a file.
    pub fn truncate(&self, node: u64, size: u64) -> Result<(), RemoteError> {
        let asked = request(node, b"", arguments([set::SIZE, 0, 0, size]));
        self.simple(Operation::Setattr, asked, b"truncate")
            .map(|_| ())
    }
}

/// The names of a path, without empty ones and dots.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    let names = path.split(|&byte| byte == b'/');
    let names = names.filter(|name| !name.is_empty() && name != b".");
    names.map(<[u8]>::to_vec).collect()
}

/// The error of a path rather than of the name where it ended.
fn named(error: RemoteError, path: &[u8]) -> RemoteError {
    match error {
        RemoteError::Server { errno, .. } => RemoteError::Server {
            what: String::from_utf8_lossy(path).into_owned(),
            errno,
        },
        error => error,
    }
}
