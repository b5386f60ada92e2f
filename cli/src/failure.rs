//! What went wrong, as one line for the user and an exit status.
//!
//! clap's errors are rewritten into the house's form: the option as the user may write it, its
//! value, what is wrong with it and what to write instead.

use std::error::Error;
use std::process::ExitCode;

use crate::show::show;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use oxmpi_launch::{LaunchError, ProgramError};

/// The exit status for a command line that cannot be understood.
const CODE_USAGE: u8 = 2;

/// An error of a command, or a help text, which leaves by the same way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A message and an exit status.
    Message { text: String, code: u8 },
    /// Something that was asked for: help or the version.
    Shown(String),
}

impl Failure {
    /// A command line that cannot be understood.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure::Message {
            text,
            code: CODE_USAGE,
        }
    }

    pub(crate) fn from_launch(error: &LaunchError) -> Failure {
        let code = error.exit_code();
        let text = match error {
            LaunchError::Program(error) => with_shipped(error),
            _ => error.to_string(),
        };
        Failure::Message { text, code }
    }

    pub(crate) fn from_program(error: &ProgramError) -> Failure {
        Failure::Message {
            text: with_shipped(error),
            code: error.exit_code(),
        }
    }

    pub(crate) fn no_shipped_program(name: &str) -> Failure {
        Failure::Message {
            text: format!("no shipped program '{name}'; there are {}", shipped()),
            code: 127,
        }
    }

    /// From an error of clap; `command` is what the user called.
    pub(crate) fn from_clap(error: clap::Error, command: &str) -> Failure {
        let help = format!("{command} --help lists the options");
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
            _ => None,
        };
        let argument = context(ContextKind::InvalidArg).map(|text| option_name(&text));
        let argument = argument.unwrap_or_default();
        let value = context(ContextKind::InvalidValue).unwrap_or_default();
        let nearest = |kind| match context(kind) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => help.clone(),
        };
        let text = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                return Failure::Shown(error.render().to_string());
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                format!(
                    "what to do? {command} run -n 4 pi, {command} bench, {command} info; {command} --help tells more"
                )
            }
            ErrorKind::UnknownArgument => {
                let nearest = nearest(ContextKind::SuggestedArg);
                format!("unknown option {argument}: {nearest}")
            }
            ErrorKind::InvalidSubcommand => {
                let unknown = context(ContextKind::InvalidSubcommand).unwrap_or_default();
                let nearest = nearest(ContextKind::SuggestedSubcommand);
                format!("unknown command {unknown}: {nearest}")
            }
            ErrorKind::ValueValidation => {
                let why = error.source().map_or(help, |source| source.to_string());
                format!("{argument} {value}: {why}")
            }
            ErrorKind::InvalidValue if !value.is_empty() => {
                let valid = context(ContextKind::ValidValue).unwrap_or_default();
                format!("{argument} {value}: expected one of {valid}")
            }
            ErrorKind::InvalidValue | ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
                format!("{argument} lacks a value; {help}")
            }
            ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg) {
                Some(other) if option_name(&other) != argument => {
                    format!("{argument} and {} exclude each other", option_name(&other))
                }
                _ => format!("{argument} is given twice"),
            },
            _ => {
                let rendered = error.render().to_string();
                let first = rendered.lines().next().unwrap_or_default();
                first.strip_prefix("error: ").unwrap_or(first).to_owned()
            }
        };
        Failure::usage(text)
    }

    /// Tells the user and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Message { text, code } => {
                eprintln!("oxmpi: {text}");
                ExitCode::from(code)
            }
            Failure::Shown(text) => {
                show!("{text}");
                ExitCode::SUCCESS
            }
        }
    }
}

/// clap says `--np <RANKS>`; people write -n.
fn option_name(text: &str) -> String {
    let name = text.split(['=', ' ']).next().unwrap_or(text);
    match name {
        "--np" => "-n".to_owned(),
        _ => name.to_owned(),
    }
}

/// A bare name that was not found may be meant for one of ours.
fn with_shipped(error: &ProgramError) -> String {
    match error {
        ProgramError::NotInPath { .. } => {
            format!("{error}, nor among the shipped programs ({})", shipped())
        }
        _ => error.to_string(),
    }
}

fn shipped() -> String {
    let names: Vec<&str> = oxmpi_programs::names()
        .iter()
        .map(|program| program.name)
        .collect();
    names.join(", ")
}
