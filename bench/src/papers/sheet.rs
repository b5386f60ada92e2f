//! Tables with several columns of measured values, as the papers have them.
//!
//! A [`Row`] has one value and its floor; a line of a sheet has a value in each
//! column, some of which may be unknown. `text` and `page` show sheets, `pivot` makes one of rows
//! whose names differ in a word.

use serde::Serialize;

use crate::figure::{Row, Spread, Unit};

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// Of which paper.
    pub paper: &'static str,
    /// What it shows.
    pub title: String,
    /// Heads of the columns of values.
    pub columns: Vec<String>,
    /// Its lines.
    pub lines: Vec<Line>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What was measured.
    pub name: String,
    /// A value for each column, where there is one.
    pub cells: Vec<Option<Cell>>,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Median and range.
    pub value: Spread,
    /// What it counts.
    pub unit: Unit,
}

impl Cell {
    /// Of repetitions; nothing without any.
    pub fn of(unit: Unit, values: &[f64]) -> Option<Cell> {
        (!values.is_empty()).then(|| Cell {
            value: Spread::of(values),
            unit,
        })
    }

    /// A single value.
    pub fn one(unit: Unit, value: f64) -> Option<Cell> {
        Cell::of(unit, &[value])
    }

    /// How many times one is the other, pair by pair.
    pub fn ratio(values: &[f64], others: &[f64]) -> Option<Cell> {
        let pairs = values.iter().zip(others).filter(|(_, other)| **other > 0.0);
        let ratios: Vec<f64> = pairs.map(|(value, other)| value / other).collect();
        Cell::of(Unit::Times, &ratios)
    }

    /// For people: the median, and the range of a ratio.
    pub fn text(&self) -> String {
        let Spread {
            median, low, high, ..
        } = self.value;
        let text = self.unit.fitting(median).text(median);
        match self.unit {
            Unit::Times if self.value.repetitions > 1 => {
                format!("{text} [{low:.2} – {high:.2}]")
            }
            _ => text,
        }
    }
}

impl Sheet {
    /// Without lines.
    pub fn new(paper: &'static str, title: impl Into<String>, columns: &[&str]) -> Sheet {
        Sheet {
            paper,
            title: title.into(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            lines: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Another line; what is missing at its end is unknown.
    pub fn line(&mut self, name: impl Into<String>, mut cells: Vec<Option<Cell>>) {
        cells.resize(self.columns.len(), None);
        self.lines.push(Line {
            name: name.into(),
            cells,
        });
    }

    /// A remark.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Rows whose names are alike but for one of these words, which is a part between commas,
    /// colons and the end: a line for what is alike, and a column for each word that some row has.
    pub fn pivot(paper: &'static str, title: &str, rows: &[Row], words: &[&str]) -> Sheet {
        let split: Vec<(String, &str, &Row)> = rows
            .iter()
            .filter_map(|row| {
                let word = words.iter().find(|word| part(&row.name, word).is_some())?;
                Some((part(&row.name, word)?, *word, row))
            })
            .collect();
        let used: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| split.iter().any(|(_, found, _)| found == word))
            .collect();
        let mut sheet = Sheet::new(paper, title, &used);
        for (name, word, row) in split {
            let place = match sheet.lines.iter().position(|line| line.name == name) {
                Some(place) => place,
                None => {
                    sheet.line(name, Vec::new());
                    sheet.lines.len() - 1
                }
            };
            let column = used.iter().position(|used| *used == word);
            if let Some(column) = column {
                sheet.lines[place].cells[column] = Some(Cell {
                    value: row.value,
                    unit: row.unit,
                });
            }
        }
        sheet
    }
}

/// The name without the word, if the word is one of its parts.
fn part(name: &str, word: &str) -> Option<String> {
    let marked = format!(", {word}");
    let at = name.match_indices(&marked).find(|(at, _)| {
        let rest = &name[at + marked.len()..];
        rest.is_empty() || rest.starts_with([',', ':'])
    });
    at.map(|(at, _)| format!("{}{}", &name[..at], &name[at + marked.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ_in_a_word_become_a_line() {
        let row = |name: &str, value| Row::new("progress", name, Unit::Calls, &[value]);
        let rows = [
            row("ping-pong, calls, sock", 2.0),
            row("ping-pong, calls, user", 1.0),
            row("ping-pong, calls, user, driver thread off", 3.0),
            row("something else", 9.0),
        ];
        let sheet = Sheet::pivot("o2g", "costs", &rows, &["sock", "user", "kernel"]);
        assert_eq!(sheet.columns, ["sock", "user"]);
        let values: Vec<(&str, Vec<Option<f64>>)> = sheet
            .lines
            .iter()
            .map(|line| {
                let values = line.cells.iter();
                let medians = values.map(|cell| cell.map(|cell| cell.value.median));
                (line.name.as_str(), medians.collect())
            })
            .collect();
        assert_eq!(
            values,
            [
                ("ping-pong, calls", vec![Some(2.0), Some(1.0)]),
                ("ping-pong, calls, driver thread off", vec![None, Some(3.0)]),
            ]
        );
    }

    #[test]
    fn a_word_within_a_word_is_none() {
        assert_eq!(part("16 B, user-user", "user"), None);
        assert_eq!(
            part("16 B, user-user: calls", "user-user").as_deref(),
            Some("16 B: calls")
        );
    }

    #[test]
    fn cells_have_units_and_ratios_their_range() {
        let text = |cell: Option<Cell>| cell.map(|cell| cell.text()).unwrap_or_default();
        assert_eq!(
            text(Cell::of(Unit::Nanoseconds, &[4200.0, 4000.0, 4300.0])),
            "4.20 µs"
        );
        assert_eq!(
            text(Cell::ratio(&[2.0, 3.0, 4.0], &[1.0, 1.0, 1.0])),
            "3.00 x [2.00 – 4.00]"
        );
        assert_eq!(text(Cell::ratio(&[2.0], &[0.0])), "");
        assert_eq!(text(Cell::one(Unit::Count, 12.0)), "12.00");
    }
}
