//! Options of other launchers: the words that users of MPICH, Open MPI, Intel MPI and Slurm type.
//!
//! An option that means the same here is taken. One that changes nothing here is accepted with a
//! note. One that would have to change something, and cannot, is refused with the words to write
//! instead. docs/coming-from.md is the table in words.

mod parameter;
mod rows;

use std::ffi::OsString;

use Meaning::{Here, Ignored, Same};
use rows::ROWS;

/// What an option of another launcher is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// These words; `{}` stands for its value, and a list of variables gives a word for each.
    Same(&'static [&'static str]),
    /// Nothing, for this reason.
    Ignored(&'static str),
    /// Refused: this is what to write.
    Here(&'static str),
}

/// Name without dashes, number of values, meaning.
type Row = (&'static str, usize, Meaning);

/// What an option of another launcher comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Translated {
    /// These words of ours.
    Words(Vec<OsString>),
    /// Nothing, and the user is told.
    Note(String),
    /// It is refused, and the user is told.
    Refused(String),
}

/// How many of the words that follow belong to the option of this name, if another launcher has it.
pub(crate) fn values_of(name: &str) -> Option<usize> {
    find(name).map(|(_, values, _)| *values)
}

/// Translates the option as it was `written`, with its values.
pub(crate) fn translate(written: &str, name: &str, values: &[OsString]) -> Option<Translated> {
    let (_, wanted, meaning) = find(name)?;
    if values.len() < *wanted {
        return Some(Translated::Refused(format!("{written} lacks a value")));
    }
    if let [key, value] = values {
        // Of all rows, those for Open MPI's parameters alone have two values.
        return Some(parameter::translate(written, key, value));
    }
    Some(match meaning {
        Same(words) => Translated::Words(fill(words, values)),
        Ignored(why) => Translated::Note(format!("{written} changes nothing here: {why}")),
        Here(instead) => Translated::Refused(format!("{written} is not known here; use {instead}")),
    })
}

fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|(known, ..)| *known == name)
}

fn fill(words: &[&str], values: &[OsString]) -> Vec<OsString> {
    let (option, rest) = words.split_first().expect("a translation has an option");
    let Some(value) = values.first().filter(|_| rest.contains(&"{}")) else {
        return words.iter().map(OsString::from).collect();
    };
    // Only -x may be given several times, once for each name.
    let text = value.to_string_lossy();
    let parts: Vec<&str> = match *option {
        "-x" => text.split(',').filter(|part| !part.is_empty()).collect(),
        _ => vec![&text],
    };
    let words = parts.into_iter();
    words
        .flat_map(|part| [OsString::from(option), OsString::from(part)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::CommandFactory;

    fn translated(name: &str, values: &[&str]) -> Translated {
        let values: Vec<OsString> = values.iter().map(OsString::from).collect();
        translate(&format!("-{name}"), name, &values).expect("the table has it")
    }

    fn words(text: &str) -> Translated {
        Translated::Words(text.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn what_means_the_same_is_taken() {
        assert_eq!(translated("iface", &["eth1"]), words("--net-include eth1"));
        assert_eq!(translated("genvlist", &["A,B"]), words("-x A -x B"));
        assert_eq!(translated("rr", &[]), words("--ppn 1"));
        assert_eq!(translated("grr", &["3"]), words("--ppn 3"));
    }

    #[test]
    fn the_rest_is_told() {
        assert!(matches!(
            translated("mca", &["a", "b"]),
            Translated::Note(_)
        ));
        assert!(matches!(translated("mca", &["a"]), Translated::Refused(_)));
        let refused = "-app is not known here; use -configfile FILE".to_owned();
        assert_eq!(translated("app", &["f"]), Translated::Refused(refused));
    }

    #[test]
    fn no_row_is_twice_or_hides_an_option_of_ours() {
        let ours = Options::command();
        for (at, (name, ..)) in ROWS.iter().enumerate() {
            assert!(ROWS[..at].iter().all(|(other, ..)| other != name), "{name}");
            let is_ours = ours.get_arguments().any(|argument| {
                argument.get_long() == Some(name)
                    || argument
                        .get_all_aliases()
                        .is_some_and(|all| all.contains(name))
                    || argument.get_short().map(String::from).as_deref() == Some(name)
            });
            assert!(!is_ours, "{name} is an option of ours");
        }
    }

    #[test]
    fn every_row_is_in_the_documents() {
        let page = include_str!("../../../docs/coming-from.md");
        for (name, ..) in ROWS {
            assert!(page.contains(&format!("| `-{name}` |")), "{name}");
        }
    }

    #[test]
    fn translations_are_options_of_ours() {
        let ours = Options::command();
        for (name, _, meaning) in ROWS {
            let Same(words) = meaning else { continue };
            let option = words[0].trim_start_matches('-');
            let is_ours = ours.get_arguments().any(|argument| {
                argument.get_long() == Some(option)
                    || argument.get_short().map(String::from).as_deref() == Some(option)
            });
            assert!(is_ours, "{name} is translated to {}", words[0]);
        }
    }
}
