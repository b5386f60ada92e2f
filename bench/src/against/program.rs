//! The benchmark programs: C sources, each compiled once for all libraries with the standard ABI
//! and once more for each library that has only its own.
//!
//! Executables live in a temporary folder that goes with the `Workshop`. There is no trace of a
//! library's place in the one for the standard ABI: LD_LIBRARY_PATH decides which library it runs
//! with.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use super::installation::{Face, Installation, STANDARD};
use super::plan::Which;

impl Which {
    /// Name of its executable for the standard ABI.
    fn name(self) -> &'static str {
        match self {
            Which::Messages => "abi_bench",
            Which::Sort => "is",
            Which::Files => "files",
            Which::OneSided => "onesided",
            Which::Memory => "memory",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Which::Messages => include_str!("../../c/abi_bench.c"),
            Which::Sort => include_str!("../../c/is.c"),
            Which::Files => include_str!("../../c/files.c"),
            Which::OneSided => include_str!("../../c/onesided.c"),
            Which::Memory => include_str!("../../c/memory.c"),
        }
    }
}

/// What the programs include: its name and text.
const HEADER: (&str, &str) = ("measure.h", include_str!("../../c/measure.h"));

/// How it is compiled. The loop that stands beside MPI_Pack is a floor only if the compiler does
/// its best.
const FLAGS: [&str; 3] = ["-std=c99", "-O3", "-pthread"];

/// Why there is no program.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The temporary folder.
    #[error("cannot write the benchmark program to {}: {error}; TMPDIR names another folder", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// No compiler.
    #[error(
        "cannot run the C compiler {compiler:?}: {error}; install one (gcc, clang), or name it in CC"
    )]
    NoCompiler {
        /// Its name.
        compiler: OsString,
        /// Why not.
        error: std::io::Error,
    },
    /// It refused.
    #[error("{compiler:?} cannot compile the benchmark program for {}: {said}", .library.display())]
    Refused {
        /// Its name.
        compiler: OsString,
        /// Against what.
        library: PathBuf,
        /// Its first complaint.
        said: String,
    },
}

/// An executable and what it needs to find its library.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// For LD_LIBRARY_PATH, before what is there already.
    pub library_path: OsString,
}

/// One library's executables.
#[derive(Clone, Debug, Default)]
pub struct Programs(Vec<(Which, Program)>);

impl Programs {
    /// With one more.
    pub fn add(&mut self, which: Which, program: Program) {
        self.0.push((which, program));
    }

    /// One that was added.
    pub fn of(&self, which: Which) -> &Program {
        let found = self.0.iter().find(|(other, _)| *other == which);
        &found.expect("what jobs start has been compiled before").1
    }
}

/// The temporary folder with everything of one program in it.
#[derive(Debug)]
pub struct Workshop {
    which: Which,
    folder: PathBuf,
    source: PathBuf,
}

impl Workshop {
    /// With the source written, nothing compiled.
    pub fn open(which: Which) -> Result<Workshop, ProgramError> {
        let name = format!("oxmpi-bench-{}-{}", std::process::id(), which.name());
        let folder = std::env::temp_dir().join(name);
        let source = folder.join(which.name()).with_extension("c");
        let workshop = Workshop {
            which,
            folder,
            source,
        };
        // Somebody else may have prepared a folder of this name, with programs of their own in it.
        DirBuilder::new()
            .mode(0o700)
            .create(&workshop.folder)
            .map_err(|error| ProgramError::Folder {
                path: workshop.folder.clone(),
                error,
            })?;
        let header = workshop.folder.join(HEADER.0);
        for (path, text) in [(&workshop.source, which.source()), (&header, HEADER.1)] {
            std::fs::write(path, text).map_err(|error| ProgramError::Folder {
                path: path.clone(),
                error,
            })?;
        }
        Ok(workshop)
    }

    /// Compiles for the standard ABI with OxMPI's header. Every library that has the ABI runs the
    /// result.
    pub fn standard(&self, ours: &Installation) -> Result<PathBuf, ProgramError> {
        let path = self.folder.join(self.which.name());
        let include = ours.header();
        let include = include.parent().unwrap_or(Path::new("/"));
        self.compile(&compiler(), include, &ours.library, &path)?;
        Ok(path)
    }

    /// The program for an installation: `standard`, which was made with `ours`, or one of its own.
    pub fn program(
        &self,
        index: usize,
        installation: &Installation,
        ours: &Installation,
        standard: &Path,
    ) -> Result<Program, ProgramError> {
        let library = &installation.library;
        let own = self.folder.join(format!("{}-{index}", self.which.name()));
        let path = match &installation.face {
            Face::Standard if library.ends_with(STANDARD[0]) => standard.to_owned(),
            // The same ABI under its early name. A link with the final name would not do: the
            // loader would look for what the library needs beside the link.
            Face::Standard => {
                let include = ours.header();
                let include = include.parent().unwrap_or(Path::new("/"));
                self.compile(&compiler(), include, library, &own)?;
                own
            }
            Face::Own { include } => {
                let wrapper = installation.prefix.join("bin/mpicc");
                if !self.wrapped(&wrapper, &own) {
                    self.compile(&compiler(), include, library, &own)?;
                }
                own
            }
        };
        let library_path = installation.folder().as_os_str().to_owned();
        Ok(Program { path, library_path })
    }

    /// Whether the library's own wrapper made the program. Wrappers in relocated packages may point
    /// nowhere.
    fn wrapped(&self, wrapper: &Path, path: &Path) -> bool {
        wrapper.is_file()
            && Command::new(wrapper)
                .args(FLAGS)
                .arg(&self.source)
                .arg("-o")
                .arg(path)
                .output()
                .is_ok_and(|output| output.status.success() && path.is_file())
    }

    fn compile(
        &self,
        compiler: &[OsString],
        include: &Path,
        library: &Path,
        path: &Path,
    ) -> Result<(), ProgramError> {
        let folder = library.parent().unwrap_or(Path::new("/"));
        let output = Command::new(&compiler[0])
            .env("PATH", oxmpi_trust::search_path())
            .args(&compiler[1..])
            .args(FLAGS)
            .arg("-I")
            .arg(include)
            .arg(&self.source)
            .arg("-o")
            .arg(path)
            .arg(library)
            // Libraries the library itself needs lie beside it.
            .arg(joined("-L", folder))
            .arg(joined("-Wl,-rpath-link,", folder))
            .output()
            .map_err(|error| ProgramError::NoCompiler {
                compiler: compiler[0].clone(),
                error,
            })?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let complaint = text
            .lines()
            .find(|line| line.contains("error") || line.contains("undefined"));
        Err(ProgramError::Refused {
            compiler: compiler[0].clone(),
            library: library.to_owned(),
            said: complaint
                .or(text.lines().next())
                .unwrap_or("no reason given")
                .to_owned(),
        })
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Somebody who removed the folder first has done what is wanted.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn joined(option: &str, folder: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(folder);
    word
}

/// CC with its words, or cc.
fn compiler() -> Vec<OsString> {
    // A privileged process takes the system's compiler.
    let named = oxmpi_trust::variable("CC")
        .ok()
        .flatten()
        .unwrap_or_default();
    let words: Vec<OsString> = named
        .to_string_lossy()
        .split_whitespace()
        .map(OsString::from)
        .collect();
    if words.is_empty() {
        vec![OsStr::new("cc").to_owned()]
    } else {
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_named() {
        let workshop = Workshop {
            which: Which::Messages,
            folder: std::env::temp_dir().join(format!("oxmpi-bench-cc-{}", std::process::id())),
            source: PathBuf::from("abi_bench.c"),
        };
        let error = workshop
            .compile(
                &["no-such-cc".into()],
                Path::new("/"),
                Path::new("/l.so"),
                Path::new("/o"),
            )
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot run the C compiler \"no-such-cc\"") && error.contains("CC"),
            "{error}"
        );
    }

    #[test]
    fn a_refusal_quotes_the_compiler() {
        let folder =
            std::env::temp_dir().join(format!("oxmpi-bench-refusal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("abi_bench.c");
        std::fs::write(&source, "#include <no-such-header.h>\n").unwrap();
        let which = Which::Messages;
        let workshop = Workshop {
            which,
            folder,
            source,
        };
        let into = workshop.folder.join("out");
        match workshop.compile(&["cc".into()], Path::new("/"), Path::new("/l.so"), &into) {
            Err(ProgramError::Refused { said, .. }) => {
                assert!(said.contains("no-such-header.h"), "{said}");
            }
            Err(ProgramError::NoCompiler { .. }) => {
                eprintln!("SKIPPED: no C compiler on this machine")
            }
            other => panic!("{other:?}"),
        }
    }
}
