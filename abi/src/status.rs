//! `MPI_Status`: 32 bytes that belong to the program and are read without asking the library.
//!
//! Of the five private integers, two hold the message's length in bytes and one tells whether the
//! operation was cancelled. Counts of elements are computed from the bytes when they are asked for,
//! because only then the datatype is known.

use oxmpi_core::any_request::{Report, Sender};

use crate::constant::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_SUCCESS};

/// A status as C programs hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// MPI_SOURCE.
    pub source: i32,
    /// MPI_TAG.
    pub tag: i32,
    /// MPI_ERROR; touched only by calls that complete several requests.
    pub error: i32,
    /// The length in bytes, lower half first.
    bytes: [u32; 2],
    cancelled: i32,
    unused: [i32; 2],
}

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);

impl Status {
    /// What a report says. MPI_ERROR is MPI_SUCCESS.
    pub fn new(report: &Report) -> Status {
        let mut status = Status {
            source: 0,
            tag: 0,
            error: MPI_SUCCESS,
            bytes: [0; 2],
            cancelled: 0,
            unused: [0; 2],
        };
        status.report(report);
        status
    }

    /// Takes over what a report says and leaves MPI_ERROR as it is (MPI 5.0 §3.2.5), but for the
    /// empty status, which says that nothing failed (§3.7.3).
    #[inline]
    pub fn report(&mut self, report: &Report) {
        self.source = match report.sender {
            Sender::Rank(rank) => rank as i32,
            Sender::Nobody => MPI_PROC_NULL,
            Sender::Unknown => {
                self.error = MPI_SUCCESS;
                MPI_ANY_SOURCE
            }
            Sender::Stated(source) => source,
        };
        self.tag = report.tag.unwrap_or(MPI_ANY_TAG);
        self.set_bytes(report.bytes);
        self.cancelled = i32::from(report.cancelled);
    }

    /// The message's length.
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes[0]) | u64::from(self.bytes[1]) << 32
    }

    /// Sets the message's length.
    #[inline]
    pub fn set_bytes(&mut self, bytes: u64) {
        self.bytes = [bytes as u32, (bytes >> 32) as u32];
    }

    /// Whether the operation was cancelled in time.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled != 0
    }

    /// What MPI_Test_cancelled shall say.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.cancelled = i32::from(cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives() {
        let bytes = 0x1_2345_6789;
        let report = Report {
            sender: Sender::Rank(3),
            tag: Some(9),
            bytes,
            cancelled: true,
        };
        let status = Status::new(&report);
        assert_eq!(
            (
                status.source,
                status.tag,
                status.bytes(),
                status.is_cancelled()
            ),
            (3, 9, bytes, true)
        );
        let empty = Status::new(&Report::EMPTY);
        assert_eq!(
            (empty.source, empty.tag, empty.bytes()),
            (MPI_ANY_SOURCE, MPI_ANY_TAG, 0)
        );
        assert_eq!(Status::new(&Report::NOBODY).source, MPI_PROC_NULL);
    }
}
