//! The Fortran programs: one source for three interfaces, compiled with each compiler.
//!
//! A program lies in `fortran/NAME.F90` and includes `face_use.h`, which says what a handle and a
//! status are in mpif.h, module mpi and module mpi_f08. Its first lines are directives as in C
//! programs, behind `!`; `faces` names the interfaces it is for, all three without it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{Kind, Library, RANKS};
use crate::program::{DirectiveError, Program};

/// An interface of MPI for Fortran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// `use mpi_f08`
    F08,
    /// `use mpi`
    Mpi,
    /// `include 'mpif.h'`
    Mpif,
}

impl Face {
    /// All of them.
    pub const ALL: [Face; 3] = [Face::F08, Face::Mpi, Face::Mpif];

    /// The word in directives.
    pub fn word(self) -> &'static str {
        match self {
            Face::F08 => "f08",
            Face::Mpi => "mpi",
            Face::Mpif => "mpif",
        }
    }
}

/// A program and the interfaces it is for.
#[derive(Clone, Debug)]
pub struct FortranProgram {
    /// What its directives say.
    pub program: Program,
    /// The interfaces.
    pub faces: Vec<Face>,
}

/// Where the programs are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran")
}

/// All programs, by name.
pub fn programs() -> io::Result<Vec<FortranProgram>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(sources())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "F90"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)?;
        FortranProgram::parse(&path, &text).map_err(io::Error::other)
    };
    paths.into_iter().map(read).collect()
}

impl FortranProgram {
    /// Reads the directives of one source.
    pub fn parse(source: &Path, text: &str) -> Result<FortranProgram, DirectiveError> {
        let comments = text.lines().map_while(|line| line.strip_prefix("! "));
        let (faces, others): (Vec<&str>, Vec<&str>) =
            comments.partition(|line| line.starts_with("faces:"));
        let is_for = |face: &Face| {
            let words = || faces.iter().flat_map(|line| line.split_whitespace());
            faces.is_empty() || words().any(|word| word == face.word())
        };
        let in_c: String = others
            .iter()
            .map(|line| format!("/* {line} */\n"))
            .collect();
        Ok(FortranProgram {
            program: Program::parse(source, &in_c)?,
            faces: Face::ALL.into_iter().filter(is_for).collect(),
        })
    }
}

/// A compiler, and the library that its programs run on.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Its name in reports.
    pub name: String,
    words: Vec<OsString>,
    /// The libraries that run what it makes.
    pub libraries: Vec<Library>,
}

impl Compiler {
    /// The wrapper of an installed OxMPI around a compiler, if there is such a compiler.
    pub fn of_oxmpi(library: &Library, compiler: &str) -> Option<Compiler> {
        Command::new(compiler).arg("--version").output().ok()?;
        let wrapper = library.prefix.join("bin/mpifort");
        Some(Compiler {
            name: compiler.to_string(),
            words: vec![wrapper.into(), format!("-fc={compiler}").into()],
            libraries: vec![library.clone()],
        })
    }

    /// Debian's MPICH with its own Fortran, the reference; none if it is not installed.
    pub fn of_mpich() -> Option<Compiler> {
        Command::new("mpif90.mpich")
            .arg("--version")
            .output()
            .ok()?;
        let launcher = ["mpiexec.mpich", "-n", RANKS].map(String::from).to_vec();
        Some(Compiler {
            name: "mpif90.mpich".to_string(),
            words: vec!["mpif90.mpich".into(), "-DON_MPICH".into()],
            libraries: vec![Library {
                kind: Kind::Mpich,
                name: "debian-mpich".to_string(),
                prefix: "/usr".into(),
                launcher,
            }],
        })
    }

    /// Makes the binary of a program in a folder; the error is what the compiler says.
    pub fn compile(&self, folder: &Path, program: &Program, face: Face) -> Result<PathBuf, String> {
        let folder = folder.join(format!("{}-{}", self.name, face.word()));
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let binary = folder.join(&program.name);
        let mut compile = Command::new(&self.words[0]);
        compile
            .args(&self.words[1..])
            .args([
                "-cpp",
                "-O1",
                &format!("-DFACE_{}", face.word().to_uppercase()),
            ])
            .arg("-I")
            .arg(sources())
            .arg(&program.source)
            .arg("-o")
            .arg(&binary)
            // Modules of a program are written there; two programs may have one of the same name.
            .current_dir(scratch(&folder, &program.name).map_err(failed)?);
        match compile.output() {
            Ok(output) if output.status.success() => Ok(binary),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(format!("{:?} could not be started: {error}", self.words[0])),
        }
    }
}

fn scratch(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let scratch = folder.join(format!("{name}.d"));
    std::fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_say_ranks_and_faces() {
        let text = "! ranks: 2 3\n! faces: f08 mpi\n! MPI 5.0: why.\nprogram p\n! ranks: 9\n";
        let parsed = FortranProgram::parse(Path::new("fortran/p.F90"), text).unwrap();
        assert_eq!(parsed.program.ranks, [2, 3]);
        assert_eq!(parsed.faces, [Face::F08, Face::Mpi]);
        assert_eq!(parsed.program.explanation, "MPI 5.0: why.");
    }
}
