//! Jobs of programs: those that ship with OxMPI, and NPB's, on some of the hosts.
//!
//! A shipped program says at the end what it has cost (`--counts`), NPB's how many operations it
//! made per second. Each run is a job of its own.

use std::path::Path;

use oxmpi_launch::{
    AppContext, Executable, Host, Job, LaunchError, Output, ProgramError, Settings, Spread, Stdin,
};
use serde::Deserialize;
use thiserror::Error;

use crate::job::TIMEOUT;

/// Why a program gave no figure.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// It did not start.
    #[error("cannot start {program} on {ranks} ranks: {error}")]
    Start {
        /// Which.
        program: String,
        /// On how many ranks.
        ranks: u32,
        /// Why not.
        error: LaunchError,
    },
    /// It cannot be executed.
    #[error("{program}: {error}")]
    Binary {
        /// Which.
        program: String,
        /// Why not.
        error: ProgramError,
    },
    /// It failed.
    #[error("{program} on {ranks} ranks ended with status {code}: {said}")]
    Failed {
        /// Which.
        program: String,
        /// On how many ranks.
        ranks: u32,
        /// Its status.
        code: u8,
        /// The last thing it complained of.
        said: String,
    },
    /// It said nothing that can be read.
    #[error(
        "{program} on {ranks} ranks did not say {missing}; the last line that it printed: {said:?}"
    )]
    Unreadable {
        /// Which.
        program: String,
        /// On how many ranks.
        ranks: u32,
        /// What was looked for.
        missing: &'static str,
        /// Its last line.
        said: String,
    },
}

/// What a run of a shipped program found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// The slowest rank's time.
    pub seconds: f64,
    /// Of all ranks.
    pub cpu_seconds: f64,
    /// Switches of context of all ranks.
    pub switches: f64,
    /// Packets that a network brought to all ranks.
    pub packets: f64,
    /// Ranks.
    pub ranks: f64,
    /// Mop/s, of those that say it.
    pub rate: Option<f64>,
}

/// The line that `--counts` adds.
#[derive(Deserialize)]
struct Counts {
    ranks: f64,
    seconds: f64,
    cpu_seconds: f64,
    switches: f64,
    packets: f64,
}

/// Settings of a job.
pub type Environment<'a> = &'a [(&'a str, &'a str)];

/// A shipped program with these words, so many ranks on each of these hosts.
pub fn shipped(
    words: &[&str],
    hosts: &[String],
    each: u32,
    environment: Environment<'_>,
) -> Result<Ran, ExecuteError> {
    let program = words.join(" ");
    let mut arguments = vec!["program"];
    arguments.extend(words);
    arguments.push("--counts");
    let ranks = each * hosts.len().max(1) as u32;
    let executable = Executable::this_one("oxmpi");
    let said = execute(&program, executable, &arguments, hosts, each, environment)?;
    read(&said).ok_or_else(|| ExecuteError::Unreadable {
        program,
        ranks,
        missing: "what it has cost",
        said: last_line(&said),
    })
}

/// A binary of NPB: million operations per second.
pub fn npb(
    binary: &Path,
    hosts: &[String],
    each: u32,
    environment: Environment<'_>,
) -> Result<f64, ExecuteError> {
    let program = binary.display().to_string();
    let ranks = each * hosts.len().max(1) as u32;
    let executable =
        Executable::find(binary.as_os_str(), None).map_err(|error| ExecuteError::Binary {
            program: program.clone(),
            error,
        })?;
    let said = execute(&program, executable, &[], hosts, each, environment)?;
    npb_rate(&said).ok_or_else(|| ExecuteError::Unreadable {
        program,
        ranks,
        missing: "a verified number of Mop/s",
        said: last_line(&said),
    })
}

/// Its standard output. No hosts are this one, all of whose ranks it has.
fn execute(
    program: &str,
    executable: Executable,
    arguments: &[&str],
    hosts: &[String],
    each: u32,
    environment: Environment<'_>,
) -> Result<String, ExecuteError> {
    let ranks = each * hosts.len().max(1) as u32;
    let host = |name: &String| Host {
        name: name.clone(),
        slots: each,
        slots_max: None,
    };
    let job = Job {
        apps: vec![AppContext {
            executable,
            arguments: arguments.iter().map(Into::into).collect(),
            ranks,
            wdir: None,
            env: environment
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }],
        settings: Settings {
            timeout: Some(TIMEOUT),
            spread: Spread {
                hosts: (!hosts.is_empty()).then(|| hosts.iter().map(host).collect()),
                ..Spread::default()
            },
            stdin: Stdin::Null,
            output: Output::Capture,
            ..Settings::default()
        },
    };
    let outcome = job.run().map_err(|error| ExecuteError::Start {
        program: program.to_owned(),
        ranks,
        error,
    })?;
    if let Some(signal) = outcome.signal {
        // Whoever interrupts a job means the whole run.
        oxmpi_launch::die_of_signal(signal);
    }
    if !outcome.success() {
        return Err(ExecuteError::Failed {
            program: program.to_owned(),
            ranks,
            code: outcome.code,
            said: last_line(&String::from_utf8_lossy(&outcome.stderr)),
        });
    }
    Ok(String::from_utf8_lossy(&outcome.stdout).into_owned())
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim().to_owned()
}

/// What a shipped program has said.
fn read(said: &str) -> Option<Ran> {
    let counts = said
        .lines()
        .find_map(|line| serde_json::from_str::<Counts>(line.trim()).ok())?;
    let rate = said.lines().find_map(|line| {
        let (before, _) = line.split_once(" Mop/s;")?;
        before.rsplit(' ').next()?.parse().ok()
    });
    Some(Ran {
        seconds: counts.seconds,
        cpu_seconds: counts.cpu_seconds,
        switches: counts.switches,
        packets: counts.packets,
        ranks: counts.ranks,
        rate,
    })
}

/// The rate that one of NPB's benchmarks has printed, if its result was right.
fn npb_rate(said: &str) -> Option<f64> {
    let value = |name: &str| {
        let line = said
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        line?.split_once('=').map(|(_, value)| value.trim())
    };
    let verified = value("Verification")?.eq_ignore_ascii_case("successful");
    let rate = value("Mop/s total")?.parse().ok();
    verified.then_some(rate)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_is_read() {
        let said = "NAS IS class S: 65536 keys, 10 iterations\nverification successful\n\
             0.0123 s, 53.28 Mop/s; 4 ranks on h0, tcp\n\
             {\"ranks\":4,\"seconds\":0.5,\"cpu_seconds\":1.25,\"switches\":12,\"packets\":340}\n";
        let found = Ran {
            seconds: 0.5,
            cpu_seconds: 1.25,
            switches: 12.0,
            packets: 340.0,
            ranks: 4.0,
            rate: Some(53.28),
        };
        assert_eq!(read(said), Some(found));
        assert_eq!(read("pi = 3"), None);
    }

    #[test]
    fn npbs_rate_counts_only_if_the_result_was_right() {
        let page = |verdict: &str| {
            format!(
                " CG Benchmark Completed.\n Class           =                        S\n \
                 Time in seconds =                     0.02\n Mop/s total     =                  \
                 3333.33\n Mop/s/process   =                   833.33\n Verification    = {verdict}\n"
            )
        };
        assert_eq!(npb_rate(&page("              SUCCESSFUL")), Some(3333.33));
        assert_eq!(npb_rate(&page("            UNSUCCESSFUL")), None);
        assert_eq!(npb_rate("Mop/s total = 3\n"), None);
    }

    #[test]
    fn errors_say_which_program_and_what_it_said() {
        let error = ExecuteError::Unreadable {
            program: "bin/cg.S.x".into(),
            ranks: 4,
            missing: "a verified number of Mop/s",
            said: last_line("one\n two \n"),
        };
        assert_eq!(
            error.to_string(),
            "bin/cg.S.x on 4 ranks did not say a verified number of Mop/s; the last line that it \
             printed: \"two\""
        );
    }
}
