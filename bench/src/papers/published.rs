//! What the papers report, each figure with its source.
//!
//! Only figures that were found stated somewhere are here; where the paper's number is not known, a
//! table has no column for it. The machines were others: what can be compared is the ratio between
//! the paper's two columns and the ratio between ours.

use crate::figure::Unit;

/// A figure that a paper gives for its own system and for the one it compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// What was measured.
    pub what: &'static str,
    /// Its own system, in `unit`; unknown if only the ratio is given.
    pub own: Option<f64>,
    /// What it compares with.
    pub other: Option<f64>,
    /// Of both.
    pub unit: Unit,
    /// How many times better its own is.
    pub times: f64,
}

/// Where the figures of PM stand.
pub const PM_SOURCE: &str = "abstract of Sumimoto, Tezuka, Hori, Harada, Takahashi, Ishikawa: \
    High performance communication using a commodity network for cluster systems (2000, \
    pages 139 to 146); Pentium III 500 MHz, Packet Engines G-NIC II";

/// Half a round trip of a short message: the paper gives whole ones, 37.6 and 89.6 µs.
pub const PM_ROUND_TRIP: Published = Published {
    what: "round trip of a short message",
    own: Some(37.6),
    other: Some(89.6),
    unit: Unit::Microseconds,
    times: 89.6 / 37.6,
};

/// The longest stream.
pub const PM_BANDWIDTH: Published = Published {
    what: "bandwidth",
    own: Some(77.5),
    other: Some(46.7),
    unit: Unit::MegabytesPerSecond,
    times: 77.5 / 46.7,
};

/// NPB's integer sort: "75% better performance than MPI on TCP/IP".
pub const PM_SORT: Published = Published {
    what: "NPB IS, MPI by PM beside MPI by TCP",
    own: None,
    other: None,
    unit: Unit::Times,
    times: 1.75,
};

/// Where the figure of O2G stands.
pub const O2G_SOURCE: &str = "docs/benchmarks.md, \"UDP and raw Ethernet\", which quotes Matsuda, \
    Ishikawa, Kudoh, Tezuka's paper: the sort of 16 hosts beside MPI on sockets";

/// NPB's integer sort on 16 hosts.
pub const O2G_SORT: Published = Published {
    what: "NPB IS on 16 hosts, queues in the protocol handler beside MPI on sockets",
    own: None,
    other: None,
    unit: Unit::Times,
    times: 2.8,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_follow_from_the_figures() {
        // 77.5 and 46.7 MB/s, 37.6 and 89.6 µs.
        assert_eq!(format!("{:.2}", PM_BANDWIDTH.times), "1.66");
        assert_eq!(format!("{:.2}", PM_ROUND_TRIP.times), "2.38");
    }
}
