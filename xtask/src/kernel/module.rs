//! o2g.ko by kbuild, against headers that are unpacked and not installed.
//!
//! The sources are copied to a folder per release, because kbuild puts its objects beside them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::packages::{PackageError, Tree};
use super::{Kernel, core};
use crate::steps::root;

/// Why there is no module.
#[derive(Debug)]
pub enum BuildError {
    /// What it is built with.
    Package(PackageError),
    /// A file.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The Rust half does not compile; the compiler has said why.
    Core {
        /// How cargo ended.
        status: ExitStatus,
    },
    /// The archive is not what this program knows how to take apart.
    Archive {
        /// What it holds.
        members: String,
    },
    /// A tool failed.
    Tool {
        /// Which.
        tool: String,
        /// What it said.
        said: String,
    },
    /// objtool is not content with the code.
    Objtool {
        /// What it said.
        said: String,
    },
    /// The Rust half wants what the kernel does not have.
    Undefined {
        /// Their names.
        symbols: String,
    },
    /// An instruction or a relocation that cannot be in a module.
    Unbearable {
        /// The line of the disassembly.
        line: String,
    },
    /// kbuild has said why.
    Kbuild {
        /// How make ended.
        status: ExitStatus,
    },
}

impl BuildError {
    /// An error about a file.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> BuildError + use<> {
        let path = path.to_owned();
        move |source| BuildError::File { path, source }
    }
}

impl From<PackageError> for BuildError {
    fn from(error: PackageError) -> BuildError {
        BuildError::Package(error)
    }
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            BuildError::Package(error) => error.fmt(to),
            BuildError::File { path, source } => write!(to, "{}: {source}", path.display()),
            BuildError::Core { status } => {
                write!(
                    to,
                    "kernel/module does not compile: cargo ended with {status}"
                )
            }
            BuildError::Archive { members } => {
                write!(
                    to,
                    "no member of libo2g_module.a is kernel/module's: {members}"
                )
            }
            BuildError::Tool { tool, said } => write!(to, "{tool} failed: {said}"),
            BuildError::Objtool { said } => write!(to, "objtool about kernel/module: {said}"),
            BuildError::Undefined { symbols } => write!(
                to,
                "kernel/module needs {symbols}, which no kernel exports: what makes the compiler call that?"
            ),
            BuildError::Unbearable { line } => {
                write!(to, "kernel/module has code that no module may have: {line}")
            }
            BuildError::Kbuild { status } => write!(to, "kbuild ended with {status}"),
        }
    }
}

/// Builds it; where it lies.
pub fn build(kernel: &Kernel, tree: &Tree) -> Result<PathBuf, BuildError> {
    let place = tree.output().join("build");
    let sources = root().join("kernel");
    for folder in ["shim", "include"] {
        copy_changed(&sources.join(folder), &place.join(folder))?;
    }
    copy_if_changed(&sources.join("Kbuild"), &place.join("Kbuild"))?;
    core::build(kernel, tree, &place.join("core.o_shipped"))?;
    // modpost looks for how each object was made.
    let command = place.join(".core.o.cmd");
    fs::write(&command, "").map_err(BuildError::file(&command))?;
    let mut make = Command::new("make");
    make.arg("-C").arg(&tree.headers);
    make.arg(format!("M={}", place.display()));
    // Type information for tracers would need the kernel's own, and pahole.
    make.args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "CC=gcc-12", "modules"]);
    // Of cargo's environment, make would take these for its own.
    make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS");
    let status = make.status().map_err(BuildError::file(Path::new("make")))?;
    if !status.success() {
        return Err(BuildError::Kbuild { status });
    }
    let module = path(tree);
    fs::copy(place.join("o2g.ko"), &module).map_err(BuildError::file(&module))?;
    Ok(module)
}

/// Where the module of a release lies.
pub fn path(tree: &Tree) -> PathBuf {
    tree.output().join("o2g.ko")
}

fn copy_changed(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(to).map_err(BuildError::file(to))?;
    for entry in fs::read_dir(from)
        .map_err(BuildError::file(from))?
        .flatten()
    {
        copy_if_changed(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// make goes by times.
fn copy_if_changed(from: &Path, to: &Path) -> Result<(), BuildError> {
    let new = fs::read(from).map_err(BuildError::file(from))?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    fs::write(to, new).map_err(BuildError::file(to))
}
