//! Stripped copies of what was built, and the debug information in files of its own.
//!
//! A debugger finds `.debug/NAME.debug` beside the file by the name and checksum that the stripped
//! file keeps, wherever the installation is moved to. GNU binutils do the work.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::PlaceError;

/// The files that have debug information.
const FILES: [&str; 3] = ["oxmpi", "libmpi_abi.so", "libmpifort_abi.so"];

/// Where stripped files and their debug files are.
pub struct Stripped {
    folder: PathBuf,
}

impl Stripped {
    /// The stripped copy of a built file, if it has one.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        FILES.contains(&name).then(|| self.folder.join(name))
    }

    /// The debug information of a file that is installed under a name of its own.
    pub fn debug(&self, installed: &str) -> PathBuf {
        self.folder.join(format!("{installed}.debug"))
    }
}

/// Makes them from what lies in `built`.
pub fn split(built: &Path, folder: &Path) -> Result<Stripped, PlaceError> {
    std::fs::create_dir_all(folder).map_err(|error| PlaceError::Write {
        path: folder.to_owned(),
        error,
    })?;
    for name in FILES {
        let (from, stripped) = (built.join(name), folder.join(name));
        let debug = folder.join(format!("{}.debug", installed_name(name)));
        let _ = std::fs::remove_file(&stripped);
        objcopy(&from, &[&"--only-keep-debug"], &debug)?;
        let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
        link.push(&debug);
        objcopy(&from, &[&"--strip-unneeded", &link], &stripped)?;
    }
    Ok(Stripped {
        folder: folder.to_owned(),
    })
}

/// A library is installed with its version.
pub fn installed_name(name: &str) -> String {
    match name.strip_suffix(".so") {
        Some(_) => format!("{name}.1"),
        None => name.to_owned(),
    }
}

fn objcopy(
    from: &Path,
    words: &[&dyn AsRef<std::ffi::OsStr>],
    to: &Path,
) -> Result<(), PlaceError> {
    let mut command = Command::new("objcopy");
    for word in words {
        command.arg(word);
    }
    let done = command.arg(from).arg(to).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(PlaceError::Strip {
            file: from.to_owned(),
            reason: format!("objcopy failed: {status}"),
        }),
        Err(error) => Err(PlaceError::Strip {
            file: from.to_owned(),
            reason: format!("objcopy of GNU binutils: {error}"),
        }),
    }
}
