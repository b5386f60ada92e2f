//! The page: one file with its style and its plots inside, so that it opens anywhere, also without
//! a network.
//!
//! It is made for windows of 400 px and more: what is wide (tables, plots) scrolls by itself, and
//! the page never does.

use std::fmt::Write;
use std::path::Path;

use oxmpi_trust::{Access, FileError};

use super::table::{spread, verdict};
use super::{Report, plot};
use crate::figure::Row;

/// Of all pages.
pub(crate) const STYLE: &str = include_str!("page.css");

/// Whether [`write()`] will be able to: asked before minutes of measuring.
pub fn check(path: &Path) -> Result<(), FileError> {
    oxmpi_trust::would_create(path, Access::Usual)
}

/// Writes the page to a file that the user names.
pub fn write(path: &Path, report: &Report) -> Result<(), FileError> {
    write_page(path, &render(report))
}

/// Writes a page that is made already.
pub(crate) fn write_page(path: &Path, page: &str) -> Result<(), FileError> {
    use std::io::Write;
    let mut file = oxmpi_trust::create(path, Access::Usual)?;
    file.write_all(page.as_bytes())
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
    let title = report.title;
    put(format_args!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>\n{STYLE}</style></head><body>"
    ));
    put(format_args!("<header><h1>{title}</h1>{}", facts(report)));
    put(format_args!(
        "<p class=\"soft\">Each figure is the median of its repetitions, with their range. A figure \
         and its floor, the bare mechanism without a library, were measured alternately; the ratio \
         is the median of the pairs.</p>{}</header>",
        notes(report)
    ));
    let benches = report.benches();
    if benches.len() > 1 {
        let link = |bench: &&str| format!("<li><a href=\"#{bench}\">{bench}</a></li>");
        let links: String = benches.iter().map(link).collect();
        put(format_args!(
            "<nav aria-label=\"benchmarks\"><ul>{links}</ul></nav>"
        ));
    }
    put(format_args!("<main>{}", targets(report)));
    for bench in benches {
        let of_bench = report.rows.iter().filter(|row| row.bench == bench);
        let rows: Vec<&Row> = of_bench.collect();
        put(format_args!("<section id=\"{bench}\"><h2>{bench}</h2>"));
        let plots = plot::figures(bench, &rows, escape);
        if !plots.is_empty() {
            put(format_args!("<div class=\"plots\">{plots}</div>"));
        }
        put(format_args!("{}", table(bench, &rows, false)));
        for row in &rows {
            if let Some(note) = &row.note {
                let (name, note) = (escape(&row.name), escape(note));
                put(format_args!("<p class=\"soft\">{name}: {note}</p>"));
            }
        }
        put(format_args!("</section>"));
    }
    put(format_args!("</main></body></html>"));
    page
}

/// What was measured, and where.
fn facts(report: &Report) -> String {
    let machine = &report.machine;
    let mut facts = vec![
        ("version", format!("oxmpi {}", report.version)),
        ("processor", machine.processor.clone()),
        ("CPUs usable", machine.cpus.to_string()),
        ("kernel", machine.kernel.clone()),
    ];
    if let Some(transport) = &report.transport {
        facts.push(("ranks talk by", transport.clone()));
    }
    if report.quick {
        facts.push(("run", "quick: the spread is wide".to_owned()));
    }
    let entry = |(name, value): &(&str, String)| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(value))
    };
    let facts: String = facts.iter().map(entry).collect();
    format!("<dl class=\"facts\">{facts}</dl>")
}

fn notes(report: &Report) -> String {
    if report.notes.is_empty() {
        return String::new();
    }
    let entry = |note: &String| format!("<li>{}</li>", escape(note));
    let notes: String = report.notes.iter().map(entry).collect();
    format!("<div class=\"notes\"><ul>{notes}</ul></div>")
}

/// All rows with a target, and how many reach it.
fn targets(report: &Report) -> String {
    let judged: Vec<&Row> = report.rows.iter().filter(|row| row.met.is_some()).collect();
    if judged.is_empty() {
        return String::new();
    }
    let (met, all) = (
        judged.iter().filter(|row| row.met == Some(true)).count(),
        judged.len(),
    );
    let share = 100 * met / all;
    format!(
        "<section id=\"targets\"><h2>Targets: {met} of {all} met</h2>\
         <div class=\"share\" role=\"img\" aria-label=\"{met} of {all} met\">\
         <span style=\"width:{share}%\"></span></div>{}</section>",
        table("targets", &judged, true)
    )
}

/// Columns that no row uses are left out.
fn table(name: &str, rows: &[&Row], with_bench: bool) -> String {
    let floors = rows.iter().any(|row| row.floor.is_some());
    let targets = rows.iter().any(|row| row.target.is_some());
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of {name}\"><table>\
         <thead><tr><th>figure</th><th>value</th>"
    );
    let ranges = rows.iter().any(|row| row.value.repetitions > 1);
    if ranges {
        text.push_str("<th>range</th>");
    }
    if floors {
        text.push_str("<th>floor</th><th class=\"left\">which is</th><th>ratio</th><th>range</th>");
    }
    if targets {
        text.push_str("<th>target</th><th></th>");
    }
    text.push_str("</tr></thead><tbody>");
    for row in rows {
        let name = match with_bench {
            true => format!("{}: {}", row.bench, row.name),
            false => row.name.clone(),
        };
        let scale = row.unit.fitting(row.value.median);
        text.push_str("<tr>");
        let mut cell = |class: &str, content: &str| {
            let class = match class {
                "" => String::new(),
                class => format!(" class=\"{class}\""),
            };
            write!(text, "<td{class}>{content}</td>").expect("a String takes any text");
        };
        cell("", &escape(&name));
        cell("", &scale.text(row.value.median));
        if ranges {
            cell("soft", &spread(&row.value, scale));
        }
        if floors {
            let floor = row.floor.as_ref();
            let with = |show: &dyn Fn(&crate::figure::Floor) -> String| floor.map(show);
            let value = with(&|floor| {
                let value = floor.value.median;
                row.unit.fitting(value).text(value)
            });
            let ratio = with(&|floor| format!("{:.2} x", floor.ratio.median));
            let range = with(&|floor| {
                let ratio = &floor.ratio;
                format!("[{:.2} – {:.2}]", ratio.low, ratio.high)
            });
            cell("", &value.unwrap_or_default());
            let which = with(&|floor| escape(&floor.name));
            cell("left soft", &which.unwrap_or_default());
            cell("", &ratio.unwrap_or_default());
            cell("soft", &range.unwrap_or_default());
        }
        if targets {
            let target = row.target.map(|target| target.text(row.unit));
            cell("", &target.unwrap_or_default());
            cell("", &pill(row.met));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
}

/// Whether a target is met: a mark and a word, for eyes that do not see the colour.
fn pill(met: Option<bool>) -> String {
    let (class, mark) = match met {
        Some(true) => ("met", "✓"),
        Some(false) => ("missed", "✗"),
        None => return String::new(),
    };
    let word = verdict(met).to_lowercase();
    format!("<span class=\"verdict {class}\">{mark} {word}</span>")
}

/// Text that has no elements in it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{crowded, example};
    use super::*;

    #[test]
    fn the_page_stands_alone() {
        let page = render(&example());
        assert!(page.contains("<svg") && page.contains("</html>"));
        for outside in ["<script", "<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} would need a network");
        }
        assert!(page.contains("Test &amp; Co") && page.contains("blocked &lt;2 s&gt;"));
        assert!(page.contains("Targets: 3 of 4 met"));
    }

    #[test]
    fn elements_are_closed_and_columns_that_nobody_uses_are_left_out() {
        for report in [example(), crowded()] {
            let page = render(&report);
            for element in [
                "table", "tr", "td", "section", "figure", "svg", "ul", "li", "div",
            ] {
                let begins = page.matches(&format!("<{element}>")).count()
                    + page.matches(&format!("<{element} ")).count();
                let ends = page.matches(&format!("</{element}>")).count();
                assert_eq!(begins, ends, "{element}");
            }
            assert!(!page.contains("<tr></tr>"));
        }
        let mut alone = example();
        alone.rows.drain(..3);
        assert!(!render(&alone).contains("<th>floor</th>"));
    }

    /// OXMPI_TEST_PAGE names a file for the page, to look at it in a browser.
    #[test]
    fn the_page_for_a_browser_has_everything_that_can_be_wide() {
        let page = render(&crowded());
        for part in [
            "line s5 again",
            "verdict missed",
            "verdict met",
            "class=\"notes\"",
        ] {
            assert!(page.contains(part), "no {part}");
        }
        if let Some(path) = std::env::var_os("OXMPI_TEST_PAGE") {
            std::fs::write(path, page).unwrap();
        }
    }
}
