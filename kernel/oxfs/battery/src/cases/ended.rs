//! Servers that have forgotten a session, or lost what was not synced. They are those of
//! `overtaken`, which say and do what a case wants.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;

use oxmpi_oxfs::protocol::Operation;

use super::overtaken::Stage;
use super::{Case, Outcome, equal, good, refused};

pub const CASES: &[Case] = &[
    Case {
        name: "ended-session",
        time_s: 60,
        run: ended_session,
    },
    Case {
        name: "ended-machine",
        time_s: 60,
        run: ended_machine,
    },
];

/// The connection is lost before an answer, and the session is over when it is back. Nobody knows
/// whether the operation was done, so it is not asked for again where that would make a difference.
fn ended_session() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = stage.open()?;
    let appending = good("open", OpenOptions::new().append(true).open(&stage.file))?;
    let direct = open_direct(&stage)?;
    // What makes no difference is.
    server.forget_after(Operation::Write);
    good("write", direct.write_all_at(b"twice", 0))?;
    equal("write", server.times(Operation::Write), 2)?;
    server.forget_after(Operation::Open);
    drop(good("open", File::open(&stage.file))?);
    let once: [(Operation, &dyn Fn() -> io::Result<()>); 3] = [
        (Operation::Write, &|| (&appending).write_all(b"once")),
        (Operation::Setattr, &|| file.set_len(5)),
        (Operation::Unlink, &|| fs::remove_file(&stage.file)),
    ];
    for (operation, change) in once {
        let what = format!("{operation:?}");
        server.forget_after(operation);
        refused(&what, change(), libc::EIO)?;
        equal(&what, server.times(operation), 1)?;
        // The slot is whole again, and so is what was open.
        good(&what, change())?;
        equal(&what, server.times(operation), 2)?;
    }
    drop((file, appending, direct));
    stage.end()
}

/// The server's machine is started again between a WRITE and its FSYNC.
fn ended_machine() -> Outcome {
    let stage = Stage::new()?;
    let server = &stage.server;
    let file = open_direct(&stage)?;
    let write = || good("write", file.write_all_at(b"text", 0));
    write()?;
    server.restart_machine()?;
    refused("fsync", file.sync_all(), libc::EIO)?;
    // It is said once.
    good("fsync again", file.sync_all())?;
    write()?;
    good("fsync", file.sync_all())?;
    server.restart_machine()?;
    good("fsync of what was synced", file.sync_all())?;
    // An FSYNC that a WRITE has overtaken, or has been overtaken by, says nothing about it.
    server.lock().only = Some(Operation::Write);
    server.hold(true);
    thread::scope(|scope| {
        let one = scope.spawn(write);
        server.wait_held(1)?;
        good("fsync during a write", file.sync_all())?;
        server.hold(false);
        server.let_go(0)?;
        one.join().map_err(|_| "a thread has panicked")?
    })?;
    server.restart_machine()?;
    refused("fsync after it", file.sync_all(), libc::EIO)?;
    drop(file);
    stage.end()
}

fn open_direct(stage: &Stage) -> Outcome<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(libc::O_DIRECT);
    good("open", options.open(&stage.file))
}
