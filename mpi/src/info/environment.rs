//! What MPI_INFO_ENV tells a process about how it was started (MPI 5.0 §11.2.1).
//!
//! The keys are those the standard reserves for MPI_Comm_spawn. The values come from the launcher,
//! by variables or when the library is initialised; a value that is not known, or that is too long
//! for an info object, is left out, because half a path or half a command line would be a wrong
//! one. `thread_level` is never there: it is the level requested before the program started, and
//! the launcher takes no such request.

use super::pairs::Pairs;
use super::{Info, VALUE_MAX};

/// What is known about the start of this process; what is not known stays `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The program's name, as it was started.
    pub command: Option<String>,
    /// Its arguments, without the program's name.
    pub argv: Option<Vec<String>>,
    /// How many processes were asked for at most.
    pub maxprocs: Option<u32>,
    /// Which numbers of processes would have done, as MPI_Comm_spawn writes them.
    pub soft: Option<String>,
    /// The host this process runs on.
    pub host: Option<String>,
    /// The host's architecture.
    pub arch: Option<String>,
    /// The directory it was started in.
    pub wdir: Option<String>,
    /// The file in which more was specified.
    pub file: Option<String>,
    /// The error handler the launcher was asked to begin with, by its key's value:
    /// `mpi_errors_return` and so on.
    pub initial_errhandler: Option<String>,
}

impl Environment {
    /// What a process knows of itself: command, arguments, number of processes, host, architecture,
    /// working directory.
    pub fn of_process() -> Environment {
        let mut arguments =
            std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        Environment {
            command: arguments.next(),
            argv: Some(arguments.collect()),
            maxprocs: oxmpi_join::announced_size(),
            host: std::fs::read_to_string("/proc/sys/kernel/hostname")
                .ok()
                .map(|name| name.trim_end().to_owned()),
            arch: Some(std::env::consts::ARCH.to_owned()),
            wdir: std::env::current_dir()
                .ok()
                .map(|wdir| wdir.to_string_lossy().into_owned()),
            ..Environment::default()
        }
    }
}

impl Info {
    /// The object behind MPI_INFO_ENV. It cannot be changed; its duplicates can.
    pub fn environment(environment: &Environment) -> Info {
        let arguments = environment.argv.as_ref().filter(|argv| !argv.is_empty());
        let known = [
            ("command", environment.command.clone()),
            ("argv", arguments.map(|argv| argv.join(" "))),
            (
                "maxprocs",
                environment.maxprocs.map(|count| count.to_string()),
            ),
            ("soft", environment.soft.clone()),
            ("host", environment.host.clone()),
            ("arch", environment.arch.clone()),
            ("wdir", environment.wdir.clone()),
            ("file", environment.file.clone()),
            (
                "mpi_initial_errhandler",
                environment.initial_errhandler.clone(),
            ),
        ];
        let fits = |value: &String| value.len() < VALUE_MAX && !value.contains('\0');
        let mut pairs = Pairs::default();
        for (key, value) in known {
            if let Some(value) = value.filter(fits) {
                pairs.set(key.as_bytes(), value.as_bytes());
            }
        }
        Info::from_pairs(pairs, true)
    }
}
