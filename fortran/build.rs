//! Writes the entry points from the table, and tells the linker the library's name, its aliases and
//! the C library that it needs.
//!
//! The C library is named by an empty stand-in with its SONAME: every symbol stays undefined until
//! the program is loaded, when libmpi_abi.so.1 may be anybody's.

use std::path::{Path, PathBuf};
use std::process::Command;

use oxmpi_abi_table::fortran::{fortran_entries, fortran_exported, fortran_externs};
use oxmpi_abi_table::{Table, constants};

fn main() {
    let table = Table::mpi5();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let write = |name: &str, text: String| {
        let path = out.join(name);
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    };
    write("externs.rs", fortran_externs(&table));
    write("entries.rs", fortran_entries(&table));
    write("constants.rs", constants(&table));
    write("slots.rs", slots());
    let script = write("exported.map", fortran_exported(&table));
    stand_in(&out);
    println!("cargo:rerun-if-changed=build.rs");
    // `cargo xtask install` names libraries that make the result run on older systems.
    println!("cargo:rerun-if-env-changed=OLD_GLIBC_FOLDER");
    if let Ok(folder) = std::env::var("OLD_GLIBC_FOLDER") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    for word in [
        "-Wl,-soname,libmpifort_abi.so.1".to_string(),
        format!("-Wl,--version-script={}", script.display()),
        format!("-L{}", out.display()),
        // The C library of the same installation, unless LD_LIBRARY_PATH names another.
        "-Wl,-rpath,$ORIGIN,--enable-new-dtags".to_string(),
        "-Wl,--push-state,--no-as-needed,-lmpi_abi,--pop-state".to_string(),
    ] {
        println!("cargo:rustc-cdylib-link-arg={word}");
    }
}

/// A macro that lists the instances of a function, one for each slot of a pool (`src/slot.rs`).
fn slots() -> String {
    let instances: String = (0..256)
        .map(|slot| format!("            $name::<$kind, {slot}>,\n"))
        .collect();
    format!(
        "macro_rules! instances {{\n    ($name:ident, $kind:literal) => {{\n        [\n{instances}        ]\n    }};\n}}\n"
    )
}

/// An empty library that has only the name of the C library.
fn stand_in(out: &Path) {
    let source = out.join("empty.c");
    std::fs::write(&source, "").expect("OUT_DIR can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .arg(out.join("libmpi_abi.so"))
        .arg(&source)
        .status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "{compiler} cannot link an empty shared library ({status:?}); CC names the C compiler"
    );
}
