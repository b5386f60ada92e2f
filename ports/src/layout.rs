//! Where everything lies in a segment: pure arithmetic, the same in every process that maps it.
//!
//! ```text
//! header | one line per port: who lives there | port 0 | port 1 | … | deaths | extents, appended as they are asked for
//!                                               port = doorbell | boards | a ring per possible sender
//!                                                                   deaths = a word for each process of the job
//! ```
//! A memfd is sparse: of all this only the pages that are touched exist, so room for every possible
//! pair costs nothing until the pair talks.

use crate::doorbell::{Doorbell, SENDERS_MAX};
use crate::ring::{Control, LINE_BYTES, Slot};

/// The unit in which areas are laid out, so that neighbours never share a page.
pub const PAGE_BYTES: u64 = 4096;
/// Ports one segment can hold: as many as a doorbell's bitmap has bits.
pub const PORTS_MAX: u32 = SENDERS_MAX as u32;
/// Processes of a job whose deaths a segment can record, on whatever host they ran: 65 536 words of
/// 8 bytes are 512 KiB, of which only touched pages exist.
pub const PROCESSES_MAX: u32 = 65_536;

/// A line of a board.
pub(crate) const LINE: u64 = 64;
/// Operations whose stamps and short contributions a board keeps at once; a power of two.
pub(crate) const DEPTH: u64 = 64;
/// Operations whose long contributions a board keeps at once.
pub(crate) const HALVES: u64 = 2;
/// The stamped lines and the done line of a member's cell.
pub(crate) const CELL_LINES: u64 = (DEPTH + 1) * LINE;

/// Bytes of a board for so many members with so large cells.
fn board_bytes(members: usize, cell_bytes: usize) -> u64 {
    PAGE_BYTES + members as u64 * member_bytes(cell_bytes)
}

/// Bytes of one member's cell.
pub(crate) fn member_bytes(cell_bytes: usize) -> u64 {
    (CELL_LINES + HALVES * cell_bytes as u64).next_multiple_of(PAGE_BYTES)
}

/// The sizes of a segment's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Processes that share the segment.
    pub ports: u32,
    /// Slots of a ring.
    pub slots: usize,
    /// Payload bytes of a ring.
    pub payload_bytes: usize,
    /// Boards each port offers.
    pub boards: usize,
    /// Bytes a member can put on a board at once.
    pub board_cell_bytes: usize,
}

impl Layout {
    /// The layout for so many processes. A stream wants eight fragments of 64 KiB in flight
    /// (measured: half as many cost a third of the bandwidth), but rings shrink as processes become
    /// many: what an all-to-all of long messages touches stays below ports² × ring, for example 64²
    /// × 136 KiB = 544 MiB.
    pub fn new(ports: u32) -> Self {
        let (slots, payload_bytes) = match ports {
            0..=8 => (256, 512 << 10),
            9..=16 => (256, 256 << 10),
            17..=64 => (64, 128 << 10),
            _ => (64, 32 << 10),
        };
        let (boards, board_cell_bytes) = match ports {
            0..=16 => (16, 64 << 10),
            17..=64 => (8, 64 << 10),
            65..=256 => (4, 4 << 10),
            _ => (1, 1 << 10),
        };
        Self {
            ports,
            slots,
            payload_bytes,
            boards,
            board_cell_bytes,
        }
    }

    /// Bytes of one ring: control words, slots, payload.
    pub fn ring_bytes(&self) -> u64 {
        (size_of::<Control>() as u64 + self.slot_bytes()).next_multiple_of(PAGE_BYTES)
            + self.payload_bytes as u64
    }

    /// Bytes of a ring's slots alone.
    pub fn slot_bytes(&self) -> u64 {
        (self.slots * size_of::<Slot>()) as u64
    }

    /// Bytes of one board.
    pub fn board_bytes(&self) -> u64 {
        board_bytes(self.ports as usize, self.board_cell_bytes).next_multiple_of(PAGE_BYTES)
    }

    fn port_bytes(&self) -> u64 {
        (size_of::<Doorbell>() as u64).next_multiple_of(PAGE_BYTES)
            + self.boards as u64 * self.board_bytes()
            + u64::from(self.ports) * self.ring_bytes()
    }

    /// Offset of the line that says who lives in `port`.
    pub fn resident(&self, port: u32) -> u64 {
        PAGE_BYTES + u64::from(port) * LINE_BYTES as u64
    }

    /// Offset of a port's area, which begins with its doorbell.
    pub fn port(&self, port: u32) -> u64 {
        let residents = (u64::from(self.ports) * LINE_BYTES as u64).next_multiple_of(PAGE_BYTES);
        PAGE_BYTES + residents + u64::from(port) * self.port_bytes()
    }

    /// Offset of a port's board.
    #[inline]
    pub fn board(&self, port: u32, board: usize) -> u64 {
        self.port(port)
            + (size_of::<Doorbell>() as u64).next_multiple_of(PAGE_BYTES)
            + board as u64 * self.board_bytes()
    }

    /// Offset of the ring from `sender` into `port`.
    pub fn ring(&self, port: u32, sender: u32) -> u64 {
        self.board(port, self.boards) + u64::from(sender) * self.ring_bytes()
    }

    /// Offset of a ring's payload inside the ring.
    pub fn payload_in_ring(&self) -> u64 {
        self.ring_bytes() - self.payload_bytes as u64
    }

    /// Offset of the word that says how a process of the job died.
    pub fn death(&self, process: u32) -> u64 {
        self.port(self.ports) + u64::from(process) * size_of::<u64>() as u64
    }

    /// Bytes of the fixed part: everything but extents.
    pub fn bytes(&self) -> u64 {
        self.death(PROCESSES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_do_not_overlap_and_are_page_aligned() {
        for ports in [1, 2, 3, 16, 17, 64, 65, 300] {
            let layout = Layout::new(ports);
            let mut end = layout.resident(ports);
            for port in 0..ports {
                assert!(layout.port(port) >= end, "{ports} ports, port {port}");
                assert_eq!(layout.port(port) % PAGE_BYTES, 0);
                let mut inner = layout.port(port) + size_of::<Doorbell>() as u64;
                for index in 0..layout.boards {
                    assert!(layout.board(port, index) >= inner);
                    inner = layout.board(port, index) + layout.board_bytes();
                }
                for sender in 0..ports {
                    assert!(layout.ring(port, sender) >= inner);
                    assert_eq!(layout.ring(port, sender) % PAGE_BYTES, 0);
                    inner = layout.ring(port, sender) + layout.ring_bytes();
                }
                end = inner;
            }
            assert_eq!(layout.death(0), end);
            assert_eq!(layout.bytes(), layout.death(PROCESSES_MAX - 1) + 8);
            assert_eq!(layout.bytes() % PAGE_BYTES, 0);
        }
    }

    #[test]
    fn a_ring_holds_the_fragments_the_engine_sends() {
        for ports in [2, 16, 64, 1000] {
            assert!(Layout::new(ports).payload_bytes.is_power_of_two());
            assert!(Layout::new(ports).slots.is_power_of_two());
        }
    }
}
