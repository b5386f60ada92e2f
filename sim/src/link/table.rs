//! The table of throughput over loss that `docs/link.md` shows, generated so that it cannot grow
//! old.
//!
//! `cargo run --release -p oxmpi-sim -- link-table` prints it, `… link-table docs/link.md` writes
//! it between its marks; a test compares what is generated with what the page says.

use std::fmt::Write as _;

use oxmpi_link::Recovery;

use super::bulk::{Path, Transfer};
use super::network::Time;
use super::scenario::MS;

/// The line before the table.
pub const BEGIN: &str =
    "<!-- generated: cargo run --release -p oxmpi-sim -- link-table docs/link.md -->";
/// The line after it.
pub const END: &str = "<!-- end of the generated table -->";

/// Loss in millionths.
const LOSSES_PPM: [u32; 8] = [0, 1_000, 10_000, 20_000, 50_000, 100_000, 200_000, 300_000];

/// A column: its head, the path, how losses are made good, whether the window obeys congestion, and
/// how long it is measured.
const COLUMNS: [(&str, Path, Recovery, bool, Time); 6] = [
    (
        "LAN, go-back-N",
        Path::Lan,
        Recovery::GoBackN,
        false,
        100 * MS,
    ),
    (
        "LAN, selective",
        Path::Lan,
        Recovery::Selective,
        false,
        100 * MS,
    ),
    (
        "IP, go-back-N",
        Path::Ip,
        Recovery::GoBackN,
        false,
        1000 * MS,
    ),
    (
        "IP, selective",
        Path::Ip,
        Recovery::Selective,
        false,
        1000 * MS,
    ),
    (
        "IP, congestion, go-back-N",
        Path::Ip,
        Recovery::GoBackN,
        true,
        1000 * MS,
    ),
    (
        "IP, congestion, selective",
        Path::Ip,
        Recovery::Selective,
        true,
        1000 * MS,
    ),
];

/// The table: payload in Mbit/s.
pub fn generate() -> Result<String, String> {
    let mut table = String::from("| loss |");
    for (head, ..) in COLUMNS {
        write!(table, " {head} |").expect("a string takes everything");
    }
    table.push_str("\n|--:|");
    table.push_str(&"--:|".repeat(COLUMNS.len()));
    table.push('\n');
    for loss_ppm in LOSSES_PPM {
        write!(table, "| {} % |", f64::from(loss_ppm) / 10_000.0)
            .expect("a string takes everything");
        for (_, path, recovery, congestion, measured) in COLUMNS {
            let transfer = Transfer {
                path,
                recovery,
                congestion,
                loss_ppm,
                flows: 1,
                seed: 1,
            };
            let bytes = transfer.bytes(measured / 10, measured)?[0];
            write!(table, " {} |", bytes * 8 * 1_000 / measured)
                .expect("a string takes everything");
        }
        table.push('\n');
    }
    Ok(table)
}

/// The table that a page shows.
pub fn shown(page: &str) -> Option<&str> {
    let (_, after) = page.split_once(BEGIN)?;
    let (table, _) = after.split_once(END)?;
    Some(table.trim_start_matches('\n'))
}

/// The page with another table.
pub fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, after) = page.split_once(BEGIN)?;
    let (_, after) = after.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}
