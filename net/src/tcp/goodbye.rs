//! How connections end: by goodbyes that both sides say, or because the other side is gone.

use oxmpi_wire::WireError;

use super::{Event, Link, Tcp, Trouble, kernel};

impl Tcp {
    /// Says goodbye on every connection and dials no more. `pause`: connections may be made again
    /// later.
    pub fn close(&mut self, pause: bool) {
        self.closing = !pause;
        for rank in 0..self.links.len() as u32 {
            match &mut self.links[rank as usize] {
                Link::Open(connection) => {
                    kernel::begin_writing(&mut self.kernel_side, connection, rank);
                    let said = connection.say_farewell(pause);
                    said.unwrap_or_else(|error| {
                        self.lose(rank, format!("the connection broke: {error}"));
                    });
                }
                Link::Dialling(_) | Link::Awaiting(..) => self.end(rank, Link::Idle),
                _ => {}
            }
        }
    }

    /// Whether no connection is left.
    pub fn is_closed(&self) -> bool {
        // A process that has paused before us may have dialled again already: that connection is
        // for later.
        let closing = |link: &Link| matches!(link, Link::Open(connection) if connection.said);
        self.open == 0 || !self.links.iter().any(closing)
    }

    pub(super) fn hear_farewell(&mut self, from: u32, pause: bool) {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return;
        };
        let pause = pause && !connection.ended;
        connection.heard = Some(pause);
        if let Some(kernel_side) = &mut self.kernel_side
            && let Some(name) = connection.name.take()
        {
            // Nothing follows, and nothing that does is to be placed in anybody's memory.
            kernel_side.forget(name);
        }
        if !pause {
            self.events.push_back(Event::Finished(from));
            if connection.is_midway() {
                // It finalised and awaits nothing; the memory that our packet lies in is about to
                // be given back.
                return self.end(from, Link::Finished);
            }
        }
        // The answer leaves behind everything that waits.
        let _ = connection.say_farewell(pause);
        self.part(from);
    }

    /// Closes a connection on which both sides have said goodbye and nothing waits.
    pub(super) fn part(&mut self, peer: u32) {
        if let Link::Open(connection) = &self.links[peer as usize]
            && let Some(pause) = connection.heard
            && connection.is_flushed()
        {
            self.end(peer, if pause { Link::Idle } else { Link::Finished });
        }
    }

    /// The other side sent what no OxMPI process sends.
    #[cold]
    pub(super) fn lose_to_garbage(&mut self, from: u32, length: u32, kind: Option<u8>) {
        let kind = kind.map_or(String::new(), |kind| format!(" and kind {kind}"));
        self.lose(
            from,
            format!("sent what no OxMPI process sends (length {length}{kind}): does every host have the same version?"),
        );
    }

    /// The encrypted stream is not as the other side wrote it.
    #[cold]
    pub(super) fn lose_to_forgery(&mut self, from: u32, what: &str) {
        self.lose(
            from,
            format!("{what}; somebody between the hosts changes packets, or a network device damages them"),
        );
    }

    /// Parts with a process because of what its packets say.
    #[cold]
    pub fn expel(&mut self, peer: u32, what: &str) {
        let host = (self.directory)(peer).map_or_else(|_| "unknown".into(), |card| card.host);
        let what = format!("sent what no OxMPI process sends: {what}");
        self.end(peer, Link::Lost(Box::new(Trouble { host, what })));
        self.events.retain(|event| match event {
            Event::Finished(other) | Event::Lost(other) => *other != peer,
            _ => true,
        });
    }

    /// Parts with a process that is known to be gone; no event tells of that.
    #[cold]
    pub(crate) fn part_with(&mut self, peer: u32) {
        self.end(peer, Link::Finished);
        self.events.retain(|event| match event {
            Event::Finished(other) | Event::Lost(other) => *other != peer,
            _ => true,
        });
    }

    /// The other side speaks another version.
    #[cold]
    pub(super) fn lose_to_version(&mut self, from: u32, found: u8) {
        let error = WireError::Version { found };
        self.lose(from, error.to_string());
    }

    /// The other side has closed the connection.
    pub(super) fn lose_end(&mut self, from: u32) {
        let untouched = matches!(&self.links[from as usize], Link::Open(connection) if connection.accepted && !connection.used);
        if untouched {
            // It dialled and changed its mind.
            return self.end(from, Link::Idle);
        }
        self.lose(
            from,
            "the connection ended without a goodbye: the process is gone".into(),
        );
    }

    /// The launcher says that a process has died. Its kernel ends an open connection behind the
    /// last bytes that the process wrote, and then it is lost; without one it is lost now.
    #[cold]
    pub fn handle_death(&mut self, peer: u32, what: String) {
        match &mut self.links[peer as usize] {
            // An end of a connection that was never used would not count as a loss.
            Link::Open(connection) => connection.used = true,
            Link::Idle | Link::Dialling(_) | Link::Awaiting(..) => self.lose(peer, what),
            Link::Finished | Link::Lost(_) => {}
        }
    }

    /// The launcher says that a process has finalised and ended. On an open connection it says so
    /// itself, behind its last message.
    #[cold]
    pub fn handle_finish(&mut self, peer: u32) {
        match &mut self.links[peer as usize] {
            Link::Open(connection) => match connection.heard {
                None => connection.ended = true,
                Some(true) => {
                    connection.heard = Some(false);
                    self.events.push_back(Event::Finished(peer));
                }
                Some(false) => {}
            },
            Link::Idle | Link::Dialling(_) | Link::Awaiting(..) => {
                self.end(peer, Link::Finished);
                self.events.push_back(Event::Finished(peer));
            }
            Link::Finished | Link::Lost(_) => {}
        }
    }

    /// The process cannot be reached any more.
    #[cold]
    pub(super) fn lose(&mut self, peer: u32, what: String) {
        if let Link::Open(connection) = &self.links[peer as usize]
            && let Some(pause) = connection.heard
        {
            // It has said goodbye; that its end of the connection is gone before ours is no loss.
            return self.end(peer, if pause { Link::Idle } else { Link::Finished });
        }
        let host = (self.directory)(peer).map_or_else(|_| "unknown".into(), |card| card.host);
        if self.closing {
            // Who says goodbye does not mind that the other is gone already.
            self.end(peer, Link::Finished);
        } else {
            self.end(peer, Link::Lost(Box::new(Trouble { host, what })));
        }
        self.events.push_back(Event::Lost(peer));
    }

    /// Replaces whatever there is between this process and another.
    pub(super) fn end(&mut self, peer: u32, with: Link) {
        let former = std::mem::replace(&mut self.links[peer as usize], with);
        if let Some(kernel_side) = &mut self.kernel_side {
            if let Link::Open(connection) = &former
                && let Some(name) = connection.name
            {
                // Before the socket is closed, and before anybody is told: from here on the driver
                // writes nothing of it to anybody's memory.
                kernel_side.forget(name);
            }
            kernel_side.raise_fence();
        }
        if let (Some(ring_side), Link::Open(_)) = (&mut self.ring_side, &former) {
            // Before the socket is closed, and before anybody is told, for the same reason.
            ring_side.forget(peer);
        }
        if let (Some(side), Link::Open(connection)) = (&mut self.bpf_side, &former)
            && let Some(slot) = &connection.slot
        {
            side.forget(slot, connection.socket.fd());
        }
        match former {
            Link::Open(_) => self.open -= 1,
            Link::Dialling(_) | Link::Awaiting(..) => self.meetings -= 1,
            _ => {}
        }
        match &self.links[peer as usize] {
            Link::Open(connection) => {
                self.open += 1;
                self.counters.connections += 1;
                if connection.name.is_none() {
                    self.ready.push_back(peer);
                }
            }
            Link::Dialling(_) | Link::Awaiting(..) => self.meetings += 1,
            _ => {
                self.hot.retain(|&hot| hot != peer);
                self.unsent.retain(|&unsent| unsent != peer);
            }
        }
        if self.current == Some(peer) {
            self.current = None;
        }
    }
}
