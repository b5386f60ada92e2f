//! A command line as MPI users write it, cut into programs.
//!
//! `mpiexec -np 2 -wdir /tmp a.out -v : -n 1 b.out` has several programs separated by `:`, long
//! options with one dash, and everything after a program's name belongs to the program. clap knows
//! none of that, so the words are sorted here first. Which options take values is read from clap's
//! own description. A word that is an option of another launcher ([`foreign`]) is that option, and
//! not a cluster of our letters. `-configfile FILE` stands for the lines of the file, each a
//! program with its options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{ArgAction, Command};

use crate::foreign::{self, Translated};

/// The words of one program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Options, long ones with two dashes.
    pub(crate) options: Vec<OsString>,
    /// The program and its arguments; may be empty.
    pub(crate) command: Vec<OsString>,
    /// What the user is told about options of other launchers.
    pub(crate) notes: Vec<String>,
    /// Why an option of another launcher cannot be taken.
    pub(crate) refused: Option<String>,
}

/// Cuts a command line into the words of each program.
pub(crate) fn segments(words: &[OsString], command: &Command) -> Vec<Segment> {
    words
        .split(|word| word == ":")
        .map(|words| segment(words, command))
        .collect()
}

fn segment(words: &[OsString], command: &Command) -> Segment {
    let mut segment = Segment::default();
    let mut rest = words.iter();
    while let Some(word) = rest.as_slice().first() {
        if !is_option(word) {
            break;
        }
        rest.next();
        if word == "--" {
            break;
        }
        match normalise(word, command) {
            Word::Ours(word, values) => {
                segment.options.push(word);
                // Many write -env A=1 for -env A 1; no name of a variable has that sign.
                let next = rest.as_slice().first().filter(|_| values == 2);
                let values = match next.and_then(|next| assignment(next)) {
                    Some(pair) => {
                        segment.options.extend(pair);
                        rest.next();
                        0
                    }
                    None => values,
                };
                segment.options.extend(rest.by_ref().take(values).cloned());
            }
            Word::Foreign(name, attached) => {
                let values = foreign::values_of(&name).unwrap_or(0);
                let values: Vec<OsString> = match &attached {
                    Some(value) => vec![value.into()],
                    None => rest.by_ref().take(values).cloned().collect(),
                };
                segment.take(&word.to_string_lossy(), &name, &values);
            }
        }
    }
    segment.command = rest.cloned().collect();
    segment
}

impl Segment {
    fn take(&mut self, written: &str, name: &str, values: &[OsString]) {
        match foreign::translate(written, name, values) {
            Some(Translated::Words(words)) => self.options.extend(words),
            Some(Translated::Note(note)) => self.notes.push(note),
            Some(Translated::Refused(why)) => {
                self.refused.get_or_insert(why);
            }
            None => {}
        }
    }
}

/// An option on the command line.
enum Word {
    /// As clap wants it, and how many of the words that follow are its values.
    Ours(OsString, usize),
    /// Of another launcher: its name, and its value if that is attached.
    Foreign(String, Option<String>),
}

/// Name and value of A=1.
fn assignment(word: &OsStr) -> Option<[OsString; 2]> {
    let bytes = word.as_bytes();
    let sign = bytes.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&bytes[..sign], &bytes[sign + 1..]);
    Some([name, value].map(|part| OsStr::from_bytes(part).to_owned()))
}

fn is_option(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes[0] == b'-'
}

/// Which option it is.
fn normalise(word: &OsStr, command: &Command) -> Word {
    let Some(text) = word.to_str() else {
        return Word::Ours(word.to_owned(), 0);
    };
    let dashes = text.len() - text.trim_start_matches('-').len();
    let (name, attached) = match text[dashes..].split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (&text[dashes..], None),
    };
    let longs = |arg: &&clap::Arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
    };
    if let Some(arg) = command.get_arguments().find(longs) {
        let values = values_of(arg).saturating_sub(usize::from(attached.is_some()));
        return Word::Ours(format!("--{}", &text[dashes..]).into(), values);
    }
    if foreign::values_of(name).is_some() {
        return Word::Foreign(name.to_owned(), attached.map(str::to_owned));
    }
    if let Some(count) = name.strip_prefix("np").filter(|count| is_number(count)) {
        return Word::Ours(format!("-n{count}").into(), 0);
    }
    let first = name.chars().next();
    let short = command
        .get_arguments()
        .find(|arg| dashes == 1 && arg.get_short() == first);
    match short {
        // -n 4; -n4 has its value with it.
        Some(arg) if name.chars().count() == 1 => Word::Ours(word.to_owned(), values_of(arg)),
        // -nameserver is no number of ranks, and -skip-launch-node names none.
        Some(_) if matches!(first, Some('n' | 's')) && !names_ranks(&name[1..]) => {
            Word::Ours(format!("--{}", &text[dashes..]).into(), 0)
        }
        Some(_) => Word::Ours(word.to_owned(), 0),
        // Unknown: clap says so, and with two dashes it can compare it with what there is.
        None if name.chars().count() > 1 => Word::Ours(format!("--{}", &text[dashes..]).into(), 0),
        None => Word::Ours(word.to_owned(), 0),
    }
}

/// Whether it can be the value of -n or -s.
fn names_ranks(text: &str) -> bool {
    is_number(text) || text.is_empty() || ["all", "none"].contains(&text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn values_of(arg: &clap::Arg) -> usize {
    match arg.get_action() {
        ArgAction::Set | ArgAction::Append => {
            arg.get_num_args().map_or(1, |range| range.max_values())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::CommandFactory;

    fn cut(line: &str) -> Vec<(String, String)> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let text = |words: &[OsString]| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        };
        segments(&words, &Options::command())
            .iter()
            .map(|segment| (text(&segment.options), text(&segment.command)))
            .collect()
    }

    #[track_caller]
    fn assert_cut(line: &str, expected: &[(&str, &str)]) {
        let found = cut(line);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn options_end_at_the_program() {
        assert_cut(
            "-n 4 a.out -n 5 --timeout",
            &[("-n 4", "a.out -n 5 --timeout")],
        );
        assert_cut("-n4 a.out", &[("-n4", "a.out")]);
        assert_cut("-np4 a.out", &[("-n4", "a.out")]);
        assert_cut("-l -- -odd", &[("-l", "-odd")]);
    }

    #[test]
    fn long_options_may_have_one_dash() {
        assert_cut(
            "-np 2 -wdir /tmp -env A 1 -genv B -2 a b",
            &[("--np 2 --wdir /tmp --env A 1 --genv B -2", "a b")],
        );
        assert_cut(
            "-env A=1 -genv B=2=3 -n 2 a",
            &[("--env A 1 --genv B 2=3 -n 2", "a")],
        );
        assert_cut("-timeout=3 a", &[("--timeout=3", "a")]);
        assert_cut("-tiemout 3 a", &[("--tiemout", "3 a")]);
    }

    #[test]
    fn options_of_others_are_not_clusters_of_letters() {
        assert_cut("-ntasks-per-foo 2 a", &[("--ntasks-per-foo", "2 a")]);
        assert_cut("-skip-it a", &[("--skip-it", "a")]);
        assert_cut("-sall a", &[("-sall", "a")]);
        assert_cut("-genvlist A,B -n 2 a", &[("-x A -x B -n 2", "a")]);
        assert_cut("--mca btl self -n 2 a -mca", &[("-n 2", "a -mca")]);
        assert_cut("-v -iface=eth0 a", &[("-v --net-include eth0", "a")]);
        let words = ["-xterm", "1", "a"].map(OsString::from);
        let segment = segment(&words, &Options::command());
        assert!(
            segment
                .refused
                .is_some_and(|why| why.starts_with("-xterm "))
        );
    }

    #[test]
    fn colons_separate_programs() {
        assert_cut(
            "-n 1 a x : -n 2 b y:z : c",
            &[("-n 1", "a x"), ("-n 2", "b y:z"), ("", "c")],
        );
        assert_cut("-n 1 a :", &[("-n 1", "a"), ("", "")]);
    }
}
