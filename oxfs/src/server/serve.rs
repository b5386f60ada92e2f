//! Starting a server: the export, the state folder, what an earlier server has left, the listener.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxmpi_oxk::Listener;

use super::identity::{self, Policy};
use super::link::Link;
use super::nodes::{Identity, Nodes};
use super::options::Options;
use super::pool::Pool;
use super::session::{Begun, Session};
use super::slots::SlotFile;
use super::{RECLAIM_LEASES_MAX, Server, locked};
use crate::key::{self, KeyFileError};
use crate::sys;

/// The state folder of a server that was told none.
const STATE: &str = ".oxfs";
/// Threads that do requests at once: some of them wait for the disk.
const THREADS: usize = 8;
/// Descriptors of places that are kept, if the system permits that many.
const PLACES_MAX: u64 = 32768;
/// Connections at most; each has a thread and an endpoint of 1 MiB.
const LINKS_MAX: usize = 256;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The export cannot be used.
    #[error("cannot export {}: {error}", path.display())]
    Export {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The state folder cannot be used.
    #[error(
        "state folder {}: {error}; it must be a folder that this user can write, name another with --state",
        path.display()
    )]
    State {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another server has it.
    #[error(
        "another server uses the state folder {}: stop it, or name another with --state",
        path.display()
    )]
    Running {
        /// The folder.
        path: PathBuf,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}; choose another with --listen ADDRESS:PORT")]
    Listen {
        /// Where.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// No key.
    #[error(transparent)]
    Key(#[from] KeyFileError),
}

fn system(error: sys::Errno) -> io::Error {
    io::Error::from_raw_os_error(error as i32)
}

/// A folder as a place.
fn folder(path: &Path) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let options = options.read(true);
    let file = options
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(path)?;
    Ok(file.into())
}

/// Makes a folder that only its owner sees, unless it is there.
fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

/// A number that names the boot of this machine.
fn boot() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(16)
        .collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

/// Which start of a server on this state folder this is, from 1.
fn incarnation(state: &Path) -> io::Result<u64> {
    let path = state.join("incarnation");
    let last = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        last => last?.trim().parse().unwrap_or(0),
    };
    let fresh = state.join("incarnation.new");
    std::fs::write(&fresh, format!("{}\n", last + 1))?;
    std::fs::rename(&fresh, &path)?;
    Ok(last + 1)
}

/// A server that runs until the value is dropped.
pub(crate) struct Running {
    pub listener: Listener,
    server: Arc<Server>,
    /// Locks the state folder.
    _locked: std::fs::File,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.pool.end();
        locked(&self.server.links).clear();
    }
}

/// Serves until the process ends; prints where.
pub fn serve(options: &Options) -> Result<(), ServeError> {
    let running = start(options)?;
    println!(
        "serving {} at {} (key file {})",
        options.folder.display(),
        running.listener.address(),
        options.key_file.display()
    );
    loop {
        std::thread::park();
    }
}

/// Starts a server.
pub(crate) fn start(options: &Options) -> Result<Running, ServeError> {
    let export = |error| ServeError::Export {
        path: options.folder.clone(),
        error,
    };
    let root = Arc::new(folder(&options.folder).map_err(export)?);
    let path = options.state.clone();
    let path = path.unwrap_or_else(|| options.folder.join(STATE));
    let failed = |error| ServeError::State {
        path: path.clone(),
        error,
    };
    private_folder(&path).map_err(failed)?;
    // By its descriptor: a client may rename a folder above it.
    let state_fd = folder(&path).map_err(failed)?;
    let state = PathBuf::from(format!("/proc/self/fd/{}", state_fd.as_raw_fd()));
    let lock = std::fs::File::create(state.join("lock")).map_err(failed)?;
    if lock.try_lock().is_err() {
        return Err(ServeError::Running { path });
    }
    let key = key::read_or_make(&options.key_file)?;
    sys::no_umask();
    let descriptors = sys::raise_descriptors();
    for name in ["sessions", "aside"] {
        private_folder(&state.join(name)).map_err(failed)?;
    }
    let aside = Arc::new(folder(&state.join("aside")).map_err(failed)?);
    let incarnation = incarnation(&state).map_err(failed)?;
    let hidden = sys::stat(&state_fd).map_err(|error| failed(system(error)))?;
    let places = (descriptors / 4).min(PLACES_MAX) as usize;
    let nodes = Nodes::open(root, Some(aside.clone()), &state, places).map_err(failed)?;
    let policy = Policy::of_process(options.root_squash);
    let begin = if policy.root {
        identity::begin_worker
    } else {
        || ()
    };
    let server = Arc::new(Server {
        policy,
        read_only: options.read_only,
        lease: options.lease,
        pool: Pool::start(THREADS, begin),
        nodes,
        hidden: Some(Identity::of(&hidden)),
        aside: Some(aside),
        sessions_folder: state.join("sessions"),
        sessions: Mutex::new(HashMap::new()),
        links: Mutex::new(HashMap::new()),
        folders: std::array::from_fn(|_| Mutex::new(())),
        locks: Mutex::default(),
        waiting: Mutex::default(),
        interests: Mutex::default(),
        // An answer to a recall of an earlier server is none to one of this.
        recall_numbers: AtomicU64::new(incarnation << 40 | 1),
        open_numbers: AtomicU64::new(incarnation << 40 | 1),
        boot: boot(),
        grace_until: Mutex::new(None),
        reclaim_until: Mutex::new(Instant::now() + options.lease),
        reclaim_end: Instant::now() + RECLAIM_LEASES_MAX * options.lease,
        _state: state_fd,
    });
    server.take_over().map_err(failed)?;
    let (accepting, numbers) = (Arc::downgrade(&server), AtomicU64::new(1));
    let accepted = move |connection| {
        let Some(server) = accepting.upgrade() else {
            return;
        };
        if locked(&server.links).len() >= LINKS_MAX {
            return;
        }
        let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if let Err(error) = Link::begin(&server, number, connection) {
            eprintln!("oxmpi fs: a client was turned away: {error}");
        }
    };
    let listener = Listener::start(&options.listen, &key, accepted);
    let listener = listener.map_err(|error| ServeError::Listen {
        address: options.listen.clone(),
        error,
    })?;
    let watched = Arc::downgrade(&server);
    let every = (options.lease / 4).clamp(Duration::from_millis(20), Duration::from_secs(1));
    std::thread::spawn(move || {
        let mut last = Instant::now();
        loop {
            std::thread::sleep(every);
            let now = Instant::now();
            let deaf = now.duration_since(last).saturating_sub(every);
            last = now;
            match watched.upgrade() {
                Some(server) => server.tick(deaf),
                None => return,
            }
        }
    });
    Ok(Running {
        listener,
        server,
        _locked: lock,
    })
}

impl Server {
    /// Takes over the sessions of an earlier server.
    fn take_over(self: &Arc<Server>) -> io::Result<()> {
        let mut all: Vec<(Arc<Session>, Vec<Begun>)> = Vec::new();
        let mut locks_held = false;
        for entry in std::fs::read_dir(&self.sessions_folder)? {
            let Some((file, head)) = SlotFile::open(entry?.path())? else {
                continue;
            };
            let (session, begun, locks) = Session::recover(file, head);
            locks_held |= locks;
            all.push((Arc::new(session), begun));
        }
        for (session, _) in &all {
            for kept in session.lock().reclaimable.values() {
                self.nodes.opened(kept.node);
            }
        }
        for (session, begun) in all {
            locked(&self.sessions).insert(session.id, session.clone());
            for begun in &begun {
                self.recover(&session, begun);
            }
        }
        if locks_held {
            *locked(&self.grace_until) = Some(*locked(&self.reclaim_until));
        }
        self.sweep_aside();
        Ok(())
    }

    /// A client has taken something back: it may have more, however long that takes.
    pub(super) fn reclaimed(&self) {
        let longer = (Instant::now() + self.lease / 2).min(self.reclaim_end);
        let mut until = locked(&self.reclaim_until);
        *until = longer.max(*until);
        drop(until);
        if let Some(until) = locked(&self.grace_until).as_mut() {
            *until = longer.max(*until);
        }
    }

    /// Looks after what has a time: leases, the end of reclaiming, the log of nodes. It comes late
    /// by the time for which the process, or its machine, stood still (`deaf`): what clients have
    /// sent meanwhile has not been read yet, so all times are moved by that much.
    fn tick(&self, deaf: Duration) {
        let reclaim_until = {
            let mut until = locked(&self.reclaim_until);
            *until += deaf;
            *until
        };
        if let Some(until) = locked(&self.grace_until).as_mut() {
            *until += deaf;
        }
        let sessions: Vec<Arc<Session>> = locked(&self.sessions).values().cloned().collect();
        for session in sessions {
            let known = session.lock().known;
            if session.silence(deaf) > self.lease {
                self.end_session(&session);
            } else if known && Instant::now() > reclaim_until {
                let left = std::mem::take(&mut session.lock().reclaimable);
                for kept in left.into_values() {
                    session.give_place(kept.place);
                    self.node_closed(kept.node);
                }
            }
        }
        let _ = self.nodes.sync();
    }
}
