//! The three faces of one set of rows: a table for the terminal, JSON for programs, a page with
//! plots for a browser.
//!
//! A report also names the machine and what was unusual about the run, because a figure without
//! them is a rumour.

#[cfg(test)]
mod browser;
pub mod html;
mod plot;
pub mod table;

use serde::Serialize;

use crate::figure::Row;

/// Everything a run of `oxmpi bench` or `oxmpi pmtest` found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The command that measured.
    pub title: &'static str,
    /// Version of oxmpi.
    pub version: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// How the ranks talked, in the engine's words.
    pub transport: Option<String>,
    /// True for `--quick`: right order of magnitude, wide spread.
    pub quick: bool,
    /// What a reader must know before trusting the figures.
    pub notes: Vec<String>,
    /// The figures, in the order in which they were measured.
    pub rows: Vec<Row>,
}

impl Report {
    /// As JSON, one object, for `--json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only strings and finite numbers")
    }

    /// Names of the benchmarks with rows, in order.
    pub(crate) fn benches(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.bench) {
                names.push(row.bench);
            }
        }
        names
    }
}

/// The machine, as far as figures depend on it.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// CPUs this process may use.
    pub cpus: usize,
    /// Kernel name and release.
    pub kernel: String,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = information
            .lines()
            .find_map(|line| {
                line.strip_prefix("model name")?
                    .split_once(':')
                    .map(|(_, name)| name.trim().to_owned())
            })
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            processor,
            cpus: crate::floor::pair::usable_cpus().len(),
            kernel: format!("Linux {}", release.trim()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figure::{Target, Unit};

    pub(crate) fn example() -> Report {
        let mut rows = Vec::new();
        for (bytes, value, floor) in [
            (8usize, 80.0, 52.0),
            (1024, 200.0, 140.0),
            (65536, 4000.0, 3000.0),
        ] {
            rows.push(
                Row::new(
                    "latency",
                    crate::figure::size_name(bytes),
                    Unit::Nanoseconds,
                    &[value, value * 1.1, value * 0.9],
                )
                .on_floor(
                    "slot",
                    &[value, value * 1.1, value * 0.9],
                    &[floor, floor, floor],
                )
                .aiming(Target::RatioAtMost(1.6))
                .plotted("one way", "bytes", bytes as f64),
            );
        }
        rows.push(
            Row::new("wait", "blocked <2 s>", Unit::Percent, &[0.2]).aiming(Target::AtMost(0.1)),
        );
        Report {
            title: "oxmpi bench",
            version: "0.1.0",
            machine: Machine {
                processor: "Test & Co".into(),
                cpus: 2,
                kernel: "Linux 6".into(),
            },
            transport: Some("ports, single copy".into()),
            quick: true,
            notes: vec!["one CPU only".into()],
            rows,
        }
    }

    /// Everything that can be wide or many: long names and notes, fourteen series, two units in one
    /// benchmark, every kind of number.
    pub(crate) fn crowded() -> Report {
        let mut report = example();
        let long =
            "the longest of names, which stands for what people see in a table of collectives";
        for series in 0..14 {
            let name = match series {
                3 => "allreduce of one mebibyte with a name that is long".to_owned(),
                _ => format!("operation {series}, 64 KiB"),
            };
            for ranks in [2, 4, 8, 16, 32, 64] {
                let value = f64::from(ranks) * (1.0 + f64::from(series) * 0.7);
                let values = [value, value * 1.2, value * 0.7];
                let row = Row::new(
                    "collectives",
                    format!("{name}, {ranks} ranks"),
                    Unit::Microseconds,
                    &values,
                );
                let row = row
                    .on_floor("16 yields + copies", &values, &[value, value, value / 2.0])
                    .plotted(name.clone(), "ranks", f64::from(ranks));
                report.rows.push(match ranks {
                    16 => row.aiming(Target::RatioAtMost(1.1)),
                    _ => row,
                });
            }
        }
        for power in [3, 10, 16, 20, 22] {
            let bytes = f64::from(1 << power);
            for (unit, series, value) in [
                (Unit::Nanoseconds, "one way, tcp", 3200.0 + bytes * 0.2),
                (Unit::GigabytesPerSecond, "stream, udp", bytes / 500_000.0),
            ] {
                let name = format!("{} {series}", crate::figure::size_name(1 << power));
                let floor = [value * 0.9];
                report.rows.push(
                    Row::new("network", name, unit, &[value])
                        .on_floor("a bare connection between them", &[value], &floor)
                        .plotted(series, "bytes", bytes),
                );
            }
        }
        report
            .rows
            .push(Row::new("wait", long, Unit::Percent, &[0.01]).noting(long.repeat(3)));
        report
            .rows
            .push(Row::new("wait", "receive calls", Unit::Calls, &[123_456.0]));
        report.notes.push(long.repeat(4));
        report.transport =
            Some("ports, single copy, and tcp, udp, ethernet, as each figure says".into());
        report.machine.processor =
            "Processor of a maker with a long name, 2.60 GHz, 128 cores".into();
        report
    }

    #[test]
    fn json_has_value_unit_spread_ratio_and_target_for_every_figure() {
        let json: serde_json::Value = serde_json::from_str(&example().to_json()).unwrap();
        let row = &json["rows"][0];
        assert_eq!(row["unit"], "ns");
        assert_eq!(row["value"]["median"], 80.0);
        assert_eq!(row["value"]["low"], 72.0);
        assert_eq!(row["floor"]["name"], "slot");
        assert!(row["floor"]["ratio"]["median"].as_f64().unwrap() > 1.5);
        assert_eq!(row["target"]["kind"], "ratio_at_most");
        assert_eq!(row["met"], true);
        assert_eq!(json["rows"][3]["met"], false);
    }
}
