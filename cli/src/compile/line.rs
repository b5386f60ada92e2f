//! What the user wrote after `mpicc`: the wrapper's own options, and the words of the compiler.
//!
//! The options are those that people and build systems use with the wrappers of MPICH and Open MPI;
//! CMake's FindMPI asks for `-showme:compile`, `-showme:link`, `-compile-info`, `-link-info` and
//! `-show`, in this order. All other words are the compiler's and are looked at only to see whether
//! it will link.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::{CompileError, Language};

/// Something to print instead of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// The command line that would be executed.
    Line,
    /// The command line of a compilation without linking.
    CompileLine,
    /// The command line of linking alone.
    LinkLine,
    /// What is added for compiling.
    CompileFlags,
    /// What is added for linking.
    LinkFlags,
    /// The compiler.
    Compiler,
    /// The folders of headers.
    IncludeFolders,
    /// The folders of libraries.
    LibraryFolders,
    /// The names of libraries.
    Libraries,
    /// The version of OxMPI.
    Version,
    /// The options.
    Help,
}

/// A command line, understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// What to print instead of compiling.
    pub(super) show: Option<Show>,
    /// The value of -cc= or -cxx=.
    pub(super) compiler: Option<OsString>,
    /// `-v` was given.
    pub(super) verbose: bool,
    /// The words of the compiler.
    pub(super) words: Vec<OsString>,
}

impl Line {
    pub(super) fn parse(
        wrapper: &str,
        language: Language,
        words: &[OsString],
    ) -> Result<Line, CompileError> {
        let mut line = Line::default();
        for word in words {
            if let Some(value) = word.as_bytes().strip_prefix(language.option().as_bytes()) {
                line.compiler = Some(OsStr::from_bytes(value).to_owned());
            } else if let Some(show) = show(wrapper, word, words.len() == 1)? {
                line.show = Some(show);
            } else if word != "-mpi-abi" && word != "-mpi_abi" {
                // MPICH's wrappers choose the standard ABI by -mpi-abi; here there is nothing to
                // choose.
                line.verbose |= word == "-v";
                line.words.push(word.clone());
            }
        }
        Ok(line)
    }

    /// Whether the compiler will call the linker, and so needs the library.
    pub(super) fn links(&self) -> bool {
        let stops = |word: &OsString| {
            let word = word.to_str().unwrap_or_default();
            matches!(
                word,
                "-c" | "-S"
                    | "-E"
                    | "-M"
                    | "-MM"
                    | "-fsyntax-only"
                    | "--compile"
                    | "--assemble"
                    | "--preprocess"
                    | "--dependencies"
                    | "--user-dependencies"
                    // An object made of objects takes no shared library.
                    | "-r"
            )
        };
        if self.words.iter().any(stops) {
            return false;
        }
        // `mpicc --version` and `mpicc -v` have nothing to link, and a library would be taken for
        // something. Whoever only looks wants to see it all.
        self.show.is_some() || self.words.iter().any(is_input)
    }

    pub(super) fn is_static(&self) -> bool {
        self.words
            .iter()
            .any(|word| word == "-static" || word == "-static-pie")
    }
}

/// A file, standard input, a file of arguments, a library or something for the linker.
fn is_input(word: &OsString) -> bool {
    let word = word.as_bytes();
    match word {
        [] => false,
        [b'-'] => true,
        [b'-', b'l', _, ..] => true,
        [b'-', ..] => word.starts_with(b"-Wl,") || word == b"-Xlinker",
        _ => true,
    }
}

fn show(wrapper: &str, word: &OsStr, alone: bool) -> Result<Option<Show>, CompileError> {
    let Some(text) = word.to_str() else {
        return Ok(None);
    };
    let Some(name) = text.strip_prefix('-') else {
        return Ok(None);
    };
    let name = name.strip_prefix('-').unwrap_or(name);
    Ok(Some(match name {
        "show" | "showme" | "show-me" => Show::Line,
        "compile-info" | "compile_info" => Show::CompileLine,
        "link-info" | "link_info" => Show::LinkLine,
        "show-compile-info" => Show::CompileFlags,
        "show-link-info" => Show::LinkFlags,
        "help" if text == "-help" || alone => Show::Help,
        _ => {
            let what = name.strip_prefix("showme:");
            match what.or_else(|| name.strip_prefix("show-me:")) {
                None => return Ok(None),
                Some("command") => Show::Compiler,
                Some("compile") => Show::CompileFlags,
                Some("link") => Show::LinkFlags,
                Some("incdirs") => Show::IncludeFolders,
                Some("libdirs") => Show::LibraryFolders,
                Some("libs") => Show::Libraries,
                Some("version") => Show::Version,
                Some("help") => Show::Help,
                Some(_) => {
                    return Err(CompileError::UnknownShow {
                        wrapper: wrapper.to_owned(),
                        word: text.to_owned(),
                    });
                }
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Line {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        Line::parse("mpicc", Language::C, &words).unwrap()
    }

    #[test]
    fn the_words_of_build_systems_are_understood() {
        for (text, show) in [
            ("-show", Show::Line),
            ("-showme", Show::Line),
            ("--showme", Show::Line),
            ("-showme:compile", Show::CompileFlags),
            ("--showme:link", Show::LinkFlags),
            ("-compile-info", Show::CompileLine),
            ("-link_info", Show::LinkLine),
            ("-showme:incdirs", Show::IncludeFolders),
            ("--help", Show::Help),
        ] {
            let line = parse(text);
            assert_eq!((line.show, line.words.len()), (Some(show), 0), "{text}");
        }
        let line = parse("-show -O2 a.c -cc=clang -mpi-abi -v");
        assert_eq!(line.words, ["-O2", "a.c", "-v"]);
        assert_eq!(line.compiler, Some("clang".into()));
        assert!(line.verbose);
        // The compiler has a --help too, and -cxx= is not C's.
        let line = parse("--help -cxx=g++ --version");
        assert_eq!((line.show, line.words.len()), (None, 3));
    }

    #[test]
    fn a_question_nobody_can_answer_is_a_mistake() {
        let words = [OsString::from("-showme:rpath")];
        let error = Line::parse("mpicc", Language::C, &words).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-showme:rpath: mpicc can show command, compile, link, incdirs, libdirs, libs, version and help"
        );
    }

    #[test]
    fn the_library_is_added_only_when_there_is_something_to_link() {
        for text in [
            "a.c",
            "a.o -o a",
            "-x c -",
            "@words",
            "-shared -lfoo",
            "-MD a.c",
            "-show",
        ] {
            assert!(parse(text).links(), "{text}");
        }
        for text in [
            "-c a.c",
            "-E a.c",
            "a.c -S",
            "-M a.c",
            "-MM a.c",
            "-v",
            "--version",
            "-r a.o b.o",
            "-show -c",
        ] {
            assert!(!parse(text).links(), "{text}");
        }
    }
}
