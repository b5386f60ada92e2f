//! A program and what its first lines say about it.
//!
//! Directives are one-line comments at the top of the file: `ranks`, `expect: fatal`, `threads`,
//! `skip-mpich`, `one-host`, `options` and `programs`. The first comment that is none of them is the explanation: the
//! clause, and why the expected result follows.

use std::io;
use std::path::{Path, PathBuf};

/// One C program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The folder it lies in.
    pub chapter: String,
    /// The file's name without its ending.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// With how many ranks it is run, one run for each.
    pub ranks: Vec<u32>,
    /// How a run must end.
    pub expect: Expect,
    /// Why MPICH does not run it, if so.
    pub skip_mpich: Option<String>,
    /// Why it does not run on several hosts, if so.
    pub one_host: Option<String>,
    /// Further options of the launcher.
    pub options: Vec<String>,
    /// Whether each rank is a program of its own on the command line: `mpiexec -n 1 P : -n 1 P`.
    pub programs: bool,
    /// Whether it starts threads of its own.
    pub threads: bool,
    /// The comment that derives the expected result.
    pub explanation: String,
}

/// How a run must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Status 0, and rank 0 says "ok".
    Good,
    /// The job ends by itself with a failure, without reaching the line that says "not-reached".
    /// OxMPI's output also has these words in it, in any case of letters; what other libraries
    /// write is their own affair.
    Fatal(Vec<String>),
    /// As [`Expect::Good`], and OxMPI warns with these words; without words it says nothing.
    Told(Vec<String>),
}

/// A source whose first lines cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DirectiveError {
    /// No `ranks` line.
    #[error(
        "{file} does not say with how many ranks it runs: begin it with a line like /* ranks: 1 2 */"
    )]
    NoRanks {
        /// The source.
        file: String,
    },
    /// A `ranks` line with something else than small numbers.
    #[error("{file} wants to run with {word:?} ranks: write numbers from 1 to 16 between blanks")]
    BadRanks {
        /// The source.
        file: String,
        /// What stands there.
        word: String,
    },
    /// `expect` with something else than `fatal`.
    #[error(
        "{file} expects {word:?}: what can be expected beside success is fatal or told, with words of the message after it, or silence"
    )]
    BadExpect {
        /// The source.
        file: String,
        /// What stands there.
        word: String,
    },
    /// No comment says what is tested.
    #[error(
        "{file} does not explain its expected result: a comment after the directives names the clause and derives it"
    )]
    NoExplanation {
        /// The source.
        file: String,
    },
}

/// The greatest number of ranks a program may ask for: the reference library is slow when many
/// share few cores.
const RANKS_MAX: u32 = 16;

impl Program {
    /// Reads the directives of one source.
    pub fn parse(source: &Path, text: &str) -> Result<Program, DirectiveError> {
        let part = |path: Option<&std::ffi::OsStr>| {
            path.map_or(String::new(), |part| part.to_string_lossy().into_owned())
        };
        let chapter = part(source.parent().and_then(Path::file_name));
        let name = part(source.file_stem());
        let file = format!("{chapter}/{name}.c");
        let (mut ranks, mut expect, mut threads) = (Vec::new(), Expect::Good, false);
        let (mut skip_mpich, mut one_host) = (None, None);
        let (mut options, mut programs) = (Vec::new(), false);
        let mut rest = text;
        let explanation = loop {
            let Some((comment, after)) = comment(rest) else {
                return Err(DirectiveError::NoExplanation { file });
            };
            rest = after;
            match comment
                .split_once(':')
                .map_or((comment, ""), |(key, value)| (key.trim(), value.trim()))
            {
                ("ranks", value) => ranks = numbers(&file, value)?,
                ("expect", value) => expect = expectation(&file, value)?,
                ("skip-mpich", value) => skip_mpich = Some(value.to_string()),
                ("one-host", value) => one_host = Some(value.to_string()),
                ("options", value) => {
                    options = value.split_whitespace().map(str::to_string).collect();
                }
                ("programs", _) => programs = true,
                ("threads", _) => threads = true,
                _ => {
                    break comment
                        .lines()
                        .map(|line| line.trim_start_matches([' ', '*']))
                        .collect::<Vec<_>>()
                        .join(" ");
                }
            }
        };
        if ranks.is_empty() {
            return Err(DirectiveError::NoRanks { file });
        }
        let source = source.to_path_buf();
        Ok(Program {
            chapter,
            name,
            source,
            ranks,
            expect,
            skip_mpich,
            one_host,
            options,
            programs,
            threads,
            explanation,
        })
    }

    /// "chapter/name", as reports call it.
    pub fn title(&self) -> String {
        format!("{}/{}", self.chapter, self.name)
    }
}

/// The text of the comment that `text` begins with, and what follows it.
fn comment(text: &str) -> Option<(&str, &str)> {
    let (comment, after) = text.trim_start().strip_prefix("/*")?.split_once("*/")?;
    Some((comment.trim(), after))
}

fn numbers(file: &str, value: &str) -> Result<Vec<u32>, DirectiveError> {
    value
        .split_whitespace()
        .map(|word| match word.parse() {
            Ok(number) if (1..=RANKS_MAX).contains(&number) => Ok(number),
            _ => Err(DirectiveError::BadRanks {
                file: file.to_string(),
                word: word.to_string(),
            }),
        })
        .collect()
}

fn expectation(file: &str, value: &str) -> Result<Expect, DirectiveError> {
    let mut words = value.split_whitespace().map(str::to_string);
    match words.next().as_deref() {
        Some("fatal") => Ok(Expect::Fatal(words.collect())),
        Some("told") => Ok(Expect::Told(words.collect())),
        Some("silence") => Ok(Expect::Told(Vec::new())),
        other => Err(DirectiveError::BadExpect {
            file: file.to_string(),
            word: other.unwrap_or("").to_string(),
        }),
    }
}

/// The folder with the chapters.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

/// The names of all chapters, sorted.
pub fn chapters() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(sources())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The programs of a chapter, sorted by name; a source that cannot be understood is an error of the
/// whole chapter.
pub fn chapter(name: &str) -> Result<Vec<Program>, Box<dyn std::error::Error + Send + Sync>> {
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(sources().join(name))? {
        let source = entry?.path();
        if source.extension().is_some_and(|ending| ending == "c") {
            programs.push(Program::parse(&source, &std::fs::read_to_string(&source)?)?);
        }
    }
    programs.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Program, DirectiveError> {
        Program::parse(Path::new("c/requests/wait.c"), text)
    }

    #[test]
    fn directives_are_read_in_any_order() {
        let program = parse("/* skip-mpich: it differs: see 3.7 */\n/* one-host: shared */\n/* ranks: 2 3 */\n/* threads */\n/* MPI 5.0 section 3.7:\n * so it is. */\n#include").unwrap();
        assert_eq!(
            (program.chapter.as_str(), program.name.as_str()),
            ("requests", "wait")
        );
        assert_eq!(program.ranks, [2, 3]);
        assert_eq!(program.skip_mpich.as_deref(), Some("it differs: see 3.7"));
        assert_eq!(program.one_host.as_deref(), Some("shared"));
        assert!(program.threads);
        assert_eq!(program.expect, Expect::Good);
        assert_eq!(program.explanation, "MPI 5.0 section 3.7: so it is.");
    }

    #[test]
    fn fatal_programs_name_words() {
        let program =
            parse("/* ranks: 1 */\n/* expect: fatal MPI_Send rank */\n/* Why. */").unwrap();
        assert_eq!(
            program.expect,
            Expect::Fatal(vec!["MPI_Send".into(), "rank".into()])
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let texts = [
            "/* Why. */",
            "/* ranks: many */ /* Why. */",
            "/* ranks: 99 */ /* Why. */",
            "/* ranks: 1 */ /* expect: success */",
            "/* ranks: 1 */ int x;",
        ];
        let errors = texts.map(|text| parse(text).unwrap_err().to_string());
        assert_eq!(
            errors,
            [
                "requests/wait.c does not say with how many ranks it runs: begin it with a line like /* ranks: 1 2 */",
                "requests/wait.c wants to run with \"many\" ranks: write numbers from 1 to 16 between blanks",
                "requests/wait.c wants to run with \"99\" ranks: write numbers from 1 to 16 between blanks",
                "requests/wait.c expects \"success\": what can be expected beside success is fatal or told, with words of the message after it, or silence",
                "requests/wait.c does not explain its expected result: a comment after the directives names the clause and derives it",
            ]
        );
    }
}
