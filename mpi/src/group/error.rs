//! What can be wrong with the ranks from which a group is made. Error classes are assigned in the
//! ABI layer.

/// Why a list of ranks or ranges does not describe a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A rank that the group does not have.
    #[error(
        "ranks[{index}] is {rank}, but the group has {size} processes: ranks go from 0 to size - 1"
    )]
    RankOutOfRange {
        /// Which entry of the list.
        index: usize,
        /// The rank given.
        rank: i64,
        /// The group's size.
        size: u32,
    },
    /// A rank that stands in the list more than once.
    #[error("ranks[{index}] is {rank} again, after ranks[{earlier}]: name each rank once")]
    RankTwice {
        /// Which entry of the list.
        index: usize,
        /// Where the rank stood first.
        earlier: usize,
        /// The rank.
        rank: u32,
    },
    /// A range that would never get from its first rank to its last.
    #[error("ranges[{index}] has stride 0: the stride must not be zero")]
    ZeroStride {
        /// Which range.
        index: usize,
    },
    /// A range whose stride leads away from its last rank.
    #[error(
        "ranges[{index}] goes from {first} to {last} with stride {stride}, which leads away from {last}: change its sign"
    )]
    StrideAway {
        /// Which range.
        index: usize,
        /// Its first rank.
        first: i32,
        /// Its last rank.
        last: i32,
        /// Its stride.
        stride: i32,
    },
    /// A range that reaches a rank the group does not have.
    #[error(
        "ranges[{index}] = ({first}, {last}, {stride}) reaches rank {rank}, but the group has {size} processes: \
         ranks go from 0 to size - 1"
    )]
    RangeLeavesGroup {
        /// Which range.
        index: usize,
        /// Its first rank.
        first: i32,
        /// Its last rank.
        last: i32,
        /// Its stride.
        stride: i32,
        /// The rank it reaches.
        rank: i64,
        /// The group's size.
        size: u32,
    },
    /// A range that reaches a rank that this or an earlier range has reached.
    #[error(
        "ranges[{index}] reaches rank {rank} again, after ranges[{earlier}]: name each rank once"
    )]
    RangeTwice {
        /// Which range.
        index: usize,
        /// Which range reached it first.
        earlier: usize,
        /// The rank.
        rank: u32,
    },
}
