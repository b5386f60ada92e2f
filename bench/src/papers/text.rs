//! Sheets as tables for the terminal, and as a page for a browser.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::Findings;
use super::sheet::Sheet;
use crate::report::html::{STYLE, escape};

/// Everything as tables that can be pasted into a Markdown page.
pub fn text(found: &Findings) -> String {
    let mut text = String::new();
    let machine = &found.machine;
    let _ = writeln!(
        text,
        "oxmpi {} on {} ({} CPUs usable), {}; {}",
        found.version, machine.processor, machine.cpus, machine.kernel, found.hosts
    );
    for note in &found.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for sheet in &found.sheets {
        let _ = writeln!(
            text,
            "\n{}: {}\n\n{}",
            sheet.paper,
            sheet.title,
            table(sheet)
        );
        for note in &sheet.notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    text
}

fn table(sheet: &Sheet) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let mut head = vec![String::new()];
    head.extend(sheet.columns.iter().cloned());
    table.set_header(head);
    for line in &sheet.lines {
        let mut cells = vec![line.name.clone()];
        cells.extend(texts(line));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn texts(line: &super::sheet::Line) -> impl Iterator<Item = String> + '_ {
    let cells = line.cells.iter();
    cells.map(|cell| cell.map_or_else(String::new, |cell| cell.text()))
}

/// Everything as one HTML page that needs no network.
pub fn page(found: &Findings) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>oxmpi bench papers</title><style>\n{STYLE}</style></head><body>\
         <header><h1>oxmpi bench papers</h1>"
    );
    let machine = &found.machine;
    let facts = [
        ("version", format!("oxmpi {}", found.version)),
        ("processor", machine.processor.clone()),
        ("CPUs usable", machine.cpus.to_string()),
        ("kernel", machine.kernel.clone()),
        ("hosts", found.hosts.clone()),
    ];
    page.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let value = escape(&value);
        let _ = write!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>");
    page.push_str(
        "<p class=\"soft\">Values are medians of their repetitions, and ratios medians of the \
         ratios of neighbours. The papers' machines were others: what can be compared is the ratio \
         between their columns and the ratio between ours.</p>",
    );
    page.push_str(&list("notes", &found.notes));
    page.push_str("</header><main>");
    for (place, sheet) in found.sheets.iter().enumerate() {
        let title = escape(&format!("{}: {}", sheet.paper, sheet.title));
        let _ = write!(
            page,
            "<section id=\"sheet{place}\"><h2>{title}</h2><div class=\"scroll\" tabindex=\"0\" \
             role=\"region\" aria-label=\"{title}\"><table><thead><tr><th></th>"
        );
        for column in &sheet.columns {
            let _ = write!(page, "<th>{}</th>", escape(column));
        }
        page.push_str("</tr></thead><tbody>");
        for line in &sheet.lines {
            let _ = write!(page, "<tr><td>{}</td>", escape(&line.name));
            for cell in texts(line) {
                let _ = write!(page, "<td>{cell}</td>");
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div>");
        for note in &sheet.notes {
            let _ = write!(page, "<p class=\"soft\">{}</p>", escape(note));
        }
        page.push_str("</section>");
    }
    page.push_str("</main></body></html>\n");
    page
}

fn list(class: &str, entries: &[String]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let entry = |text: &String| format!("<li>{}</li>", escape(text));
    let entries: String = entries.iter().map(entry).collect();
    format!("<div class=\"{class}\"><ul>{entries}</ul></div>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;
    use crate::papers::sheet::Cell;
    use crate::report::Machine;

    fn example() -> Findings {
        let mut sheet = Sheet::new("pm", "beside the <paper>", &["PM", "TCP", "TCP / PM"]);
        sheet.line(
            "round trip",
            vec![
                Cell::one(Unit::Nanoseconds, 2100.0),
                Cell::one(Unit::Nanoseconds, 6300.0),
                Cell::ratio(&[3.0, 2.5, 3.5], &[1.0, 1.0, 1.0]),
            ],
        );
        sheet.line(
            "bandwidth",
            vec![None, Cell::one(Unit::MegabytesPerSecond, 2500.0)],
        );
        sheet.note("a remark");
        Findings {
            version: "0.1.0",
            machine: Machine {
                processor: "Test".into(),
                cpus: 2,
                kernel: "Linux 6".into(),
            },
            hosts: "16 hosts made on this machine".into(),
            quick: true,
            notes: vec!["the machine is not idle".into()],
            sheets: vec![sheet],
        }
    }

    #[test]
    fn the_text() {
        assert_eq!(
            text(&example()),
            "oxmpi 0.1.0 on Test (2 CPUs usable), Linux 6; 16 hosts made on this machine\n\
             note: the machine is not idle\n\
             \n\
             pm: beside the <paper>\n\
             \n\
             |            |      PM |       TCP |             TCP / PM |\n\
             |------------|---------|-----------|----------------------|\n\
             | round trip | 2.10 µs |   6.30 µs | 3.00 x [2.50 – 3.50] |\n\
             | bandwidth  |         | 2.50 GB/s |                      |\n  a remark\n"
        );
    }

    #[test]
    fn the_page_stands_alone_and_its_elements_are_closed() {
        let page = page(&example());
        for outside in ["<script", "<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} would need a network");
        }
        for element in ["table", "tr", "td", "th", "section", "div", "ul", "li", "p"] {
            let begins = page.matches(&format!("<{element}>")).count()
                + page.matches(&format!("<{element} ")).count();
            assert_eq!(
                begins,
                page.matches(&format!("</{element}>")).count(),
                "{element}"
            );
        }
        assert!(page.contains("beside the &lt;paper&gt;") && page.contains("3.00 x"));
    }
}
