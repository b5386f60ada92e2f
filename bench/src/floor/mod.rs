//! The bare mechanisms of this machine, without any library: what a message could cost at best.
//!
//! Every figure of `oxmpi bench` is shown as a ratio to one of these, measured alternately with it
//! in the same run, because numbers of different machines, or of one machine at different hours,
//! cannot be compared. `pair` makes two pinned processes; `hop` holds the small-message mechanisms,
//! `stream` the large-message ones. `wire` is the bare exchange between two hosts, whose ends are
//! ranks of a job; `tcp`, `udp` and `packet` carry it.

pub mod hop;
pub mod icmp;
pub mod packet;
pub mod pair;
pub mod stream;
pub mod tcp;
pub mod udp;
pub mod wire;

use std::time::Duration;

pub use pair::{Cpus, FloorError};

/// How long a single repetition of a measurement lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Enough to notice that the machine has changed.
    Look,
    /// Enough to see an order of magnitude.
    Quick,
    /// Enough for a figure.
    Full,
}

impl Effort {
    /// Time of one repetition.
    pub fn repetition(self) -> Duration {
        match self {
            Effort::Look => Duration::from_millis(3),
            Effort::Quick => Duration::from_millis(15),
            Effort::Full => Duration::from_millis(100),
        }
    }
}

/// The middle of `values`, which must not be empty; sorts them.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    assert!(!values.is_empty(), "a median needs at least one value");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::stream::Ring;
    use super::*;

    #[test]
    fn every_floor_can_be_measured_here() {
        let (cpus, effort) = (Cpus::usable(), Effort::Look);
        let ring = Ring {
            slot_bytes: 16 << 10,
            slots: 4,
        };
        // A hop below a nanosecond or a copy beyond 10 TB/s would be a broken clock; there is no
        // upper bound on a busy machine.
        for ns in [
            hop::flag_ns(cpus, effort),
            hop::slot_ns(cpus, 1024, effort),
            hop::yield_ns(cpus, effort),
        ] {
            assert!(ns.unwrap() > 1.0);
        }
        // A length that is no multiple of the slot, so that the last piece is short.
        for rate in [
            stream::ring_gbps(cpus, 100_000, ring, effort),
            stream::mapped_gbps(cpus, 100_000, effort),
            stream::memcpy_gbps(cpus, 100_000, effort),
        ] {
            let rate = rate.unwrap();
            assert!(rate > 0.0 && rate < 10_000.0);
        }
        match stream::readv_gbps(cpus, 100_000, effort) {
            Ok(rate) => assert!(rate > 0.0),
            Err(error) => assert!(matches!(error, FloorError::Readv { .. }), "{error}"),
        }
    }

    #[test]
    fn floors_work_on_one_core() {
        let cpus = Cpus::usable().one_core();
        assert!(hop::slot_ns(cpus, 8, Effort::Look).unwrap() > 1.0);
        assert!(stream::mapped_gbps(cpus, 1 << 20, Effort::Look).unwrap() > 0.0);
    }
}
