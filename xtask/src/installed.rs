//! Steps of `cargo xtask test` that use OxMPI the way its users get it: installed, moved, and found
//! by build systems.
//!
//! The installation is made in one folder and moved to another before anybody uses it, so a path
//! that was written down somewhere is noticed. The programs lie in `xtask/installed`. Tools that
//! are missing are installed when that is possible (Debian, root), and otherwise the step is
//! skipped with the reason.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

mod fortran;

use crate::hosts;
use crate::install::old_glibc;
use crate::steps::{Expect, Steps, root, target};

/// The name says which words of --only select it: everything below needs it.
const INSTALL: &str =
    "install, for the installed, conformance, mpi4py, hpcc, packages, hosts and launchers steps";

/// What Fortran programs are compiled with, and Debian's packages of them.
const FORTRAN: [(&str, &str); 3] = [
    ("gfortran", "gfortran"),
    ("flang-new-19", "flang-19"),
    ("mpif90.mpich", "mpich libmpich-dev"),
];

/// Everything these steps make.
fn folder() -> PathBuf {
    target().join("installed")
}

/// The installation, at its second place.
pub fn prefix() -> PathBuf {
    folder().join("prefix")
}

/// Makes the installation; false when there is none afterwards.
pub fn install(steps: &mut Steps) -> bool {
    let first = folder().join("first place");
    let _ = std::fs::remove_dir_all(folder());
    // The installation makes modules for the compilers it finds; the last is the reference for
    // Fortran programs.
    for (tool, package) in FORTRAN {
        fetch(steps, tool, package);
    }
    let mut install = task(&["install", "--soname0", "--prefix"]);
    let good = steps.run_always(INSTALL, 20, Expect::Text("to use it:"), install.arg(&first));
    good && std::fs::rename(&first, prefix()).is_ok()
}

/// Compiles and runs programs with the installation.
pub fn run(steps: &mut Steps) {
    old_systems(steps);
    wrappers(steps);
    early_programs(steps);
    pkg_config(steps);
    cmake(steps);
    fortran::run(steps);
}

/// What is installed needs no C library that is younger than the oldest we promise.
fn old_systems(steps: &mut Steps) {
    let name = "installed: asks for nothing after glibc 2.28";
    let mut young = Vec::new();
    for file in [
        "bin/oxmpi",
        "lib/libmpi_abi.so.1",
        "lib/libmpifort_abi.so.1",
    ] {
        match old_glibc::too_young(&prefix().join(file)) {
            Ok(symbols) if symbols.is_empty() => {}
            Ok(symbols) => young.push(format!("{file} needs {}", symbols.join(", "))),
            Err(why) => return steps.skip(name, &why),
        }
    }
    let verdict = match young.is_empty() {
        true => Ok(()),
        false => Err(young.join("\n")),
    };
    steps.judge(name, verdict);
}

fn wrappers(steps: &mut Steps) {
    for (wrapper, source) in [
        ("mpicc", "sum.c"),
        ("mpicxx", "sum.cpp"),
        ("mpif90", "fortran/sum.f90"),
    ] {
        if wrapper == "mpif90" && !is_there("gfortran") {
            steps.skip("installed: mpif90", "gfortran is not installed");
            continue;
        }
        let program = folder().join(format!("with {wrapper}"));
        let mut compile = Command::new(prefix().join("bin").join(wrapper));
        compile
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-o"])
            .arg(&program)
            .arg(sources().join(source));
        let name = format!("installed: {wrapper} {source}");
        if steps.run(&name, 2, Expect::Success, &mut compile) {
            execute(steps, &format!("installed: program of {wrapper}"), &program);
        }
    }
    // Links from elsewhere lead to the same installation.
    let link = folder().join("mpicc");
    let _ = std::os::unix::fs::symlink(prefix().join("bin/mpicc"), &link);
    let mut show = Command::new(&link);
    steps.run(
        "installed: mpicc through a link",
        1,
        Expect::Text("installed/prefix/lib -lmpi_abi"),
        show.arg("-show"),
    );
}

/// A program that asks for the library's old name.
fn early_programs(steps: &mut Steps) {
    let program = folder().join("early");
    let mut compile = Command::new("cc");
    compile
        .arg(sources().join("sum.c"))
        .arg(joined("-I", &prefix().join("include")))
        .arg("-o")
        .arg(&program)
        .arg(joined("-L", &prefix().join("lib")))
        .arg("-l:libmpi_abi.so.0")
        .arg(joined("-Wl,-rpath,", &prefix().join("lib")));
    if steps.run(
        "installed: libmpi_abi.so.0",
        2,
        Expect::Success,
        &mut compile,
    ) {
        execute(steps, "installed: program of libmpi_abi.so.0", &program);
    }
}

fn pkg_config(steps: &mut Steps) {
    let name = "installed: pkg-config";
    if !provide(steps, name, "pkg-config", "pkg-config") {
        return;
    }
    let program = folder().join("with pkg-config");
    let mut compile = Command::new("sh");
    compile
        .args([
            "-ec",
            r#"cc "$1" $(pkg-config --cflags --libs mpi) -o "$2""#,
            "sh",
        ])
        .arg(sources().join("sum.c"))
        .arg(&program)
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    if steps.run(name, 2, Expect::Success, &mut compile) {
        execute(steps, "installed: program of pkg-config", &program);
    }
}

fn cmake(steps: &mut Steps) {
    let name = "installed: cmake find_package(MPI)";
    if !provide(steps, name, "cmake", "cmake") {
        return;
    }
    let build = folder().join("cmake");
    let mut whole = Command::new("sh");
    whole
        .args([
            "-ec",
            r#"cmake -S "$1" -B "$2"; cmake --build "$2"; cd "$2"; ctest --output-on-failure"#,
            "sh",
        ])
        .arg(sources())
        .arg(build);
    with_path(&mut whole);
    steps.run(name, 5, Expect::Text("100% tests passed"), &mut whole);
}

fn execute(steps: &mut Steps, name: &str, program: &Path) {
    let mut execute = mpiexec(3);
    steps.run(name, 2, Expect::Text("correct"), execute.arg(program));
}

/// The installed launcher, for this many ranks.
pub fn mpiexec(ranks: u32) -> Command {
    let mut command = Command::new(prefix().join("bin/mpiexec"));
    command.args(["-n", &ranks.to_string()]);
    command
}

/// This program again, with these words.
pub fn task(words: &[&str]) -> Command {
    let here = hosts::own_program().unwrap_or_else(|_| "xtask".into());
    let mut command = Command::new(here);
    command.args(words);
    command
}

/// Whether a tool is there, after an attempt to install it; if not, the step is skipped.
pub fn provide(steps: &mut Steps, name: &str, tool: &str, package: &str) -> bool {
    if !steps.selects(name) {
        return false;
    }
    let there = fetch(steps, tool, package);
    if !there {
        steps.skip(name, &format!("{tool} is not installed"));
    }
    there
}

/// Whether a tool is there, after an attempt to install it (Debian, root).
pub fn fetch(steps: &mut Steps, tool: &str, package: &str) -> bool {
    // Another lane may want something, too, and apt-get can run only once.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_there(tool) {
        return true;
    }
    if hosts::is_root() && is_there("apt-get") {
        let install = format!(
            "apt-get install -y {package} || {{ apt-get update && apt-get install -y {package}; }}"
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &install])
            .env("DEBIAN_FRONTEND", "noninteractive");
        steps.run_always(
            &format!("apt-get install {package}"),
            10,
            Expect::Success,
            &mut shell,
        );
    }
    is_there(tool)
}

/// Whether PATH, or where Debian has its daemons, leads to a program of this name.
fn is_there(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .any(|folder| folder.join(tool).is_file())
}

/// The installation's commands before all others.
pub fn with_path(command: &mut Command) {
    let mut folders = vec![prefix().join("bin")];
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
}

fn joined(option: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(option);
    word.push::<&OsStr>(path.as_ref());
    word
}

fn sources() -> PathBuf {
    root().join("xtask/installed")
}
