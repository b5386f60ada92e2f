//! What a comparison found, as a table for the terminal and as JSON.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::files::Judged;
use crate::figure::{Spread, Unit, digits};
use crate::report::{Machine, table::spread};

/// Everything `oxmpi bench --against` found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of oxmpi.
    pub version: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// True for `--quick`.
    pub quick: bool,
    /// Rounds.
    pub rounds: usize,
    /// What was compared, OxMPI first.
    pub libraries: Vec<Library>,
    /// What a reader must know before trusting the figures.
    pub notes: Vec<String>,
    /// The figures.
    pub rows: Vec<Row>,
}

/// A library of the comparison.
#[derive(Debug, Serialize)]
pub struct Library {
    /// Name and version.
    pub name: String,
    /// Its prefix.
    pub prefix: String,
    /// The file that was measured.
    pub library: String,
    /// Whether the program for the standard ABI ran with it, or one of its own.
    pub standard_abi: bool,
}

/// The part of the report that comes from the rounds.
pub struct Comparison {
    /// The figures.
    pub rows: Vec<Row>,
    /// Names of the libraries.
    pub names: Vec<String>,
    /// What went wrong.
    pub notes: Vec<String>,
    /// Jobs of which some library gave no figure, whatever the setting.
    pub failures: usize,
}

/// One figure of all libraries.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its group.
    pub bench: &'static str,
    /// What was measured, for people.
    pub name: String,
    /// On how many ranks.
    pub ranks: u32,
    /// Of all values.
    pub unit: Unit,
    /// OxMPI's; nothing if it failed.
    pub ours: Option<Spread>,
    /// The others', without those that failed.
    pub peers: Vec<Peer>,
    /// What was wanted, and whether it was reached.
    pub goals: Vec<Judged>,
}

impl Row {
    /// Whether OxMPI is ahead of every library that has the figure; none if no library has, or
    /// OxMPI failed.
    fn is_ahead(&self) -> Option<bool> {
        let mut ratios = self.peers.iter().filter_map(|peer| peer.ratio);
        let first = ratios.next()?.median > 1.0;
        Some(ratios.fold(first, |ahead, ratio| ahead && ratio.median > 1.0))
    }
}

/// One figure of another library.
#[derive(Debug, Serialize)]
pub struct Peer {
    /// Name and version.
    pub library: String,
    /// The best of its settings, if it has several for such a job.
    pub setting: Option<&'static str>,
    /// Its value under that setting.
    pub value: Spread,
    /// How many times better OxMPI was, round by round; above 1 means faster.
    pub ratio: Option<Spread>,
}

impl Report {
    /// As JSON, one object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only strings and finite numbers")
    }

    /// As tables, one per group.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a String takes any text")
        };
        let machine = &self.machine;
        line(format_args!(
            "oxmpi {} on {} ({} CPUs usable), {}, {} rounds",
            self.version, machine.processor, machine.cpus, machine.kernel, self.rounds
        ));
        for library in &self.libraries {
            let abi = if library.standard_abi {
                "standard ABI"
            } else {
                "ABI of its own"
            };
            line(format_args!("{}: {}, {abi}", library.name, library.library));
        }
        for note in &self.notes {
            line(format_args!("note: {note}"));
        }
        let mut groups: Vec<&str> = self.rows.iter().map(|row| row.bench).collect();
        groups.dedup();
        for group in groups {
            line(format_args!("\n{}", self.table(group)));
        }
        line(format_args!(""));
        let goals: Vec<bool> = self.goals().collect();
        if !goals.is_empty() {
            let met = goals.iter().filter(|met| **met).count();
            line(format_args!("{met} of {} goals are met", goals.len()));
        }
        for library in self.libraries.iter().skip(1) {
            let ratios: Vec<f64> = self.ratios(&library.name).collect();
            let ahead = ratios.iter().filter(|ratio| **ratio > 1.0).count();
            line(format_args!(
                "OxMPI is ahead of {} in {ahead} of {} figures",
                library.name,
                ratios.len()
            ));
        }
        text
    }

    /// Medians of the ratios to one library; loops and calls without MPI are nobody's.
    fn ratios<'a>(&'a self, library: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.rows
            .iter()
            .filter(|row| {
                let bare = ["a loop", "pwrite", "pread"];
                !bare.iter().any(|name| row.name.starts_with(name))
            })
            .flat_map(|row| &row.peers)
            .filter(move |peer| peer.library == library)
            .filter_map(|peer| Some(peer.ratio?.median))
    }

    fn goals(&self) -> impl Iterator<Item = bool> + '_ {
        let goals = self.rows.iter().flat_map(|row| &row.goals);
        goals.map(|goal| goal.met)
    }

    fn table(&self, group: &str) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let mut header = vec![group, "OxMPI", "spread"];
        for library in self.libraries.iter().skip(1) {
            header.extend([library.name.as_str(), "ratio"]);
        }
        let has_goals = |row: &&Row| row.bench == group && !row.goals.is_empty();
        let has_goals = self.rows.iter().any(|row| has_goals(&row));
        header.extend(has_goals.then_some("goal"));
        header.push("ahead of all");
        table.set_header(header);
        for row in self.rows.iter().filter(|row| row.bench == group) {
            let ours = row.ours.as_ref();
            // All of a row in one unit, so that they can be compared.
            let scale = row.unit.fitting(ours.map_or(0.0, |ours| ours.median));
            let mut cells = vec![
                row.name.clone(),
                ours.map_or_else(|| "failed".to_owned(), |ours| scale.text(ours.median)),
                ours.map_or_else(String::new, |ours| spread(ours, scale)),
            ];
            for library in self.libraries.iter().skip(1) {
                let peer = row.peers.iter().find(|peer| peer.library == library.name);
                cells.push(peer.map_or_else(
                    || "failed".to_owned(),
                    |peer| {
                        let setting = peer
                            .setting
                            .map_or_else(String::new, |name| format!(" ({name})"));
                        format!("{}{setting}", scale.text(peer.value.median))
                    },
                ));
                cells.push(
                    peer.and_then(|peer| peer.ratio)
                        .map_or_else(String::new, |ratio| {
                            format!(
                                "{} x [{} – {}]",
                                digits(ratio.median),
                                digits(ratio.low),
                                digits(ratio.high)
                            )
                        }),
                );
            }
            if has_goals {
                let goals: Vec<&str> = row.goals.iter().map(|goal| goal.goal.as_str()).collect();
                cells.push(goals.join("; "));
            }
            cells.push(match row.is_ahead() {
                Some(true) => "yes".to_owned(),
                Some(false) => "no".to_owned(),
                None => String::new(),
            });
            table.add_row(cells);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Report {
        let library = |name: &str, standard_abi| Library {
            name: name.into(),
            prefix: "/opt/mpi".into(),
            library: "/opt/mpi/lib/libmpi.so".into(),
            standard_abi,
        };
        Report {
            version: "0.1.0",
            machine: Machine {
                processor: "Test".into(),
                cpus: 2,
                kernel: "Linux 6".into(),
            },
            quick: false,
            rounds: 3,
            libraries: vec![
                library("OxMPI 0.1.0", true),
                library("Open MPI 5.0.11", false),
            ],
            notes: vec!["something".into()],
            rows: vec![
                Row {
                    bench: "latency",
                    name: "8 B one way".into(),
                    ranks: 2,
                    unit: Unit::Nanoseconds,
                    ours: Some(Spread::of(&[100.0, 110.0, 90.0])),
                    peers: vec![Peer {
                        library: "Open MPI 5.0.11".into(),
                        setting: Some("unbound"),
                        value: Spread::of(&[300.0]),
                        ratio: Some(Spread::of(&[2.5, 3.0, 3.5])),
                    }],
                    goals: Vec::new(),
                },
                Row {
                    bench: "startup",
                    name: "2 ranks".into(),
                    ranks: 2,
                    unit: Unit::Milliseconds,
                    ours: Some(Spread::of(&[4.0])),
                    peers: Vec::new(),
                    goals: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn the_table_shows_value_setting_ratio_and_what_failed() {
        let text = example().to_text();
        for part in [
            "Open MPI 5.0.11: /opt/mpi/lib/libmpi.so, ABI of its own",
            "note: something",
            "100.0 ns",
            "[90.00 – 110.0]",
            "300.0 ns (unbound)",
            "3.00 x [2.50 – 3.50]",
            " yes |",
            "failed",
            "OxMPI is ahead of Open MPI 5.0.11 in 1 of 1 figures",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }

    #[test]
    fn json_has_values_and_ratios_of_every_library() {
        let json: serde_json::Value = serde_json::from_str(&example().to_json()).unwrap();
        assert_eq!(json["libraries"][1]["standard_abi"], false);
        let row = &json["rows"][0];
        assert_eq!(
            (&row["unit"], &row["ours"]["median"]),
            (&"ns".into(), &100.0.into())
        );
        assert_eq!(row["peers"][0]["ratio"]["median"], 3.0);
        assert_eq!(row["peers"][0]["setting"], "unbound");
    }
}
