//! `cargo xtask install --prefix FOLDER`: builds OxMPI in release mode and lays it out for C, C++,
//! Python and Fortran users.
//!
//! `layout` says what lies where, `place` puts it there. Nothing installed knows the prefix: the
//! commands find it from their own path and the pkg-config files from theirs, so the folder can be
//! moved as a whole. Root is never needed.

mod fortran;
mod layout;
mod place;

use std::path::Path;
use std::process::Command;

use crate::steps::{cargo, root, target};
use place::{Installation, PlaceError};

/// Builds and installs; true when all is in place.
pub fn run(prefix: &Path, soname0: bool, fortran: &[String]) -> bool {
    let prefix = std::path::absolute(prefix).unwrap_or_else(|_| prefix.to_owned());
    let built = build().current_dir(root()).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("cargo xtask: the build failed, nothing was installed");
        return false;
    }
    match install(&prefix, soname0, fortran) {
        Ok(installation) => {
            tell(&prefix, &installation);
            true
        }
        Err(error) => {
            eprintln!("cargo xtask: {error}");
            false
        }
    }
}

/// Removes what was installed; true when it is gone.
pub fn remove(prefix: &Path) -> bool {
    let removed = Installation::load(prefix).and_then(|mut installation| installation.remove());
    match &removed {
        Ok(count) => println!("removed {count} files from {}", prefix.display()),
        Err(error) => eprintln!("cargo xtask: {error}"),
    }
    removed.is_ok()
}

/// The release build of everything that is installed.
pub fn build() -> Command {
    let mut command = cargo(&["build", "--release", "--locked"]);
    for package in ["oxmpi-cli", "oxmpi-abi", "oxmpi-fortran"] {
        command.args(["--package", package]);
    }
    command
}

fn install(prefix: &Path, soname0: bool, fortran: &[String]) -> Result<Installation, PlaceError> {
    let parts = layout::Parts {
        source: root(),
        built: target().join("release"),
        header: layout::header(),
        soname0,
        fortran: fortran::modules(&target().join("fortran"), fortran)?,
    };
    let items = layout::items(&parts)?;
    let mut installation = Installation::load(prefix)?;
    installation.replace(items)?;
    Ok(installation)
}

fn tell(prefix: &Path, installation: &Installation) {
    println!("installed OxMPI in {}:", prefix.display());
    for (folder, what) in layout::FOLDERS {
        let count = installation.count(folder);
        println!("  {folder:<14} {what} ({count} files)");
    }
    println!();
    println!("to use it:");
    println!("  export PATH={}:$PATH", shell_word(&prefix.join("bin")));
    println!("  mpicc program.c -o program && mpiexec -n 4 ./program");
}

fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let harmless = |letter: char| letter.is_alphanumeric() || "-_./+,:@".contains(letter);
    if text.chars().all(harmless) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
