//! A command that runs: its output as lines, its life tied to ours.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};

use super::patience::{Patience, TICK};
use super::root;
use crate::signals;

/// A command in a process group of its own.
pub struct Running {
    child: Child,
    /// What it prints on both streams; ends when the last process that could print has ended.
    lines: mpsc::Receiver<String>,
}

/// What a look at a running command gives.
pub enum Next {
    /// A line of its output.
    Line(String),
    /// No process of it can print any more.
    End,
    /// Its time is over.
    Late,
}

impl Running {
    /// Starts it, in the workspace.
    pub fn start(command: &mut Command) -> std::io::Result<Running> {
        command
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        signals::add_group(child.id());
        let (sender, lines) = mpsc::channel();
        let out = child
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn Read + Send>);
        let error = child
            .stderr
            .take()
            .map(|error| Box::new(error) as Box<dyn Read + Send>);
        for stream in [out, error].into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    // The receiver is gone only when the command was ended: the rest is unwanted.
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Running { child, lines })
    }

    /// Waits for the next line, as long as there is patience.
    pub fn next(&mut self, patience: &mut Patience) -> Next {
        while !patience.is_over() {
            match self.lines.recv_timeout(TICK) {
                Ok(line) => return Next::Line(line),
                Err(RecvTimeoutError::Disconnected) => return Next::End,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Next::Late
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait();
        signals::remove_group(self.child.id());
        status
    }

    /// Ends the whole group: a hanging test has children of its own.
    pub fn kill(&mut self) {
        signals::kill_group(self.child.id());
        // It was killed, so there is nothing left to learn from its status.
        let _ = self.wait();
    }
}
