//! An MPI library on this machine, found below an installation's prefix.
//!
//! What matters are four things: the library, which face of it a program can be linked with, the
//! launcher that belongs to it, and whose it is, because options for ranks that share cores are not
//! standardised. Whose it is is read off the library itself: a prefix such as /usr can hold the
//! launchers of several.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Folders below a prefix in which libraries are found.
const LIBRARY_FOLDERS: [&str; 5] = [
    "lib",
    "lib64",
    "lib/release",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
];

/// The library of the standard ABI, newest name first. Early releases of other libraries call it
/// .so.0.
pub const STANDARD: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so.0"];

/// The library of an ABI of its own, by the names the two families of libraries use.
const OWN: [&str; 3] = ["libmpi.so", "libmpi.so.40", "libmpi.so.12"];

/// Launchers, best first.
const LAUNCHERS: [&str; 2] = ["bin/mpiexec", "bin/mpirun"];

/// Whose library it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// This project's.
    Oxmpi,
    /// Intel MPI, which is built on MPICH and therefore looked for first.
    Intel,
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
    /// Somebody else's: no special options are known.
    Unknown,
}

/// What a library contains that no other does.
const MARKS: [(Family, &[u8]); 4] = [
    (Family::Oxmpi, oxmpi_settings::SEGMENT.name.as_bytes()),
    (Family::Intel, b"I_MPI_PIN"),
    (Family::OpenMpi, b"ompi_mpi_init"),
    (Family::Mpich, b"MPIR_CVAR_"),
];

impl Family {
    fn of(library: &[u8]) -> Family {
        let holds = |mark: &[u8]| library.windows(mark.len()).any(|bytes| bytes == mark);
        MARKS
            .into_iter()
            .find(|(_, mark)| holds(mark))
            .map_or(Family::Unknown, |(family, _)| family)
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Oxmpi => "OxMPI",
            Family::Intel => "Intel MPI",
            Family::Mpich => "MPICH",
            Family::OpenMpi => "Open MPI",
            Family::Unknown => "MPI",
        }
    }
}

/// How a program is made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Face {
    /// It has the standard ABI: whatever was linked with any such library runs with it.
    Standard,
    /// It has only an ABI of its own, and the program is compiled with its header.
    Own {
        /// Where mpi.h is.
        include: PathBuf,
    },
}

/// A library that can be measured.
#[derive(Clone, Debug)]
pub struct Installation {
    /// As given.
    pub prefix: PathBuf,
    /// The file of the library.
    pub library: PathBuf,
    /// How to make a program for it.
    pub face: Face,
    /// What starts its jobs.
    pub launcher: PathBuf,
    /// Whose it is.
    pub family: Family,
}

/// Why a prefix cannot be measured.
#[derive(Debug, Error)]
pub enum InstallationError {
    /// Not a folder.
    #[error(
        "{} is not a folder; --against wants the prefix of an MPI library, the folder above its lib and bin", .prefix.display()
    )]
    NoFolder {
        /// What was given.
        prefix: PathBuf,
    },
    /// No library.
    #[error(
        "no MPI library in {}: looked for {} and {} in {}",
        .prefix.display(), STANDARD.join(", "), OWN.join(", "), LIBRARY_FOLDERS.join(", ")
    )]
    NoLibrary {
        /// What was given.
        prefix: PathBuf,
    },
    /// No header for a library that needs its own.
    #[error(
        "{} has no standard ABI, so the benchmark must be compiled with the library's own mpi.h, and {} does not exist; \
         install the library's development files", .library.display(), .header.display()
    )]
    NoHeader {
        /// The library.
        library: PathBuf,
        /// Where its header should be.
        header: PathBuf,
    },
    /// No launcher.
    #[error("no launcher beside {}: looked for {} in {}", .library.display(), LAUNCHERS.join(" and "), .prefix.display())]
    NoLauncher {
        /// What was given.
        prefix: PathBuf,
        /// The library.
        library: PathBuf,
    },
    /// OxMPI itself is not installed.
    #[error(
        "no installation of OxMPI to measure: {}; make one with `cargo xtask install --prefix DIR` and name it with \
         `--prefix DIR`, or run DIR/bin/oxmpi", .looked.join("; ")
    )]
    Ours {
        /// Where it was looked for, and what was missing there.
        looked: Vec<String>,
    },
    /// The library cannot be read.
    #[error("cannot read {}: {error}", .library.display())]
    Unreadable {
        /// The library.
        library: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl Installation {
    /// The library below `prefix`.
    pub fn find(prefix: &Path) -> Result<Installation, InstallationError> {
        if !prefix.is_dir() {
            return Err(InstallationError::NoFolder {
                prefix: prefix.to_owned(),
            });
        }
        // Launchers change directory, so nothing may stay relative.
        let prefix = std::path::absolute(prefix).unwrap_or_else(|_| prefix.to_owned());
        let (library, face) = match Self::library(&prefix, &STANDARD) {
            Some(library) => (library, Face::Standard),
            None => {
                let library =
                    Self::library(&prefix, &OWN).ok_or_else(|| InstallationError::NoLibrary {
                        prefix: prefix.clone(),
                    })?;
                let include = prefix.join("include");
                let header = include.join("mpi.h");
                if !header.is_file() {
                    return Err(InstallationError::NoHeader { library, header });
                }
                (library, Face::Own { include })
            }
        };
        let launcher = LAUNCHERS
            .map(|name| prefix.join(name))
            .into_iter()
            .find(|launcher| launcher.is_file())
            .ok_or_else(|| InstallationError::NoLauncher {
                prefix: prefix.clone(),
                library: library.clone(),
            })?;
        let bytes = std::fs::read(&library).map_err(|error| InstallationError::Unreadable {
            library: library.clone(),
            error,
        })?;
        Ok(Installation {
            family: Self::family(&library, &bytes),
            prefix,
            library,
            face,
            launcher,
        })
    }

    /// OxMPI's own: what was named, or where this executable is installed.
    pub fn ours(named: Option<&Path>) -> Result<Installation, InstallationError> {
        let here = std::env::current_exe().and_then(std::fs::canonicalize).ok();
        let beside = here
            .as_deref()
            .and_then(Path::parent)
            .and_then(Path::parent);
        let mut looked = Vec::new();
        if let Some(prefix) = named.or(beside) {
            match Self::find(prefix) {
                Ok(found) if found.family != Family::Oxmpi => looked.push(format!(
                    "{} is {}",
                    found.library.display(),
                    found.family.name()
                )),
                Ok(found) if !found.header().is_file() => {
                    looked.push(format!("{} is missing", found.header().display()));
                }
                Ok(found) => return Ok(found),
                Err(error) => looked.push(error.to_string()),
            }
        }
        Err(InstallationError::Ours { looked })
    }

    /// Where its mpi.h should be.
    pub fn header(&self) -> PathBuf {
        self.prefix.join("include/mpi.h")
    }

    /// Where the dynamic linker finds it.
    pub fn folder(&self) -> &Path {
        self.library.parent().unwrap_or(Path::new("/"))
    }

    fn library(prefix: &Path, names: &[&str]) -> Option<PathBuf> {
        // A name is tried in every folder before the next name: .so.1 in lib64 is better than .so.0
        // in lib.
        names.iter().find_map(|name| {
            LIBRARY_FOLDERS
                .iter()
                .map(|folder| prefix.join(folder).join(name))
                .find(|library| library.is_file())
        })
    }

    /// A development link can be a linker script of a few bytes; then the library it names is
    /// looked at.
    fn family(library: &Path, bytes: &[u8]) -> Family {
        if bytes.starts_with(b"\x7fELF") {
            return Family::of(bytes);
        }
        let folder = library.parent().unwrap_or(Path::new("/"));
        OWN.iter()
            .filter_map(|name| std::fs::read(folder.join(name)).ok())
            .find(|bytes| bytes.starts_with(b"\x7fELF"))
            .map_or(Family::Unknown, |bytes| Family::of(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix with these files, gone when dropped.
    struct Prefix(PathBuf);

    impl Prefix {
        fn with(name: &str, files: &[(&str, &str)]) -> Prefix {
            let root =
                std::env::temp_dir().join(format!("oxmpi-bench-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&root).unwrap();
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Prefix(root)
        }
    }

    impl Drop for Prefix {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_standard_abi_is_preferred_and_needs_no_header() {
        let prefix = Prefix::with(
            "standard",
            &[
                ("lib/libmpi_abi.so.0", "\x7fELF MPIR_CVAR_X"),
                ("lib64/libmpi_abi.so.1", "\x7fELF MPIR_CVAR_X I_MPI_PIN"),
                ("lib/libmpi.so", "\x7fELF"),
                ("bin/mpiexec", ""),
            ],
        );
        let found = Installation::find(&prefix.0).unwrap();
        assert_eq!(found.library, prefix.0.join("lib64/libmpi_abi.so.1"));
        assert_eq!((found.face, found.family), (Face::Standard, Family::Intel));
    }

    #[test]
    fn an_own_abi_is_known_by_the_library_behind_its_linker_script() {
        let prefix = Prefix::with(
            "own",
            &[
                ("lib/libmpi.so", "INPUT(libmpi.so.40)\n"),
                ("lib/libmpi.so.40", "\x7fELF ompi_mpi_init"),
                ("include/mpi.h", ""),
                ("bin/mpirun", ""),
            ],
        );
        let found = Installation::find(&prefix.0).unwrap();
        let include = prefix.0.join("include");
        assert_eq!(
            (found.face, found.family),
            (Face::Own { include }, Family::OpenMpi)
        );
        assert_eq!(found.launcher, prefix.0.join("bin/mpirun"));
    }

    #[test]
    fn errors_name_what_was_looked_for() {
        let text = |prefix: &Path| Installation::find(prefix).unwrap_err().to_string();
        assert!(text(Path::new("/nonexistent")).contains("the folder above its lib and bin"));
        let empty = Prefix::with("empty", &[]);
        assert!(
            text(&empty.0).contains("looked for libmpi_abi.so.1, libmpi_abi.so.0 and libmpi.so")
        );
        let bare = Prefix::with("bare", &[("lib/libmpi.so", "")]);
        assert!(text(&bare.0).contains("include/mpi.h does not exist"));
        let mute = Prefix::with("mute", &[("lib/libmpi_abi.so.1", "")]);
        assert!(text(&mute.0).contains("looked for bin/mpiexec and bin/mpirun"));
    }

    #[test]
    fn ours_is_not_taken_for_somebody_elses() {
        let prefix = Prefix::with(
            "theirs",
            &[
                ("lib/libmpi_abi.so.1", "\x7fELF MPIR_CVAR_X"),
                ("bin/mpiexec", ""),
            ],
        );
        let text = Installation::ours(Some(&prefix.0)).unwrap_err().to_string();
        assert!(
            text.contains("is MPICH") && text.contains("cargo xtask install --prefix"),
            "{text}"
        );
    }
}
