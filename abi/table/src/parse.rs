//! Reads the table's text. The format is described at the top of `mpi5.table`.
//!
//! A mistake is reported with its line number and what was expected, since the table is edited by hand.

use crate::kind::Kind;
use crate::model::{Callback, Chapter, Constant, Function, Named, Parameter, Presence, Table};

/// Why a text is not a table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the table: {problem}")]
pub struct TableError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a line.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A word that should be NAME=VALUE.
    #[error("'{0}' should be NAME=VALUE with an integer value")]
    Constant(String),
    /// An indented line with nothing above it to belong to.
    #[error("an indented line, but no type or function stands above it")]
    Orphan,
    /// A section that does not exist.
    #[error(
        "there is no section '{0}'; there are integers, handles, aliases, pointers and callbacks"
    )]
    Section(String),
    /// A line before the first section.
    #[error("a line outside of every section and chapter")]
    Outside,
    /// Not `type NAME (parameters)`.
    #[error("'{0}' should be TYPE NAME (PARAMETERS)")]
    Callback(String),
    /// A mark that does not exist.
    #[error("there is no mark '{0}'; the top of the table lists them")]
    Mark(String),
    /// A kind that does not exist.
    #[error("parameter '{parameter}' has the unknown kind '{kind}'; src/kind.rs lists them")]
    Kind {
        /// The parameter.
        parameter: String,
        /// The kind given.
        kind: String,
    },
    /// A length that is neither a parameter nor a constant.
    #[error(
        "the length of '{parameter}' is '{length}', which is neither a parameter nor an integer constant"
    )]
    Length {
        /// The parameter.
        parameter: String,
        /// The length given.
        length: String,
    },
    /// A kind that cannot do without a length.
    #[error("parameter '{0}' needs a length in brackets")]
    NoLength(String),
}

enum Place {
    Outside,
    Integers,
    Handles,
    Aliases,
    Pointers,
    Callbacks,
    Chapter,
}

impl Table {
    /// The table of MPI 5.0.
    pub fn mpi5() -> Table {
        parse(include_str!("../mpi5.table")).expect("the tests of this crate read this very file")
    }

    /// A table from its text.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        parse(text)
    }
}

/// Reads a table.
fn parse(text: &str) -> Result<Table, TableError> {
    let mut table = Table {
        integers: Vec::new(),
        handles: Vec::new(),
        aliases: Vec::new(),
        pointers: Vec::new(),
        callbacks: Vec::new(),
        chapters: Vec::new(),
    };
    let mut place = Place::Outside;
    for (index, line) in text.lines().enumerate() {
        parse_line(&mut table, &mut place, line).map_err(|problem| TableError {
            line: index + 1,
            problem,
        })?;
    }
    check_lengths(&table)?;
    Ok(table)
}

fn parse_line(table: &mut Table, place: &mut Place, line: &str) -> Result<(), Problem> {
    if let Some(comment) = line.strip_prefix('#') {
        describe(table, place, comment.trim());
        return Ok(());
    }
    if let Some(section) = line.strip_prefix("section ") {
        *place = match section {
            "integers" => Place::Integers,
            "handles" => Place::Handles,
            "aliases" => Place::Aliases,
            "pointers" => Place::Pointers,
            "callbacks" => Place::Callbacks,
            other => return Err(Problem::Section(other.into())),
        };
        return Ok(());
    }
    if let Some(name) = line.strip_prefix("chapter ") {
        *place = Place::Chapter;
        table.chapters.push(Chapter {
            name: name.into(),
            about: String::new(),
            functions: Vec::new(),
        });
        return Ok(());
    }
    let indented = line.starts_with(' ');
    let words = line.split_whitespace();
    if line.trim().is_empty() {
        return Ok(());
    }
    match place {
        Place::Outside => return Err(Problem::Outside),
        Place::Integers => {
            for word in words {
                table.integers.push(constant(word)?);
            }
        }
        Place::Handles => typed(&mut table.handles, indented, line)?,
        Place::Pointers => typed(&mut table.pointers, indented, line)?,
        Place::Aliases => {
            for word in words {
                let (name, of) = word.split_once('=').ok_or(Problem::Constant(word.into()))?;
                table.aliases.push((name.into(), of.into()));
            }
        }
        Place::Callbacks => table.callbacks.push(callback(line)?),
        Place::Chapter => {
            let chapter = table.chapters.last_mut().ok_or(Problem::Orphan)?;
            if indented {
                let function = chapter.functions.last_mut().ok_or(Problem::Orphan)?;
                for word in words {
                    function.parameters.push(parameter(word)?);
                }
            } else {
                chapter.functions.push(function(line)?);
            }
        }
    }
    Ok(())
}

/// The comment right below `chapter` describes it.
fn describe(table: &mut Table, place: &Place, comment: &str) {
    if let (Place::Chapter, Some(chapter)) = (place, table.chapters.last_mut())
        && chapter.functions.is_empty()
        && chapter.about.is_empty()
    {
        chapter.about = comment.into();
    }
}

fn constant(word: &str) -> Result<Constant, Problem> {
    let wrong = || Problem::Constant(word.into());
    let (name, value) = word.split_once('=').ok_or_else(wrong)?;
    let value = value.parse().map_err(|_| wrong())?;
    Ok(Constant {
        name: name.into(),
        value,
    })
}

fn typed(types: &mut Vec<Named<Constant>>, indented: bool, line: &str) -> Result<(), Problem> {
    if !indented {
        types.push(Named {
            name: line.trim().into(),
            items: Vec::new(),
        });
        return Ok(());
    }
    let current = types.last_mut().ok_or(Problem::Orphan)?;
    for word in line.split_whitespace() {
        current.items.push(constant(word)?);
    }
    Ok(())
}

fn callback(line: &str) -> Result<Callback, Problem> {
    let wrong = || Problem::Callback(line.into());
    let (head, parameters) = line.split_once('(').ok_or_else(wrong)?;
    let (returns, name) = head.trim().split_once(' ').ok_or_else(wrong)?;
    let parameters = parameters.trim_end().strip_suffix(')').ok_or_else(wrong)?;
    Ok(Callback {
        name: name.into(),
        returns: returns.into(),
        parameters: parameters.split(", ").map(String::from).collect(),
    })
}

fn function(line: &str) -> Result<Function, Problem> {
    let mut words = line.split_whitespace();
    let mut function = Function {
        name: words.next().unwrap_or_default().into(),
        large: false,
        always: false,
        returns: None,
        variadic: false,
        tool: false,
        quick: false,
        presence: Presence::Written,
        parameters: Vec::new(),
    };
    for mark in words {
        match mark.split_once('=') {
            None if mark == "large" => function.large = true,
            None if mark == "always" => function.always = true,
            None if mark == "variadic" => function.variadic = true,
            None if mark == "tool" => function.tool = true,
            None if mark == "quick" => function.quick = true,
            None if mark == "later" => function.presence = Presence::Later,
            None if mark == "todo" => function.presence = Presence::Todo,
            Some(("returns", kind)) => function.returns = Some(kind.into()),
            Some(("answer", code)) => function.presence = Presence::Answer(code.into()),
            _ => return Err(Problem::Mark(mark.into())),
        }
    }
    Ok(function)
}

fn parameter(word: &str) -> Result<Parameter, Problem> {
    let large_only = word.starts_with('+');
    let word = word.trim_start_matches('+');
    let (name, kind) = word.split_once(':').unwrap_or((word, word));
    let (kind, length) = match kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        Some((kind, length)) => (kind, Some(length.to_string())),
        None => (kind, None),
    };
    let Some(found) = Kind::named(kind, length.is_some()) else {
        return Err(Problem::Kind {
            parameter: name.into(),
            kind: kind.into(),
        });
    };
    if found.needs_length() && length.is_none() {
        return Err(Problem::NoLength(name.into()));
    }
    Ok(Parameter {
        name: name.into(),
        kind: found,
        length,
        large_only,
    })
}

/// Lengths may name parameters that come later, so they are checked at the end.
fn check_lengths(table: &Table) -> Result<(), TableError> {
    for function in table.functions() {
        for parameter in &function.parameters {
            let Some(length) = &parameter.length else {
                continue;
            };
            let name = length.trim_end_matches("+1");
            let known = function.parameters.iter().any(|other| other.name == name)
                || table.integers.iter().any(|constant| constant.name == name);
            if !known {
                return Err(TableError {
                    line: 0,
                    problem: Problem::Length {
                        parameter: format!("{} of {}", parameter.name, function.name),
                        length: length.clone(),
                    },
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_function_once() {
        let table = Table::mpi5();
        let names = table.names();
        assert_eq!(names.len(), 664);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let text = |body: &str| parse(body).unwrap_err().to_string();
        assert_eq!(
            text("chapter point\nMPI_Send  large\n    buf:bufer"),
            "line 3 of the table: parameter 'buf' has the unknown kind 'bufer'; src/kind.rs lists them"
        );
        assert_eq!(
            text("chapter point\nMPI_Send  often"),
            "line 2 of the table: there is no mark 'often'; the top of the table lists them"
        );
        assert_eq!(
            text("section integers\n    MPI_ONE=one"),
            "line 2 of the table: 'MPI_ONE=one' should be NAME=VALUE with an integer value"
        );
    }
}
