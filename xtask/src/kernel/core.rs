//! The Rust half of a module as one object that kbuild can link, checked for what a kernel cannot
//! bear.
//!
//! The checks are about mistakes that would show only at run time: a symbol that no kernel exports,
//! vector registers (which belong to the process that was interrupted), and relocations through a
//! table that the loader of modules does not have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Kernel;
use super::module::{BuildError, Module};
use super::packages::Tree;
use crate::steps::{cargo, root};

/// What every kernel's code looks like: no red zone, no jump tables, frames for stack traces,
/// returns and indirect calls through thunks; `-Zplt` keeps calls of memcpy from going through a
/// table, and the last has SHA-256 without vector registers.
const FLAGS: [&str; 10] = [
    "-Crelocation-model=static",
    "-Ccode-model=kernel",
    "-Cno-redzone=y",
    "-Cforce-frame-pointers=y",
    "-Cforce-unwind-tables=n",
    "-Cjump-tables=n",
    "-Zfunction-return=thunk-extern",
    "-Zretpoline-external-thunk",
    "-Zplt=yes",
    "--cfg=sha2_backend=\"soft\"",
];

/// What the object may leave to the kernel and to the shim, by how it begins.
const UNDEFINED: [&str; 9] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "__x86_return_thunk",
    "__x86_indirect_thunk_",
    "ox_shim_",
    "__asan_",
];

/// What must not stand in its code.
const UNBEARABLE: [&str; 4] = ["%xmm", "%ymm", "%st", "GOTPCREL"];

/// What objtool is asked to do with each object of a 6.1 kernel, as its scripts/Makefile.lib has it
/// for Debian's configuration.
const OBJTOOL: [&str; 9] = [
    "--hacks=jump_label",
    "--hacks=noinstr",
    "--orc",
    "--retpoline",
    "--rethunk",
    "--sls",
    "--static-call",
    "--uaccess",
    "--module",
];

/// Compiles the crate in `folder`, and puts the object at `place`.
pub fn build(
    kernel: &Kernel,
    tree: &Tree,
    module: &Module,
    folder: &str,
    place: &Path,
) -> Result<(), BuildError> {
    let archive = compile(kernel, tree, module, folder)?;
    let object = extract(&archive, module)?;
    let fresh = place.with_extension("o_fresh");
    write(&fresh, &object)?;
    check(&fresh, module)?;
    if kernel.objtool_by_hand {
        let mut objtool = Command::new(tree.headers.join("tools/objtool/objtool"));
        // It has nothing to say about good code.
        let said = output(objtool.args(OBJTOOL).arg(&fresh))?;
        if !said.trim().is_empty() {
            return Err(BuildError::Objtool {
                module: module.name,
                said,
            });
        }
    }
    // kbuild works only if something has changed.
    let object = fs::read(&fresh).map_err(BuildError::file(&fresh))?;
    if fs::read(place).is_ok_and(|old| old == object) {
        return Ok(());
    }
    write(place, &object)
}

fn compile(
    kernel: &Kernel,
    tree: &Tree,
    module: &Module,
    folder: &str,
) -> Result<PathBuf, BuildError> {
    let target = tree.output().join("core");
    let mut flags = FLAGS.to_vec();
    flags.extend(kernel.flags);
    let mut build = cargo(&["build", "--locked", "--release", "--target"]);
    build
        .args([
            "x86_64-unknown-none",
            "-Zbuild-std=core,alloc",
            "-Zbuild-std-features=",
        ])
        .current_dir(root().join(folder))
        .env("RUSTC", tree.root.join("usr/bin/rustc"))
        .env(
            "LD_LIBRARY_PATH",
            tree.root.join("usr/lib/x86_64-linux-gnu"),
        )
        .env("RUSTC_BOOTSTRAP", "1")
        // Some have spaces in them.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_DIR", &target);
    let status = build
        .status()
        .map_err(BuildError::file(Path::new("cargo")))?;
    if !status.success() {
        return Err(BuildError::Core {
            module: module.name,
            status,
        });
    }
    let archive = format!("lib{}_module.a", module.name);
    Ok(target.join("x86_64-unknown-none/release").join(archive))
}

/// The archive's other member is the compiler's own library, of which nothing is needed: memcpy is
/// the kernel's.
fn extract(archive: &Path, module: &Module) -> Result<Vec<u8>, BuildError> {
    let members = output(Command::new("ar").arg("t").arg(archive))?;
    let ours = format!("{}_module", module.name);
    let member = members.lines().find(|name| name.starts_with(&ours));
    let member = member.ok_or_else(|| BuildError::Archive {
        module: module.name,
        members: members.clone(),
    })?;
    let mut print = Command::new("ar");
    let output = print.arg("p").arg(archive).arg(member).output();
    Ok(output.map_err(BuildError::file(archive))?.stdout)
}

fn check(object: &Path, module: &Module) -> Result<(), BuildError> {
    let symbols = output(Command::new("readelf").arg("-sW").arg(object))?;
    let foreign: Vec<_> = undefined(&symbols)
        .filter(|name| !UNDEFINED.iter().any(|start| name.starts_with(start)))
        .collect();
    if !foreign.is_empty() {
        return Err(BuildError::Undefined {
            module: module.name,
            symbols: foreign.join(", "),
        });
    }
    let code = output(Command::new("objdump").arg("-dr").arg(object))?;
    match code.lines().find(|line| {
        let instruction = line.rsplit('\t').next().unwrap_or(line);
        UNBEARABLE.iter().any(|word| instruction.contains(word))
    }) {
        Some(line) => Err(BuildError::Unbearable {
            module: module.name,
            line: line.trim().to_owned(),
        }),
        None => Ok(()),
    }
}

/// The names in readelf's table that are defined elsewhere.
fn undefined(symbols: &str) -> impl Iterator<Item = &str> {
    symbols.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().skip(6);
        (columns.next() == Some("UND"))
            .then(|| columns.next())
            .flatten()
    })
}

/// What a tool says, on both streams.
fn output(command: &mut Command) -> Result<String, BuildError> {
    let program = command.get_program().to_owned();
    let output = command.output();
    let output = output.map_err(BuildError::file(Path::new(&program)))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        said += &String::from_utf8_lossy(&output.stderr);
        return Err(BuildError::Tool {
            tool: program.to_string_lossy().into_owned(),
            said,
        });
    }
    Ok(said)
}

fn write(place: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    fs::write(place, bytes).map_err(BuildError::file(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_others_are_found() {
        let table = "     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND \n     9: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND memcpy\n    \
            10: 0000000000000420    78 FUNC    GLOBAL DEFAULT   14 o2g_core_begin\n";
        assert_eq!(undefined(table).collect::<Vec<_>>(), ["memcpy"]);
    }
}
