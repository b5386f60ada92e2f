//! Processes that are killed, and files that are closed, while the server has something to do for
//! everybody: what they leave to be done is done, and keeps nobody else waiting.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxmpi_oxfs::protocol::Operation;

use super::overtaken::Stage;
use super::{Case, Outcome, equal, good};
use crate::sys;
use crate::world::within;

pub const CASES: &[Case] = &[
    Case {
        name: "killed-unlock",
        time_s: 120,
        run: killed_unlock,
    },
    Case {
        name: "killed-change",
        time_s: 120,
        run: killed_change,
    },
    Case {
        name: "closed-recall",
        time_s: 120,
        run: closed_recall,
    },
];

/// Slots of a session for names, opens and locks.
const SLOTS: usize = 32;

type Locking = JoinHandle<io::Result<i32>>;

/// Threads that take all slots: the answers to their locks are held back.
fn take_slots(stage: &Stage, file: &Arc<File>) -> Outcome<Vec<Locking>> {
    let server = &stage.server;
    server.lock().only = Some(Operation::Lock);
    server.hold(true);
    let one = |slot: usize| {
        let file = file.clone();
        thread::spawn(move || lock(&file, 100 + slot as i64))
    };
    let locking = (0..SLOTS).map(one).collect();
    server.wait_held(SLOTS)?;
    Ok(locking)
}

/// They get their locks, and end.
fn give_slots(stage: &Stage, locking: Vec<Locking>) -> Outcome {
    stage.server.hold(false);
    for _ in &locking {
        stage.server.let_go(0)?;
    }
    for one in locking {
        let locked = one.join().map_err(|_| "a thread has panicked")?;
        good("a lock", locked)?;
    }
    Ok(())
}

fn lock(file: &File, byte: i64) -> io::Result<i32> {
    sys::lock(file, libc::F_SETLK, libc::F_WRLCK, byte, 1)
}

/// A process is killed while it lets go of a lock and waits for a slot, of which none is free: the
/// server is told all the same.
fn killed_unlock() -> Outcome {
    let stage = Stage::new()?;
    let file = Arc::new(stage.open()?);
    let (mut heard, told) = good("pipe", io::pipe())?;
    let (may, mut tell) = good("pipe", io::pipe())?;
    let holds = || {
        let locked = lock(&file, 0).is_ok() && (&told).write_all(b"!").is_ok();
        let may = locked && (&may).read_exact(&mut [0]).is_ok();
        i32::from(!may || sys::lock(&file, libc::F_SETLK, libc::F_UNLCK, 0, 1).is_err())
    };
    let holder = good("fork", sys::in_child(holds))?;
    good("a lock", heard.read_exact(&mut [0]))?;
    let locking = take_slots(&stage, &file)?;
    good("tell", tell.write_all(b"!"))?;
    thread::sleep(Duration::from_secs(1));
    sys::signal(holder, libc::SIGKILL);
    let ended = good("wait", sys::wait(holder))?;
    equal("killed", ended, 128 + libc::SIGKILL)?;
    give_slots(&stage, locking)?;
    within(20, || stage.server.lock().unlocked == 1).map_err(|why| format!("unlocking: {why}"))?;
    drop(file);
    stage.end()
}

/// A process is killed while its change is under way. When it has been made, the pages from before
/// it are not read any more, though the answers to later changes say nothing of it.
fn killed_change() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    let read = || file.read_at(&mut [0; 10], 0);
    equal("read", good("read", read())?, 10)?;
    equal("once more", good("read", read())?, 10)?;
    let asked = server.times(Operation::Read);
    server.lock().only = Some(Operation::Fallocate);
    server.hold(true);
    let punches = || {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        i32::from(sys::fallocate(&file, mode, 0, 5).is_err())
    };
    let child = good("fork", sys::in_child(punches))?;
    server.wait_held(1)?;
    sys::signal(child, libc::SIGKILL);
    let ended = good("wait", sys::wait(child))?;
    equal("killed", ended, 128 + libc::SIGKILL)?;
    server.hold(false);
    server.let_go(0)?;
    sys::set_mode(&stage.file, 0o666)?;
    let is_read = || read().is_ok() && server.times(Operation::Read) > asked;
    within(10, is_read).map_err(|why| format!("reading from the server: {why}"))?;
    drop(file);
    stage.end()
}

/// More files are closed than there are workers for, while all slots are taken: a recall is
/// answered all the same.
fn closed_recall() -> Outcome {
    let stage = Stage::new()?;
    let file = Arc::new(stage.open()?);
    let files = (0..300).map(|_| stage.open());
    let files = files.collect::<Outcome<Vec<_>>>()?;
    let locking = take_slots(&stage, &file)?;
    drop(files);
    thread::sleep(Duration::from_millis(500));
    stage.server.recall()?;
    give_slots(&stage, locking)?;
    drop(file);
    stage.end()
}
