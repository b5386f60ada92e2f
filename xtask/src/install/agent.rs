//! A static `oxmpi`, which can be copied to any host with the same kind of processor and be the
//! agent there: it needs no C library and no other file.
//!
//! It is built with musl, whose resolver needs nothing either; where the compiler has no standard
//! library for that, with a static glibc, which looks for its own files when it resolves host names.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::PlaceError;
use crate::steps::{cargo, root, target};

/// Builds it; tells where it lies.
pub fn build() -> Result<PathBuf, PlaceError> {
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut command = cargo(&["build", "--release", "--locked", "--package", "oxmpi-cli"]);
    let triple = match has_library(&musl) {
        true => musl,
        false => {
            command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
            format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
        }
    };
    println!("building a static oxmpi for {triple}");
    let built = command
        .args(["--bin", "oxmpi", "--target", &triple])
        .current_dir(root())
        .status();
    match built {
        Ok(status) if status.success() => Ok(target().join(triple).join("release/oxmpi")),
        _ => Err(PlaceError::Agent { triple }),
    }
}

/// Whether the compiler has a standard library for a target.
fn has_library(triple: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", triple])
        .current_dir(root())
        .output();
    let folder = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    folder.is_ok_and(|folder| !folder.is_empty() && Path::new(&folder).is_dir())
}
