//! `oxmpi doctor [-host …]`: tries what a job needs, on this host and on others, and says in words
//! what to change.
//!
//! `here` has the questions about one host, `hosts` those about the ways between hosts. An answer
//! is good, a note (it works, slower or with a limit) or bad (a job will fail); the exit status is 1
//! if one is bad. A host is asked by its own `oxmpi doctor`, reached as a job would reach it.

mod here;
mod hosts;

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

use clap::Parser;

use crate::failure::Failure;
use crate::show::show_line;

/// Try what jobs need on this host, and on others with the ways between them.
#[derive(Parser)]
#[command(name = "oxmpi doctor")]
struct Options {
    /// Hosts to try too: a,b [default: those of OXMPI_HOST or of the batch system]
    #[arg(
        short = 'H',
        long,
        alias = "hosts",
        value_name = "HOSTS",
        allow_hyphen_values = true
    )]
    host: Option<String>,
    /// A file with a host on every line
    #[arg(
        short = 'f',
        long,
        alias = "machinefile",
        value_name = "FILE",
        conflicts_with = "host"
    )]
    hostfile: Option<std::path::PathBuf>,
    /// The command by which hosts are reached, as for oxmpi run
    #[arg(long, value_name = "COMMAND")]
    launcher: Option<String>,
    /// The path of oxmpi on other hosts
    #[arg(long, value_name = "PATH")]
    agent: Option<std::path::PathBuf>,
    /// This host alone, in lines for the doctor that asks
    #[arg(long, hide = true)]
    for_doctor: bool,
    /// Whether the memory of this process may be read
    #[arg(long, hide = true, value_name = "PID")]
    may_read: Option<u32>,
}

/// What one question came to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    state: State,
    /// What was asked: a few words.
    what: String,
    /// What was found, and for what is not good what to change.
    says: String,
}

/// How an answer is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Good,
    Note,
    Bad,
}

impl State {
    const ALL: [(State, &str); 3] = [
        (State::Good, "good"),
        (State::Note, "note"),
        (State::Bad, "BAD"),
    ];

    fn word(self) -> &'static str {
        let mut all = State::ALL.iter();
        all.find(|(state, _)| *state == self)
            .map_or("", |pair| pair.1)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { state, what, says } = self;
        write!(formatter, "  {:<4}  {what:<14}  {says}", state.word())
    }
}

impl Answer {
    fn good(what: &str, says: impl Into<String>) -> Answer {
        Answer::new(State::Good, what, says)
    }

    fn note(what: &str, says: impl Into<String>) -> Answer {
        Answer::new(State::Note, what, says)
    }

    fn bad(what: &str, says: impl Into<String>) -> Answer {
        Answer::new(State::Bad, what, says)
    }

    fn new(state: State, what: &str, says: impl Into<String>) -> Answer {
        Answer {
            state,
            what: what.to_owned(),
            says: says.into(),
        }
    }

    /// As one line for another doctor.
    fn to_line(&self) -> String {
        format!("{}\t{}\t{}", self.state.word(), self.what, self.says)
    }

    fn from_line(line: &str) -> Option<Answer> {
        let mut parts = line.splitn(3, '\t');
        let (word, what, says) = (parts.next()?, parts.next()?, parts.next()?);
        let state = State::ALL.iter().find(|pair| pair.1 == word)?.0;
        Some(Answer::new(state, what, says))
    }
}

/// `words` are those behind `doctor`.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    // Long options may have one dash, as those of the launcher.
    let two_dashes = |word: &OsString| match word.to_str() {
        Some(text) if text.starts_with('-') && !text.starts_with("--") && text.len() > 2 => {
            format!("-{text}").into()
        }
        _ => word.clone(),
    };
    let words = words.iter().map(two_dashes);
    let words = [OsString::from("oxmpi doctor")].into_iter().chain(words);
    let options = Options::try_parse_from(words)
        .map_err(|error| Failure::from_clap(error, "oxmpi doctor"))?;
    if let Some(pid) = options.may_read {
        return Ok(ExitCode::from(u8::from(oxmpi_launch::is_memory_refused(
            pid,
        ))));
    }
    let own = here::answers();
    if options.for_doctor {
        show_line!("{}", hosts::greeting());
        for answer in &own {
            show_line!("{}", answer.to_line());
        }
        return Ok(ExitCode::SUCCESS);
    }
    show_line!("{}", oxmpi_launch::host_name());
    let mut worst = show(&own);
    for (title, answers) in hosts::answers(&options)? {
        show_line!("\n{title}");
        worst = worst.max(show(&answers));
    }
    show_line!();
    show_line!(
        "{}",
        match worst {
            State::Good => "All is well.",
            State::Note => "Jobs run; the notes say what would be better.",
            State::Bad => "Jobs will fail where it says BAD.",
        }
    );
    Ok(ExitCode::from(u8::from(worst == State::Bad)))
}

fn show(answers: &[Answer]) -> State {
    for answer in answers {
        show_line!("{answer}");
    }
    let states = answers.iter().map(|answer| answer.state);
    states.max().unwrap_or(State::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_travel_as_lines() {
        let answer = Answer::bad("open files", "a\tb");
        assert_eq!(Answer::from_line(&answer.to_line()), Some(answer));
        assert_eq!(Answer::from_line("Welcome to this host"), None);
        assert_eq!(Answer::from_line("fine\ta\tb"), None);
    }

    #[test]
    fn the_worst_counts() {
        let answers = [
            Answer::note("a", ""),
            Answer::bad("b", ""),
            Answer::good("c", ""),
        ];
        assert_eq!(show(&answers), State::Bad);
        assert_eq!(show(&[]), State::Good);
    }
}
