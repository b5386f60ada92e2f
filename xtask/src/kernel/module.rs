//! The modules by kbuild, against headers that are unpacked and not installed.
//!
//! [`MODULES`] is the list. The C sources are copied to a folder per release and module, because
//! kbuild puts its objects beside them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::packages::{PackageError, Tree};
use super::{Kernel, core};
use crate::steps::root;

/// A module. To add one: a line in [`MODULES`], and a folder with its C files and a `Kbuild`.
pub struct Module {
    /// `NAME.ko`.
    pub name: &'static str,
    /// Where its C files and its `Kbuild` are.
    folder: &'static str,
    /// Where the crate of its Rust half is, whose archive is `libNAME_module.a`; kbuild finds the
    /// object as `core.o` in the folder.
    rust: Option<&'static str>,
    /// Modules before it whose exported symbols it uses.
    needs: &'static [&'static str],
    /// The guest loads it at its start and unloads it in the end; if not, a case of the battery
    /// does.
    pub at_boot: bool,
}

/// All modules, in the order in which they are built and loaded. When it is unloaded, each says
/// `NAME: left behind:` and how many of what, which must all be 0.
pub const MODULES: &[Module] = &[
    Module {
        name: "o2g",
        folder: "kernel/shim",
        rust: Some("kernel/module"),
        needs: &[],
        at_boot: true,
    },
    Module {
        name: "oxk",
        folder: "kernel/oxk/shim",
        rust: Some("kernel/oxk/module"),
        needs: &[],
        at_boot: true,
    },
    Module {
        name: "oxk_stream",
        folder: "kernel/oxk/stream",
        rust: None,
        needs: &["oxk"],
        at_boot: true,
    },
    Module {
        name: "oxk_pm",
        folder: "kernel/oxk/pm",
        rust: None,
        needs: &["oxk"],
        at_boot: true,
    },
    Module {
        name: "oxk_test",
        folder: "kernel/oxk/test",
        rust: None,
        needs: &["oxk"],
        at_boot: true,
    },
    Module {
        name: "oxfs",
        folder: "kernel/oxfs",
        rust: None,
        needs: &["oxk"],
        at_boot: true,
    },
    Module {
        name: "oxk_hello",
        folder: "kernel/examples/oxk_hello",
        rust: None,
        needs: &["oxk"],
        at_boot: false,
    },
];

/// Those that the guest loads at its start, in that order.
pub fn at_boot() -> impl Iterator<Item = &'static Module> {
    MODULES.iter().filter(|module| module.at_boot)
}

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
        /// Of which module.
        module: &'static str,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// The archive is not what this program knows how to take apart.
    Archive {
        /// Of which module.
        module: &'static str,
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
        /// Of which module.
        module: &'static str,
        /// What it said.
        said: String,
    },
    /// The Rust half wants what the kernel does not have.
    Undefined {
        /// Of which module.
        module: &'static str,
        /// Their names.
        symbols: String,
    },
    /// An instruction or a relocation that cannot be in a module.
    Unbearable {
        /// Of which module.
        module: &'static str,
        /// The line of the disassembly.
        line: String,
    },
    /// kbuild has said why.
    Kbuild {
        /// Of which module.
        module: &'static str,
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
            BuildError::Core { module, status } => write!(
                to,
                "the Rust half of {module}.ko does not compile: cargo ended with {status}"
            ),
            BuildError::Archive { module, members } => write!(
                to,
                "no member of lib{module}_module.a is the crate's own: {members}"
            ),
            BuildError::Tool { tool, said } => write!(to, "{tool} failed: {said}"),
            BuildError::Objtool { module, said } => {
                write!(to, "objtool about the Rust half of {module}.ko: {said}")
            }
            BuildError::Undefined { module, symbols } => write!(
                to,
                "the Rust half of {module}.ko needs {symbols}, which no kernel exports: what makes the compiler call that?"
            ),
            BuildError::Unbearable { module, line } => write!(
                to,
                "the Rust half of {module}.ko has code that no module may have: {line}"
            ),
            BuildError::Kbuild { module, status } => {
                write!(to, "kbuild of {module}.ko ended with {status}")
            }
        }
    }
}

/// Builds all of them; where they lie.
pub fn build(kernel: &Kernel, tree: &Tree) -> Result<Vec<PathBuf>, BuildError> {
    MODULES
        .iter()
        .map(|module| build_one(kernel, tree, module))
        .collect()
}

fn build_one(kernel: &Kernel, tree: &Tree, module: &Module) -> Result<PathBuf, BuildError> {
    let copy = copy_of(tree, module.name);
    // All of them: modules share files.
    copy_sources(&root().join("kernel"), &copy.join("kernel"))?;
    let place = copy.join(module.folder);
    if let Some(folder) = module.rust {
        core::build(kernel, tree, module, folder, &place.join("core.o_shipped"))?;
        // modpost looks for how each object was made.
        let command = place.join(".core.o.cmd");
        fs::write(&command, "").map_err(BuildError::file(&command))?;
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(&tree.headers);
    make.arg(format!("M={}", place.display()));
    let symbols = module.needs.iter().map(|name| symbols(tree, name));
    let symbols: Vec<String> = symbols.collect();
    make.arg(format!("KBUILD_EXTRA_SYMBOLS={}", symbols.join(" ")));
    // Type information for tracers would need the kernel's own, and pahole.
    make.args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "CC=gcc-12", "modules"]);
    // Of cargo's environment, make would take these for its own.
    make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS");
    let status = make.status().map_err(BuildError::file(Path::new("make")))?;
    if !status.success() {
        return Err(BuildError::Kbuild {
            module: module.name,
            status,
        });
    }
    let built = place.join(format!("{}.ko", module.name));
    let module = path(tree, module);
    fs::copy(built, &module).map_err(BuildError::file(&module))?;
    Ok(module)
}

/// Where a module is built.
fn copy_of(tree: &Tree, name: &str) -> PathBuf {
    tree.output().join("build").join(name)
}

/// The file that lists what a module exports.
fn symbols(tree: &Tree, name: &str) -> String {
    let module = MODULES.iter().find(|module| module.name == name);
    let folder = module.map_or("", |module| module.folder);
    let file = copy_of(tree, name).join(folder).join("Module.symvers");
    file.display().to_string()
}

/// Where a module of a release lies.
pub fn path(tree: &Tree, module: &Module) -> PathBuf {
    tree.output().join(format!("{}.ko", module.name))
}

/// What kbuild reads, with the folders that it is in.
fn copy_sources(from: &Path, to: &Path) -> Result<(), BuildError> {
    let entries = fs::read_dir(from).map_err(BuildError::file(from))?;
    for entry in entries.flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() && !path.ends_with("target") {
            copy_sources(&path, &to)?;
        } else if matches!(ending, Some("c" | "h")) || path.ends_with("Kbuild") {
            copy_if_changed(&path, &to)?;
        }
    }
    Ok(())
}

/// make goes by times.
fn copy_if_changed(from: &Path, to: &Path) -> Result<(), BuildError> {
    let new = fs::read(from).map_err(BuildError::file(from))?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    fs::write(to, new).map_err(BuildError::file(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_those_they_need() {
        for (index, module) in MODULES.iter().enumerate() {
            let before = &MODULES[..index];
            for name in module.needs {
                let found = before.iter().any(|other| other.name == *name);
                assert!(
                    found,
                    "{} needs {name}, which is not before it",
                    module.name
                );
            }
        }
    }
}
