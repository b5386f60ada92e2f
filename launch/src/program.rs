//! Finding the program a rank executes, before anything is started.
//!
//! The search is done once by the launcher, so that a typing error is one message that names what
//! was tried, and not as many as there are ranks. A name without a slash is looked up in PATH; a
//! relative path counts from the rank's working directory, as it would after a `cd`.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that was found and looked executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// What exec gets.
    pub path: PathBuf,
    /// What the program sees as its own name.
    pub argv0: OsString,
    /// What messages call it.
    pub shown: String,
}

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A bare name that PATH does not hold.
    #[error("no program '{name}' in PATH ({path}){}", if *.here { format!("; for the one in the working directory write ./{name}") } else { String::new() })]
    NotInPath {
        /// The name given.
        name: String,
        /// The PATH that was searched.
        path: String,
        /// Whether the working directory holds a file of that name.
        here: bool,
    },
    /// A path with nothing there.
    #[error("cannot run {given}: {} does not exist", .tried.display())]
    Missing {
        /// The path given.
        given: String,
        /// The path tried.
        tried: PathBuf,
    },
    /// A path that is not a plain file.
    #[error("cannot run {given}: {} is a directory", .tried.display())]
    Directory {
        /// The path given.
        given: String,
        /// The path tried.
        tried: PathBuf,
    },
    /// A file without permission to execute.
    #[error("cannot run {given}: {} is not executable (chmod +x would make it so)", .tried.display())]
    NotExecutable {
        /// The path given.
        given: String,
        /// The path tried.
        tried: PathBuf,
    },
}

impl ProgramError {
    /// The exit status shells use for this: 127 for what is not there, 126 for what cannot be
    /// executed.
    pub fn exit_code(&self) -> u8 {
        match self {
            ProgramError::NotInPath { .. } | ProgramError::Missing { .. } => 127,
            ProgramError::Directory { .. } | ProgramError::NotExecutable { .. } => 126,
        }
    }
}

impl Executable {
    /// Finds `name` for a rank that will run in `wdir` (None: where the launcher runs).
    pub fn find(name: &OsStr, wdir: Option<&Path>) -> Result<Executable, ProgramError> {
        Executable::find_in(name, wdir, &oxmpi_trust::search_path())
    }

    /// The same, in these folders before those of PATH.
    pub fn find_first_in(
        folders: &OsStr,
        name: &OsStr,
        wdir: Option<&Path>,
    ) -> Result<Executable, ProgramError> {
        let mut path = folders.to_owned();
        path.push(":");
        path.push(oxmpi_trust::search_path());
        Executable::find_in(name, wdir, &path)
    }

    /// Whether `name` is found in these folders alone.
    pub fn is_in(folders: &OsStr, name: &OsStr, wdir: Option<&Path>) -> bool {
        Executable::find_in(name, wdir, folders).is_ok()
    }

    fn find_in(
        name: &OsStr,
        wdir: Option<&Path>,
        path: &OsStr,
    ) -> Result<Executable, ProgramError> {
        let path = if name.as_bytes().contains(&b'/') {
            from_path(name, wdir)?
        } else {
            from_search(name, wdir, path)?
        };
        Ok(Executable {
            path,
            argv0: name.to_owned(),
            shown: name.to_string_lossy().into_owned(),
        })
    }

    /// The running program itself, found even when its file has been replaced meanwhile. It sees
    /// the name `oxmpi`, whatever this process was called: mpiexec is the same program and goes by
    /// its name.
    pub fn this_one(shown: &str) -> Executable {
        Executable {
            path: PathBuf::from("/proc/self/exe"),
            argv0: "oxmpi".into(),
            shown: shown.to_owned(),
        }
    }
}

/// The processor that a program was compiled for, if it is a program of another one.
pub(crate) fn machine(path: &Path) -> Option<String> {
    let mut head = [0; 20];
    let mut file = std::fs::File::open(path).ok()?;
    file.read_exact(&mut head).ok()?;
    let [0x7f, b'E', b'L', b'F', class, order, .., low, high] = head else {
        return None;
    };
    let number = match order {
        2 => u16::from_be_bytes([low, high]),
        _ => u16::from_le_bytes([low, high]),
    };
    // e_machine of the ELF format.
    let name = match (number, class, order) {
        (3, ..) => "x86",
        (8, ..) => "mips",
        (20, ..) => "powerpc",
        (21, _, 1) => "powerpc64le",
        (21, ..) => "powerpc64",
        (22, ..) => "s390x",
        (40, ..) => "arm",
        (62, 1, _) => "x32",
        (62, ..) => "x86_64",
        (183, ..) => "aarch64",
        (243, ..) => "riscv",
        (258, ..) => "loongarch",
        _ => return Some(format!("another processor (ELF machine {number})")),
    };
    (name != std::env::consts::ARCH).then(|| name.to_owned())
}

fn from_path(name: &OsStr, wdir: Option<&Path>) -> Result<PathBuf, ProgramError> {
    let base = std::env::current_dir().unwrap_or_default();
    let tried = base.join(wdir.unwrap_or(Path::new(""))).join(
        // "./prog" and "prog" name the same file; messages read better without the dot.
        Path::new(name)
            .strip_prefix("./")
            .unwrap_or(Path::new(name)),
    );
    let given = name.to_string_lossy().into_owned();
    match tried.metadata() {
        Err(_) => Err(ProgramError::Missing { given, tried }),
        Ok(found) if found.is_dir() => Err(ProgramError::Directory { given, tried }),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            Err(ProgramError::NotExecutable { given, tried })
        }
        Ok(_) => Ok(tried),
    }
}

fn from_search(name: &OsStr, wdir: Option<&Path>, path: &OsStr) -> Result<PathBuf, ProgramError> {
    let is_program = |file: &Path| {
        file.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if !name.is_empty() {
        let found = std::env::split_paths(path)
            .map(|folder| folder.join(name))
            .find(|file| is_program(file));
        if let Some(file) = found {
            // A relative folder in PATH counts from here, not from the rank's working directory.
            return Ok(std::path::absolute(&file).unwrap_or(file));
        }
    }
    Err(ProgramError::NotInPath {
        name: name.to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
        here: !name.is_empty() && is_program(&wdir.unwrap_or(Path::new(".")).join(name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_come_from_path() {
        let found = Executable::find(OsStr::new("sh"), None).unwrap();
        assert!(found.path.is_absolute());
        assert_eq!(found.argv0, "sh");
    }

    #[test]
    fn programs_of_other_processors_are_known() {
        let path = std::env::temp_dir().join(format!("oxmpi-machine-{}", std::process::id()));
        let program = |class, order, machine: [u8; 2]| {
            let mut head = [0u8; 64];
            head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
            head[18..20].copy_from_slice(&machine);
            std::fs::write(&path, head).unwrap();
            super::machine(&path)
        };
        assert_eq!(program(2, 1, [243, 0]).as_deref(), Some("riscv"));
        assert_eq!(program(2, 2, [0, 22]).as_deref(), Some("s390x"));
        let unknown = "another processor (ELF machine 4660)";
        assert_eq!(program(2, 1, [0x34, 0x12]).as_deref(), Some(unknown));
        std::fs::write(&path, "echo hello, this is no program\n").unwrap();
        assert_eq!(super::machine(&path), None);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(super::machine(&std::env::current_exe().unwrap()), None);
    }

    #[test]
    fn errors_name_what_was_tried() {
        let error = from_search(OsStr::new("nonesuch"), None, OsStr::new("/bin:/usr/bin"));
        assert_eq!(
            error.unwrap_err().to_string(),
            "no program 'nonesuch' in PATH (/bin:/usr/bin)"
        );
        let error =
            Executable::find(OsStr::new("./nonesuch"), Some(Path::new("/usr"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run ./nonesuch: /usr/nonesuch does not exist"
        );
        assert_eq!(error.exit_code(), 127);
        let error = Executable::find(OsStr::new("/usr"), None).unwrap_err();
        assert_eq!(error.to_string(), "cannot run /usr: /usr is a directory");
        let error = Executable::find(OsStr::new("/etc/passwd"), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run /etc/passwd: /etc/passwd is not executable (chmod +x would make it so)"
        );
        assert_eq!(error.exit_code(), 126);
    }
}
