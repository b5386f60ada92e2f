//! `cargo xtask install --prefix FOLDER`: builds OxMPI in release mode and lays it out for C, C++,
//! Python and Fortran users.
//!
//! `layout` says what lies where, `place` puts it there. Nothing installed knows the prefix: the
//! commands find it from their own path and the pkg-config files from theirs, so the folder can be
//! moved as a whole. Root is never needed.

mod agent;
mod fortran;
mod layout;
pub mod old_glibc;
mod place;
mod strip;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{cargo, root, target};
use place::{Installation, PlaceError};

/// What was asked for.
#[derive(Default)]
pub struct Wishes {
    /// A link for programs of early releases.
    pub soname0: bool,
    /// Compilers to make Fortran modules for.
    pub fortran: Vec<String>,
    /// Where packagers collect files: the prefix is below it.
    pub destdir: Option<PathBuf>,
    /// The folder of libraries below the prefix, if it is not `lib`.
    pub libdir: Option<PathBuf>,
    /// Debug information goes to files of its own.
    pub strip: bool,
    /// A static `oxmpi` beside the other one.
    pub static_agent: bool,
}

/// Builds and installs; true when all is in place.
pub fn run(prefix: &Path, wishes: &Wishes) -> bool {
    let prefix = std::path::absolute(prefix).unwrap_or_else(|_| prefix.to_owned());
    let built = build().current_dir(root()).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("cargo xtask: the build failed, nothing was installed");
        return false;
    }
    match install(&prefix, wishes) {
        Ok(installation) => {
            tell(&prefix, &installation, wishes);
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
    if let Some(folder) = old_glibc::make(&target().join("old-glibc")) {
        command.env(old_glibc::VARIABLE, folder);
    }
    command
}

fn install(prefix: &Path, wishes: &Wishes) -> Result<Installation, PlaceError> {
    let built = target().join("release");
    let parts = layout::Parts {
        source: root(),
        debug: match wishes.strip {
            true => Some(strip::split(&built, &target().join("stripped"))?),
            false => None,
        },
        built,
        header: layout::header(),
        soname0: wishes.soname0,
        fortran: fortran::modules(&target().join("fortran"), &wishes.fortran)?,
        libdir: layout::libdir(prefix, wishes.libdir.as_deref())?,
        agent: match wishes.static_agent {
            true => Some(agent::build()?),
            false => None,
        },
    };
    let items = layout::items(&parts)?;
    let mut installation = Installation::load(&staged(prefix, wishes.destdir.as_deref()))?;
    installation.replace(items)?;
    Ok(installation)
}

/// Where the files of a prefix are put: there, or at the same path below a folder of packagers.
fn staged(prefix: &Path, destdir: Option<&Path>) -> PathBuf {
    match destdir {
        None => prefix.to_owned(),
        Some(destdir) => destdir.join(prefix.strip_prefix("/").unwrap_or(prefix)),
    }
}

fn tell(prefix: &Path, installation: &Installation, wishes: &Wishes) {
    if let Some(destdir) = &wishes.destdir {
        let staged = staged(prefix, Some(destdir));
        println!("{} holds OxMPI for {}", staged.display(), prefix.display());
        return;
    }
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
