//! A kernel that checks itself, made from Debian's kernel source: a long task,
//! `cargo xtask kernel test --kernel debug`. `debug.config` says what it checks.
//!
//! Whatever is interrupted goes on where it stopped. The source is unpacked beside its place and
//! then moved there, so that what is there is whole; make knows which files it has compiled. What
//! is built lies in a folder named after the source's version and the configuration: another
//! configuration does not spoil it, and going back to it costs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use super::folder;
use super::packages::{PackageError, Tree, ask, here};

/// What the kernel has beyond nothing.
const CONFIG: &str = include_str!("debug.config");
/// The archive that the package holds, and the folder in it.
const SOURCE: &str = "linux-source-6.12";
/// What is not unpacked, two thirds of it: code that the configuration cannot reach. The files that
/// describe options stay, because every one of them is read.
const LEFT_OUT: [&str; 8] = [
    "*/Documentation/*/*",
    "*/arch/[!x]*/*.[chS]",
    "*/arch/[!x]*/*.dts*",
    "*/drivers/gpu/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/[ew]*/*.[ch]",
    "*/sound/*.[ch]",
    "*/tools/testing/*",
];
/// In the folder of a kernel, written when it is complete.
const BUILT: &str = "built";

/// Whether it has been built before, so that using it takes no longer than any other kernel.
pub fn is_there() -> bool {
    place().is_ok_and(|place| place.join(BUILT).exists())
}

/// The kernel, configured and built unless it is already.
pub fn tree(root: &Path) -> Result<Tree, PackageError> {
    unpack(root)?;
    let place = place()?;
    let built = place.join(BUILT);
    if !built.exists() {
        build(&place)?;
        fs::write(&built, "").map_err(here(&built))?;
    }
    let release = place.file_name().unwrap_or_default();
    Ok(Tree {
        root: root.to_owned(),
        release: format!("{}-module", release.to_string_lossy()),
        image: place.join("arch/x86/boot/bzImage"),
        headers: place,
    })
}

fn source() -> PathBuf {
    folder().join(SOURCE)
}

fn unpack(root: &Path) -> Result<(), PackageError> {
    if source().exists() {
        return Ok(());
    }
    let partial = folder().join(format!("{SOURCE}.partial"));
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(here(&partial))?;
    println!("unpacking {SOURCE}");
    let mut tar = gently("tar");
    tar.arg("-C").arg(&partial);
    tar.args(["--strip-components=1", "--wildcards"]);
    tar.args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")));
    tar.arg("-xf")
        .arg(root.join(format!("usr/src/{SOURCE}.tar.xz")));
    ask(&mut tar, &[SOURCE.to_owned()])?;
    fs::rename(&partial, source()).map_err(here(&source()))
}

/// Where the kernel of this source and this configuration is built.
fn place() -> Result<PathBuf, PackageError> {
    let makefile = source().join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(here(&makefile))?;
    let version = version(&text);
    let key = key(CONFIG);
    Ok(folder().join(format!("debug-{version}-{key:08x}")))
}

/// As the first lines of the kernel's makefile say it.
fn version(makefile: &str) -> String {
    let names = ["VERSION = ", "PATCHLEVEL = ", "SUBLEVEL = "];
    let number = |name| makefile.lines().find_map(|line| line.strip_prefix(name));
    names.map(|name| number(name).unwrap_or("0")).join(".")
}

/// A number for what a configuration asks for, whatever else its lines say (FNV-1a).
fn key(config: &str) -> u32 {
    let options = config.lines().filter(|line| line.contains("CONFIG_"));
    let bytes = options.flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0x811c_9dc5, |key, byte| {
        (key ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn build(place: &Path) -> Result<(), PackageError> {
    fs::create_dir_all(place).map_err(here(place))?;
    let config = place.join(".config");
    // Configured anew, every file would be compiled anew.
    if !config.exists() {
        let asked = place.join("asked.config");
        fs::write(&asked, CONFIG).map_err(here(&asked))?;
        let all = format!("KCONFIG_ALLCONFIG={}", asked.display());
        make(place, &[&all, "allnoconfig"])?;
    }
    let text = fs::read_to_string(&config).map_err(here(&config))?;
    if let Some(line) = missing(&text) {
        let _ = fs::remove_file(&config);
        let line = line.to_owned();
        return Err(PackageError::Option { line });
    }
    let jobs = available_parallelism().map_or(1, usize::from);
    make(place, &[&format!("-j{jobs}"), "bzImage", "modules"])
}

fn make(place: &Path, goals: &[&str]) -> Result<(), PackageError> {
    let mut make = gently("make");
    make.arg("-C").arg(source());
    make.arg(format!("O={}", place.display()));
    make.arg("CC=gcc-12").args(goals);
    make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS");
    let status = make.status().map_err(here(Path::new("make")))?;
    match status.success() {
        true => Ok(()),
        false => Err(PackageError::Make { status }),
    }
}

/// A program that leaves the machine to whoever else wants it: it may run for an hour.
fn gently(program: &str) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "10", program]);
    nice
}

/// What a configuration asks for in vain is dropped without a word: the first such line.
fn missing(config: &str) -> Option<&'static str> {
    CONFIG
        .lines()
        .filter(|line| line.starts_with("CONFIG_"))
        .find(|line| !config.lines().any(|other| other == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_version_and_its_options() {
        let makefile =
            "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 115\nEXTRAVERSION =\nNAME = x\n";
        assert_eq!(version(makefile), "6.12.115");
        let options = "CONFIG_NET=y\n# CONFIG_SMP is not set\n";
        assert_eq!(key(options), key(&format!("# Why.\n{options}")));
        assert_ne!(key(options), key("CONFIG_NET=y\n"));
    }

    #[test]
    fn an_option_that_was_dropped_is_noticed() {
        assert_eq!(missing(CONFIG), None);
        let without = CONFIG.replace("CONFIG_KASAN=y\n", "");
        assert_eq!(missing(&without), Some("CONFIG_KASAN=y"));
    }
}
