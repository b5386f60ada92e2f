//! What the compiler wrappers and the project's own tests read.

use super::FOR_RANKS;
use crate::Kind;
use crate::setting::{Program, Setting, Topic, WhenUnset};

const COMPILERS: Setting = Setting {
    layer: "cli",
    programs: &[Program::Tools],
    topic: Topic::Compilers,
    ..FOR_RANKS
};

const TESTS: Setting = Setting {
    layer: "tests",
    programs: &[Program::Tests],
    topic: Topic::Tests,
    unset: WhenUnset::Words("not set"),
    ..FOR_RANKS
};

/// The C compiler.
pub static CC: Setting = Setting {
    name: "OXMPI_CC",
    kind: Kind::Command("a compiler and its first words, such as \"ccache gcc\""),
    unset: WhenUnset::Words("MPICH_CC, OMPI_CC, or the first of cc, gcc, clang"),
    text: "The C compiler that mpicc calls.",
    ..COMPILERS
};

/// The C++ compiler.
pub static CXX: Setting = Setting {
    name: "OXMPI_CXX",
    kind: Kind::Command("a compiler and its first words, such as \"ccache g++\""),
    unset: WhenUnset::Words("MPICH_CXX, OMPI_CXX, or the first of c++, g++, clang++"),
    text: "The C++ compiler that mpicxx calls.",
    ..COMPILERS
};

/// The Fortran compiler.
pub static FC: Setting = Setting {
    name: "OXMPI_FC",
    kind: Kind::Command("a compiler and its first words, such as \"ccache gfortran\""),
    unset: WhenUnset::Words(
        "MPICH_FC, OMPI_FC, or the first of gfortran, flang, flang-new, or one installed for",
    ),
    text: "The Fortran compiler that mpifort, mpif90 and mpif77 call.",
    ..COMPILERS
};

/// More of everything.
pub static TEST_LONG: Setting = Setting {
    name: "OXMPI_TEST_LONG",
    kind: Kind::Text("anything"),
    text: "Tests run more cases: hours, not minutes.",
    ..TESTS
};

/// One seed.
pub static TEST_SEED: Setting = Setting {
    name: "OXMPI_TEST_SEED",
    kind: Kind::Text("a number"),
    text: "Tests that draw lots use this seed and no other.",
    ..TESTS
};

/// An installed OxMPI.
pub static TEST_PREFIX_FOLDER: Setting = Setting {
    name: "OXMPI_TEST_PREFIX",
    kind: Kind::Path("a folder"),
    text: "An installed OxMPI for the tests of C programs; without it they install one.",
    ..TESTS
};

/// An installed MPICH.
pub static TEST_MPICH: Setting = Setting {
    name: "OXMPI_TEST_MPICH",
    kind: Kind::Path("a folder"),
    text: "An installed MPICH for the tests that compare with it; without it they fetch one.",
    ..TESTS
};

/// The processes that hold hosts.
pub static TEST_HOSTS: Setting = Setting {
    name: "OXMPI_TEST_HOSTS",
    kind: Kind::Text("numbers of processes"),
    text: "The processes that hold the hosts of `cargo xtask hosts`, which sets it.",
    ..TESTS
};

/// Documents are rewritten.
pub static TEST_WRITE: Setting = Setting {
    name: "OXMPI_TEST_WRITE",
    kind: Kind::Text("anything"),
    text: "Tests that compare documents with their source rewrite the documents.",
    ..TESTS
};

/// More seeds of the simulator.
pub static SIM_TIMES: Setting = Setting {
    name: "OXMPI_SIM_TIMES",
    kind: Kind::Text("a number"),
    text: "Tests of the simulator run so many times as many seeds.",
    ..TESTS
};

/// One seed of the kernel core's tests.
pub static SEED: Setting = Setting {
    name: "OXMPI_SEED",
    kind: Kind::Text("a number"),
    text: "Tests of the kernel module's core use this seed and no other.",
    ..TESTS
};

/// An installed OxMPI to measure.
pub static PREFIX_FOLDER: Setting = Setting {
    name: "OXMPI_PREFIX",
    kind: Kind::Path("a folder"),
    text: "An installed OxMPI for the test of `oxmpi bench --against`.",
    ..TESTS
};

/// A part of a test that runs in a process of its own.
pub static ABI_TEST_CASE: Setting = Setting {
    name: "OXMPI_ABI_TEST_CASE",
    kind: Kind::Text("the name of a case"),
    text: "Which case of a test of the C library a process runs.",
    ..TESTS
};
