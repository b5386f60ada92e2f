//! `oxmpi fs`: the words of its command line.
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lexopt::prelude::*;

use crate::server::Options;

const HELP: &str = "Usage: oxmpi fs serve FOLDER [options]";

/// `oxmpi fs` with the words after it.
pub fn main(words: &[String]) -> ExitCode {
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("oxmpi: {text}");
            ExitCode::from(1)
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let (command, rest) = words.split_first().ok_or(HELP)?;
    let text = |error: lexopt::Error| error.to_string();
    match command.as_str() {
        "serve" => {
            let mut parser = lexopt::Parser::from_args(rest);
            let mut folder = None;
            let mut options = Options {
                folder: PathBuf::new(),
                listen: format!("127.0.0.1:{}", crate::protocol::PORT),
                key_file: PathBuf::new(),
                read_only: false,
                state: None,
                root_squash: true,
                lease: Duration::from_secs(30),
            };
            while let Some(word) = parser.next().map_err(text)? {
                match word {
                    Long("listen") => options.listen = parser.value().map_err(text)?.to_string_lossy().into(),
                    Long("key-file") => options.key_file = parser.value().map_err(text)?.into(),
                    Long("state") => options.state = Some(parser.value().map_err(text)?.into()),
                    Long("read-only") => options.read_only = true,
                    Long("no-root-squash") => options.root_squash = false,
                    Long("lease") => {
                        let seconds: f64 = parser.value().and_then(|v| v.parse()).map_err(text)?;
                        options.lease = Duration::from_secs_f64(seconds);
                    }
                    Value(word) => folder = Some(word),
                    other => return Err(other.unexpected().to_string()),
                }
            }
            options.folder = folder.ok_or(HELP)?.into();
            if options.key_file.as_os_str().is_empty() {
                options.key_file = crate::key::default_path().map_err(|e| e.to_string())?;
            }
            crate::server::serve(&options).map_err(|e| e.to_string())
        }
        other => Err(format!("unknown command fs {other}")),
    }
}
