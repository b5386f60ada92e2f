//! `mpicc`, `mpicxx` and `mpifort`: the user's own compiler with the words that find `mpi.h`, the
//! Fortran modules, `libmpi_abi` and `libmpifort_abi`.
//!
//! `line` understands what the user wrote, `prefix` knows where the installation is and which words
//! lead to it, `modules` which Fortran compilers it has modules for, and this module chooses the compiler and becomes it. Nothing is configured when
//! OxMPI is built: the installation is where this executable lies, so it can be moved, and the
//! compiler is looked for at each call.

mod line;
mod modules;
mod prefix;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use oxmpi_launch::Executable;

use crate::failure::Failure;
use crate::show::{show, show_line};
use line::{Line, Show};
use prefix::Prefix;

/// The language of a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// mpicc
    C,
    /// mpicxx
    Cxx,
    /// mpifort
    Fortran,
}

impl Language {
    /// The language of the wrapper that goes by this name. `mpicc_abi` is how other libraries call
    /// their wrapper for the standard ABI, the only one there is here.
    pub(crate) fn of_wrapper(name: &OsStr) -> Option<Language> {
        match name.to_str()? {
            "mpicc" | "mpicc_abi" => Some(Language::C),
            "mpicxx" | "mpic++" | "mpiCC" | "mpicxx_abi" | "mpic++_abi" => Some(Language::Cxx),
            "mpifort" | "mpif90" | "mpif77" | "mpifort_abi" => Some(Language::Fortran),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cxx => "C++",
            Language::Fortran => "Fortran",
        }
    }

    /// The option that names another compiler, up to its value.
    fn option(self) -> &'static str {
        match self {
            Language::C => "-cc=",
            Language::Cxx => "-cxx=",
            Language::Fortran => "-fc=",
        }
    }

    /// The variables that name another compiler. Those of other libraries count too, because build
    /// systems set them (CMake sets MPICH_CC to the compiler of the project) and because people
    /// have them in their profiles.
    fn variables(self) -> [&'static str; 3] {
        match self {
            Language::C => [oxmpi_settings::CC.name, "MPICH_CC", "OMPI_CC"],
            Language::Cxx => [oxmpi_settings::CXX.name, "MPICH_CXX", "OMPI_CXX"],
            Language::Fortran => [oxmpi_settings::FC.name, "MPICH_FC", "OMPI_FC"],
        }
    }

    /// What is tried when nobody names a compiler.
    fn defaults(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cxx => ["c++", "g++", "clang++"],
            Language::Fortran => ["gfortran", "flang", "flang-new"],
        }
    }
}

/// Why nothing was compiled.
#[derive(Debug, thiserror::Error)]
enum CompileError {
    #[error(transparent)]
    Untrusted(#[from] oxmpi_trust::Untrusted),
    #[error(
        "{wrapper}: what to compile? {wrapper} program.c -o program; {wrapper} -help tells more"
    )]
    Nothing { wrapper: String },
    #[error(
        "{word}: {wrapper} can show command, compile, link, incdirs, libdirs, libs, version and help"
    )]
    UnknownShow { wrapper: String, word: String },
    #[error(
        "{wrapper} finds no {} compiler: none of {} is in PATH; install one, or name yours with {}NAME or {}=NAME",
        .language.name(), .language.defaults().join(", "), .language.option(), .language.variables()[0]
    )]
    NoCompiler { wrapper: String, language: Language },
    #[error(
        "{chosen_by}{compiler}: {reason}; {wrapper} calls the {} compiler named by {}NAME or {}=NAME, or the first of {} in PATH",
        .language.name(), .language.option(), .language.variables()[0], .language.defaults().join(", ")
    )]
    NotACompiler {
        wrapper: String,
        language: Language,
        chosen_by: String,
        compiler: String,
        reason: String,
    },
    #[error(
        "{chosen_by}{compiler} is {wrapper} itself; name the compiler that it shall call, such as {}",
        .language.defaults().join(" or ")
    )]
    Itself {
        wrapper: String,
        language: Language,
        chosen_by: String,
        compiler: String,
    },
    #[error(
        "{wrapper} works from an installation and {} is not there; cargo xtask install --prefix FOLDER makes one",
        .missing.display()
    )]
    NotInstalled { wrapper: String, missing: PathBuf },
    #[error("{wrapper} cannot tell where it is installed ({reason}); is /proc mounted?")]
    Nowhere { wrapper: String, reason: String },
    #[error(
        "-static: OxMPI is a shared library, libmpi_abi.so.1; link without -static (-static-libgcc and -static-libstdc++ are fine)"
    )]
    Static,
    #[error("cannot execute {compiler}: {reason}")]
    Exec { compiler: String, reason: String },
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Failure {
        let text = error.to_string();
        match error {
            CompileError::Nothing { .. }
            | CompileError::UnknownShow { .. }
            | CompileError::Static => Failure::usage(text),
            CompileError::NoCompiler { .. } | CompileError::NotACompiler { .. } => {
                Failure::Message { text, code: 127 }
            }
            _ => Failure::Message { text, code: 1 },
        }
    }
}

/// Does what `wrapper` (mpicc, mpicxx, oxmpi cc …) was asked for. When it compiles, this process
/// becomes the compiler, so status and signals are the compiler's own.
pub(crate) fn run(
    wrapper: &str,
    language: Language,
    words: &[OsString],
) -> Result<ExitCode, Failure> {
    let line = Line::parse(wrapper, language, words)?;
    match line.show {
        Some(Show::Help) => {
            show!("{}", help(wrapper, language));
            return Ok(ExitCode::SUCCESS);
        }
        Some(Show::Version) => {
            show_line!("{}", version(wrapper));
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let mut prefix = Prefix::find(wrapper)?;
    if let Some(show) = line.show {
        let needs_compiler = match show {
            Show::Line | Show::CompileLine | Show::LinkLine | Show::Compiler => true,
            // The folder of the modules is the compiler's.
            _ => language == Language::Fortran,
        };
        let compiler = match needs_compiler {
            true => Compiler::choose(wrapper, language, &line, &prefix)?.words,
            false => Vec::new(),
        };
        if language == Language::Fortran {
            prefix.serve(&compiler);
        }
        show_line!("{}", prefix.shown(show, &compiler, &line));
        return Ok(ExitCode::SUCCESS);
    }
    if line.words.is_empty() {
        let wrapper = wrapper.to_owned();
        return Err(CompileError::Nothing { wrapper }.into());
    }
    if line.links() && line.is_static() {
        return Err(CompileError::Static.into());
    }
    if line.verbose {
        eprintln!("{}", version(wrapper));
    }
    let compiler = Compiler::choose(wrapper, language, &line, &prefix)?;
    if language == Language::Fortran && !prefix.serve(&compiler.words) {
        eprintln!("{}", modules::missing(wrapper, &compiler.words));
    }
    let reason = Command::new(&compiler.path)
        .arg0(&compiler.words[0])
        .args(&compiler.words[1..])
        .args(prefix.arguments(&line))
        .exec();
    Err(CompileError::Exec {
        compiler: compiler.path.display().to_string(),
        reason: reason.to_string(),
    }
    .into())
}

/// Which Fortran compilers the installation of this executable serves, and how to add one.
pub(crate) fn fortran_compilers() -> String {
    let more = "cargo xtask install --prefix FOLDER --fortran NAME adds one";
    match Prefix::find("oxmpi").map(|prefix| prefix.served()) {
        Ok(served) if served.is_empty() => format!("mpif.h for any compiler, no modules; {more}"),
        Ok(served) => format!(
            "mpif.h for any compiler, modules for {}; {more}",
            served.join(", ")
        ),
        Err(_) => format!("not from here, because this is no installation; {more}"),
    }
}

/// A compiler that exists.
struct Compiler {
    path: PathBuf,
    /// Its name as the user wrote it and the words that belong to it, as in "ccache gcc"; never
    /// empty.
    words: Vec<OsString>,
}

impl Compiler {
    fn choose(
        wrapper: &str,
        language: Language,
        line: &Line,
        prefix: &Prefix,
    ) -> Result<Compiler, CompileError> {
        if let Some(value) = &line.compiler {
            return Compiler::named(wrapper, language, language.option(), value);
        }
        for variable in language.variables() {
            oxmpi_trust::variable(variable)?;
            let value = match oxmpi_settings::find(variable) {
                Some(setting) => setting.read().raw().map(OsStr::to_owned),
                None => std::env::var_os(variable),
            };
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                return Compiler::named(wrapper, language, &format!("{variable}="), &value);
            }
        }
        let defaults = language.defaults().into_iter().map(String::from);
        let served = match language {
            Language::Fortran => prefix.served(),
            Language::C | Language::Cxx => Vec::new(),
        };
        let found = defaults
            .chain(served)
            .find_map(|name| Some((Executable::find(OsStr::new(&name), None).ok()?, name)));
        match found {
            Some((found, name)) => Ok(Compiler {
                path: found.path,
                words: vec![name.into()],
            }),
            None => Err(CompileError::NoCompiler {
                wrapper: wrapper.to_owned(),
                language,
            }),
        }
    }

    /// The compiler that the user named; `chosen_by` is where, such as "OXMPI_CC=".
    fn named(
        wrapper: &str,
        language: Language,
        chosen_by: &str,
        value: &OsStr,
    ) -> Result<Compiler, CompileError> {
        let words = compiler_words(value);
        let (wrapper, chosen_by) = (wrapper.to_owned(), chosen_by.to_owned());
        let compiler = value.to_string_lossy().into_owned();
        let found = match words.first() {
            Some(name) => Executable::find(name, None).map_err(|error| error.to_string()),
            None => Err("no name".to_owned()),
        };
        let path = match found {
            Ok(found) => found.path,
            Err(reason) => {
                return Err(CompileError::NotACompiler {
                    wrapper,
                    language,
                    chosen_by,
                    compiler,
                    reason,
                });
            }
        };
        // MPICH_CC=mpicc would call us again, for ever.
        if is_this_executable(&path) {
            return Err(CompileError::Itself {
                wrapper,
                language,
                chosen_by,
                compiler,
            });
        }
        Ok(Compiler { path, words })
    }
}

/// "ccache gcc" is two words; a path with a space in it is one.
fn compiler_words(value: &OsStr) -> Vec<OsString> {
    match value.to_str() {
        Some(text) if !Path::new(text).is_file() => {
            text.split_whitespace().map(OsString::from).collect()
        }
        _ => vec![value.to_owned()],
    }
}

fn is_this_executable(path: &Path) -> bool {
    match (std::fs::canonicalize(path), std::env::current_exe()) {
        (Ok(path), Ok(here)) => std::fs::canonicalize(here).is_ok_and(|here| here == path),
        _ => false,
    }
}

fn version(wrapper: &str) -> String {
    format!("{wrapper} for OxMPI {}", env!("CARGO_PKG_VERSION"))
}

fn help(wrapper: &str, language: Language) -> String {
    let option = language.option();
    let variables = language.variables().join(", ");
    let defaults = language.defaults().join(", ");
    let name = language.name();
    let suffix = match language {
        Language::C => "c",
        Language::Cxx => "cpp",
        Language::Fortran => "f90",
    };
    let finds = match language {
        Language::C | Language::Cxx => "mpi.h and libmpi_abi",
        Language::Fortran => "mpif.h, the modules mpi and mpi_f08 and libmpifort_abi",
    };
    format!(
        "\
Compile and link {name} programs that use MPI.

Usage: {wrapper} [OPTIONS] [the compiler's own options and files]...
       {wrapper} -O2 program.{suffix} -o program

Calls the {name} compiler with what it needs to find {finds}. Everything that is not listed here is
passed on to it. Options may be written with one dash or two.

  {option}NAME             call this compiler; otherwise {variables}
                         are asked, then the first of {defaults} in PATH is taken
  -show, -showme         show the command line instead of executing it
  -compile-info          the same, as for compiling only
  -link-info             the same, as for linking only
  -showme:compile        show only what is added for compiling
  -showme:link           show only what is added for linking
  -showme:WHAT           command, incdirs, libdirs, libs, version
  -v                     tell the version; the compiler gets it too
  -help                  this text
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_known_by_name() {
        let language = |name: &str| Language::of_wrapper(OsStr::new(name));
        assert_eq!(language("mpicc"), Some(Language::C));
        for name in ["mpicxx", "mpic++", "mpiCC"] {
            assert_eq!(language(name), Some(Language::Cxx));
        }
        for name in ["mpifort", "mpif90", "mpif77", "mpifort_abi"] {
            assert_eq!(language(name), Some(Language::Fortran));
        }
        assert_eq!(language("mpiexec"), None);
    }

    #[test]
    fn a_compiler_may_have_words_of_its_own() {
        assert_eq!(
            compiler_words(OsStr::new(" ccache  gcc -m64")),
            ["ccache", "gcc", "-m64"]
        );
        assert!(compiler_words(OsStr::new("  ")).is_empty());
    }

    #[test]
    fn errors_say_what_to_do() {
        let (wrapper, language) = ("mpicc".to_owned(), Language::C);
        let error = CompileError::NoCompiler { wrapper, language };
        assert_eq!(
            error.to_string(),
            "mpicc finds no C compiler: none of cc, gcc, clang is in PATH; install one, or name yours with -cc=NAME or OXMPI_CC=NAME"
        );
        let named = Compiler::named("mpicxx", Language::Cxx, "MPICH_CXX=", OsStr::new("nope++"));
        let text = named.map(|_| ()).unwrap_err().to_string();
        assert!(text.starts_with("MPICH_CXX=nope++: "), "{text}");
        assert!(text.ends_with(
            "; mpicxx calls the C++ compiler named by -cxx=NAME or OXMPI_CXX=NAME, or the first of c++, g++, clang++ in PATH"
        ), "{text}");
    }
}
