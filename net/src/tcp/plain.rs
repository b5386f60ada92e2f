//! The plain loop, as libraries on sockets have it: ask about every socket, read those that have
//! something, and again.
//!
//! Its cost grows with the number of connections. It is here to be compared with
//! (`OXMPI_PROGRESS=sock`, `oxmpi bench progress`), not to be used.

use super::{Link, Tcp};

impl Tcp {
    /// Asks about every connection.
    #[allow(unsafe_code)]
    pub(super) fn ask_all(&mut self) {
        self.counters.questions += 1;
        self.asked.clear();
        self.entries.clear();
        for (rank, link) in self.links.iter().enumerate() {
            if let Link::Open(connection) = link {
                let room = if connection.blocked { libc::POLLOUT } else { 0 };
                self.asked.push(rank as u32);
                self.entries.push(libc::pollfd {
                    fd: connection.socket.fd(),
                    events: libc::POLLIN | room,
                    revents: 0,
                });
            }
        }
        let count = self.entries.len() as libc::nfds_t;
        // SAFETY: pointer and count describe the vector.
        if unsafe { libc::poll(self.entries.as_mut_ptr(), count, 0) } <= 0 {
            return;
        }
        for (rank, entry) in self.asked.iter().zip(&self.entries) {
            let Link::Open(connection) = &mut self.links[*rank as usize] else {
                continue;
            };
            if entry.revents & libc::POLLOUT != 0 && connection.blocked {
                connection.blocked = false;
                if !self.unsent.contains(rank) {
                    self.unsent.push(*rank);
                }
            }
            if entry.revents & !libc::POLLOUT != 0 {
                self.ready.push_back(*rank);
            }
        }
    }
}
