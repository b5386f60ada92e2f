//! Answers that overtake each other: a server that holds them back, and lets them go in the order
//! that a case wants.
//!
//! It has a folder with one file, says about the file what it is told to, and runs in threads of
//! the case's own process.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxmpi_oxfs::protocol::{
    Attr, KIND_MASK, Kind, Operation, REPLY_ATTR, Recall, Reply, Request, named, recall, set,
};
use oxmpi_oxk::{Bounds, Completed, Endpoint, Handlers, Listener, PeerToken};

use super::{Case, Outcome, equal, good, refused};
use crate::sys;
use crate::world::{MOUNTS, mount_from, within};

pub const CASES: &[Case] = &[
    Case {
        name: "overtaken",
        time_s: 60,
        run: overtaken,
    },
    Case {
        name: "overtaken-change",
        time_s: 60,
        run: overtaken_change,
    },
    Case {
        name: "overtaken-recall",
        time_s: 60,
        run: overtaken_recall,
    },
    Case {
        name: "overtaken-own",
        time_s: 60,
        run: overtaken_own,
    },
    Case {
        name: "overtaken-cut",
        time_s: 60,
        run: overtaken_cut,
    },
    Case {
        name: "overtaken-open",
        time_s: 60,
        run: overtaken_open,
    },
    Case {
        name: "overtaken-lock",
        time_s: 60,
        run: overtaken_lock,
    },
];

const PORT: u16 = 5098;
const ROOT: u64 = 1;
const FILE: u64 = 2;
const WAIT: Duration = Duration::from_secs(20);

/// An answer that is ready, and not sent.
type Held = (Operation, Box<dyn FnOnce() + Send>);

#[derive(Default)]
pub(super) struct Script {
    /// The file's size and change number, as they are answered from now on.
    size: u64,
    change: u64,
    /// The folder's change number.
    names: u64,
    /// Answers about the file are held back, as they are at the time of their question.
    holding: bool,
    /// If there is one, answers to this are held back instead.
    pub(super) only: Option<Operation>,
    held: VecDeque<Held>,
    /// Questions about the file so far.
    asked: u64,
    /// Opens so far.
    opened: u64,
    /// Locks that were let go of so far.
    pub(super) unlocked: u64,
    /// Questions for the file's attributes are refused.
    refusing: bool,
    /// Operations that were asked for so far.
    asked_for: Vec<Operation>,
    /// The next of these is not answered: its connection ends instead.
    cutting: Option<Operation>,
    /// How often the server has forgotten its session, and its machine was started again.
    sessions: u64,
    boots: u64,
    /// Where the client is.
    client: Option<(Arc<Endpoint>, PeerToken)>,
}

pub(super) struct Server {
    script: Mutex<Script>,
    moved: Condvar,
}

impl Server {
    pub(super) fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, size: u64, change: u64) {
        let mut script = self.lock();
        (script.size, script.change) = (size, change);
    }

    pub(super) fn hold(&self, holding: bool) {
        self.lock().holding = holding;
    }

    /// Waits until so many answers are held back.
    pub(super) fn wait_held(&self, answers: usize) -> Outcome {
        let more = |script: &mut Script| script.held.len() < answers;
        let waited = self.moved.wait_timeout_while(self.lock(), WAIT, more);
        match waited.is_ok_and(|(_, time)| !time.timed_out()) {
            true => Ok(()),
            false => Err(format!("fewer than {answers} questions were asked")),
        }
    }

    /// Lets one of the answers go that are held back.
    pub(super) fn let_go(&self, index: usize) -> Outcome {
        let held = self.lock().held.remove(index);
        let (_, send) = held.ok_or("there is no such answer")?;
        send();
        Ok(())
    }

    fn reply(&self, operation: Operation, request: &Request) -> Reply {
        let mut script = self.lock();
        let root = match operation {
            Operation::Hello => true,
            Operation::Lookup => false,
            _ => request.node == ROOT,
        };
        if operation == Operation::Setattr && request.arguments[0] & set::SIZE != 0 {
            (script.size, script.change) = (request.arguments[3], script.change + 1);
        }
        if operation == Operation::Fallocate {
            script.change += 1;
        }
        let attr = Attr {
            inode: if root { ROOT } else { FILE },
            size: if root { 0 } else { script.size },
            change: if root { script.names } else { script.change },
            mode: if root { 0o040_777 } else { 0o100_666 },
            links: 1,
            ..Attr::default()
        };
        let mut values = [0; 6];
        match operation {
            // Session, slots, bytes of a transfer, lease, boot.
            Operation::Hello => {
                let (session, boot) = (77 + script.sessions, 3 + script.boots);
                values = [session, 64, 1 << 20, 30_000, boot, 0];
            }
            Operation::Write => values[0] = request.arguments[1],
            Operation::Getattr | Operation::Lookup if !root => script.asked += 1,
            Operation::Open => script.opened += 1,
            Operation::Lock if request.arguments[1] == libc::F_UNLCK as u64 => script.unlocked += 1,
            _ => {}
        }
        let error = match operation {
            Operation::Getattr if script.refusing && !root => libc::EACCES,
            Operation::Getxattr => libc::ENODATA,
            _ => 0,
        };
        Reply {
            error: error as u32,
            flags: REPLY_ATTR,
            node: attr.inode,
            open: u64::from(operation == Operation::Open),
            values,
            attr,
            ..Reply::default()
        }
    }

    fn answer(self: &Arc<Server>, endpoint: &Arc<Endpoint>, completed: &Completed) {
        let Some(peer) = completed.status.peer else {
            return;
        };
        let (number, transaction) = named(completed.status.bits);
        let bytes = usize::try_from(completed.status.placed).unwrap_or(0);
        let request = completed.buffer.get(..bytes).map(Request::parse);
        let (Some(operation), Some(Ok(request))) = (Operation::from_number(number), request) else {
            return;
        };
        let cut = {
            let mut script = self.lock();
            script.asked_for.push(operation);
            script.cutting.take_if(|cut| *cut == operation).is_some()
        };
        if cut {
            return endpoint.disconnect(peer);
        }
        let reply = self.reply(operation, &request).emit();
        let to = endpoint.clone();
        let bits = Kind::Reply.bits(number, transaction);
        let send = move || drop(to.send(peer, bits, reply, None));
        let mut script = self.lock();
        script.client = Some((endpoint.clone(), peer));
        let may_wait = match (script.only, operation) {
            (Some(only), operation) => operation == only,
            (None, Operation::Getattr) => request.node == FILE,
            (None, other) => other == Operation::Lookup,
        };
        if script.holding && may_wait {
            script.held.push_back((operation, Box::new(send)));
            self.moved.notify_all();
        } else {
            drop(script);
            send();
        }
    }

    /// The next of these operations is done and not answered. The connection ends, and the server
    /// has forgotten the session when the client is back.
    pub(super) fn forget_after(&self, operation: Operation) {
        let mut script = self.lock();
        script.sessions += 1;
        script.cutting = Some(operation);
        script.asked_for.clear();
    }

    /// How often this was asked for since.
    pub(super) fn times(&self, operation: Operation) -> usize {
        let script = self.lock();
        let same = script.asked_for.iter().filter(|asked| **asked == operation);
        same.count()
    }

    /// The server's machine is started again.
    pub(super) fn restart_machine(&self) -> Outcome {
        let (endpoint, peer) = {
            let mut script = self.lock();
            script.boots += 1;
            script.client.clone().ok_or("no client")?
        };
        endpoint.disconnect(peer);
        Ok(())
    }

    /// Takes requests, one after the other.
    fn listen(self: &Arc<Server>, endpoint: &Arc<Endpoint>) {
        let (server, again) = (self.clone(), Arc::downgrade(endpoint));
        let done = Box::new(move |completed: Completed| {
            let Some(endpoint) = again.upgrade() else {
                return;
            };
            server.answer(&endpoint, &completed);
            server.listen(&endpoint);
        });
        let _ = endpoint.receive(Kind::Request.bits(0, 0), KIND_MASK, vec![0; 1024], done);
    }

    /// Has the client forget the file, and waits until it has.
    pub(super) fn recall(&self) -> Outcome {
        let (endpoint, peer) = self.lock().client.clone().ok_or("no client")?;
        let answer = Kind::Recalled.bits(0, 0);
        let pending = endpoint
            .receive_pending(answer, KIND_MASK, vec![0; 16])
            .map_err(|error| error.to_string())?;
        let what = recall::DATA | recall::ATTR;
        let message = Recall { node: FILE, what }.emit();
        endpoint
            .send(peer, Kind::Recall.bits(0, 1), message, None)
            .map_err(|error| error.to_string())?;
        let waited = pending.wait_for(WAIT);
        waited.map_or_else(|_| Err("no answer to a recall".into()), |_| Ok(()))
    }
}

/// The server, and its file on a mount, which is known.
pub(super) struct Stage {
    pub(super) server: Arc<Server>,
    pub(super) file: PathBuf,
    _listener: Listener,
}

impl Stage {
    pub(super) fn new() -> Outcome<Stage> {
        let key_file = Path::new("/srv/overtaken-key");
        let text = "0202020202020202".repeat(2) + "\n";
        good("key", fs::write(key_file, text))?;
        sys::set_mode(key_file, 0o600)?;
        let key = oxmpi_oxfs::key::read_or_make(key_file).map_err(|error| error.to_string())?;
        let serial = sys::add_key("oxfs:127.0.0.1", &[2; 16])?;
        let server = Arc::new(Server {
            script: Mutex::default(),
            moved: Condvar::new(),
        });
        let serving = server.clone();
        let accepted = move |connection| {
            let bounds = Bounds {
                requests: 64,
                peers: 1,
                unexpected_bytes: 1 << 20,
                eager_bytes: 1 << 20,
                handler: false,
            };
            let Ok(endpoint) = Endpoint::open(bounds, Handlers::default()) else {
                return;
            };
            let endpoint = Arc::new(endpoint);
            serving.listen(&endpoint);
            let _ = endpoint.adopt(connection);
            // For as long as the process lives.
            std::mem::forget(endpoint);
        };
        let listener = Listener::start(&format!("127.0.0.1:{PORT}"), &key, accepted);
        let listener = listener.map_err(|error| error.to_string())?;
        let root = Path::new(MOUNTS[0]);
        let options = format!("soft,timeo=60,key={serial}");
        mount_from(&format!("127.0.0.1:{PORT}"), root, &options)?;
        let stage = Stage {
            server,
            file: root.join("f"),
            _listener: listener,
        };
        stage.server.tell(10, 1_000);
        equal("size", good("stat", fs::metadata(&stage.file))?.len(), 10)?;
        Ok(stage)
    }

    /// The file's size, in a thread.
    fn size(&self, flags: i32) -> JoinHandle<std::io::Result<u64>> {
        let path = self.file.clone();
        thread::spawn(move || sys::size_by_statx(&path, flags))
    }

    /// The same by the server.
    fn ask(&self) -> JoinHandle<std::io::Result<u64>> {
        self.size(libc::AT_STATX_FORCE_SYNC)
    }

    /// What the client knows of it.
    fn known(&self) -> Outcome<u64> {
        joined(self.size(libc::AT_STATX_DONT_SYNC))
    }

    /// The file, for reading and writing.
    pub(super) fn open(&self) -> Outcome<fs::File> {
        let mut options = fs::OpenOptions::new();
        let opened = options.read(true).write(true).open(&self.file);
        good("open", opened)
    }

    /// Another client has changed the file after a recall: a stat asks for it.
    fn is_asked(&self, size: u64, change: u64) -> Outcome {
        self.server.tell(size, change);
        let asked = self.server.lock().asked;
        let found = good("stat", fs::metadata(&self.file))?.len();
        equal("size after the change", found, size)?;
        match self.server.lock().asked == asked {
            true => Err("the server was not asked".into()),
            false => Ok(()),
        }
    }

    pub(super) fn end(self) -> Outcome {
        good(
            "umount",
            sys::unmount(Path::new(MOUNTS[0]), libc::MNT_DETACH),
        )
    }
}

fn joined(asked: JoinHandle<std::io::Result<u64>>) -> Outcome<u64> {
    let answer = asked.join().map_err(|_| "a thread has panicked")?;
    good("statx", answer)
}

/// Of two questions that are under way at a time, one is answered from before a change of another
/// client, and arrives last: what the other said stays.
fn overtaken() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let (mut size, mut change) = (10, 1_000);
    // In which order the two answers go: that of the older question last, or first.
    for first in [1, 0] {
        for _ in 0..3 {
            server.hold(true);
            // Both questions are there before the first answer goes.
            if first == 0 {
                server.tell(size + 10, change + 100);
            }
            let one = stage.ask();
            server.wait_held(1)?;
            match first {
                1 => server.tell(size + 10, change + 100),
                _ => server.tell(size, change),
            }
            let two = stage.ask();
            server.wait_held(2)?;
            (size, change) = (size + 10, change + 100);
            server.hold(false);
            let (newer, older) = if first == 1 { (two, one) } else { (one, two) };
            server.let_go(first)?;
            equal("the newer answer", joined(newer)?, size)?;
            server.tell(size, change);
            server.let_go(0)?;
            equal("after the older answer", joined(older)?, size)?;
            equal("what is known", stage.known()?, size)?;
            equal(
                "a stat",
                good("stat", fs::metadata(&stage.file))?.size(),
                size,
            )?;
        }
    }
    // The server's clock was set back: a later answer is newer, whatever its number says.
    server.tell(5, 7);
    equal("with a lower number", joined(stage.ask())?, 5)?;
    stage.end()
}

/// A name is looked up; the answer leaves the server before a change that this client makes, and
/// arrives after it.
fn overtaken_change() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    for round in 1..4u64 {
        // Attributes of the folder are asked for again, and it has changed.
        thread::sleep(Duration::from_millis(1_100));
        server.lock().names += 1;
        server.hold(true);
        let one = stage.size(libc::AT_STATX_DONT_SYNC);
        server.wait_held(1)?;
        good("ftruncate", file.set_len(100 * round))?;
        server.hold(false);
        server.let_go(0)?;
        equal("after the look-up", joined(one)?, 100 * round)?;
        equal("what is known", stage.known()?, 100 * round)?;
    }
    drop(file);
    stage.end()
}

/// An answer from before a change that another client makes arrives after the recall, and must not
/// be believed from then on.
fn overtaken_recall() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    for round in 1..4u64 {
        server.hold(true);
        let one = stage.ask();
        server.wait_held(1)?;
        server.recall()?;
        server.hold(false);
        server.let_go(0)?;
        joined(one)?;
        stage.is_asked(10 + 10 * round, 1_000 + round)?;
    }
    stage.end()
}

/// The same with the answer to a change of this client's own.
fn overtaken_own() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    server.lock().only = Some(Operation::Setattr);
    for round in 1..4u64 {
        server.hold(true);
        thread::scope(|scope| {
            let one = scope.spawn(|| file.set_len(100 * round));
            server.wait_held(1)?;
            server.recall()?;
            server.hold(false);
            server.let_go(0)?;
            let cut = one.join().map_err(|_| "a thread has panicked")?;
            good("ftruncate", cut)
        })?;
        stage.is_asked(100 * round + 10, 1_000 + 100 * round)?;
    }
    drop(file);
    stage.end()
}

/// While a file is being cut, a mapping stores behind its new end, and syncs: the server is not sent
/// what it may have cut off already.
fn overtaken_cut() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    server.tell(20_000, 1_100);
    equal("size", joined(stage.ask())?, 20_000)?;
    let file = stage.open()?;
    let mut mapping = good("mmap", sys::Mapping::new(&file, 20_000, true))?;
    mapping.set(100, 1);
    good("msync", mapping.sync())?;
    let written = server.times(Operation::Write);
    server.lock().only = Some(Operation::Setattr);
    server.hold(true);
    thread::scope(|scope| {
        let one = scope.spawn(|| file.set_len(5_000));
        server.wait_held(1)?;
        mapping.set(10_000, 1);
        good("msync", mapping.sync())?;
        server.hold(false);
        server.let_go(0)?;
        let cut = one.join().map_err(|_| "a thread has panicked")?;
        good("ftruncate", cut)
    })?;
    equal("writes", server.times(Operation::Write), written)?;
    // What was stored in front of the end goes on being sent.
    mapping.set(100, 2);
    good("msync", mapping.sync())?;
    equal("later", server.times(Operation::Write), written + 1)?;
    drop((file, mapping));
    stage.end()
}

/// The answer to an open arrives after a change of this client's own, and the server refuses to
/// tell what became of the file: the open fails, and is not asked for once more.
fn overtaken_open() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    {
        let mut script = server.lock();
        (script.only, script.opened) = (Some(Operation::Open), 0);
    }
    server.hold(true);
    thread::scope(|scope| {
        let one = scope.spawn(|| fs::OpenOptions::new().write(true).open(&stage.file));
        server.wait_held(1)?;
        good("ftruncate", file.set_len(50))?;
        server.lock().refusing = true;
        server.hold(false);
        server.let_go(0)?;
        let opened = one.join().map_err(|_| "a thread has panicked")?;
        refused("open", opened, libc::EACCES)
    })?;
    equal("opens that were asked for", server.lock().opened, 1)?;
    server.lock().refusing = false;
    equal("its size", joined(stage.ask())?, 50)?;
    drop(file);
    stage.end()
}

/// A process is killed while the answer to its lock is on its way: the lock is let go of.
fn overtaken_lock() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    server.lock().only = Some(Operation::Lock);
    server.hold(true);
    let locks = || i32::from(sys::lock(&file, libc::F_SETLK, libc::F_WRLCK, 0, 10).is_err());
    let child = good("fork", sys::in_child(locks))?;
    server.wait_held(1)?;
    sys::signal(child, libc::SIGKILL);
    let ended = good("wait", sys::wait(child))?;
    equal("killed", ended, 128 + libc::SIGKILL)?;
    server.hold(false);
    server.let_go(0)?;
    within(10, || server.lock().unlocked == 1).map_err(|why| format!("unlocking: {why}"))?;
    drop(file);
    stage.end()
}
