//! Writes the entry points and the constants from the table, and tells the linker the library's
//! name and its weak symbols.
//!
//! The compiler exports only symbols that it has defined itself; the weak `MPI_` names are made by
//! the assembler, so an extra version script exports them. That needs lld, which is the default
//! linker on x86-64 Linux: GNU ld takes one such script only.

use std::path::PathBuf;

use oxmpi_abi_table::{Table, constants, entries, exported};

fn main() {
    let table = Table::mpi5();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let write = |name: &str, text: String| {
        let path = out.join(name);
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    };
    write("entries.rs", entries(&table));
    write("constants.rs", constants(&table));
    let script = write("exported.map", exported(&table));
    println!("cargo:rerun-if-changed=build.rs");
    // `cargo xtask install` names libraries that make the result run on older systems.
    println!("cargo:rerun-if-env-changed=OLD_GLIBC_FOLDER");
    if let Ok(folder) = std::env::var("OLD_GLIBC_FOLDER") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!(
        "cargo:rustc-cdylib-link-arg=-Wl,--version-script={}",
        script.display()
    );
}
