//! Nodes: numbers for files and folders that stay the same while the server is stopped and started.
//!
//! A node is an identity (device, inode, time of birth) and the names under which it was seen. It is
//! found again by its names, and what is found is compared with the identity: another file under the
//! name is another node, and a node that is under none of its names is stale. Descriptors of places
//! are kept for the nodes that were used last.
//!
//! The table is written to a log in the state folder, without a sync for each record: a killed
//! server loses nothing of it. `NodeLog` has the records.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::node_log::{NodeLog, Record};
use crate::sys::{self, Errno, Stat, Sys};

/// The exported folder.
pub(crate) const ROOT: u64 = 1;
/// The folder for files that were removed while they were open. No client sees this number.
pub(crate) const ASIDE: u64 = u64::MAX;

/// Nodes at most: some 150 bytes each, 600 MB.
const NODES_MAX: usize = 1 << 22;
/// Names of one node that are remembered; with more hard links the oldest are forgotten.
const NAMES_MAX: usize = 16;
/// Folders above a node at most, so that a damaged table ends in ESTALE and not in a loop.
const DEPTH_MAX: usize = 4096;

/// What makes a file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub device: u64,
    pub inode: u64,
    pub born: u64,
}

impl Identity {
    pub(crate) const NONE: Identity = Identity {
        device: 0,
        inode: 0,
        born: 0,
    };

    pub(crate) fn of(stat: &Stat) -> Identity {
        Identity {
            device: stat.device,
            inode: stat.inode,
            born: stat.born,
        }
    }
}

/// What a node was like at some time.
pub(crate) struct Look {
    pub stat: Stat,
    /// The change number.
    pub change: u64,
}

struct Node {
    identity: Identity,
    names: Vec<(u64, Box<[u8]>)>,
    /// Changes that were made through this server; part of the change number.
    changes: u64,
    place: Option<Arc<OwnedFd>>,
    /// Used since the hand of the clock was here.
    recent: bool,
    /// Opens of all sessions.
    opens: u32,
}

struct Table {
    nodes: HashMap<u64, Node>,
    by_identity: HashMap<Identity, u64>,
    next: u64,
    log: NodeLog,
    /// Nodes with a place, in the order in which they got it.
    placed: VecDeque<u64>,
}

/// All nodes of a server.
pub(crate) struct Nodes {
    table: Mutex<Table>,
    root: Arc<OwnedFd>,
    aside: Option<Arc<OwnedFd>>,
    places_max: usize,
}

const ESTALE: Errno = libc::ESTALE as Errno;

impl Nodes {
    /// Reads the table, or begins one.
    pub(crate) fn open(
        root: Arc<OwnedFd>,
        aside: Option<Arc<OwnedFd>>,
        state: &std::path::Path,
        places_max: usize,
    ) -> io::Result<Nodes> {
        let system = |error: Errno| io::Error::from_raw_os_error(error as i32);
        let found = sys::stat(&root).map_err(system)?;
        let (log, records) = NodeLog::open(state, found.device)?;
        let mut table = Table {
            nodes: HashMap::new(),
            by_identity: HashMap::new(),
            next: ROOT + 1,
            log,
            placed: VecDeque::new(),
        };
        for record in records {
            table.apply(record);
        }
        table.insert(ROOT, Identity::of(&found));
        if let Some(root_node) = table.nodes.get_mut(&ROOT) {
            root_node.place = Some(root.clone());
        }
        table.compact()?;
        Ok(Nodes {
            table: Mutex::new(table),
            root,
            aside,
            places_max,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log is on stable storage.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let file: Option<File> = self.lock().log.take_dirty()?;
        file.map_or(Ok(()), |file| file.sync_data())
    }

    /// The number of what was found under a name.
    pub(crate) fn known(&self, stat: &Stat, parent: u64, name: &[u8]) -> Sys<u64> {
        self.lock().known(Identity::of(stat), parent, name)
    }

    /// As [`Nodes::known`]; the place is kept for the next use.
    pub(crate) fn known_at(
        &self,
        stat: &Stat,
        parent: u64,
        name: &[u8],
        place: OwnedFd,
    ) -> Sys<(u64, Arc<OwnedFd>)> {
        let place = Arc::new(place);
        let mut table = self.lock();
        let node = table.known(Identity::of(stat), parent, name)?;
        table.keep_place(node, place.clone(), self.places_max);
        Ok((node, place))
    }

    /// The number of an identity, if it has one.
    pub(crate) fn find(&self, identity: Identity) -> Option<u64> {
        self.lock().by_identity.get(&identity).copied()
    }

    /// The descriptor of a node's place. The caller acts as the server.
    pub(crate) fn place(&self, node: u64) -> Sys<Arc<OwnedFd>> {
        self.place_below(node, 0)
    }

    fn place_below(&self, node: u64, depth: usize) -> Sys<Arc<OwnedFd>> {
        match node {
            ROOT => return Ok(self.root.clone()),
            ASIDE => return self.aside.clone().ok_or(ESTALE),
            _ => {}
        }
        let (identity, names) = {
            let mut table = self.lock();
            let found = table.nodes.get_mut(&node).ok_or(ESTALE)?;
            found.recent = true;
            if let Some(place) = &found.place {
                return Ok(place.clone());
            }
            (found.identity, found.names.clone())
        };
        if depth > DEPTH_MAX {
            return Err(ESTALE);
        }
        for (parent, name) in names.iter().rev() {
            let Ok(folder) = self.place_below(*parent, depth + 1) else {
                continue;
            };
            let Ok(place) = sys::place_at(&folder, name) else {
                continue;
            };
            if sys::stat(&place).is_ok_and(|stat| Identity::of(&stat) == identity) {
                let place = Arc::new(place);
                let mut table = self.lock();
                table.keep_place(node, place.clone(), self.places_max);
                return Ok(place);
            }
        }
        Err(ESTALE)
    }

    /// A name is gone. A node without names stays while it is open.
    pub(crate) fn unnamed(&self, node: u64, parent: u64, name: &[u8]) {
        self.lock().unname(node, parent, name);
    }

    /// A node has one more name.
    pub(crate) fn named(&self, node: u64, parent: u64, name: &[u8]) {
        self.lock().name(node, parent, name);
    }

    /// Whether a node has a name besides this one.
    pub(crate) fn has_other_name(&self, node: u64, parent: u64, name: &[u8]) -> bool {
        let table = self.lock();
        let other = |(folder, other): &(u64, Box<[u8]>)| *folder != parent || **other != *name;
        let found = table.nodes.get(&node);
        found.is_some_and(|node| node.names.iter().any(other))
    }

    /// Whether the only name that is left is one in the folder of removed files.
    pub(crate) fn is_aside(&self, node: u64) -> bool {
        let table = self.lock();
        let found = table.nodes.get(&node);
        found.is_some_and(|node| node.names.iter().any(|(parent, _)| *parent == ASIDE))
    }

    /// Nothing is left of it.
    pub(crate) fn gone(&self, node: u64) {
        let mut table = self.lock();
        if node != ROOT && table.nodes.get(&node).is_some_and(|node| node.opens == 0) {
            table.remove(node);
            table.log.append(&Record::Gone { node });
        }
    }

    /// The place no longer stands for the node's name.
    pub(crate) fn forget_place(&self, node: u64) {
        if let Some(node) = self.lock().nodes.get_mut(&node) {
            node.place = None;
        }
    }

    /// Counts a change; the change number differs from now on.
    pub(crate) fn changed(&self, node: u64) {
        if let Some(node) = self.lock().nodes.get_mut(&node) {
            node.changes += 1;
        }
    }

    /// What a node is like, by a descriptor of it. Changes are counted when they have been made, and
    /// read before statx: of two looks, one with the higher change number is not the older one.
    pub(crate) fn look(&self, node: u64, fd: &impl AsFd) -> Sys<Look> {
        let changes = self.lock().nodes.get(&node).map_or(0, |node| node.changes);
        let stat = sys::stat(fd)?;
        let change = (sys::nanoseconds(stat.changed) as u64).wrapping_add(changes);
        Ok(Look { stat, change })
    }

    /// One more open.
    pub(crate) fn opened(&self, node: u64) {
        if let Some(node) = self.lock().nodes.get_mut(&node) {
            node.opens += 1;
        }
    }

    /// One open less; how many are left.
    pub(crate) fn closed(&self, node: u64) -> u32 {
        match self.lock().nodes.get_mut(&node) {
            None => 0,
            Some(node) => {
                node.opens = node.opens.saturating_sub(1);
                node.opens
            }
        }
    }

    pub(crate) fn is_open(&self, node: u64) -> bool {
        let table = self.lock();
        table.nodes.get(&node).is_some_and(|node| node.opens > 0)
    }
}

impl Table {
    fn apply(&mut self, record: Record) {
        match record {
            Record::Node { node, identity } => {
                self.next = self.next.max(node.saturating_add(1));
                self.insert(node, identity);
            }
            Record::Name { node, parent, name } => {
                if let Some(found) = self.nodes.get_mut(&node) {
                    found
                        .names
                        .retain(|(at, had)| *at != parent || *had != name);
                    found.names.push((parent, name));
                }
            }
            Record::Unname { node, parent, name } => {
                if let Some(found) = self.nodes.get_mut(&node) {
                    found
                        .names
                        .retain(|(at, had)| *at != parent || *had != name);
                }
            }
            Record::Gone { node } => self.remove(node),
        }
    }

    fn insert(&mut self, node: u64, identity: Identity) {
        self.by_identity.insert(identity, node);
        let fresh = Node {
            identity,
            names: Vec::new(),
            changes: 0,
            place: None,
            recent: false,
            opens: 0,
        };
        self.nodes.insert(node, fresh);
    }

    fn remove(&mut self, node: u64) {
        if let Some(found) = self.nodes.remove(&node)
            && self.by_identity.get(&found.identity) == Some(&node)
        {
            self.by_identity.remove(&found.identity);
        }
    }

    fn known(&mut self, identity: Identity, parent: u64, name: &[u8]) -> Sys<u64> {
        let node = match self.by_identity.get(&identity) {
            Some(&node) => node,
            None => {
                if self.nodes.len() >= NODES_MAX {
                    return Err(libc::ENFILE as Errno);
                }
                let node = self.next;
                self.next += 1;
                self.insert(node, identity);
                self.log.append(&Record::Node { node, identity });
                node
            }
        };
        self.name(node, parent, name);
        Ok(node)
    }

    fn name(&mut self, node: u64, parent: u64, name: &[u8]) {
        let Some(found) = self.nodes.get_mut(&node) else {
            return;
        };
        let same = |(at, had): &(u64, Box<[u8]>)| *at == parent && **had == *name;
        if node == ROOT || found.names.iter().any(same) {
            return;
        }
        if found.names.len() >= NAMES_MAX {
            found.names.remove(0);
        }
        let name: Box<[u8]> = name.into();
        found.names.push((parent, name.clone()));
        self.log.append(&Record::Name { node, parent, name });
        self.compact_if_long();
    }

    fn unname(&mut self, node: u64, parent: u64, name: &[u8]) {
        let Some(found) = self.nodes.get_mut(&node) else {
            return;
        };
        found
            .names
            .retain(|(at, had)| *at != parent || **had != *name);
        let name: Box<[u8]> = name.into();
        self.log.append(&Record::Unname { node, parent, name });
    }

    fn keep_place(&mut self, node: u64, place: Arc<OwnedFd>, most: usize) {
        let Some(found) = self.nodes.get_mut(&node) else {
            return;
        };
        found.recent = true;
        if found.place.replace(place).is_none() {
            self.placed.push_back(node);
        }
        // A clock: what was used since its hand came by stays for another round.
        while self.placed.len() > most {
            let Some(oldest) = self.placed.pop_front() else {
                return;
            };
            if let Some(node) = self.nodes.get_mut(&oldest) {
                if std::mem::take(&mut node.recent) && oldest != ROOT {
                    self.placed.push_back(oldest);
                } else {
                    node.place = None;
                }
            }
        }
    }

    fn compact_if_long(&mut self) {
        if self.log.is_long(self.nodes.len()) {
            // The log goes on as it was if there is no room for a new one.
            let _ = self.compact();
        }
    }

    fn compact(&mut self) -> io::Result<()> {
        let nodes = self.nodes.iter().flat_map(|(&node, found)| {
            let identity = found.identity;
            let names = found.names.iter().map(move |(parent, name)| Record::Name {
                node,
                parent: *parent,
                name: name.clone(),
            });
            std::iter::once(Record::Node { node, identity }).chain(names)
        });
        self.log.replace(nodes)
    }
}
