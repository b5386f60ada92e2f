//! The ranks' connections to their launcher: a socket each, on which they may speak PMI.
//!
//! OxMPI programs use it when their job has several hosts, programs on other MPI libraries always.
//! What is said is understood by `oxmpi_pmi::Server`; here bytes are moved. A fence that all ranks
//! of this host have entered, or ended before, goes up as [`Up::Fence`] and comes back through
//! [`PmiSockets::fence_over`].

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use oxmpi_pmi::{Event, Facts, Left, Server};

use crate::frame::{JobSpec, Up};
use crate::sys::{self, Epoll};

/// Taken from one socket in one go; a PMI message has a few hundred bytes.
const READ_BYTES: usize = 16 * 1024;

/// The launcher's ends of all of them.
pub(crate) struct PmiSockets {
    server: Server,
    /// By port: the rank and its socket, None when it has ended.
    sockets: Vec<(u32, Option<UnixStream>)>,
    readable: Epoll,
}

impl PmiSockets {
    /// The sockets of `ranks`, and the ranks' ends of them.
    pub(crate) fn new(spec: &JobSpec, ranks: &[u32]) -> io::Result<(PmiSockets, Vec<OwnedFd>)> {
        let readable = Epoll::new()?;
        let mut sockets = Vec::with_capacity(ranks.len());
        let mut ends = Vec::with_capacity(ranks.len());
        for (port, &rank) in ranks.iter().enumerate() {
            let (ours, theirs) = UnixStream::pair()?;
            sys::set_nonblocking(ours.as_fd())?;
            readable.add(ours.as_fd(), port as u64)?;
            sockets.push((rank, Some(ours)));
            ends.push(theirs.into());
        }
        let server = Server::new(Facts {
            job: spec.name.clone(),
            size: spec.size(),
            hosts: spec.host_of.clone(),
            local: ranks.to_vec(),
            programs: ranks
                .iter()
                .map(|&rank| spec.program_of(rank) as u32)
                .collect(),
        });
        let pmi = PmiSockets {
            server,
            sockets,
            readable,
        };
        Ok((pmi, ends))
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        entries.push(sys::poll_entry(self.readable.fd(), libc::POLLIN));
    }

    pub(crate) fn handle_ready(&mut self, up: &mut VecDeque<Up>) -> io::Result<()> {
        let mut keys = Vec::new();
        self.readable.ready(&mut keys)?;
        for key in keys {
            self.hear(key as usize, up);
        }
        Ok(())
    }

    /// All ranks of the job have been in the fence.
    pub(crate) fn fence_over(&mut self, all: &[(String, String)], up: &mut VecDeque<Up>) {
        self.server.fence_over(all);
        self.answer(up);
    }

    /// How far a rank that has ended had come; what it wrote before its end is heard first.
    pub(crate) fn has_left(&mut self, port: u32, up: &mut VecDeque<Up>) -> Left {
        self.hear(port as usize, up);
        self.server.has_left(self.sockets[port as usize].0)
    }

    /// A rank has ended: nobody waits for it in a fence any more.
    pub(crate) fn handle_end(&mut self, port: u32, up: &mut VecDeque<Up>) {
        let (rank, socket) = &mut self.sockets[port as usize];
        *socket = None;
        self.server.handle_end(*rank);
        self.answer(up);
    }

    /// Reads what a rank has written.
    fn hear(&mut self, port: usize, up: &mut VecDeque<Up>) {
        let mut bytes = [0; READ_BYTES];
        loop {
            let (rank, socket) = &mut self.sockets[port];
            let Some(open) = socket else { return };
            match open.read(&mut bytes) {
                Ok(count) if count > 0 => {
                    self.server.handle(*rank, &bytes[..count]);
                    self.answer(up);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It has closed its end.
                _ => *socket = None,
            }
        }
    }

    fn answer(&mut self, up: &mut VecDeque<Up>) {
        while let Some(event) = self.server.poll() {
            match event {
                Event::Reply { rank, bytes } => self.reply(rank, &bytes),
                Event::Fence { puts } => up.push_back(Up::Fence(puts)),
                Event::Deserted { puts } => up.push_back(Up::Deserted(puts)),
                Event::Abort { rank, code, text } => up.push_back(Up::Abort { rank, code, text }),
            }
        }
    }

    /// A question has one answer, so an answer always finds room in the socket; a rank that asks
    /// without reading is not waited for.
    fn reply(&mut self, rank: u32, bytes: &[u8]) {
        // Ranks of a host rise with their ports.
        let Ok(port) = self.sockets.binary_search_by_key(&rank, |entry| entry.0) else {
            return;
        };
        let socket = &mut self.sockets[port].1;
        let sent = match socket {
            Some(open) => open.write_all(bytes),
            None => return,
        };
        if sent.is_err() {
            *socket = None;
        }
    }
}
