//! Options of the programs: `--name value` or `--name=value`, each a number or a word.
//!
//! Deliberately small: a program declares a list of `Choice`, and gets defaults, bounds, help and
//! error texts from it.

use crate::Program;

/// An option a program has.
pub(crate) struct Choice {
    /// Its name, without the dashes.
    pub(crate) name: &'static str,
    /// What it sets.
    pub(crate) about: &'static str,
    /// What it accepts, and the default.
    pub(crate) kind: Kind,
}

/// What an option accepts.
pub(crate) enum Kind {
    /// A whole number within bounds.
    Number { default: u64, min: u64, max: u64 },
    /// One of these words, in either case; the first is the default.
    Word(&'static [&'static str]),
}

/// The values of a program's options, in the order of their declaration.
#[derive(Debug)]
pub(crate) struct Arguments {
    values: Vec<(&'static str, Value)>,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Number(u64),
    Word(&'static str),
}

impl Arguments {
    /// Reads the arguments; `None` when help was asked for.
    pub(crate) fn parse(args: &[String], choices: &[Choice]) -> Result<Option<Self>, String> {
        let mut values: Vec<_> = choices.iter().map(|c| (c.name, c.kind.default())).collect();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "-h" || arg == "--help" {
                return Ok(None);
            }
            let Some(option) = arg.strip_prefix("--") else {
                return Err(format!("unexpected argument '{arg}'"));
            };
            let (name, inline) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            let Some(at) = choices.iter().position(|choice| choice.name == name) else {
                return Err(format!("unknown option '--{name}'"));
            };
            let value = match inline {
                Some(value) => value,
                None => args
                    .next()
                    .ok_or_else(|| format!("--{name} needs a value"))?,
            };
            values[at].1 = choices[at].kind.read(name, value)?;
        }
        Ok(Some(Arguments { values }))
    }

    /// The value of a numeric option the program declared.
    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Number(number) => number,
            Value::Word(_) => unreachable!("--{name} was declared as a word"),
        }
    }

    /// The value of a word option the program declared.
    pub(crate) fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Word(word) => word,
            Value::Number(_) => unreachable!("--{name} was declared as a number"),
        }
    }

    fn value(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(declared, _)| *declared == name);
        found
            .unwrap_or_else(|| unreachable!("--{name} was never declared"))
            .1
    }
}

impl Kind {
    fn default(&self) -> Value {
        match *self {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Word(words) => Value::Word(words[0]),
        }
    }

    fn read(&self, name: &str, text: &str) -> Result<Value, String> {
        match *self {
            Kind::Number { min, max, .. } => {
                let number: u64 = text
                    .parse()
                    .map_err(|_| format!("--{name} takes a whole number, not '{text}'"))?;
                if !(min..=max).contains(&number) {
                    return Err(format!("--{name} {number} is out of range: {min} to {max}"));
                }
                Ok(Value::Number(number))
            }
            Kind::Word(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(text))
                .map(|word| Value::Word(word))
                .ok_or_else(|| {
                    format!(
                        "--{name} '{text}' is unknown: choose from {}",
                        words.join(", ")
                    )
                }),
        }
    }
}

/// The text for `--help`.
pub(crate) fn help(program: &Program, choices: &[Choice]) -> String {
    let mut text = format!("{}: {}\n\noptions:\n", program.name, program.about);
    for Choice { name, about, kind } in choices {
        let (value, range) = match kind {
            Kind::Number { default, min, max } => {
                ("NUMBER", format!("{min} to {max}, default {default}"))
            }
            Kind::Word(words) => (
                "WORD",
                format!("{}, default {}", words.join(", "), words[0]),
            ),
        };
        let option = format!("--{name} {value}");
        text.push_str(&format!("  {option:<22} {about} ({range})\n"));
    }
    let counts = crate::counts::OPTION;
    text.push_str(&format!(
        "  {counts:<22} also what the run has cost, a line of JSON\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [Choice; 2] = [
        Choice {
            name: "size",
            about: "rows",
            kind: Kind::Number {
                default: 8,
                min: 1,
                max: 99,
            },
        },
        Choice {
            name: "class",
            about: "which",
            kind: Kind::Word(&["S", "W"]),
        },
    ];

    fn parse(args: &[&str]) -> Result<Option<Arguments>, String> {
        let args: Vec<String> = args.iter().map(|s| s.to_string()).collect();
        Arguments::parse(&args, &CHOICES)
    }

    #[test]
    fn values_and_defaults() {
        let defaults = parse(&[]).unwrap().unwrap();
        assert_eq!((defaults.number("size"), defaults.word("class")), (8, "S"));
        let given = parse(&["--class=w", "--size", "42"]).unwrap().unwrap();
        assert_eq!((given.number("size"), given.word("class")), (42, "W"));
        assert!(parse(&["--size", "3", "-h"]).unwrap().is_none());
    }

    #[test]
    fn errors_name_the_value() {
        let error = |args: &[&str]| parse(args).unwrap_err();
        assert_eq!(
            error(&["--size", "-1"]),
            "--size takes a whole number, not '-1'"
        );
        assert_eq!(
            error(&["--size=100"]),
            "--size 100 is out of range: 1 to 99"
        );
        assert_eq!(error(&["--size"]), "--size needs a value");
        assert_eq!(error(&["--rows", "1"]), "unknown option '--rows'");
        assert_eq!(
            error(&["--class=Q"]),
            "--class 'Q' is unknown: choose from S, W"
        );
        assert_eq!(error(&["5"]), "unexpected argument '5'");
    }

    #[test]
    fn help_lists_options_with_ranges() {
        let program = Program {
            name: "demo",
            about: "shows",
        };
        assert_eq!(
            help(&program, &CHOICES),
            "demo: shows\n\noptions:\n  --size NUMBER          rows (1 to 99, default 8)\n  \
             --class WORD           which (S, W, default S)\n  \
             --counts               also what the run has cost, a line of JSON\n"
        );
    }
}
