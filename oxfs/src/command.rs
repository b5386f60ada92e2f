//! `oxmpi fs`: the words of its command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lexopt::prelude::*;

use crate::client::RemoteError;
use crate::client::commands::{self, Reach};
use crate::key;
use crate::protocol::PORT;
use crate::server::{self, Options, ServeError};

const HELP: &str = "\
Serve a folder to other hosts, or use one that is served.

Usage: oxmpi fs serve FOLDER [--listen ADDRESS:PORT] [--read-only] [--no-root-squash]
                             [--state FOLDER] [--lease SECONDS]
       oxmpi fs ls [-l] [-a] HOST:PORT/PATH
       oxmpi fs cp [-r] FILE... HOST:PORT/PATH
       oxmpi fs cp [-r] HOST:PORT/PATH... FILE
       oxmpi fs cat HOST:PORT/PATH...
       oxmpi fs stat HOST:PORT/PATH...
       oxmpi fs mkdir [-p] HOST:PORT/PATH...
       oxmpi fs rm [-r] HOST:PORT/PATH...
       oxmpi fs mv HOST:PORT/PATH HOST:PORT/PATH

HOST:/PATH means port 5021.

Options:
      --key-file FILE        What server and clients share [default: oxmpi/oxfs.key below
                             $XDG_CONFIG_HOME or ~/.config; serve makes it if it is missing]
      --listen ADDRESS:PORT  Where to serve [default: 127.0.0.1:5021, this host alone]
      --read-only            Change nothing
      --no-root-squash       Let root of clients be root here [default: it is nobody]
      --state FOLDER         Where sessions are kept [default: .oxfs in FOLDER, which no client sees]
      --lease SECONDS        How long a client may be silent [default: 30]
      --timeout SECONDS      How long a server may be away [default: 60]
  -h, --help                 Show this

docs/oxfs.md says what is promised, and to whom.
";

/// The exit status for a command line that cannot be understood.
const CODE_USAGE: u8 = 2;
/// A lease is at least this: clients renew it after a third.
const LEASE_MIN: f64 = 0.1;
const LEASE_MAX: f64 = 3600.0;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Key(#[from] key::KeyFileError),
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Failure {
        Failure::Usage(format!("fs: {error}; oxmpi fs --help lists the options"))
    }
}

/// `oxmpi fs` with the words after it.
pub fn main(words: &[String]) -> ExitCode {
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("oxmpi: {failure}");
            match failure {
                Failure::Usage(_) => ExitCode::from(CODE_USAGE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Everything that the words may say; each command takes what it knows.
#[derive(Default)]
struct Words {
    values: Vec<String>,
    listen: Option<String>,
    key_file: Option<PathBuf>,
    state: Option<PathBuf>,
    lease: Option<f64>,
    timeout: Option<f64>,
    read_only: bool,
    no_root_squash: bool,
    recursive: bool,
    parents: bool,
    long: bool,
    all: bool,
}

impl Words {
    fn parse(command: &str, words: &[String]) -> Result<Option<Words>, Failure> {
        let mut parser = lexopt::Parser::from_args(words);
        let mut said = Words::default();
        let serves = command == "serve";
        while let Some(word) = parser.next()? {
            match word {
                Short('h') | Long("help") => return Ok(None),
                Long("key-file") => said.key_file = Some(parser.value()?.into()),
                Long("listen") if serves => {
                    said.listen = Some(parser.value()?.to_string_lossy().into_owned());
                }
                Long("state") if serves => said.state = Some(parser.value()?.into()),
                Long("lease") if serves => said.lease = Some(parser.value()?.parse()?),
                Long("read-only") if serves => said.read_only = true,
                Long("no-root-squash") if serves => said.no_root_squash = true,
                Long("timeout") if !serves => said.timeout = Some(parser.value()?.parse()?),
                Short('r' | 'R') if matches!(command, "cp" | "rm") => said.recursive = true,
                Short('p') if command == "mkdir" => said.parents = true,
                Short('l') if command == "ls" => said.long = true,
                Short('a') if command == "ls" => said.all = true,
                Value(value) => said.values.push(value.to_string_lossy().into_owned()),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Some(said))
    }

    /// At least so many values, or exactly.
    fn count(&self, command: &str, least: usize, most: usize) -> Result<(), Failure> {
        if (least..=most).contains(&self.values.len()) {
            return Ok(());
        }
        let found = self.values.len();
        Err(Failure::Usage(format!(
            "fs {command}: {found} paths where {least}{} are expected; oxmpi fs --help shows how",
            if most > least { " or more" } else { "" }
        )))
    }
}

fn run(words: &[String]) -> Result<(), Failure> {
    let Some((command, rest)) = words.split_first() else {
        return Err(Failure::Usage(
            "fs: what to do? oxmpi fs serve FOLDER, or oxmpi fs ls HOST:PORT/; \
             oxmpi fs --help tells more"
                .to_owned(),
        ));
    };
    let command = command.as_str();
    let known = ["serve", "ls", "cp", "cat", "stat", "mkdir", "rm", "mv"];
    let asked = matches!(command, "-h" | "--help" | "help");
    if !asked && !known.contains(&command) {
        return Err(Failure::Usage(format!(
            "unknown command fs {command}: there are {}",
            known.join(", ")
        )));
    }
    let said = match asked {
        true => None,
        false => Words::parse(command, rest)?,
    };
    let Some(said) = said else {
        print!("{HELP}");
        return Ok(());
    };
    let key_file = match &said.key_file {
        Some(path) => path.clone(),
        None => key::default_path()?,
    };
    if command == "serve" {
        return serve(&said, key_file);
    }
    let patience = seconds("--timeout", said.timeout.unwrap_or(60.0), 0.1, 86400.0)?;
    let reach = Reach { key_file, patience };
    let values = &said.values;
    let many = usize::MAX;
    match command {
        "ls" => {
            said.count(command, 1, 1)?;
            commands::list(&reach, &values[0], said.long, said.all)?;
        }
        "cp" => {
            said.count(command, 2, many)?;
            let (to, from) = values.split_last().expect("two at least were counted");
            commands::copy(&reach, from, to, said.recursive)?;
        }
        "mv" => {
            said.count(command, 2, 2)?;
            commands::rename(&reach, &values[0], &values[1])?;
        }
        _ => {
            said.count(command, 1, many)?;
            for word in values {
                match command {
                    "cat" => commands::cat(&reach, word)?,
                    "stat" => commands::stat(&reach, word)?,
                    "mkdir" => commands::make_folder(&reach, word, said.parents)?,
                    _ => commands::remove(&reach, word, said.recursive)?,
                }
            }
        }
    }
    Ok(())
}

fn seconds(option: &str, value: f64, least: f64, most: f64) -> Result<Duration, Failure> {
    match (least..=most).contains(&value) {
        true => Ok(Duration::from_secs_f64(value)),
        false => Err(Failure::Usage(format!(
            "fs: {option} {value}: expected {least} to {most} seconds"
        ))),
    }
}

fn serve(said: &Words, key_file: PathBuf) -> Result<(), Failure> {
    said.count("serve", 1, 1)?;
    let lease = seconds("--lease", said.lease.unwrap_or(30.0), LEASE_MIN, LEASE_MAX)?;
    let listen = said.listen.clone();
    let options = Options {
        folder: PathBuf::from(&said.values[0]),
        listen: listen.unwrap_or_else(|| format!("127.0.0.1:{PORT}")),
        key_file,
        read_only: said.read_only,
        state: said.state.clone(),
        root_squash: !said.no_root_squash,
        lease,
    };
    Ok(server::serve(&options)?)
}
