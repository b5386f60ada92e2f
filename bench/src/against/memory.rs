//! The group `memory`: what a rank occupies, after MPI_Init and after an all-to-all.
//!
//! A figure's key is what `memory.c` takes. The buffers of the all-to-all are freed before the
//! kernel is asked, so what is left is the library's; what the C library keeps of them is the same
//! for every MPI library.

use crate::figure::size_name;

/// Its name on the command line.
pub const MEMORY: &str = "memory";

/// Ranks where none are asked for; for a quick run.
pub const RANKS: [&[u32]; 2] = [&[128], &[16]];

/// In this order: what an all-to-all has left behind cannot be undone.
pub const FIGURES: [&str; 4] = ["pss:0", "private:0", "pss:1024", "private:1024"];

/// Whether these groups have it.
pub fn is_wanted(groups: &[String]) -> bool {
    groups.iter().any(|group| group == MEMORY)
}

/// A figure for people.
pub fn title(figure: &str, ranks: u32) -> String {
    let (kind, bytes) = figure.split_once(':').unwrap_or((figure, "0"));
    let what = match kind {
        "pss" => "shared by share",
        _ => "private",
    };
    match bytes.parse().unwrap_or(0) {
        0 => format!("{what}, after MPI_Init, {ranks} ranks"),
        bytes => format!(
            "{what}, after an all-to-all of {}, {ranks} ranks",
            size_name(bytes)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_for_people() {
        let titles = FIGURES.map(|figure| title(figure, 128));
        assert_eq!(titles[0], "shared by share, after MPI_Init, 128 ranks");
        assert_eq!(
            titles[3],
            "private, after an all-to-all of 1 KiB, 128 ranks"
        );
    }
}
