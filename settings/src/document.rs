//! The table as documents: Markdown for docs/environment.md, roff for manual pages, JSON for
//! programs. Lines are at most 100 characters wide.

use std::fmt::Write;

use crate::ALL;
use crate::setting::{Program, SetBy, Setting, Topic};

/// The widest line of a document.
const WIDTH_MAX: usize = 100;

/// The settings as the middle of docs/environment.md.
pub fn markdown() -> String {
    let mut text = String::new();
    for topic in Topic::ALL {
        let of_topic = ALL.iter().filter(|setting| setting.topic == topic);
        // Writing into a string does not fail.
        let _ = writeln!(text, "### {}\n", topic.heading());
        for setting in of_topic {
            text.push_str(&entry(setting));
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn entry(setting: &Setting) -> String {
    let option = setting.option.map(|option| format!(" (`{option}`)"));
    let former = setting.former.iter();
    let former: String = former.map(|name| format!(", formerly `{name}`")).collect();
    let programs = setting.programs.iter().map(|program| program.name());
    let programs = programs.collect::<Vec<_>>().join(", ");
    let head = format!(
        "- **`{}`**{}{former}: {}.",
        setting.name,
        option.unwrap_or_default(),
        setting.kind.accepted()
    );
    let default = match setting.set_by {
        SetBy::User if !setting.is_of_tests() => {
            format!(" Without it: {}.", setting.default_text())
        }
        _ => String::new(),
    };
    let readers = match setting.is_of_tests() {
        true => String::new(),
        false => format!(" Read by: {programs} ({}).", setting.layer),
    };
    let body = format!("{}{default}{readers}", setting.text);
    wrapped(&head, "  ") + &wrapped(&format!("  {body}"), "  ")
}

/// Breaks a paragraph into lines; all but the first begin with `indent`.
fn wrapped(paragraph: &str, indent: &str) -> String {
    let start = paragraph.len() - paragraph.trim_start().len();
    let (mut text, mut line) = (String::new(), paragraph[..start].to_owned());
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        let width = line.chars().count() + 1 + word.chars().count();
        if !is_empty && width > WIDTH_MAX {
            text.push_str(&line);
            text.push('\n');
            line = indent.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    text + &line + "\n"
}

/// The settings that the user sets for these programs, as the section ENVIRONMENT of a manual page.
pub fn manual(programs: &[Program]) -> String {
    let concerned = |setting: &&&Setting| {
        setting.set_by == SetBy::User
            && setting
                .programs
                .iter()
                .any(|program| programs.contains(program))
    };
    let mut text = ".SH ENVIRONMENT\n".to_owned();
    for setting in ALL.iter().filter(concerned) {
        let option = setting.option.map_or_else(String::new, |option| {
            format!(" The option {} says the same.", roff(option))
        });
        let body = format!(
            "{} Expected: {}; without it: {}.{option}",
            roff(setting.text),
            roff(&setting.kind.accepted()),
            roff(setting.default_text())
        );
        // Writing into a string does not fail.
        let _ = write!(text, ".TP\n.B {}\n{}", setting.name, wrapped(&body, ""));
    }
    text
}

/// Hyphens of options and paths are not typographic hyphens; code has no marks in manual pages.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('`', "")
}

/// Every setting as a JSON array of objects, for programs.
pub fn json() -> String {
    let rows: Vec<String> = ALL.iter().map(|setting| object(setting)).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn object(setting: &Setting) -> String {
    let list = |words: Vec<&str>| {
        let words: Vec<String> = words.into_iter().map(quoted).collect();
        format!("[{}]", words.join(","))
    };
    let programs = setting.programs.iter().map(|program| program.name());
    let set_by = match setting.set_by {
        SetBy::User => "user",
        SetBy::Launcher => "launcher",
    };
    let fields = [
        ("name", quoted(setting.name)),
        ("former", list(setting.former.to_vec())),
        ("type", quoted(setting.kind.name())),
        ("accepted", quoted(&setting.kind.accepted())),
        ("default", quoted(setting.default_text())),
        ("option", setting.option.map_or("null".to_owned(), quoted)),
        ("text", quoted(setting.text)),
        ("layer", quoted(setting.layer)),
        ("programs", list(programs.collect())),
        ("set_by", quoted(set_by)),
    ];
    let fields = fields.map(|(name, value)| format!("{name:?}:{value}"));
    format!("{{{}}}", fields.join(","))
}

/// A JSON string. The table has printable characters only, which a test makes sure.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide() {
        for line in markdown().lines().chain(manual(&[Program::Rank]).lines()) {
            assert!(line.chars().count() <= WIDTH_MAX, "{line}");
        }
    }

    #[test]
    fn texts_are_printable() {
        let texts = |setting: &&Setting| format!("{}{}", setting.text, setting.default_text());
        let printable = |text: String| text.chars().all(|letter| !letter.is_control());
        assert!(ALL.iter().map(texts).all(printable));
    }

    #[test]
    fn lines_of_roff_do_not_begin_with_a_request() {
        for line in manual(&[Program::Launcher, Program::Rank]).lines() {
            let request = line.starts_with('.') && !line.starts_with(".TP");
            let known = line.starts_with(".B OXMPI_") || line == ".SH ENVIRONMENT";
            assert!(!request || known, "{line}");
        }
    }
}
