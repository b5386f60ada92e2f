//! The group `files`: access to one file by all ranks, its figures and goals.
//!
//! A figure's key is what `files.c` takes: pattern, bytes and medium. Every figure is measured on
//! tmpfs, where the library's own work shows, and in the page cache of a disk's file system.

use serde::Serialize;

use crate::figure::{digits, size_name};

/// Its name on the command line.
pub const FILES: &str = "files";

/// Numbers of ranks.
pub const RANKS: [u32; 3] = [2, 4, 16];

/// Figures with the numbers of ranks that have them. Those that take some libraries longest come
/// last, so that a job whose time is up has the others; before them those that end the job of some
/// libraries: Intel MPI 2021.18.1 aborts when it is given a subarray as a view.
macro_rules! figures {
    ($medium:literal) => {
        [
            (concat!("pwrite:1048576@", $medium), &RANKS),
            (concat!("write:1048576@", $medium), &RANKS),
            (concat!("pread:1048576@", $medium), &RANKS),
            (concat!("read:1048576@", $medium), &RANKS),
            (concat!("append:64@", $medium), &[16]),
            (concat!("overlap:67108864@", $medium), &[2]),
            (concat!("write-all:65536@", $medium), &RANKS),
            (concat!("read-all:65536@", $medium), &RANKS),
            (concat!("write-all:4096@", $medium), &RANKS),
            (concat!("read-all:4096@", $medium), &RANKS),
            (concat!("write-all:512@", $medium), &RANKS),
            (concat!("read-all:512@", $medium), &RANKS),
            (concat!("write-cube:128@", $medium), &[4, 16]),
            (concat!("read-cube:128@", $medium), &[4, 16]),
            (concat!("write-all:8@", $medium), &RANKS),
            (concat!("read-all:8@", $medium), &RANKS),
        ]
    };
}

type Figures = [(&'static str, &'static [u32]); 16];
const TMPFS: Figures = figures!("tmpfs");
const DISK: Figures = figures!("disk");

/// Whether these groups have it.
pub fn is_wanted(groups: &[String]) -> bool {
    groups.iter().any(|group| group == FILES)
}

/// The figures of each medium for so many ranks.
pub fn figures(ranks: u32) -> [Vec<&'static str>; 2] {
    [TMPFS, DISK].map(|medium| {
        let has = medium.iter().filter(|(_, counts)| counts.contains(&ranks));
        has.map(|(figure, _)| *figure).collect()
    })
}

/// A key's pattern, number and medium.
fn parts(figure: &str) -> (&str, usize, &str) {
    let (pattern, rest) = figure.split_once(':').unwrap_or((figure, "0@"));
    let (number, medium) = rest.split_once('@').unwrap_or((rest, ""));
    (pattern, number.parse().unwrap_or(0), medium)
}

/// A figure for people.
pub fn title(figure: &str, ranks: u32) -> String {
    let (pattern, number, medium) = parts(figure);
    let what = match pattern {
        "write-all" => format!("write_at_all, pieces of {}", size_name(number)),
        "read-all" => format!("read_at_all, pieces of {}", size_name(number)),
        "write-cube" => format!("write_at_all, blocks of {number}³ doubles"),
        "read-cube" => format!("read_at_all, blocks of {number}³ doubles"),
        "append" => format!("write_shared, {}", size_name(number)),
        "overlap" => format!("iwrite_at_all over, {}", size_name(number)),
        "write" | "read" => format!("{pattern}_at, {}", size_name(number)),
        plain => format!("{plain}, {}", size_name(number)),
    };
    format!("{what}, {ranks} ranks, {medium}")
}

/// What a figure shall reach.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// So many times the best other library.
    Peers(f64),
    /// So many times another figure of OxMPI in the same job.
    Figure(String, f64),
    /// The value itself, in percent.
    Percent(f64),
}

/// The goals of a figure.
pub fn goals(figure: &str) -> Vec<Goal> {
    let (pattern, number, medium) = parts(figure);
    let other = |pattern: &str| format!("{pattern}:1048576@{medium}");
    match pattern {
        "write" | "read" => vec![Goal::Figure(other(&format!("p{pattern}")), 0.95)],
        "write-all" if number == 4096 => {
            vec![Goal::Peers(1.0), Goal::Figure(other("write"), 0.5)]
        }
        "read-all" if number == 4096 => vec![Goal::Peers(1.0), Goal::Figure(other("read"), 0.5)],
        "write-all" | "read-all" | "write-cube" | "read-cube" => vec![Goal::Peers(1.0)],
        "append" => vec![Goal::Peers(5.0)],
        "overlap" => vec![Goal::Percent(90.0)],
        _ => Vec::new(),
    }
}

/// A goal with what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// What was wanted and what was found, for people.
    pub goal: String,
    /// Whether it is met.
    pub met: bool,
}

impl Goal {
    /// Holds the goal against a value: a ratio or a percentage.
    pub fn judge(&self, found: f64) -> Judged {
        let (wanted, unit, beside) = match self {
            Goal::Peers(wanted) => (*wanted, "x", " the best other"),
            Goal::Figure(other, wanted) => {
                let pattern = parts(other).0;
                return judged(*wanted, found, "x", &format!(" {pattern}"));
            }
            Goal::Percent(wanted) => (*wanted, "%", ""),
        };
        judged(wanted, found, unit, beside)
    }
}

fn judged(wanted: f64, found: f64, unit: &str, beside: &str) -> Judged {
    let met = found >= wanted;
    let verdict = if met { "met" } else { "MISSED" };
    let found = digits(found);
    Judged {
        goal: format!("≥ {wanted} {unit}{beside}: {verdict} ({found} {unit})"),
        met,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_verdicts_are_for_people() {
        assert_eq!(
            title("write-all:4096@tmpfs", 16),
            "write_at_all, pieces of 4 KiB, 16 ranks, tmpfs"
        );
        let goals = goals("write-all:4096@disk");
        assert_eq!(goals[1].judge(0.4).goal, "≥ 0.5 x write: MISSED (0.40 x)");
        assert_eq!(
            Goal::Percent(90.0).judge(97.0),
            Judged {
                goal: "≥ 90 %: met (97.00 %)".into(),
                met: true
            }
        );
    }
}
