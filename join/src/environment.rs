//! The variables by which our launcher tells a rank its place. The launcher sets them, `identity` reads them.

/// The rank of this process.
pub const RANK: &str = "OXMPI_RANK";
/// The number of ranks in the job.
pub const SIZE: &str = "OXMPI_SIZE";
/// The descriptor of the host's shared segment, inherited from the launcher.
pub const SEGMENT: &str = "OXMPI_SEGMENT";

/// All of them: they come together or not at all.
pub const ALL: [&str; 3] = [RANK, SIZE, SEGMENT];
