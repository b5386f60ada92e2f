//! The libraries that programs run on, and where they come from.
//!
//! A library is a prefix: `bin/mpiexec`, `lib/libmpi_abi.so.1`, and for the one that is compiled
//! against also a header. OxMPI's prefix is named by the environment (`cargo xtask test` does that)
//! or installed here; MPICH comes from the Python package index into a virtual environment.
//! Whatever cannot be had is a reason to show, never a silent success.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Names an installed OxMPI to test.
pub const PREFIX_VARIABLE: &str = "OXMPI_TEST_PREFIX";

/// Names an installed MPICH to compare with; without it one is fetched.
pub const MPICH_VARIABLE: &str = "OXMPI_TEST_MPICH";

/// Names the hosts that OxMPI's launcher spreads jobs over.
pub const HOSTS_VARIABLE: &str = "OXMPI_HOST";

/// What stands for the number of ranks in a launcher's words.
pub const RANKS: &str = "{ranks}";

/// The release of the reference library.
pub const MPICH_VERSION: &str = "5.0.2";

/// Which library it is: programs may be passed over on one and not on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The library under test.
    OxMpi,
    /// The reference.
    Mpich,
}

/// A library that can run programs.
#[derive(Clone, Debug)]
pub struct Library {
    /// Which one.
    pub kind: Kind,
    /// Its name in reports.
    pub name: String,
    /// Where it is installed.
    pub prefix: PathBuf,
    /// The words that start a job, with [`RANKS`] in one of them; the program comes after them.
    pub launcher: Vec<String>,
}

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The prefix lacks a file.
    #[error("{prefix} is not an installed MPI library of the standard ABI: it has no {missing}")]
    Incomplete {
        /// The prefix.
        prefix: String,
        /// The file.
        missing: String,
    },
    /// A command that makes the library failed.
    #[error("{command} failed ({status}); its last words:\n{words}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// The end of its output.
        words: String,
    },
    /// A file could not be written.
    #[error("{path} could not be written: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

impl Library {
    /// The library installed at `prefix`, if what is needed to run programs is there.
    pub fn at(kind: Kind, name: &str, prefix: &Path) -> Result<Library, LibraryError> {
        for missing in ["bin/mpiexec", "lib/libmpi_abi.so.1"] {
            if !prefix.join(missing).exists() {
                let prefix = prefix.display().to_string();
                return Err(LibraryError::Incomplete {
                    prefix,
                    missing: missing.to_string(),
                });
            }
        }
        let mpiexec = prefix.join("bin/mpiexec").display().to_string();
        Ok(Library {
            kind,
            name: name.to_string(),
            prefix: prefix.to_path_buf(),
            launcher: vec![mpiexec, "-n".to_string(), RANKS.to_string()],
        })
    }

    /// The same library, with jobs started by other words, which blanks separate.
    pub fn started_by(self, words: &str) -> Library {
        let launcher = words.split_whitespace().map(str::to_string).collect();
        Library { launcher, ..self }
    }

    /// OxMPI: the prefix that the environment names, or a new installation below `folder`.
    pub fn oxmpi(folder: &Path) -> Result<Library, LibraryError> {
        if let Some(prefix) = std::env::var_os(PREFIX_VARIABLE) {
            return Library::at(Kind::OxMpi, "oxmpi", Path::new(&prefix));
        }
        let prefix = folder.join("oxmpi");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args(["xtask", "install", "--prefix"]).arg(&prefix);
        finish(install.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")))?;
        Library::at(Kind::OxMpi, "oxmpi", &prefix)
    }

    /// MPICH: the prefix that the environment names, or the release from the package index below
    /// `folder`.
    pub fn mpich(folder: &Path) -> Result<Library, LibraryError> {
        if let Some(prefix) = std::env::var_os(MPICH_VARIABLE) {
            return Library::at(Kind::Mpich, "mpich", Path::new(&prefix));
        }
        let prefix = folder.join(format!("mpich-{MPICH_VERSION}"));
        if let Ok(library) = Library::at(Kind::Mpich, "mpich", &prefix) {
            return Ok(library);
        }
        finish(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&prefix),
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--retries",
            "1",
            "--timeout",
            "20",
        ];
        let package = format!("mpich=={MPICH_VERSION}");
        finish(
            Command::new(prefix.join("bin/python"))
                .args(pip)
                .arg(package),
        )?;
        Library::at(Kind::Mpich, "mpich", &prefix)
    }

    /// A folder in which `#include <mpi.h>` finds the header of the standard ABI. MPICH ships its
    /// own under another name, beside one that is not of the standard ABI, so it gets a folder in
    /// `folder`.
    pub fn include(&self, folder: &Path) -> Result<PathBuf, LibraryError> {
        let own = self.prefix.join("include");
        let abi = own.join("mpi_abi.h");
        if !abi.exists() {
            let header = own.join("mpi.h");
            let (prefix, missing) = (
                self.prefix.display().to_string(),
                "include/mpi.h".to_string(),
            );
            return if header.exists() {
                Ok(own)
            } else {
                Err(LibraryError::Incomplete { prefix, missing })
            };
        }
        let path = folder.join("include");
        let error = |source| LibraryError::File {
            path: path.display().to_string(),
            source,
        };
        std::fs::create_dir_all(&path).map_err(error)?;
        std::fs::copy(abi, path.join("mpi.h")).map_err(error)?;
        Ok(path)
    }
}

/// Whether the environment spreads jobs over several hosts.
pub fn is_spread() -> bool {
    std::env::var(HOSTS_VARIABLE).is_ok_and(|hosts| hosts.contains(','))
}

/// Runs a command to its end; its output is shown only if it fails.
fn finish(command: &mut Command) -> Result<(), LibraryError> {
    let line = format!("{command:?}");
    let fail = |status: String, words: String| LibraryError::Command {
        command: line.clone(),
        status,
        words,
    };
    let output = command
        .output()
        .map_err(|error| fail(error.to_string(), String::new()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().collect::<Vec<_>>();
    Err(fail(
        output.status.to_string(),
        lines[lines.len().saturating_sub(15)..].join("\n"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_without_a_library_is_refused_by_name() {
        let error = Library::at(Kind::OxMpi, "oxmpi", Path::new("/nowhere")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/nowhere is not an installed MPI library of the standard ABI: it has no bin/mpiexec"
        );
    }

    #[test]
    fn a_failed_command_shows_its_last_words() {
        let error =
            finish(Command::new("sh").args(["-c", "echo no such thing; exit 3"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"sh\" \"-c\" \"echo no such thing; exit 3\" failed (exit status: 3); its last words:\nno such thing"
        );
    }
}
