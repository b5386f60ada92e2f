//! Room for output: how much of it a host may send before it waits.
//!
//! Every host may have a window of bytes under way ([`WINDOW_BYTES`], [`OWN_WINDOW_BYTES`]); what
//! the head has passed on is granted anew, in pieces that are worth a frame. A reader that pauses
//! thus pauses the ranks on all hosts, and what the head holds for it stays bounded, while
//! everything else keeps flowing. Pure.

use crate::frame::WINDOW_BYTES;
use crate::hosts::Placement;

/// Output of this host that may wait for a slow reader; there is no connection to fill.
pub(crate) const OWN_WINDOW_BYTES: u64 = 1024 * 1024;

/// Output that has been passed on and whose room has not been granted anew.
pub(crate) struct Credit {
    /// By host: bytes, and how many are worth a frame.
    owed: Vec<(u64, u64)>,
    /// Hosts that are owed enough.
    due: Vec<u32>,
}

impl Credit {
    pub(crate) fn new(placement: &Placement) -> Credit {
        let worth = |host| match placement.here == Some(host) {
            true => OWN_WINDOW_BYTES / 2,
            false => WINDOW_BYTES / 2,
        };
        let hosts = 0..placement.hosts.len() as u32;
        Credit {
            owed: hosts.map(|host| (0, worth(host))).collect(),
            due: Vec::new(),
        }
    }

    /// Output of a host has been passed on.
    pub(crate) fn handle_output(&mut self, host: u32, bytes: usize) {
        let (owed, worth) = &mut self.owed[host as usize];
        let before = *owed;
        *owed += bytes as u64;
        if before < *worth && *owed >= *worth {
            self.due.push(host);
        }
    }

    /// The next host that may go on, and by how much.
    pub(crate) fn poll(&mut self) -> Option<(u32, u64)> {
        let host = self.due.pop()?;
        let owed = &mut self.owed[host as usize].0;
        Some((host, std::mem::take(owed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_granted_in_worthwhile_pieces() {
        let mut credit = Credit::new(&Placement {
            hosts: vec!["a".to_owned(), "b".to_owned()],
            here: Some(0),
            host_of: vec![0, 1],
        });
        credit.handle_output(1, 100);
        assert_eq!(credit.poll(), None);
        credit.handle_output(1, WINDOW_BYTES as usize);
        credit.handle_output(0, WINDOW_BYTES as usize);
        credit.handle_output(1, 1);
        assert_eq!(credit.poll(), Some((1, WINDOW_BYTES + 101)));
        assert_eq!(credit.poll(), None);
    }
}
