//! A kernel that checks itself, made from Debian's kernel source: a long task, `cargo xtask kernel
//! test --kernel debug`.
//!
//! It takes about half an hour on two cores, once; the image stays below `target/kernel`.
//! `debug.config` says what it checks.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::folder;
use super::packages::{PackageError, Tree, ask, here};

/// What the kernel has beyond the least.
const CONFIG: &str = include_str!("debug.config");
/// The archive that the package holds, and the folder in it.
const SOURCE: &str = "linux-source-6.12";

/// The tree of the source, configured and built unless it is already.
pub fn tree(root: &Path) -> Result<Tree, PackageError> {
    let source = folder().join(SOURCE);
    let image = source.join("arch/x86/boot/bzImage");
    let stamp = folder().join("built-debug");
    if fs::read_to_string(&stamp).is_ok_and(|built| built == CONFIG) {
        return Ok(finish(root, &source, &image));
    }
    if !source.exists() {
        let mut tar = Command::new("tar");
        let archive = root.join(format!("usr/src/{SOURCE}.tar.xz"));
        tar.arg("-C").arg(folder()).arg("-xf").arg(archive);
        ask(&mut tar, &[SOURCE.to_owned()])?;
    }
    let fragment = source.join("o2g.config");
    fs::write(&fragment, CONFIG).map_err(here(&fragment))?;
    make(&source, &["tinyconfig"])?;
    let mut merge = Command::new("scripts/kconfig/merge_config.sh");
    merge
        .args(["-m", ".config", "o2g.config"])
        .current_dir(&source);
    ask(&mut merge, &[SOURCE.to_owned()])?;
    make(&source, &["olddefconfig"])?;
    check(&source)?;
    make(&source, &["-j2", "bzImage", "modules"])?;
    fs::write(&stamp, CONFIG).map_err(here(&stamp))?;
    Ok(finish(root, &source, &image))
}

fn finish(root: &Path, source: &Path, image: &Path) -> Tree {
    Tree {
        root: root.to_owned(),
        release: "debug".to_owned(),
        headers: source.to_owned(),
        image: image.to_owned(),
    }
}

fn make(source: &Path, goals: &[&str]) -> Result<(), PackageError> {
    let mut make = Command::new("make");
    make.arg("CC=gcc-12").args(goals).current_dir(source);
    make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS");
    let status = make.status().map_err(here(Path::new("make")))?;
    match status.success() {
        true => Ok(()),
        false => Err(PackageError::Make { status }),
    }
}

/// What a configuration asks for in vain is dropped without a word.
fn check(source: &Path) -> Result<(), PackageError> {
    let path = source.join(".config");
    let config = fs::read_to_string(&path).map_err(here(&path))?;
    let missing = CONFIG
        .lines()
        .filter(|line| line.starts_with("CONFIG_"))
        .find(|line| !config.lines().any(|other| other == *line));
    match missing {
        None => Ok(()),
        Some(line) => Err(PackageError::Option {
            line: line.to_owned(),
        }),
    }
}
