//! The table on the terminal: one per benchmark, numbers to the right, the ratio to the floor
//! beside each.

use std::fmt::Write;

use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};

use super::Report;
use crate::figure::{Row, Scale, Spread};

/// The whole report as text.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    let Report {
        version, machine, ..
    } = report;
    let mut line =
        |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a String takes any text");
    line(format_args!(
        "oxmpi {version} on {} ({} CPUs usable), {}",
        machine.processor, machine.cpus, machine.kernel
    ));
    if let Some(transport) = &report.transport {
        line(format_args!("ranks talk by {transport}"));
    }
    for note in &report.notes {
        line(format_args!("note: {note}"));
    }
    for bench in report.benches() {
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.bench == bench)
            .collect();
        line(format_args!("\n{}", table(bench, &rows)));
        for (row, note) in rows
            .iter()
            .filter_map(|row| Some((row, row.note.as_ref()?)))
        {
            line(format_args!("  {}: {note}", row.name));
        }
    }
    let judged: Vec<bool> = report.rows.iter().filter_map(|row| row.met).collect();
    if !judged.is_empty() {
        let met = judged.iter().filter(|met| **met).count();
        line(format_args!(
            "\n{met} of {} targets met; the spread in brackets is the range of the repetitions",
            judged.len()
        ));
    }
    text
}

/// Rows without rulers between them, so that a table can be pasted into a Markdown page; columns
/// nobody uses are left out.
fn table(bench: &str, rows: &[&Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([bench, "value", "spread", "floor", "ratio", "target", ""]);
    for row in rows {
        let floor = row.floor.as_ref();
        table.add_row([
            row.name.clone(),
            row.unit.fitting(row.value.median).text(row.value.median),
            spread(&row.value, row.unit.fitting(row.value.median)),
            floor.map_or_else(String::new, |floor| {
                let value = floor.value.median;
                format!("{} ({})", row.unit.fitting(value).text(value), floor.name)
            }),
            floor.map_or_else(String::new, |floor| {
                format!(
                    "{:.2} x [{:.2} – {:.2}]",
                    floor.ratio.median, floor.ratio.low, floor.ratio.high
                )
            }),
            row.target
                .map_or_else(String::new, |target| target.text(row.unit)),
            verdict(row.met).to_owned(),
        ]);
    }
    let used = [
        (3, rows.iter().any(|row| row.floor.is_some())),
        (4, rows.iter().any(|row| row.floor.is_some())),
        (5, rows.iter().any(|row| row.target.is_some())),
        (6, rows.iter().any(|row| row.met.is_some())),
    ];
    for (index, column) in table.column_iter_mut().enumerate() {
        if matches!(index, 1 | 2 | 4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if used.contains(&(index, false)) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    table
}

/// The range of repetitions.
pub(crate) fn spread(value: &Spread, scale: Scale) -> String {
    if value.repetitions == 1 {
        String::new()
    } else {
        format!(
            "[{} – {}]",
            scale.number(value.low),
            scale.number(value.high)
        )
    }
}

pub(super) fn verdict(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;

    #[test]
    fn every_row_shows_value_spread_floor_ratio_and_verdict() {
        let text = super::render(&example());
        for part in [
            "80.00 ns",
            "[72.00 – 88.00]",
            "52.00 ns (slot)",
            "1.54 x",
            "≤ 1.6 x",
            "MISSED",
            "3 of 4 targets met",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }
}
