//! What a measurement is: a median with its spread, the floor it stands on, their ratio, and the
//! goal set for it.
//!
//! Every benchmark produces `Row`s and nothing else; `report` turns them into a table, JSON or a
//! page. Ratios are medians of ratios of neighbours in time, never ratios of medians: hypervisors
//! move virtual CPUs, and a ratio taken across such a move compares two machines.

use serde::{Deserialize, Serialize};

/// Median and range of several repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// How many there were.
    pub repetitions: usize,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        let median = crate::floor::median(&mut sorted);
        Spread {
            median,
            low: sorted[0],
            high: sorted[sorted.len() - 1],
            repetitions: sorted.len(),
        }
    }

    /// All three values multiplied, for a change of unit.
    pub fn scaled(self, factor: f64) -> Spread {
        Spread {
            median: self.median * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }
}

/// What a number counts. Time and memory are better small, everything else large, except a share of
/// CPU and system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// 10^9 bytes per second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// 10^6 bytes per second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// 10^6 messages per second.
    #[serde(rename = "M/s")]
    MillionPerSecond,
    /// Hundredths of a CPU, or of a transfer.
    #[serde(rename = "%")]
    Percent,
    /// System calls.
    #[serde(rename = "calls")]
    Calls,
    /// Frames, messages, events.
    #[serde(rename = "count")]
    Count,
    /// Memory.
    #[serde(rename = "B")]
    Bytes,
    /// A pure number: how many times as much.
    #[serde(rename = "x")]
    Times,
}

impl Unit {
    /// As printed.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::MegabytesPerSecond => "MB/s",
            Unit::MillionPerSecond => "M/s",
            Unit::Percent => "%",
            Unit::Calls => "calls",
            Unit::Count => "",
            Unit::Bytes => "B",
            Unit::Times => "x",
        }
    }

    /// The unit of the same kind in which a value of this unit has one to three digits before the
    /// point: 4200 ns are 4.2 µs.
    pub fn fitting(self, value: f64) -> Scale {
        const NANOSECONDS: &[(f64, &str)] = &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
        const BYTES_PER_SECOND: &[(f64, &str)] =
            &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];
        const BYTES: &[(f64, &str)] = &[
            (1.0, "B"),
            (1024.0, "KiB"),
            (1_048_576.0, "MiB"),
            (1_073_741_824.0, "GiB"),
        ];
        const PER_SECOND: &[(f64, &str)] = &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s")];
        let (own, kind) = match self {
            Unit::Nanoseconds => (1.0, NANOSECONDS),
            Unit::Microseconds => (1e3, NANOSECONDS),
            Unit::Milliseconds => (1e6, NANOSECONDS),
            Unit::GigabytesPerSecond => (1e9, BYTES_PER_SECOND),
            Unit::MegabytesPerSecond => (1e6, BYTES_PER_SECOND),
            Unit::MillionPerSecond => (1e6, PER_SECOND),
            Unit::Bytes => (1.0, BYTES),
            Unit::Percent | Unit::Calls | Unit::Count | Unit::Times => (1.0, &[][..]),
        };
        let size = value.abs() * own;
        // A rounding error must not make 1000 ns of a microsecond.
        let fits = |(unit, _): &&(f64, &str)| size >= unit * (1.0 - 1e-9);
        match kind.iter().rev().find(fits).or(kind.first()) {
            Some((unit, symbol)) if value != 0.0 => Scale {
                factor: own / unit,
                symbol,
            },
            _ => Scale {
                factor: 1.0,
                symbol: self.symbol(),
            },
        }
    }
}

/// How a number of one unit is written in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// What it is multiplied with.
    pub factor: f64,
    /// The unit's symbol.
    pub symbol: &'static str,
}

impl Scale {
    /// The number alone.
    pub fn number(self, value: f64) -> String {
        digits(value * self.factor)
    }

    /// The number with its unit.
    pub fn text(self, value: f64) -> String {
        format!("{} {}", self.number(value), self.symbol)
            .trim_end()
            .to_owned()
    }
}

/// Three or four significant digits: what repetitions can support.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A goal set for a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "bound", rename_all = "snake_case")]
pub enum Target {
    /// Ratio to the floor.
    RatioAtMost(f64),
    /// Ratio to the floor.
    RatioAtLeast(f64),
    /// The value itself, in the row's unit.
    AtMost(f64),
    /// The value itself, in the row's unit.
    AtLeast(f64),
}

impl Target {
    /// As people read it, for a row of this unit.
    pub fn text(self, unit: Unit) -> String {
        let own = |bound: f64| {
            let scale = unit.fitting(bound);
            // A bound is a round number: 20 ms, 0.33 µs.
            let number = (bound * scale.factor * 1e6).round() / 1e6;
            format!("{number} {}", scale.symbol).trim_end().to_owned()
        };
        match self {
            Target::RatioAtMost(bound) => format!("≤ {bound} x"),
            Target::RatioAtLeast(bound) => format!("≥ {bound} x"),
            Target::AtMost(bound) => format!("≤ {}", own(bound)),
            Target::AtLeast(bound) => format!("≥ {}", own(bound)),
        }
    }
}

/// The bare mechanism beside a row.
#[derive(Clone, Debug, Serialize)]
pub struct Floor {
    /// Which mechanism.
    pub name: String,
    /// Measured in the same run, alternately with the row, in the row's unit.
    pub value: Spread,
    /// Median and range of (row / floor), pair by pair.
    pub ratio: Spread,
}

/// Where a row stands in a plot.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The line it belongs to.
    pub series: String,
    /// What the horizontal axis counts: "bytes", "ranks", "entries".
    pub axis: &'static str,
    /// Position on that axis.
    pub x: f64,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the benchmark, as given on the command line.
    pub bench: &'static str,
    /// What was measured, for people.
    pub name: String,
    /// Its value.
    pub value: Spread,
    /// Unit of value and floor.
    pub unit: Unit,
    /// What it stands on.
    pub floor: Option<Floor>,
    /// What it should reach.
    pub target: Option<Target>,
    /// Whether it does; nothing without a target.
    pub met: Option<bool>,
    /// Its place in a plot.
    pub point: Option<Point>,
    /// A remark shown under the table.
    pub note: Option<String>,
}

impl Row {
    /// A row without floor, goal or place.
    pub fn new(bench: &'static str, name: impl Into<String>, unit: Unit, values: &[f64]) -> Row {
        Row {
            bench,
            name: name.into(),
            value: Spread::of(values),
            unit,
            floor: None,
            target: None,
            met: None,
            point: None,
            note: None,
        }
    }

    /// With the floor's values, one for each of the row's own: ratios are taken pair by pair.
    pub fn on_floor(mut self, name: impl Into<String>, values: &[f64], floors: &[f64]) -> Row {
        assert_eq!(
            values.len(),
            floors.len(),
            "a figure and its floor are measured alternately, so they come in pairs"
        );
        let ratios: Vec<f64> = values
            .iter()
            .zip(floors)
            .map(|(value, floor)| value / floor)
            .collect();
        self.floor = Some(Floor {
            name: name.into(),
            value: Spread::of(floors),
            ratio: Spread::of(&ratios),
        });
        self.judge()
    }

    /// With a goal.
    pub fn aiming(mut self, target: Target) -> Row {
        self.target = Some(target);
        self.judge()
    }

    /// With a place in a plot.
    pub fn plotted(mut self, series: impl Into<String>, axis: &'static str, x: f64) -> Row {
        self.point = Some(Point {
            series: series.into(),
            axis,
            x,
        });
        self
    }

    /// With a remark.
    pub fn noting(mut self, note: impl Into<String>) -> Row {
        self.note = Some(note.into());
        self
    }

    fn judge(mut self) -> Row {
        let ratio = self.floor.as_ref().map(|floor| floor.ratio.median);
        self.met = self.target.and_then(|target| match target {
            Target::RatioAtMost(bound) => ratio.map(|ratio| ratio <= bound),
            Target::RatioAtLeast(bound) => ratio.map(|ratio| ratio >= bound),
            Target::AtMost(bound) => Some(self.value.median <= bound),
            Target::AtLeast(bound) => Some(self.value.median >= bound),
        });
        self
    }
}

/// Bytes as people write them: "8 B", "64 KiB", "4 MiB".
pub fn size_name(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 if bytes.is_multiple_of(1024) => format!("{} KiB", bytes >> 10),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} KiB", bytes as f64 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine became four times slower half-way; the ratio of neighbours does not notice.
        let row = Row::new("latency", "8 B", Unit::Nanoseconds, &[150.0, 600.0, 600.0])
            .on_floor("flag hop", &[150.0, 600.0, 600.0], &[100.0, 400.0, 400.0])
            .aiming(Target::RatioAtMost(1.6));
        assert_eq!(
            row.floor.as_ref().map(|floor| floor.ratio.median),
            Some(1.5)
        );
        assert_eq!(row.met, Some(true));
    }

    #[test]
    fn a_ratio_target_without_a_floor_is_not_judged() {
        let row =
            Row::new("latency", "8 B", Unit::Nanoseconds, &[1.0]).aiming(Target::RatioAtMost(1.6));
        assert_eq!(row.met, None);
    }

    #[test]
    fn an_even_number_of_values_has_its_median_between_the_middle_two() {
        assert_eq!(
            Spread::of(&[4.0, 1.0, 2.0, 3.0]),
            Spread {
                median: 2.5,
                low: 1.0,
                high: 4.0,
                repetitions: 4
            }
        );
    }

    #[test]
    fn units_fit_the_number() {
        let text = |unit: Unit, value: f64| unit.fitting(value).text(value);
        assert_eq!(text(Unit::Nanoseconds, 80.0), "80.00 ns");
        assert_eq!(text(Unit::Nanoseconds, 4200.0), "4.20 µs");
        assert_eq!(text(Unit::Microseconds, 0.33), "330.0 ns");
        assert_eq!(text(Unit::Microseconds, 1.0), "1.00 µs");
        assert_eq!(text(Unit::Milliseconds, 12_345.0), "12.35 s");
        assert_eq!(text(Unit::GigabytesPerSecond, 0.04), "40.00 MB/s");
        assert_eq!(text(Unit::MegabytesPerSecond, 2500.0), "2.50 GB/s");
        assert_eq!(text(Unit::MillionPerSecond, 0.25), "250.0 k/s");
        assert_eq!(text(Unit::Bytes, 640.0 * 1024.0), "640.0 KiB");
        assert_eq!(text(Unit::Bytes, 2_621_440.0), "2.50 MiB");
        assert_eq!(text(Unit::Percent, 0.2), "0.20 %");
        assert_eq!(text(Unit::Count, 12.0), "12.00");
        assert_eq!(text(Unit::Nanoseconds, 0.0), "0.00 ns");
        assert_eq!(
            Target::AtMost(0.33).text(Unit::Microseconds),
            "≤ 330 ns",
            "bounds are round numbers"
        );
        assert_eq!(Target::AtLeast(90.0).text(Unit::Percent), "≥ 90 %");
    }

    #[test]
    fn sizes_are_written_as_people_do() {
        let names: Vec<String> = [8, 1024, 65536, 1 << 20, 4 << 20, 1536]
            .map(size_name)
            .into();
        assert_eq!(
            names,
            ["8 B", "1 KiB", "64 KiB", "1 MiB", "4 MiB", "1.5 KiB"]
        );
    }
}
