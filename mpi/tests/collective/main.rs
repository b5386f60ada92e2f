//! The collectives of the C interface: every one blocking, nonblocking and persistent, on
//! contiguous and scattered memory, in place and not, against results that every rank computes
//! alone.

mod area;
mod case;
mod inter;
mod movement;
mod neighbours;
mod reduction;
mod requests;
mod speed;

/// Numbers of ranks.
const SIZES: [u32; 4] = [1, 2, 3, 5];

/// Elements of a block.
const COUNTS: [usize; 4] = [0, 1, 7, 5000];

/// The ways in which collectives are run, each with all its cases: on boards where they are small
/// enough, and by messages alone. Other placements of ranks belong here too.
const SETTINGS: &[oxmpi_harness::Setting] = &[
    &[],
    &[("OXMPI_BOARDS", "off")],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "auto")],
];

/// Every one with every other.
fn product<A: Copy, B: Copy>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B> + Clone,
) -> impl Iterator<Item = (A, B)> {
    first
        .into_iter()
        .flat_map(move |a| second.clone().into_iter().map(move |b| (a, b)))
}
