//! The Fortran modules, compiled with each compiler there is.
//!
//! A module file is the compiler's own notation of what the source says, so each compiler makes
//! its own. The modules have no code: the objects that compilers insist on making are left behind.

use std::path::{Path, PathBuf};
use std::process::Command;

use oxmpi_abi_table::{Table, fortran};

use super::place::PlaceError;

/// Compilers that are looked for when none is named.
const KNOWN: [&str; 9] = [
    "gfortran",
    "flang",
    "flang-new",
    "flang-new-18",
    "flang-new-19",
    "flang-20",
    "flang-21",
    "ifx",
    "nvfortran",
];

/// gfortran 10 and later refuse calls of one procedure with arguments of different types where there
/// is no interface, as in programs that include mpif.h; this makes them warnings.
const MISMATCH: &str = "-fallow-argument-mismatch";

/// The sources of the modules: name and text.
pub fn sources() -> [(&'static str, String); 2] {
    let table = Table::mpi5();
    [
        ("mpi", fortran::module_mpi(&table)),
        ("mpi_f08", fortran::module_mpi_f08(&table)),
    ]
}

/// mpif.h.
pub fn include_file() -> String {
    fortran::mpif_h(&Table::mpi5())
}

/// The modules of one compiler.
pub struct Modules {
    /// The compiler's name, which is the folder's too.
    pub compiler: String,
    /// The module files.
    pub files: Vec<PathBuf>,
    /// Words that the compiler needs besides.
    pub flags: String,
}

/// Makes the modules for the compilers named, or for those in PATH; `folder` is for the work.
pub fn modules(folder: &Path, named: &[String]) -> Result<Vec<Modules>, PlaceError> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found = KNOWN.iter().copied().filter(is_there).map(String::from);
    let compilers: Vec<String> = match named {
        [] => found.collect(),
        named => named.to_vec(),
    };
    let mut made = Vec::new();
    for compiler in compilers {
        match compile(folder, &compiler) {
            Ok(modules) => made.push(modules),
            Err(reason) if named.is_empty() => {
                eprintln!("cargo xtask: no Fortran modules for {compiler}: {reason}");
            }
            Err(reason) => return Err(PlaceError::Fortran { compiler, reason }),
        }
    }
    Ok(made)
}

fn compile(folder: &Path, compiler: &str) -> Result<Modules, String> {
    let name = Path::new(compiler)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folder = folder.join(&name);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut files = Vec::new();
    for (module, text) in sources() {
        let source = format!("{module}.f90");
        std::fs::write(folder.join(&source), text).map_err(failed)?;
        let output = Command::new(compiler)
            .arg("-c")
            .arg(&source)
            .current_dir(&folder)
            .output();
        let output = output.map_err(|error| error.to_string())?;
        let file = folder.join(format!("{module}.mod"));
        if !output.status.success() || !file.exists() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let first = said.lines().take(8).collect::<Vec<_>>().join("\n");
            return Err(format!(
                "it does not compile module {module} ({}): {first}",
                output.status
            ));
        }
        files.push(file);
    }
    let flags = if accepts(compiler, MISMATCH, &folder) {
        MISMATCH
    } else {
        ""
    };
    Ok(Modules {
        compiler: name,
        files,
        flags: flags.to_owned(),
    })
}

/// Whether a compiler knows an option. flang takes those of gfortran without effect, and says so.
fn accepts(compiler: &str, option: &str, folder: &Path) -> bool {
    let source = folder.join("empty.f90");
    let written = std::fs::write(&source, "end\n");
    let output = Command::new(compiler)
        .args([option, "-c", "empty.f90"])
        .current_dir(folder)
        .output();
    written.is_ok()
        && output.is_ok_and(|output| output.status.success() && output.stderr.is_empty())
}
