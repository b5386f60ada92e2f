//! Ranks that crash: what they send in their last moments becomes a backtrace.
//!
//! `oxmpi_join::crash` is the other side: registers, the list of mappings, the top of the stack, as
//! datagrams of one socket that all ranks of a host share. Here they are gathered by process;
//! `image` opens the files that were mapped, `trace` walks the stack and names what it finds. A
//! crash that came in pieces yields what its pieces allow, and one that makes no sense yields
//! nothing: a backtrace is never worth a launcher. `look` does the same for a process that runs.

mod image;
mod look;
mod trace;

pub(crate) use look::{Stack, look};

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use oxmpi_join::crash::{DATAGRAM_BYTES_MAX, Head, kind};

use crate::sys;

/// Crashes of a host that are told. They mostly have one cause, and reading the debug information
/// of a large program takes a second.
const TRACES_MAX: usize = 4;
/// Crashes that are kept until the end of their rank is known: children of ranks may crash, too.
const CRASHES_MAX: usize = 64;
/// What a crash may occupy: both kinds of pieces, twice over.
const CRASH_BYTES_MAX: usize = 1024 * 1024;
/// Datagrams that are read before anything else gets a turn: more than the socket's queue holds
/// (some hundred, empty ones), so that all that a dead rank has sent is read at once.
const DATAGRAMS_MAX: usize = 1024;

/// What a process has said about its crash.
#[derive(Debug)]
struct Crash {
    rank: u32,
    signal: i32,
    /// The address of the access that failed.
    address: u64,
    /// Program counter, stack pointer, frame pointer, link register.
    registers: [u64; 4],
    maps: Vec<u8>,
    /// `maps` is not the beginning of a longer list.
    has_all_maps: bool,
    /// Pieces of the stack, by address.
    stack: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
}

/// The crashes of a host's ranks.
pub(crate) struct Crashes {
    socket: UnixDatagram,
    /// By process.
    heard: BTreeMap<u32, Crash>,
    told: usize,
}

impl Crashes {
    /// The launcher's end, and that of all ranks.
    pub(crate) fn new() -> io::Result<(Crashes, OwnedFd)> {
        let (socket, theirs) = UnixDatagram::pair()?;
        socket.set_nonblocking(true)?;
        let crashes = Crashes {
            socket,
            heard: BTreeMap::new(),
            told: 0,
        };
        Ok((crashes, theirs.into()))
    }

    pub(crate) fn poll_entry(&self) -> libc::pollfd {
        sys::poll_entry(self.socket.as_fd(), libc::POLLIN)
    }

    /// Reads what has come.
    pub(crate) fn handle_ready(&mut self) {
        let mut bytes = [0; DATAGRAM_BYTES_MAX];
        for _ in 0..DATAGRAMS_MAX {
            let Ok(count) = self.socket.recv(&mut bytes) else {
                return;
            };
            if let Some((head, rest)) = Head::parse(&bytes[..count]) {
                self.take_in(head, rest);
            }
        }
    }

    fn take_in(&mut self, head: Head, bytes: &[u8]) {
        if head.kind == kind::REGISTERS && self.heard.len() < CRASHES_MAX {
            let crash = Crash {
                rank: head.rank,
                signal: head.signal as i32,
                address: head.address,
                registers: head.registers,
                maps: Vec::new(),
                has_all_maps: false,
                stack: BTreeMap::new(),
                bytes: 0,
            };
            self.heard.insert(head.process, crash);
            return;
        }
        let Some(crash) = self.heard.get_mut(&head.process) else {
            return;
        };
        // Empty pieces occupy something, too.
        crash.bytes += size_of::<Head>() + bytes.len();
        if crash.bytes > CRASH_BYTES_MAX {
            return;
        }
        match head.kind {
            kind::MAPS if bytes.is_empty() => crash.has_all_maps = true,
            kind::MAPS => crash.maps.extend_from_slice(bytes),
            kind::STACK => {
                crash.stack.insert(head.address, bytes.to_vec());
            }
            _ => {}
        }
    }

    /// The backtrace of a rank that has failed, in lines: of its own process if that crashed, else
    /// of one that it had started and that was itself a rank's program (`sh -c ./a.out`).
    pub(crate) fn backtrace(&mut self, rank: u32, process: i32) -> Vec<String> {
        self.handle_ready();
        let child = || {
            let mut of_rank = self.heard.iter().filter(|(_, crash)| crash.rank == rank);
            of_rank.next().map(|(process, _)| *process)
        };
        let own = u32::try_from(process).ok();
        let own = own.filter(|process| self.heard.contains_key(process));
        let Some(crash) = own
            .or_else(child)
            .and_then(|found| self.heard.remove(&found))
        else {
            return Vec::new();
        };
        if self.told == TRACES_MAX {
            return Vec::new();
        }
        self.told += 1;
        // Files of any content are read here, some of them broken.
        let traced = std::panic::catch_unwind(|| trace::lines(&crash));
        traced.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u32, address: u64) -> Head {
        Head {
            kind,
            rank: 0,
            process: 4711,
            signal: libc::SIGSEGV as u32,
            address,
            registers: [0; 4],
        }
    }

    #[test]
    fn empty_pieces_fill_a_crash_as_well() {
        let (mut crashes, _theirs) = Crashes::new().unwrap();
        crashes.take_in(head(kind::REGISTERS, 0), &[]);
        for address in 0..2 * CRASH_BYTES_MAX as u64 / size_of::<Head>() as u64 {
            crashes.take_in(head(kind::STACK, address), &[]);
        }
        let pieces = crashes.heard[&4711].stack.len();
        assert!(pieces <= CRASH_BYTES_MAX / size_of::<Head>(), "{pieces}");
    }

    #[test]
    fn the_list_of_mappings_is_known_to_be_whole() {
        let (mut crashes, _theirs) = Crashes::new().unwrap();
        crashes.take_in(head(kind::REGISTERS, 0), &[]);
        crashes.take_in(head(kind::MAPS, 0), b"1000-2000 r-xp 0 0:0 0\n");
        assert!(!crashes.heard[&4711].has_all_maps);
        crashes.take_in(head(kind::MAPS, 0), &[]);
        assert!(crashes.heard[&4711].has_all_maps);
    }
}
