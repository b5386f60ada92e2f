//! The page: one file with its style and its plots inside, so that it opens anywhere, also without
//! a network.

use std::fmt::Write;
use std::path::Path;

use oxmpi_trust::{Access, FileError};

use super::table::{spread, verdict};
use super::{Report, plot};
use crate::figure::{Row, digits};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #ccc}\
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #e4e4e4;white-space:nowrap}\
th:first-child,td:first-child,td.left,th.left{text-align:left}\
.met{color:#00704a}.missed{color:#b3261e;font-weight:600}.dim{color:#777}\
figure{margin:1rem 0;overflow-x:auto}svg{max-width:100%;height:auto}ul{padding-left:1.2rem}";

/// Writes the page to a file that the user names.
pub fn write(path: &Path, report: &Report) -> Result<(), FileError> {
    use std::io::Write;
    let mut file = oxmpi_trust::create(path, Access::Usual)?;
    file.write_all(render(report).as_bytes())
        .map_err(|source| FileError::System {
            path: path.to_owned(),
            source,
        })
}

/// The whole report as an HTML page.
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    let mut put =
        |part: std::fmt::Arguments<'_>| writeln!(page, "{part}").expect("a String takes any text");
    let (machine, title) = (&report.machine, report.title);
    put(format_args!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>"
    ));
    put(format_args!(
        "<h1>{title}</h1><p>oxmpi {} on {} ({} CPUs usable), {}.{}{}</p>",
        report.version,
        escape(&machine.processor),
        machine.cpus,
        escape(&machine.kernel),
        report
            .transport
            .as_ref()
            .map_or_else(String::new, |by| format!(" Ranks talk by {}.", escape(by))),
        if report.quick {
            " Quick run: the spread is wide."
        } else {
            ""
        },
    ));
    put(format_args!(
        "<p class=\"dim\">Each figure is the median of its repetitions, its range in brackets. A figure and its floor, the \
         bare mechanism without a library, were measured alternately; the ratio is the median of the pairs.</p>"
    ));
    if !report.notes.is_empty() {
        let notes: String = report
            .notes
            .iter()
            .map(|note| format!("<li>{}</li>", escape(note)))
            .collect();
        put(format_args!("<ul>{notes}</ul>"));
    }
    let judged: Vec<&Row> = report.rows.iter().filter(|row| row.met.is_some()).collect();
    if !judged.is_empty() {
        let met = judged.iter().filter(|row| row.met == Some(true)).count();
        put(format_args!(
            "<h2>Targets: {met} of {} met</h2>{}",
            judged.len(),
            table(&judged, true)
        ));
    }
    for bench in report.benches() {
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.bench == bench)
            .collect();
        put(format_args!("<h2 id=\"{bench}\">{bench}</h2>"));
        if let Some(drawing) = plot::svg(bench, &rows) {
            put(format_args!("<figure>{drawing}</figure>"));
        }
        put(format_args!("{}", table(&rows, false)));
        for (row, note) in rows
            .iter()
            .filter_map(|row| Some((row, row.note.as_ref()?)))
        {
            put(format_args!(
                "<p class=\"dim\">{}: {}</p>",
                escape(&row.name),
                escape(note)
            ));
        }
    }
    put(format_args!("</body></html>"));
    page
}

fn table(rows: &[&Row], with_bench: bool) -> String {
    let mut text = String::from(
        "<table><tr><th>figure</th><th>value</th><th>spread</th><th>floor</th><th class=\"left\"></th><th>ratio</th><th>target</th><th></th></tr>",
    );
    for row in rows {
        let floor = row.floor.as_ref();
        let name = if with_bench {
            format!("{}: {}", row.bench, row.name)
        } else {
            row.name.clone()
        };
        let cells = format!(
            "<tr><td>{}</td><td>{} {unit}</td><td class=\"dim\">{}</td><td>{}</td><td class=\"left dim\">{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>",
            escape(&name),
            digits(row.value.median),
            spread(&row.value),
            floor.map_or_else(String::new, |floor| format!(
                "{} {}",
                digits(floor.value.median),
                row.unit.symbol()
            )),
            floor.map_or_else(String::new, |floor| escape(&floor.name)),
            floor.map_or_else(String::new, |floor| format!(
                "{:.2} x <span class=\"dim\">[{:.2} – {:.2}]</span>",
                floor.ratio.median, floor.ratio.low, floor.ratio.high
            )),
            row.target
                .map_or_else(String::new, |target| target.to_string()),
            if row.met == Some(false) {
                "missed"
            } else {
                "met"
            },
            verdict(row.met),
            unit = row.unit.symbol(),
        );
        text.push_str(&cells);
    }
    text.push_str("</table>");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;

    #[test]
    fn the_page_stands_alone() {
        let page = super::render(&example());
        assert!(page.contains("<svg") && page.contains("</html>"));
        for outside in ["<script", "<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} would need a network");
        }
        assert!(page.contains("Test &amp; Co") && page.contains("blocked &lt;2 s&gt;"));
        assert!(page.contains("Targets: 3 of 4 met"));
    }
}
