//! Fortran programs with the installation: make files as the NAS benchmarks have them, CMake, Meson,
//! pkg-config, and C and Fortran in one program.

use std::path::PathBuf;
use std::process::Command;

use super::{execute, folder, is_there, prefix, provide, sources, with_path};
use crate::steps::{Expect, Steps};

/// The compilers whose programs are tried.
const COMPILERS: [&str; 2] = ["gfortran", "flang-new-19"];

/// All of it.
pub fn run(steps: &mut Steps) {
    let compilers = COMPILERS.into_iter().filter(|compiler| is_there(compiler));
    for compiler in compilers {
        habits(steps, compiler);
        declarations(steps, compiler);
        mixed(steps, compiler);
    }
    if !is_there("gfortran") {
        return steps.skip("installed: Fortran", "gfortran is not installed");
    }
    pkg_config(steps);
    cmake(steps);
    meson(steps);
}

fn here() -> PathBuf {
    sources().join("fortran")
}

/// A make file that compiles and links apart, with `include 'mpif.h'` in fixed form beside C.
fn habits(steps: &mut Steps, compiler: &str) {
    let name = format!("installed: make files of the NAS kind, {compiler}");
    let build = folder().join(format!("habits-{compiler}"));
    let mut make = Command::new("sh");
    make.args([
        "-ec",
        r#"mkdir -p "$2"; cd "$2"; make -f "$1/Makefile" SOURCE="$1" CLASS=S
           mpiexec -n 4 ./habit.S.x"#,
        "sh",
    ])
    .arg(here())
    .arg(build)
    .env("OXMPI_FC", compiler);
    with_path(&mut make);
    if provide(steps, &name, "make", "make") {
        steps.run(&name, 2, Expect::Text("Verification Successful"), &mut make);
    }
}

/// Fixed form with lines beyond column 72 and `include 'mpif.h'` inside a module, buffers of several
/// types for one procedure; and what mpi_f08 takes as a buffer, polymorphic objects included.
fn declarations(steps: &mut Steps, compiler: &str) {
    let width = match compiler {
        "gfortran" => "-ffixed-line-length-132",
        _ => "-ffixed-line-length=132",
    };
    for (wrapper, source, option) in [
        ("mpif77", "long_lines.f", width),
        ("mpifort", "any_type.f90", "-O1"),
    ] {
        let name = format!("installed: {source}, {compiler}");
        let program = folder().join(format!("{source}-{compiler}"));
        // Module files are written where the compiler runs.
        let script = r#"mkdir -p "$1.d"; cd "$1.d"; "$2" "$3" "$4" -o "$1"; mpiexec -n 4 "$1""#;
        let mut whole = Command::new("sh");
        whole
            .args(["-ec", script, "sh"])
            .arg(program)
            .args([wrapper, option])
            .arg(here().join(source))
            .env("OXMPI_FC", compiler);
        with_path(&mut whole);
        steps.run(&name, 2, Expect::Text("correct"), &mut whole);
    }
}

/// C and Fortran in one program, started by either.
fn mixed(steps: &mut Steps, compiler: &str) {
    for first in ["c", "fortran"] {
        let name = format!("installed: C and Fortran, {first} first, {compiler}");
        let build = folder().join(format!("mixed-{first}-{compiler}"));
        let mut make = Command::new("sh");
        make.args([
            "-ec",
            r#"mkdir -p "$2"; cd "$2"; define=; test "$3" = c || define=-DFORTRAN_FIRST
               mpicc $define -c "$1/mixed_c.c"; mpifort -cpp $define -c "$1/mixed_f.F90"
               mpifort mixed_f.o mixed_c.o -o mixed; mpiexec -n 2 ./mixed"#,
            "sh",
        ])
        .arg(here())
        .arg(build)
        .arg(first)
        .env("OXMPI_FC", compiler);
        with_path(&mut make);
        steps.run(&name, 2, Expect::Text("correct"), &mut make);
    }
}

fn pkg_config(steps: &mut Steps) {
    let name = "installed: pkg-config for Fortran";
    if !provide(steps, name, "pkg-config", "pkg-config") {
        return;
    }
    let program = folder().join("with pkg-config for Fortran");
    let mut compile = Command::new("sh");
    compile
        .args([
            "-ec",
            r#"gfortran "$1" $(pkg-config --cflags --libs ompi-fort) -o "$2""#,
            "sh",
        ])
        .arg(here().join("sum.f90"))
        .arg(&program)
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    if steps.run(name, 2, Expect::Success, &mut compile) {
        execute(steps, "installed: Fortran program of pkg-config", &program);
    }
}

fn cmake(steps: &mut Steps) {
    let name = "installed: cmake find_package(MPI) for Fortran";
    if !provide(steps, name, "cmake", "cmake") {
        return;
    }
    let mut whole = Command::new("sh");
    whole
        .args([
            "-ec",
            r#"cmake -S "$1" -B "$2" -DCMAKE_Fortran_COMPILER=gfortran; cmake --build "$2"
               cd "$2"; ctest --output-on-failure"#,
            "sh",
        ])
        .arg(here())
        .arg(folder().join("cmake-fortran"));
    with_path(&mut whole);
    steps.run(name, 5, Expect::Text("100% tests passed"), &mut whole);
}

fn meson(steps: &mut Steps) {
    let name = "installed: meson dependency('mpi', language: 'fortran')";
    if !provide(steps, name, "meson", "meson") {
        return;
    }
    let mut whole = Command::new("sh");
    whole
        .args([
            "-ec",
            r#"rm -rf "$2"; meson setup "$2" "$1"; ninja -C "$2"; mpiexec -n 3 "$2/sum_fortran""#,
            "sh",
        ])
        .arg(here())
        .arg(folder().join("meson-fortran"))
        .env("FC", "gfortran");
    with_path(&mut whole);
    steps.run(name, 5, Expect::Text("correct"), &mut whole);
}
